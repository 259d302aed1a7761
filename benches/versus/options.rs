//! What the command line asks for.

use super::brokers::Error;
use super::contenders::Contender;
use super::rows;

/// The measures that are not rows of records.
const OTHERS: [&str; 3] = ["latency", "recovery", "growth"];

/// What a quick run does, if no rows are named.
const QUICK: [&str; 4] = ["b512", "latency", "recovery", "growth"];

#[derive(Debug)]
pub struct Options {
    selected: Vec<String>,
    pub contenders: Vec<Contender>,
    rounds: Option<usize>,
    scale: f64,
    pub quick: bool,
    pub mirror: Vec<(String, String)>,
    pub plan: Vec<(String, String)>,
}

impl Options {
    pub fn from_arguments(arguments: impl Iterator<Item = String>) -> Result<Options, Error> {
        let mut options = Options {
            selected: Vec::new(),
            contenders: Contender::ALL.to_vec(),
            rounds: None,
            scale: 1.0,
            quick: false,
            mirror: Vec::new(),
            plan: Vec::new(),
        };
        for argument in arguments.filter(|one| one != "--bench") {
            options.take(&argument)?;
        }
        if options.quick {
            (options.rounds, options.scale) = (Some(1), options.scale / 20.0);
            if options.selected.is_empty() {
                options.selected = QUICK.map(str::to_owned).to_vec();
            }
        }
        Ok(options)
    }

    fn take(&mut self, argument: &str) -> Result<(), Error> {
        let wrong = || Error::new(format!("`{argument}` is no argument of this benchmark"));
        if argument == "quick" {
            self.quick = true;
            return Ok(());
        }
        let (name, value) = argument.split_once('=').ok_or_else(wrong)?;
        let pair = |key: &str| (key.to_owned(), value.to_owned());
        match name {
            "rows" => self.selected = value.split(',').map(known).collect::<Result<_, _>>()?,
            "contenders" => {
                self.contenders =
                    value.split(',').map(Contender::named).collect::<Result<_, _>>()?;
            }
            "rounds" => self.rounds = Some(value.parse().map_err(|_| wrong())?),
            "scale" => self.scale = value.parse().map_err(|_| wrong())?,
            _ if name.starts_with("mm2.") => self.mirror.push(pair(&name[4..])),
            _ if name.starts_with("plan.") => self.plan.push(pair(&name[5..])),
            _ => return Err(wrong()),
        }
        Ok(())
    }

    /// All are, unless some are named.
    pub fn selects(&self, row: &str) -> bool {
        self.selected.is_empty() || self.selected.iter().any(|one| one == row)
    }

    /// How often each contender has its turn; `default` keeps the whole below 25 minutes.
    pub fn rounds(&self, default: usize) -> usize {
        self.rounds.unwrap_or(default)
    }

    /// A record count of the default run, for this one.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a count of records, far from any bound"
    )]
    pub fn scaled(&self, records: u64) -> u64 {
        ((records as f64 * self.scale) as u64).max(1)
    }
}

fn known(name: &str) -> Result<String, Error> {
    let rows = rows::all();
    let mut names = rows.iter().map(|row| row.name).chain(OTHERS);
    if names.any(|one| one == name) {
        return Ok(name.to_owned());
    }
    Err(Error::new(format!("there is no row `{name}`")))
}
