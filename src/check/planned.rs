//! The configs of a topic that would be created. Pure.

use std::collections::BTreeMap;

use crate::plan::Plan;

/// Configs of the copy of a source topic: those `explicit`ly set on the source, less what the plan
/// excludes, plus what it overrides; and the `cleanup_policy` in effect there where it is not Kafka's
/// default, so that the topic keeps its meaning on a cluster with another default.
pub fn planned_configs(
    plan: &Plan,
    source: &str,
    mut explicit: BTreeMap<String, String>,
    cleanup_policy: &str,
) -> BTreeMap<String, String> {
    if cleanup_policy != "delete" {
        explicit.entry("cleanup.policy".into()).or_insert_with(|| cleanup_policy.to_owned());
    }
    plan.config_for(source, &explicit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fixture::plan;

    #[test]
    fn a_policy_that_is_its_clusters_default_is_set_on_the_copy() {
        let plan = plan("topics.config.exclude = ['flush.ms']");
        let explicit = BTreeMap::from([("flush.ms".to_owned(), "5".to_owned())]);
        assert_eq!(planned_configs(&plan, "orders", explicit.clone(), "delete"), BTreeMap::new());
        let configs = planned_configs(&plan, "orders", explicit, "compact");
        assert_eq!(configs, BTreeMap::from([("cleanup.policy".to_owned(), "compact".to_owned())]));
    }
}
