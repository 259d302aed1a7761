use super::*;

/// A scope of one partition, read on `side`.
pub fn scope(side: Side) -> ScopeFile {
    let read = ReadCounts {
        log_start: 2,
        records: 7,
        tombstones: 1,
        digest: SequenceDigest { count: 7, a: 1, b: 2 },
        expired: 3,
        foreign: 0,
        aborted_copies: 4,
    };
    ScopeFile {
        schema: SCHEMA,
        version: "0.1.0".into(),
        side,
        pass: format!("p-{side}"),
        ranges_of: Some("p-target".into()),
        plan: "orders-eu".into(),
        plan_hash: "ab".into(),
        plan_common: "cd".into(),
        hashed: None,
        ignored_headers: vec!["mm2".into()],
        buckets: 256,
        only: None,
        taken_at: 5,
        source_cluster: Some("old".into()),
        target_cluster: Some("new".into()),
        topics: vec![ScopeTopic {
            source: "orders".into(),
            target: "o".into(),
            source_id: Some("id".into()),
            target_id: None,
        }],
        partitions: vec![ScopePartition {
            topic: "orders".into(),
            partition: 3,
            policy: Policy::CompactDelete,
            timestamps_kept: true,
            start: Some(1),
            position: Some(10),
            compared_from: Some(2),
            target_from: Some(0),
            target_to: Some(12),
            ledger: Some(LedgerCounts {
                filtered: 0,
                gaps: 1,
                untimed: 2,
                digest: SequenceDigest { count: 9, a: 3, b: 4 },
            }),
            read,
        }],
    }
}

/// What another version of onceover has written must be read, or be refused by its schema.
const GOLDEN: &str = r#"{
  "schema": 1,
  "version": "0.1.0",
  "side": "target",
  "pass": "p-target",
  "ranges_of": "p-target",
  "plan": "orders-eu",
  "plan_hash": "ab",
  "plan_common": "cd",
  "hashed": null,
  "ignored_headers": [
    "mm2"
  ],
  "buckets": 256,
  "only": null,
  "taken_at": 5,
  "source_cluster": "old",
  "target_cluster": "new",
  "topics": [
    {
      "source": "orders",
      "target": "o",
      "source_id": "id",
      "target_id": null
    }
  ],
  "partitions": [
    {
      "topic": "orders",
      "partition": 3,
      "policy": "compact,delete",
      "timestamps_kept": true,
      "start": 1,
      "position": 10,
      "compared_from": 2,
      "target_from": 0,
      "target_to": 12,
      "ledger": {
        "filtered": 0,
        "gaps": 1,
        "untimed": 2,
        "digest": "9:0000000000000003:0000000000000004"
      },
      "read": {
        "log_start": 2,
        "records": 7,
        "tombstones": 1,
        "digest": "7:0000000000000001:0000000000000002",
        "expired": 3,
        "foreign": 0,
        "aborted_copies": 4
      }
    }
  ]
}
"#;

#[test]
fn the_form_is_this_one_and_is_read_back() {
    assert_eq!(scope(Side::Target).text(), GOLDEN);
    assert_eq!(ScopeFile::parse(GOLDEN).unwrap(), scope(Side::Target));
}

#[test]
fn a_scope_of_another_form_is_refused() {
    let changed = |from: &str, to: &str| {
        assert!(GOLDEN.contains(from));
        ScopeFile::parse(&GOLDEN.replace(from, to)).unwrap_err()
    };
    assert_eq!(changed("\"schema\": 1", "\"schema\": 2"), "its schema is 2, not 1");
    assert_eq!(changed("\"buckets\": 256", "\"buckets\": 64"), "it has 64 buckets");
    assert!(changed("\"only\": null", "\"shade\": null").contains("unknown field `shade`"));
    assert!(
        changed("\"side\": \"target\"", "\"side\": \"middle\"").contains("`middle` is no side")
    );
}

#[test]
fn a_partition_is_found_by_topic_and_number() {
    let scope = scope(Side::Source);
    assert!(scope.partition("orders", 3).is_some());
    assert!(scope.partition("orders", 2).is_none() && scope.partition("order", 3).is_none());
}
