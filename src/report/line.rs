//! The status line, and the rows that become bars: progress in words, in one grammar. Pure.
//!
//! ```text
//! copied 1,234,567 of 2,000,000 offsets (61.7 %) · 183,000 records/s · 93.5 MB/s · ETA 4 s · lanes 3 of 6 · waits: lane 2 for … (12 s)
//! copied 1,234,567 records (632.1 MB) · lag 1,234 offsets · 183,000 records/s · 93.5 MB/s · lanes 3 of 6
//! ```

use super::board::Snapshot;
use super::numbers::{byte_rate, bytes, count, counted, duration, percent, rate};
use super::pace::{Aim, Pace, topics, total, waits};

/// The status line of `now`, with rates since `before`.
pub fn status_line(before: &Snapshot, now: &Snapshot, aim: Aim) -> String {
    let mut parts = Vec::new();
    if now.partitions.is_empty() {
        parts.push("no partition yet".to_owned());
    } else {
        let pace = total(before, now);
        match aim {
            Aim::Fence | Aim::Proof => parts.push(share(&pace, aim)),
            Aim::Tail => parts.push(format!(
                "copied {} ({}) · {}",
                counted(pace.records, "record"),
                bytes(pace.bytes),
                lag(&pace)
            )),
        }
        parts.push(rates(&pace));
        if aim.ends() {
            parts.push(eta(&pace));
        }
    }
    if now.lanes_total > 0 {
        parts.push(format!("lanes {} of {}", now.lanes_owned, now.lanes_total));
    }
    let waits = wait_texts(now);
    if !waits.is_empty() {
        parts.push(format!("waits: {}", waits.join(", ")));
    }
    parts.join(" · ")
}

/// One line for each wait that is worth saying: `lane 3 waits for … (12 s)`.
pub fn wait_lines(now: &Snapshot) -> Vec<String> {
    waits(&now.waits, now.at)
        .into_iter()
        .map(|(who, what, length)| {
            let verb = if who.contains(", ") { "wait" } else { "waits" };
            format!("{who} {verb} for {what} ({})", duration(length))
        })
        .collect()
}

fn wait_texts(now: &Snapshot) -> Vec<String> {
    waits(&now.waits, now.at)
        .into_iter()
        .map(|(who, what, length)| format!("{who} for {what} ({})", duration(length)))
        .collect()
}

/// A bar: a name, how much of it is filled, and what stands beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Topic, or `total`.
    pub name: String,
    /// Offsets done; of a tail, how many of the offsets known so far.
    pub done: u64,
    /// Offsets in all.
    pub of: u64,
    /// Share, rates, ETA or lag.
    pub text: String,
}

/// The `room` busiest topics, by name so that bars do not jump about, and the row of all topics.
pub fn rows(before: &Snapshot, now: &Snapshot, aim: Aim, room: usize) -> (Vec<Row>, Row) {
    let mut all: Vec<_> = topics(before, now).into_iter().collect();
    let number = all.len();
    all.sort_by(|(a_name, a), (b_name, b)| {
        b.bytes_per_second
            .total_cmp(&a.bytes_per_second)
            .then_with(|| b.lag.cmp(&a.lag))
            .then_with(|| a_name.cmp(b_name))
    });
    all.truncate(room);
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    let rows = all.iter().map(|(topic, pace)| row(topic, pace, aim)).collect();
    let pace = total(before, now);
    let mut sum = row(&format!("all {}", counted(number as u64, "topic")), &pace, aim);
    if now.lanes_total > 0 {
        sum.text += &format!(" · lanes {} of {}", now.lanes_owned, now.lanes_total);
    }
    (rows, sum)
}

fn row(name: &str, pace: &Pace, aim: Aim) -> Row {
    let text = match aim {
        Aim::Fence | Aim::Proof if pace.lag == 0 => {
            format!("{} · {} · done", counted(pace.records, "record"), bytes(pace.bytes))
        }
        Aim::Fence | Aim::Proof => format!(
            "{:.1} % · {} · {} · {} · {}",
            percent(pace.done, pace.of),
            counted(pace.records, "record"),
            bytes(pace.bytes),
            rates(pace),
            eta(pace)
        ),
        Aim::Tail => format!(
            "{} · {} · {} · {}",
            counted(pace.records, "record"),
            bytes(pace.bytes),
            rates(pace),
            lag(pace)
        ),
    };
    Row { name: name.to_owned(), done: pace.done, of: pace.of, text }
}

