//! Tests of [`refuse`](super).

use super::*;

fn facts() -> Facts {
    Facts {
        source: TopicPartition::new("orders", 0),
        target: TopicPartition::new("orders", 0),
        known: Some(Known {
            topic_id: Some("id-s".into()),
            target_topic_id: Some("id-t".into()),
            next: 100,
            target_next: 120,
            anchor: Some(Anchor {
                offset: 99,
                epoch: Some(3),
                digest: RecordDigest(7),
                timestamp: None,
            }),
            carried: true,
            caught_up_at: Some(1_000),
        }),
        source_facts: Some(SourceFacts {
            topic_id: Some("id-s".into()),
            log_start: 0,
            log_end: 150,
            epoch: Some(3),
            compacted: false,
            delete_retention: None,
            at_anchor: AtAnchor::Found { offset: 99, digest: RecordDigest(7) },
            in_passed: None,
        }),
        target_facts: Some(TargetFacts {
            topic_id: Some("id-t".into()),
            log_start: 0,
            log_end: 121,
            visible_after: None,
        }),
        fence: Some(150),
        accept_gaps: false,
        now: 5_000,
    }
}

fn source(change: impl FnOnce(&mut SourceFacts)) -> Result<Verdict, Refusal> {
    let mut facts = facts();
    change(facts.source_facts.as_mut().unwrap());
    judge(&facts)
}

fn target(change: impl FnOnce(&mut TargetFacts)) -> Result<Verdict, Refusal> {
    let mut facts = facts();
    change(facts.target_facts.as_mut().unwrap());
    judge(&facts)
}

fn not_same(result: Result<Verdict, Refusal>) -> bool {
    matches!(result, Err(Refusal::NotSameLog { .. }))
}

#[test]
fn a_partition_as_it_was_left_goes_on() {
    assert_eq!(judge(&facts()), Ok(Verdict::Go));
}

#[test]
fn an_unknown_partition_is_bound_only_to_an_empty_target() {
    let mut unbound = Facts { known: None, ..facts() };
    assert!(matches!(judge(&unbound), Err(Refusal::TargetNotEmpty { .. })));
    let target = unbound.target_facts.as_mut().unwrap();
    target.log_start = target.log_end;
    assert_eq!(judge(&unbound), Ok(Verdict::Bind));
    unbound.target_facts = None;
    assert_eq!(judge(&unbound), Ok(Verdict::Bind));
}

#[test]
fn a_source_that_is_another_log_is_refused() {
    assert!(not_same(source(|s| s.topic_id = Some("other".into()))));
    assert!(not_same(source(|s| s.log_end = 99)));
    assert!(not_same(source(|s| s.log_end = 149)), "below the fence");
    assert!(not_same(source(|s| s.epoch = Some(2))));
    let other = AtAnchor::Found { offset: 99, digest: RecordDigest(8) };
    assert!(not_same(source(|s| s.at_anchor = other)));
    let later = AtAnchor::Found { offset: 101, digest: RecordDigest(7) };
    assert!(not_same(source(|s| s.at_anchor = later)));
    assert!(not_same(source(|s| s.at_anchor = AtAnchor::Nothing)));
}

#[test]
fn a_record_among_those_that_were_passed_over_is_of_another_log() {
    assert!(not_same(source(|s| s.in_passed = Some(97))));
    assert!(not_same(source(|s| (s.compacted, s.in_passed) = (true, Some(97)))));
    let mut nothing_carried = facts();
    let known = nothing_carried.known.as_mut().unwrap();
    (known.carried, known.anchor) = (false, None);
    nothing_carried.source_facts.as_mut().unwrap().in_passed = Some(3);
    assert!(not_same(judge(&nothing_carried)));
}

#[test]
fn compaction_may_take_the_anchor_but_not_change_it() {
    let later = AtAnchor::Found { offset: 101, digest: RecordDigest(8) };
    let compacted = |at| source(|s| (s.compacted, s.at_anchor) = (true, at));
    assert_eq!(compacted(later), Ok(Verdict::Go));
    assert_eq!(compacted(AtAnchor::Nothing), Ok(Verdict::Go));
    let changed = AtAnchor::Found { offset: 99, digest: RecordDigest(8) };
    assert!(not_same(compacted(changed)));
}

#[test]
fn brokers_without_topic_ids_are_judged_by_the_anchor() {
    assert_eq!(source(|s| s.topic_id = None), Ok(Verdict::Go));
}

#[test]
fn expired_records_are_refused_unless_nothing_was_carried_or_the_plan_accepts_them() {
    let expire = |s: &mut SourceFacts| (s.log_start, s.at_anchor) = (110, AtAnchor::NotReadable);
    assert_eq!(source(expire), Err(Refusal::Expired { next: 100, log_start: 110 }));
    let mut accepted = facts();
    expire(accepted.source_facts.as_mut().unwrap());
    accepted.accept_gaps = true;
    assert_eq!(judge(&accepted), Ok(Verdict::Gap { to: 110 }));
    accepted.accept_gaps = false;
    let known = accepted.known.as_mut().unwrap();
    (known.carried, known.anchor) = (false, None);
    assert_eq!(judge(&accepted), Ok(Verdict::Gap { to: 110 }));
}

#[test]
fn deletions_that_may_have_expired_are_refused_where_something_is_unread() {
    let compacted = |ms| source(|s| (s.compacted, s.delete_retention) = (true, Some(ms)));
    let late = Late { away_ms: 4_000, retention_ms: 4_000 };
    assert_eq!(compacted(4_000), Err(Refusal::DeletionsExpired(late)));
    assert_eq!(compacted(4_500), Ok(Verdict::Go));
    let mut facts = facts();
    facts.source_facts.as_mut().unwrap().delete_retention = Some(1);
    facts.accept_gaps = true;
    assert_eq!(judge(&facts), Ok(Verdict::Go), "recorded when the rest is read");
    facts.accept_gaps = false;
    facts.fence = Some(100);
    assert_eq!(judge(&facts), Ok(Verdict::Go), "nothing below the fence is unread");
}

#[test]
fn a_target_that_changed_is_refused() {
    assert!(matches!(
        target(|t| t.topic_id = Some("other".into())),
        Err(Refusal::TargetCreatedAnew { .. })
    ));
    assert!(matches!(target(|t| t.log_end = 119), Err(Refusal::TargetLostRecords { .. })));
    assert!(matches!(
        target(|t| t.visible_after = Some(121)),
        Err(Refusal::ForeignRecords { at: 121 })
    ));
    let gone = Facts { target_facts: None, ..facts() };
    assert_eq!(judge(&gone), Err(Refusal::TargetTopicGone));
}

#[test]
fn every_refusal_has_a_hint_and_exits_with_5() {
    let all = [
        Refusal::TargetNotEmpty { log_start: 0, log_end: 1 },
        Refusal::TargetTopicGone,
        Refusal::TargetCreatedAnew { was: "a".into(), is: "b".into() },
        Refusal::TargetLostRecords { expected: 2, log_end: 1 },
        Refusal::ForeignRecords { at: 1 },
        Refusal::SourceTopicGone,
        Refusal::NotSameLog { why: "x".into() },
        Refusal::Expired { next: 1, log_start: 2 },
        Refusal::DeletionsExpired(Late { away_ms: 2, retention_ms: 1 }),
    ];
    let partition = TopicPartition::new("orders", 0);
    for refusal in all {
        let error = refusal.error(&partition, &partition);
        assert_eq!(error.exit_code(), 5);
        assert!(error.hint.is_some(), "{error}");
    }
}
