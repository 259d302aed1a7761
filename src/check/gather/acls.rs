//! ACLs in the words of the rules. Pure.

use crate::check::facts::{Acl, Acls, Known, Operation, Resource, ResourceKind};
use crate::cluster::{AclEntry, ClusterError};

/// What the cluster told. librdkafka 2.12.1 drops the error of a DescribeAcls answer and shows an empty list
/// (`rd_kafka_DescribeAclsResponse_parse`; seen without an authorizer): so an empty list is believed only
/// where we `may_see` the ACLs.
pub fn facts(told: Result<Option<Vec<AclEntry>>, ClusterError>, may_see: bool) -> Known<Acls> {
    match told {
        Ok(Some(entries)) if entries.is_empty() && !may_see => {
            Known::unknown("no right to see the ACLs (Describe on the cluster), or there are none")
        }
        Ok(None) => Known::Known(Acls::NoAuthorizer),
        Ok(Some(entries)) => {
            Known::Known(Acls::List(entries.into_iter().filter_map(acl).collect()))
        }
        Err(error) => Known::unknown(error.what),
    }
}

/// One entry; none of a kind that is nobody's business here (delegation tokens, users).
fn acl(entry: AclEntry) -> Option<Acl> {
    let kind = match entry.resource {
        2 => ResourceKind::Topic,
        3 => ResourceKind::Group,
        4 => ResourceKind::Cluster,
        5 => ResourceKind::TransactionalId,
        _ => return None,
    };
    Some(Acl {
        resource: Resource { kind, name: entry.name, prefixed: entry.prefixed },
        principal: entry.principal,
        host: entry.host,
        operation: operation(entry.operation),
        allow: entry.allow,
    })
}

/// The protocol's numbers (KIP-140).
const NUMBERS: [(i32, Operation); 11] = [
    (2, Operation::All),
    (3, Operation::Read),
    (4, Operation::Write),
    (5, Operation::Create),
    (6, Operation::Delete),
    (7, Operation::Alter),
    (8, Operation::Describe),
    (9, Operation::ClusterAction),
    (10, Operation::DescribeConfigs),
    (11, Operation::AlterConfigs),
    (12, Operation::IdempotentWrite),
];

/// The operation with this number.
fn operation(number: i32) -> Operation {
    NUMBERS.iter().find(|(is, _)| *is == number).map_or(Operation::Other, |(_, of)| *of)
}

/// The number of an operation.
pub fn number(of: Operation) -> Option<i32> {
    NUMBERS.iter().find(|(_, is)| *is == of).map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_keeps_its_meaning() {
        let entry = |resource, operation| AclEntry {
            resource,
            name: "onceover-".into(),
            prefixed: true,
            principal: "User:a".into(),
            host: "*".into(),
            operation,
            allow: true,
        };
        let Known::Known(Acls::List(acls)) = facts(Ok(Some(vec![entry(5, 4), entry(6, 8)])), false)
        else {
            panic!("no list");
        };
        assert_eq!(acls.len(), 1, "delegation tokens are left out");
        assert_eq!(acls[0].resource.kind, ResourceKind::TransactionalId);
        assert_eq!(acls[0].operation, Operation::Write);
        assert_eq!(operation(99), Operation::Other);
        assert_eq!(number(Operation::Read), Some(3));
    }
}
