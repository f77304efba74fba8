//! Ctrl-C during an import.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kazoe_coordinator::ledger_file::Step;

use super::taken::Taken;
use crate::exit::Stop;
use crate::output::tell;
use crate::signals;

/// How far an import is, shared with the handler of signals.
#[derive(Clone, Debug)]
pub(super) struct Interruption(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    file: String,
    stage: Stage,
    asked: bool,
}

#[derive(Clone, Debug)]
enum Stage {
    /// The file is read; nothing was begun.
    Reading,
    /// A transaction that can be rolled back.
    Taking,
    /// It is committed.
    Committing,
    /// Request after request to a coordinator.
    Sending(Taken),
}

impl Interruption {
    /// Hears signals from now on. The file is being read.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn hear(file: String) -> Result<Self, Stop> {
        let state = State {
            file,
            stage: Stage::Reading,
            asked: false,
        };
        let here = Interruption(Arc::new(Mutex::new(state)));
        let there = here.clone();
        signals::each(move || there.heard())?;
        Ok(here)
    }

    /// A signal came.
    fn heard(&self) {
        // Below the progress of a shell's pipe, not in it.
        let below = if io::stderr().is_terminal() { "\n" } else { "" };
        // Held until the process is gone, so that nothing is taken in between.
        let mut state = self.state();
        let file = &state.file;
        match &state.stage {
            Stage::Reading => {
                tell(format_args!(
                    "{below}Interrupted: no segment of {file} was imported."
                ));
                std::process::exit(130);
            }
            Stage::Taking if state.asked => std::process::exit(130),
            Stage::Taking => {
                tell(format_args!(
                    "{below}Interrupted: no segment of {file} is imported."
                ));
            }
            Stage::Committing => {
                tell(format_args!(
                    "{below}Too late to interrupt: all of {file} is being committed."
                ));
            }
            Stage::Sending(taken) if state.asked => {
                tell(format_args!("{below}Interrupted: {}.", taken.words()));
                std::process::exit(130);
            }
            Stage::Sending(_) => tell(format_args!(
                "{below}Stopping: waiting for the coordinator's answer. Repeat to exit at once."
            )),
        }
        state.asked = true;
    }

    /// Whether an import into a database may do the next step.
    pub(super) fn allows(&self, step: Step) -> bool {
        let mut state = self.state();
        if !state.asked {
            state.stage = match step {
                Step::Taking => Stage::Taking,
                Step::Committing => Stage::Committing,
            };
        }
        !state.asked
    }

    /// Notes what a coordinator has taken; returns whether to go on.
    pub(super) fn allows_after(&self, taken: &Taken) -> bool {
        let mut state = self.state();
        state.stage = Stage::Sending(taken.clone());
        !state.asked
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
