//! Those who have a token and ask for too much.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kazoe_proto::work::{Claim, Offer, claim_request, offer};
use kazoe_worker::channel::Link;
use tokio::task::JoinSet;

use crate::by_hand::Hand;
use crate::healthy::{MANY, link, under_attack};
use crate::house::House;
use crate::server::Server;

/// Claims of one flood at once.
const AT_ONCE: usize = 200;

fn claim(worker: &str) -> kazoe_proto::v1::ClaimRequest {
    claim_request(&Claim {
        worker: worker.to_owned(),
        threads: 1,
        samples_per_second: Some(1),
    })
}

/// Claims as fast as it is answered, until it is over. It is deferred, and never refused.
async fn flood(link: Link, worker: String, over: Arc<AtomicBool>) -> usize {
    let mut client = kazoe_proto::v1::work_client::WorkClient::new(link.open().unwrap());
    let mut later = 0;
    while !over.load(Ordering::Acquire) {
        let answer = client.claim(claim(&worker)).await.unwrap();
        if let Offer::Later(_) = offer(answer.into_inner()).unwrap() {
            later += 1;
        }
    }
    later
}

/// Claims wait for claims, and heartbeats for none of them: no other worker loses a lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_flood_of_claims_is_deferred_and_costs_no_lease() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let coordinator = house.coordinator();
    under_attack(&house, &coordinator, "a flood of claims", async |calls| {
        let hand = Hand::join(&house, "c").await;
        let over = Arc::new(AtomicBool::new(false));
        let mut floods = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (worker, over) = (hand.worker.clone(), Arc::clone(&over));
            floods.spawn(flood(link(&house, "c"), worker, over));
        }
        calls.more(MANY).await;
        over.store(true, Ordering::Release);
        let mut later = 0;
        while let Some(flood) = floods.join_next().await {
            later += flood.unwrap();
        }
        assert!(later > 0);
        // What it holds goes back.
        let token = link(&house, "c").token.unwrap();
        house.ask(&["token", "revoke", &token]);
    })
    .await;
    let mut conn = house.connection().await;
    let lost: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM loans o JOIN leases l ON l.sequence = o.lease
         WHERE o.closing = 'expired' AND l.owner <> 'c'",
    )
    .fetch_one(&mut conn)
    .await
    .unwrap();
    assert_eq!(lost, 0);
}

/// One token has a limit of leases, for any number of workers.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_token_has_a_limit_of_leases() {
    let server = Server::shared().await;
    let house = House::new(&server).await.with(&["--max-leases", "2"]);
    let _coordinator = house.coordinator();
    house.ask(&["submit", "shogi", "--samples", "5G", "--segment", "4"]);
    let mut leases = 0;
    for _ in 0..4 {
        let mut hand = Hand::join(&house, "c").await;
        leases += usize::from(hand.claim().await.is_some());
    }
    assert_eq!(leases, 2);
    let mut other = Hand::join(&house, "b").await;
    assert!(other.claim().await.is_some(), "another token has its own");
}
