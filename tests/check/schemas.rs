//! Schema ids, with registries that a thread of the test plays: there is no real one here.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use onceover::check::Severity::{Fail, Pass};
use onceover::check::{names, schema_rows};

use super::checked_between_the_shared;
use crate::brokers::{Error, Record, shared};

/// Answers `GET /schemas/ids/N` with the schema of that id, for as long as the test process lives; only
/// to those who come with this authorization.
fn registry(schemas: &'static [(i32, &'static str)], authorization: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer(stream, schemas, authorization));
        }
    });
    format!("http://{address}")
}

fn answer(mut stream: TcpStream, schemas: &[(i32, &str)], authorization: &str) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_owned());
        }
        let expected = format!("authorization: {authorization}");
        let may = lines.iter().any(|line| line.eq_ignore_ascii_case(&expected));
        let id = lines[0].split_whitespace().nth(1)?.strip_prefix("/schemas/ids/")?.parse().ok();
        let found = schemas.iter().find(|(known, _)| Some(*known) == id);
        let (status, body) = match found {
            _ if !may => ("401 Unauthorized", r#"{"error_code":401}"#.to_owned()),
            Some((_, schema)) => ("200 OK", serde_json::json!({ "schema": schema }).to_string()),
            None => ("404 Not Found", r#"{"error_code":40403,"message":"no schema"}"#.to_owned()),
        };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .ok()?;
    }
}

fn framed(id: i32) -> Record {
    let mut value = vec![0];
    value.extend(id.to_be_bytes());
    value.extend(b"payload");
    Record::in_partition(0).value(value)
}

#[test]
fn an_id_that_is_another_schema_on_the_target_fails_and_an_equal_one_passes() -> Result<(), Error> {
    let source = &shared::clusters().source_oracle;
    for (topic, id) in
        [("check-schema-same", 1), ("check-schema-other", 2), ("check-schema-gone", 3)]
    {
        source.create_topic(topic, 1, &[])?;
        source.produce(topic, &[framed(id), framed(id)])?;
    }
    source.create_topic("check-schema-plain", 1, &[])?;
    source.produce("check-schema-plain", &[Record::in_partition(0).value("plain")])?;
    // "mover:s3cret" and a token.
    let basic = "Basic bW92ZXI6czNjcmV0";
    const RECORD: &str = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}"#;
    // The same in another order, with spaces.
    const AGAIN: &str = r#"{ "name":"R", "type":"record", "fields":[{"type":"int","name":"a"}] }"#;
    let from = registry(&[(1, RECORD), (2, r#""string""#), (3, r#""int""#)], basic);
    let to = registry(&[(1, AGAIN), (2, r#""long""#)], "Bearer t0ken");
    let plan = format!(
        "topics.include = ['/check-schema-.*/']\n[source.registry]\nurl = '{from}'\n\
         username = 'mover'\npassword = 's3cret'\n[target.registry]\nurl = '{to}'\ntoken = 't0ken'"
    );
    let checked = checked_between_the_shared("check-schema", &plan);
    checked.is(names::SCHEMA_IDS, "check-schema-same", Pass);
    checked.is(names::SCHEMA_IDS, "check-schema-other", Fail);
    checked.is(names::SCHEMA_IDS, "check-schema-gone", Fail);
    let rows = schema_rows(&checked.facts);
    assert_eq!(rows.len(), 3, "{rows:?}");
    let said = format!("{rows:?}{:?}", checked.findings);
    assert!(!said.contains("s3cret") && !said.contains("t0ken"), "{said}");
    Ok(())
}

#[test]
fn registries_that_refuse_us_or_are_not_there_are_unknown() -> Result<(), Error> {
    let source = &shared::clusters().source_oracle;
    source.create_topic("check-registry", 1, &[])?;
    source.produce("check-registry", &[framed(1)])?;
    let from = registry(&[(1, r#""int""#)], "Basic x");
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr();
    let nobody = nobody.expect("an address");
    let plan = format!(
        "topics.include = ['check-registry']\nsource.registry.url = '{from}'\n\
         target.registry.url = 'http://{nobody}'"
    );
    let checked = checked_between_the_shared("check-registry", &plan);
    let schemas = checked.facts.schemas.ok().expect("the ids are known");
    let why =
        |known: &onceover::check::facts::Known<_>| known.get().err().unwrap_or_default().to_owned();
    assert!(why(&schemas[&1].source).contains("HTTP 401"), "{schemas:?}");
    assert!(why(&schemas[&1].target).contains("refused"), "{schemas:?}");
    Ok(())
}
