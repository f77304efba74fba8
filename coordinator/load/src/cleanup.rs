//! Removes files and ends processes after this program was killed or interrupted twice.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Reads a victim a line (arguments of `kill`), the last one counts. At the end of its standard input this
/// program has ended: if the folder is still there, the script ends the victim and removes the folder.
const SCRIPT: &str = r#"
    while read -r line; do victim=$line; done
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -d "$1" ] || exit 0
        [ -z "$victim" ] || kill $victim 2>/dev/null
        rm -rf "$1" 2>/dev/null && exit 0
        sleep 0.5
    done
"#;

/// A process that watches over a folder. Dropping it removes the folder.
pub(crate) struct Cleanup(Option<Child>);

impl Cleanup {
    /// Watches over this folder.
    pub(crate) fn of(folder: &Path) -> Self {
        let watching = Command::new("sh")
            .args(["-c", SCRIPT, "cleanup"])
            .arg(folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn();
        Cleanup(watching.ok())
    }

    /// Names the process that uses the folder, and the signal that ends it, in place of an earlier one.
    pub(crate) fn ends(&self, signal: &str, process: u32) {
        if let Some(mut orders) = self.0.as_ref().and_then(|child| child.stdin.as_ref()) {
            let _ = writeln!(orders, "-{signal} {process}");
        }
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        if let Some(mut watching) = self.0.take() {
            drop(watching.stdin.take());
            let _ = watching.wait();
        }
    }
}
