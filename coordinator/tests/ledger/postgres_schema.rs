//! What the schema on PostgreSQL allows and to whom, whatever a coordinator does.

use std::time::Duration;

use kazoe_coordinator::ledger::{ConnectError, Ledger, LedgerError, PostgresLedger};
use kazoe_proto::lease_key::LeaseKey;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::made_up::{assert_sound, deliveries, delivery, owner, submission};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::Server;

const LONG: Duration = Duration::from_secs(3600);

/// The SQLSTATE and the words of a statement's refusal.
async fn refusal(conn: &mut PgConnection, statement: &str) -> (String, String) {
    let done = sqlx::query(AssertSqlSafe(statement)).execute(conn).await;
    let error = match done {
        Ok(_) => panic!("{statement} was done"),
        Err(error) => error.into_database_error().unwrap(),
    };
    let state = error.code().unwrap().into_owned();
    (state, error.to_string())
}

async fn refused_connection(url: &str) -> ConnectError {
    match PostgresLedger::connect(url).await {
        Ok(_) => panic!("connected to {url}"),
        Err(error) => error,
    }
}

/// A campaign of 200 segments, of which the first 150 are accepted.
async fn fill(ledger: &PostgresLedger) -> String {
    let (campaign, _) = ledger.submit(&submission(1, 200 * 4096)).await.unwrap();
    let lease = ledger
        .claim_one(&campaign.id, &owner("a"), 150, LONG)
        .await
        .unwrap()
        .unwrap();
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    campaign.id
}

/// What breaks an invariant that the audit looks for, in a campaign of 200 segments of which the first
/// 150 are accepted and lie before the frontier. No ledger allows it.
const BREACHES: [(&str, &str); 8] = [
    (
        "I1",
        "UPDATE accepted SET result = result + 1 WHERE segment = 9",
    ),
    ("I2", "UPDATE campaigns SET samples = 149 * 4096 + 5"),
    (
        "I3",
        "INSERT INTO result_cells SELECT result, 0, 1 FROM accepted WHERE segment = 3",
    ),
    (
        "I3",
        "INSERT INTO result_depths SELECT result, 77, 1 FROM accepted WHERE segment = 3",
    ),
    ("I6", "UPDATE campaigns SET frontier = 160"),
    (
        "I6",
        "INSERT INTO waiting SELECT campaign, 3, 'returned' FROM accepted LIMIT 1",
    ),
    ("I6", "DELETE FROM accepted WHERE segment = 149"),
    (
        "I6",
        "INSERT INTO set_aside SELECT id, 200, 'x' FROM campaigns",
    ),
];

