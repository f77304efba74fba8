//! Workers and owners as operators see them: who is here, who is gone, who is who.

use std::time::Duration;

use kazoe_coordinator::leasing::{Presence, Purpose};
use kazoe_coordinator::ledger::{
    AskingWorker, Drained, Lease, Ledger, LedgerError, NewWorker, PostgresLedger, Reclaim,
    Reclaimed, Role, Roll, Who, Whose,
};
use kazoe_proto::outcome::DeliveryOutcome;
use sqlx::PgConnection;

use crate::made_up::{
    assert_lawful, assert_sound, audited_submission, deliveries, owner, submission,
};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::Server;

const HOLD: Duration = Duration::from_secs(60);

/// For how long a worker without a lease may be silent.
const PATIENCE: i64 = 60_000;

const HOUR: i64 = 3_600_000;

async fn join(ledger: &PostgresLedger, id: &str, name: Option<&str>) {
    let new = NewWorker {
        owner: "a".to_owned(),
        credential: None,
        operator: false,
        build: "test 1".to_owned(),
        name: name.map(str::to_owned),
    };
    assert!(ledger.join_one(id, &new).await.unwrap());
}

async fn ask(ledger: &PostgresLedger, id: &str) {
    let asking = AskingWorker {
        id: id.to_owned(),
        owner: "a".to_owned(),
        threads: 1,
        speed: None,
    };
    ledger.ask_one(asking).await.unwrap().unwrap();
}

async fn claim(ledger: &PostgresLedger, id: &str, worker: &str, want: u32) -> Option<Lease> {
    let who = Who {
        worker: worker.to_owned(),
        ..owner("a")
    };
    ledger.claim_one(id, &who, want, HOLD).await.unwrap()
}

/// Ids and states, in the order in which they are listed.
async fn listed(ledger: &PostgresLedger, listed: Roll) -> Vec<(String, Presence)> {
    let (workers, _) = ledger.workers(listed, PATIENCE, 9_999).await.unwrap();
    let states = workers.into_iter().map(|one| {
        let presence = one.presence(PATIENCE);
        (one.worker.id, presence)
    });
    states.collect()
}

/// As if the worker had been heard so many milliseconds earlier.
async fn age(conn: &mut PgConnection, id: &str, millis: i64) {
    sqlx::query("UPDATE workers SET seen_at = seen_at - $2 WHERE id = $1")
        .bind(id)
        .bind(millis)
        .execute(conn)
        .await
        .unwrap();
}

#[tokio::test]
async fn workers_that_died_or_left_are_gone() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let mut conn = database.connection("kazoe_owner").await;
    let (campaign, _) = ledger.submit(&submission(1, 40 * 4096)).await.unwrap();
    let id = &campaign.id;
    for worker in ["w-1", "w-2", "w-3", "w-4", "w-5"] {
        join(&ledger, worker, None).await;
        ask(&ledger, worker).await;
    }
    for worker in ["w-1", "w-2", "w-3"] {
        claim(&ledger, id, worker, 2).await.unwrap();
    }
    let drain = async |worker: &str| ledger.drain_worker(worker, "op", PATIENCE).await.unwrap();
    assert_eq!(drain("w-3").await, Drained::Told);
    let at = |worker: &str, presence| (worker.to_owned(), presence);
    let here = [
        at("w-1", Presence::AtWork),
        at("w-2", Presence::AtWork),
        at("w-3", Presence::Leaving),
        at("w-4", Presence::Idle),
        at("w-5", Presence::Idle),
    ];
    assert_eq!(listed(&ledger, Roll::Here).await, here);

    // Two die at work, one of which was told to leave; one says that it leaves; one falls silent.
    for dead in ["w-2", "w-3", "w-5"] {
        age(&mut conn, dead, PATIENCE).await;
    }
    sqlx::query("UPDATE leases SET deadline = claimed_at WHERE worker IN ('w-2', 'w-3')")
        .execute(&mut conn)
        .await
        .unwrap();
    ledger
        .workers_left(&[("w-4".to_owned(), "another owner".to_owned())])
        .await
        .unwrap();
    assert_eq!(listed(&ledger, Roll::Here).await.len(), 2);
    ledger
        .workers_left(&[("w-4".to_owned(), "a".to_owned())])
        .await
        .unwrap();
    assert_eq!(
        listed(&ledger, Roll::Here).await,
        [at("w-1", Presence::AtWork)]
    );
    let all = listed(&ledger, Roll::All).await;
    let gone = all
        .iter()
        .filter(|(_, presence)| *presence == Presence::Gone);
    assert_eq!((all.len(), gone.count()), (5, 4));
    // What expired is not held; whose lease it was is not lent the living's.
    let (workers, _) = ledger.workers(Roll::All, PATIENCE, 9).await.unwrap();
    let leases: Vec<u64> = workers.iter().map(|one| one.leases).collect();
    assert_eq!(leases, [1, 0, 0, 0, 0]);
    let (number, holders) = ledger.holders(id, 9).await.unwrap();
    assert_eq!((number, holders[0].worker.as_str()), (1, "w-1"));
    assert_eq!(ledger.market(PATIENCE).await.unwrap().workers, 1);
    for worker in ["w-2", "w-3", "w-4"] {
        assert_eq!(drain(worker).await, Drained::Gone, "{worker}");
    }

    // One that is heard again is here again.
    ask(&ledger, "w-5").await;
    assert!(listed(&ledger, Roll::Here).await.contains(&here[4]));
    join(&ledger, "w-6", None).await;
    ledger
        .workers_left(&[("w-6".to_owned(), "a".to_owned())])
        .await
        .unwrap();
    ask(&ledger, "w-6").await;
    let again = at("w-6", Presence::Idle);
    assert!(listed(&ledger, Roll::Here).await.contains(&again));
}

