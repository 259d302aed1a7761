//! A [`Status`] as a program reads it. Pure.

use serde_json::{Value, json};

use super::numbers::time;
use super::out::SCHEMA;
use super::status::{Stage, Status};
use crate::check::Risk;

impl Stage {
    /// The stable word of `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoLedger => "no-ledger",
            Self::NoFence => "no-fence",
            Self::Copying => "copying",
            Self::Copied => "copied-not-proved",
            Self::Proved => "proved",
        }
    }
}

impl Status {
    /// What a program reads; fields are added, never changed, while `schema` is 1.
    pub fn to_json(&self) -> Value {
        let (records, bytes) = self.moved();
        let (lag, unknown) = self.lag();
        let (reached, of) = self.reached();
        let proved = self.proved();
        json!({
            "schema": SCHEMA,
            "plan": self.plan,
            "stage": self.stage.word(),
            "proved": self.stage == Stage::Proved,
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
            "source": {
                "answered": self.source_silent.is_none(),
                "error": self.source_silent,
                "gone": self.gone,
                "unseen_partitions": self.unseen(),
                "retention_error": self.race_unknown,
            },
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
                "proved": line.proved(),
                "unproved": line.unproved(),
                "differences": line.proof.map(|proof| proof.differences),
                "proof_at_ms": line.proof.map(|proof| proof.at),
                "retention": line.outlook.map(|outlook| json!({
                    "risk": outlook.risk.word(),
                    "deleted_at_ms": outlook.deleted_at,
                    "reached_at_ms": outlook.reached_at,
                    "lost_from_ms": match outlook.risk {
                        Risk::Lost(from) => Some(from),
                        _ => None,
                    },
                })),
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
            "proof": proved.last_at.map(|at| json!({
                "at": time(at),
                "at_ms": at,
                "partitions": proved.of,
                "proved": proved.whole,
                "different": proved.different,
                "unproved": proved.behind,
            })),
        })
    }
}
