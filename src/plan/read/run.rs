//! `[run]` and `[ledger]`: how the copying runs, and where it remembers.

use std::time::Duration;

use super::fields::{Fields, Value};
use super::not_supported;
use super::topics::replication_factor;
use crate::plan::lanes::MAX_LANES;
use crate::plan::names::{DEFAULT_PREFIX, LEDGER_SUFFIX, is_internal, topic_name_fault};
use crate::plan::settings::{LaneCount, LedgerPlan, OnError, OnGap, Run};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The longest prefix: with plan name, suffix and lane number it fits into a topic name.
const MAX_PREFIX: usize = 100;

pub(super) fn run(mut fields: Fields<'_>) -> Run {
    let seconds = Duration::from_secs;
    Run {
        lanes: fields.or("lanes", LaneCount::Auto, lanes),
        // Beyond 10 s a batch would come near the transaction time-out (60 s) on a slow link: a batch
        // must fit into a quarter of it.
        commit_interval: fields.or("commit_interval", Duration::from_millis(500), |value| {
            value.duration(Duration::from_millis(1)..=seconds(10))
        }),
        commit_bytes: fields.or("commit_bytes", 64 * MIB, |value| value.size(64 * KIB..=4 * GIB)),
        max_transactions_per_second: fields
            .or("max_transactions_per_second", 20, |value| value.integer(1..=1_000)),
        max_rate: fields.maybe("max_rate", |value| value.rate(KIB)),
        memory: fields.or("memory", 256 * MIB, |value| value.size(16 * MIB..=1 << 40)),
        positions: fields.or("positions", true, Value::boolean),
        on_gap: fields.or("on_gap", OnGap::Stop, |value| {
            value.one_of(&[("stop", OnGap::Stop), ("record", OnGap::Record)])
        }),
        on_error: fields.or("on_error", OnError::Stop, |value| {
            let choice =
                value.one_of(&[("stop", OnError::Stop), ("dead-letter", OnError::DeadLetter)])?;
            if choice == OnError::DeadLetter {
                not_supported(value, "dead-letter topics are");
            }
            Some(choice)
        }),
        open_transaction_wait: fields.or("open_transaction_wait", seconds(15 * 60), |value| {
            value.duration(Duration::ZERO..=seconds(7 * 86_400))
        }),
    }
}

fn lanes(value: &Value<'_>) -> Option<LaneCount> {
    match value.type_name() {
        "an integer" => value.integer(1..=MAX_LANES).map(LaneCount::Fixed),
        "a string" if value.string()? == "auto" => Some(LaneCount::Auto),
        _ => {
            value.problem("expected `\"auto\"` or an integer");
            None
        }
    }
}

pub(super) fn ledger(mut fields: Fields<'_>, plan: &str) -> LedgerPlan {
    let name = |value: &Value<'_>| {
        let text = value.string()?;
        let fault = topic_name_fault(text);
        let fault = fault.or_else(|| {
            is_internal(text).then(|| "names that start with `__` are the brokers' own".into())
        });
        if let Some(fault) = fault {
            value.problem(&fault);
            return None;
        }
        Some(text.to_string())
    };
    let prefix = fields.or("prefix", DEFAULT_PREFIX.to_string(), |value| {
        let prefix = name(value)?;
        if prefix.len() > MAX_PREFIX {
            value.problem(&format!("must not be longer than {MAX_PREFIX} characters"));
            return None;
        }
        Some(prefix)
    });
    let default = format!("{prefix}{plan}{LEDGER_SUFFIX}");
    LedgerPlan {
        topic: fields.or("topic", default, name),
        prefix,
        create: fields.or("create", true, Value::boolean),
        replication_factor: fields.maybe("replication_factor", replication_factor),
    }
}
