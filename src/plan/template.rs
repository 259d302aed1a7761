//! The commented plan that `onceover init` writes.

/// A plan for these clusters and topics, every commonly used field shown with its default commented
/// out: `#field = default`, without a space, where taking the `#` away changes nothing.
/// With no topics it includes every one but internal ones.
pub fn template(
    source_bootstrap: &str,
    target_bootstrap: &str,
    name: &str,
    topics: &[String],
) -> String {
    let include = if topics.is_empty() {
        "include = ['/.*/']".to_string()
    } else {
        let lines: Vec<_> =
            topics.iter().map(|topic| format!("    {},\n", quoted(topic))).collect();
        format!("include = [\n{}]", lines.concat())
    };
    TEMPLATE
        .replace("{name}", name)
        .replace("{quoted_name}", &quoted(name))
        .replace("{source}", &quoted(source_bootstrap))
        .replace("{target}", &quoted(target_bootstrap))
        .replace("{include}", &include)
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

const TEMPLATE: &str = r#"# A plan of onceover: which topics go from which cluster to which, and how.
# `onceover run PLAN` copies them once and ends; `onceover run PLAN --tail` goes on copying.
# A line that starts with `#` and no space shows a default.

# Names the ledger, the consumer group and the transactional ids on the target: `onceover-{name}…`.
name = {quoted_name}

# The old cluster. It is only read.
[source]
bootstrap = {source}

# Any property of librdkafka but those that onceover sets itself. Quote the names.
# Secrets come from `${env:NAME}` or `${file:PATH}` and are never shown.
[source.properties]
# "security.protocol" = "SASL_SSL"
# "sasl.mechanism" = "SCRAM-SHA-512"
# "sasl.username" = "onceover"
# "sasl.password" = "${env:SOURCE_PASSWORD}"
# "ssl.ca.location" = "/etc/ssl/certs/source-ca.pem"

# The new cluster. Records, ledger and group live there.
[target]
bootstrap = {target}

[target.properties]
# "security.protocol" = "SASL_SSL"
# "sasl.mechanism" = "SCRAM-SHA-512"
# "sasl.username" = "onceover"
# "sasl.password" = "${env:TARGET_PASSWORD}"

[topics]
# Exact names, or '/regular expressions/' for whole names. An entry without a match is an error.
{include}
# Internal topics (`__*`) and ledgers are never moved.
#exclude = []
# Missing target topics are made with the source's partitions and explicitly set configs.
#create = true
# Replication factor of topics that are made. Left out: the target's default.
# replication_factor = 3
# The first rule that matches the whole name decides. Bound: it cannot change under a ledger.
# rename = [{ from = '/payments\.(.*)/', to = "pay.$1" }]
# Or "latest", "-7d" (so long ago), "2026-01-31T12:00:00Z". Bound.
#start = "earliest"

[topics.config]
# Topic configs that are neither copied nor compared.
#exclude = []
# Topic configs that the target's topics get whatever the source has.
# override = { "retention.ms" = "604800000" }

# Exceptions for some topics; the first that matches decides, field by field.
# [[topics.override]]
# topics = ["events"]
# start = "-7d"

[ledger]
# The topic on the target that remembers what was moved. It may be made by others beforehand.
#topic = "onceover-{name}-ledger"
#create = true
# replication_factor = 3

[run]
# min(partitions, max(8, 2 x cores)) when the ledger is made; or a number, which is bound.
#lanes = "auto"
# The longest that a record waits for its commit under load.
#commit_interval = "500ms"
#commit_bytes = "64MiB"
# Commits per second and lane.
#max_transactions_per_second = 20
# Reading and writing, for the whole plan; left out: as fast as it goes.
# max_rate = "50MiB/s"
# Buffers per process, shared by its lanes.
#memory = "256MiB"
# Commit source offsets under the target's topic names, in the records' transaction.
#positions = true
# When records were gone before they could be read: "stop", or "record" the gap and go on.
#on_gap = "stop"
# When a record cannot be written.
#on_error = "stop"
# How long an open source transaction below the fence is waited for.
#open_transaction_wait = "15m"
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::parse;

    fn sample() -> String {
        let topics = ["orders".to_string(), "payments.eu".to_string()];
        template("old-1:9092,old-2:9092", "new-1:9092", "orders-eu", &topics)
    }

    #[test]
    fn the_template_is_a_plan() {
        let plan = parse(&sample()).expect("a plan");
        assert_eq!(plan.name, "orders-eu");
        assert_eq!(plan.source.bootstrap, "old-1:9092,old-2:9092");
        assert_eq!(plan.target.bootstrap, "new-1:9092");
        let selection = plan.select(&["orders", "payments.eu", "x"]).expect("a selection");
        assert_eq!(selection.topics.len(), 2);
    }

    #[test]
    fn without_topics_it_takes_all() {
        let plan = parse(&template("a:1", "b:1", "all", &[])).expect("a plan");
        assert_eq!(plan.select(&["x", "y", "__z"]).expect("a selection").topics.len(), 2);
    }

    #[test]
    fn every_default_shown_is_the_default() {
        let text = sample();
        let shown: Vec<_> = text.lines().filter(|line| is_default(line)).collect();
        assert!(shown.len() >= 14, "{shown:?}");
        let taken: String = text
            .lines()
            .map(|line| {
                line.strip_prefix('#').filter(|_| is_default(line)).unwrap_or(line).to_string()
                    + "\n"
            })
            .collect();
        let (plan, spelt_out) = (parse(&text).expect("a plan"), parse(&taken).expect("a plan"));
        assert_eq!(plan.fields(), spelt_out.fields());
    }

    #[test]
    fn every_example_shown_is_right() {
        let text: String = sample()
            .replace("${env:SOURCE_PASSWORD}", "${env:SET}")
            .replace("${env:TARGET_PASSWORD}", "${env:SET}")
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(code) if code.starts_with("[[") || code.contains(" = ") => format!("{code}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let plan = parse(&text).expect("a plan");
        assert_eq!(plan.run.max_rate, Some(50 << 20));
        assert_eq!(plan.topics.overrides.len(), 1);
    }

    fn is_default(line: &str) -> bool {
        line.starts_with('#') && !line.starts_with("# ") && line.len() > 1
    }
}
