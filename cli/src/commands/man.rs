//! `kazoe man`: manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::Cli;
use crate::exit::{Ending, Stop};
use crate::output::Output;
use crate::settings;

/// Print the manual page of kazoe or of a command, or write all of them into a folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe man | man -l -
  kazoe man token create | man -l -
  kazoe man --output ~/.local/share/man/man1")]
pub(super) struct Args {
    /// The command [default: kazoe itself].
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,

    /// Write the pages of kazoe and of every command into this folder, creating it if missing, and print their
    /// names.
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "words")]
    output: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let mut kazoe = without_help(settings::with_variables(Cli::command()));
        // Gives every command its whole name.
        kazoe.build();
        if let Some(folder) = &self.output {
            fs::create_dir_all(folder).map_err(|error| wrong(folder, &error))?;
            write(&kazoe, folder, output)?;
            return Ok(Ending::Done);
        }
        let mut command = &kazoe;
        for word in &self.words {
            command = command.find_subcommand(word).ok_or_else(|| {
                let name = command.get_bin_name().unwrap_or("kazoe");
                Stop::usage(format_args!(
                    "{name} has no command '{word}'; '{name} --help' lists them"
                ))
            })?;
        }
        output.text(&page(command)?)?;
        Ok(Ending::Done)
    }
}

/// A command whose commands, save its own, have no `help`, which clap would add to each.
fn without_help(command: Command) -> Command {
    let command = command.disable_help_subcommand(true);
    command.mut_subcommands(without_help)
}

/// Writes the pages of a command and of all below it.
fn write(command: &Command, folder: &Path, output: &mut Output) -> Result<(), Stop> {
    let file = folder.join(format!("{}.1", name(command)));
    fs::write(&file, page(command)?).map_err(|error| wrong(&file, &error))?;
    output.line(file.display())?;
    let mut below = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set());
    below.try_for_each(|below| write(below, folder, output))
}

fn wrong(path: &Path, error: &std::io::Error) -> Stop {
    Stop::failed(format_args!("{}: {error}", path.display()))
}

/// `kazoe-token-create`.
fn name(command: &Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

/// The page in the language of troff.
fn page(command: &Command) -> Result<String, Stop> {
    let mut page = Vec::new();
    let man = Man::new(command.clone())
        .source(concat!("kazoe ", env!("CARGO_PKG_VERSION")))
        .manual("Kazoe");
    man.render(&mut page).map_err(Stop::failed)?;
    let page = String::from_utf8(page).map_err(Stop::failed)?;
    // What stands below the options in the help are the examples; each keeps its line.
    Ok(match page.split_once("\n.SH EXTRA\nExamples:\n") {
        Some((options, examples)) => format!("{options}\n.SH EXAMPLES\n.nf\n{examples}.fi\n"),
        None => page,
    })
}
