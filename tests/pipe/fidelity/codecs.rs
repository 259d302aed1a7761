//! Sources in every compression codec.

use super::{digest, source, target};
use crate::brokers::{Error, Numbered, Writing};
use crate::pipe::harness::Migration;

#[test]
fn a_source_in_any_compression_codec_arrives_byte_for_byte() -> Result<(), Error> {
    let codecs = ["none", "gzip", "snappy", "lz4", "zstd"];
    let numbered = |codec: &str| Numbered {
        keys: 300,
        headers: 3,
        tombstone_every: 9,
        value_size: 300,
        ..Numbered::new(&format!("codecs-{codec}"), 2, 3000)
    };
    for codec in codecs {
        let numbered = numbered(codec);
        source().create_topic(&numbered.topic, 2, &[])?;
        let settings = [("compression.type", codec)];
        let plain = Writing { settings: &settings, ..Writing::default() };
        source().produce_numbered(&numbered, &plain)?;
    }
    Migration::new("codecs", "topics.include = ['/codecs-.*/']").run(&[]).expect(0);
    for codec in codecs {
        let numbered = numbered(codec);
        assert_eq!(target().check_numbered(&numbered)?, [""; 0], "{codec}");
        assert_eq!(digest(source(), &numbered.topic)?, digest(target(), &numbered.topic)?);
    }
    Ok(())
}
