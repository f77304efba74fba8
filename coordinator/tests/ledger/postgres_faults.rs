//! What can happen to a coordinator on PostgreSQL: others at the same campaign, deadlocks, lost
//! connections, a server that dies.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kazoe_coordinator::ledger::{
    CampaignRecord, ConnectError, Ledger, LedgerError, PostgresLedger, StorageFault, Submitted,
};
use kazoe_proto::outcome::DeliveryOutcome;
use sqlx::PgConnection;

use crate::made_up::{assert_sound, deliveries, delivery, owner, submission, tally};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_proxy::{Loss, Proxy};
use kazoe_coordinator_testkit::postgres_server::Server;

const LONG: Duration = Duration::from_secs(3600);

/// Claims, extends, delivers one by one and ends, until the campaign has nothing left to lend.
async fn work(ledger: Arc<PostgresLedger>, campaign: CampaignRecord, name: String) {
    let who = owner(&name);
    while let Some(lease) = ledger.claim_one(&campaign.id, &who, 3, LONG).await.unwrap() {
        ledger.extend(lease.key, LONG).await.unwrap();
        // The last one is given back.
        let kept = lease.segments.len().min(2);
        for delivery in &deliveries(&lease)[..kept] {
            let sent = std::slice::from_ref(delivery);
            let verdicts = ledger.deliver_one(lease.key, sent).await.unwrap();
            // Sent again after a lost connection it is a repeat; nobody else has the segment.
            assert!(matches!(
                verdicts[0],
                DeliveryOutcome::Accepted | DeliveryOutcome::Repeat
            ));
        }
        let returned = ledger.end_one(lease.key).await.unwrap();
        assert_eq!(
            returned,
            u64::try_from(lease.segments.len() - kept).unwrap()
        );
    }
}