#[tokio::test]
async fn of_thousands_of_identities_those_that_worked_are_remembered() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let mut conn = database.connection("kazoe_owner").await;
    let (campaign, _) = ledger.submit(&submission(1, 40 * 4096)).await.unwrap();
    sqlx::query(
        "INSERT INTO workers (id, owner, operator, build, joined_at, seen_at)
         SELECT 'w-' || n, 'a', false, 'test 1', now_ms - age, now_ms - age
         FROM generate_series(1, 5000) n,
              LATERAL (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms,
                              CASE WHEN n <= 4000 THEN 90000000 ELSE 7200000 + n END AS age) AS at",
    )
    .execute(&mut conn)
    .await
    .unwrap();
    // One delivered and went, one was lent something and died; both days ago. One is here.
    for worker in ["w-delivered", "w-lost", "w-here"] {
        join(&ledger, worker, None).await;
        let lease = claim(&ledger, &campaign.id, worker, 2).await.unwrap();
        if worker == "w-delivered" {
            let all = deliveries(&lease);
            ledger.deliver_one(lease.key, &all).await.unwrap();
            ledger.end_one(lease.key).await.unwrap();
        }
    }
    age(&mut conn, "w-delivered", 72 * HOUR).await;
    age(&mut conn, "w-lost", 48 * HOUR).await;
    sqlx::query("UPDATE leases SET deadline = claimed_at WHERE worker = 'w-lost'")
        .execute(&mut conn)
        .await
        .unwrap();
    let here = listed(&ledger, Roll::Here).await;
    assert_eq!(here, [("w-here".to_owned(), Presence::AtWork)]);

    let (all, left_out) = ledger.workers(Roll::All, PATIENCE, 9_999).await.unwrap();
    let ids: Vec<&str> = all.iter().map(|one| one.worker.id.as_str()).collect();
    assert_eq!(
        (ids.len(), left_out),
        (1_003, 0),
        "never leased, and a day old: forgotten"
    );
    // Those of the last hour, then the last heard first.
    assert_eq!(ids[..3], ["w-here", "w-4001", "w-4002"]);
    assert_eq!(ids[1_001..], ["w-lost", "w-delivered"]);
    assert_eq!(all[1_002].accepted, 2);
    let (some, left_out) = ledger.workers(Roll::All, PATIENCE, 10).await.unwrap();
    assert_eq!((some.len(), left_out), (10, 993));
}

