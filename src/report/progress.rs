//! The reporter: a thread that looks at the board and tells about it on stderr, as bars on a terminal
//! or as a status line at an interval.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::bars::Bars;
use super::board::{Board, Snapshot};
use super::line::status_line;
use super::pace::{Aim, Window};
use super::screen::Screen;

/// Between two status lines.
pub const INTERVAL: Duration = Duration::from_secs(10);

/// How progress is told.
#[derive(Debug, Clone)]
pub enum ProgressMode {
    /// Bars on a terminal.
    Bars(Screen),
    /// A status line in the log (target `onceover::progress`) at this interval; the first one comes
    /// earlier.
    Lines(Duration),
    /// Not at all.
    Off,
}

impl ProgressMode {
    /// Bars where stderr is a terminal that can move its cursor and logs are text; lines elsewhere.
    pub fn choose(screen: &Screen, off: bool) -> Self {
        if off {
            Self::Off
        } else if screen.draws_bars() {
            Self::Bars(screen.clone())
        } else {
            Self::Lines(INTERVAL)
        }
    }
}

/// A running reporter; ends when it is finished or dropped.
#[derive(Debug)]
pub struct Reporter {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Reporter {
    /// Starts to tell about `board`. A machine that has no thread left gets no progress.
    pub fn start(board: Board, mode: ProgressMode, aim: Aim) -> Self {
        let told: Box<dyn Told> = match mode {
            ProgressMode::Off => return Self { thread: None },
            ProgressMode::Bars(screen) => Box::new(Bars::new(screen)),
            ProgressMode::Lines(interval) => Box::new(Lines::new(interval)),
        };
        let (stop, stopped) = mpsc::channel();
        let run = move || tell(&board, told, aim, |tick| stopped.recv_timeout(tick));
        let thread = std::thread::Builder::new().name("progress".into()).spawn(run);
        if let Err(error) = &thread {
            tracing::warn!("no progress is shown: {error}");
        }
        Self { thread: thread.ok().map(|thread| (stop, thread)) }
    }

    /// Tells the last state, takes the bars away and waits for the thread to end.
    pub fn finish(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            // It has nothing to lose: a panic was told by the hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A way to tell.
pub(super) trait Told: Send {
    /// Between two looks at the board.
    fn tick(&self) -> Duration;
    /// Shows `now`, with rates since `before`.
    fn show(&mut self, before: &Snapshot, now: &Snapshot, aim: Aim);
    /// Shows the last state and leaves.
    fn end(&mut self, before: &Snapshot, now: &Snapshot, aim: Aim);
}

fn tell(
    board: &Board,
    mut told: Box<dyn Told>,
    aim: Aim,
    mut wait: impl FnMut(Duration) -> Result<(), RecvTimeoutError>,
) {
    let mut window = Window::default();
    loop {
        let now = board.snapshot();
        told.show(window.slide(&now), &now, aim);
        if wait(told.tick()) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    let now = board.snapshot();
    told.end(window.slide(&now), &now, aim);
}

/// Status lines in the log.
struct Lines {
    interval: Duration,
    next: Option<Instant>,
    told: bool,
}

impl Lines {
    fn new(interval: Duration) -> Self {
        Self { interval, next: None, told: false }
    }

    /// Whether a line is due at `now`. The first comes after two seconds: soon enough to see that it
    /// works, late enough to have something to say.
    fn due(&mut self, now: Instant) -> bool {
        let first = Duration::from_secs(2).min(self.interval);
        let next = *self.next.get_or_insert(now + first);
        if now < next {
            return false;
        }
        self.next = Some(now + self.interval);
        true
    }
}

impl Told for Lines {
    fn tick(&self) -> Duration {
        Duration::from_millis(500).min(self.interval)
    }

    fn show(&mut self, before: &Snapshot, now: &Snapshot, aim: Aim) {
        if self.due(now.at) {
            self.told = true;
            say(&status_line(before, now, aim));
        }
    }

    fn end(&mut self, before: &Snapshot, now: &Snapshot, aim: Aim) {
        // A run that was over before its first line has its summary.
        if self.told {
            say(&status_line(before, now, aim));
        }
    }
}

fn say(line: &str) {
    tracing::info!(target: "onceover::progress", "{line}");
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn the_first_line_comes_after_two_seconds_and_the_others_at_the_interval() {
        let start = Instant::now();
        let mut lines = Lines::new(Duration::from_secs(10));
        let due: Vec<u64> =
            (0..40).filter(|second| lines.due(start + Duration::from_secs(*second))).collect();
        assert_eq!(due, [2, 12, 22, 32]);
    }

    struct Noted(Arc<Mutex<Vec<(&'static str, u64)>>>);

    impl Told for Noted {
        fn tick(&self) -> Duration {
            Duration::ZERO
        }
        fn show(&mut self, _: &Snapshot, now: &Snapshot, _: Aim) {
            self.0.lock().unwrap().push(("show", now.transactions));
        }
        fn end(&mut self, _: &Snapshot, now: &Snapshot, _: Aim) {
            self.0.lock().unwrap().push(("end", now.transactions));
        }
    }

    #[test]
    fn the_last_state_is_told_once_the_run_is_over() {
        let board = Board::default();
        let noted = Arc::new(Mutex::new(Vec::new()));
        let mut left = 2;
        tell(&board, Box::new(Noted(noted.clone())), Aim::Fence, |_| {
            board.transaction();
            left -= 1;
            if left == 0 { Ok(()) } else { Err(RecvTimeoutError::Timeout) }
        });
        assert_eq!(*noted.lock().unwrap(), [("show", 0), ("show", 1), ("end", 2)]);
    }

    #[test]
    fn a_reporter_ends_when_it_is_finished_or_dropped() {
        let lines = ProgressMode::Lines(Duration::from_secs(10));
        Reporter::start(Board::default(), lines.clone(), Aim::Tail).finish();
        drop(Reporter::start(Board::default(), lines, Aim::Fence));
        drop(Reporter::start(Board::default(), ProgressMode::Off, Aim::Fence));
        let bars = ProgressMode::Bars(Screen::default());
        Reporter::start(Board::default(), bars, Aim::Fence).finish();
    }
}
