//! A pinned Apache Kafka: fetched once with Maven, or the one that `KAFKA_HOME` names. And two old ones,
//! of which only brokers are started.

use super::java::{self, Jdk};
use super::properties::{self, Node};
use super::{Error, ports, run};
use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const POM: &str = include_str!("pom.xml");
/// Compiled on this machine, once for each Kafka and each JDK.
const SOURCES: [(&str, &str); 13] = [
    ("Admins.java", include_str!("java/Admins.java")),
    ("Groups.java", include_str!("java/Groups.java")),
    ("Hex.java", include_str!("java/Hex.java")),
    ("Measures.java", include_str!("java/Measures.java")),
    ("Node.java", include_str!("java/Node.java")),
    ("Numbered.java", include_str!("java/Numbered.java")),
    ("NumberedCheck.java", include_str!("java/NumberedCheck.java")),
    ("Oracle.java", include_str!("java/Oracle.java")),
    ("Producers.java", include_str!("java/Producers.java")),
    ("RawProduce.java", include_str!("java/RawProduce.java")),
    ("Readers.java", include_str!("java/Readers.java")),
    ("Tampered.java", include_str!("java/Tampered.java")),
    ("WarmUp.java", include_str!("java/WarmUp.java")),
];
/// What starts an old broker; compiled on this machine, once for each.
const OLD_SOURCES: [(Release, (&str, &str)); 2] = [
    (Release::V3_9, ("Node.java", include_str!("java/Node.java"))),
    (Release::V2_8, ("ZooNode.java", include_str!("java/ZooNode.java"))),
];
const LOG4J: &str = include_str!("log4j2.properties");

/// Which Apache Kafka.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The pinned one.
    Pinned,
    /// The last one that still has ZooKeeper; runs without.
    V3_9,
    /// The first one with topic ids; needs ZooKeeper.
    V2_8,
}

impl Release {
    fn pom(self) -> &'static str {
        match self {
            Release::Pinned => POM,
            Release::V3_9 => include_str!("pom-3.9.xml"),
            Release::V2_8 => include_str!("pom-2.8.xml"),
        }
    }

    /// Whether brokers need ZooKeeper.
    pub fn needs_zookeeper(self) -> bool {
        self == Release::V2_8
    }

    /// The main class of a broker.
    pub fn main(self) -> &'static str {
        if self.needs_zookeeper() { "ZooNode" } else { "Node" }
    }
}

/// The jars of Apache Kafka, and what was built from and for them.
#[derive(Debug)]
pub struct Distribution {
    pub jdk: Jdk,
    /// As in `kafka_2.13-4.3.0.jar`.
    pub version: String,
    /// All jars, for `java -cp`; among them `connect-mirror`, for MirrorMaker 2.
    pub class_path: OsString,
    /// The JVM's archive of loaded classes, if it could be made.
    archive: Option<PathBuf>,
    /// Apache Kafka as unpacked by hand brings a log4j binding, which has to be told where to log.
    log4j: Option<PathBuf>,
}

impl Distribution {
    /// Ready to use; the first call on a machine fetches, compiles and warms up (about 20 s).
    pub fn get() -> Result<&'static Distribution, Error> {
        Distribution::of(Release::Pinned)
    }

    /// The same for any release.
    pub fn of(release: Release) -> Result<&'static Distribution, Error> {
        type Got = OnceLock<Result<Distribution, Error>>;
        static GOT: [Got; 3] = [Got::new(), Got::new(), Got::new()];
        let got = GOT[release as usize].get_or_init(|| match release {
            Release::Pinned => provide(),
            old => provide_old(old),
        });
        got.as_ref().map_err(Clone::clone)
    }

    /// `java` with flags for a quick start, up to and without the main class.
    ///
    /// `full_jit` is for measurements: it takes longer to start and runs faster later.
    pub fn java(&self, heap_mb: u32, full_jit: bool) -> Vec<OsString> {
        let mut command: Vec<OsString> = vec![self.jdk.java.clone().into()];
        command.push(format!("-Xmx{heap_mb}m").into());
        command.extend(
            if full_jit {
                ["-XX:+UseG1GC", "-XX:TieredStopAtLevel=4"]
            } else {
                ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
            }
            .map(OsString::from),
        );
        command.extend(["-XX:-UsePerfData", "-Djava.awt.headless=true"].map(OsString::from));
        command.extend(
            [
                "showDateTime=true",
                "dateTimeFormat=HH:mm:ss.SSS",
                "showThreadName=false",
                "showShortLogName=true",
            ]
            .map(|set| format!("-Dorg.slf4j.simpleLogger.{set}").into()),
        );
        if let Some(archive) = &self.archive {
            command.push(joined("-XX:SharedArchiveFile=", archive.as_os_str()));
        }
        if let Some(log4j) = &self.log4j {
            command.push(joined("-Dlog4j2.configurationFile=", log4j.as_os_str()));
        }
        command.push("-cp".into());
        command.push(self.class_path.clone());
        command
    }
}

