//! Runs the binary.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

/// What a run left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("kazoe writes UTF-8");
        Ran {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code(),
        }
    }
}

impl Ran {
    /// Standard output of a run that went well and had nothing else to say.
    #[track_caller]
    pub(crate) fn silent(self) -> String {
        assert_eq!((self.stderr.as_str(), self.code), ("", Some(0)));
        self.stdout
    }

    /// Asserts that the run refused with this message and code and printed no result.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, message: &str) {
        assert_eq!(
            (self.stdout.as_str(), self.stderr.trim_end(), self.code),
            ("", message, Some(code))
        );
    }
}

/// The binary with these arguments, in a folder of its own if the command writes one.
pub(crate) fn command<A: AsRef<OsStr>>(arguments: &[A]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kazoe"));
    command
        .args(arguments)
        .env_remove("KAZOE_DB")
        .stdin(Stdio::null());
    command
}

/// Runs the binary.
pub(crate) fn kazoe<A: AsRef<OsStr>>(arguments: &[A]) -> Ran {
    command(arguments).output().expect("kazoe starts").into()
}

/// Runs the binary and feeds its standard input.
pub(crate) fn kazoe_fed(arguments: &[&str], input: impl AsRef<[u8]> + Send) -> Ran {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kazoe starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    thread::scope(|scope| {
        scope.spawn(move || {
            // A run that ends before it has read everything closes the pipe: not this test's matter.
            let _ = stdin.write_all(input.as_ref());
        });
        wait(child)
    })
}

/// Waits for a run's end.
pub(crate) fn wait(child: Child) -> Ran {
    child.wait_with_output().expect("kazoe ends").into()
}

/// A golden text file.
pub(crate) fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cli/golden")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A text's lines, each with its end.
pub(crate) fn lines<I: AsRef<str>>(lines: impl IntoIterator<Item = I>) -> String {
    lines
        .into_iter()
        .map(|line| format!("{}\n", line.as_ref()))
        .collect()
}
