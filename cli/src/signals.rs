//! Ctrl-C, and SIGTERM and SIGHUP like it.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kazoe_worker::stop::Stop as StopRequest;

use crate::ending::Stop;
use crate::output::tell;

/// How long a process that is told to leave now may still take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks for a stop at the first signal, and at the second for leaving now.
///
/// # Errors
/// If the system refuses.
pub(crate) fn watch(stop: Arc<StopRequest>) -> Result<(), Stop> {
    let asked = AtomicBool::new(false);
    ctrlc::set_handler(move || {
        // Below the progress bar, not in it.
        let below = if io::stderr().is_terminal() { "\n" } else { "" };
        stop.request();
        if asked.swap(true, Ordering::AcqRel) {
            tell(format_args!("{below}Leaving now."));
            // Whatever still computes is not waited for; the ledger survives that.
            thread::sleep(PATIENCE);
            std::process::exit(130);
        }
        tell(format_args!(
            "{below}Stopping: finishing and saving what is nearly done. Once more to leave now."
        ));
    })
    .map_err(Stop::failed)
}

/// Leaves at the first signal: for commands that have nothing to save.
///
/// # Errors
/// If the system refuses.
pub(crate) fn leave_at_once() -> Result<(), Stop> {
    ctrlc::set_handler(|| {
        let below = if io::stderr().is_terminal() { "\n" } else { "" };
        tell(format_args!("{below}Interrupted."));
        std::process::exit(130);
    })
    .map_err(Stop::failed)
}
