//! Wires that are cut in the middle of a delivery, or of a commit.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use kazoe_coordinator_testkit::postgres_proxy::{self, Proxy};
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, until};

/// What does not get through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// A message under a lease, on its way to the coordinator.
    Request,
    /// The answer to one.
    Answer,
}

/// A proxy before the coordinator, which drops chosen messages and disconnects.
#[derive(Clone)]
struct Wire(Arc<Mutex<Option<Loss>>>);

impl Wire {
    /// Before the coordinator of a cluster, whose workers go by way of it from now on.
    fn before(cluster: &mut TestCluster<'_>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Wire(Arc::default());
        let (inner, address) = (wire.clone(), cluster.listen.clone());
        let url = format!("http://{}", listener.local_addr().unwrap());
        cluster.environment.push(("KAZOE_COORDINATOR", url.into()));
        thread::spawn(move || inner.serve(&listener, &address));
        wire
    }

    fn lose_next(&self, loss: Loss) {
        *self.0.lock().unwrap() = Some(loss);
    }

    fn has_lost(&self) -> bool {
        self.0.lock().unwrap().is_none()
    }

    fn serve(&self, listener: &TcpListener, address: &str) {
        for client in listener.incoming() {
            let client = client.unwrap();
            let Ok(server) = TcpStream::connect(address) else {
                continue;
            };
            let asked = Arc::new(Mutex::new(false));
            let (to, from) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let (wire, seen) = (self.clone(), Arc::clone(&asked));
            thread::spawn(move || wire.ask(from, to, &seen));
            let wire = self.clone();
            thread::spawn(move || wire.answer(server, client, &asked));
        }
    }

    fn ask(&self, mut client: TcpStream, mut server: TcpStream, asked: &Mutex<bool>) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = client.read(&mut buffer) {
            let bytes = &buffer[..length];
            if has_token(bytes) {
                if self.takes(Loss::Request) {
                    break;
                }
                *asked.lock().unwrap() = true;
            }
            if server.write_all(bytes).is_err() {
                break;
            }
        }
        hang_up(&client, &server);
    }

    fn answer(&self, mut server: TcpStream, mut client: TcpStream, asked: &Mutex<bool>) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = server.read(&mut buffer) {
            let bytes = &buffer[..length];
            let answers = *asked.lock().unwrap() && has_data(bytes);
            if (answers && self.takes(Loss::Answer)) || client.write_all(bytes).is_err() {
                break;
            }
        }
        hang_up(&client, &server);
    }

    /// Whether this is to be lost now; if so it is.
    fn takes(&self, loss: Loss) -> bool {
        let mut next = self.0.lock().unwrap();
        let takes = *next == Some(loss);
        if takes {
            *next = None;
        }
        takes
    }
}

/// Whether a token is in it, `17-0123456789abcdef`: only messages under a lease have one.
fn has_token(bytes: &[u8]) -> bool {
    let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    bytes
        .windows(18)
        .any(|word| word[0].is_ascii_digit() && word[1] == b'-' && word[2..].iter().all(hex))
}

/// Whether an HTTP/2 frame with data is in it (RFC 9113, section 4.1).
fn has_data(mut bytes: &[u8]) -> bool {
    while let [a, b, c, kind, _, _, _, _, _, rest @ ..] = bytes {
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        if *kind == 0 && length > 0 {
            return true;
        }
        bytes = rest.get(length..).unwrap_or_default();
    }
    false
}

/// Both directions at once; who has gone already does not mind.
fn hang_up(client: &TcpStream, server: &TcpStream) {
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

#[tokio::test]
async fn a_wire_that_is_cut_before_request_or_answer_loses_and_repeats_nothing() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let mut cluster = cluster.with(&["--hold", "2s", "--lease", "100ms"]);
    let coordinator = cluster.coordinator();
    let wire = Wire::before(&mut cluster);
    let workers = [cluster.worker("a", &[]), cluster.worker("b", &[])];
    let mut samples = 0;
    let mut id = String::new();
    for loss in [Loss::Request, Loss::Answer].repeat(4) {
        wire.lose_next(loss);
        samples += 200_000;
        let text = samples.to_string();
        let submit = ["submit", "minishogi", "--segment", "4", "--samples", &text];
        id = cluster.ask(&submit).trim().to_owned();
        until(|| wire.has_lost());
        cluster.assert_lawful(&id).await;
        cluster.ask(&["watch", &id]);
        cluster.assert_lawful(&id).await;
    }
    let samples = samples.to_string();
    let run = ["minishogi", "--segment", "4", "--samples", &samples];
    cluster.assert_counted(&id, &run).await;
    drop((coordinator, workers));
}

/// The same between the coordinator and PostgreSQL, whatever it is that is being committed.
#[tokio::test]
async fn commits_that_are_cut_lose_and_repeat_nothing() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let cluster = cluster.with(&["--hold", "2s", "--lease", "100ms"]);
    let proxy = Proxy::before(&cluster.database);
    fs::write(cluster.path("runtime.url"), proxy.url("kazoe_runtime")).unwrap();
    let coordinator = cluster.coordinator();
    let workers = [cluster.worker("a", &[]), cluster.worker("b", &[])];
    let mut samples = 0;
    let mut id = String::new();
    let losses = [
        postgres_proxy::Loss::Request,
        postgres_proxy::Loss::Answer,
        postgres_proxy::Loss::Sender,
    ];
    for loss in losses.repeat(3) {
        samples += 100_000;
        let text = samples.to_string();
        let submit = ["submit", "minishogi", "--segment", "4", "--samples", &text];
        id = cluster.ask(&submit).trim().to_owned();
        // A few commits of a round, each of another operation.
        for _ in 0..4 {
            let before = proxy.lost();
            proxy.at_next_commit_lose(loss);
            until(|| proxy.lost() > before);
        }
        cluster.assert_lawful(&id).await;
        cluster.ask(&["watch", &id]);
        cluster.assert_lawful(&id).await;
    }
    let samples = samples.to_string();
    let run = ["minishogi", "--segment", "4", "--samples", &samples];
    cluster.assert_counted(&id, &run).await;
    drop((coordinator, workers));
}
