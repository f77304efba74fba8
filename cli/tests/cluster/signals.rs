//! Signals to a coordinator and its workers.

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::TestCluster;

const RUN: [&str; 5] = ["minishogi", "--samples", "300k", "--segment", "4"];

#[tokio::test]
async fn services_survive_the_end_of_the_terminal_that_they_were_detached_from() {
    let server = Server::shared().await;
    let mut cluster = TestCluster::new(&server).await;
    cluster.words = "trap '' HUP INT";
    let mut coordinator = cluster.coordinator();
    let mut worker = cluster.worker("a", &[]);
    worker.wait_for("joined");
    for signal in ["-HUP", "-INT", "-HUP"] {
        coordinator.signal(signal);
        worker.signal(signal);
    }
    cluster.ask(&[&["submit", "--wait"], RUN.as_slice()].concat());
    assert!(!coordinator.has_ended() && !worker.has_ended());

    // What was not ignored is obeyed, and batch systems send SIGUSR1 before a job's time is over.
    worker.signal("-USR1");
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    assert!(worker.log().contains("SIGUSR1"), "{}", worker.log());
    coordinator.signal("-TERM");
    assert_eq!(coordinator.wait(), Some(0), "{}", coordinator.log());
    assert!(
        !coordinator.log().contains("SIGHUP"),
        "{}",
        coordinator.log()
    );
}
