//! A source transaction that stays open.

use super::{assert_same, records, source, target};
use crate::brokers::{Error, Record};
use crate::pipe::harness::Migration;

#[test]
fn an_open_transaction_below_the_fence_ends_the_run_with_its_partition_and_command_and_once_committed_all_arrives()
-> Result<(), Error> {
    source().create_topic("open-tx", 2, &[])?;
    let in_both =
        |value: &str| [0, 1].map(|p| Record::in_partition(p).value(value).at(1_700_000_000_000));
    source().produce("open-tx", &in_both("before"))?;
    let patient = [("transaction.timeout.ms", "600000")];
    let producer = source().transactional("fidelity-open", &patient)?;
    producer.begin()?;
    producer.produce("open-tx", &in_both("open")[..1])?;
    source().produce("open-tx", &in_both("behind"))?;

    let plan = |wait: &str| {
        format!("topics.include = [\"open-tx\"]\nrun.open_transaction_wait = \"{wait}\"")
    };
    let migration = Migration::new("open-tx", &plan("300ms"));
    let stopped = migration.run(&["--json"]).expect(3);
    let error = &stopped.json()["error"];
    let what = error["message"].as_str().unwrap_or_default();
    assert!(what.contains("open-tx-0 (last stable offset 1, fence 3)"), "{error}");
    assert!(!what.contains("open-tx-1"), "{error}");
    let hint = error["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("kafka-transactions.sh"), "{error}");
    assert!(hint.contains("find-hanging --topic open-tx --partition 0"), "{error}");

    let value = |record: Record| String::from_utf8(record.value.unwrap_or_default()).unwrap();
    let seen = records(target(), "open-tx")?.into_iter();
    let seen: Vec<_> = seen.map(|record| (record.partition, value(record))).collect();
    let wanted = [(0, "before"), (1, "before"), (1, "behind")].map(|(p, v)| (p, v.to_owned()));
    assert_eq!(seen, wanted, "what lies before the open transaction is there, and nothing else");

    producer.commit()?;
    migration.rewrite(&plan("15m"));
    migration.run(&[]).expect(0);
    assert_eq!(assert_same("open-tx")?, 5);
    Ok(())
}
