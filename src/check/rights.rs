//! The rights that a run needs, the least of them. Pure; tried on the StandardAuthorizer of Apache Kafka
//! (README, "The least rights").

use std::fmt;

use super::facts::{Operation, Resource, ResourceKind, Right};
use crate::error::Side;
use crate::plan::Plan;

/// A topic that rights are needed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Its name on that side.
    pub topic: String,
    /// It would be created.
    pub create: bool,
}

/// What `run` needs on a side. `ledger_there`: the ledger's topic exists.
pub fn needed(plan: &Plan, side: Side, topics: &[Need], ledger_there: bool) -> Vec<Right> {
    use Operation::{Create, DescribeConfigs, Read, Write};
    let mut rights = Vec::new();
    let mut add = |kind, name: &str, prefixed, operations: &[Operation]| {
        let resource = Resource { kind, name: name.to_owned(), prefixed };
        rights.extend(
            operations.iter().map(|&operation| Right { resource: resource.clone(), operation }),
        );
    };
    let create = |create: bool, mut operations: Vec<Operation>| {
        if create {
            operations.push(Create);
        }
        operations
    };
    for one in topics {
        let operations = match side {
            Side::Source => vec![Read, DescribeConfigs],
            Side::Target => create(one.create, vec![Read, Write, DescribeConfigs]),
        };
        add(ResourceKind::Topic, &one.topic, false, &operations);
    }
    if side == Side::Target {
        let ledger = create(!ledger_there, vec![Read, Write, DescribeConfigs]);
        add(ResourceKind::Topic, plan.ledger_topic(), false, &ledger);
        add(ResourceKind::Group, &plan.group(), false, &[Read]);
        // One for each lane, and their number may not be known yet.
        add(ResourceKind::TransactionalId, &format!("{}-", plan.group()), true, &[Write]);
    }
    rights
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fixture::plan;

    #[test]
    fn the_source_is_only_read_and_the_target_gets_the_readmes_rights() {
        let topic = [Need { topic: "orders".into(), create: true }];
        let shown = |side, ledger_there| -> Vec<String> {
            let rights = needed(&plan(""), side, &topic, ledger_there).into_iter();
            rights.map(|right| format!("{:?} on {}", right.operation, right.resource)).collect()
        };
        assert_eq!(
            shown(Side::Source, false),
            ["Read on topic `orders`", "DescribeConfigs on topic `orders`"]
        );
        let target = shown(Side::Target, false);
        assert_eq!(target.len(), 4 + 4 + 1 + 1);
        assert_eq!(target[9], "Write on transactional id `onceover-t-…`");
        assert_eq!(shown(Side::Target, true).len(), 4 + 3 + 1 + 1);
    }
}
