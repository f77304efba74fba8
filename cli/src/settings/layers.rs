//! What the file and the environment say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use config::{Config, ConfigError, Environment, File, FileFormat, Value, ValueKind};

use super::environment::{Variables, variables, warnings};
use super::key::Key;
use super::{Origin, Said, suggest};
use crate::exit::Stop;
use crate::text_file;

/// The settings of the programs, and which variables any command knows.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The name of a command, and the names of its settings in a file.
    pub(super) commands: BTreeMap<String, Vec<String>>,
    pub(super) variables: Vec<String>,
}

/// What was said below the flags, of each setting what wins.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    pub(super) file: Option<String>,
    pub(super) warnings: Vec<String>,
    said: BTreeMap<Key, Said>,
}

impl Layers {
    /// Reads the file, if there is one, and the environment above it.
    ///
    /// # Errors
    /// If the file can't be read, or says something about nothing.
    pub(super) fn read(
        command: &str,
        keys: &[Key],
        known: &Known,
        environment: &Variables,
        file: Option<&Path>,
    ) -> Result<Self, Stop> {
        let name = file.map(|path| path.display().to_string());
        let mut config = Config::builder();
        if let Some((path, name)) = file.map(PathBuf::from).zip(name.as_ref()) {
            let text = text_file::read(&path)?;
            let file = Config::builder().add_source(File::from_str(&text, FileFormat::Toml));
            let file = file.build();
            let file = file.map_err(|error| odd_file(name, &text, &error))?;
            config = config.add_source(file);
        }
        let (variables, names) = variables(keys, environment)?;
        let environment_source = Environment::with_prefix("KAZOE")
            .prefix_separator("_")
            .separator("__")
            .source(Some(variables.into_iter().collect()));
        let merged = config.add_source(environment_source).build();
        let merged = merged.map_err(Stop::usage)?;
        let mut layers = Layers {
            warnings: warnings(&known.variables, environment),
            ..Layers::default()
        };
        let mut leaves = Vec::new();
        flatten("", merged.cache, &mut leaves);
        let name = name.unwrap_or_default();
        let is_table = |path: &str| keys.iter().any(|key| key.in_table().0 == Some(path));
        leaves.retain(|(path, value)| {
            let is_empty = matches!(&value.kind, ValueKind::Table(table) if table.is_empty());
            !(is_empty && is_table(path))
        });
        for (path, value) in leaves {
            let key = keys.iter().find(|key| key.path() == path);
            let Some(key) = key else {
                return Err(unknown(&name, command, &path, known));
            };
            let origin = match names.get(key).filter(|_| value.origin().is_some()) {
                Some(variable) => Origin::Variable(variable.clone()),
                None => Origin::File(name.clone()),
            };
            let text = plain(value).ok_or_else(|| {
                Stop::usage(format_args!(
                    "{origin}: `{path}` takes one value, not several"
                ))
            })?;
            layers.said.insert(key.clone(), Said { text, origin });
        }
        layers.file = file.map(|_| name);
        Ok(layers)
    }

    /// Where the value of a setting that was not typed came from.
    pub(super) fn origin(&self, key: &Key) -> Origin {
        let said = self.said.get(key);
        said.map_or(Origin::Default, |said| said.origin.clone())
    }

    /// Of settings that exclude each other the one that a higher layer says.
    ///
    /// # Errors
    /// If one layer says both.
    pub(super) fn choose(&mut self, command: &Command, typed: &ArgMatches) -> Result<(), Stop> {
        let rivals = rivals(command, &self.said.keys().cloned().collect::<Vec<_>>());
        for (key, rival) in rivals {
            let rival_is_typed = typed.value_source(&rival) == Some(ValueSource::CommandLine);
            let Some(said) = self.said.get(&key).filter(|said| is_set(&key, said)) else {
                continue;
            };
            let rival = self.said.iter().find(|(other, _)| other.id() == rival);
            let rival = rival.filter(|(other, said)| is_set(other, said));
            let (ours, theirs) = (
                said.origin.rank(),
                rival.map(|(_, said)| said.origin.rank()),
            );
            if let Some((other, _)) = rival.filter(|_| theirs == Some(ours) && !rival_is_typed) {
                return Err(Stop::usage(format_args!(
                    "{}: `{}` and `{}` exclude each other: remove one of them",
                    said.origin,
                    key.path(),
                    other.path()
                )));
            }
            if rival_is_typed || theirs > Some(ours) {
                self.said.remove(&key);
            }
        }
        Ok(())
    }

