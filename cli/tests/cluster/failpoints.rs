//! Everything killed with -9 at every point before and after each write, commit and answer.

use crate::points::Points;
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{Process, TestCluster};

/// Samples of each round: some segments, the last one cut.
const ROUND: u64 = 100_000;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Worker,
    Coordinator,
    PostgreSql,
}

#[tokio::test]
async fn a_worker_is_killed_at_each_point() {
    kill_at_each_point(Victim::Worker).await;
}

#[tokio::test]
async fn the_coordinator_is_killed_at_each_point() {
    kill_at_each_point(Victim::Coordinator).await;
}

#[tokio::test]
async fn postgresql_is_killed_at_each_point() {
    kill_at_each_point(Victim::PostgreSql).await;
}

/// One campaign that is extended for each point: a process stops there while the victim is killed, and
/// goes on after.
async fn kill_at_each_point(victim: Victim) {
    let server = Server::private().await;
    let cluster = TestCluster::new(&server).await;
    let mut cluster = cluster.with(&["--hold", "1s", "--lease", "100ms"]);
    let points = Points::of(&mut cluster);
    let mut coordinator = cluster.coordinator();
    let mut worker = cluster.worker("a", &[]);
    let mut samples = 0;
    let mut id = String::new();
    for point in kazoe_coordinator::FAILPOINTS
        .into_iter()
        .chain(kazoe_worker::FAILPOINTS)
    {
        eprintln!("{victim:?} at {point}");
        samples += ROUND;
        points.arm(point);
        id = submit(&cluster, samples);
        points.wait_for(point);
        let before = cluster.results().await;
        match victim {
            Victim::Worker => worker = again(worker, || cluster.worker("a", &[])),
            Victim::Coordinator => coordinator = again(coordinator, || cluster.coordinator()),
            Victim::PostgreSql => {
                server.kill_9();
                server.start(&[]).await;
            }
        }
        let after = cluster.results().await;
        points.let_go(point);
        // I5: whatever could have been acknowledged is still there.
        assert!(before.is_subset(&after), "{point}");
        cluster.assert_lawful(&id).await;
        cluster.ask(&["watch", &id]);
        cluster.assert_lawful(&id).await;
    }
    let samples = samples.to_string();
    let run = ["minishogi", "--segment", "4", "--samples", &samples];
    cluster.assert_counted(&id, &run).await;
}

fn submit(cluster: &TestCluster<'_>, samples: u64) -> String {
    let samples = samples.to_string();
    let submit = ["submit", "minishogi", "--segment", "4", "--samples"];
    let id = cluster.ask(&[submit.as_slice(), &[&samples]].concat());
    id.trim().to_owned()
}

fn again(process: Process, start: impl FnOnce() -> Process) -> Process {
    process.kill_9();
    start()
}
