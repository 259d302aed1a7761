//! What has to be on the target, as commands or as Terraform: for those who must not let a tool create
//! it. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::facts::{Acl, Facts, Known, Operation, PairFacts, Resource, ResourceKind, Right};
use super::missing_acls;
use crate::cluster::NewTopic;
use crate::error::Side;
use crate::pipe::pairs::new_topic_from;
use crate::pipe::preflight::ledger_topic;
use crate::plan::Plan;

/// How resources are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Commands of Kafka's own tools
    Sh,
    /// Terraform, for the provider `Mongey/kafka`
    Hcl,
}

/// An ACL that has to be there.
struct Grant {
    side: Side,
    acl: Acl,
}

/// The ledger, the missing topics and the ACLs: our own rights on both sides, and those of the source that
/// the target lacks.
pub fn print(plan: &Plan, facts: &Facts, form: Form) -> String {
    let (topics, grants) = (topics(plan, facts), grants(facts));
    match form {
        Form::Sh => sh(plan, &topics, &grants),
        Form::Hcl => hcl(&topics, &grants),
    }
}

fn topics(plan: &Plan, facts: &Facts) -> Vec<NewTopic> {
    let mut topics = Vec::new();
    let ledger = &facts.ledger;
    if matches!(ledger.topic, Known::Known(None)) {
        topics.push(ledger_topic(plan, ledger.partitions_needed.saturating_sub(1)));
    }
    let missing = facts.pairs.iter().filter(|pair| matches!(pair.target, Known::Known(None)));
    topics.extend(missing.filter_map(|PairFacts { source, target_name, .. }| {
        let (partitions, configs) = (source.partitions.ok()?, source.configs.ok()?);
        Some(new_topic_from(plan, &source.name, target_name, partitions.len(), configs))
    }));
    topics
}

fn grants(facts: &Facts) -> Vec<Grant> {
    let mut grants = Vec::new();
    for cluster in [&facts.source, &facts.target] {
        let principal = cluster.principal.ok().map_or("User:onceover", String::as_str);
        // Those that are known to be there need no command.
        let wanted = cluster.rights.iter().filter(|right| right.granted != Known::Known(true));
        grants.extend(
            wanted.map(|right| Grant { side: cluster.side, acl: acl(principal, &right.right) }),
        );
    }
    let missing = missing_acls(facts).unwrap_or_default();
    grants.extend(missing.into_iter().map(|one| Grant { side: Side::Target, acl: one.target }));
    grants
}

fn acl(principal: &str, right: &Right) -> Acl {
    Acl {
        resource: right.resource.clone(),
        principal: principal.to_owned(),
        host: "*".to_owned(),
        operation: right.operation,
        allow: true,
    }
}

/// The command that grants a right.
pub fn grant(side: Side, principal: &str, right: &Right) -> String {
    acl_command(side, &acl(principal, right))
}

/// A word of a shell command: in quotes unless nothing in it could mean something.
fn quoted(word: &str) -> String {
    let plain = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | ',' | '=' | '/' | '@')
    };
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn bootstrap(side: Side) -> &'static str {
    match side {
        Side::Source => "SOURCE",
        Side::Target => "TARGET",
    }
}

fn acl_command(side: Side, acl: &Acl) -> String {
    let Acl { resource, principal, host, operation, allow } = acl;
    let word = if *allow { "allow" } else { "deny" };
    let mut command = format!(
        "kafka-acls.sh --bootstrap-server {} --add --{word}-principal {} --operation {operation:?}",
        bootstrap(side),
        quoted(principal)
    );
    if host != "*" {
        let _ = write!(command, " --{word}-host {}", quoted(host));
    }
    let kind = match resource.kind {
        ResourceKind::Topic => "--topic",
        ResourceKind::Group => "--group",
        ResourceKind::TransactionalId => "--transactional-id",
        ResourceKind::Cluster => return command + " --cluster",
    };
    let _ = write!(command, " {kind} {}", quoted(&resource.name));
    if resource.prefixed {
        command += " --resource-pattern-type prefixed";
    }
    command
}

