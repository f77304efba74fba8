//! How many connections a process may hold open.

use std::fmt;

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

/// Raises the limit for this number of connections.
///
/// # Errors
/// If it stays too low for them.
pub(crate) fn raise_for(connections: u64) -> Result<(), Shortage> {
    judge(connections, raise())
}

fn judge(connections: u64, most: Option<u64>) -> Result<(), Shortage> {
    let wanted = connections + BESIDE;
    match most {
        Some(most) if most < wanted => Err(Shortage {
            connections,
            wanted,
            most,
        }),
        _ => Ok(()),
    }
}

/// The limit of open files is lower than the connections need.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    connections: u64,
    pub(crate) wanted: u64,
    pub(crate) most: u64,
}

/// For a load test.
impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shortage {
            connections,
            wanted,
            most,
        } = self;
        write!(
            f,
            "a coordinator of {connections} workers has {wanted} files and sockets open, and a process \
             here may have {most}: raise the hard limit (`ulimit -Hn {wanted}` as root, \
             LimitNOFILE= of systemd, --ulimit nofile= of docker), or measure fewer --workers"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_connections_are_refused_with_what_to_do() {
        assert_eq!(judge(10_000, None), Ok(()));
        assert_eq!(judge(10_000, Some(10_128)), Ok(()));
        let why = judge(10_000, Some(1024)).unwrap_err().to_string();
        assert!(why.contains("ulimit -Hn 10128"), "{why}");
    }
}