    /// Reads each value as its flag would.
    ///
    /// # Errors
    /// If a value is invalid, with its origin.
    pub(super) fn check(&self, command: &Command) -> Result<(), Stop> {
        let command = alone(command.clone()).no_binary_name(true);
        for (key, said) in &self.said {
            let why = if key.is_switch() {
                let is_one = matches!(said.text.as_str(), "true" | "false");
                (!is_one).then(|| "expected true or false".to_owned())
            } else {
                let typed = format!("{}={}", key.flag(), said.text);
                let read = command.clone().try_get_matches_from([typed]);
                read.err()
                    .and_then(|error| why(&error, command.get_arguments(), key))
            };
            if let Some(why) = why {
                let (origin, path) = (&said.origin, key.path());
                let shown = key.shown(&said.text);
                return Err(Stop::usage(format_args!(
                    "{origin}: invalid value `{shown}` of `{path}`: {why}"
                )));
            }
        }
        Ok(())
    }

    /// The command with what was said as its defaults, and deaf to the environment, which is among that.
    pub(super) fn below(&self, command: Command) -> Command {
        self.said
            .iter()
            .fold(alone(command), |command, (key, said)| {
                command.mut_arg(key.id(), |arg| arg.default_value(said.text.clone()))
            })
    }
}

/// A command that does not look at the environment by itself.
fn alone(command: Command) -> Command {
    command.mut_args(|arg| arg.env(Resettable::Reset))
}

/// Whether it chooses something: a switch may be set to off.
fn is_set(key: &Key, said: &Said) -> bool {
    !key.is_switch() || said.text == "true"
}

/// Settings, and what clap calls the ones that each excludes.
fn rivals(command: &Command, keys: &[Key]) -> Vec<(Key, String)> {
    let mut rivals = Vec::new();
    for arg in command.get_arguments() {
        for other in command.get_arg_conflicts_with(arg) {
            for (one, rival) in [(arg, other), (other, arg)] {
                let key = keys.iter().find(|key| key.id() == one.get_id().as_str());
                rivals.extend(key.map(|key| (key.clone(), rival.get_id().to_string())));
            }
        }
    }
    rivals
}

/// Why clap refuses a value.
fn why<'a>(
    error: &Error,
    mut arguments: impl Iterator<Item = &'a Arg>,
    key: &Key,
) -> Option<String> {
    if !matches!(
        error.kind(),
        ErrorKind::ValueValidation | ErrorKind::InvalidValue
    ) {
        return None;
    }
    if let Some(source) = std::error::Error::source(error) {
        return Some(source.to_string());
    }
    let possible = arguments
        .find(|arg| arg.get_id().as_str() == key.id())
        .map(Arg::get_possible_values)
        .unwrap_or_default();
    let names: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
    Some(if names.is_empty() {
        "expected a value".to_owned()
    } else {
        format!("expected {}", names.join(", "))
    })
}

/// All values with their paths; an empty table counts as one, so that its name is looked at.
fn flatten(path: &str, value: Value, leaves: &mut Vec<(String, Value)>) {
    match value.kind {
        ValueKind::Table(table) if path.is_empty() || !table.is_empty() => {
            for (name, value) in table {
                let within = if path.is_empty() {
                    name
                } else {
                    format!("{path}.{name}")
                };
                flatten(&within, value, leaves);
            }
        }
        _ => leaves.push((path.to_owned(), value)),
    }
}

/// A value as one would type it.
fn plain(value: Value) -> Option<String> {
    match value.kind {
        ValueKind::Table(_) | ValueKind::Array(_) | ValueKind::Nil => None,
        _ => value.into_string().ok(),
    }
}

/// A key that the command does not know.
fn unknown(file: &str, command: &str, path: &str, known: &Known) -> Stop {
    let elsewhere = known
        .commands
        .iter()
        .find(|(name, keys)| *name != command && keys.iter().any(|key| key == path));
    if let Some((other, _)) = elsewhere {
        return Stop::usage(format_args!(
            "{file}: `{path}` is a setting of `kazoe {other}`, not of `kazoe {command}`: each has its \
             own file"
        ));
    }
    let ours = known.commands.get(command).into_iter().flatten();
    let mut why = format!("{file}: unknown key `{path}`");
    match suggest::nearest(path, ours.map(String::as_str)) {
        Some(meant) => why += &format!("; did you mean `{meant}`?"),
        None => why += &format!("; `kazoe {command} --print-config` shows all keys"),
    }
    Stop::usage(why)
}

/// A file that is no TOML. Its text is not shown: the line may hold a password.
fn odd_file(name: &str, text: &str, error: &ConfigError) -> Stop {
    let ConfigError::FileParse { cause, .. } = error else {
        return Stop::usage(format_args!("{name}: {error}"));
    };
    let Some(error) = cause.downcast_ref::<toml::de::Error>() else {
        return Stop::usage(format_args!("{name}: {cause}"));
    };
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map_or(1, |before| before.matches('\n').count() + 1);
    Stop::usage(format_args!("{name}, line {line}: {}", error.message()))
}