/// Configs of a topic, by name.
fn configs(topic: &NewTopic) -> BTreeMap<&str, &str> {
    topic.configs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// The command that creates a topic.
pub fn topic_command(topic: &NewTopic) -> String {
    let mut command = format!(
        "kafka-topics.sh --bootstrap-server TARGET --create --topic {} --partitions {}",
        quoted(&topic.name),
        topic.partitions
    );
    if let Some(factor) = topic.replication_factor {
        let _ = write!(command, " --replication-factor {factor}");
    }
    for (name, value) in configs(topic) {
        let _ = write!(command, " --config {}", quoted(&format!("{name}={value}")));
    }
    command
}

fn sh(plan: &Plan, topics: &[NewTopic], grants: &[Grant]) -> String {
    let mut text = format!(
        "#!/bin/sh\n# What the plan `{}` needs. Set TARGET and SOURCE to bootstrap servers, and add\n\
         # --command-config where the clusters ask who you are.\nset -eu\n: \"${{SOURCE:?}}\" \"${{TARGET:?}}\"\n",
        plan.name
    );
    for topic in topics {
        text += &in_script(&topic_command(topic));
    }
    for Grant { side, acl } in grants {
        text += &in_script(&acl_command(*side, acl));
    }
    text
}

/// In a script the two words are variables.
fn in_script(command: &str) -> String {
    let command =
        command.replacen("--bootstrap-server SOURCE", "--bootstrap-server \"$SOURCE\"", 1);
    command.replacen("--bootstrap-server TARGET", "--bootstrap-server \"$TARGET\"", 1) + "\n"
}

fn hcl(topics: &[NewTopic], grants: &[Grant]) -> String {
    let mut text = String::from(
        "# For the provider Mongey/kafka. `replication_factor` is required there: set it where it says so.\n",
    );
    for topic in topics {
        let factor = topic.replication_factor;
        let factor =
            factor.map_or_else(|| "var.replication_factor".to_owned(), |factor| factor.to_string());
        let _ = write!(
            text,
            "\nresource \"kafka_topic\" \"{}\" {{\n  name               = {}\n  partitions         = {}\n  \
             replication_factor = {factor}\n",
            label(&topic.name),
            string(&topic.name),
            topic.partitions
        );
        if !topic.configs.is_empty() {
            text += "  config = {\n";
            for (name, value) in configs(topic) {
                let _ = writeln!(text, "    {} = {}", string(name), string(value));
            }
            text += "  }\n";
        }
        text += "}\n";
    }
    for Grant { side, acl } in grants {
        text += &hcl_acl(*side, acl);
    }
    text
}

fn hcl_acl(side: Side, acl: &Acl) -> String {
    let Acl { resource: Resource { kind, name, prefixed }, principal, host, operation, allow } =
        acl;
    let (kind, name) = match kind {
        ResourceKind::Topic => ("Topic", name.as_str()),
        ResourceKind::Group => ("Group", name.as_str()),
        ResourceKind::TransactionalId => ("TransactionalID", name.as_str()),
        ResourceKind::Cluster => ("Cluster", "kafka-cluster"),
    };
    let of = format!("{side}_{kind}_{name}_{prefixed}_{principal}_{operation:?}_{allow}_{host}");
    let pattern = if *prefixed { "Prefixed" } else { "Literal" };
    let permission = if *allow { "Allow" } else { "Deny" };
    format!(
        "\nresource \"kafka_acl\" \"{}\" {{\n  # on the {side}\n  resource_name                = {}\n  \
         resource_type                = \"{kind}\"\n  resource_pattern_type_filter = \"{pattern}\"\n  \
         acl_principal                = {}\n  acl_host                     = {}\n  \
         acl_operation                = \"{operation:?}\"\n  acl_permission_type          = \"{permission}\"\n}}\n",
        label(&of),
        string(name),
        string(principal),
        string(host)
    )
}

/// A string of HCL: `${` and `%{` begin templates there.
fn string(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace("${", "$${").replace("%{", "%%{"))
}

