//! A proxy on the loopback address in front of brokers, and what a run does behind it.
//!
//! ```text
//!  client ─▶ upward ─▶ rules ─▶ delay ─▶ broker
//!         ◀─ delay ◀─ rules ◀─ downward ◀─
//! ```
//!
//! It understands just enough of the protocol: frames with their length, the header of a request, and
//! that an answer has its request's correlation id. Brokers advertise the proxy's port to whoever comes
//! through it ([`crate::brokers::Builder::proxied`]); the oracle goes to them directly.
//!
//! - [`wire`]: frames, headers, the error code of the two answers that matter here.
//! - [`rule`]: which request is held, lost, stopped, or loses its answer; whether that has happened.
//! - [`line`]: the connections of one client: slow, cut, half-open; each test has lines of its own, so that tests
//!   can share a proxy.
//! - [`server`]: listens, connects, carries.
//!
//! The tests: [`unclear`] commits, what a late request does to an [`undefended`] producer and to a run
//! ([`late`]), [`slow`] links, [`broken`] connections.

mod broken;
pub mod case;
mod late;
pub mod line;
mod rule;
pub mod server;
mod slow;
mod unclear;
mod undefended;
mod wire;

use std::sync::OnceLock;

use crate::brokers::shared;
use server::Proxy;

/// Proxies of the source and the target that all tests share.
pub struct Proxies {
    pub source: Proxy,
    pub target: Proxy,
}

pub fn proxies() -> &'static Proxies {
    static PROXIES: OnceLock<Proxies> = OnceLock::new();
    PROXIES.get_or_init(|| {
        let clusters = shared::clusters();
        Proxies { source: Proxy::before(&clusters.source), target: Proxy::before(&clusters.target) }
    })
}