fn provide() -> Result<Distribution, Error> {
    let jdk = java::find()?;
    let folder = run::kafka_folder();
    fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, &e))?;
    let _alone = run::lock(&folder.join("lock"))?; // others wait here for what we fetch and build
    let home = std::env::var_os("KAFKA_HOME").filter(|home| !home.is_empty());
    let libs = match &home {
        Some(home) => Path::new(home).join("libs"),
        None => fetched(&folder, Release::Pinned)?,
    };
    let jars = jars_in(&libs).unwrap_or_default();
    let version = version_of(&jars).ok_or_else(|| {
        Error::new(format!(
            "there is no `kafka_2.13-*.jar` in `{}`\nhint: `KAFKA_HOME` must be an unpacked \
             Apache Kafka; without it one is fetched",
            libs.display()
        ))
    })?;

    let mut hasher = DefaultHasher::new();
    (&jars, &jdk.version, SOURCES, LOG4J).hash(&mut hasher);
    let tools = folder.join(format!("tools-{version}-{:016x}", hasher.finish()));
    if !tools.is_dir() {
        compile(&jdk, &jars, &SOURCES, &tools)?;
    }
    let log4j = home.is_some().then(|| tools.join("log4j2.properties"));
    let class_path = class_path(&tools, &jars);
    let mut distribution = Distribution { jdk, version, class_path, archive: None, log4j };
    let archive = tools.join("classes.jsa");
    if !archive.is_file() && !tools.join("no-archive").exists() {
        warm_up(&distribution, &tools, &archive)?;
    }
    distribution.archive = archive.is_file().then_some(archive);
    Ok(distribution)
}

/// Without an archive of classes: such a broker starts in 3 s as it is.
fn provide_old(release: Release) -> Result<Distribution, Error> {
    let jdk = java::find()?;
    let folder = run::kafka_folder();
    fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, &e))?;
    let _alone = run::lock(&folder.join("lock"))?;
    let jars = fetched(&folder, release).map(|libs| jars_in(&libs).unwrap_or_default())?;
    let version = pom_version(release).to_owned();
    let sources: Vec<_> =
        OLD_SOURCES.iter().filter(|(of, _)| *of == release).map(|(_, source)| *source).collect();
    let mut hasher = DefaultHasher::new();
    (&jars, &jdk.version, &sources).hash(&mut hasher);
    let tools = folder.join(format!("tools-{version}-{:016x}", hasher.finish()));
    if !tools.is_dir() {
        compile(&jdk, &jars, &sources, &tools)?;
    }
    let class_path = class_path(&tools, &jars);
    Ok(Distribution { jdk, version, class_path, archive: None, log4j: None })
}

fn class_path(tools: &Path, jars: &[PathBuf]) -> OsString {
    let mut class_path = tools.join("tools.jar").into_os_string();
    for jar in jars {
        class_path.push(":");
        class_path.push(jar);
    }
    class_path
}

/// The folder with the jars of the pom's Kafka. A fetch that was cut off is never taken for whole:
/// the folder gets its name last.
fn fetched(folder: &Path, release: Release) -> Result<PathBuf, Error> {
    let version = pom_version(release);
    let kept = folder.join(version);
    let of_this_pom =
        fs::read_to_string(kept.join("pom.xml")).is_ok_and(|pom| pom == release.pom());
    if of_this_pom {
        return Ok(kept.join("libs"));
    }
    let mvn = java::maven()?;
    let partial = folder.join(format!("{version}.partial"));
    remove(&partial)?;
    fs::create_dir_all(&partial).map_err(|e| Error::io("create", &partial, &e))?;
    let pom = partial.join("pom.xml");
    write(&pom, release.pom())?;
    eprintln!("fetching Apache Kafka {version} with Maven, once, into `{}`", kept.display());
    let mut command = Command::new(mvn);
    command.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
    command.arg(joined("-DoutputDirectory=", partial.join("libs").as_os_str()));
    succeed(&mut command, "fetch Apache Kafka").map_err(|error| {
        Error::new(format!(
            "{error}\nhint: the first run needs Maven Central; or set `KAFKA_HOME` to an unpacked \
             Apache Kafka, 3.9 or newer"
        ))
    })?;
    remove(&kept)?;
    fs::rename(&partial, &kept).map_err(|e| Error::io("name", &kept, &e))?;
    Ok(kept.join("libs"))
}

