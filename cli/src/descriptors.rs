//! How many connections a process may hold open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files and sockets that a process has open beside its connections: standard streams, the database, the
/// runtime's own, a margin.
const BESIDE: u64 = 128;

/// Raises the number of files and sockets that this process may have open to the most that it may ask for.
/// Returns that number; `None` where there is no bound.
pub(crate) fn raise() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let most = Rlimit {
            current: maximum,
            maximum,
        };
        // Where it is refused, the present bound goes on to hold.
        let _ = setrlimit(Resource::Nofile, most);
    }
    getrlimit(Resource::Nofile).current
}

/// Whether a process may hold so many connections.
///
/// # Errors
/// If not: what to do.
pub(crate) fn check(connections: u64) -> Result<(), String> {
    judge(connections, raise())
}

fn judge(connections: u64, most: Option<u64>) -> Result<(), String> {
    let wanted = connections + BESIDE;
    match most {
        Some(most) if most < wanted => Err(format!(
            "a coordinator of {connections} workers has {wanted} files and sockets open, and a process \
             here may have {most}: raise the hard limit (`ulimit -Hn {wanted}` as root, \
             LimitNOFILE= of systemd, --ulimit nofile= of docker), or measure fewer --workers"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_connections_are_refused_with_what_to_do() {
        assert_eq!(judge(10_000, None), Ok(()));
        assert_eq!(judge(10_000, Some(10_128)), Ok(()));
        let why = judge(10_000, Some(1024)).unwrap_err();
        assert!(why.contains("ulimit -Hn 10128"), "{why}");
    }
}
