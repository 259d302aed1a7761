//! What an entry's payload is as bytes.

use super::fold::FoldTable;
use super::lines::LineTable;
use super::table::Table;
use super::varint::{self, Bytes};
use crate::digest::{RecordDigest, SequenceDigest};
use crate::error::Side;
use crate::reconcile::line::Line;
use crate::reconcile::manifest::{Manifest, Place, Seen};

/// A payload that can lie in a run file. The bytes are those of one process: no format to keep.
pub trait Stored: Sized {
    /// Most bytes that [`Stored::encode`] appends.
    const MAX: usize;

    /// Whether payloads of one key become one.
    const FOLDS: bool;

    /// The table that keeps them in memory.
    type Table: Table<Payload = Self>;

    /// Appends the bytes.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads them back and leaves what follows; `None` for bytes that [`Stored::encode`] never writes.
    fn decode(bytes: &mut Bytes<'_>) -> Option<Self>;

    /// Adds what was read of the same key after all of this; only called where [`Stored::FOLDS`].
    fn absorb(&mut self, later: &Self);
}

/// Bits of a manifest's first byte.
mod manifest_bits {
    /// One claimed record from which all follows: its digest and offset come next.
    pub const ONE: u8 = 1;
    /// All fields of the claimed records come next.
    pub const MANY: u8 = 2;
    /// There is a last record.
    pub const LAST: u8 = 4;
    /// The last record is a tombstone.
    pub const TOMBSTONE: u8 = 8;
    /// Foreign records: their number and the first offset.
    pub const FOREIGN: u8 = 16;
    /// Records beyond: their number.
    pub const BEYOND: u8 = 32;
}

impl Stored for Manifest {
    const MAX: usize = 1 + varint::MAX + 16 + 16 + varint::MAX + 16 + 5 * varint::MAX;
    const FOLDS: bool = true;
    type Table = FoldTable;

    fn encode(&self, out: &mut Vec<u8>) {
        use manifest_bits::*;
        let alone = self.alone();
        let mut bits = match alone {
            Some(_) => ONE,
            None if self.claims_nothing() => 0,
            None => MANY,
        };
        if let Some((_, tombstone)) = self.last {
            bits |= LAST | if tombstone { TOMBSTONE } else { 0 };
        }
        if self.foreign != 0 || self.first_foreign != -1 {
            bits |= FOREIGN;
        }
        if self.beyond != 0 {
            bits |= BEYOND;
        }
        out.push(bits);
        if let Some(seen) = alone {
            out.extend_from_slice(&seen.digest.0.to_le_bytes());
            varint::put(out, seen.offset as u64);
        } else if bits & MANY != 0 {
            varint::put(out, self.sequence.count);
            out.extend_from_slice(&self.sequence.a.to_le_bytes());
            out.extend_from_slice(&self.sequence.b.to_le_bytes());
            out.extend_from_slice(&self.sum.to_le_bytes());
            varint::put(out, self.tombstones);
            if let Some((digest, _)) = self.last {
                out.extend_from_slice(&digest.0.to_le_bytes());
            }
            varint::put_signed(out, self.first_offset);
            varint::put_signed(out, self.last_offset.wrapping_sub(self.first_offset));
        }
        if bits & FOREIGN != 0 {
            varint::put(out, self.foreign);
            varint::put_signed(out, self.first_foreign);
        }
        if bits & BEYOND != 0 {
            varint::put(out, self.beyond);
        }
    }

