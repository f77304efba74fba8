//! The settings of the programs that run for long: defaults, below a file (TOML), below the environment,
//! below what is typed.
//!
//! Every flag of such a command is a setting and needs no line here: its name in a file and its variables
//! follow from the flag ([`key`]). [`layers`] reads the file and the [`environment`]; what they say becomes
//! the default of the flag, so that one parser reads a value wherever it comes from. [`suggest`] knows what
//! was perhaps meant, [`redact`] redacts secrets, and [`mod@print`] shows the result.

mod environment;
mod key;
mod layers;
mod print;
mod redact;
mod suggest;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use tracing::warn;

use crate::completion;
use crate::exit::Stop;
use crate::secrets;
pub(crate) use environment::Variables;
use key::Key;
use layers::{Known, Layers};

/// The heading of each of these flags: one of the whole group would stand over the flags after it as well.
const HEADING: &str = "Settings";

/// Where the settings come from, and whether they are only shown.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SettingsArgs {
    /// A file (TOML) with settings, each named like its flag. Flags and the environment take precedence.
    #[arg(help_heading = HEADING, long = CONFIG, value_name = "FILE", env = CONFIG_VARIABLE)]
    config: Option<PathBuf>,

    /// Print all settings as a TOML file, each with its source and without secrets, and exit.
    #[arg(help_heading = HEADING, long = PRINT)]
    print_config: bool,

    /// With --print-config: print JSON.
    #[arg(help_heading = HEADING, long, requires = PRINT_ID)]
    json: bool,
}

const CONFIG: &str = "config";
const CONFIG_VARIABLE: &str = "KAZOE_CONFIG";
const PRINT: &str = "print-config";
const PRINT_ID: &str = "print_config";
/// Flags that are no settings.
const NO_SETTINGS: [&str; 3] = [CONFIG, PRINT, "json"];

/// Where a value came from, the weakest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// No layer sets it.
    Default,
    /// This file.
    File(String),
    /// This variable of the environment.
    Variable(String),
    /// This flag.
    Flag(String),
}

impl Origin {
    /// The same layer, whichever file, variable or flag it is.
    const fn rank(&self) -> u8 {
        match self {
            Origin::Default => 0,
            Origin::File(_) => 1,
            Origin::Variable(_) => 2,
            Origin::Flag(_) => 3,
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Default => write!(f, "default"),
            Origin::File(path) => write!(f, "file {path}"),
            Origin::Variable(name) => write!(f, "environment {name}"),
            Origin::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A value as it was written, and its layer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    text: String,
    origin: Origin,
}

/// A setting as it is in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    key: Key,
    /// Nothing, if it has no value.
    said: Option<Said>,
}

/// The settings of a command, and what is to be said about them.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    command: String,
    file: Option<String>,
    settings: Vec<Setting>,
    warnings: Vec<String>,
    print: bool,
    json: bool,
}

/// The command line is invalid.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// By what is typed alone, in clap's words; also a wish for help.
    Typed(Box<clap::Error>),
    /// By what a file or the environment says.
    Said(Stop),
}

impl From<clap::Error> for Refusal {
    fn from(error: clap::Error) -> Self {
        Refusal::Typed(Box::new(error))
    }
}

impl From<Stop> for Refusal {
    fn from(stop: Stop) -> Self {
        Refusal::Said(stop)
    }
}

/// Reads what is typed, and below it the environment and the file of a command that has settings: one
/// with the flag `--config`.
///
/// # Errors
/// If a layer has an invalid value.
pub(crate) fn read(
    mut command: Command,
    words: &[OsString],
    environment: &Variables,
) -> Result<(ArgMatches, Option<Settings>), Refusal> {
    command = with_variables(command);
    // Errors of the command line are reported below, when the other layers are known.
    let first = command.clone().ignore_errors(true);
    let first = first.try_get_matches_from(words)?;
    let layered = first
        .subcommand()
        .and_then(|(name, typed)| Some((name, typed, command.find_subcommand(name)?)))
        .filter(|(_, _, subcommand)| has_settings(subcommand));
    let Some((name, typed, subcommand)) = layered else {
        return Ok((command.try_get_matches_from(words)?, None));
    };
    let file = typed_value(typed, CONFIG).or_else(|| {
        let named = environment.get(CONFIG_VARIABLE);
        named.filter(|path| !path.is_empty()).map(PathBuf::from)
    });
    let keys = keys_of(subcommand);
    let known = known(&command);
    let mut layers = Layers::read(name, &keys, &known, environment, file.as_deref())?;
    layers.choose(subcommand, typed)?;
    layers.check(subcommand)?;
    let layered = command
        .clone()
        .mut_subcommand(name, |subcommand| layers.below(subcommand));
    let matches = layered.try_get_matches_from(words)?;
    let settings = settled(name, &matches, keys, layers);
    Ok((matches, settings))
}

