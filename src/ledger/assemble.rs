//! How the parts of a carry or a snapshot are put together again.
//!
//! One transaction, one writer: the parts lie side by side and in order. Anything else is damage.

use super::lane::{Carry, CarryPartition, Snapshot};

/// An entry that may come in parts.
pub trait Parted: Sized {
    /// Number of the part (of the last one read, while being put together) and how many there are.
    fn numbers(&self) -> (u32, u32);

    /// Adds the next part, or says why it is not part of the same entry.
    fn join(&mut self, next: Self) -> Result<(), String>;

    /// All parts are there: the entry is whole.
    fn whole(self) -> Self;
}

/// What a part made of the parts before it.
#[derive(Debug)]
pub enum Assembled<T> {
    /// More parts are to come.
    Waiting(T),
    /// The whole entry.
    Whole(T),
}

/// Adds `next` to the parts read so far.
pub fn assemble<T: Parted>(so_far: Option<T>, next: T) -> Result<Assembled<T>, String> {
    let (part, parts) = next.numbers();
    let (before, of) = so_far.as_ref().map_or((0, parts), Parted::numbers);
    if part != before + 1 || parts != of || part > parts {
        return Err(format!("part {part} of {parts} follows part {before} of {of}"));
    }
    let joined = match so_far {
        None => next,
        Some(mut so_far) => {
            so_far.join(next)?;
            so_far
        }
    };
    Ok(if part == parts { Assembled::Whole(joined.whole()) } else { Assembled::Waiting(joined) })
}

impl Parted for Carry {
    fn numbers(&self) -> (u32, u32) {
        (self.part, self.parts)
    }

    fn join(&mut self, mut next: Self) -> Result<(), String> {
        let mut pieces = std::mem::take(&mut next.partitions).into_iter().peekable();
        let head = |carry: &Self| Self { part: 0, partitions: Vec::new(), ..carry.clone() };
        if head(self) != head(&next) {
            return Err(format!("the parts of carry {} differ", self.seq));
        }
        if let Some(last) = self.partitions.last_mut()
            && let Some(more) = pieces.next_if(|piece| piece.at() == last.at())
        {
            continue_runs(last, more)?;
        }
        self.partitions.extend(pieces);
        self.part = next.part;
        Ok(())
    }

    fn whole(self) -> Self {
        Self { part: 1, parts: 1, ..self }
    }
}

/// A partition whose runs need several parts: they are the same but for the runs.
fn continue_runs(partition: &mut CarryPartition, mut more: CarryPartition) -> Result<(), String> {
    let mut runs = std::mem::take(&mut partition.runs);
    let more_runs = std::mem::take(&mut more.runs);
    if *partition != more {
        return Err(format!("the pieces of `{}` differ", partition.at()));
    }
    runs.append(&more_runs).map_err(|error| format!("`{}`: {error}", partition.at()))?;
    partition.runs = runs;
    Ok(())
}

impl Parted for Snapshot {
    fn numbers(&self) -> (u32, u32) {
        (self.part, self.parts)
    }

    fn join(&mut self, mut next: Self) -> Result<(), String> {
        let partitions = std::mem::take(&mut next.partitions);
        let head = |snapshot: &Self| Self { part: 0, partitions: Vec::new(), ..snapshot.clone() };
        if head(self) != head(&next) {
            return Err(format!("the parts of the snapshot after carry {} differ", self.seq));
        }
        self.partitions.extend(partitions);
        self.part = next.part;
        Ok(())
    }

    fn whole(self) -> Self {
        Self { part: 1, parts: 1, ..self }
    }
}
