//! Which requests of workers are served in batches, and on how many database connections.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::Settings;
use super::batcher::{Answers, Batcher};
use super::limits::{CLAIMING, KEEPING, TELLING};
use crate::leasing::Millis;
use crate::ledger::{
    AskingWorker, Beat, Claim, Credential, Delivery, Heartbeat, Lease, LeaseRecord, LedgerError,
    Market, NewWorker, PostgresLedger, WorkerRecord,
};
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::outcome::DeliveryOutcome;

/// The most rows that a batch becomes, about: a few tenths of a second's work.
const MOST_ROWS: usize = 1 << 14;

/// The most requests of a batch.
const MOST_REQUESTS: usize = 1 << 10;

/// The most segments that the claims of a batch want.
const MOST_WANTED: usize = 1 << 14;

/// The batchers. The key of claims, deliveries and ends is the campaign's id, the others have one key.
#[derive(Debug)]
pub(super) struct Batches {
    pub(super) credentials: Batcher<String, Option<Credential>>,
    pub(super) joins: Batcher<(String, NewWorker), bool>,
    pub(super) leaves: Batcher<(String, String), ()>,
    pub(super) asking: Batcher<AskingWorker, Option<(WorkerRecord, u64)>>,
    pub(super) market: Batcher<(), Market>,
    pub(super) claims: Batcher<Claim, Option<Lease>>,
    pub(super) deliveries: Batcher<Delivery, Vec<DeliveryOutcome>>,
    pub(super) leases: Batcher<LeaseKey, LeaseRecord>,
    pub(super) heartbeats: Batcher<Beat, Heartbeat>,
    pub(super) ends: Batcher<LeaseKey, u64>,
}

impl Batches {
    pub(super) fn new(ledger: &PostgresLedger, settings: &Settings) -> Self {
        let connections = |number: u32| Arc::new(Semaphore::new(number as usize));
        let (claiming, keeping, telling) = (
            connections(CLAIMING),
            connections(KEEPING),
            connections(TELLING),
        );
        let hold = settings.hold;
        let patience = Millis::try_from(hold.as_millis()).unwrap_or(Millis::MAX);
        Batches {
            credentials: batcher(
                ledger,
                (&claiming, MOST_REQUESTS, one),
                |ledger, _, ids: Vec<String>| async move { each(ledger.find_credentials(&ids).await) },
            ),
            joins: batcher(
                ledger,
                (&claiming, MOST_REQUESTS, one),
                |ledger, _, joins: Vec<(String, NewWorker)>| async move {
                    each(ledger.join_workers(&joins).await)
                },
            ),
            leaves: batcher(
                ledger,
                (&claiming, MOST_REQUESTS, one),
                |ledger, _, left: Vec<(String, String)>| async move {
                    ledger.workers_left(&left).await?;
                    Ok(left.iter().map(|_| Ok(())).collect())
                },
            ),
            asking: batcher(
                ledger,
                (&claiming, MOST_REQUESTS, one),
                |ledger, _, asking: Vec<AskingWorker>| async move {
                    each(ledger.asking_workers(&asking).await)
                },
            ),
            market: batcher(
                ledger,
                (&claiming, MOST_REQUESTS, one),
                move |ledger, _, all: Vec<()>| async move {
                    let market = ledger.market(patience).await?;
                    Ok(all.iter().map(|()| Ok(market.clone())).collect())
                },
            ),
            claims: batcher(
                ledger,
                (&claiming, MOST_WANTED, |claim: &Claim| claim.want as usize),
                |ledger, campaign, claims: Vec<Claim>| async move {
                    each(ledger.claim(&campaign, &claims).await)
                },
            ),
            deliveries: batcher(
                ledger,
                (&keeping, MOST_ROWS, Delivery::rows),
                |ledger, campaign, deliveries: Vec<Delivery>| async move {
                    ledger.deliver(&campaign, &deliveries).await
                },
            ),
            leases: batcher(
                ledger,
                (&telling, MOST_REQUESTS, one),
                |ledger, _, keys: Vec<LeaseKey>| async move { ledger.leases(&keys).await },
            ),
            heartbeats: batcher(
                ledger,
                (&telling, MOST_REQUESTS, one),
                move |ledger, _, beats: Vec<Beat>| async move {
                    each(ledger.heartbeat(&beats, hold).await)
                },
            ),
            ends: batcher(
                ledger,
                (&telling, MOST_REQUESTS, one),
                |ledger, campaign, keys: Vec<LeaseKey>| async move {
                    ledger.end(&campaign, &keys).await
                },
            ),
        }
    }
}

/// The connections of a batcher, the greatest weight of a batch, and the weight of a request.
type Bounds<'a, Q> = (&'a Arc<Semaphore>, usize, fn(&Q) -> usize);

fn batcher<Q, A, S, F>(
    ledger: &PostgresLedger,
    (connections, most, weigh): Bounds<'_, Q>,
    serve: S,
) -> Batcher<Q, A>
where
    Q: Clone + Send + 'static,
    A: Send + 'static,
    S: Fn(PostgresLedger, String, Vec<Q>) -> F + Send + Sync + 'static,
    F: Future<Output = Answers<A>> + Send + 'static,
{
    let ledger = ledger.clone();
    Batcher::new(connections, most, weigh, move |key, requests| {
        serve(ledger.clone(), key, requests)
    })
}

/// Each request of a kind weighs the same.
const fn one<Q>(_: &Q) -> usize {
    1
}

/// The answers to requests of which none fails alone.
fn each<A>(answers: Result<Vec<A>, LedgerError>) -> Answers<A> {
    Ok(answers?.into_iter().map(Ok).collect())
}
