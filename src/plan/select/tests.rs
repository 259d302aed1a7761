use super::*;
use crate::plan::tests::plan_with;

fn select(topics: &str, source: &[&str]) -> Result<Selection> {
    plan_with(&format!("[topics]\n{topics}")).select(source)
}

fn pairs(topics: &str, source: &[&str]) -> Vec<(String, String)> {
    let selection = select(topics, source).expect("a selection");
    selection.topics.iter().map(|pair| (pair.source.to_string(), pair.target.to_string())).collect()
}

fn error(topics: &str, source: &[&str]) -> String {
    select(topics, source).expect_err("no selection").to_string()
}

fn same(names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| (name.to_string(), name.to_string())).collect()
}

#[test]
fn names_and_patterns_select_sorted_and_once() {
    let source = ["payments.eu", "orders", "payments.us", "payments.tmp", "old.payments.eu"];
    let topics =
        "include = ['/payments\\..*/', 'payments.eu', 'orders']\nexclude = ['payments.tmp']";
    assert_eq!(pairs(topics, &source), same(&["orders", "payments.eu", "payments.us"]));
}

#[test]
fn internal_topics_and_ledgers_are_never_moved() {
    let source = ["__consumer_offsets", "onceover-t-ledger", "onceover-other-ledger", "orders"];
    assert_eq!(pairs("include = ['/.*/']", &source), same(&["orders"]));
    assert_eq!(
        error("include = ['__consumer_offsets']", &source),
        "`topics.include`: `__consumer_offsets` belongs to the brokers and is never moved\n\
         hint: leave it out of `topics.include`"
    );
    assert_eq!(
        error("include = ['onceover-other-ledger']", &source),
        "`topics.include`: `onceover-other-ledger` is a ledger and is never moved\n\
         hint: leave it out of `topics.include`"
    );
}

#[test]
fn an_entry_that_matches_nothing_is_an_error_with_the_nearest_topic() {
    let source = ["orders", "payments.eu", "__transaction_state"];
    assert_eq!(
        error("include = ['ordres']", &source),
        "`topics.include`: `ordres` matches no topic of the source\nhint: did you mean `orders`?"
    );
    assert_eq!(
        error("include = ['/payments/', '/zz/', '/__.*/']", &source),
        "`topics.include`: `/payments/` matches no topic of the source\n  \
         hint: a pattern must match the whole name, and this one matches a part of `payments.eu`\n\
         `topics.include`: `/zz/` matches no topic of the source\n\
         `topics.include`: `/__.*/` matches no topic of the source"
    );
}

#[test]
fn everything_excluded_is_an_error() {
    assert_eq!(
        error("include = ['/o.*/']\nexclude = ['orders']", &["orders"]),
        "every topic that `topics.include` matches is in `topics.exclude` too"
    );
}

#[test]
fn topics_of_other_tools_are_selected_with_a_warning() {
    let source =
        ["_schemas", "app-x-changelog", "connect-a", "connect-b", "connect-c", "connect-d"];
    let selection = select("include = ['/.*/']", &source).expect("a selection");
    assert_eq!(selection.topics.len(), 6);
    assert_eq!(selection.warnings.len(), 3);
    assert!(selection.warnings.iter().any(|warning| {
        warning.starts_with("`connect-a`, `connect-b`, `connect-c` and 1 more will be copied, but")
    }));
}

#[test]
fn entries_without_effect_are_warned_about() {
    let topics = "include = ['orders']\nexclude = ['ordrs']\n\
                  rename = [{ from = 'odrers', to = 'x' }]\n\
                  [[topics.override]]\ntopics = ['oders']\nstart = 'latest'";
    let warnings = select(topics, &["orders"]).expect("a selection").warnings;
    assert_eq!(
        warnings,
        [
            "`topics.exclude`: `ordrs` matches no topic, is it misspelt?",
            "`topics.rename`: `odrers` matches no topic, is it misspelt?",
            "`topics.override`: `oders` matches no topic, is it misspelt?",
        ]
    );
}

#[test]
fn the_naming_rule_names_the_target() {
    let topics = "include = ['/.*/']\nrename = [{ from = '/payments\\.(.*)/', to = 'pay.$1' }]";
    let selection = select(topics, &["orders", "payments.eu"]).expect("a selection");
    assert_eq!(selection.target_of("payments.eu").map(AsRef::as_ref), Some("pay.eu"));
    assert_eq!(selection.target_of("orders").map(AsRef::as_ref), Some("orders"));
    assert_eq!(selection.target_of("pay.eu"), None);
}

#[test]
fn two_topics_cannot_become_one() {
    let topics = "include = ['/.*/']\nrename = [{ from = '/(eu|us)\\.(.*)/', to = '$2' }]";
    assert_eq!(
        error(topics, &["eu.orders", "us.orders"]),
        "`eu.orders` and `us.orders` would both become `orders` on the target\n\
         hint: give each a name of its own in `topics.rename`"
    );
}

#[test]
fn names_that_differ_in_dots_and_underscores_cannot_stand_side_by_side() {
    let topics = "include = ['/.*/']\nrename = [{ from = 'b', to = 'a_x' }]";
    assert_eq!(
        error(topics, &["a.x", "b"]),
        "`a.x` and `b` would become `a.x` and `a_x` on the target, which Kafka cannot keep side by \
         side: `.` and `_` are the same to its metrics\n\
         hint: give one another name in `topics.rename`"
    );
}

#[test]
fn nothing_is_renamed_into_a_ledger_or_an_internal_topic() {
    for to in ["__x", "onceover-t-ledger"] {
        let topics = format!("include = ['/.*/']\nrename = [{{ from = 'b', to = '{to}' }}]");
        assert!(error(&topics, &["b"]).contains("belongs to the brokers or to a ledger"), "{to}");
    }
}