fn share(pace: &Pace, aim: Aim) -> String {
    format!(
        "{} {} of {} offsets ({:.1} %)",
        aim.verb(),
        count(pace.done),
        count(pace.of),
        percent(pace.done, pace.of)
    )
}

fn rates(pace: &Pace) -> String {
    format!("{} records/s · {}", rate(pace.records_per_second), byte_rate(pace.bytes_per_second))
}

fn eta(pace: &Pace) -> String {
    match pace.eta() {
        _ if pace.lag == 0 => "ETA 0 s".to_owned(),
        Some(eta) => format!("ETA {}", duration(eta)),
        None => "ETA unknown".to_owned(),
    }
}

fn lag(pace: &Pace) -> String {
    format!("lag {}", counted(pace.lag, "offset"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::report::board::Wait;
    use crate::report::pace::tests::snapshot;

    #[test]
    fn the_line_of_a_one_shot_run_says_how_far_how_fast_and_how_long() {
        let start = Instant::now();
        let before = snapshot(start, 0, &[("orders", 0, 319_567, 2_000_000, 319_567, 1_000)]);
        let mut now =
            snapshot(start, 5_000, &[("orders", 0, 1_234_567, 2_000_000, 1_234_567, 467_501_000)]);
        now.waits = vec![Wait {
            who: "lane 2".into(),
            what: "the open transaction on source orders-3".into(),
            since: now.at.checked_sub(Duration::from_secs(12)).unwrap(),
        }];
        assert_eq!(
            status_line(&before, &now, Aim::Fence),
            "copied 1,234,567 of 2,000,000 offsets (61.7 %) · 183,000 records/s · 93.5 MB/s · \
             ETA 4 s · lanes 3 of 6 · waits: lane 2 for the open transaction on source orders-3 (12 s)"
        );
        assert_eq!(
            wait_lines(&now),
            ["lane 2 waits for the open transaction on source orders-3 (12 s)"]
        );
    }

    #[test]
    fn the_line_of_a_tail_says_its_lag_instead_of_an_eta() {
        let start = Instant::now();
        let before = snapshot(start, 0, &[("orders", 0, 10, 11, 10, 1_000)]);
        let now = snapshot(start, 2_000, &[("orders", 0, 20, 21, 20, 2_000)]);
        assert_eq!(
            status_line(&before, &now, Aim::Tail),
            "copied 20 records (2.0 kB) · lag 1 offset · 5.0 records/s · 500 B/s · lanes 3 of 6"
        );
    }

    #[test]
    fn a_run_that_has_nothing_yet_or_nothing_to_do_says_so() {
        let start = Instant::now();
        let empty = snapshot(start, 0, &[]);
        assert_eq!(status_line(&empty, &empty, Aim::Fence), "no partition yet · lanes 3 of 6");
        let idle = snapshot(start, 0, &[("orders", 5, 5, 5, 0, 0)]);
        assert_eq!(
            status_line(&idle, &idle, Aim::Fence),
            "copied 0 of 0 offsets (100.0 %) · 0 records/s · 0 B/s · ETA 0 s · lanes 3 of 6"
        );
        let stuck = snapshot(start, 0, &[("orders", 5, 5, 9, 0, 0)]);
        assert!(status_line(&stuck, &stuck, Aim::Fence).contains("ETA unknown"));
    }

    #[test]
    fn the_busiest_topics_get_the_room_and_stand_by_name() {
        let start = Instant::now();
        let before = snapshot(
            start,
            0,
            &[("a", 0, 0, 100, 0, 0), ("b", 0, 0, 100, 0, 0), ("c", 0, 0, 100, 0, 0)],
        );
        let now = snapshot(
            start,
            1_000,
            &[("a", 0, 10, 100, 10, 500), ("b", 0, 1, 100, 1, 50), ("c", 0, 50, 100, 50, 5_000)],
        );
        let (rows, sum) = rows(&before, &now, Aim::Fence, 2);
        let names: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!(
            rows[1],
            Row {
                name: "c".into(),
                done: 50,
                of: 100,
                text: "50.0 % · 50 records · 5.0 kB · 50 records/s · 5.0 kB/s · ETA 1 s".into()
            }
        );
        assert_eq!((sum.name.as_str(), sum.done, sum.of), ("all 3 topics", 61, 300));
        assert!(sum.text.ends_with("ETA 3 s · lanes 3 of 6"), "{}", sum.text);
    }
}
