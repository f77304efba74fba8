//! Ctrl-C, and SIGTERM and SIGHUP like it.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kazoe_worker::stop::Stop as StopRequest;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::ending::Stop;
use crate::output::tell;

/// How long a process that is told to leave now may still take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks for a stop at the first signal, and at the second for leaving now.
///
/// # Errors
/// If the system refuses.
pub(crate) fn ask(stop: Arc<StopRequest>) -> Result<(), Stop> {
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

/// Asks for a stop at the first signal, and at the second for leaving now; says so in the log.
///
/// # Errors
/// If the system refuses.
pub(crate) fn obey(stop: Arc<StopRequest>) -> Result<(), Stop> {
    let asked = AtomicBool::new(false);
    ctrlc::set_handler(move || {
        stop.request();
        if asked.swap(true, Ordering::AcqRel) {
            warn!("leaving now");
            thread::sleep(PATIENCE);
            std::process::exit(130);
        }
        info!("stopping: what is nearly done is finished and handed in; once more to leave now");
    })
    .map_err(Stop::failed)
}

/// Whether a signal was heard.
#[derive(Debug)]
pub(crate) struct Heard(watch::Receiver<bool>);

impl Heard {
    /// Waits for a signal.
    pub(crate) async fn wait(mut self) {
        // It fails only if the handler is gone, and that stays.
        let _ = self.0.wait_for(|heard| *heard).await;
    }
}

/// Hears the first signal, and leaves at once at the second.
///
/// # Errors
/// If the system refuses.
pub(crate) fn hear() -> Result<Heard, Stop> {
    let (said, heard) = watch::channel(false);
    ctrlc::set_handler(move || {
        if said.send_replace(true) {
            warn!("leaving now");
            std::process::exit(130);
        }
    })
    .map_err(Stop::failed)?;
    Ok(Heard(heard))
}
