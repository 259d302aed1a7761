//! The open connections of one process: what preflight, lanes and control share.

use std::sync::{Arc, Mutex};

use crate::cluster::{Admin, ClusterError, Connection, Isolation, LogReader};
use crate::error::{Error, Result, Side};
use crate::ledger::LedgerReader;
use crate::plan::Plan;

/// Both clusters, connected.
pub struct Clusters {
    /// How to open more clients on the source.
    pub source: Connection,
    /// How to open more clients on the target.
    pub target: Connection,
    /// Metadata, configs and offsets of the source.
    pub source_admin: Arc<Admin>,
    /// Metadata, configs, offsets and topic creation on the target.
    pub target_admin: Arc<Admin>,
    /// Single records of the source: anchors.
    pub source_log: Mutex<LogReader>,
    /// Single records of the target: foreign writes.
    pub target_log: Mutex<LogReader>,
    /// The plan's ledger.
    pub ledger: LedgerReader,
    /// Cluster id of the source.
    pub source_id: String,
    /// Cluster id of the target.
    pub target_id: String,
}

/// One cluster, connected; the other one is not contacted.
pub struct OneSide {
    /// Which.
    pub side: Side,
    /// How to open more clients.
    pub connection: Connection,
    /// Metadata, configs and offsets.
    pub admin: Arc<Admin>,
    /// Cluster id.
    pub id: String,
}

impl OneSide {
    /// Connects to one side.
    pub fn connect(plan: &Plan, side: Side) -> Result<Self> {
        let connection = connection(plan, side);
        let admin = Arc::new(Admin::connect(&connection)?);
        let id = admin.cluster_id()?;
        Ok(Self { side, connection, admin, id })
    }

    /// The plan's ledger; only the target has one.
    pub fn ledger(&self, plan: &Plan) -> Result<LedgerReader> {
        let topic = Arc::from(plan.ledger_topic());
        Ok(LedgerReader::open(&self.connection, self.admin.clone(), topic)?)
    }
}

impl Clusters {
    /// Connects to both sides; the error names the side that did not answer, and why.
    pub fn connect(plan: &Plan) -> Result<Self> {
        let [source, target] = [Side::Source, Side::Target].map(|side| connection(plan, side));
        let source_admin = Arc::new(Admin::connect(&source)?);
        let target_admin = Arc::new(Admin::connect_for(&target, &plan.group())?);
        let topic = Arc::from(plan.ledger_topic());
        let open = |connection| -> Result<_, ClusterError> {
            Ok(Mutex::new(LogReader::open(connection, Isolation::Committed)?))
        };
        Ok(Self {
            source_log: open(&source)?,
            target_log: open(&target)?,
            ledger: LedgerReader::open(&target, target_admin.clone(), topic)?,
            source_id: source_admin.cluster_id()?,
            target_id: target_admin.cluster_id()?,
            source,
            target,
            source_admin,
            target_admin,
        })
    }
    /// Refuses two addresses of one cluster: it would be copied onto itself, and always equals itself.
    pub fn are_two(&self) -> Result<()> {
        if self.source_id != self.target_id {
            return Ok(());
        }
        let what = format!("source and target are the same cluster ({})", self.source_id);
        Err(Error::check("same-cluster", what)
            .hint("check `source.bootstrap` and `target.bootstrap`"))
    }

    /// How to open more clients on a side.
    pub fn connection(&self, side: Side) -> &Connection {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// A side's metadata, configs and offsets.
    pub fn admin(&self, side: Side) -> &Admin {
        match side {
            Side::Source => &self.source_admin,
            Side::Target => &self.target_admin,
        }
    }

    /// Single records of a side.
    pub fn log(&self, side: Side) -> &Mutex<LogReader> {
        match side {
            Side::Source => &self.source_log,
            Side::Target => &self.target_log,
        }
    }

    /// Cluster id of a side.
    pub fn id(&self, side: Side) -> &str {
        match side {
            Side::Source => &self.source_id,
            Side::Target => &self.target_id,
        }
    }
}

fn connection(plan: &Plan, side: Side) -> Connection {
    let cluster = plan.cluster(side);
    let client = format!("onceover-{}", plan.name);
    Connection::new(side, &cluster.bootstrap, &cluster.properties, &client)
}
