//! Whether processes here may have as many connections as workers are measured.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files and sockets of a process beside its connections, with a margin.
const BESIDE: u64 = 128;

/// Raises this process's limit of open files to the most that it may ask for, and returns it; `None` where
/// there is no limit.
pub(crate) fn raise() -> Option<u64> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // If the system refuses, the present limit stays.
    let current = maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
    getrlimit(Resource::Nofile).current
}

/// Checks that a limit of open files is enough for so many workers.
///
/// # Errors
/// If it is not, with what to do.
pub(crate) fn check(workers: u64, limit: Option<u64>) -> Result<(), String> {
    let wanted = workers + BESIDE;
    match limit {
        Some(limit) if limit < wanted => Err(format!(
            "a coordinator of {workers} workers has {wanted} files and sockets open, and a process here may \
             have {limit}: raise the hard limit (`ulimit -Hn {wanted}` as root, LimitNOFILE= of systemd, \
             --ulimit nofile= of docker), or measure fewer --workers"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_connections_are_refused_with_what_to_do() {
        assert_eq!(check(10_000, None), Ok(()));
        assert_eq!(check(10_000, Some(10_128)), Ok(()));
        let why = check(10_000, Some(1024)).unwrap_err();
        assert!(why.contains("ulimit -Hn 10128"), "{why}");
    }
}