#[tokio::test]
async fn a_name_is_a_label_and_no_identity() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    for worker in ["w-1", "w-2"] {
        join(&ledger, worker, Some("rack-7")).await;
    }
    let lease = claim(&ledger, &campaign.id, "w-1", 3).await.unwrap();
    ledger
        .deliver_one(lease.key, &deliveries(&lease)[..2])
        .await
        .unwrap();
    let (workers, _) = ledger.workers(Roll::Here, PATIENCE, 9).await.unwrap();
    let of = |one: &kazoe_coordinator::ledger::WorkerStanding| {
        (one.worker.id.clone(), one.worker.name.clone(), one.accepted)
    };
    let name = Some("rack-7".to_owned());
    assert_eq!(
        workers.iter().map(of).collect::<Vec<_>>(),
        [
            ("w-1".to_owned(), name.clone(), 2),
            ("w-2".to_owned(), name.clone(), 0)
        ]
    );
    let (_, holders) = ledger.holders(&campaign.id, 9).await.unwrap();
    assert_eq!((holders.len(), &holders[0].name), (1, &name));
    let (shares, left_out) = ledger.worker_shares(&campaign.id, 9).await.unwrap();
    assert_eq!((shares.len(), left_out), (1, 0));
    assert_eq!((&shares[0].name, shares[0].segments), (&name, 2));
}

#[tokio::test]
async fn two_stored_spellings_are_one_owner() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger
        .submit(&audited_submission(1, 4 * 4096))
        .await
        .unwrap();
    let id = &campaign.id;
    let spellings = ["Lab", "Lab ", "L\u{200b}ab"];
    for (number, spelling) in (1..).zip(spellings) {
        let token = format!("t-{number}");
        let hash = [number; 32];
        let added = ledger.add_credential(&token, spelling, Role::Worker, &hash, "op");
        assert!(added.await.unwrap());
        let found = ledger
            .find_credentials(&[token])
            .await
            .unwrap()
            .remove(0)
            .unwrap();
        assert_eq!(found.owner, "Lab");
    }
    // As an earlier release wrote it: under the spelling of the token.
    let who = owner(spellings[2]);
    let lease = ledger.claim_one(id, &who, 9, HOLD).await.unwrap().unwrap();
    let tallies = deliveries(&lease);
    ledger.deliver_one(lease.key, &tallies).await.unwrap();
    ledger.end_one(lease.key).await.unwrap();
    // No other spelling audits them, or confirms them unasked; another owner does.
    for spelling in spellings {
        let lent = ledger
            .claim_one(id, &owner(spelling), 9, HOLD)
            .await
            .unwrap();
        assert!(lent.is_none(), "{spelling:?}: {lent:?}");
    }
    let verdicts = ledger.import(id, &owner("Lab"), &tallies[..1]).await;
    assert_eq!(verdicts.unwrap(), [DeliveryOutcome::Repeat]);
    let audit = ledger
        .claim_one(id, &owner("b"), 2, HOLD)
        .await
        .unwrap()
        .unwrap();
    assert!(
        audit
            .segments
            .iter()
            .all(|lent| lent.purpose == Purpose::Audit)
    );
    let shares = ledger.owners(id).await.unwrap();
    let shares: Vec<_> = shares
        .iter()
        .map(|one| (&*one.owner, one.segments))
        .collect();
    assert_eq!(shares, [("Lab", 4)]);
    // A purge takes all spellings.
    let whose = Whose::Owner("Lab".to_owned());
    assert_eq!(ledger.purge(id, &whose, "op", "x").await.unwrap(), 4);
    assert_lawful(&ledger, &campaign).await;
}

/// Moves the database's clock back by an hour, as far as leases and workers can tell.
async fn clock_steps_back(conn: &mut PgConnection) {
    for statement in [
        "UPDATE leases SET deadline = deadline + 3600000 WHERE ended_at IS NULL",
        "UPDATE workers SET seen_at = seen_at + 3600000",
    ] {
        sqlx::query(statement).execute(&mut *conn).await.unwrap();
    }
}

