//! A coordinator that goes silent and does not hang up: stopped, cut off by the network, or hanging. Its
//! worker gives it up by itself; without that these tests would never end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

#[cfg(feature = "failpoints")]
use crate::points::Points;
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, until};

/// Segments of four blocks, as all rounds are cut.
const CUT: [&str; 3] = ["minishogi", "--segment", "4"];

/// A wire to a coordinator; whatever was connected before it froze carries nothing more, but stays open.
#[derive(Clone)]
struct Wire {
    frozen: Arc<AtomicU32>,
    connections: Arc<AtomicU32>,
    coordinator: Arc<Mutex<String>>,
}

impl Wire {
    /// Before the coordinator of a cluster, whose workers go by way of it from now on.
    fn before(cluster: &mut TestCluster<'_>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Wire {
            frozen: Arc::default(),
            connections: Arc::default(),
            coordinator: Arc::new(Mutex::new(cluster.listen.clone())),
        };
        let url = format!("http://{}", listener.local_addr().unwrap());
        cluster.environment.push(("KAZOE_COORDINATOR", url.into()));
        let inner = wire.clone();
        thread::spawn(move || inner.serve(&listener));
        wire
    }

    /// All connections that there are go silent.
    fn freeze(&self) {
        let made = self.connections.load(Ordering::SeqCst);
        self.frozen.store(made, Ordering::SeqCst);
    }

    /// New connections reach another coordinator.
    fn lead_to(&self, other: &TestCluster<'_>) {
        self.coordinator.lock().unwrap().clone_from(&other.listen);
    }

    fn connections(&self) -> u32 {
        self.connections.load(Ordering::SeqCst)
    }

    fn serve(&self, listener: &TcpListener) {
        for client in listener.incoming() {
            let (client, coordinator) = (client.unwrap(), self.coordinator.lock().unwrap().clone());
            let Ok(server) = TcpStream::connect(coordinator) else {
                continue;
            };
            let number = self.connections.fetch_add(1, Ordering::SeqCst) + 1;
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            for (from, to) in [(client, server), back] {
                let wire = self.clone();
                thread::spawn(move || wire.pass(from, to, number));
            }
        }
    }

    /// What comes on a silent wire is read and lost.
    fn pass(&self, mut from: TcpStream, mut to: TcpStream, number: u32) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let is_frozen = number <= self.frozen.load(Ordering::SeqCst);
            if !is_frozen && to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        if number > self.frozen.load(Ordering::SeqCst) {
            let _ = to.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn submit(cluster: &TestCluster<'_>, samples: &str) -> String {
    let submit = [&["submit"], CUT.as_slice(), &["--samples", samples]].concat();
    cluster.ask(&submit).trim().to_owned()
}

/// Everything was counted once, as one process counts it.
async fn assert_counted(cluster: &TestCluster<'_>, id: &str, samples: &str) {
    let run = [CUT.as_slice(), &["--samples", samples]].concat();
    cluster.assert_counted(id, &run).await;
}

const WORKER: [&str; 2] = ["--silence", "3s"];

#[tokio::test]
async fn a_connection_that_goes_silent_is_given_up() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let mut cluster = cluster.with(&["--hold", "2s", "--lease", "100ms"]);
    let _coordinator = cluster.coordinator();
    let wire = Wire::before(&mut cluster);
    let worker = cluster.worker("a", &WORKER);
    // While it waits for work, and while it hands in.
    submit(&cluster, "100k");
    cluster.ask(&["watch"]);
    wire.freeze();
    let before = wire.connections();
    submit(&cluster, "200k");
    cluster.ask(&["watch"]);
    assert!(wire.connections() > before);
    let id = submit(&cluster, "2M");
    until(|| kazoe_coordinator_testkit::test_cluster::accepted(&cluster) > 200_000);
    wire.freeze();
    cluster.ask(&["watch"]);
    assert_counted(&cluster, &id, "2M").await;
    assert!(worker.log().contains("does not answer"), "{}", worker.log());
}

#[tokio::test]
async fn a_coordinator_that_is_stopped_is_given_up_for_another() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let mut cluster = cluster.with(&["--hold", "2s", "--lease", "100ms"]);
    let other = TestCluster::beside(&cluster);
    let stopped = cluster.coordinator();
    let _other = other.coordinator();
    let wire = Wire::before(&mut cluster);
    let worker = cluster.worker("a", &WORKER);
    submit(&cluster, "100k");
    cluster.ask(&["watch"]);
    stopped.signal("-STOP");
    wire.lead_to(&other);
    let id = submit(&other, "1M");
    other.ask(&["watch"]);
    assert_counted(&other, &id, "1M").await;
    assert!(worker.log().contains("does not answer"), "{}", worker.log());
    stopped.signal("-CONT");
}

/// Its connection lives, and answers to what keeps it alive; but tallies get no answer.
#[cfg(feature = "failpoints")]
#[tokio::test]
async fn an_answer_that_does_not_come_is_asked_for_again() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let mut cluster = cluster.with(&["--hold", "2s", "--lease", "100ms"]);
    let points = Points::of(&mut cluster);
    let _coordinator = cluster.coordinator();
    let worker = cluster.worker("a", &WORKER);
    for point in [
        "coordinator.deliver.committed",
        "coordinator.claim.committed",
    ] {
        points.arm(point);
    }
    let id = submit(&cluster, "300k");
    // Both are still waited for at the end.
    points.wait_for("coordinator.claim.committed");
    points.wait_for("coordinator.deliver.committed");
    cluster.ask(&["watch"]);
    assert_counted(&cluster, &id, "300k").await;
    assert!(
        worker.log().contains("no answer came in time"),
        "{}",
        worker.log()
    );
    points.let_go("coordinator.claim.committed");
    points.let_go("coordinator.deliver.committed");
}
