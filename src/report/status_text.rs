//! A [`Status`] as a person reads it in a terminal. Pure.

use std::fmt::Write as _;

use super::numbers::{bytes, count, counted, or_dash, time};
use super::status::{FenceLine, Stage, Status};
use super::status_partition::{PartitionLine, Proved};
use super::table::{Align, table};
use crate::check::{Outlook, Risk};

/// Refusals that are shown; the ledger has them all.
const REFUSALS: usize = 5;

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
        let different = self.proved().different > 0;
        let found = ", and the last proof found DIFFERENCES";
        let found = if different { found } else { "" };
        match self.stage {
            Stage::NoLedger => "nothing was copied, there is no ledger".to_owned(),
            Stage::NoFence => format!("no fence (a tail, or a run that has just begun){found}"),
            Stage::Copied if different => format!("copied up to the fence{found}"),
            Stage::Copied => "copied up to the fence, not proved".to_owned(),
            Stage::Proved => "copied up to the fence, and proved".to_owned(),
            Stage::Copying => {
                let (reached, of) = self.reached();
                let of = counted(of as u64, "partition");
                format!("copying, {reached} of {of} reached the fence{found}")
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
        if self.ledger.is_some() {
            facts.push(("proved", self.proved().text()));
        }
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
        facts.extend(self.race().into_iter().map(|text| ("race", text)));
        if !self.gone.is_empty() {
            let topics = self.gone.join("`, `");
            facts.push(("source", format!("`{topics}` is in the ledger, and not on the source")));
        }
        if self.ledger.is_some() && self.unseen() > 0 {
            let unseen = counted(self.unseen() as u64, "partition");
            facts.push(("new", format!("{unseen} of the source that no run has copied from yet")));
        }
        let untimed: u64 = self.partitions.iter().map(|line| line.untimed).sum();
        if untimed > 0 {
            let value =
                format!("{}: the target shows the time of the copy", counted(untimed, "record"));
            facts.push(("untimed", value));
        }
        let gone: u64 = self.partitions.iter().map(|line| line.gone).sum();
        if gone > 0 {
            let value = format!("{} gone before they were copied", counted(gone, "source offset"));
            facts.push(("gone", value));
        }
        facts
    }

    /// Partitions of which retention may take what is not copied; when, and when the copy is there.
    fn race(&self) -> Vec<String> {
        /// More would scroll the rest off the screen; `--json` has them all.
        const SHOWN: usize = 5;
        if let Some(why) = &self.race_unknown {
            return vec![format!("what retention deletes next is not known: {why}")];
        }
        let at_risk: Vec<_> = self.partitions.iter().filter(|line| line.at_risk()).collect();
        let shown = at_risk.iter().filter_map(|line| Some((line.at.to_string(), line.outlook?)));
        let mut lines: Vec<String> =
            shown.take(SHOWN).map(|(at, outlook)| format!("{at}: {}", risk(outlook))).collect();
        if at_risk.len() > SHOWN {
            lines.push(format!("and {} more partitions at risk", at_risk.len() - SHOWN));
        }
        lines
    }

    fn partition_table(&self) -> Vec<String> {
        let renamed = |line: &PartitionLine| {
            line.target_topic.clone().filter(|target| **target != *line.at.topic)
        };
        let any_renamed = self.partitions.iter().any(|line| renamed(line).is_some());
        let mut columns = vec![("topic", Align::Left)];
        let numbers = [
            "partition",
            "lane",
            "position",
            "fence",
            "log end",
            "lag",
            "records",
            "proved",
            "unproved",
        ];
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
                or_dash(line.proved()),
                line.unproved().map_or_else(dash, count),
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
}

impl Proved {
    fn text(self) -> String {
        let Some(last) = self.last_at else {
            return "nothing yet (`onceover reconcile` proves)".to_owned();
        };
        let last = moment(last);
        let of = counted(self.of as u64, "partition");
        let different = match self.different {
            0 => String::new(),
            keys => format!(", {} with differences", counted(keys as u64, "partition")),
        };
        if self.everything() {
            format!("up to the position of every partition, at {last}")
        } else {
            let behind = counted(self.behind, "offset");
            let whole = self.whole;
            format!("{whole} of {of} up to the position{different}, {behind} to go, at {last}")
        }
    }
}

fn risk(outlook: Outlook) -> String {
    let deleted = match (outlook.risk, outlook.deleted_at) {
        (Risk::Gone, _) => {
            return "the source has deleted its first uncopied records".to_owned();
        }
        (Risk::Lost(from), Some(first)) => format!(
            "the source may delete its first uncopied record from {} on, and overtakes the copy at {}",
            moment(first),
            moment(from)
        ),
        _ => "the source may delete its first uncopied records at any moment".to_owned(),
    };
    match outlook.reached_at {
        Some(at) => format!("{deleted}; the copy reaches its end at {}", moment(at)),
        None => format!("{deleted}; how fast the copy is nobody knows"),
    }
}

fn moment(millis: i64) -> String {
    time(millis).unwrap_or_else(|| "an unknown time".to_owned())
}

impl FenceLine {
    fn text(&self) -> String {
        let done = match self.done_at {
            Some(done) => format!("reached {}", moment(done)),
            None => "open".to_owned(),
        };
        format!("{} by {} ({}), {done}", moment(self.taken_at), self.worker, self.id)
    }
}
