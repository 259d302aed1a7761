//! Topics that are written to by the rule while something happens.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::brokers::{Error, Numbered, Oracle, Writing};

/// Records of one piece: a multiple of the 100 that share a timestamp.
const PIECE: u64 = 600;

/// A topic that is written to by the rule all the time.
pub struct Stream {
    pub numbered: Numbered,
    pub writing: Writing<'static>,
}

/// Tells the writers to stop, however what goes on meanwhile ends.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes to all of the streams for as long as `meanwhile` takes; all that was written to each.
pub fn written_while(
    source: &Oracle,
    streams: &[Stream],
    meanwhile: impl FnOnce() -> Result<(), Error>,
) -> Result<Vec<Numbered>, Error> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stops = Stops(&stop);
        let writers: Vec<_> =
            streams.iter().map(|stream| scope.spawn(|| stream.write(source, &stop))).collect();
        meanwhile()?;
        drop(stops);
        writers.into_iter().map(|writer| writer.join().expect("no panic")).collect()
    })
}

impl Stream {
    /// Writes on and on, in pieces; everything that was written, as one.
    fn write(&self, source: &Oracle, stop: &AtomicBool) -> Result<Numbered, Error> {
        let mut all = self.numbered.clone();
        while !stop.load(Ordering::Relaxed) {
            source.produce_numbered(&all.after(PIECE), &self.writing)?;
            all.count += PIECE;
        }
        Ok(all)
    }
}
