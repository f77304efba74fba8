//! Any interleaving of operations, on a real database, ends with the invariants.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kazoe_coordinator::leasing::Purpose;
use kazoe_coordinator::ledger::{CampaignRecord, Lease, Ledger, LedgerError, PostgresLedger};
use proptest::collection;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use proptest::test_runner::TestRunner;
use sqlx::PgConnection;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;

use crate::local_store::fresh;
use crate::made_up::{
    assert_lawful, assert_sound, audited_submission, deliveries, delivery, operator, owner,
    submission, wrong_delivery,
};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::Server;

const OWNERS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Step {
    Submit(u64),
    Claim {
        owner: usize,
        want: u32,
        expired: bool,
    },
    Deliver {
        lease: usize,
        place: usize,
        wrong: bool,
    },
    Import {
        owner: usize,
        segment: u64,
        wrong: bool,
    },
    End(usize),
    Forfeit(usize),
    Retract(u64),
    SetAside(u64),
    Retry(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let wrong = || prop_oneof![4 => Just(false), 1 => Just(true)];
    let segment = || 0..8u64;
    prop_oneof![
        1 => (1..30_000u64).prop_map(Step::Submit),
        4 => (0..3usize, 1..4u32, proptest::bool::ANY)
            .prop_map(|(owner, want, expired)| Step::Claim { owner, want, expired }),
        8 => (0..6usize, 0..4usize, wrong())
            .prop_map(|(lease, place, wrong)| Step::Deliver { lease, place, wrong }),
        2 => (0..3usize, segment(), wrong())
            .prop_map(|(owner, segment, wrong)| Step::Import { owner, segment, wrong }),
        2 => (0..6usize).prop_map(Step::End),
        1 => (0..3usize).prop_map(Step::Forfeit),
        1 => segment().prop_map(Step::Retract),
        1 => segment().prop_map(Step::SetAside),
        1 => segment().prop_map(Step::Retry),
    ]
}

async fn take(
    ledger: &PostgresLedger,
    campaign: &CampaignRecord,
    leases: &mut Vec<Lease>,
    step: Step,
) {
    let id = &campaign.id;
    match step {
        Step::Submit(samples) => {
            ledger
                .submit(&submission(campaign.campaign.seed, samples))
                .await
                .unwrap();
        }
        Step::Claim {
            owner: name,
            want,
            expired,
        } => {
            let hold = Duration::from_secs(if expired { 0 } else { 3600 });
            leases.extend(
                ledger
                    .claim_one(id, &owner(OWNERS[name]), want, hold)
                    .await
                    .unwrap(),
            );
        }
        Step::Deliver {
            lease,
            place,
            wrong,
        } => {
            let Some(lease) = leases.get(lease) else {
                return;
            };
            let Some(lent) = lease.segments.get(place) else {
                return;
            };
            let sent = if wrong {
                wrong_delivery(lent.segment, lent.samples)
            } else {
                delivery(lent.segment, lent.samples)
            };
            ledger.deliver_one(lease.key, &[sent]).await.unwrap();
        }
        Step::Import {
            owner: name,
            segment,
            wrong,
        } => {
            let cut = ledger.campaign(id).await.unwrap().cut;
            let samples = cut.samples_of(segment);
            if samples == 0 {
                return;
            }
            let sent = if wrong {
                wrong_delivery(segment, samples)
            } else {
                delivery(segment, samples)
            };
            ledger
                .import(id, &owner(OWNERS[name]), &[sent])
                .await
                .unwrap();
        }
        Step::End(lease) => {
            let Some(lease) = leases.get(lease) else {
                return;
            };
            match ledger.end_one(lease.key).await {
                Ok(_) | Err(LedgerError::NotHeld(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        Step::Forfeit(name) => {
            ledger.forfeit(&owner(OWNERS[name]).worker).await.unwrap();
        }
        Step::Retract(segment) => {
            ledger.retract(id, segment, "op", "a test").await.unwrap();
        }
        Step::SetAside(segment) => {
            ledger.set_aside(id, segment, "op", "a test").await.unwrap();
        }
        Step::Retry(segment) => {
            ledger.retry(id, segment, "op").await.unwrap();
        }
    }
}

/// The operator retracts what is wrong, and finishes.
async fn finish(ledger: &PostgresLedger, campaign: &CampaignRecord) {
    let id = &campaign.id;
    for name in OWNERS {
        ledger.forfeit(&owner(name).worker).await.unwrap();
    }
    let segments = ledger.campaign(id).await.unwrap().cut.segments();
    for accepted in ledger.segments(id, 0, 1_000).await.unwrap() {
        if accepted.tally != delivery(accepted.segment, accepted.samples).tally {
            let done = ledger
                .retract(id, accepted.segment, "op", "it is wrong")
                .await;
            assert!(done.unwrap());
        }
    }
    // What three workers lost while they had it alone is set aside as it is claimed again; brought back
    // it is lent like any other.
    for _ in 0..2 {
        for segment in 0..segments {
            ledger.retry(id, segment, "op").await.unwrap();
        }
        claim_all(ledger, id).await;
    }
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
}

/// The operator computes whatever is lent to it.
async fn claim_all(ledger: &PostgresLedger, id: &str) {
    let all = Duration::from_secs(60);
    while let Some(lease) = ledger.claim_one(id, &operator(), 100, all).await.unwrap() {
        ledger
            .deliver_one(lease.key, &deliveries(&lease))
            .await
            .unwrap();
        ledger.end_one(lease.key).await.unwrap();
    }
}

/// The audits that an owner could do now, one looked at after the other.
async fn could_audit(conn: &mut PgConnection, id: &str, owner: &str) -> BTreeSet<u64> {
    let segments = sqlx::query_scalar::<_, i64>(
        "SELECT u.segment FROM audits_due u
         WHERE u.campaign = $1
           AND NOT EXISTS (SELECT 1 FROM results r
                           WHERE r.campaign = u.campaign AND r.segment = u.segment
                             AND r.owner = $2 AND r.verdict <> 'stale')
           AND NOT EXISTS (SELECT 1 FROM loans o JOIN leases l ON l.sequence = o.lease
                           WHERE o.campaign = u.campaign AND o.purpose = 'audit'
                             AND o.segment = u.segment AND o.closed_at IS NULL
                             AND l.deadline > extract(epoch FROM clock_timestamp()) * 1000)",
    )
    .bind(id)
    .bind(owner)
    .fetch_all(conn)
    .await
    .unwrap();
    segments
        .into_iter()
        .map(|segment| u64::try_from(segment).unwrap())
        .collect()
}

/// Owners claim all there is: each gets the audits that it could do.
async fn audit(ledger: &PostgresLedger, conn: &mut PgConnection, id: &str) {
    for name in OWNERS {
        let could = could_audit(conn, id, name).await;
        let mut got = BTreeSet::new();
        let long = Duration::from_secs(3600);
        while let Some(lease) = ledger.claim_one(id, &owner(name), 100, long).await.unwrap() {
            let audits = lease.segments.into_iter();
            let audits = audits.filter(|lent| lent.purpose == Purpose::Audit);
            got.extend(audits.map(|lent| lent.segment));
        }
        assert_eq!(got, could, "{name}");
    }
}

async fn walk(ledger: &PostgresLedger, seed: u64, steps: Vec<Step>) {
    let (campaign, _) = ledger.submit(&submission(seed, 10_000)).await.unwrap();
    let mut leases = Vec::new();
    for step in steps {
        take(ledger, &campaign, &mut leases, step).await;
        assert_lawful(ledger, &campaign).await;
    }
    finish(ledger, &campaign).await;
    assert_sound(ledger, &campaign).await;
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn any_interleaving_on_a_local_store_ends_with_the_serial_run(
        steps in collection::vec((1..30_000u64, 0..8u64, 0..3usize), 0..40)
    ) {
        runtime().block_on(async {
            let (_folder, ledger) = fresh().await;
            let (mut record, _) = ledger.submit(&submission(1, 1)).await.unwrap();
            let id = record.id.clone();
            for (samples, segment, name) in steps {
                (record, _) = ledger.submit(&submission(1, samples)).await.unwrap();
                let samples = record.cut.samples_of(segment);
                if samples == 0 {
                    continue;
                }
                let who = owner(OWNERS[name]);
                let good = [delivery(segment, samples)];
                ledger.import(&id, &who, &good).await.unwrap();
                let wrong = [wrong_delivery(segment, samples)];
                let refused = ledger.import(&id, &who, &wrong).await;
                assert!(matches!(refused, Err(LedgerError::Differs { .. })), "{refused:?}");
                assert_lawful(&ledger, &record).await;
            }
            let missing = ledger.missing(&id).await.unwrap().into_iter().flatten();
            let rest: Vec<_> = missing
                .map(|segment| delivery(segment, record.cut.samples_of(segment)))
                .collect();
            ledger.import(&id, &owner("a"), &rest).await.unwrap();
            assert!(ledger.snapshot(&id).await.unwrap().is_complete());
            assert_sound(&ledger, &record).await;
        });
    }
}

#[test]
fn any_interleaving_on_postgres_ends_with_the_invariants() {
    let runtime = runtime();
    let ledger = runtime.block_on(async {
        let server = Server::shared().await;
        server.fresh().await.ledger().await
    });
    // A campaign for each.
    let seed = AtomicU64::new(1);
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 24,
        ..ProptestConfig::default()
    });
    let tried = runner.run(&collection::vec(step(), 0..40), |steps| {
        let seed = seed.fetch_add(1, Ordering::Relaxed);
        runtime.block_on(walk(&ledger, seed, steps));
        Ok(())
    });
    tried.unwrap();
}

#[test]
fn after_any_interleaving_each_owner_gets_the_audits_that_it_could_do() {
    let runtime = runtime();
    let (ledger, conn) = runtime.block_on(async {
        let server = Server::shared().await;
        let database = server.fresh().await;
        (database.ledger().await, database.admin().await)
    });
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 24,
        ..ProptestConfig::default()
    });
    let seed = AtomicU64::new(1);
    let conn = Mutex::new(conn);
    let tried = runner.run(&collection::vec(step(), 0..40), |steps| {
        let seed = seed.fetch_add(1, Ordering::Relaxed);
        runtime.block_on(async {
            let (campaign, _) = ledger
                .submit(&audited_submission(seed, 30_000))
                .await
                .unwrap();
            let mut leases = Vec::new();
            for step in steps {
                take(&ledger, &campaign, &mut leases, step).await;
            }
            audit(&ledger, &mut *conn.lock().await, &campaign.id).await;
        });
        Ok(())
    });
    tried.unwrap();
}
