//! Secrets in every place of a plan, and plans broken in every way: nothing ever shows one.

use std::io;
use std::path::Path;

use proptest::prelude::*;

use crate::error::Result;
use crate::plan::{Env, MASK, Plan, check_by_table};

const CANARY: &str = "c4n4ry-5ecret";

/// Every field that a plan may have; each line's value is in turn replaced.
pub(super) const EVERYTHING: &str = r#"
name = "everything"
[source]
bootstrap = "a:9092,b:9092"
[source.properties]
"security.protocol" = "SASL_SSL"
"sasl.mechanism" = "PLAIN"
"sasl.username" = "joe"
"sasl.password" = "x"
"ssl.key.pem" = "x"
"socket.timeout.ms" = 5000
[source.registry]
url = "https://registry"
username = "joe"
password = "x"
token = "x"
ca_location = "/ca.pem"
[target]
bootstrap = "c:9092"
[target.properties]
"ssl.keystore.password" = "x"
"enable.ssl.certificate.verification" = true
[target.registry]
url = "https://joe:x@registry"
[topics]
include = ["orders", '/pay.*/']
exclude = ["payments.tmp"]
create = true
replication_factor = 3
rename = [{ from = '/pay(.*)/', to = "p$1" }]
shared = []
start = "earliest"
[topics.config]
exclude = ["compression.type"]
override = { "retention.ms" = "604800000" }
[[topics.override]]
topics = ["orders"]
start = "-7d"
replication_factor = 2
config = { "retention.ms" = 5 }
[ledger]
topic = "onceover-everything-ledger"
prefix = "onceover-"
create = true
replication_factor = 3
[run]
lanes = "auto"
commit_interval = "500ms"
commit_bytes = "64MiB"
max_transactions_per_second = 20
max_rate = "50MiB/s"
memory = "256MiB"
positions = true
on_gap = "stop"
on_error = "stop"
open_transaction_wait = "15m"
[[check.allow]]
check = "retention"
topics = ["orders"]
reason = "agreed"
[[assume]]
check = "partitions"
topics = ["orders"]
value = 6
reason = "seen"
[reconcile]
memory = "512MiB"
every = "10m"
keys = "hashed"
secret = "${env:CANARY}"
ignore_headers = ["trace"]
[diff]
max_rows = 5
[groups]
include = ['/.*/']
exclude = ["x"]
[[wave]]
name = "billing"
topics = ["orders"]
[cutover]
quiet = "2m"
"#;

fn parse(text: &str) -> Result<Plan> {
    let env = Env {
        env: &|name| (name == "CANARY").then(|| CANARY.to_string()),
        read_file: &|path| match path.to_str() {
            Some("/canary") => Ok(format!("{CANARY}\n")),
            _ => Err(io::Error::other(CANARY)),
        },
        property: &check_by_table,
    };
    Plan::parse("plan.toml", text, Path::new("/"), &env)
}

/// The text with the value of line `index` replaced, if that line has one.
fn with_value(index: usize, value: &str) -> Option<String> {
    let mut lines: Vec<String> = EVERYTHING.lines().map(str::to_string).collect();
    let (field, _) = lines[index].split_once(" = ")?;
    lines[index] = format!("{field} = {value}");
    Some(lines.join("\n"))
}

fn every_line() -> std::ops::Range<usize> {
    0..EVERYTHING.lines().count()
}

/// Nothing that a loaded plan shows of itself.
fn assert_hidden(plan: &Plan, case: &str) {
    let shown = format!("{plan:?} {plan:#?} {:?} {}", plan.fields(), plan.naming_text());
    assert!(!shown.contains(CANARY), "{case}\n{shown}");
    assert_eq!(plan.redactor().redact(&format!("a {CANARY}!")), format!("a {MASK}!"), "{case}");
}

#[test]
fn the_plan_with_everything_loads() {
    let plan = parse(EVERYTHING).unwrap_or_else(|error| panic!("{error}"));
    assert_hidden(&plan, "everything");
}

#[test]
fn no_error_shows_a_value_wherever_it_stands_and_however_wrong_it_is() {
    let wrong = [
        "\"CANARY\"",
        "'/CANARY(/'",
        "'/(CANARY/'",
        "\"CANARYms\"",
        "\"5CANARY\"",
        "\"5 CANARY/s\"",
        "\"-5CANARY\"",
        "\"$CANARY\"",
        "\"${CANARY}\"",
        "\"${env:NOT_SET}CANARY\"",
        "\"${env:CANARY\"",
        "\"${file:/gone}\"",
        "[\"CANARY\", 5, '/CANARY[/']",
        "[\"CANARY\", \"a CANARY\", '/CANARY**(/']",
        "{ x = \"CANARY\" }",
        "{ from = '/CANARY(/', to = \"CANARY$5\" }",
        "[{ from = \"CANARY CANARY\", to = \"CANARY/\" }, { from = 'a', to = 'CANARY$1' }]",
        "\"CANARY",
        "'''CANARY",
        "CANARY",
        "[\"CANARY\"",
        "\"CANARY\" \"CANARY\"",
        "\"\\CANARY\"",
        "2026-13-45CANARY",
        "5CANARY",
    ];
    let mut failed = 0;
    for index in every_line() {
        for value in wrong
            .map(|value| value.replace("CANARY", CANARY).replace("env:c4n4ry-5ecret", "env:CANARY"))
        {
            let Some(text) = with_value(index, &value) else { continue };
            if let Err(error) = parse(&text) {
                failed += 1;
                assert!(!error.to_string().contains(CANARY), "{text}\n{error}");
            }
        }
    }
    assert!(failed > 900, "only {failed} of the plans were wrong");
}

#[test]
fn what_came_from_a_reference_is_shown_nowhere() {
    let mut loaded = 0;
    for index in every_line() {
        for value in ["\"${env:CANARY}\"", "\"${file:/canary}\"", "\"https://x:${env:CANARY}@y\""] {
            let Some(text) = with_value(index, value) else { continue };
            match parse(&text) {
                Ok(plan) => {
                    loaded += 1;
                    assert_hidden(&plan, &text);
                }
                Err(error) => assert!(!error.to_string().contains(CANARY), "{text}\n{error}"),
            }
        }
    }
    assert!(loaded >= 24, "only {loaded} of the plans loaded");
}

#[test]
fn a_password_typed_into_the_plan_is_shown_nowhere() {
    let mut seen = 0;
    for (index, line) in EVERYTHING.lines().enumerate() {
        if ["password", "key.pem", "token"].iter().any(|word| line.contains(word)) {
            let text = with_value(index, &format!("\"{CANARY}\"")).expect("a value");
            assert_hidden(&parse(&text).unwrap_or_else(|error| panic!("{error}")), line);
            seen += 1;
        }
    }
    assert_eq!(seen, 5);
}

proptest! {
    #[test]
    fn a_damaged_plan_never_shows_its_password(cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..4)) {
        let text = EVERYTHING.replace("\"x\"", &format!("\"{CANARY}\""));
        let mut chars: Vec<char> = text.chars().collect();
        for cut in cuts {
            chars.remove(cut.index(chars.len()));
        }
        let text: String = chars.into_iter().collect();
        if let Err(error) = parse(&text) {
            // A cut may have made the name of a variable or file from it, but never a whole value.
            prop_assert!(!error.to_string().contains(CANARY), "{}\n{}", text, error);
        }
    }
}