impl Settings {
    /// Whether they are only to be shown.
    pub(crate) const fn are_to_be_shown(&self) -> bool {
        self.print
    }

    /// Logs what is odd about them.
    pub(crate) fn warn(&self) {
        for warning in &self.warnings {
            warn!("{warning}");
        }
        for Setting { key, said } in &self.settings {
            if let Some(Said { text, origin }) = said
                && let Origin::File(path) = origin
                && key.is_secret(text)
            {
                secrets::warn_if_readable(Path::new(path));
            }
        }
    }
}

/// Returns the command with the variable of each setting in its help.
pub(crate) fn with_variables(command: Command) -> Command {
    command.mut_subcommands(|subcommand| {
        if !has_settings(&subcommand) {
            return subcommand;
        }
        subcommand.mut_args(|arg| match Key::of(&arg) {
            Some(key) if arg.get_env().is_none() => arg.env(key.variables().plain),
            _ => arg,
        })
    })
}

fn has_settings(command: &Command) -> bool {
    command
        .get_arguments()
        .any(|arg| arg.get_long() == Some(CONFIG))
}

/// The settings of a command, in the order of a file.
fn keys_of(command: &Command) -> Vec<Key> {
    let mut keys: Vec<Key> = command.get_arguments().filter_map(Key::of).collect();
    keys.sort_by_key(|key| key.in_table().0);
    keys
}

/// The settings of all programs, and the variables that any command knows.
fn known(command: &Command) -> Known {
    let mut known = Known::default();
    for subcommand in command.get_subcommands() {
        known.variables.extend(variables_of(subcommand));
        if has_settings(subcommand) {
            let keys = keys_of(subcommand);
            known.variables.extend(keys.iter().flat_map(Key::variables));
            let paths = keys.iter().map(Key::path).collect();
            known
                .commands
                .insert(subcommand.get_name().to_owned(), paths);
        }
    }
    known.variables.push(completion::VARIABLE.to_owned());
    #[cfg(feature = "failpoints")]
    known.variables.push("KAZOE_FAILPOINTS".to_owned());
    known
}

/// The variables that clap reads for a command and those below it.
fn variables_of(command: &Command) -> Vec<String> {
    let own = command
        .get_arguments()
        .filter_map(|arg| arg.get_env()?.to_str());
    let below = command.get_subcommands().flat_map(variables_of);
    own.map(str::to_owned).chain(below).collect()
}

/// The file on the command line, which wins over the environment's.
fn typed_value(matches: &ArgMatches, id: &str) -> Option<PathBuf> {
    let typed = matches.value_source(id) == Some(ValueSource::CommandLine);
    matches
        .get_raw(id)
        .filter(|_| typed)?
        .next()
        .map(PathBuf::from)
}

/// How everything is in the end.
fn settled(name: &str, matches: &ArgMatches, keys: Vec<Key>, layers: Layers) -> Option<Settings> {
    let matches = matches.subcommand_matches(name)?;
    let settings = keys.into_iter().map(|key| {
        let value = matches
            .get_raw(key.id())
            .and_then(|mut values| values.next());
        let origin = match matches.value_source(key.id()) {
            Some(ValueSource::CommandLine) => Origin::Flag(key.flag()),
            _ => layers.origin(&key),
        };
        let said = value.map(|value| Said {
            text: value.to_string_lossy().into_owned(),
            origin,
        });
        Setting { key, said }
    });
    Some(Settings {
        command: name.to_owned(),
        settings: settings.collect(),
        print: matches.get_flag(PRINT_ID),
        json: matches.get_flag("json"),
        file: layers.file,
        warnings: layers.warnings,
    })
}
