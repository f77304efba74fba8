//! Errors of PostgreSQL, and of the poolers before it, as faults of the storage.

use sqlx::Error;

use crate::ledger::{Place, StorageError, StorageFault};

/// Returns the fault that an error means, by its SQLSTATE (PostgreSQL's manual, appendix A).
pub(super) fn storage_error(server: &str, error: &Error) -> StorageError {
    let fault = match error {
        Error::Database(error) => {
            fault_of_state(&error.code().unwrap_or_default(), error.message())
        }
        Error::Io(_)
        | Error::Tls(_)
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed
        | Error::Protocol(_) => StorageFault::Unreachable,
        _ => StorageFault::Other,
    };
    let detail = match error {
        Error::Database(error) => error.message().to_owned(),
        Error::Io(error) => error.to_string(),
        error => error.to_string(),
    };
    StorageError {
        place: Place::Server(server.to_owned()),
        fault,
        detail,
    }
}

fn fault_of_state(state: &str, message: &str) -> StorageFault {
    match state {
        "53100" => StorageFault::Full,
        "XX001" | "XX002" => StorageFault::Corrupt,
        // serialization_failure, deadlock_detected, lock_not_available, query_canceled
        "40001" | "40P01" | "55P03" | "57014" => StorageFault::Busy,
        // too_many_connections: this one was wanted.
        "53300" => StorageFault::Connections { had: 0, wanted: 1 },
        // read_only_sql_transaction
        "25006" => StorageFault::ReadOnly,
        // insufficient_privilege
        "42501" => StorageFault::Rights,
        // invalid_sql_statement_name, duplicate_prepared_statement: another client uses the session.
        "26000" | "42P05" => StorageFault::PoolerMode,
        // protocol_violation: PgBouncer has this one state for all that it says itself.
        "08P01" => fault_of_pooler(message),
        // invalid_schema_name
        "3F000" => StorageFault::Schema,
        state => match state.get(..2) {
            // Syntax and names: a table, a column, a function, a type.
            Some("42") => StorageFault::Schema,
            // Logins, and a database that does not exist.
            Some("28" | "3D") => StorageFault::Login,
            // Connections, and a server that starts or stops.
            Some("08" | "57") => StorageFault::Unreachable,
            _ => StorageFault::Other,
        },
    }
}

/// By the texts of PgBouncer 1.18 to 1.24.
fn fault_of_pooler(message: &str) -> StorageFault {
    let says = |words: &str| message.contains(words);
    if says("startup parameter") {
        StorageFault::PoolerOption
    } else if says("statement pooling mode") || says("prepared statement") {
        StorageFault::PoolerMode
    } else if says("no more connections allowed") || says("query_wait_timeout") {
        StorageFault::Connections { had: 0, wanted: 1 }
    } else if says("no such database") || says("no such user") || says("auth") {
        StorageFault::Login
    } else {
        StorageFault::Unreachable
    }
}

#[cfg(test)]
mod tests {
    use super::fault_of_state;
    use crate::ledger::StorageFault::{self, *};

    #[test]
    fn a_state_means_what_the_manual_says() {
        let none: StorageFault = Connections { had: 0, wanted: 1 };
        for (state, message, fault) in [
            ("53100", "could not extend file", Full),
            ("55P03", "canceling statement due to lock timeout", Busy),
            ("53300", "sorry, too many clients already", none),
            (
                "25006",
                "cannot execute INSERT in a read-only transaction",
                ReadOnly,
            ),
            ("42501", "permission denied for table results", Rights),
            ("42703", "column \"speed\" does not exist", Schema),
            ("42P01", "relation \"campaigns\" does not exist", Schema),
            ("42883", "function f() does not exist", Schema),
            ("3F000", "no schema has been selected to create in", Schema),
            (
                "26000",
                "prepared statement \"sqlx_s_1\" does not exist",
                PoolerMode,
            ),
            (
                "42P05",
                "prepared statement \"sqlx_s_1\" already exists",
                PoolerMode,
            ),
            ("28P01", "password authentication failed", Login),
            ("3D000", "database \"kazo\" does not exist", Login),
            ("57P03", "the database system is starting up", Unreachable),
            ("08006", "connection failure", Unreachable),
            (
                "08P01",
                "unsupported startup parameter: options",
                PoolerOption,
            ),
            (
                "08P01",
                "transaction blocks not allowed in statement pooling mode",
                PoolerMode,
            ),
            (
                "08P01",
                "no more connections allowed (max_client_conn)",
                none,
            ),
            ("08P01", "query_wait_timeout", none),
            ("08P01", "no such database: kazo", Login),
            ("08P01", "pgbouncer cannot connect to server", Unreachable),
            ("22012", "division by zero", Other),
            ("", "", Other),
        ] {
            assert_eq!(fault_of_state(state, message), fault, "{state} {message}");
        }
    }
}
