//! A segment that kills each worker that takes it.

use sqlx::query_scalar;

use crate::points::Points;
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, accepted};

/// Four segments.
const RUN: [&str; 5] = ["minishogi", "--samples", "65536", "--segment", "4"];

const DEADLY: i64 = 1;

/// More workers than it takes.
const MOST: usize = 20;

/// Every worker that leases the segment dies; one more worker dies without cause, twice. The segment is set
/// aside and nothing else is; the rest goes on, and the report says what is missing.
#[tokio::test]
async fn a_segment_that_kills_its_workers_is_set_aside_and_nothing_else() {
    let server = Server::shared().await;
    let mut cluster = TestCluster::new(&server).await.with(&["--audit", "0%"]);
    let points = Points::of(&mut cluster);
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();
    let mut died = 0;
    let mut innocent = 0;
    for owner in ["a", "b", "c"].repeat(MOST) {
        points.arm("worker.claimed");
        let mut worker = cluster.worker(owner, &["--once", "--idle-exit", "1s"]);
        if !points.is_reached_by(&mut worker, "worker.claimed") {
            points.disarm("worker.claimed");
            break;
        }
        let lent = lent(&cluster).await;
        let dies = lent.contains(&DEADLY);
        if dies || innocent < 2 {
            died += i32::from(dies);
            innocent += i32::from(!dies);
            worker.kill_9();
            cluster.let_deadlines_pass().await;
            points.let_go("worker.claimed");
        } else {
            points.let_go("worker.claimed");
            assert_eq!(worker.wait(), Some(0), "{}", worker.log());
        }
        cluster.assert_lawful(id).await;
    }
    assert!(innocent == 2 && died >= 3, "{innocent} {died}");
    let mut conn = cluster.connection().await;
    let aside: Vec<i64> = query_scalar("SELECT segment FROM set_aside")
        .fetch_all(&mut conn)
        .await
        .unwrap();
    assert_eq!(aside, [DEADLY]);
    let report = cluster.json(&["report", id]).remove(0);
    assert_eq!(report["complete"], false);
    assert_eq!(report["segments"]["set_aside"], 1);
    assert_eq!(accepted(&cluster), 3 * 16_384);

    // After a retry a worker that survives counts it.
    cluster.ask(&["retry", id, &DEADLY.to_string()]);
    let _worker = cluster.worker("a", &[]);
    cluster.ask(&["watch", id]);
    cluster.assert_counted(id, &RUN).await;
}

/// The segments of the newest lease.
async fn lent(cluster: &TestCluster<'_>) -> Vec<i64> {
    let mut conn = cluster.connection().await;
    query_scalar("SELECT segment FROM loans WHERE lease = (SELECT max(sequence) FROM leases)")
        .fetch_all(&mut conn)
        .await
        .unwrap()
}
