//! Who cleans up where this program cannot: killed, or interrupted twice.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Waits until nobody holds its standard input any more, which is when this program has ended, however that
/// was; then removes a folder, if it is still there, and ends the PostgreSQL server that has it, if one does.
const SCRIPT: &str = r#"
    cat >/dev/null
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -d "$1" ] || exit 0
        [ -z "$2" ] || kill -QUIT "$2" 2>/dev/null
        rm -rf "$1" 2>/dev/null && exit 0
        sleep 0.5
    done
"#;

/// A process that watches over a folder. Dropping it has the folder removed.
pub(super) struct Watcher(Option<Child>);

impl Watcher {
    /// Over this folder, and the server that has it.
    pub(super) fn over(folder: &Path, server: Option<u32>) -> Self {
        let server = server.map_or_else(String::new, |pid| pid.to_string());
        let watching = Command::new("sh")
            .args(["-c", SCRIPT, "watcher"])
            .arg(folder)
            .arg(server)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn();
        Watcher(watching.ok())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(mut watching) = self.0.take() {
            drop(watching.stdin.take());
            let _ = watching.wait();
        }
    }
}
