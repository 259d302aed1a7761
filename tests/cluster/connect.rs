//! What a person is told when a cluster cannot be reached, and that reading outlives a broker.

use super::{SOON, poll_until, source_reader_of};
use crate::brokers::{Cluster, Error, Oracle, Record};
use onceover::cluster::{Admin, At, Class, Connection};
use onceover::error::Side;
use onceover::pipe::engine::{Batch, Polled, Source, StartAt};
use onceover::plan::TopicPartition;
use std::collections::BTreeMap;
use std::time::Duration;

fn with(cluster: &Cluster, properties: &[(&str, &str)]) -> Connection {
    let properties: BTreeMap<String, String> =
        properties.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Connection::new(Side::Source, &cluster.bootstrap(), &properties, "test")
}

#[test]
fn refused_credentials_are_told_at_once_and_never_shown() -> Result<(), Error> {
    let plain = "org.apache.kafka.common.security.plain.PlainLoginModule required";
    let users =
        r#"username="broker" password="b-secret" user_broker="b-secret" user_app="a-secret""#;
    let cluster = Cluster::builder("sasl")
        .config("listener.security.protocol.map", "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT")
        .config("sasl.mechanism.inter.broker.protocol", "PLAIN")
        .config("sasl.enabled.mechanisms", "PLAIN")
        .config("listener.name.plaintext.plain.sasl.jaas.config", &format!("{plain} {users};"))
        .start()?;
    let sasl = |password| {
        with(
            &cluster,
            &[
                ("security.protocol", "SASL_PLAINTEXT"),
                ("sasl.mechanism", "PLAIN"),
                ("sasl.username", "app"),
                ("sasl.password", password),
            ],
        )
    };
    assert_eq!(sasl("a-secret").probe(SOON), Ok(()));
    let error = sasl("wrong-secret").probe(SOON).expect_err("a wrong password");
    assert_eq!((error.side, error.class), (Side::Source, Class::Final));
    assert!(error.what.contains("uthentication failed"), "{error}");
    assert!(!error.what.contains("wrong-secret"), "{error}");
    assert!(Admin::connect(&sasl("wrong-secret")).is_err_and(|error| error.class == Class::Final));

    let none = with(&cluster, &[]).probe(Duration::from_secs(3)).expect_err("no credentials");
    assert!(none.what.contains("security.protocol"), "{none}");
    let tls = with(&cluster, &[("security.protocol", "SSL")]);
    let tls = tls.probe(SOON).expect_err("the broker does not speak TLS");
    assert!(tls.what.contains("SSL handshake failed"), "{tls}");
    Ok(())
}

#[test]
fn a_client_that_cannot_be_made_says_why() {
    // Nobody is asked: the library refuses what it is given.
    let error = |properties: &[(&str, &str)]| {
        let properties: BTreeMap<String, String> =
            properties.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let connection = Connection::new(Side::Target, "127.0.0.1:1", &properties, "test");
        let error = connection.probe(SOON).expect_err("no client without them");
        assert_eq!((error.side, error.class), (Side::Target, Class::Final), "{error}");
        error.what
    };
    // One client after another: what a failed one frees must not be freed again. A transactional one has
    // interceptors, which the library frees when it fails.
    for id in [&[][..], &[("transactional.id", "t")]] {
        let tls = [&[("security.protocol", "ssl"), ("ssl.ca.location", "/nonexistent")], id];
        let tls = error(&tls.concat());
        assert!(tls.contains("ssl.ca.location"), "{tls}");
        let sasl = [("security.protocol", "sasl_plaintext"), ("sasl.mechanism", "PLAIN")];
        let sasl = error(&[&sasl, id].concat());
        assert!(sasl.contains("sasl.username"), "{sasl}");
    }
}

#[test]
fn reading_goes_on_after_the_only_broker_was_away() -> Result<(), Error> {
    let cluster = Cluster::builder("away").start()?;
    let oracle = Oracle::start(&cluster.bootstrap())?;
    oracle.create_topic("away", 1, &[])?;
    oracle.produce("away", &[Record::in_partition(0).at(1)])?;
    let mut reader = source_reader_of(&with(&cluster, &[]), "away");
    let at = TopicPartition::new("away", 0);
    reader.assign(&[StartAt { at, offset: 0, leader_epoch: None }]).expect("assigned");
    let mut offsets = Vec::new();
    let mut read_to = |offset| {
        poll_until(&mut reader, |polled| {
            if let Polled::Records(batch) = &polled {
                offsets.extend((0..batch.len()).map(|index| batch.offset(index)));
            }
            matches!(polled, Polled::End { position, .. } if position > offset)
        });
    };
    read_to(0);
    cluster.kill(1);
    cluster.restart(1)?;
    oracle.produce("away", &[Record::in_partition(0).at(1)])?;
    read_to(1);
    assert_eq!(offsets, [0, 1]);
    Ok(())
}

#[test]
fn offsets_are_told_after_the_only_broker_was_away() -> Result<(), Error> {
    let cluster = Cluster::builder("elected").start()?;
    let oracle = Oracle::start(&cluster.bootstrap())?;
    oracle.create_topic("elected", 1, &[])?;
    let admin = Admin::connect(&with(&cluster, &[])).expect("the cluster answers");
    let at = [TopicPartition::new("elected", 0)];
    let log_end = || admin.offsets(&at, At::LogEnd).expect("an answer")[&at[0]].clone();
    assert_eq!(log_end().map(|end| end.offset), Ok(0));
    cluster.kill(1);
    cluster.restart(1)?; // the leader is elected anew: the epoch that the client knows is outdated
    oracle.produce("elected", &[Record::in_partition(0).at(1)])?;
    assert_eq!(log_end().map(|end| end.offset), Ok(1));
    Ok(())
}
