//! The limits that the system sets for this process: the size of its stack, of a file, and its CPU time.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use rustix::process::{Resource, Rlimit, getpid, getrlimit, nice, setpriority_process, setrlimit};

use crate::output::tell;

/// The stack of the thread that runs a command, in bytes.
const STACK: usize = 8 << 20;

/// CPU seconds per thread that a command needs to stop: segments at hand may take 5 s, handing in some more.
const TO_STOP: u64 = 10;

/// Files that any command may have open, with a margin.
const FILES: u64 = 64;

/// Whether a write met the limit on the size of a file.
static FILE_TOO_LARGE: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Runs a command on a stack of its own: that of the first thread may be as small as `ulimit -s` says.
pub(crate) fn on_a_large_stack(command: fn() -> ExitCode) -> ExitCode {
    let own = thread::Builder::new()
        .name("main".to_owned())
        .stack_size(STACK);
    match own.spawn(command) {
        // It has said why it panicked.
        Ok(running) => running.join().unwrap_or(ExitCode::from(101)),
        // No thread is to be had. The stack that there is may do.
        Err(_) => command(),
    }
}

/// Lets a write that meets the limit on the size of a file (`ulimit -f`) fail, where the signal SIGXFSZ would
/// end the process.
pub(crate) fn survive_large_files() {
    let met = FILE_TOO_LARGE.get_or_init(Arc::default);
    // Where it is refused, the signal ends the process as before.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::clone(met));
}

/// What to add to an error that a limit of the system caused, or may have caused.
pub(crate) fn note() -> Option<String> {
    note_on_large_files().or_else(note_on_open_files)
}

fn note_on_large_files() -> Option<String> {
    let met = FILE_TOO_LARGE.get()?.load(Ordering::Relaxed);
    let most = getrlimit(Resource::Fsize).current.filter(|_| met)?;
    Some(format!(
        "A write exceeded the limit of {most} bytes a file (`ulimit -f`): raise that limit."
    ))
}

fn note_on_open_files() -> Option<String> {
    let most = getrlimit(Resource::Nofile).current;
    most.filter(|&most| most < FILES).map(|most| {
        format!("The limit of {most} open files (`ulimit -n`) may be the reason: raise that limit.")
    })
}

/// Lets SIGXCPU arrive before the CPU time (`ulimit -t`) is over and the kernel ends the process. A limit that
/// already does so stays.
pub(crate) fn leave_cpu_time_to_stop(threads: usize) {
    let Rlimit { current, maximum } = getrlimit(Resource::Cpu);
    let Some(most) = maximum else {
        return;
    };
    let needed = TO_STOP.saturating_mul(threads as u64).min(most / 2);
    let early = most - needed;
    if current.is_none_or(|current| current > early) {
        let limit = Rlimit {
            current: Some(early),
            maximum,
        };
        if let Err(error) = setrlimit(Resource::Cpu, limit) {
            tell(format_args!(
                "warning: cannot lower the limit on CPU time: {error}"
            ));
        }
    }
}

/// Gives way to other programs. On Linux each thread has a priority of its own: those that start later have
/// this thread's, and the first thread's is the one that `ps` and `top` show.
///
/// # Errors
/// If the system refuses.
pub(crate) fn be_nice(increment: i32) -> rustix::io::Result<()> {
    let priority = nice(increment)?;
    setpriority_process(Some(getpid()), priority)
}