/// The version of a release, as its pom has it.
pub fn pom_version(release: Release) -> &'static str {
    let after = release.pom().split_once("<kafka.version>").map_or("", |(_, after)| after);
    after.split_once('<').map_or("", |(version, _)| version)
}

fn jars_in(libs: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(libs)?;
    let mut jars: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension() == Some(OsStr::new("jar")))
        .collect();
    jars.sort(); // the archive of classes holds for one order only
    Ok(jars)
}

fn version_of(jars: &[PathBuf]) -> Option<String> {
    jars.iter().find_map(|jar| {
        let name = jar.file_stem()?.to_str()?.strip_prefix("kafka_2.13-")?;
        name.starts_with(|c: char| c.is_ascii_digit()).then(|| name.to_owned())
    })
}

/// Classes go into a jar, because the archive of classes takes nothing else.
fn compile(
    jdk: &Jdk,
    jars: &[PathBuf],
    sources: &[(&str, &str)],
    tools: &Path,
) -> Result<(), Error> {
    let partial = tools.with_extension("partial");
    remove(&partial)?;
    let classes = partial.join("classes");
    fs::create_dir_all(&classes).map_err(|e| Error::io("create", &classes, &e))?;
    write(&partial.join("log4j2.properties"), LOG4J)?;
    let mut javac = Command::new(&jdk.javac);
    javac
        .arg("-cp")
        .arg(jars.iter().fold(OsString::new(), |all, jar| joined_with(all, ":", jar.as_os_str())));
    javac.arg("-d").arg(&classes);
    for (name, source) in sources {
        let file = partial.join(name);
        write(&file, source)?;
        javac.arg(file);
    }
    succeed(&mut javac, "compile the Java part of the brokers")?;
    let mut jar = Command::new(&jdk.jar);
    jar.arg("cf").arg(partial.join("tools.jar")).arg("-C").arg(&classes).arg(".");
    succeed(&mut jar, "pack the Java part of the brokers")?;
    fs::rename(&partial, tools).map_err(|e| Error::io("name", tools, &e))
}

/// Has a JVM write the archive of classes. Brokers run without it too, so its failure is told once
/// and remembered.
fn warm_up(distribution: &Distribution, tools: &Path, archive: &Path) -> Result<(), Error> {
    let home = tools.join("warm-up");
    remove(&home)?;
    fs::create_dir_all(&home).map_err(|e| Error::io("create", &home, &e))?;
    let ports = ports::free(2)?;
    let node = Node { broker: ports[0], controller: ports[1], proxied: None };
    let file = home.join("server.properties");
    write(&file, &properties::of_node(1, &[node], &home.join("data"), &[]))?;
    let partial = tools.join("classes.jsa.partial");
    let mut command = distribution.java(320, false);
    command.insert(1, joined("-XX:ArchiveClassesAtExit=", partial.as_os_str()));
    command.extend(["WarmUp".into(), file.into_os_string(), properties::cluster_id()?.into()]);
    command.push(node.address().into());
    let mut java = Command::new(&command[0]);
    java.args(&command[1..]);
    let made = succeed(&mut java, "warm up")
        .and_then(|()| fs::rename(&partial, archive).map_err(|e| Error::io("name", archive, &e)));
    if let Err(error) = made {
        eprintln!("brokers will start more slowly, their classes could not be archived: {error}");
        write(&tools.join("no-archive"), &error.to_string())?;
    }
    remove(&home)
}

fn succeed(command: &mut Command, to: &str) -> Result<(), Error> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Error::new(format!("cannot {to}: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    let last = lines[lines.len().saturating_sub(20)..].join("\n");
    Err(Error::new(format!("cannot {to}: {}\n{last}", output.status)))
}

fn remove(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", folder, &e)),
        _ => Ok(()),
    }
}

pub fn write(file: &Path, text: &str) -> Result<(), Error> {
    fs::write(file, text).map_err(|e| Error::io("write", file, &e))
}

fn joined(flag: &str, value: &OsStr) -> OsString {
    joined_with(flag.into(), "", value)
}

fn joined_with(mut all: OsString, between: &str, next: &OsStr) -> OsString {
    if !all.is_empty() {
        all.push(between);
    }
    all.push(next);
    all
}
