//! Finds the tools of a JDK, and Maven, or says what to install.

use super::Error;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Apache Kafka 4 needs Java 17.
const OLDEST: u32 = 17;
const INSTALL_JDK: &str = "hint: install a JDK, 17 or newer (Debian: `apt install \
                           openjdk-17-jdk-headless`), or set `JAVA_HOME` to one";
const INSTALL_MAVEN: &str = "hint: install Maven (Debian: `apt install maven`), or set \
                             `KAFKA_HOME` to an unpacked Apache Kafka, 3.9 or newer";

#[derive(Clone, Debug)]
pub struct Jdk {
    pub java: PathBuf,
    pub javac: PathBuf,
    pub jar: PathBuf,
    /// The first line of `java -version`: what was built for one JDK is not used with another.
    pub version: String,
}

/// The JDK of `JAVA_HOME`, else of the `PATH`.
pub fn find() -> Result<Jdk, Error> {
    let tool = |name: &str| match std::env::var_os("JAVA_HOME") {
        Some(home) if !home.is_empty() => PathBuf::from(home).join("bin").join(name),
        _ => PathBuf::from(name),
    };
    let java = tool("java");
    let said = output_of(&java, "-version").ok_or_else(|| {
        Error::new(format!("`{}` does not run: brokers need Java\n{INSTALL_JDK}", java.display()))
    })?;
    let version = said
        .lines()
        .find(|line| line.contains("version \""))
        .unwrap_or_else(|| said.lines().next().unwrap_or_default())
        .to_owned();
    match major(&version) {
        Some(major) if major >= OLDEST => {}
        _ => {
            return Err(Error::new(format!(
                "brokers need Java {OLDEST} or newer, `{}` is: {version}\n{INSTALL_JDK}",
                java.display()
            )));
        }
    }
    for name in ["javac", "jar"] {
        if output_of(&tool(name), "--version").is_none() {
            return Err(Error::new(format!(
                "there is Java, but no `{name}`: brokers need a whole JDK, not only its runtime\n\
                 {INSTALL_JDK}"
            )));
        }
    }
    Ok(Jdk { java, javac: tool("javac"), jar: tool("jar"), version })
}

/// `mvn`, if it runs.
pub fn maven() -> Result<PathBuf, Error> {
    let mvn = PathBuf::from("mvn");
    match output_of(&mvn, "--version") {
        Some(_) => Ok(mvn),
        None => Err(Error::new(format!(
            "`mvn` does not run: Apache Kafka is fetched with Maven\n{INSTALL_MAVEN}"
        ))),
    }
}

fn output_of(program: &PathBuf, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).stdin(Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    output.status.success().then(|| String::from_utf8_lossy(&text).into_owned())
}

/// 17 from `openjdk version "17.0.15" …`, 8 from `java version "1.8.0_402"`.
pub fn major(version: &str) -> Option<u32> {
    let quoted = version.split('"').nth(1)?;
    let mut numbers = quoted.split(['.', '-', '+', '_']).map(str::parse::<u32>);
    match numbers.next()?.ok()? {
        1 => numbers.next()?.ok(),
        major => Some(major),
    }
}
