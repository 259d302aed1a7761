//! What a look at the records, at open transactions and at groups finds; and that nothing comes of it.

use onceover::check::Severity::{Fail, Pass, Warn};
use onceover::check::names;

use super::checked_between_the_shared;
use crate::brokers::{Error, Record, shared};
use crate::pipe::refusals::Case;

#[test]
fn keys_are_judged_by_where_they_lie() -> Result<(), Error> {
    let source = &shared::clusters().source_oracle;
    source.create_topic("check-keys-spread", 4, &[])?;
    let keyed = |partition, key: String| Record::in_partition(partition).key(key).value("v");
    let spread: Vec<_> = (0..40).map(|n| keyed(n % 4, format!("key-{}", n / 4))).collect();
    source.produce("check-keys-spread", &spread)?;
    // Where murmur2 of Java's client puts them (KafkaProducer, 2 partitions), by Kafka's own tests.
    source.create_topic("check-keys-one", 1, &[])?;
    let one: Vec<_> = (0..10).map(|n| keyed(0, format!("key-{n}"))).collect();
    source.produce("check-keys-one", &one)?;
    let checked = checked_between_the_shared("check-keys", "topics.include = ['/check-keys-.*/']");
    checked.is(names::KEY_SPREAD, "check-keys-spread", Warn);
    checked.is(names::KEY_SPREAD, "check-keys-one", Pass);
    checked.is(names::KEY_PARTITIONER, "check-keys-spread", Warn);
    checked.is(names::KEY_PARTITIONER, "check-keys-one", Pass);
    let sample = |topic: &str| {
        let pair = checked.facts.pairs.iter().find(|pair| &*pair.source.name == topic);
        pair.expect("the pair").source.sample.ok().expect("a sample").clone()
    };
    let spread = sample("check-keys-spread");
    assert_eq!((spread.records, spread.keyed, spread.keys), (40, 40, 10));
    assert_eq!(spread.scattered_keys, 10);
    Ok(())
}

#[test]
fn a_large_topic_is_only_sampled() -> Result<(), Error> {
    use crate::brokers::{Numbered, Writing};
    let source = &shared::clusters().source_oracle;
    source.create_topic("check-sample", 2, &[])?;
    let many = Numbered::new("check-sample", 2, 40_000);
    source.produce_numbered(&many, &Writing::default())?;
    let checked = checked_between_the_shared("check-sample", "topics.include = ['check-sample']");
    let topic = &checked.facts.pairs[0].source;
    let sample = topic.sample.ok().expect("a sample");
    assert_eq!(sample.records, 1_000, "half of them old, half of them new");
    let partition = &topic.partitions.ok().expect("partitions")[0];
    assert_eq!(partition.oldest_ms.ok(), Some(&Some(1_700_000_000_000)));
    let newest = partition.newest_ms.ok().expect("known").expect("a record");
    assert!(newest > 1_700_000_000_000, "{newest}");
    let bytes = *checked.facts.pairs[0].copy[0].bytes.ok().expect("an estimate");
    assert!((1_500_000..5_000_000).contains(&bytes), "20,000 records of 100 bytes: {bytes}");
    Ok(())
}

#[test]
fn an_open_transaction_fails_once_it_is_older_than_a_run_would_wait() -> Result<(), Error> {
    let source = &shared::clusters().source_oracle;
    let (open, young, closed) = ("check-open-one", "check-open-young", "check-open-none");
    for topic in [open, young, closed] {
        source.create_topic(topic, 1, &[])?;
        source.produce(topic, &[Record::in_partition(0).value("v")])?;
    }
    let producer = source.transactional("check-open", &[])?;
    producer.begin()?;
    producer.produce(open, &[Record::in_partition(0).value("v").at(1_700_000_000_000)])?;
    producer.produce(young, &[Record::in_partition(0).value("v")])?;
    let checked = checked_between_the_shared("check-open", "topics.include = ['/check-open-.*/']");
    checked.is(names::OPEN_TRANSACTIONS, open, Fail);
    checked.is(names::OPEN_TRANSACTIONS, young, Warn);
    checked.is(names::OPEN_TRANSACTIONS, closed, Pass);
    producer.abort()
}

#[test]
fn groups_in_scope_are_listed_with_what_they_read() -> Result<(), Error> {
    let source = &shared::clusters().source_oracle;
    source.create_topic("check-scope", 1, &[])?;
    source.alter_group_offsets("check-scope-in", &[("check-scope", 0, 0)])?;
    source.alter_group_offsets("check-scope-out", &[("check-scope", 0, 0)])?;
    let plan = "topics.include = ['check-scope']\n[groups]\ninclude = ['/check-scope-.*/']\n\
                exclude = ['check-scope-out']";
    let checked = checked_between_the_shared("check-scope", plan);
    let groups = checked.facts.groups.ok().expect("groups");
    let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["check-scope-in"]);
    assert_eq!(groups[0].state.ok().map(String::as_str), Some("Empty"));
    assert_eq!(groups[0].members.ok(), Some(&0));
    let topics = groups[0].topics.ok().expect("topics");
    assert_eq!(topics.iter().map(|topic| &**topic).collect::<Vec<_>>(), ["check-scope"]);
    Ok(())
}

#[test]
fn a_check_changes_nothing_on_either_side() -> Result<(), Error> {
    let case = Case::empty("check-untouched")?;
    case.produce(200)?;
    let before = case.both()?;
    super::checked(&case.migration.plan);
    assert_eq!(case.both()?, before, "before there is a ledger");
    case.goes_on()?;
    case.produce(400)?;
    let before = case.both()?;
    let checked = super::checked(&case.migration.plan);
    assert_eq!(case.both()?, before, "with a ledger");
    checked.is(names::TARGET_EMPTY, "check-untouched", Pass);
    let copy = &checked.facts.pairs[0].copy;
    assert!(
        copy.iter()
            .all(|one| one.bound.ok() == Some(&true)
                && one.from.ok().is_some_and(|from| *from >= 100))
    );
    Ok(())
}
