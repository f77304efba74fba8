//! Single faults, each ending with a lawful ledger.

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, accepted, until};

const RUN: [&str; 5] = ["minishogi", "--samples", "1M", "--segment", "8"];

/// A worker that sleeps past its deadline: its segments are finished by another, and it goes on.
#[tokio::test]
async fn a_worker_that_slept_past_its_deadline_goes_on() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server)
        .await
        .with(&["--hold", "1s", "--lease", "200ms"]);
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let mut slow = cluster.worker("a", &[]);
    slow.wait_for("a lease");
    slow.signal("-STOP");
    let _other = cluster.worker("b", &[]);
    cluster.ask(&["watch"]);
    slow.signal("-CONT");
    // What it hands in now is known already; it stays at work.
    cluster.ask(&["submit", "minishogi", "--samples", "1.2M", "--wait"]);
    cluster
        .assert_counted(
            id.trim(),
            &["minishogi", "--samples", "1.2M", "--segment", "8"],
        )
        .await;
    slow.signal("-TERM");
    assert_eq!(slow.wait(), Some(0), "{}", slow.log());
}

/// A coordinator that is away while workers compute: they wait for it, and hand in.
#[tokio::test]
async fn workers_wait_for_a_coordinator_that_is_away() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--lease", "200ms"]);
    // It is not there yet.
    let mut worker = cluster.worker("a", &[]);
    worker.wait_for("does not answer; retrying");
    let mut coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    worker.wait_for("a lease");
    coordinator.signal("-TERM");
    assert_eq!(coordinator.wait(), Some(0), "{}", coordinator.log());
    until(|| worker.log().matches("does not answer; retrying").count() == 2);
    let _coordinator = cluster.coordinator();
    cluster.ask(&["watch"]);
    cluster.assert_counted(id.trim(), &RUN).await;

    // A worker exits within seconds also without a coordinator.
    worker.signal("-STOP");
    worker.signal("-CONT");
    worker.signal("-TERM");
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
}

/// Two coordinators lead one campaign on one database; one is killed.
#[tokio::test]
async fn two_coordinators_share_a_database() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server)
        .await
        .with(&["--hold", "2s", "--lease", "200ms"]);
    let second = TestCluster::beside(&cluster);
    let first = cluster.coordinator();
    let _other = second.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let mut workers = [cluster.worker("a", &[]), second.worker("b", &[])];
    for worker in &mut workers {
        worker.wait_for("a lease");
    }
    until(|| accepted(&second) > 0);
    first.kill_9();
    second.ask(&["watch"]);
    second.assert_counted(id.trim(), &RUN).await;
}
