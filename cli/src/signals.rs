//! Signals: which ones ask a command to stop, which ones end it at once, and which ones stay ignored.
//!
//! A signal that was ignored when the process started stays ignored, as POSIX programs do: `nohup` ignores
//! SIGHUP, and a shell without job control ignores SIGINT for its background jobs.

use std::collections::HashMap;
use std::ffi::c_int;
use std::io::{self, IsTerminal};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use kazoe_worker::stop::Stop as StopRequest;
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGXCPU,
};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, signal_name};
use tokio::sync::watch;
use tracing::{error, info, warn};

use crate::exit::Stop;
use crate::output::tell;

/// The signals that ask for a stop. Batch systems send SIGUSR1 and SIGUSR2 before a job's time is over, the
/// kernel sends SIGXCPU when its CPU time is.
const STOPPING: [c_int; 10] = [
    SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXCPU,
];

/// The signals that end a process at once and leave a core dump.
const ENDING: [c_int; 2] = [SIGQUIT, SIGABRT];

/// How long a process that leaves at once may still take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Within this time a repeated signal is the same request: `timeout` signals its child and then the child's
/// group, and a terminal that closes sends SIGHUP more than once. Ctrl-C counts each time.
const SAME: Duration = Duration::from_millis(500);

/// Asks for a stop at the first signal, and leaves at the second one.
///
/// # Errors
/// If the system refuses.
pub(crate) fn ask(stop: Arc<StopRequest>) -> Result<(), Stop> {
    let mut asked = false;
    listen(say, move |signal| {
        stop.request();
        if asked {
            say("Exiting at once.");
            // The threads that still compute are not waited for; the ledger survives that.
            thread::sleep(PATIENCE);
            std::process::exit(130);
        }
        asked = true;
        say(&format!(
            "Stopping{}: finishing and saving the segments that are nearly done. Repeat to exit at once.",
            in_brackets(signal)
        ));
    })
}

/// Leaves at the first signal: for commands that have nothing to save.
///
/// # Errors
/// If the system refuses.
pub(crate) fn leave_at_once() -> Result<(), Stop> {
    listen(say, |signal| {
        say(&format!("Interrupted{}.", in_brackets(signal)));
        std::process::exit(130);
    })
}

/// Calls a function at each signal.
///
/// # Errors
/// If the system refuses.
pub(crate) fn each(mut heard: impl FnMut() + Send + 'static) -> Result<(), Stop> {
    listen(say, move |_| heard())
}

/// Asks for a stop at the first signal, and leaves at the second one; logs both.
///
/// # Errors
/// If the system refuses.
pub(crate) fn obey(stop: Arc<StopRequest>) -> Result<(), Stop> {
    let mut asked = false;
    listen(log, move |signal| {
        let signal = name(signal);
        stop.request();
        if asked {
            warn!(signal, "exiting at once");
            thread::sleep(PATIENCE);
            std::process::exit(130);
        }
        asked = true;
        info!(
            signal,
            "stopping: finishing and delivering the segments that are nearly done; repeat to exit at once"
        );
    })
}

/// Whether a signal arrived.
#[derive(Debug)]
pub(crate) struct Heard(watch::Receiver<bool>);

impl Heard {
    /// Waits for a signal.
    pub(crate) async fn wait(mut self) {
        // It fails only if the thread that listens has ended, and then no signal will be reported.
        if self.0.wait_for(|heard| *heard).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Reports the first signal, and leaves at the second one.
///
/// # Errors
/// If the system refuses.
pub(crate) fn hear() -> Result<Heard, Stop> {
    let (said, heard) = watch::channel(false);
    listen(log, move |signal| {
        let signal = name(signal);
        if said.send_replace(true) {
            warn!(signal, "exiting at once");
            std::process::exit(130);
        }
        info!(signal, "stopping; repeat to exit at once");
    })?;
    Ok(Heard(heard))
}

/// Calls `act` at each request to stop, and `last_word` before a signal ends the process at once. Leaves
/// alone what was ignored at the start.
fn listen(
    last_word: impl Fn(&str) + Send + 'static,
    mut act: impl FnMut(c_int) + Send + 'static,
) -> Result<(), Stop> {
    let heeded = STOPPING.into_iter().chain(ENDING);
    let mut signals = Signals::new(heeded.filter(|&signal| !is_ignored(signal)))
        .map_err(|error| Stop::failed(format_args!("cannot listen for signals: {error}")))?;
    let mut requests = Requests::default();
    let listening = move || {
        for signal in signals.forever() {
            if ENDING.contains(&signal) {
                last_word(&format!(
                    "{}: exiting at once; saved and delivered segments are safe.",
                    name(signal)
                ));
                let _ = emulate_default_handler(signal);
            } else if requests.is_new(signal, Instant::now()) {
                act(signal);
            }
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(listening)
        .map_err(|error| Stop::failed(format_args!("cannot start a thread: {error}")))?;
    Ok(())
}

/// When each signal arrived last.
#[derive(Debug, Default)]
struct Requests(HashMap<c_int, Instant>);

impl Requests {
    /// Whether a signal is another request than the one before.
    fn is_new(&mut self, signal: c_int, now: Instant) -> bool {
        match (signal, self.0.insert(signal, now)) {
            (SIGINT, _) | (_, None) => true,
            // Once the CPU time is used up the kernel repeats it every second.
            (SIGXCPU, Some(_)) => false,
            (_, Some(before)) => now - before >= SAME,
        }
    }
}

/// Whether a signal is ignored now.
fn is_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: with no new action `sigaction` changes nothing and fills in the present one.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

fn name(signal: c_int) -> &'static str {
    signal_name(signal).unwrap_or("a signal")
}

/// ` (SIGTERM)`; nothing for Ctrl-C, which was typed.
fn in_brackets(signal: c_int) -> String {
    match signal {
        SIGINT => String::new(),
        SIGXCPU => " (SIGXCPU: the CPU time of `ulimit -t` is nearly used up)".to_owned(),
        _ => format!(" ({})", name(signal)),
    }
}

/// Writes a line below the progress bar, not into it.
fn say(line: &str) {
    let below = if io::stderr().is_terminal() { "\n" } else { "" };
    tell(format_args!("{below}{line}"));
}

/// Logs a line, or writes it where there is no log.
fn log(line: &str) {
    if tracing::dispatcher::has_been_set() {
        error!("{line}");
    } else {
        say(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_signal_is_one_request_unless_it_was_typed() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let mut requests = Requests::default();
        assert!(requests.is_new(SIGTERM, after(0)));
        assert!(!requests.is_new(SIGTERM, after(1)));
        assert!(requests.is_new(SIGHUP, after(2)));
        assert!(requests.is_new(SIGTERM, after(1000)));
        assert!(requests.is_new(SIGINT, after(1000)));
        assert!(requests.is_new(SIGINT, after(1001)));
        assert!(requests.is_new(SIGXCPU, after(2000)));
        assert!(!requests.is_new(SIGXCPU, after(3000)));
    }

    #[test]
    fn a_signal_that_is_ignored_is_seen_to_be() {
        // Rust's runtime ignores SIGPIPE and no other signal of these.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(SIGUSR2));
    }
}
