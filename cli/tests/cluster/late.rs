//! Processes that are stopped while they hold something, and go on when others have done their work.

use std::fs;
use std::time::Duration;

use sqlx::query_scalar;

use crate::points::Points;
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, until};

const RUN: [&str; 5] = ["minishogi", "--samples", "200k", "--segment", "4"];

/// A worker is stopped just before it hands in. Its deadline passes, another owner's worker finishes its
/// segments; what it hands in when it goes on is compared, and not counted.
#[tokio::test]
async fn what_a_stopped_worker_hands_in_late_is_compared() {
    let server = Server::shared().await;
    let mut cluster = TestCluster::new(&server).await.with(&["--audit", "0%"]);
    let points = Points::of(&mut cluster);
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    points.arm("worker.deliver");
    let mut slow = cluster.worker("a", &[]);
    points.wait_for("worker.deliver");
    slow.signal("-STOP");
    points.let_go("worker.deliver");
    cluster.let_deadlines_pass().await;
    let _other = cluster.worker("b", &[]);
    cluster.ask(&["watch"]);
    assert_eq!(tallies(&cluster, "a", "accepted").await, 0);

    slow.signal("-CONT");
    while tallies(&cluster, "a", "audit").await == 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    cluster.assert_counted(id.trim(), &RUN).await;
    slow.signal("-TERM");
    assert_eq!(slow.wait(), Some(0), "{}", slow.log());
    assert_eq!(tallies(&cluster, "a", "accepted").await, 0);
    cluster.assert_counted(id.trim(), &RUN).await;
}

/// How many of an owner's tallies were this.
async fn tallies(cluster: &TestCluster<'_>, owner: &str, verdict: &str) -> i64 {
    let mut conn = cluster.connection().await;
    query_scalar("SELECT count(*) FROM results WHERE owner = $1 AND verdict = $2")
        .bind(owner)
        .bind(verdict)
        .fetch_one(&mut conn)
        .await
        .unwrap()
}

/// Of two coordinators on a database one is stopped inside a transaction, which holds the campaign. The
/// other waits no longer than PostgreSQL lets it, finishes the campaign, and the first goes on.
#[tokio::test]
async fn a_coordinator_stopped_inside_a_transaction_holds_up_the_other_for_a_while_only() {
    let server = Server::shared().await;
    let mut cluster = TestCluster::new(&server).await.with(&["--hold", "1s"]);
    let url = cluster.database.url("kazoe_runtime");
    let url =
        format!("{url}&options[lock_timeout]=1s&options[idle_in_transaction_session_timeout]=4s");
    fs::write(cluster.path("runtime.url"), &url).unwrap();
    let second = TestCluster::beside(&cluster);
    fs::write(second.path("runtime.url"), &url).unwrap();
    let points = Points::of(&mut cluster);
    let first = cluster.coordinator();
    let other = second.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    points.arm("coordinator.deliver.written");
    let mut early = cluster.worker("a", &["--once"]);
    points.wait_for("coordinator.deliver.written");
    first.signal("-STOP");
    points.let_go("coordinator.deliver.written");
    let written = tallies(&cluster, "a", "accepted").await;
    assert_eq!(written, 0, "not committed yet");
    let mut late = second.worker("b", &[]);
    // It meets the lock, and says so.
    late.wait_for("does not answer; retrying");
    second.ask(&["watch"]);
    second.assert_counted(id.trim(), &RUN).await;

    first.signal("-CONT");
    assert_eq!(early.wait(), Some(0), "{}", early.log());
    until(|| cluster.run(&["campaigns"]).status.success());
    assert!(tallies(&cluster, "a", "audit").await > 0);
    cluster.assert_counted(id.trim(), &RUN).await;
    drop(other);
}

/// PostgreSQL stalls for a while; workers and coordinators recover.
#[tokio::test]
async fn a_postgresql_that_stands_still_for_a_while_is_waited_for() {
    let server = Server::private().await;
    let cluster = TestCluster::new(&server).await;
    let cluster = cluster.with(&["--hold", "1s", "--lease", "200ms"]);
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&["submit", "minishogi", "--segment", "4", "--samples", "2M"]);
    let id = id.trim();
    let mut workers = ["a", "b"].map(|owner| cluster.worker(owner, &[]));
    for worker in &mut workers {
        worker.wait_for("a lease");
    }
    for _ in 0..3 {
        server.signal("-STOP");
        // Longer than leases hold.
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        server.signal("-CONT");
        cluster.assert_lawful(id).await;
    }
    cluster.ask(&["watch", id]);
    let run = ["minishogi", "--segment", "4", "--samples", "2M"];
    cluster.assert_counted(id, &run).await;
}