#[tokio::test]
async fn migrations_apply_to_an_empty_database_by_many_at_once() {
    let server = Server::shared().await;
    let database = server.empty_database().await;
    let runtime = database.url("kazoe_runtime");
    let error = refused_connection(&runtime).await;
    assert!(matches!(error, ConnectError::Behind(_)), "{error:?}");

    let owner = database.url("kazoe_owner");
    let all = (0..4).map(|_| {
        let owner = owner.clone();
        tokio::spawn(async move { PostgresLedger::migrate(&owner).await })
    });
    for one in all.collect::<Vec<_>>() {
        one.await.unwrap().unwrap();
    }
    let mut conn = database.connection("kazoe_owner").await;
    let applied =
        sqlx::query_scalar::<_, i64>("SELECT version FROM schema_migrations ORDER BY version")
            .fetch_all(&mut conn)
            .await
            .unwrap();
    assert_eq!(
        applied,
        [
            20_261_130_000_000,
            20_261_201_000_000,
            20_261_202_000_000,
            20_261_203_000_000,
            20_261_204_000_000,
            20_261_205_000_000,
            20_261_210_000_000,
            20_261_210_000_001
        ]
    );
    let ledger = PostgresLedger::connect(&runtime).await.unwrap();
    fill(&ledger).await;

    // A later build's schema is left alone.
    sqlx::query("INSERT INTO schema_migrations VALUES (29991231000000, 'later', 0)")
        .execute(&mut conn)
        .await
        .unwrap();
    let connecting = refused_connection(&runtime).await;
    let migrating = PostgresLedger::migrate(&owner).await.unwrap_err();
    for error in [connecting, migrating] {
        let ConnectError::Newer { version, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(version, 29_991_231_000_000);
    }
}

#[tokio::test]
async fn the_runtime_role_adds_rows_and_defines_nothing() {
    let server = Server::shared().await;
    let database = server.empty_database().await;
    PostgresLedger::migrate(&database.url("kazoe_owner"))
        .await
        .unwrap();
    fill(&database.ledger().await).await;
    let mut conn = database.connection("kazoe_runtime").await;
    for statement in [
        "UPDATE results SET samples = samples",
        "DELETE FROM results",
        "TRUNCATE results CASCADE",
        "UPDATE result_cells SET count = count",
        "DELETE FROM result_cells",
        "UPDATE result_depths SET count = count",
        "DELETE FROM result_depths",
        "UPDATE witnesses SET sample = sample",
        "DELETE FROM witnesses",
        "UPDATE self_tests SET tally = ''",
        "DELETE FROM self_tests",
        "UPDATE audit_log SET note = ''",
        "DELETE FROM audit_log",
        "DELETE FROM leases",
        "UPDATE leases SET secret = secret",
        "DELETE FROM loans",
        "DELETE FROM disputes",
        "DELETE FROM campaigns",
        "UPDATE campaigns SET seed = seed",
        "UPDATE campaigns SET salt = salt",
        "DELETE FROM credentials",
        "UPDATE credentials SET role = 'operator'",
        "DELETE FROM workers",
        "UPDATE workers SET owner = owner",
        "DELETE FROM schema_migrations",
        "CREATE TABLE mine (x bigint)",
        "CREATE TEMPORARY TABLE mine (x bigint)",
        "CREATE SCHEMA mine",
        "ALTER TABLE results ADD COLUMN mine bigint",
        "ALTER TABLE results DISABLE TRIGGER ALL",
        "DROP TABLE checkpoints",
        "DROP INDEX accepted_by_result",
    ] {
        let (state, words) = refusal(&mut conn, statement).await;
        assert_eq!(state, "42501", "{statement}: {words}");
    }
}

#[tokio::test]
async fn the_owner_cannot_rewrite_the_log_by_mistake() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let id = fill(&ledger).await;
    ledger.retract(&id, 7, "op", "a test").await.unwrap();
    let lease = ledger.claim_one(&id, &owner("a"), 1, LONG).await.unwrap();
    ledger.end_one(lease.unwrap().key).await.unwrap();
    let mut conn = database.connection("kazoe_owner").await;
    for statement in [
        "UPDATE results SET samples = samples + 1",
        "DELETE FROM results",
        "TRUNCATE results CASCADE",
        "UPDATE result_cells SET count = count + 1",
        "DELETE FROM result_depths",
        "DELETE FROM witnesses",
        "DELETE FROM self_tests",
        "UPDATE audit_log SET note = ''",
        "DELETE FROM leases",
        "UPDATE leases SET deadline = 0 WHERE ended_at IS NOT NULL",
        "DELETE FROM loans",
        "UPDATE loans SET closing = 'returned' WHERE closed_at IS NOT NULL",
        "DELETE FROM disputes",
    ] {
        let (state, words) = refusal(&mut conn, statement).await;
        assert_eq!(state, "23001", "{statement}: {words}");
    }
}

#[tokio::test]
async fn a_second_accepted_row_cannot_exist() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let id = fill(&ledger).await;
    let verdicts = ledger.import(&id, &owner("b"), &[delivery(0, 4096)]).await;
    assert_eq!(verdicts.unwrap().len(), 1);
    // Two results of segment 0 are in the log: neither can be accepted beside the other.
    let mut conn = database.connection("kazoe_runtime").await;
    for other in ["min", "max"] {
        let statement = format!(
            "INSERT INTO accepted
             SELECT campaign, segment, {other}(id) FROM results WHERE segment = 0 GROUP BY 1, 2"
        );
        let (state, words) = refusal(&mut conn, &statement).await;
        assert_eq!(state, "23505", "{words}");
        assert!(words.contains("accepted_pkey"), "{words}");
    }
    let strange = "UPDATE accepted SET result = result + 1 WHERE segment = 0";
    assert_eq!(refusal(&mut conn, strange).await.0, "23503");

    // Nor can two who do not see each other's row: the second waits for the first, and is refused.
    let insert = "INSERT INTO accepted SELECT campaign, segment, id FROM results WHERE segment = 5";
    let delete = "DELETE FROM accepted WHERE segment = 5";
    sqlx::query(delete).execute(&mut conn).await.unwrap();
    let mut other = database.connection("kazoe_runtime").await;
    for conn in [&mut conn, &mut other] {
        sqlx::query("BEGIN").execute(conn).await.unwrap();
    }
    sqlx::query(insert).execute(&mut conn).await.unwrap();
    let second = tokio::spawn(async move { refusal(&mut other, insert).await });
    sqlx::query("COMMIT").execute(&mut conn).await.unwrap();
    assert_eq!(second.await.unwrap().0, "23505");
}

