//! Files that hold a secret and that other users of the machine can read.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tracing::warn;

use crate::output::tell;
use crate::sqlite_args::typed_path;

/// The files that were warned of.
static WARNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Warns, once for each file, if other users can read a file that holds a secret. A service logs it.
pub(crate) fn warn_if_readable(path: &Path) {
    let Some(exposed) = fs::metadata(path).ok().and_then(|file| Exposed::of(&file)) else {
        return;
    };
    let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
    if warned.insert(path.to_owned()) {
        say(&exposed.warning(&format!("the secret in {}", path.display()), path));
    }
}

/// Warns if other users can read the file that standard output goes to, which is to hold a secret.
pub(crate) fn warn_if_output_is_readable() {
    let output = rustix::fs::fstat(io::stdout());
    let exposed = output.ok().and_then(|file| {
        let kind = rustix::fs::FileType::from_raw_mode(file.st_mode);
        (kind == rustix::fs::FileType::RegularFile)
            .then(|| Exposed::by(file.st_mode, file.st_uid, file.st_gid))?
    });
    if let Some(exposed) = exposed {
        say(&exposed.warning(
            "the secret in the file that standard output goes to",
            Path::new("FILE"),
        ));
    }
}

/// To the log where there is one: it may be JSON for a program.
fn say(warning: &str) {
    if tracing::dispatcher::has_been_set() {
        warn!("{warning}");
    } else {
        tell(format_args!("warning: {warning}"));
    }
}

/// Which other users can read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readers {
    Everybody,
    Group,
}

/// A file that other users can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exposed {
    mode: u32,
    readers: Readers,
    /// Whether the file is ours, so that we can change its mode.
    own: bool,
}

impl Exposed {
    /// Pipes and devices are not looked at: what is read from them is not stored there.
    fn of(file: &Metadata) -> Option<Self> {
        file.is_file()
            .then(|| Exposed::by(file.mode(), file.uid(), file.gid()))?
    }

    /// The group's right to read is a deliberate one where another user owns the file, as orchestrators mount
    /// secrets, or where the group is root's.
    fn by(mode: u32, owner: u32, group: u32) -> Option<Self> {
        let own = owner == rustix::process::geteuid().as_raw();
        let readers = if mode & 0o004 != 0 {
            Readers::Everybody
        } else if mode & 0o040 != 0 && own && group != 0 {
            Readers::Group
        } else {
            return None;
        };
        Some(Exposed {
            mode: mode & 0o7777,
            readers,
            own,
        })
    }

    fn warning(self, what: &str, path: &Path) -> String {
        let path = typed_path(path);
        let remedy = if self.own {
            format!("`chmod 600 {path}`")
        } else {
            format!("its owner can correct that by `chmod o-r {path}`")
        };
        format!(
            "{} can read {what} (mode {:04o}): {remedy}",
            self.readers, self.mode
        )
    }
}

impl fmt::Display for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Readers::Everybody => "all users of this machine",
            Readers::Group => "the users of its group",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_readers_that_the_owner_did_not_choose() {
        let me = rustix::process::geteuid().as_raw();
        let readers = |mode, owner, group| Exposed::by(mode, owner, group).map(|file| file.readers);
        for mode in [0o600, 0o400, 0o700, 0o100_600] {
            assert_eq!(readers(mode, me, 1000), None, "{mode:o}");
        }
        for mode in [0o644, 0o444, 0o604, 0o666, 0o100_644] {
            assert_eq!(
                readers(mode, me, 1000),
                Some(Readers::Everybody),
                "{mode:o}"
            );
            assert_eq!(
                readers(mode, me + 1, 0),
                Some(Readers::Everybody),
                "{mode:o}"
            );
        }
        assert_eq!(readers(0o640, me, 1000), Some(Readers::Group));
        assert_eq!(readers(0o440, me, 0), None);
        assert_eq!(readers(0o440, me + 1, 1000), None);
    }

    #[test]
    fn a_warning_says_the_mode_and_what_to_type() {
        let me = rustix::process::geteuid().as_raw();
        let path = Path::new("my worker.token");
        let own = Exposed::by(0o100_644, me, 1000).unwrap();
        assert_eq!(
            own.warning("the secret in my worker.token", path),
            "all users of this machine can read the secret in my worker.token (mode 0644): \
             `chmod 600 'my worker.token'`"
        );
        let mounted = Exposed::by(0o444, me + 1, 0).unwrap();
        assert!(mounted.warning("it", path).contains("chmod o-r"));
    }
}
