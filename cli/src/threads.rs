//! How many threads compute, and the threads that answer lines.

use crate::exit::Stop;
use crate::local;
use crate::quantity;

/// The most threads that may be asked for.
const MOST: u64 = 4096;

/// How many threads compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// This number.
    Exactly(usize),
    /// As many as this process may use, less this number; one at least.
    AllBut(usize),
}

/// As many as this process may use.
impl Default for Threads {
    fn default() -> Self {
        Threads::AllBut(0)
    }
}

impl Threads {
    /// The number.
    pub(crate) fn number(self) -> usize {
        match self {
            Threads::Exactly(number) => number,
            Threads::AllBut(spared) => local::cores().saturating_sub(spared).max(1),
        }
    }

    /// Reads a number of threads, `max`, or `max-1`.
    ///
    /// # Errors
    /// If the text is anything else, 0, or more than 4096.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected a number, max, or max-1";
        let lower = text.trim().to_ascii_lowercase();
        if let Some(rest) = lower.strip_prefix("max") {
            if rest.is_empty() {
                return Ok(Threads::AllBut(0));
            }
            let spared = rest.strip_prefix('-').and_then(|spared| {
                let digits = spared.bytes().all(|byte| byte.is_ascii_digit());
                spared.parse().ok().filter(|_| digits)
            });
            return spared
                .map(Threads::AllBut)
                .ok_or_else(|| EXPECTED.to_owned());
        }
        if lower.starts_with(|c: char| c.is_alphabetic()) {
            return Err(EXPECTED.to_owned());
        }
        match quantity::parse(text).map_err(|error| error.to_string())? {
            0 => Err("at least one thread is required".to_owned()),
            n @ 1..=MOST => usize::try_from(n)
                .map(Threads::Exactly)
                .map_err(|error| error.to_string()),
            _ => Err(format!("more than {MOST} threads")),
        }
    }
}

/// Starts the threads that rayon shares out work to.
///
/// # Errors
/// If the system gives no threads.
pub(crate) fn start_pool() -> Result<(), Stop> {
    rayon::ThreadPoolBuilder::new()
        .build_global()
        .map_err(|error| {
            Stop::failed(format_args!(
                "cannot start threads: {error}; RAYON_NUM_THREADS=1 needs fewer, and `ulimit -u` \
                 and `ulimit -v` show the limits"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::Threads;

    #[test]
    fn threads_are_a_number_or_what_is_spared() {
        for (text, threads) in [
            ("3", Threads::Exactly(3)),
            ("4096", Threads::Exactly(4096)),
            ("max", Threads::AllBut(0)),
            ("MAX", Threads::AllBut(0)),
            ("max-2", Threads::AllBut(2)),
        ] {
            assert_eq!(Threads::parse(text), Ok(threads), "{text}");
        }
        assert_eq!(Threads::AllBut(100_000).number(), 1);
        for text in [
            "0", "max-", "max-x", "max-+1", "max1", "maximum", "all", "-1", "", "4097", "1.5",
        ] {
            assert!(Threads::parse(text).is_err(), "{text}");
        }
    }
}
