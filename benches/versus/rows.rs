//! What is moved.

/// Records in topics of the source.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: &'static str,
    pub what: &'static str,
    pub topics: usize,
    /// Of each topic.
    pub partitions: usize,
    /// In all topics together, in a default run.
    pub records: u64,
    /// Bytes of a value; it hardly compresses.
    pub value: usize,
    /// How many different keys; 0: none.
    pub keys: u64,
    pub headers: usize,
    /// Of the source's batches.
    pub compression: &'static str,
    /// 0: written without transactions.
    pub per_transaction: u64,
    /// Turns of each contender in a default run.
    pub rounds: usize,
    /// The throughput that the aims ask for, in multiples of MirrorMaker 2 with exactly once.
    pub aim: f64,
}

/// Counts such that the slowest contender needs about ten seconds, half a minute in the first row.
pub fn all() -> Vec<Row> {
    let plain = Row {
        name: "b512",
        what: "512 B, keys, 6 partitions",
        topics: 1,
        partitions: 6,
        records: 2_000_000,
        value: 500,
        keys: 100_000,
        headers: 0,
        compression: "none",
        per_transaction: 0,
        rounds: 3,
        aim: 6.0,
    };
    let other = Row { aim: 3.0, rounds: 2, records: 1_000_000, ..plain.clone() };
    vec![
        plain,
        Row { name: "b100", what: "100 B", value: 90, ..other.clone() },
        Row { name: "k10", what: "10 KiB", value: 10_230, records: 100_000, ..other.clone() },
        Row {
            name: "zstd",
            what: "512 B, zstd on the source",
            compression: "zstd",
            ..other.clone()
        },
        Row {
            name: "topics",
            what: "512 B, 1,000 topics of one partition",
            topics: 1000,
            partitions: 1,
            records: 300_000,
            ..other.clone()
        },
        Row {
            name: "partitions",
            what: "512 B, one topic of 1,000 partitions",
            partitions: 1000,
            records: 300_000,
            ..other.clone()
        },
        Row {
            name: "headers",
            what: "100 B and 200 headers",
            value: 90,
            headers: 200,
            records: 60_000,
            ..other.clone()
        },
        Row {
            name: "single",
            what: "512 B, 60 partitions, one record of each per source transaction",
            partitions: 60,
            keys: 0,
            per_transaction: 60,
            records: 300_000,
            ..other
        },
    ]
}

impl Row {
    pub fn topic_names(&self) -> Vec<String> {
        (0..self.topics).map(|n| format!("{}-{n}", self.name)).collect()
    }

    /// The names as a regular expression, for MirrorMaker 2.
    pub fn topic_pattern(&self) -> String {
        format!("{}-[0-9]+", self.name)
    }

    pub fn all_partitions(&self) -> usize {
        self.topics * self.partitions
    }

    /// Keys, values and headers, about: `key-…` of 5 digits, headers `header-…` of 16 bytes.
    pub fn bytes_per_record(&self) -> usize {
        let key = if self.keys == 0 { 0 } else { 9 };
        key + self.value + self.headers * 26
    }
}
