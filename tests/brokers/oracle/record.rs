//! Records as the oracle writes and reads them. Bytes travel as hex.

use serde_json::{Value, json};
use std::fmt::Write as _;

/// A record to write, or as read. Every part can be none or empty, and the two differ.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Record {
    pub partition: i32,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    /// Milliseconds; none leaves it to Kafka's producer, which takes the time of day.
    pub timestamp: Option<i64>,
    /// In order, names not necessarily different.
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Record {
    /// No key, no value, no headers, no timestamp.
    pub fn in_partition(partition: i32) -> Record {
        Record { partition, ..Record::default() }
    }

    #[must_use]
    pub fn key(mut self, key: impl AsRef<[u8]>) -> Record {
        self.key = Some(key.as_ref().to_vec());
        self
    }

    #[must_use]
    pub fn value(mut self, value: impl AsRef<[u8]>) -> Record {
        self.value = Some(value.as_ref().to_vec());
        self
    }

    #[must_use]
    pub fn at(mut self, timestamp: i64) -> Record {
        self.timestamp = Some(timestamp);
        self
    }

    /// One more header.
    #[must_use]
    pub fn header(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Record {
        self.headers.push((name.as_ref().to_vec(), Some(value.as_ref().to_vec())));
        self
    }

    /// One more header, whose value is null.
    #[must_use]
    pub fn null_header(mut self, name: impl AsRef<[u8]>) -> Record {
        self.headers.push((name.as_ref().to_vec(), None));
        self
    }

    pub(super) fn to_json(&self) -> Value {
        let headers: Vec<Value> = self
            .headers
            .iter()
            .map(|(name, value)| json!([hex(Some(name)), hex(value.as_ref())]))
            .collect();
        json!({
            "p": self.partition,
            "k": hex(self.key.as_ref()),
            "v": hex(self.value.as_ref()),
            "t": self.timestamp,
            "h": headers,
        })
    }
}

/// What differs is seen best as text where it is text.
impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let show = |bytes: &Option<Vec<u8>>| match bytes {
            None => "null".to_owned(),
            Some(bytes) if bytes.len() > 60 => {
                format!("\"{}…\" ({} bytes)", bytes[..60].escape_ascii(), bytes.len())
            }
            Some(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        };
        write!(f, "{{partition {}, key {}", self.partition, show(&self.key))?;
        write!(f, ", value {}, timestamp {:?}", show(&self.value), self.timestamp)?;
        for (name, value) in &self.headers {
            write!(f, ", \"{}\": {}", name.escape_ascii(), show(value))?;
        }
        f.write_str("}")
    }
}

/// A record as it stands in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub offset: i64,
    /// `CreateTime` or `LogAppendTime`.
    pub timestamp_type: String,
    pub record: Record,
}

impl Stored {
    pub(super) fn from_json(json: &Value) -> Stored {
        let headers = json["h"].as_array().into_iter().flatten();
        Stored {
            offset: json["o"].as_i64().unwrap_or(-1),
            timestamp_type: json["tt"].as_str().unwrap_or_default().to_owned(),
            record: Record {
                partition: json["p"].as_i64().and_then(|p| i32::try_from(p).ok()).unwrap_or(-1),
                key: bytes(&json["k"]),
                value: bytes(&json["v"]),
                timestamp: json["t"].as_i64(),
                headers: headers
                    .map(|header| (bytes(&header[0]).unwrap_or_default(), bytes(&header[1])))
                    .collect(),
            },
        }
    }
}

fn hex(bytes: Option<&Vec<u8>>) -> Option<String> {
    bytes.map(|bytes| {
        let mut text = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        text
    })
}

fn bytes(hex: &Value) -> Option<Vec<u8>> {
    let digit =
        |byte: u8| char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok()).unwrap_or(0);
    let pairs = hex.as_str()?.as_bytes().chunks_exact(2);
    Some(pairs.map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
}
