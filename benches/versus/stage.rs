//! The two clusters, and what a measure does with their topics.

use super::brokers::{Cluster, Error, Oracle, run};
use super::options::Options;
use super::rows::Row;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// For calls that fill or read topics on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

pub struct Stage {
    pub options: Options,
    pub source: Cluster,
    pub target: Cluster,
    pub source_oracle: Oracle,
    pub target_oracle: Oracle,
    /// Where the CSV files are, in the build folder.
    pub files: PathBuf,
}

impl Stage {
    /// Brokers as they would run alone on the machine, but that deleted topics go at once.
    pub fn set(options: Options) -> Result<Stage, Error> {
        let start = |name| {
            let builder = Cluster::builder(name).heap_mb(1024).full_jit();
            builder
                .config("broker.session.timeout.ms", "60000")
                .config("log.segment.delete.delay.ms", "1000")
                // 10 MiB are mapped for each index of each partition otherwise.
                .config("log.index.size.max.bytes", "1048576")
                .start()
        };
        let (source, target) = (start("source")?, start("target")?);
        let source_oracle = Oracle::start(&source.bootstrap())?.within(PATIENCE);
        let target_oracle = Oracle::start(&target.bootstrap())?.within(PATIENCE);
        let build = run::kafka_folder();
        let files = build.parent().unwrap_or(&build).join("versus");
        std::fs::create_dir_all(&files).map_err(|error| Error::io("create", &files, &error))?;
        Ok(Stage { options, source, target, source_oracle, target_oracle, files })
    }

    /// The row's topics on the source, with its records.
    pub fn fill(&self, row: &Row, records: u64) -> Result<(), Error> {
        create(&self.source_oracle, &row.topic_names(), row.partitions)?;
        let mut settings = json!({"compression.type": row.compression});
        if row.per_transaction == 0 {
            settings["enable.idempotence"] = json!("false"); // so that batches can be sent again as they are
        }
        let fields = json!({
            "topics": row.topic_names(),
            "partitions": row.partitions,
            "count": records,
            "value_size": row.value,
            "keys": row.keys,
            "headers": row.headers,
            "per_tx": row.per_transaction,
            "writers": if row.per_transaction == 0 { 1 } else { 4 },
            "settings": settings,
        });
        self.source_oracle.call("fill", fields).map(drop)
    }

    pub fn empty(&self, row: &Row) -> Result<(), Error> {
        delete(&self.source_oracle, &format!("{}-", row.name))
    }

    /// Bytes on the target's disk of topics whose name contains `part`.
    pub fn bytes(&self, part: &str) -> Result<u64, Error> {
        let sizes = self.target_oracle.call("log_sizes", json!({"part": part}))?;
        Ok(sizes.as_object().into_iter().flatten().filter_map(|(_, size)| size.as_u64()).sum())
    }
}

pub fn create(oracle: &Oracle, topics: &[String], partitions: usize) -> Result<(), Error> {
    let fields = json!({"topics": topics, "partitions": partitions, "configs": {}});
    oracle.call("create_topics", fields).map(drop)
}

/// All topics whose name contains `part`.
pub fn delete(oracle: &Oracle, part: &str) -> Result<(), Error> {
    oracle.call("delete_topics", json!({"part": part})).map(drop)
}

/// What a read_committed consumer finds.
pub fn count(oracle: &Oracle, topics: &[String], partitions: usize) -> Result<u64, Error> {
    let answer = oracle.call("count", json!({"topics": topics, "partitions": partitions}))?;
    Ok(number(&answer, "records"))
}

pub fn number(answer: &Value, field: &str) -> u64 {
    answer[field].as_u64().unwrap_or_default()
}

/// The wall clock, which the brokers' side of the benchmark stamps with too.
pub fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
