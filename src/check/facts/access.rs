//! Who may do what: ACLs of a cluster, and our own rights there.

use super::Known;

/// ACLs of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acls {
    /// There is no authorizer: everybody may do everything.
    NoAuthorizer,
    /// These.
    List(Vec<Acl>),
}

/// One ACL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acl {
    /// What it is about.
    pub resource: Resource,
    /// Who (`User:alice`).
    pub principal: String,
    /// From where (`*`).
    pub host: String,
    /// May do what.
    pub operation: Operation,
    /// Or may not.
    pub allow: bool,
}

/// What an ACL is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// Its kind.
    pub kind: ResourceKind,
    /// Its name (of the cluster: `kafka-cluster`), or the beginning of its name; `*` for all.
    pub name: String,
    /// The name is the beginning of names.
    pub prefixed: bool,
}

impl Resource {
    /// Whether it holds for something of its kind with this name.
    pub fn covers_name(&self, name: &str) -> bool {
        if self.prefixed {
            name.starts_with(&self.name)
        } else {
            self.is_all() || self.name == name
        }
    }

    /// Whether all that another is about lies in it.
    pub fn covers(&self, other: &Self) -> bool {
        self.kind == other.kind
            && match other.prefixed {
                true => self.is_all() || (self.prefixed && other.name.starts_with(&self.name)),
                false => self.covers_name(&other.name),
            }
    }

    fn is_all(&self) -> bool {
        !self.prefixed && self.name == "*"
    }
}

impl Acl {
    /// Whether it speaks of somebody.
    pub fn is_for(&self, principal: &str) -> bool {
        self.principal == principal || self.principal == "User:*"
    }

    /// Whether it allows, or denies, an operation. What is allowed brings with it what it needs: Read,
    /// Write, Delete, Alter bring Describe, AlterConfigs brings DescribeConfigs (Kafka: `AclAuthorizer`,
    /// `StandardAuthorizer`); a denial brings nothing else.
    pub fn decides(&self, operation: Operation) -> bool {
        use Operation::{All, Alter, AlterConfigs, Delete, Describe, DescribeConfigs, Read, Write};
        let implied = match operation {
            Describe => matches!(self.operation, Read | Write | Delete | Alter),
            DescribeConfigs => self.operation == AlterConfigs,
            _ => false,
        };
        self.operation == operation || self.operation == All || (self.allow && implied)
    }
}

/// Kinds of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// A topic.
    Topic,
    /// A consumer group.
    Group,
    /// The cluster.
    Cluster,
    /// A transactional id.
    TransactionalId,
}

/// What one may do with a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Everything.
    All,
    /// Read records; join a group and commit its offsets.
    Read,
    /// Write records; use a transactional id.
    Write,
    /// Create topics.
    Create,
    /// Delete.
    Delete,
    /// Change partitions.
    Alter,
    /// See that it is there.
    Describe,
    /// What brokers do among themselves.
    ClusterAction,
    /// Read configs.
    DescribeConfigs,
    /// Change configs.
    AlterConfigs,
    /// Write idempotently without a transactional id.
    IdempotentWrite,
    /// Another one, of a newer Kafka.
    Other,
}

/// A right of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RightFacts {
    /// Which one.
    pub right: Right,
    /// Whether we have it.
    pub granted: Known<bool>,
}

/// Something that we need to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// With what.
    pub resource: Resource,
    /// Do what.
    pub operation: Operation,
}
