//! What the administrator of PostgreSQL sets, and what a ledger's own sessions make of it.

use std::time::Duration;

use kazoe_coordinator::ledger::{ConnectError, Ledger, LedgerError, PostgresLedger, StorageFault};
use sqlx::{AssertSqlSafe, Executor, PgConnection};

use crate::made_up::{deliveries, owner, submission};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::Server;

const LONG: Duration = Duration::from_secs(3600);

/// Writes down how durable the transactions are that write to a campaign.
const WITNESS: &str = "
    CREATE TABLE seen (synchronous_commit text);
    CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        INSERT INTO public.seen VALUES (current_setting('synchronous_commit'));
        RETURN NULL;
    END $$;
    CREATE TRIGGER see AFTER INSERT ON results FOR EACH STATEMENT EXECUTE FUNCTION see();
";

/// What the witness wrote since it was last asked.
async fn seen(admin: &mut PgConnection) -> Vec<String> {
    let seen = sqlx::query_scalar("DELETE FROM seen RETURNING synchronous_commit");
    seen.fetch_all(admin).await.unwrap()
}

async fn deliver(ledger: &PostgresLedger, id: &str) {
    let lease = ledger
        .claim_one(id, &owner("a"), 1, LONG)
        .await
        .unwrap()
        .unwrap();
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_commit_is_durable_whatever_the_server_s_default_becomes() {
    let server = Server::private().await;
    let database = server.fresh().await;
    let mut admin = database.admin().await;
    admin.execute(WITNESS).await.unwrap();
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 20 * 4096)).await.unwrap();

    // In sessions that are there, and in later ones.
    server.set("synchronous_commit", Some("off")).await;
    deliver(&ledger, &campaign.id).await;
    assert_eq!(seen(&mut admin).await, ["on"]);
    for whose in [
        "ROLE kazoe_runtime".to_owned(),
        format!("DATABASE {}", database.name),
    ] {
        let default = format!("ALTER {whose} SET synchronous_commit = off");
        admin.execute(AssertSqlSafe(default)).await.unwrap();
        admin
            .execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE usename = 'kazoe_runtime'",
            )
            .await
            .unwrap();
        deliver(&ledger, &campaign.id).await;
        assert_eq!(seen(&mut admin).await, ["on"]);
    }
    deliver(&database.ledger().await, &campaign.id).await;
    assert_eq!(seen(&mut admin).await, ["on"]);

    // What waits for standbys as well is as durable, and stays.
    admin
        .execute("ALTER ROLE kazoe_runtime SET synchronous_commit = remote_apply")
        .await
        .unwrap();
    deliver(&database.ledger().await, &campaign.id).await;
    assert_eq!(seen(&mut admin).await, ["remote_apply"]);
}

#[tokio::test]
async fn a_standby_is_refused_by_name() {
    let server = Server::private().await;
    let database = server.fresh().await;
    server.restart(&["wal_level=replica"]).await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    server.restart_as_standby().await;
    let refused = PostgresLedger::connect(&database.url("kazoe_runtime")).await;
    assert_standby(refused.map(|_| ()));
    assert_standby(PostgresLedger::migrate(&database.url("kazoe_owner")).await);
    // A ledger of before may still be read.
    ledger.snapshot(&campaign.id).await.unwrap();
    let refused = ledger.claim_one(&campaign.id, &owner("a"), 1, LONG).await;
    assert!(
        matches!(&refused, Err(LedgerError::Storage(error)) if error.fault == StorageFault::ReadOnly),
        "{refused:?}"
    );
}

#[track_caller]
fn assert_standby(refused: Result<(), ConnectError>) {
    assert!(
        matches!(&refused, Err(ConnectError::Storage(error)) if error.fault == StorageFault::Standby),
        "{refused:?}"
    );
}
