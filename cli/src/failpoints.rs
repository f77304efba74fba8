//! Where a test stops a process, to kill it or another just then. No released binary has any of this.
//!
//! A file with a point's name in the folder `KAZOE_FAILPOINTS` arms it: the first process that comes
//! there renames the file to `NAME.reached` and stands still until that is gone.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use tokio::runtime::{Handle, RuntimeFlavor};

/// How often a process that stands still looks whether it may go on.
const LOOK: Duration = Duration::from_millis(5);

/// Heeds the points, if the environment names a folder.
pub(crate) fn obey() {
    let Some(folder) = std::env::var_os("KAZOE_FAILPOINTS").map(PathBuf::from) else {
        return;
    };
    for point in kazoe_coordinator::FAILPOINTS
        .into_iter()
        .chain(kazoe_worker::FAILPOINTS)
    {
        let folder = folder.clone();
        let configured = fail::cfg_callback(point, move || stand(&folder, point));
        configured.unwrap_or_else(|why| panic!("{point}: {why}"));
    }
}

/// Stands still if the point is armed.
fn stand(folder: &Path, point: &str) {
    let reached = folder.join(format!("{point}.reached"));
    if fs::rename(folder.join(point), &reached).is_err() {
        return;
    }
    let wait = || {
        while reached.exists() {
            thread::sleep(LOOK);
        }
    };
    // Only this one call stands still, where the runtime can spare a thread.
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
        _ => wait(),
    }
}