async fn finish(ledgers: &[Arc<PostgresLedger>], campaign: &CampaignRecord) {
    let workers: Vec<_> = (0..6)
        .map(|number| {
            let ledger = Arc::clone(&ledgers[number % ledgers.len()]);
            let campaign = campaign.clone();
            tokio::spawn(work(ledger, campaign, format!("w{number}")))
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    // Who asked while the last segments were lent has left; they may have been given back since.
    work(Arc::clone(&ledgers[0]), campaign.clone(), "last".to_owned()).await;
    assert!(
        ledgers[0]
            .snapshot(&campaign.id)
            .await
            .unwrap()
            .is_complete()
    );
    assert_sound(&*ledgers[0], campaign).await;
}

#[tokio::test]
async fn two_coordinators_count_a_campaign_once() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledgers = [
        Arc::new(database.ledger().await),
        Arc::new(database.ledger().await),
    ];
    // Both submit at once: one makes the campaign, the other finds it.
    let submission = submission(1, 60 * 4096 + 7);
    let (first, second) = tokio::join!(
        ledgers[0].submit(&submission),
        ledgers[1].submit(&submission)
    );
    let ((campaign, first), (same, second)) = (first.unwrap(), second.unwrap());
    assert_eq!(campaign, same);
    let made = [first, second].map(|how| how == Submitted::New);
    assert_eq!(made.into_iter().filter(|new| *new).count(), 1);
    finish(&ledgers, &campaign).await;

    // No segment was lent twice at once: each was accepted under the lease that lent it.
    let mut conn = database.connection("kazoe_runtime").await;
    let verdicts = sqlx::query_scalar::<_, String>("SELECT DISTINCT verdict FROM results")
        .fetch_all(&mut conn)
        .await
        .unwrap();
    assert_eq!(verdicts, ["accepted"]);
}

#[tokio::test]
async fn all_claim_the_same_expired_segments_and_each_is_lent_to_one() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = Arc::new(database.ledger().await);
    let (campaign, _) = ledger.submit(&submission(1, 24 * 4096)).await.unwrap();
    let gone = ledger
        .claim_one(&campaign.id, &owner("gone"), 24, Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    let claims: Vec<_> = (0..8)
        .map(|number| {
            let ledger = Arc::clone(&ledger);
            let id = campaign.id.clone();
            let who = owner(&format!("w{number}"));
            tokio::spawn(async move {
                let mut lent = Vec::new();
                // What was lost is lent alone.
                for _ in 0..3 {
                    let lease = ledger.claim_one(&id, &who, 3, LONG).await.unwrap().unwrap();
                    assert_eq!(lease.segments.len(), 1);
                    lent.push(lease.segments[0].segment);
                }
                lent
            })
        })
        .collect();
    let mut lent = Vec::new();
    for claim in claims {
        lent.extend(claim.await.unwrap());
    }
    assert_eq!(lent.len(), 24);
    assert_eq!(lent.into_iter().collect::<BTreeSet<_>>().len(), 24);
    assert!(matches!(
        ledger.end_one(gone.key).await,
        Err(LedgerError::NotHeld(_))
    ));
    assert_sound(&*ledger, &campaign).await;
}

/// Ends the connections of the runtime role to this database, whatever they are doing.
async fn cut_connections(admin: &mut PgConnection) -> i64 {
    sqlx::query_scalar(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE datname = current_database() AND usename = 'kazoe_runtime'",
    )
    .fetch_one(admin)
    .await
    .unwrap()
}

#[tokio::test]
async fn lost_connections_lose_and_repeat_nothing() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledgers = [Arc::new(database.ledger().await)];
    let (campaign, _) = ledgers[0].submit(&submission(1, 120 * 4096)).await.unwrap();
    // Fewer cuts than an operation has attempts: none of them may fail, however slow the machine is.
    let cutter = tokio::spawn({
        let mut admin = database.admin().await;
        async move {
            let mut cut = 0;
            for _ in 0..6 {
                tokio::time::sleep(Duration::from_millis(300)).await;
                cut += cut_connections(&mut admin).await;
            }
            cut
        }
    });
    finish(&ledgers, &campaign).await;
    assert!(cutter.await.unwrap() > 0, "no connection was cut");
    let mut conn = database.connection("kazoe_runtime").await;
    let live: i64 = sqlx::query_scalar("SELECT count(*) FROM leases WHERE ended_at IS NULL")
        .fetch_one(&mut conn)
        .await
        .unwrap();
    assert_eq!(live, 0, "a claim that was sent again found its own lease");
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_happens_once() {
    each_operation_once(Loss::Answer).await;
}

#[tokio::test]
async fn a_commit_that_arrives_after_its_sender_gave_up_happens_once() {
    each_operation_once(Loss::Sender).await;
}

#[tokio::test]
async fn a_commit_that_never_arrives_is_sent_again() {
    each_operation_once(Loss::Request).await;
}

/// More operations than the pool has connections: each is given up and makes room for another.
#[tokio::test]
async fn a_server_that_goes_silent_is_given_up_and_nothing_happens_twice() {
    each_operation_once(Loss::Silence).await;
}

/// Each operation once, with its commit in the dark: it is sent again, and its answer and what it leaves
/// are those of an operation that happened once.
async fn each_operation_once(loss: Loss) {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let proxy = Proxy::before(&database);
    let ledger = PostgresLedger::connect(&proxy.url("kazoe_runtime"))
        .await
        .unwrap();
    // Long enough for each operation here, even on a slow machine.
    let ledger = match loss {
        Loss::Silence => ledger.giving_up_after(Duration::from_secs(2)),
        _ => ledger,
    };
    let happened = |first, again| if loss == Loss::Request { first } else { again };
    let who = owner("a");
    let lost = || proxy.at_next_commit_lose(loss);

    lost();
    let (campaign, _) = ledger.submit(&submission(1, 8 * 4096)).await.unwrap();
    let id = &campaign.id;
    lost();
    let lease = ledger.claim_one(id, &who, 4, LONG).await.unwrap().unwrap();
    let lent: Vec<u64> = lease.segments.iter().map(|lent| lent.segment).collect();
    assert_eq!(lent, [0, 1, 2, 3]);
    assert_eq!(ledger.snapshot(id).await.unwrap().counts.leased, 4);
    lost();
    ledger.extend(lease.key, LONG).await.unwrap();
    lost();
    let sent = [delivery(0, 4096), delivery(1, 4096)];
    let verdicts = ledger.deliver_one(lease.key, &sent).await.unwrap();
    let expected = happened(DeliveryOutcome::Accepted, DeliveryOutcome::Repeat);
    assert_eq!(verdicts, [expected; 2]);
    assert_eq!(ledger.log(id, 0).await.unwrap().len(), 1);
    lost();
    assert_eq!(ledger.end_one(lease.key).await.unwrap(), 2);
    assert!(matches!(
        ledger.end_one(lease.key).await,
        Err(LedgerError::NotHeld(_))
    ));
    lost();
    let verdicts = ledger.import(id, &owner("b"), &sent).await.unwrap();
    assert_eq!(verdicts, [DeliveryOutcome::Audit; 2]);
    lost();
    assert!(ledger.retract(id, 0, "op", "a test").await.unwrap());
    assert!(!ledger.retract(id, 0, "op", "a test").await.unwrap());
    lost();
    assert!(ledger.set_aside(id, 5, "op", "a test").await.unwrap());
    assert!(!ledger.set_aside(id, 5, "op", "a test").await.unwrap());
    lost();
    assert!(ledger.retry(id, 5, "op").await.unwrap());
    assert!(!ledger.retry(id, 5, "op").await.unwrap());
    let log = ledger.audit_log(id, 0, 10).await.unwrap();
    let actions: Vec<&str> = log.iter().map(|line| line.action.as_str()).collect();
    assert_eq!(actions, ["retract", "set_aside", "retry"]);
    ledger.claim_one(id, &who, 3, LONG).await.unwrap();
    lost();
    ledger.forfeit(&who.worker).await.unwrap();
    let counts = ledger.snapshot(id).await.unwrap().counts;
    assert_eq!((counts.accepted, counts.leased), (1, 0));
    assert_eq!(proxy.lost(), 10);
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn a_deadlock_is_outlived() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = Arc::new(database.ledger().await);
    let (campaign, _) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    let lease = ledger
        .claim_one(&campaign.id, &owner("a"), 4, LONG)
        .await
        .unwrap()
        .unwrap();
    // Somebody by hand, in the other order: the lease first, then the campaign. It never gives way.
    let mut admin = database.admin().await;
    sqlx::raw_sql(
        "SET deadlock_timeout = '1h';
         BEGIN;
         SELECT 1 FROM leases FOR UPDATE",
    )
    .execute(&mut admin)
    .await
    .unwrap();
    let ending = tokio::spawn({
        let ledger = Arc::clone(&ledger);
        async move { ledger.end_one(lease.key).await }
    });
    let mut watcher = database.admin().await;
    loop {
        let waiting = sqlx::query_scalar::<_, i64>(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        if waiting.fetch_one(&mut watcher).await.unwrap() > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    sqlx::raw_sql("SELECT 1 FROM campaigns FOR UPDATE; COMMIT")
        .execute(&mut admin)
        .await
        .unwrap();
    assert_eq!(ending.await.unwrap().unwrap(), 4);
    assert!(server.log().contains("deadlock detected"));
    assert_sound(&*ledger, &campaign).await;
}

#[tokio::test]
async fn a_lock_that_nobody_lets_go_is_told() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    let mut admin = database.admin().await;
    sqlx::raw_sql("BEGIN; SELECT 1 FROM campaigns FOR UPDATE")
        .execute(&mut admin)
        .await
        .unwrap();
    let refused = ledger.claim_one(&campaign.id, &owner("a"), 1, LONG).await;
    let Err(LedgerError::Storage(error)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(error.fault, StorageFault::Busy);
    assert!(error.detail.contains("lock timeout"), "{error}");
    // Who only reads waits for nobody.
    assert_eq!(
        ledger.snapshot(&campaign.id).await.unwrap().counts.unleased,
        4
    );
    sqlx::raw_sql("ROLLBACK").execute(&mut admin).await.unwrap();
    let lease = ledger.claim_one(&campaign.id, &owner("a"), 1, LONG).await;
    assert!(lease.unwrap().is_some());
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn what_was_acknowledged_survives_the_server_s_kill_9() {
    let server = Server::private().await;
    let database = server.fresh().await;
    let ledger = Arc::new(database.ledger().await);
    let (campaign, _) = ledger.submit(&submission(1, 90 * 4096)).await.unwrap();
    let mut acknowledged = Vec::new();
    for patience in [1, 9, 20] {
        let (heard, mut hearing) = tokio::sync::mpsc::unbounded_channel();
        let worker = tokio::spawn({
            let (ledger, id) = (Arc::clone(&ledger), campaign.id.clone());
            async move {
                let lease = ledger
                    .claim_one(&id, &owner("a"), 30, LONG)
                    .await
                    .unwrap()
                    .unwrap();
                for delivery in deliveries(&lease) {
                    let segment = delivery.segment;
                    ledger.deliver_one(lease.key, &[delivery]).await.unwrap();
                    heard.send(segment).unwrap();
                }
                ledger.end_one(lease.key).await.unwrap();
            }
        });
        for _ in 0..patience {
            acknowledged.push(hearing.recv().await.unwrap());
        }
        // In the middle of the next delivery; whoever is at it goes on when the server is back.
        server.kill_9();
        server.start(&[]).await;
        let kept = ledger.segments(&campaign.id, 0, 1_000).await.unwrap();
        for &segment in &acknowledged {
            let found = kept.iter().find(|kept| kept.segment == segment);
            assert_eq!(found.unwrap().tally, tally(segment, 4096), "I5");
        }
        worker.await.unwrap();
        while let Some(segment) = hearing.recv().await {
            acknowledged.push(segment);
        }
        assert_sound(&*ledger, &campaign).await;
    }
    assert_eq!(acknowledged.len(), 90);
    assert!(ledger.snapshot(&campaign.id).await.unwrap().is_complete());
    drop(ledger);

    // A server that does not keep what it commits is refused.
    let url = database.url("kazoe_runtime");
    let refused = PostgresLedger::connect(&format!("{url}&options[synchronous_commit]=off")).await;
    assert!(
        matches!(&refused, Err(ConnectError::NotDurable { setting, .. }) if *setting == "synchronous_commit"),
        "{refused:?}"
    );
    server.kill_9();
    server.start(&["fsync=off"]).await;
    let refused = PostgresLedger::connect(&url).await;
    assert!(
        matches!(&refused, Err(ConnectError::NotDurable { setting, .. }) if *setting == "fsync"),
        "{refused:?}"
    );
    let refused = PostgresLedger::migrate(&database.url("kazoe_owner")).await;
    assert!(
        matches!(&refused, Err(ConnectError::NotDurable { .. })),
        "{refused:?}"
    );
}
