//! Topics: which are moved, what they are called, how they are made, and when they do not fit.

use std::collections::BTreeMap;

use super::{assert_same, assert_same_as, snapshot, source, target, text};
use crate::brokers::{Error, Record};
use crate::pipe::harness::Migration;

#[test]
fn topics_are_made_under_their_new_names_with_the_sources_partitions_and_configs_less_excluded_plus_overridden_ones()
-> Result<(), Error> {
    let configs = [
        ("cleanup.policy", "compact,delete"),
        ("retention.ms", "-1"),
        ("max.message.bytes", "300000"),
        ("compression.type", "gzip"),
        ("segment.ms", "7000000"),
    ];
    source().create_topic("shape.eu.orders", 5, &configs)?;
    source().create_topic("shape.eu.plain", 3, &[])?;
    source().create_topic("shape-exact", 1, &[("retention.ms", "100000000")])?;
    source().create_topic("onceover-shape-of-another-ledger", 1, &[])?;
    for topic in ["shape.eu.orders", "shape.eu.plain", "shape-exact"] {
        source().produce(topic, &[text(topic).key("k")])?;
    }
    let migration = Migration::new(
        "shape",
        "[topics]\n\
         include = ['/shape\\..*/', \"shape-exact\", '/(__consumer_offsets|onceover-shape.*|shape-e.*)/']\n\
         rename = [{ from = '/shape\\.(?P<where>[a-z]+)\\.(.*)/', to = \"new.$2.${where}\" },\n\
                   { from = \"shape-exact\", to = \"shape-other\" }]\n\
         config.exclude = [\"segment.ms\"]\n\
         config.override = { \"retention.bytes\" = \"900000000\" }\n\
         [[topics.override]]\n\
         topics = [\"shape-exact\"]\n\
         config = { \"retention.ms\" = \"200000000\" }",
    );
    let done = migration.run(&["--json"]).expect(0).json();
    let moved: Vec<(&str, &str)> = done["topics"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (one["topic"].as_str().unwrap(), one["target"].as_str().unwrap()))
        .collect();
    let names = [
        ("shape-exact", "shape-other"),
        ("shape.eu.orders", "new.orders.eu"),
        ("shape.eu.plain", "new.plain.eu"),
    ];
    assert_eq!(moved, names, "no internal topic, no ledger");
    let on_target = target().list_topics()?;
    for (on_source, renamed) in names {
        assert_eq!(assert_same_as(on_source, renamed)?, 1);
        assert!(!on_target.iter().any(|topic| topic == on_source), "{on_source}");
    }
    assert!(!on_target.iter().any(|topic| topic == "onceover-shape-of-another-ledger"));

    let made = |name: &str| target().describe_topic(name);
    let mut wanted: BTreeMap<String, String> =
        configs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    wanted.remove("segment.ms");
    wanted.insert("retention.bytes".into(), "900000000".into());
    assert_eq!((made("new.orders.eu")?.partitions, made("new.orders.eu")?.configs), (5, wanted));
    let only = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>()
    };
    let overridden = ("retention.bytes", "900000000");
    assert_eq!(made("new.plain.eu")?.configs, only(&[overridden]));
    let exact = only(&[overridden, ("retention.ms", "200000000")]);
    assert_eq!(made("shape-other")?.configs, exact);
    Ok(())
}

#[test]
fn partition_counts_or_cleanup_policies_that_differ_end_with_exit_7_before_anything_is_written()
-> Result<(), Error> {
    for topic in ["unlike-count", "unlike-policy", "unlike-missing"] {
        source().create_topic(topic, 2, &[])?;
        source().produce(topic, &[text(topic)])?;
    }
    target().create_topic("unlike-count", 3, &[])?;
    target().create_topic("unlike-policy", 2, &[("cleanup.policy", "compact")])?;
    let before = (snapshot(source(), "unlike")?, snapshot(target(), "unlike")?);
    let migration = Migration::new("unlike", "topics.include = ['/unlike-.*/']");
    let refused = migration.run(&["--json"]).expect(7);
    assert_eq!(refused.error_kind(), "partitions");
    let error = &refused.json()["error"];
    let what = error["message"].as_str().unwrap_or_default();
    assert!(
        what.contains("topic `unlike-count`: source has 2 partitions, target has 3"),
        "{error}"
    );
    assert!(what.contains("`cleanup.policy=compact`"), "{error}");
    assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
    assert_eq!((snapshot(source(), "unlike")?, snapshot(target(), "unlike")?), before);

    target().set_topic_config("unlike-policy", &[("cleanup.policy", "delete")])?;
    migration.rewrite("topics.include = [\"unlike-policy\", \"unlike-missing\"]");
    migration.run(&[]).expect(0);
    assert_eq!((assert_same("unlike-policy")?, assert_same("unlike-missing")?), (1, 1));
    Ok(())
}

#[test]
fn a_config_that_the_target_does_not_take_ends_with_exit_7_and_no_topic_is_made()
-> Result<(), Error> {
    for topic in ["bad-config-a", "bad-config-b"] {
        source().create_topic(topic, 1, &[("retention.ms", "1000000")])?;
    }
    let before = snapshot(target(), "bad-config")?;
    let migration = Migration::new(
        "bad-config",
        "topics.include = ['/bad-config-.*/']\n[[topics.override]]\ntopics = [\"bad-config-b\"]\n\
         config = { \"min.insync.replicas\" = \"none\" }",
    );
    let refused = migration.run(&["--json"]).expect(7);
    assert_eq!(refused.error_kind(), "create-topic");
    assert!(refused.stdout.contains("`bad-config-b`"), "{}", refused.stdout);
    assert_eq!(snapshot(target(), "bad-config")?, before);
    Ok(())
}

#[test]
fn an_include_entry_that_matches_nothing_or_only_what_is_never_moved_ends_with_exit_2()
-> Result<(), Error> {
    source().create_topic("no-match-orders", 1, &[])?;
    source().produce("no-match-orders", &[Record::in_partition(0).value("x")])?;
    for (include, said) in [
        ("\"no-match-orders\", \"no-match-order\"", "did you mean `no-match-orders`?"),
        ("'/no-match-orders/', '/match-orders/'", "`/match-orders/` matches no topic"),
        ("\"__consumer_offsets\"", "is never moved"),
        ("'/__.*/'", "matches no topic"),
    ] {
        let migration = Migration::new("no-match", &format!("topics.include = [{include}]"));
        let refused = migration.run(&["--json"]).expect(2);
        assert_eq!(refused.error_kind(), "usage");
        assert!(refused.stdout.contains(said), "{said}: {}", refused.stdout);
    }
    assert!(snapshot(target(), "no-match")?.is_empty());
    Ok(())
}
