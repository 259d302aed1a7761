//! Bars on a terminal: the busiest topics that fit, all topics, and the waits below.

use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressStyle};

use super::board::Snapshot;
use super::line::{Row, rows, wait_lines};
use super::pace::Aim;
use super::progress::Told;
use super::screen::Screen;

/// More topics than this are no help, however high the terminal is.
const TOPICS: usize = 12;
/// More waits than this are one trouble with many names.
const WAITS: usize = 4;
/// Columns of a name; longer ones are cut.
const NAME: usize = 32;

/// The bars of a run.
pub struct Bars {
    screen: Screen,
    topics: Vec<ProgressBar>,
    sum: ProgressBar,
    waits: Vec<ProgressBar>,
}

impl Bars {
    /// No bar yet.
    pub fn new(screen: Screen) -> Self {
        let sum = screen.bars().add(bar());
        Self { screen, topics: Vec::new(), sum, waits: Vec::new() }
    }

    fn show_rows(&mut self, topics: &[Row], sum: &Row, waits: &[String]) {
        let name = topics.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let width = name.max(sum.name.chars().count()).min(NAME);
        let bars = self.screen.bars();
        while self.topics.len() < topics.len() {
            let bar = bars.insert_before(&self.sum, bar());
            self.topics.push(bar);
        }
        take_away(&mut self.topics, topics.len(), &self.screen);
        for (bar, row) in self.topics.iter().zip(topics) {
            fill(bar, row, width);
        }
        fill(&self.sum, sum, width);
        while self.waits.len() < waits.len() {
            self.waits.push(bars.add(ProgressBar::no_length().with_style(style("{wide_msg}"))));
        }
        take_away(&mut self.waits, waits.len(), &self.screen);
        for (bar, text) in self.waits.iter().zip(waits) {
            bar.set_message(text.clone());
            bar.tick();
        }
    }
}

impl Told for Bars {
    fn tick(&self) -> Duration {
        Duration::from_millis(250)
    }

    fn show(&mut self, before: &Snapshot, now: &Snapshot, aim: Aim) {
        let mut waits = wait_lines(now);
        waits.truncate(WAITS);
        let height = usize::from(Term::stderr().size().0);
        let (topics, sum) = rows(before, now, aim, room(height, waits.len()));
        self.show_rows(&topics, &sum, &waits);
    }

    fn end(&mut self, _: &Snapshot, _: &Snapshot, _: Aim) {
        // The summary on stdout says all that the bars did.
        take_away(&mut self.topics, 0, &self.screen);
        take_away(&mut self.waits, 0, &self.screen);
        self.sum.finish_and_clear();
        let _ = self.screen.bars().clear();
    }
}

/// How many topics fit a terminal of `height` lines, beside the sum, `waits` lines, and half of the
/// screen for what was said before.
fn room(height: usize, waits: usize) -> usize {
    (height / 2).saturating_sub(1 + waits).min(TOPICS)
}

fn take_away(bars: &mut Vec<ProgressBar>, left: usize, screen: &Screen) {
    for bar in bars.drain(left.min(bars.len())..) {
        bar.finish_and_clear();
        screen.bars().remove(&bar);
    }
}

fn bar() -> ProgressBar {
    ProgressBar::new(0).with_style(style("{prefix} [{bar:20}] {wide_msg}").progress_chars("=> "))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is a constant, and tested")
}

fn fill(bar: &ProgressBar, row: &Row, width: usize) {
    bar.set_length(row.of);
    bar.set_position(row.done);
    bar.set_prefix(named(&row.name, width));
    bar.set_message(row.text.clone());
    bar.tick();
}

/// `name` in exactly `width` characters.
fn named(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return format!("{name:width$}");
    }
    let kept: String = name.chars().take(width.saturating_sub(1)).collect();
    kept + "…"
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::report::pace::tests::snapshot;

    #[test]
    fn names_have_one_width() {
        assert_eq!(named("ab", 4), "ab  ");
        assert_eq!(named("abcdef", 4), "abc…");
        assert_eq!(named("äöüä", 4), "äöüä");
    }

    #[test]
    fn a_low_terminal_shows_only_the_sum_and_a_high_one_not_too_much() {
        assert_eq!(room(0, 0), 0);
        assert_eq!(room(6, 4), 0);
        assert_eq!(room(24, 1), 10);
        assert_eq!(room(200, 0), TOPICS);
    }

    #[test]
    fn bars_come_and_go_with_what_there_is_to_show() {
        let start = Instant::now();
        let mut bars = Bars::new(Screen::default());
        let row = |name: &str| Row { name: name.into(), done: 1, of: 2, text: String::new() };
        bars.show_rows(&[row("a"), row("b")], &row("all"), &["lane 1 waits".into()]);
        assert_eq!((bars.topics.len(), bars.waits.len()), (2, 1));
        assert_eq!(bars.topics[1].prefix(), "b  ");
        bars.show_rows(&[row("c")], &row("all"), &[]);
        assert_eq!((bars.topics.len(), bars.waits.len()), (1, 0));
        assert_eq!(bars.topics[0].prefix(), "c  ");
        let now = snapshot(start, 0, &[]);
        bars.end(&now, &now, Aim::Fence);
        assert!(bars.topics.is_empty() && bars.sum.is_finished());
    }
}
