//! Numbers as text without the formatting machinery: a manifest has a dozen of them in each of up to tens
//! of millions of rows (measured: a quarter of the time after the last record was read).

use crate::digest::{RecordDigest, SequenceDigest};

/// All bytes in lower-case hexadecimal.
const PAIRS: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
        byte += 1;
    }
    pairs
};

/// Appends a number in decimals.
pub fn decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends 16 hexadecimal digits.
fn hexadecimal(number: u64, out: &mut Vec<u8>) {
    let mut digits = [[0; 2]; 8];
    for (pair, byte) in digits.iter_mut().zip(number.to_be_bytes()) {
        *pair = PAIRS[usize::from(byte)];
    }
    out.extend_from_slice(digits.as_flattened());
}

/// Appends what a record digest is displayed as.
pub fn record_digest(RecordDigest(digest): RecordDigest, out: &mut Vec<u8>) {
    hexadecimal((digest >> 64) as u64, out);
    hexadecimal(digest as u64, out);
}

/// Appends what a sequence digest is displayed as.
pub fn sequence_digest(digest: SequenceDigest, out: &mut Vec<u8>) {
    decimal(digest.count, out);
    for lane in [digest.a, digest.b] {
        out.push(b':');
        hexadecimal(lane, out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = b"before ".to_vec();
        write(&mut out);
        String::from_utf8(out).expect("digits").replacen("before ", "", 1)
    }

    proptest! {
        #[test]
        fn it_is_the_text_that_is_displayed(
            number in prop_oneof![0u64..1_000, any::<u64>()],
            digest in any::<u128>(),
            (count, a, b) in any::<(u64, u64, u64)>(),
        ) {
            let digest = RecordDigest(digest >> (number % 128));
            let sequence = SequenceDigest { count, a: a >> 3, b: b >> 3 };
            prop_assert_eq!(text(|out| decimal(number, out)), number.to_string());
            prop_assert_eq!(text(|out| record_digest(digest, out)), digest.to_string());
            prop_assert_eq!(text(|out| sequence_digest(sequence, out)), sequence.to_string());
        }
    }

    #[test]
    fn the_largest_number_has_room() {
        assert_eq!(text(|out| decimal(u64::MAX, out)), u64::MAX.to_string());
        assert_eq!(text(|out| decimal(0, out)), "0");
    }
}
