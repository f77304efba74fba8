//! Those who connect and say nothing, or not enough.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::healthy::{MANY, under_attack};
use kazoe_coordinator_testkit::certificates::Authority;
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::TestCluster;

/// More than there may be strangers.
const CONNECTIONS: usize = 2_500;

/// The beginning of a TLS record that says "500 bytes of a ClientHello follow".
const HALF_A_HELLO: [u8; 9] = [0x16, 0x03, 0x01, 0x01, 0xf4, 0x01, 0x00, 0x01, 0xf0];

/// How HTTP/2 begins, and an empty SETTINGS frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// This process needs a handle for each of them.
fn with_many_handles() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, all).unwrap();
}

async fn connect(cluster: &TestCluster<'_>, words: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(&cluster.listen).await.unwrap();
    // One that had to make room already is closed.
    let _ = stream.write_all(words).await;
    stream
}

/// Waits until the coordinator has closed it.
async fn closed(mut stream: TcpStream) {
    let mut bytes = [0; 1024];
    while !matches!(stream.read(&mut bytes).await, Ok(0) | Err(_)) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn half_open_handshakes_exclude_no_caller() {
    with_many_handles();
    let server = Server::shared().await;
    let mut cluster = TestCluster::new(&server).await.with(&[
        "--tls-cert",
        "ours.cert",
        "--tls-key",
        "ours.key",
        "--max-newcomer",
        "5s",
    ]);
    Authority::generate().write(&cluster, "ours", "localhost");
    cluster.url = cluster.url.replace("http://127.0.0.1", "https://localhost");
    let coordinator = cluster.coordinator();
    under_attack(
        &cluster,
        &coordinator,
        "half-open handshakes",
        async |calls| {
            let mut open = Vec::with_capacity(CONNECTIONS);
            for number in 0..CONNECTIONS {
                // Nothing, half a hello, or what is no TLS at all.
                let words = [&[][..], &HALF_A_HELLO, PREFACE][number % 3];
                open.push(connect(&cluster, words).await);
            }
            calls.more(MANY).await;
            // All of them are closed in the end, without having said anything more.
            for stream in open {
                closed(stream).await;
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn idle_connections_exclude_no_caller() {
    with_many_handles();
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server)
        .await
        .with(&["--max-newcomer", "5s"]);
    let mut coordinator = cluster.coordinator();
    under_attack(&cluster, &coordinator, "idle connections", async |calls| {
        let mut open = Vec::with_capacity(CONNECTIONS);
        for number in 0..CONNECTIONS {
            let words = [&[][..], &PREFACE[..10], PREFACE][number % 3];
            open.push(connect(&cluster, words).await);
        }
        calls.more(MANY).await;
        for stream in open {
            closed(stream).await;
        }
    })
    .await;
    // The log has a line each second.
    coordinator.wait_for("connections without a token");
    coordinator.wait_for("connections closed for others");
}

/// No attack: the baseline.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_an_attack_all_goes_well() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    under_attack(&cluster, &coordinator, "none", async |calls| {
        calls.more(MANY).await;
    })
    .await;
    assert!(!coordinator.log().contains("turned away"));
}

/// Connections that grow old are closed without a word too much, and workers make new ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn old_connections_are_replaced() {
    use kazoe_coordinator_testkit::raw_http2::{Raw, bearer, framed};
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server)
        .await
        .with(&["--max-age", "300ms"]);
    let _coordinator = cluster.coordinator();
    let run = ["minishogi", "--samples", "500k", "--segment", "4"];
    let id = cluster.ask(&[&["submit"], run.as_slice()].concat());
    let mut worker = cluster.worker("a", &[]);
    let token = bearer(&cluster, "b");
    let headers = [("authorization", token.as_str())];
    for _ in 0..3 {
        let mut raw = Raw::connect(&cluster).await;
        let answer = raw
            .call(
                "/kazoe.v1.Campaigns/List",
                &headers,
                [framed(false, 0, &[])],
            )
            .await
            .unwrap();
        assert_eq!(answer.code, Some(0), "{answer:?}");
        // GOAWAY, and no error.
        raw.end.await.unwrap().unwrap();
    }
    cluster.ask(&["watch", id.trim()]);
    cluster.assert_counted(id.trim(), &run).await;
    worker.signal("-TERM");
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
}

/// A token may open connections up to the limit; then calls are deferred with the reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_address_has_a_limit_of_connections() {
    use kazoe_coordinator_testkit::raw_http2::{Raw, bearer, framed};
    let server = Server::shared().await;
    let flags = ["--max-connections-per-address", "3"];
    let cluster = TestCluster::new(&server).await.with(&flags);
    let coordinator = cluster.coordinator();
    let token = bearer(&cluster, "a");
    let headers = [("authorization", token.as_str())];
    let mut open = Vec::new();
    for number in 0..5 {
        let mut raw = Raw::connect(&cluster).await;
        let answer = raw
            .call(
                "/kazoe.v1.Campaigns/List",
                &headers,
                [framed(false, 0, &[])],
            )
            .await
            .unwrap();
        let expected = if number < 3 { 0 } else { 8 };
        assert_eq!(answer.code, Some(expected), "{number}: {answer:?}");
        if number >= 3 {
            assert!(
                answer.words.contains("--max-connections-per-address"),
                "{answer:?}"
            );
            assert!(
                answer.headers.contains_key("grpc-retry-pushback-ms"),
                "{answer:?}"
            );
        }
        open.push(raw);
    }
    // A worker waits for the given delay, and no longer.
    let mut worker = cluster.worker("b", &[]);
    worker.wait_for("retrying after its delay");
    open.truncate(2);
    worker.wait_for("joined");
    drop(worker);
    // One goes, and there is room for another.
    open.remove(0);
    loop {
        let mut raw = Raw::connect(&cluster).await;
        let answer = raw
            .call(
                "/kazoe.v1.Campaigns/List",
                &headers,
                [framed(false, 0, &[])],
            )
            .await
            .unwrap();
        if answer.code == Some(0) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(coordinator);
}
