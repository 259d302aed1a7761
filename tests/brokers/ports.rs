//! Free ports on the loopback address.

use super::Error;
use std::net::TcpListener;
use std::sync::Mutex;

/// Below the range from which Linux (32768 to 60999) takes ports for outgoing connections. A
/// client that calls a killed broker again and again would otherwise now and then be given that
/// very port, connect to itself, and keep the broker from coming back.
const FIRST: u16 = 12000;
const LAST: u16 = 32000;

/// `count` ports that nobody listens on at this moment, never the same twice in one process.
/// Another process may still take one before it is used: whoever starts a server tries again.
pub fn free(count: usize) -> Result<Vec<u16>, Error> {
    static NEXT: Mutex<Option<u16>> = Mutex::new(None);
    let mut next = NEXT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // Processes that run side by side begin at different places.
    let begin = || FIRST + u16::try_from(std::process::id() * 97 % 20000).unwrap_or(0);
    let mut port = next.unwrap_or_else(begin);
    let mut found = Vec::new();
    for _ in FIRST..LAST {
        if found.len() == count {
            break;
        }
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            found.push(port);
        }
        port = if port + 1 >= LAST { FIRST } else { port + 1 };
    }
    *next = Some(port);
    if found.len() < count {
        return Err(Error::new("no free port on 127.0.0.1 between 12000 and 32000"));
    }
    Ok(found)
}
