//! How a command ends, and the exit code that says so.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use crate::output::tell;
use crate::rlimits;

/// How a command that ran to its end did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All is well.
    Done,
    /// It did what it could, and has said on standard error what went wrong.
    Failed,
    /// It was interrupted and has saved what it had.
    Interrupted,
}

/// Why a command could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The reader of standard output has closed it, which is not an error.
    Closed,
    /// Wrong usage.
    Usage(String),
    /// The command failed.
    Failed(String),
}

impl Stop {
    /// A failure in the words of an error.
    pub(crate) fn failed(error: impl ToString) -> Self {
        Stop::Failed(error.to_string())
    }

    /// What an error of standard output means.
    pub(crate) fn of_output(error: &io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe {
            Stop::Closed
        } else {
            Stop::Failed(format!("writing to standard output: {error}"))
        }
    }

    /// Wrong usage in the words of an error.
    pub(crate) fn usage(error: impl ToString) -> Self {
        Stop::Usage(error.to_string())
    }
}

/// The exit code of an ending; says why on standard error.
pub(crate) fn exit_code(ending: Result<Ending, Stop>) -> ExitCode {
    ExitCode::from(match ending {
        Ok(Ending::Done) | Err(Stop::Closed) => 0,
        Ok(Ending::Failed) => 1,
        Ok(Ending::Interrupted) => 130,
        Err(Stop::Failed(why)) => {
            tell(format_args!("error: {why}"));
            rlimits::note().into_iter().for_each(tell);
            1
        }
        Err(Stop::Usage(why)) => {
            tell(format_args!(
                "error: {why}\n\nFor more information, try '--help'."
            ));
            2
        }
    })
}
