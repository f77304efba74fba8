//! What somebody asks costs what is asked, not what there is: the rows that PostgreSQL reads are counted, on
//! tables of which its planner knows nothing yet.

use std::time::Duration;

use kazoe_coordinator::ledger::{AskingWorker, CampaignRecord, Lease, Ledger, PostgresLedger};
use sqlx::AssertSqlSafe;

use crate::crowds::{CROWD, all_at_once, claim_all, join_all, worker};
use crate::made_up::{assert_sound, audited_submission, deliveries, delivery, owner, submission};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::{Database, Server};

const LONG: Duration = Duration::from_secs(3600);

/// How many rows one request may read at most, whatever there is: a lease, a worker, a loan and a tally, each a
/// few times.
const EACH: i64 = 40;

/// How many leases others hold.
const OTHERS: u64 = 60_000;

/// The rows that were read of the ledger so far. A connection's count when it ends, so it waits for that.
async fn rows_read(database: &Database<'_>) -> i64 {
    let mut admin = database.admin().await;
    loop {
        let others: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND backend_type = 'client backend'
               AND pid <> pg_backend_pid()",
        )
        .fetch_one(&mut admin)
        .await
        .unwrap();
        if others == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    sqlx::query_scalar(
        "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
         FROM pg_stat_user_tables WHERE relname <> 'schema_migrations'",
    )
    .fetch_one(&mut admin)
    .await
    .unwrap()
}

/// How many rows it takes, with a ledger of its own.
async fn cost<F>(database: &Database<'_>, act: impl FnOnce(PostgresLedger) -> F) -> i64
where
    F: Future<Output = PostgresLedger>,
{
    let before = rows_read(database).await;
    act(database.ledger().await).await.close().await;
    rows_read(database).await - before
}

/// Each of the crowd did so once.
fn assert_cheap(what: &str, rows: i64) {
    let each = rows / i64::try_from(CROWD).unwrap();
    assert!(each <= EACH, "{what} reads {each} rows");
}

fn number(place: u64) -> usize {
    usize::try_from(place).unwrap()
}

/// Lends the first segments to workers who are not of the crowd, each under a lease of its own.
async fn lend_to_others(database: &Database<'_>, id: &str) {
    let hold = LONG.as_millis();
    let statements = format!(
        "INSERT INTO leases (secret, campaign, owner, worker, operator, build, claimed_at, deadline)
         SELECT substring(uuid_send(gen_random_uuid()) FOR 8), '{id}', 'o', 'o-' || n, false, 'test 1',
                at, at + {hold}
         FROM generate_series(1, {OTHERS}) AS n,
              (SELECT (1000 * extract(epoch FROM clock_timestamp()))::bigint) AS clock (at);
         INSERT INTO loans (lease, segment, campaign, purpose)
         SELECT sequence, row_number() OVER () - 1, campaign, 'fill' FROM leases;
         UPDATE campaigns SET frontier = {OTHERS};"
    );
    let mut admin = database.admin().await;
    sqlx::raw_sql(AssertSqlSafe(statements))
        .execute(&mut admin)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_crowd_costs_no_more_among_thousands_of_leases() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let samples = 2 * OTHERS * 4096;
    let (campaign, _) = ledger.submit(&submission(1, samples)).await.unwrap();
    join_all(&ledger).await;
    lend_to_others(&database, &campaign.id).await;
    let leases = claim_all(&ledger, &campaign.id, 1).await;
    ledger.close().await;

    let asked = cost(&database, async |ledger| {
        all_at_once(|number| {
            let (ledger, who) = (ledger.clone(), worker(number));
            async move {
                let asking = AskingWorker {
                    id: who.worker,
                    owner: who.owner,
                    threads: 1,
                    speed: None,
                };
                let (_, held) = ledger.ask_one(asking).await.unwrap().unwrap();
                assert_eq!(held, 1);
            }
        })
        .await;
        ledger
    });
    assert_cheap("a question", asked.await);

    let claimed = cost(&database, async |ledger| {
        claim_all(&ledger, &campaign.id, 1).await;
        ledger
    });
    assert_cheap("a claim", claimed.await);
    let beaten = cost(&database, async |ledger| {
        all_at_once(|place| {
            let (ledger, token) = (ledger.clone(), leases[number(place)].key);
            async move {
                let worker = worker(place).worker;
                ledger.beat_one(token, &worker, LONG).await.unwrap();
            }
        })
        .await;
        ledger
    });
    assert_cheap("a heartbeat", beaten.await);
    let delivered = cost(&database, async |ledger| {
        all_at_once(|place| {
            let (ledger, lease) = (ledger.clone(), leases[number(place)].clone());
            async move {
                let taken = ledger.deliver_one(lease.key, &deliveries(&lease)).await;
                assert_eq!(taken.unwrap().len(), 1);
            }
        })
        .await;
        ledger
    });
    assert_cheap("a tally", delivered.await);
    let ended = cost(&database, async |ledger| {
        all_at_once(|place| {
            let (ledger, token) = (ledger.clone(), leases[number(place)].key);
            async move { assert_eq!(ledger.end_one(token).await.unwrap(), 0) }
        })
        .await;
        ledger
    });
    assert_cheap("an end", ended.await);
    assert_sound(&database.ledger().await, &campaign).await;
}

/// A campaign all of whose segments were filled by one owner and are to be audited, but for two.
async fn audited_campaign(ledger: &PostgresLedger, segments: u64) -> CampaignRecord {
    let audited = audited_submission(1, (segments + 2) * 4096);
    let (campaign, _) = ledger.submit(&audited).await.unwrap();
    let all: Vec<_> = (0..segments)
        .map(|segment| delivery(segment, 4096))
        .collect();
    ledger
        .import(&campaign.id, &owner("a"), &all)
        .await
        .unwrap();
    campaign
}

#[tokio::test]
async fn a_lone_owner_looks_through_no_audits() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let campaign = audited_campaign(&ledger, 2000).await;
    // The first to come is past what was filled already.
    let first = ledger.claim_one(&campaign.id, &owner("c"), 1, LONG).await;
    assert_eq!(first.unwrap().unwrap().segments[0].segment, 2000);
    ledger.close().await;
    let claim = async |who: &'static str, want: u32| {
        let mut lent = None;
        let rows = cost(&database, async |ledger| {
            let lease = ledger
                .claim_one(&campaign.id, &owner(who), want, LONG)
                .await;
            lent = lease.unwrap();
            ledger
        });
        let rows = rows.await;
        let segments = |lease: Lease| lease.segments.iter().map(|one| one.segment).collect();
        let segments: Vec<u64> = lent.map(segments).unwrap_or_default();
        (segments, rows)
    };
    let (segments, rows) = claim("a", 4).await;
    assert_eq!(segments, [2001], "its own it does not audit");
    assert!(rows <= EACH, "{rows} rows");
    let (segments, rows) = claim("b", 4).await;
    assert_eq!(segments, [0, 1, 2, 3]);
    assert!(rows <= 4 * EACH, "{rows} rows");
    let (segments, _) = claim("b", 2).await;
    assert_eq!(segments, [4, 5]);
}
