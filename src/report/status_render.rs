//! A [`Status`] in words, and as JSON. Pure.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::numbers::{bytes, count, counted, or_dash, time};
use super::out::SCHEMA;
use super::status::{FenceLine, Stage, Status};
use super::table::{Align, table};

/// Refusals that are shown; the ledger has them all.
const REFUSALS: usize = 5;

impl Stage {
    /// The stable word of `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoLedger => "no-ledger",
            Self::NoFence => "no-fence",
            Self::Copying => "copying",
            Self::Copied => "copied-not-proved",
        }
    }
}

impl Status {
    /// What a person reads.
    pub fn render_text(&self) -> String {
        let mut text = format!("{}: {}\n\n", self.plan, self.verdict());
        for (name, value) in self.facts() {
            let _ = writeln!(text, "  {name:<8} {value}");
        }
        if !self.partitions.is_empty() {
            let _ = writeln!(text, "\n{}", self.partition_table().join("\n"));
        }
        if !self.lanes.is_empty() {
            let _ = writeln!(text, "\n{}", self.lane_table().join("\n"));
        }
        if !self.refused.is_empty() {
            let _ = writeln!(text, "\n{}", self.refusals().join("\n"));
        }
        text
    }

    fn verdict(&self) -> String {
        match self.stage {
            Stage::NoLedger => "nothing was copied, there is no ledger".to_owned(),
            Stage::NoFence => {
                "no fence (a tail, or a run that has just begun), not proved".to_owned()
            }
            Stage::Copied => "copied up to the fence, not proved".to_owned(),
            Stage::Copying => {
                let (reached, of) = self.reached();
                format!(
                    "copying, {reached} of {} reached the fence",
                    counted(of as u64, "partition")
                )
            }
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        let ledger = match &self.ledger {
            Some(ledger) => format!(
                "{} (generation {}, {})",
                self.ledger_topic,
                ledger.generation,
                counted(ledger.lanes.into(), "lane")
            ),
            None => format!("{} (not there)", self.ledger_topic),
        };
        facts.push(("ledger", ledger));
        if let Some(fence) = &self.fence {
            facts.push(("fence", fence.text()));
        }
        let (records, moved) = self.moved();
        facts.push(("copied", format!("{} ({})", counted(records, "record"), bytes(moved))));
        match (&self.source_silent, self.lag()) {
            (Some(why), _) => {
                facts.push(("source", format!("did not answer, so no lag is known: {why}")));
            }
            (None, (lag, 0)) => facts.push(("lag", counted(lag, "offset"))),
            (None, (lag, unknown)) => facts.push((
                "lag",
                format!(
                    "{}, and {} without a known lag",
                    counted(lag, "offset"),
                    counted(unknown as u64, "partition")
                ),
            )),
        }
        let untimed: u64 = self.partitions.iter().map(|line| line.untimed).sum();
        if untimed > 0 {
            let value = format!("{}: the target shows the time of the copy", counted(untimed, "record"));
            facts.push(("untimed", value));
        }
        let gone: u64 = self.partitions.iter().map(|line| line.gone).sum();
        if gone > 0 {
            let value =
                format!("{} gone before they were copied", counted(gone, "source offset"));
            facts.push(("gone", value));
        }
        facts
    }

    fn partition_table(&self) -> Vec<String> {
        let renamed = |line: &super::status::PartitionLine| {
            line.target_topic.clone().filter(|target| **target != *line.at.topic)
        };
        let any_renamed = self.partitions.iter().any(|line| renamed(line).is_some());
        let mut columns = vec![("topic", Align::Left)];
        let numbers = ["partition", "lane", "position", "fence", "log end", "lag", "records"];
        columns.extend(numbers.map(|name| (name, Align::Right)));
        columns.extend(any_renamed.then_some(("on the target", Align::Left)));
        let rows = self.partitions.iter().map(|line| {
            let dash = || "-".to_owned();
            let mut row = vec![
                line.at.topic.to_string(),
                line.at.partition.to_string(),
                line.lane.map_or_else(dash, |lane| lane.to_string()),
                or_dash(line.position),
                or_dash(line.fence),
                or_dash(line.log_end),
                line.lag().map_or_else(dash, count),
                count(line.records),
            ];
            row.extend(any_renamed.then(|| renamed(line).unwrap_or_default()));
            row
        });
        table(&columns, rows)
    }

    fn lane_table(&self) -> Vec<String> {
        let columns = [
            ("lane", Align::Right),
            ("partitions", Align::Right),
            ("transactions", Align::Right),
            ("last worker", Align::Left),
        ];
        let rows = self.lanes.iter().map(|lane| {
            vec![
                lane.lane.to_string(),
                count(lane.partitions as u64),
                count(lane.carries),
                lane.worker.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        });
        table(&columns, rows)
    }

    fn refusals(&self) -> Vec<String> {
        let hidden = self.refused.len().saturating_sub(REFUSALS);
        let mut lines = vec![match hidden {
            0 => "refused:".to_owned(),
            _ => format!("refused (the last {REFUSALS} of {}):", self.refused.len()),
        }];
        lines.extend(self.refused[hidden..].iter().map(|refused| {
            let at = time(refused.at).unwrap_or_else(|| "-".to_owned());
            format!("  {at} {} ({}): {}", refused.word, refused.worker, refused.what)
        }));
        lines
    }

    /// What a program reads; fields are added, never changed, while `schema` is 1.
    pub fn to_json(&self) -> Value {
        let (records, bytes) = self.moved();
        let (lag, unknown) = self.lag();
        let (reached, of) = self.reached();
        json!({
            "schema": SCHEMA,
            "plan": self.plan,
            "stage": self.stage.word(),
            "proved": false,
            "ledger": {
                "topic": self.ledger_topic,
                "generation": self.ledger.as_ref().map(|ledger| ledger.generation),
                "lanes": self.ledger.as_ref().map(|ledger| ledger.lanes),
                "source_cluster": self.ledger.as_ref().map(|ledger| &ledger.source_cluster),
                "target_cluster": self.ledger.as_ref().map(|ledger| &ledger.target_cluster),
            },
            "fence": self.fence.as_ref().map(|fence| json!({
                "id": fence.id,
                "worker": fence.worker,
                "taken_at": time(fence.taken_at),
                "taken_at_ms": fence.taken_at,
                "done": fence.done_at.is_some(),
                "done_at_ms": fence.done_at,
                "partitions": of,
                "reached": reached,
            })),
            "source": { "answered": self.source_silent.is_none(), "error": self.source_silent },
            "records": records,
            "bytes": bytes,
            "lag": if unknown == 0 { json!(lag) } else { Value::Null },
            "partitions": self.partitions.iter().map(|line| json!({
                "topic": *line.at.topic,
                "partition": line.at.partition,
                "target_topic": line.target_topic,
                "lane": line.lane,
                "position": line.position,
                "fence": line.fence,
                "log_end": line.log_end,
                "lag": line.lag(),
                "records": line.records,
                "bytes": line.bytes,
                "untimed": line.untimed,
                "gone": line.gone,
            })).collect::<Vec<_>>(),
            "lanes": self.lanes.iter().map(|lane| json!({
                "lane": lane.lane,
                "worker": lane.worker,
                "epoch": lane.epoch,
                "transactions": lane.carries,
                "partitions": lane.partitions,
            })).collect::<Vec<_>>(),
            "refused": self.refused.iter().map(|refused| json!({
                "word": refused.word,
                "what": refused.what,
                "worker": refused.worker,
                "at": time(refused.at),
                "at_ms": refused.at,
            })).collect::<Vec<_>>(),
        })
    }
}

impl FenceLine {
    fn text(&self) -> String {
        let at = |millis| time(millis).unwrap_or_else(|| "an unknown time".to_owned());
        let done = match self.done_at {
            Some(done) => format!("reached {}", at(done)),
            None => "open".to_owned(),
        };
        format!("{} by {} ({}), {done}", at(self.taken_at), self.worker, self.id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::digest::{RecordDigest, SequenceDigest};
    use crate::ledger::{
        Anchor, Bind, BindPartition, Carry, CarryPartition, ControlState, Done, Entry, Fence,
        Found, Gap, Header, LaneState, Refused, Role, Runs,
    };
    use crate::plan::{TopicPartition, lane_of};

    const NOON: i64 = 1_772_330_400_000;

    fn header(role: Role) -> Entry {
        Entry::Header(Header {
            plan: "orders-eu".into(),
            generation: 1,
            lanes: 2,
            source_cluster: "old".into(),
            target_cluster: "new".into(),
            partition_role: role,
            tool: "0.1.0".into(),
            created: NOON,
        })
    }

    fn orders(partition: i32) -> TopicPartition {
        TopicPartition::new("orders", partition)
    }

    /// Control partition with a fence at 10 for both partitions of `orders`, and what follows.
    fn control(more: Vec<Entry>) -> ControlState {
        let fence = Fence::new("f-1", NOON, "host-a", (0..2).map(|number| (orders(number), 10)));
        let mut state = ControlState::default();
        let entries = [header(Role::Control), Entry::Fence(fence)].into_iter().chain(more);
        for (offset, entry) in (0..).zip(entries) {
            state.apply(offset, entry).unwrap();
        }
        state
    }

    /// Both lanes, with one partition each: `orders-0` copied to 10 with a hole, `orders-1` bound.
    fn lanes() -> Vec<LaneState> {
        (0..2u32)
            .map(|lane| {
                let number = (0..2).find(|number| lane_of("orders", *number, 2) == lane).unwrap();
                let mut state = LaneState::default();
                let mut apply = |entry| {
                    let offset = state.next_offset;
                    state.apply(offset, entry).unwrap();
                };
                apply(header(Role::Lane(lane)));
                apply(Entry::Bind(bind(number)));
                if number == 0 {
                    apply(Entry::Gap(Gap {
                        topic: "orders".into(),
                        partition: 0,
                        from: 0,
                        to: 8,
                        reason: "expired".into(),
                        at: NOON,
                    }));
                    apply(Entry::Carry(carry()));
                }
                state
            })
            .collect()
    }

    fn bind(number: i32) -> Bind {
        Bind {
            worker: "host-a".into(),
            epoch: 1,
            naming: String::new(),
            start: "earliest".into(),
            partitions: vec![BindPartition {
                topic: "orders".into(),
                partition: number,
                topic_id: None,
                target_topic: "new.orders".into(),
                target_topic_id: None,
                start: 0,
                target_start: 0,
                found: Found::Empty,
            }],
        }
    }

    fn carry() -> Carry {
        let mut runs = Runs::default();
        let mut digest = SequenceDigest::EMPTY;
        for (source, target) in [(8, 0), (9, 1)] {
            runs.push(source, target);
            digest.push(RecordDigest(1));
        }
        Carry {
            seq: 1,
            part: 1,
            parts: 1,
            worker: "host-b".into(),
            epoch: 2,
            snapshot: None,
            at: NOON,
            partitions: vec![CarryPartition {
                topic: "orders".into(),
                partition: 0,
                first: 8,
                next: 10,
                runs,
                read: 2,
                written: 2,
                filtered: 0,
                dead: 0,
                bytes: 1_000,
                digest,
                anchor: Some(Anchor {
                    offset: 9,
                    epoch: None,
                    digest: RecordDigest(1),
                    timestamp: None,
                }),
                untimed: 1,
            }],
        }
    }

    fn ends() -> BTreeMap<TopicPartition, i64> {
        [(orders(0), 12), (orders(1), 1_510)].into()
    }

    fn status(control: &ControlState, source: super::super::status::SourceEnds) -> Status {
        Status::new("orders-eu", "onceover-orders-eu-ledger", control, &lanes(), source)
    }

    #[test]
    fn a_plan_on_its_way_shows_positions_fence_lag_and_workers() {
        let refused = Entry::Refused(Refused {
            word: "foreign-records".into(),
            what: "target orders-0 holds a committed record".into(),
            at: NOON,
            worker: "host-a".into(),
        });
        let text = status(&control(vec![refused]), Ok(ends())).render_text();
        let (zero, one) = (lane_of("orders", 0, 2), lane_of("orders", 1, 2));
        let lane_lines = match zero {
            0 => {
                "     0           1             1  host-b\n     1           1             0  host-a"
            }
            _ => {
                "     0           1             0  host-a\n     1           1             1  host-b"
            }
        };
        assert_eq!(
            text,
            format!(
                "\
orders-eu: copying, 1 of 2 partitions reached the fence

  ledger   onceover-orders-eu-ledger (generation 1, 2 lanes)
  fence    2026-03-01T02:00:00Z by host-a (f-1), open
  copied   2 records (1.0 kB)
  lag      1,512 offsets
  untimed  1 record: the target shows the time of the copy
  gone     8 source offsets gone before they were copied

  topic   partition  lane  position  fence  log end    lag  records  on the target
  orders          0     {zero}        10     10       12      2        2  new.orders
  orders          1     {one}         0     10    1,510  1,510        0  new.orders

  lane  partitions  transactions  last worker
{lane_lines}

refused:
  2026-03-01T02:00:00Z foreign-records (host-a): target orders-0 holds a committed record
"
            )
        );
    }

    #[test]
    fn a_source_that_does_not_answer_is_said_and_its_columns_are_dashes() {
        let done = Entry::Done(Done {
            fence: "f-1".into(),
            at: NOON + 60_000,
            worker: "host-a".into(),
            records: 2,
            bytes: 1_000,
        });
        let status = status(&control(vec![done]), Err("no broker answered in 5 s".into()));
        let text = status.render_text();
        assert!(text.starts_with("orders-eu: copied up to the fence, not proved\n"), "{text}");
        assert!(text.contains(
            "  source   did not answer, so no lag is known: no broker answered in 5 s\n"
        ));
        assert!(text.contains("        10     10        -    -        2  new.orders\n"), "{text}");
        assert!(text.contains("(f-1), reached 2026-03-01T02:01:00Z\n"));
        let json = status.to_json();
        assert_eq!(json["source"]["answered"], false);
        assert_eq!(json["lag"], Value::Null);
        assert_eq!(json["partitions"][0]["lag"], Value::Null);
        assert_eq!(json["stage"], "copied-not-proved");
    }

    #[test]
    fn a_plan_without_a_ledger_says_so() {
        let status =
            Status::new("p", "onceover-p-ledger", &ControlState::default(), &[], Ok([].into()));
        assert_eq!(
            status.render_text(),
            "\
p: nothing was copied, there is no ledger

  ledger   onceover-p-ledger (not there)
  copied   0 records (0 B)
  lag      0 offsets
"
        );
    }

    #[test]
    fn partitions_that_only_the_fence_or_the_source_knows_are_shown_without_a_position() {
        let mut ends = ends();
        ends.insert(TopicPartition::new("late", 0), 7);
        let status = Status::new(
            "p",
            "l",
            &control(vec![]),
            &[LaneState::default(), LaneState::default()],
            Ok(ends),
        );
        let shown: Vec<_> = status
            .partitions
            .iter()
            .map(|line| (line.at.to_string(), line.position, line.fence))
            .collect();
        assert_eq!(
            shown,
            [
                ("late-0".into(), None, None),
                ("orders-0".into(), None, Some(10)),
                ("orders-1".into(), None, Some(10))
            ]
        );
        assert_eq!(status.reached(), (0, 2));
        assert!(status.render_text().contains("0 offsets, and 3 partitions without a known lag"));
    }

    #[test]
    fn the_json_has_a_stable_shape() {
        let json = status(&control(vec![]), Ok(ends())).to_json();
        let lane = lane_of("orders", 0, 2);
        assert_eq!(
            json["partitions"][0].to_string(),
            format!(
                r#"{{"topic":"orders","partition":0,"target_topic":"new.orders","lane":{lane},"position":10,"fence":10,"log_end":12,"lag":2,"records":2,"bytes":1000,"untimed":1,"gone":8}}"#
            )
        );
        assert_eq!(
            json["fence"].to_string(),
            r#"{"id":"f-1","worker":"host-a","taken_at":"2026-03-01T02:00:00Z","taken_at_ms":1772330400000,"done":false,"done_at_ms":null,"partitions":2,"reached":1}"#
        );
        let names: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "schema",
                "plan",
                "stage",
                "proved",
                "ledger",
                "fence",
                "source",
                "records",
                "bytes",
                "lag",
                "partitions",
                "lanes",
                "refused"
            ]
        );
    }
}
