//! Named points of a lane's protocol, at which the fault suite strikes (`tests/faults/points/`).
//!
//! Without the feature `failpoints` a point is an empty function that always succeeds, and nothing of the
//! environment is read.

#[cfg(not(feature = "failpoints"))]
pub use off::{at, transaction_timeout};
#[cfg(feature = "failpoints")]
pub use on::{at, transaction_timeout};

#[cfg(not(feature = "failpoints"))]
mod off {
    use std::fmt::Display;
    use std::time::Duration;

    use crate::cluster::ClusterError;

    /// Nothing.
    #[inline]
    pub fn at(_point: &str, _lane: impl Display) -> Result<(), ClusterError> {
        Ok(())
    }

    /// `usual`.
    #[inline]
    pub fn transaction_timeout(usual: Duration) -> Duration {
        usual
    }
}

#[cfg(feature = "failpoints")]
mod on {
    use std::fmt::Display;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use crate::cluster::{Class, ClusterError};
    use crate::error::Side;

    /// For a test that is gone; one that is there decides earlier.
    const HELD_AT_MOST: Duration = Duration::from_secs(300);

    /// Strikes if the environment's `FAILPOINTS` says so for this point (in the syntax of the crate `fail`):
    ///
    /// - `return(hold FILE)`: the lane's thread stands still until the file is there. Meanwhile the process
    ///   may be killed, or frozen, or its transaction may time out.
    /// - `return(CLASS)`: the lane meets an error of this class, as `unclear` or `not-member`.
    ///
    /// That it did is said in a line on stderr.
    ///
    /// # Errors
    /// The one asked for.
    pub fn at(point: &str, lane: impl Display) -> Result<(), ClusterError> {
        fail::fail_point!(point, |what: Option<String>| {
            let what = what.unwrap_or_default();
            eprintln!("failpoint {point} of lane {lane}: {what}");
            match what.strip_prefix("hold ") {
                Some(file) => hold(point, Path::new(file)),
                None => Err(error(point, class(&what))),
            }
        });
        Ok(())
    }

    /// `ONCEOVER_TRANSACTION_TIMEOUT_MS`, else `usual`: a plan cannot set it, and nobody waits a minute for
    /// each transaction that is to time out.
    pub fn transaction_timeout(usual: Duration) -> Duration {
        let set = std::env::var("ONCEOVER_TRANSACTION_TIMEOUT_MS").ok();
        set.and_then(|ms| ms.parse().ok()).map_or(usual, Duration::from_millis)
    }

    fn hold(point: &str, until_there: &Path) -> Result<(), ClusterError> {
        let began = Instant::now();
        while !until_there.exists() {
            if began.elapsed() > HELD_AT_MOST {
                return Err(error(point, Class::Final));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        eprintln!("failpoint {point}: let go");
        Ok(())
    }

    fn error(point: &str, class: Class) -> ClusterError {
        ClusterError::new(Side::Target, class, format!("failpoint {point}"))
    }

    fn class(name: &str) -> Class {
        match name {
            "retriable" => Class::Retriable,
            "abort" => Class::Abort,
            "unclear" => Class::Unclear,
            "fenced" => Class::Fenced,
            "not-member" => Class::NotMember,
            "taken-over" => Class::TakenOver,
            "record" => Class::Record,
            "final" => Class::Final,
            other => panic!("a failpoint cannot do `{other}`"),
        }
    }
}
