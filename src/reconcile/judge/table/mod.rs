//! Every kind of difference in every policy, with and without a ledger, as tables.
//!
//! A record is written `VALUE[.HEADERS][:TIMESTAMP][@ORIGIN][+][!]`: a letter or `-` for a tombstone;
//! without a timestamp, one of its letter's own. Source offsets count from 10, target offsets from 100.
//! `@ORIGIN`: the source offset that the ledger names; with a ledger, a target record without it is
//! foreign. `+`: behind the range. `!`: a source record that no run names. Partitions are split by `;`, and
//! the two sides of each by `|`.

mod coarse;
mod delete;
mod last;

use super::fixture::{Small, pairs};
use super::{Judged, PartitionLines, Rules, classify, compare};
use crate::error::Side;
use crate::reconcile::difference::Difference;
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;
use crate::reconcile::policy::Policy;

const KEY: Option<&[u8]> = Some(b"k");
const LEDGER: [bool; 2] = [true, false];

fn line(token: &str, side: Side, offset: i64, ledger: bool) -> Line {
    let mut rest = token.chars().peekable();
    let letter = rest.next().expect("a value") as u8;
    let mut small = Small {
        key: Some(1),
        value: (letter != b'-').then_some(letter),
        headers: 0,
        timestamp: i64::from(letter) * 10,
    };
    let (mut origin, mut beyond, mut copied) = (None, false, true);
    while let Some(mark) = rest.next() {
        let mut digits = String::new();
        while let Some(digit) = rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        let number = || digits.parse::<i64>().expect("a number");
        match mark {
            '.' => small.headers = number() as u8,
            ':' => small.timestamp = number(),
            '@' => origin = Some(number()),
            '+' => beyond = true,
            '!' => copied = false,
            other => panic!("`{other}` in `{token}`"),
        }
    }
    let place = match side {
        _ if beyond => Place::Beyond,
        Side::Target if ledger && origin.is_none() => Place::Foreign,
        _ => Place::Claimed,
    };
    let copied_to = (ledger && copied && side == Side::Source).then_some(100);
    Line { place, source_offset: origin.filter(|_| ledger), copied_to, ..small.line(side, offset) }
}

fn group(text: &str, ledger: bool) -> Vec<PartitionLines> {
    let side = |text: &str, side, first| -> Vec<Line> {
        (first..)
            .zip(text.split_whitespace())
            .map(|(at, token)| line(token, side, at, ledger))
            .collect()
    };
    let partition = |(partition, text): (i32, &str)| {
        let (source, target) = text.split_once('|').expect("two sides");
        PartitionLines {
            partition,
            source: side(source, Side::Source, 10),
            target: side(target, Side::Target, 100),
        }
    };
    (0..).zip(text.split(';')).map(partition).collect()
}

fn shown(rows: &[Difference]) -> Vec<String> {
    let offset = |offset: Option<i64>| offset.map_or("-".into(), |offset| offset.to_string());
    let row = |row: &Difference| {
        let made_by = row.made_by.map_or(String::new(), |made_by| format!(" by {made_by}"));
        format!(
            "p{} {}: {} [{}/{} at {}/{}]{made_by}",
            row.partition,
            row.kind,
            row.detail,
            row.source_records,
            row.target_records,
            offset(row.source_offset),
            offset(row.target_offset),
        )
    };
    rows.iter().map(row).collect()
}

/// Judges `text`; the first reading must see whatever the second one names.
fn rows_of(policy: Policy, ledger: bool, key: Option<&[u8]>, text: &str) -> Vec<String> {
    let (rules, group) = (Rules { policy, ledger }, group(text, ledger));
    let classified = classify(&rules, key, &group);
    let suspicious = compare(&rules, key, &pairs(&group)) == Judged::Suspicious;
    assert!(
        suspicious || classified.differences.is_empty(),
        "{text}: seen by the second reading only"
    );
    shown(&classified.differences)
}

fn check(policy: Policy, ledger: bool, table: &[(&str, &[&str])]) {
    for (text, expected) in table {
        let rows = rows_of(policy, ledger, KEY, text);
        assert_eq!(rows, *expected, "{policy:?}, ledger {ledger}: {text}");
    }
}