    fn decode(bytes: &mut Bytes<'_>) -> Option<Self> {
        use manifest_bits::*;
        let bits = bytes.byte()?;
        let tombstone = bits & TOMBSTONE != 0;
        let mut manifest = Manifest::default();
        if bits & ONE != 0 {
            let digest = RecordDigest(bytes.u128()?);
            let offset = bytes.varint()? as i64;
            manifest.push(Seen { offset, digest, tombstone, place: Place::Claimed });
        } else if bits & MANY != 0 {
            manifest.sequence.count = bytes.varint()?;
            manifest.sequence.a = u64::from_le_bytes(bytes.array()?);
            manifest.sequence.b = u64::from_le_bytes(bytes.array()?);
            manifest.sum = bytes.u128()?;
            manifest.tombstones = bytes.varint()?;
            if bits & LAST != 0 {
                manifest.last = Some((RecordDigest(bytes.u128()?), tombstone));
            }
            manifest.first_offset = bytes.signed()?;
            manifest.last_offset = bytes.signed()?.wrapping_add(manifest.first_offset);
        }
        if bits & FOREIGN != 0 {
            manifest.foreign = bytes.varint()?;
            manifest.first_foreign = bytes.signed()?;
        }
        if bits & BEYOND != 0 {
            manifest.beyond = bytes.varint()?;
        }
        Some(manifest)
    }

    fn absorb(&mut self, later: &Self) {
        Manifest::absorb(self, later);
    }
}

impl Manifest {
    /// The claimed record from which everything about claimed records follows, if it is one.
    fn alone(&self) -> Option<Seen> {
        let (digest, tombstone) = self.last.filter(|_| self.sequence.count == 1)?;
        let offset = self.last_offset;
        let seen = Seen { offset, digest, tombstone, place: Place::Claimed };
        let mut one = Manifest::default();
        one.push(seen);
        let follows = one.sequence == self.sequence
            && one.sum == self.sum
            && one.tombstones == self.tombstones
            && one.first_offset == self.first_offset;
        follows.then_some(seen)
    }

    fn claims_nothing(&self) -> bool {
        self.sequence == SequenceDigest::EMPTY
            && self.sum == 0
            && self.tombstones == 0
            && self.last.is_none()
            && self.first_offset == -1
            && self.last_offset == -1
    }
}

/// Bits of a line's first byte.
mod line_bits {
    pub const TARGET: u8 = 1;
    pub const SOURCE_OFFSET: u8 = 2;
    pub const FOREIGN: u8 = 4;
    pub const BEYOND: u8 = 8;
    pub const TIMESTAMP: u8 = 16;
    pub const TOMBSTONE: u8 = 32;
    pub const COPIED_TO: u8 = 64;
}

impl Stored for Line {
    const MAX: usize = 1 + 3 * 16 + 4 * varint::MAX;
    const FOLDS: bool = false;
    type Table = LineTable;

    fn encode(&self, out: &mut Vec<u8>) {
        use line_bits::*;
        let bit = |set, bit| if set { bit } else { 0 };
        out.push(
            bit(self.side == Side::Target, TARGET)
                | bit(self.source_offset.is_some(), SOURCE_OFFSET)
                | bit(self.place == Place::Foreign, FOREIGN)
                | bit(self.place == Place::Beyond, BEYOND)
                | bit(self.timestamp.is_some(), TIMESTAMP)
                | bit(self.tombstone, TOMBSTONE)
                | bit(self.copied_to.is_some(), COPIED_TO),
        );
        for digest in [self.digest, self.value, self.headers] {
            out.extend_from_slice(&digest.0.to_le_bytes());
        }
        varint::put(out, self.offset as u64);
        for offset in [self.source_offset, self.copied_to].into_iter().flatten() {
            varint::put_signed(out, offset.wrapping_sub(self.offset));
        }
        if let Some(timestamp) = self.timestamp {
            varint::put_signed(out, timestamp);
        }
    }

    fn decode(bytes: &mut Bytes<'_>) -> Option<Self> {
        use line_bits::*;
        let bits = bytes.byte()?;
        let digest = RecordDigest(bytes.u128()?);
        let value = RecordDigest(bytes.u128()?);
        let headers = RecordDigest(bytes.u128()?);
        let offset = bytes.varint()? as i64;
        let mut signed = |bit| {
            if bits & bit == 0 { Some(None) } else { bytes.signed().map(Some) }
        };
        let source_offset = signed(SOURCE_OFFSET)?.map(|from| offset.wrapping_add(from));
        let copied_to = signed(COPIED_TO)?.map(|from| offset.wrapping_add(from));
        let timestamp = signed(TIMESTAMP)?;
        let place = match bits & (FOREIGN | BEYOND) {
            0 => Place::Claimed,
            FOREIGN => Place::Foreign,
            BEYOND => Place::Beyond,
            _ => return None,
        };
        let side = if bits & TARGET == 0 { Side::Source } else { Side::Target };
        let tombstone = bits & TOMBSTONE != 0;
        Some(Line {
            side,
            offset,
            source_offset,
            place,
            digest,
            value,
            headers,
            timestamp,
            tombstone,
            copied_to,
        })
    }

