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
        Some(most) if most < wanted => Err(Shortage { wanted, most }),
        _ => Ok(()),
    }
}

/// The limit of open files is lower than the connections need.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    pub(crate) wanted: u64,
    pub(crate) most: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_too_low_for_the_connections_is_a_shortage() {
        assert_eq!(judge(10_000, None), Ok(()));
        assert_eq!(judge(10_000, Some(10_128)), Ok(()));
        let (wanted, most) = (10_128, 1024);
        assert_eq!(judge(10_000, Some(most)), Err(Shortage { wanted, most }));
    }
}
