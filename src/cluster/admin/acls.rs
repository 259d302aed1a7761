//! Access control lists, as the cluster's authorizer tells them.

use super::{Admin, REQUEST};
use crate::cluster::class::ClusterError;
use crate::cluster::sys::acls;
use crate::cluster::sys::code::Code;

/// An entry. The numbers are the protocol's (KIP-140).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AclEntry {
    /// 2 topic, 3 group, 4 cluster, 5 transactional id.
    pub resource: i32,
    /// Name of the resource, or the beginning of names; `*` for all.
    pub name: String,
    /// The name is the beginning of names.
    pub prefixed: bool,
    /// `User:…`.
    pub principal: String,
    /// `*` or an address.
    pub host: String,
    /// 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, ….
    pub operation: i32,
    /// Allowed, not denied.
    pub allow: bool,
}

impl Admin {
    /// All entries, of resources that librdkafka knows. An empty list may also stand for an error that
    /// librdkafka 2.12.1 does not show: no authorizer, or no right to see them.
    pub fn acls(&self) -> Result<Option<Vec<AclEntry>>, ClusterError> {
        const PREFIXED: i32 = 4;
        const ALLOW: i32 = 3;
        let found = self.retry("cannot read the ACLs", || {
            let answer = acls::describe(&self.client, REQUEST)?.wait(REQUEST * 2);
            match answer {
                Ok(answer) => Ok(Some(acls::described(&answer))),
                Err(fault) if fault.code == Code::SECURITY_DISABLED => Ok(None),
                Err(fault) => Err(fault),
            }
        })?;
        let entry = |acl: acls::Entry| AclEntry {
            resource: acl.resource,
            name: acl.name,
            prefixed: acl.pattern == PREFIXED,
            principal: acl.principal,
            host: acl.host,
            operation: acl.operation,
            allow: acl.permission == ALLOW,
        };
        Ok(found.map(|acls| acls.into_iter().filter(|acl| acl.resource > 1).map(entry).collect()))
    }
}