    fn absorb(&mut self, _later: &Self) {}
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digest() -> impl Strategy<Value = RecordDigest> {
        any::<u128>().prop_map(RecordDigest)
    }

    fn offset() -> impl Strategy<Value = i64> {
        prop_oneof![-1i64..3, 0i64..1 << 40, any::<i64>()]
    }

    fn place() -> impl Strategy<Value = Place> {
        prop_oneof![Just(Place::Claimed), Just(Place::Foreign), Just(Place::Beyond)]
    }

    fn line() -> impl Strategy<Value = Line> {
        let side = prop_oneof![Just(Side::Source), Just(Side::Target)];
        let option = || prop::option::of(offset());
        let digests = (digest(), digest(), digest());
        (side, offset(), option(), place(), digests, option(), any::<bool>(), option()).prop_map(
            |(side, offset, source_offset, place, digests, timestamp, tombstone, copied_to)| {
                let (digest, value, headers) = digests;
                Line {
                    side,
                    offset,
                    source_offset,
                    place,
                    digest,
                    value,
                    headers,
                    timestamp,
                    tombstone,
                    copied_to,
                }
            },
        )
    }

    /// Manifests as they come about, and some that never do.
    fn manifest() -> impl Strategy<Value = Manifest> {
        let seen = (0i64..1 << 40, digest(), any::<bool>(), place()).prop_map(
            |(offset, digest, tombstone, place)| Seen { offset, digest, tombstone, place },
        );
        let pushed = prop::collection::vec(seen, 0..4);
        let strange = prop::option::weighted(0.2, (any::<u128>(), offset(), any::<u64>()));
        (pushed, strange).prop_map(|(pushed, strange)| {
            let mut manifest = Manifest::default();
            pushed.into_iter().for_each(|seen| manifest.push(seen));
            if let Some((sum, offset, n)) = strange {
                match n % 6 {
                    0 => manifest.sum = sum,
                    1 => manifest.first_offset = offset,
                    2 => manifest.last_offset = offset,
                    3 => manifest.first_foreign = offset,
                    4 => manifest.tombstones = n,
                    _ => manifest.last = None,
                }
            }
            manifest
        })
    }

    fn round_trip<T: Stored + PartialEq + std::fmt::Debug>(payload: &T) -> usize {
        let mut out = Vec::new();
        payload.encode(&mut out);
        assert!(out.len() <= T::MAX);
        for cut in 0..out.len() {
            assert!(T::decode(&mut Bytes(&out[..cut])).is_none_or(|read| read != *payload));
        }
        let len = out.len();
        out.push(7);
        let mut bytes = Bytes(&out);
        assert_eq!(T::decode(&mut bytes).as_ref(), Some(payload));
        assert_eq!(bytes.0, [7]);
        len
    }

    proptest! {
        #[test]
        fn manifests_come_back(manifest in manifest()) {
            round_trip(&manifest);
        }

        #[test]
        fn lines_come_back(line in line()) {
            round_trip(&line);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Manifest::decode(&mut Bytes(&bytes));
            let _ = Line::decode(&mut Bytes(&bytes));
        }
    }

    #[test]
    fn a_manifest_of_one_record_is_its_digest_and_offset() {
        let mut manifest = Manifest::default();
        let digest = RecordDigest(u128::MAX);
        manifest.push(Seen { offset: 19_999_999, digest, tombstone: true, place: Place::Claimed });
        assert_eq!(round_trip(&manifest), 1 + 16 + 4);
    }
}
