//! Listens in front of every broker of a cluster, and carries frames.

use std::io::Write;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::spawn;
use std::time::Instant;

use super::line::{Connection, Line, Way};
use super::rule::Fate;
use super::wire::{Request, correlation_of_answer, read_frame};
use crate::brokers::Cluster;

/// What is delayed as one. Small, so that connections share a slow link fairly.
const CHUNK: usize = 16 << 10;
/// How many of them are under way on a connection: the buffers of a link.
const UNDER_WAY: usize = 64;

/// In front of one cluster, until the process ends.
pub struct Proxy {
    bootstrap: String,
    lines: Arc<Lines>,
}

#[derive(Default)]
struct Lines(Mutex<Vec<(String, Arc<Line>)>>);

impl Proxy {
    /// # Panics
    /// If the cluster was not started for a proxy, or somebody else has taken the port.
    pub fn before(cluster: &Cluster) -> Proxy {
        let lines = Arc::new(Lines::default());
        let mut addresses = Vec::new();
        for id in 1..=cluster.broker_count() {
            let ports = cluster.proxied(id).expect("a cluster behind a proxy");
            let here = SocketAddr::from((Ipv4Addr::LOCALHOST, ports.advertised));
            let broker = SocketAddr::from((Ipv4Addr::LOCALHOST, ports.listener));
            let listener = TcpListener::bind(here).expect("the advertised port is free");
            let lines = Arc::clone(&lines);
            spawn(move || {
                for client in listener.incoming().flatten() {
                    let lines = Arc::clone(&lines);
                    spawn(move || upward(&lines, client, broker));
                }
            });
            addresses.push(here.to_string());
        }
        Proxy { bootstrap: addresses.join(","), lines }
    }

    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// The line of the clients whose id begins with `prefix`; the longest prefix counts. To be asked for
    /// before they connect.
    pub fn line(&self, prefix: &str) -> Arc<Line> {
        let line = Arc::new(Line::default());
        let mut lines = self.lines.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push((prefix.to_owned(), Arc::clone(&line)));
        line
    }
}

impl Lines {
    fn of(&self, client: &str) -> Arc<Line> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = lines.iter().filter(|(prefix, _)| client.starts_with(prefix.as_str()));
        let longest = mine.max_by_key(|(prefix, _)| prefix.len());
        longest.map(|(_, line)| Arc::clone(line)).unwrap_or_default()
    }
}

/// One connection of a client, from its first request to its end.
fn upward(lines: &Lines, client: TcpStream, broker: SocketAddr) -> Option<()> {
    let to_broker = TcpStream::connect(broker).ok()?;
    client.set_nodelay(true).and_then(|()| to_broker.set_nodelay(true)).ok()?;
    let connection = Arc::new(Connection::new(client, to_broker));
    let carried = carry(lines, &connection, broker);
    // What is still under way to the broker arrives, unless the connection was cut.
    if carried.is_none() {
        let _ = connection.client.shutdown(Shutdown::Read);
    }
    carried
}

fn carry(lines: &Lines, connection: &Arc<Connection>, broker: SocketAddr) -> Option<()> {
    let mut from_client = &connection.client;
    let mut frame = read_frame(&mut from_client).ok()?;
    let mut request = Request::parse(frame)?;
    let line = lines.of(&request.client);
    if !line.joined(connection) {
        connection.cut();
        return None;
    }
    let to_broker = delayed(&line, Way::Up, connection.broker.try_clone().ok()?);
    {
        let (line, connection) = (Arc::clone(&line), Arc::clone(connection));
        spawn(move || downward(&line, &connection));
    }
    loop {
        if !line.swallows(connection) {
            match line.judge(&request, broker) {
                Some((Fate::Held | Fate::Lost, _)) => {
                    connection.cut();
                    return None;
                }
                Some((Fate::Unanswered, planned)) => {
                    connection.lose_answer(request.correlation, planned);
                }
                Some((Fate::Stopped, planned)) if !planned.decision() => {
                    connection.cut();
                    return None;
                }
                Some((Fate::Stopped, _)) | None => {}
            }
            send(&to_broker, &line, &request.frame)?;
        }
        frame = read_frame(&mut from_client).ok()?;
        request = Request::parse(frame)?;
    }
}

fn downward(line: &Arc<Line>, connection: &Connection) -> Option<()> {
    let to_client = delayed(line, Way::Down, connection.client.try_clone().ok()?);
    let mut from_broker = &connection.broker;
    loop {
        let answer = read_frame(&mut from_broker).ok()?;
        if let Some(planned) = connection.lost_answer(correlation_of_answer(&answer)) {
            planned.happens();
            connection.cut();
            return None;
        }
        if !line.swallows(connection) {
            send(&to_client, line, &answer)?;
        }
    }
}

type UnderWay = (Instant, Vec<u8>);

fn send(queue: &SyncSender<UnderWay>, line: &Line, frame: &[u8]) -> Option<()> {
    let due = Instant::now() + line.one_way();
    frame.chunks(CHUNK).try_for_each(|chunk| queue.send((due, chunk.to_vec())).ok())
}

/// A queue whose bytes arrive later, and not faster than the line allows. When it ends, so does what it
/// fills.
fn delayed(line: &Arc<Line>, way: Way, mut to: TcpStream) -> SyncSender<UnderWay> {
    let (sender, queue) = sync_channel::<UnderWay>(UNDER_WAY);
    let line = Arc::clone(line);
    spawn(move || {
        for (due, bytes) in queue {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            line.pace(way, bytes.len());
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
    sender
}