#[tokio::test]
async fn a_deadline_further_off_than_its_lease_holds_has_passed() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let mut conn = database.connection("kazoe_owner").await;
    let (campaign, _) = ledger.submit(&submission(1, 6 * 4096)).await.unwrap();
    let id = &campaign.id;
    for worker in ["w-dead", "w-lives", "w-idle", "b-1"] {
        join(&ledger, worker, None).await;
    }
    let dead = claim(&ledger, id, "w-dead", 2).await.unwrap();
    let lives = claim(&ledger, id, "w-lives", 2).await.unwrap();
    // Of another coordinator, whose leases hold for a day: nothing of it is odd.
    let long = Duration::from_secs(24 * 3600);
    let far = ledger
        .claim_one(id, &owner("b"), 2, long)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ledger.clock(HOLD).await.unwrap().1, 0);
    assert!(claim(&ledger, id, "w-idle", 9).await.is_none());

    clock_steps_back(&mut conn).await;
    // Whom the database heard in its future is not known to be here.
    let here = listed(&ledger, Roll::Here).await;
    assert!(
        here.iter().all(|(worker, _)| worker != "w-idle"),
        "{here:?}"
    );
    assert_eq!(ledger.clock(HOLD).await.unwrap().1, 3);
    assert_eq!(ledger.expire_misdated(HOLD).await.unwrap(), 3);
    assert_eq!(ledger.expire_misdated(HOLD).await.unwrap(), 0);
    // The one that lives has it again by its heartbeat; the others' are lent to the next, and not as lost.
    ledger.beat_one(lives.key, "w-lives", HOLD).await.unwrap();
    let next = claim(&ledger, id, "w-idle", 9).await.unwrap();
    let lent =
        |lease: &Lease| -> Vec<u64> { lease.segments.iter().map(|lent| lent.segment).collect() };
    assert_eq!(lent(&next), [lent(&dead), lent(&far)].concat());
    let states = listed(&ledger, Roll::Here).await;
    assert!(states.contains(&("w-lives".to_owned(), Presence::AtWork)));
    for lease in [&next, &lives, &far] {
        ledger
            .deliver_one(lease.key, &deliveries(lease))
            .await
            .unwrap();
    }
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;

    // A claim finds it by itself, whoever looks at the clock.
    let (campaign, _) = ledger.submit(&submission(2, 2 * 4096)).await.unwrap();
    claim(&ledger, &campaign.id, "w-dead", 2).await.unwrap();
    assert!(claim(&ledger, &campaign.id, "w-idle", 2).await.is_none());
    clock_steps_back(&mut conn).await;
    assert!(claim(&ledger, &campaign.id, "w-idle", 2).await.is_some());
}

#[tokio::test]
async fn an_operator_takes_leases_back() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 6 * 4096)).await.unwrap();
    let id = &campaign.id;
    join(&ledger, "w-1", None).await;
    let first = claim(&ledger, id, "w-1", 2).await.unwrap();
    let second = claim(&ledger, id, "w-1", 3).await.unwrap();
    ledger
        .deliver_one(first.key, &deliveries(&first)[..1])
        .await
        .unwrap();
    let before = ledger.snapshot(id).await.unwrap();
    let reclaim = async |what: &Reclaim| ledger.reclaim(what, "op").await.unwrap();
    let one = Reclaim::Lease(second.key.sequence);
    let back = |leases, segments| Some(Reclaimed { leases, segments });
    assert_eq!(reclaim(&one).await, back(1, 3));
    assert_eq!(reclaim(&one).await, back(0, 0), "it has ended");
    let all = Reclaim::Worker("w-1".to_owned());
    assert_eq!(reclaim(&all).await, back(1, 1));
    assert_eq!(reclaim(&Reclaim::Worker("w-none".to_owned())).await, None);
    assert_eq!(reclaim(&Reclaim::Lease(99_999)).await, None);
    let snapshot = assert_lawful(&ledger, &campaign).await;
    assert_eq!((snapshot.counts.returned, snapshot.counts.leased), (4, 0));
    assert!(snapshot.revision > before.revision);
    let log = ledger.audit_log(id, 0, 9).await.unwrap();
    let lines: Vec<_> = log
        .iter()
        .map(|line| (&*line.actor, &*line.action))
        .collect();
    assert_eq!(lines, [("op", "reclaim"), ("op", "reclaim")]);
    assert!(log[0].note.contains("w-1"), "{log:?}");

    // The worker has nothing more; what it computed all the same is taken, and what is lent next not alone.
    assert!(matches!(
        ledger.extend(second.key, HOLD).await,
        Err(LedgerError::NotHeld(_))
    ));
    let late = ledger
        .deliver_one(second.key, &deliveries(&second)[..1])
        .await;
    assert_eq!(late.unwrap(), [DeliveryOutcome::Accepted]);
    assert_eq!(
        claim(&ledger, id, "w-2", 9).await.unwrap().segments.len(),
        4
    );
}
