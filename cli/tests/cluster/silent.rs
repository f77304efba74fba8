//! A coordinator that goes silent and does not hang up: stopped, cut off by the network, or hanging. Its
//! worker gives it up by itself; without that these tests would never end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::house::{House, until};
#[cfg(feature = "failpoints")]
use crate::points::Points;
use crate::server::Server;

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
    /// Before the coordinator of a house, whose workers go by way of it from now on.
    fn before(house: &mut House<'_>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Wire {
            frozen: Arc::default(),
            connections: Arc::default(),
            coordinator: Arc::new(Mutex::new(house.listen.clone())),
        };
        let url = format!("http://{}", listener.local_addr().unwrap());
        house.environment.push(("KAZOE_COORDINATOR", url.into()));
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
    fn lead_to(&self, other: &House<'_>) {
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

fn submit(house: &House<'_>, samples: &str) -> String {
    let submit = [&["submit"], CUT.as_slice(), &["--samples", samples]].concat();
    house.ask(&submit).trim().to_owned()
}

/// Everything was counted once, as one process counts it.
async fn assert_counted(house: &House<'_>, id: &str, samples: &str) {
    let run = [CUT.as_slice(), &["--samples", samples]].concat();
    house.assert_counted(id, &run).await;
}

const WORKER: [&str; 2] = ["--silence", "3s"];

#[tokio::test]
async fn a_connection_that_goes_silent_is_given_up() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let mut house = house.with(&["--hold", "2s", "--lease", "100ms"]);
    let _coordinator = house.coordinator();
    let wire = Wire::before(&mut house);
    let worker = house.worker("a", &WORKER);
    // While it waits for work, and while it hands in.
    submit(&house, "100k");
    house.ask(&["watch"]);
    wire.freeze();
    let before = wire.connections();
    submit(&house, "200k");
    house.ask(&["watch"]);
    assert!(wire.connections() > before);
    let id = submit(&house, "2M");
    until(|| crate::house::accepted(&house) > 200_000);
    wire.freeze();
    house.ask(&["watch"]);
    assert_counted(&house, &id, "2M").await;
    assert!(worker.log().contains("does not answer"), "{}", worker.log());
}

#[tokio::test]
async fn a_coordinator_that_is_stopped_is_given_up_for_another() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let mut house = house.with(&["--hold", "2s", "--lease", "100ms"]);
    let other = House::beside(&house);
    let stopped = house.coordinator();
    let _other = other.coordinator();
    let wire = Wire::before(&mut house);
    let worker = house.worker("a", &WORKER);
    submit(&house, "100k");
    house.ask(&["watch"]);
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
    let house = House::new(&server).await;
    let mut house = house.with(&["--hold", "2s", "--lease", "100ms"]);
    let points = Points::of(&mut house);
    let _coordinator = house.coordinator();
    let worker = house.worker("a", &WORKER);
    for point in [
        "coordinator.deliver.committed",
        "coordinator.claim.committed",
    ] {
        points.arm(point);
    }
    let id = submit(&house, "300k");
    // Both are still waited for at the end.
    points.wait_for("coordinator.claim.committed");
    points.wait_for("coordinator.deliver.committed");
    house.ask(&["watch"]);
    assert_counted(&house, &id, "300k").await;
    assert!(
        worker.log().contains("no answer came in time"),
        "{}",
        worker.log()
    );
    points.let_go("coordinator.claim.committed");
    points.let_go("coordinator.deliver.committed");
}