#[tokio::test]
async fn only_the_whole_token_extends_or_ends_a_lease() {
    type Row = (i64, Option<i64>, i64);
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 8 * 4096)).await.unwrap();
    let mut leases = Vec::new();
    for name in ["a", "b"] {
        let lease = ledger.claim_one(&campaign.id, &owner(name), 4, LONG).await;
        leases.push(lease.unwrap().unwrap());
    }
    assert_ne!(leases[0].key.secret, leases[1].key.secret);
    let mut conn = database.connection("kazoe_runtime").await;
    let mut rows = async || {
        sqlx::query_as::<_, Row>(
            "SELECT deadline, ended_at,
                    (SELECT count(*) FROM loans WHERE lease = sequence AND closed_at IS NULL)
             FROM leases ORDER BY sequence",
        )
        .fetch_all(&mut conn)
        .await
        .unwrap()
    };
    let before = rows().await;
    let mut near = leases[0].key;
    near.secret[7] ^= 1;
    let exchanged = LeaseKey {
        secret: leases[1].key.secret,
        ..leases[0].key
    };
    for token in [near, exchanged] {
        for refused in [
            ledger.extend(token, 2 * LONG).await,
            ledger.end_one(token).await.map(|_| ()),
            ledger
                .deliver_one(token, &[delivery(0, 4096)])
                .await
                .map(|_| ()),
        ] {
            assert!(matches!(refused, Err(LedgerError::NotHeld(_))));
        }
    }
    assert_eq!(rows().await, before);

    // The right one changes its own lease, and no other.
    ledger.extend(leases[0].key, 2 * LONG).await.unwrap();
    assert_eq!(ledger.end_one(leases[0].key).await.unwrap(), 4);
    let after = rows().await;
    assert!(after[0].0 > before[0].0 && after[0].1.is_some());
    assert_eq!(after[0].2, 0);
    assert_eq!(after[1], before[1]);
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn the_audit_sees_each_broken_invariant() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let id = fill(&ledger).await;
    assert!(ledger.check_invariants(&id).await.unwrap().is_empty());
    ledger.close().await;
    for (invariant, statement) in BREACHES {
        let broken = server.copy_of(&database).await;
        let mut admin = broken.admin().await;
        // Neither triggers nor foreign keys.
        for statement in ["SET session_replication_role = replica", statement] {
            sqlx::query(AssertSqlSafe(statement))
                .execute(&mut admin)
                .await
                .unwrap();
        }
        let breaches = broken.ledger().await.check_invariants(&id).await.unwrap();
        assert!(
            breaches.iter().any(|breach| breach.invariant == invariant),
            "{statement}: {breaches:?}"
        );
    }
}

#[tokio::test]
async fn whoever_could_do_more_is_refused() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    for role in ["kazoe_owner", "admin"] {
        let error = refused_connection(&database.url(role)).await;
        assert!(
            matches!(error, ConnectError::Privileged { .. }),
            "{error:?}"
        );
    }
    // A grant that somebody made by hand is found, too.
    let mut conn = database.connection("kazoe_owner").await;
    sqlx::query("GRANT UPDATE (samples) ON results TO kazoe_runtime")
        .execute(&mut conn)
        .await
        .unwrap();
    let error = refused_connection(&database.url("kazoe_runtime")).await;
    assert!(error.to_string().contains("change or delete results"));

    let error = refused_connection(&database.url("nobody_we_know")).await;
    assert!(matches!(error, ConnectError::Storage(_)), "{error:?}");
    let error = refused_connection("kazoe.db").await;
    assert!(matches!(error, ConnectError::Address(_)), "{error:?}");
}

#[tokio::test]
async fn tables_that_the_search_path_hides_are_named() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let url = database.url("kazoe_runtime");
    let error = refused_connection(&format!("{url}&options[search_path]=elsewhere")).await;
    assert!(
        matches!(&error, ConnectError::Hidden { schema, .. } if schema == "public"),
        "{error:?}"
    );
}
