//! Just enough of Kafka's protocol: <https://kafka.apache.org/protocol>.

use std::io::{Error, ErrorKind, Read, Result};

pub const ADD_PARTITIONS_TO_TXN: i16 = 24;
pub const END_TXN: i16 = 26;
pub const PRODUCE: i16 = 0;
pub const TXN_OFFSET_COMMIT: i16 = 28;

/// No frame of a test is longer.
const LONGEST: usize = 200 << 20;

/// One frame with its length.
pub fn read_frame(from: &mut impl Read) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let rest = usize::try_from(i32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if rest > LONGEST {
        return Err(Error::new(ErrorKind::InvalidData, "not a frame of Kafka's"));
    }
    let mut frame = vec![0; 4 + rest];
    frame[..4].copy_from_slice(&length);
    from.read_exact(&mut frame[4..])?;
    Ok(frame)
}

/// Of a request or an answer; both begin with it, an answer at once.
pub fn correlation_of_answer(frame: &[u8]) -> i32 {
    Cursor(&frame[4..]).i32().unwrap_or(-1)
}

/// A request and its header.
#[derive(Clone, Debug)]
pub struct Request {
    pub api: i16,
    pub version: i16,
    pub correlation: i32,
    pub client: String,
    /// All of it, with its length.
    pub frame: Vec<u8>,
}

impl Request {
    pub fn parse(frame: Vec<u8>) -> Option<Request> {
        let mut header = Cursor(&frame[4..]);
        let (api, version, correlation) = (header.i16()?, header.i16()?, header.i32()?);
        let length = usize::try_from(header.i16()?).unwrap_or(0);
        let client = String::from_utf8_lossy(header.take(length)?).into_owned();
        Some(Request { api, version, correlation, client, frame })
    }

    /// Whether this text stands in it: an id or a topic's name, whose place depends on the version.
    pub fn mentions(&self, text: &str) -> bool {
        self.frame.windows(text.len()).any(|bytes| bytes == text.as_bytes())
    }

    /// Of an `EndTxn`: whether it commits. Its last field, behind which flexible versions (from 3 on) have
    /// an empty set of tagged fields.
    pub fn commits(&self) -> bool {
        let from_end = if self.version >= 3 { 2 } else { 1 };
        self.frame[self.frame.len() - from_end] != 0
    }

    /// The error code in the answer to an `EndTxn` or a `TxnOffsetCommit` (of its first partition).
    pub fn error_code(&self, answer: &[u8]) -> Option<i16> {
        let flexible = self.version >= 3; // for both
        let mut answer = Cursor(&answer[4..]);
        answer.i32()?; // correlation id
        if flexible {
            answer.take(1)?; // tagged fields: none
        }
        answer.i32()?; // throttle time
        if self.api == TXN_OFFSET_COMMIT {
            if flexible {
                answer.take(1)?; // one topic
                let name = usize::from(answer.take(1)?[0]) - 1; // shorter than 127 bytes
                answer.take(name + 1)?; // and one partition
            } else {
                answer.i32()?;
                let name = usize::try_from(answer.i16()?).ok()?;
                answer.take(name + 4)?;
            }
            answer.i32()?; // its number
        }
        answer.i16()
    }
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn i16(&mut self) -> Option<i16> {
        self.take(2)?.try_into().ok().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.take(4)?.try_into().ok().map(i32::from_be_bytes)
    }
}
