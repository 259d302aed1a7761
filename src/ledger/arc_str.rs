//! Serde for `Arc<str>`, without serde's `rc` feature.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(deserializer).map(Arc::from)
}