/// A name for a resource: what Terraform does not take becomes its code, so that no two are the same.
fn label(text: &str) -> String {
    let mut label = String::from("r_");
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '-' => label.push(c),
            '_' => label.push_str("__"),
            c => {
                let _ = write!(label, "_{:x}-", u32::from(c));
            }
        }
    }
    label
}

impl std::fmt::Display for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            ResourceKind::Topic => "topic",
            ResourceKind::Group => "group",
            ResourceKind::Cluster => return f.write_str("the cluster"),
            ResourceKind::TransactionalId => "transactional id",
        };
        let rest = if self.prefixed { "…" } else { "" };
        write!(f, "{kind} `{}{rest}`", self.name)
    }
}

/// The word that ACLs have for an operation.
impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::facts::{Acls, RightFacts};
    use crate::check::fixture::{facts, plan};

    fn everything() -> Facts {
        let mut facts = facts();
        facts.pairs[0].target = Known::Known(None);
        facts.pairs[0].target_name = "pay.orders".into();
        facts.pairs[0].set(Side::Source, "flush.ms", "5");
        let acl = |operation| Acl {
            resource: Resource {
                kind: ResourceKind::Topic,
                name: "orders".into(),
                prefixed: false,
            },
            principal: "User:CN=o'app".into(),
            host: "*".into(),
            operation,
            allow: true,
        };
        facts.source.acls = Known::Known(Acls::List(vec![acl(Operation::Write)]));
        facts.target.acls = Known::Known(Acls::List(Vec::new()));
        let resource = Resource {
            kind: ResourceKind::TransactionalId,
            name: "onceover-t-".into(),
            prefixed: true,
        };
        facts.target.rights = vec![RightFacts {
            right: Right { resource, operation: Operation::Write },
            granted: Known::unknown("the cluster does not tell"),
        }];
        facts
    }

    #[test]
    fn the_script_makes_ledger_topics_and_acls_and_names_no_address() {
        let script = print(&plan("topics.replication_factor = 3"), &everything(), Form::Sh);
        assert!(
            script.ends_with(
                "\
set -eu
: \"${SOURCE:?}\" \"${TARGET:?}\"
kafka-topics.sh --bootstrap-server \"$TARGET\" --create --topic onceover-t-ledger --partitions 9 \
--config cleanup.policy=delete --config retention.bytes=-1 --config retention.ms=-1 \
--config unclean.leader.election.enable=false
kafka-topics.sh --bootstrap-server \"$TARGET\" --create --topic pay.orders --partitions 6 \
--replication-factor 3 --config flush.ms=5
kafka-acls.sh --bootstrap-server \"$TARGET\" --add --allow-principal User:onceover --operation Write \
--transactional-id onceover-t- --resource-pattern-type prefixed
kafka-acls.sh --bootstrap-server \"$TARGET\" --add --allow-principal 'User:CN=o'\\''app' --operation Write \
--topic pay.orders
"
            ),
            "{script}"
        );
    }

    #[test]
    fn terraform_gets_the_same() {
        let hcl = print(&plan(""), &everything(), Form::Hcl);
        let topic = "\
resource \"kafka_topic\" \"r_pay_2e-orders\" {
  name               = \"pay.orders\"
  partitions         = 6
  replication_factor = var.replication_factor
  config = {
    \"flush.ms\" = \"5\"
  }
}
";
        assert!(hcl.contains(topic), "{hcl}");
        assert!(hcl.contains("  resource_pattern_type_filter = \"Prefixed\"\n"), "{hcl}");
        assert_eq!(hcl.matches("resource \"kafka_topic\"").count(), 2);
        assert_eq!(hcl.matches("resource \"kafka_acl\"").count(), 2);
    }

    #[test]
    fn what_is_there_needs_no_command() {
        let script = print(&plan(""), &facts(), Form::Sh);
        assert_eq!(script.matches("kafka-topics.sh").count(), 1, "only the ledger: {script}");
        assert_eq!(string("a\"${b}"), "\"a\\\"$${b}\"");
    }
}
