//! Integers as few bytes: seven bits a byte, lowest first, the high bit says that more follow.

/// Most bytes of one integer.
pub const MAX: usize = 10;

/// Appends `n`.
pub fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Appends `n`; numbers near 0 are short on both sides of it.
pub fn put_signed(out: &mut Vec<u8>, n: i64) {
    put(out, ((n << 1) ^ (n >> 63)) as u64);
}

/// Bytes that are read from the front; `None` where they end early or are none of ours.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next `n` bytes.
    pub fn slice(&mut self, n: usize) -> Option<&'a [u8]> {
        let (slice, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(slice)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    /// An integer of [`put`].
    pub fn varint(&mut self) -> Option<u64> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            n |= bits << shift;
            if byte < 0x80 {
                return Some(n);
            }
        }
        None
    }

    /// An integer of [`put_signed`].
    pub fn signed(&mut self) -> Option<i64> {
        let n = self.varint()?;
        Some((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    /// Sixteen bytes, lowest first.
    pub fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn integers_come_back(n in any::<u64>(), shift in 0..64, signed in any::<i64>()) {
            let (n, signed) = (n >> shift, signed >> shift);
            let mut out = Vec::new();
            put(&mut out, n);
            put_signed(&mut out, signed);
            prop_assert!(out.len() <= 2 * MAX);
            let mut bytes = Bytes(&out);
            prop_assert_eq!(bytes.varint(), Some(n));
            prop_assert_eq!(bytes.signed(), Some(signed));
            prop_assert!(bytes.0.is_empty());
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let _ = Bytes(&bytes).varint();
        }
    }

    #[test]
    fn an_integer_that_is_cut_off_or_too_long_is_none() {
        assert_eq!(Bytes(&[0x80]).varint(), None);
        assert_eq!(Bytes(&[0xff; 11]).varint(), None);
    }
}
