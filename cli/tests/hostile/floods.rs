//! Those who have a token and ask for too much.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kazoe_proto::work::{Claim, Offer, claim_request, offer};
use kazoe_worker::channel::Link;
use tokio::task::JoinSet;

use crate::healthy::{MANY, link, under_attack};
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::scripted_worker::ScriptedWorker;
use kazoe_coordinator_testkit::test_cluster::TestCluster;

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
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    under_attack(&cluster, &coordinator, "a flood of claims", async |calls| {
        let scripted = ScriptedWorker::join(&cluster, "c").await;
        let over = Arc::new(AtomicBool::new(false));
        let mut floods = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (worker, over) = (scripted.worker.clone(), Arc::clone(&over));
            floods.spawn(flood(link(&cluster, "c"), worker, over));
        }
        calls.more(MANY).await;
        over.store(true, Ordering::Release);
        let mut later = 0;
        while let Some(flood) = floods.join_next().await {
            later += flood.unwrap();
        }
        assert!(later > 0);
        // What it holds goes back.
        let token = link(&cluster, "c").token.unwrap();
        cluster.ask(&["token", "revoke", &token]);
    })
    .await;
    let mut conn = cluster.connection().await;
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
    let cluster = TestCluster::new(&server).await.with(&["--max-leases", "2"]);
    let _coordinator = cluster.coordinator();
    cluster.ask(&["submit", "shogi", "--samples", "5G", "--segment", "4"]);
    let mut leases = 0;
    for _ in 0..4 {
        let mut scripted = ScriptedWorker::join(&cluster, "c").await;
        leases += usize::from(scripted.claim().await.is_some());
    }
    assert_eq!(leases, 2);
    let mut other = ScriptedWorker::join(&cluster, "b").await;
    assert!(other.claim().await.is_some(), "another token has its own");
}
