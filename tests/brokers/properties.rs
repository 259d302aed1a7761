//! The settings of a node.

use super::Error;
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

/// The two ports of a node on 127.0.0.1.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub broker: u16,
    pub controller: u16,
}

impl Node {
    pub fn address(self) -> String {
        format!("127.0.0.1:{}", self.broker)
    }
}

/// `server.properties` of node `id` (1, 2, …) of `nodes`: broker and controller in one.
///
/// The defaults make small clusters quick, and let nothing expire that a test did not ask for.
/// `config` comes last and wins.
pub fn of_node(id: usize, nodes: &[Node], data: &Path, config: &[(String, String)]) -> String {
    let Node { broker, controller } = nodes[id - 1];
    let voters: Vec<String> =
        (1..).zip(nodes).map(|(id, node)| format!("{id}@127.0.0.1:{}", node.controller)).collect();
    let replicas = nodes.len().min(3).to_string();
    let in_sync = if nodes.len() < 3 { "1" } else { "2" };
    let data = data.to_string_lossy();
    let listeners = format!("PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}");
    let own = [
        ("process.roles", "broker,controller"),
        ("node.id", &id.to_string()),
        ("controller.quorum.voters", &voters.join(",")),
        ("controller.listener.names", "CONTROLLER"),
        ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"),
        ("listeners", &listeners),
        ("advertised.listeners", &format!("PLAINTEXT://127.0.0.1:{broker}")),
        ("log.dirs", &data),
        ("default.replication.factor", &replicas),
        ("offsets.topic.replication.factor", &replicas),
        ("transaction.state.log.replication.factor", &replicas),
        ("transaction.state.log.min.isr", in_sync),
        ("share.coordinator.state.topic.replication.factor", &replicas),
        ("share.coordinator.state.topic.min.isr", in_sync),
        ("auto.create.topics.enable", "false"),
        ("group.initial.rebalance.delay.ms", "0"),
        // 50 each by default: they are created and loaded when a test first needs them.
        ("offsets.topic.num.partitions", "4"),
        ("transaction.state.log.num.partitions", "4"),
        // Every half second by default, in each idle cluster of a machine that has better to do.
        ("metadata.max.idle.interval.ms", "5000"),
        // 128 MiB by default: a third of the memory of an idle broker, and of its start.
        ("log.cleaner.dedupe.buffer.size", "4194304"),
        ("log.cleaner.io.buffer.size", "262144"),
        // 15 s by default: a test that waits for compaction would wait for that.
        ("log.cleaner.backoff.ms", "500"),
        // 10 s by default: so late would a transaction that timed out be aborted.
        ("transaction.abort.timed.out.transaction.cleanup.interval.ms", "1000"),
        ("num.network.threads", "2"),
        ("num.io.threads", "4"),
        // A broker that is not let in by then ends itself, after 60 s by default; we have more time.
        ("initial.broker.registration.timeout.ms", "600000"),
        // Records of long ago must not vanish during a test.
        ("log.retention.ms", "-1"),
    ];
    let mut text = String::new();
    let config = config.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    for (key, value) in own.into_iter().chain(config) {
        let _ = writeln!(text, "{key}={}", escaped(value));
    }
    text
}

/// Kafka reads the file as Latin-1 with `\uXXXX`.
fn escaped(value: &str) -> String {
    let mut text = String::new();
    for unit in value.encode_utf16() {
        match u8::try_from(unit) {
            Ok(b'\\') => text.push_str("\\\\"),
            Ok(byte) if byte.is_ascii_graphic() => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

/// 22 letters and digits that are 16 random bytes in Base64, as Kafka's own ids.
pub fn cluster_id() -> Result<String, Error> {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let source = Path::new("/dev/urandom");
    let mut random = [0; 22];
    std::fs::File::open(source)
        .and_then(|mut file| file.read_exact(&mut random))
        .map_err(|e| Error::io("read", source, &e))?;
    let (last, first) = random.split_last().expect("22 bytes");
    let mut id: String =
        first.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect();
    id.push(char::from(b"AQgw"[usize::from(*last) % 4])); // the last one holds two bits
    Ok(id)
}
