//! Which failures of the database an operation outlives by being sent again, and how often.

use std::time::Duration;

use sqlx::Error;

/// What a failure of the database means for the operation that met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The transaction was rolled back for the sake of another: it may go well the next time.
    RolledBack,
    /// The connection is gone: the transaction was committed or was not.
    Unknown,
    /// No connection came free in the time that the pool waits; nothing was sent.
    Unconnected,
    /// Sending it again would change nothing.
    Final,
}

impl Fate {
    /// By what sqlx says and by PostgreSQL's SQLSTATE (its manual, appendix A).
    pub(super) fn of(error: &Error) -> Self {
        match error {
            Error::PoolTimedOut => Fate::Unconnected,
            Error::Io(_) | Error::WorkerCrashed | Error::Protocol(_) => Fate::Unknown,
            Error::Database(error) => Fate::of_state(error.code().as_deref().unwrap_or_default()),
            _ => Fate::Final,
        }
    }

    fn of_state(state: &str) -> Self {
        match state {
            // serialization_failure, deadlock_detected
            "40001" | "40P01" => Fate::RolledBack,
            // statement_completion_unknown; admin_shutdown, crash_shutdown, cannot_connect_now;
            // idle_in_transaction_session_timeout; too_many_connections
            "40003" | "57P01" | "57P02" | "57P03" | "25P03" | "53300" => Fate::Unknown,
            state if state.starts_with("08") => Fate::Unknown,
            _ => Fate::Final,
        }
    }
}

/// The bounds: so often, and so long between the first two attempts; twice as long after each.
const ATTEMPTS: u32 = 8;

/// So often an operation waits for a connection, each time as long as the pool does: a call, which
/// is several operations, takes a minute at most.
const WAITS: u32 = 2;
const FIRST_PAUSE: Duration = Duration::from_millis(25);

/// The attempts of one operation.
#[derive(Debug)]
pub(super) struct Tries {
    made: u32,
    unconnected: u32,
    maybe_committed: bool,
}

impl Tries {
    pub(super) const fn new() -> Self {
        Tries {
            made: 0,
            unconnected: 0,
            maybe_committed: false,
        }
    }

    /// Whether an earlier attempt may have been committed.
    pub(super) const fn maybe_committed(&self) -> bool {
        self.maybe_committed
    }

    /// How long to wait before the next attempt, if there is to be one.
    pub(super) fn next(&mut self, fate: Fate) -> Option<Duration> {
        self.made += 1;
        self.maybe_committed |= fate == Fate::Unknown;
        self.unconnected += u32::from(fate == Fate::Unconnected);
        let again = fate != Fate::Final && self.made < ATTEMPTS && self.unconnected < WAITS;
        again.then(|| FIRST_PAUSE * 2_u32.pow(self.made - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::{ATTEMPTS, Fate, Tries, WAITS};
    use std::io;
    use std::time::Duration;

    #[test]
    fn states_mean_what_the_manual_says() {
        let cases = [
            ("40001", Fate::RolledBack),
            ("40P01", Fate::RolledBack),
            ("57P01", Fate::Unknown),
            ("08006", Fate::Unknown),
            ("40003", Fate::Unknown),
            ("23505", Fate::Final),
            ("42501", Fate::Final),
            ("53100", Fate::Final),
            ("", Fate::Final),
        ];
        for (state, fate) in cases {
            assert_eq!(Fate::of_state(state), fate, "{state}");
        }
        let reset = sqlx::Error::Io(io::ErrorKind::ConnectionReset.into());
        assert_eq!(Fate::of(&reset), Fate::Unknown);
        assert_eq!(Fate::of(&sqlx::Error::RowNotFound), Fate::Final);
        assert_eq!(Fate::of(&sqlx::Error::PoolTimedOut), Fate::Unconnected);
    }

    #[test]
    fn attempts_are_bounded_and_doubt_stays() {
        let mut tries = Tries::new();
        assert!(tries.next(Fate::RolledBack).is_some());
        assert!(!tries.maybe_committed());
        assert!(tries.next(Fate::Unknown).is_some());
        assert!(tries.next(Fate::RolledBack).is_some());
        assert!(tries.maybe_committed());
        let rest = (0..).take_while(|_| tries.next(Fate::Unknown).is_some());
        assert_eq!(u32::try_from(rest.count()).unwrap(), ATTEMPTS - 4);

        assert_eq!(Tries::new().next(Fate::Final), None);
        let mut tries = Tries::new();
        let waits = (1..).take_while(|_| tries.next(Fate::Unconnected).is_some());
        assert_eq!(u32::try_from(waits.count()).unwrap(), WAITS - 1);
        assert!(!tries.maybe_committed());
        let mut tries = Tries::new();
        let pauses: Vec<Duration> = std::iter::from_fn(|| tries.next(Fate::RolledBack)).collect();
        assert!(pauses.is_sorted());
        assert!(pauses.iter().sum::<Duration>() < Duration::from_secs(10));
    }
}
