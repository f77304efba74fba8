//! Campaigns of another build: they are listed apart, and no other campaign is the worse for them.

use std::time::Duration;

use kazoe_coordinator::ledger::{LedgerError, LocalStore, NewWorker};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::made_up::{Sound, assert_sound, campaign, delivery, owner, submission};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::Server;

const LONG: Duration = Duration::from_secs(3600);

const ID: &str = "aaaaaaaaaa";

/// A row of a campaign that has the identity of seed 9 under another id.
fn same_identity() -> String {
    let canonical = campaign(9).canonical();
    format!(
        "INSERT INTO campaigns (id, canonical, variant, population, design, seed, samples, segment_blocks,
                                build, submitted_at)
         VALUES ('bbbbbbbbbb', '{canonical}', 'minishogi', 'candidates', 'plain', '9', 4096, 1, 'b', 0)"
    )
}

/// A row of a design that this build does not know.
fn of_a_later_design() -> String {
    format!(
        "INSERT INTO campaigns (id, canonical, variant, population, design, seed, samples, segment_blocks,
                                build, submitted_at)
         VALUES ('{ID}', 'other', 'minishogi', 'candidates', 'weighed', '1', 4096, 1, 'kazoe 9', 0)"
    )
}

/// What every ledger does with such rows in it.
async fn blocks_nothing(ledger: &impl Sound) {
    let (record, _) = ledger.submit(&submission(1, 5 * 4096)).await.unwrap();
    let listed = ledger.listed().await.unwrap();
    assert_eq!(listed.known.as_slice(), std::slice::from_ref(&record));
    assert_eq!(ledger.campaigns().await.unwrap(), listed.known);
    let [later, same] = &listed.foreign[..] else {
        panic!("{listed:?}");
    };
    assert_eq!((later.id.as_str(), later.design.as_str()), (ID, "weighed"));
    assert_eq!((later.samples, later.priority), (Some(4096), Some(0)));
    assert_eq!(later.why, "unknown design `weighed`");
    assert!(same.why.contains(&campaign(9).id()), "{}", same.why);

    let all: Vec<_> = (0..5).map(|segment| delivery(segment, 4096)).collect();
    ledger.import(&record.id, &owner("a"), &all).await.unwrap();
    assert!(ledger.snapshot(&record.id).await.unwrap().is_complete());
    assert_sound(ledger, &record).await;

    let is_foreign = |error: Option<LedgerError>, id: &str| match error {
        Some(LedgerError::Foreign(one)) => assert_eq!(one.id, id),
        other => panic!("{other:?}"),
    };
    is_foreign(ledger.snapshot(ID).await.err(), ID);
    is_foreign(ledger.campaign(ID).await.err(), ID);
    is_foreign(ledger.segments(ID, 0, 1).await.err(), ID);
    is_foreign(
        ledger.submit(&submission(9, 4096)).await.err(),
        "bbbbbbbbbb",
    );
}

#[tokio::test]
async fn in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kazoe.db");
    LocalStore::open(&path)
        .await
        .unwrap()
        .close()
        .await
        .unwrap();
    let url = format!("sqlite:{}", path.display());
    let mut conn = SqliteConnection::connect(&url).await.unwrap();
    for row in [of_a_later_design(), same_identity()] {
        sqlx::query(AssertSqlSafe(row))
            .execute(&mut conn)
            .await
            .unwrap();
    }
    conn.close().await.unwrap();
    blocks_nothing(&LocalStore::open(&path).await.unwrap()).await;
}

#[tokio::test]
async fn on_a_server() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let mut conn = database.connection("kazoe_runtime").await;
    for row in [of_a_later_design(), same_identity()] {
        sqlx::query(AssertSqlSafe(row))
            .execute(&mut conn)
            .await
            .unwrap();
    }
    blocks_nothing(&ledger).await;
    for refused in [
        ledger.claim_one(ID, &owner("a"), 1, LONG).await.err(),
        ledger.retry(ID, 0, "op").await.err(),
    ] {
        assert!(
            matches!(refused, Some(LedgerError::Foreign(_))),
            "{refused:?}"
        );
    }
    assert!(matches!(
        ledger.set_priority(ID, 1, "op").await,
        Err(LedgerError::Foreign(_))
    ));

    // A worker's leases of it go back with its token, as all others.
    let new = NewWorker {
        owner: "a".to_owned(),
        credential: None,
        operator: false,
        build: "test 1".to_owned(),
        name: None,
    };
    assert!(ledger.join_one("w-1", &new).await.unwrap());
    sqlx::query(
        "WITH lent AS (
             INSERT INTO leases (secret, campaign, owner, worker, operator, build, claimed_at, deadline)
             VALUES ('12345678', $1, 'a', 'w-1', false, 'kazoe 9', 0, 9000000000000)
             RETURNING sequence)
         INSERT INTO loans (lease, segment, campaign, purpose)
         SELECT sequence, 0, $1, 'fill' FROM lent",
    )
    .bind(ID)
    .execute(&mut conn)
    .await
    .unwrap();
    assert_eq!(ledger.forfeit("w-1").await.unwrap(), 1);
}
