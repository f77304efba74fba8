//! Where a coordinator listens, and what it reads, as people type and paste it.

use std::fs;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::TestCluster;

/// The port of a cluster.
fn port(cluster: &TestCluster<'_>) -> u16 {
    cluster.listen.rsplit_once(':').unwrap().1.parse().unwrap()
}

#[tokio::test]
async fn a_coordinator_listens_at_every_address_of_a_name() {
    let server = Server::shared().await;
    let mut cluster = TestCluster::new(&server).await;
    let port = port(&cluster);
    // Those that this machine has: a name may have one of a protocol that is off.
    let addresses: Vec<_> = ("localhost", port).to_socket_addrs().unwrap().collect();
    let ours = addresses
        .iter()
        .filter(|address| TcpListener::bind((address.ip(), 0)).is_ok());
    cluster.listen = format!("localhost:{port}");
    let coordinator = cluster.coordinator();
    let mut reached = 0;
    for address in ours {
        TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
        assert!(
            coordinator.log().contains(&address.to_string()),
            "{}",
            coordinator.log()
        );
        reached += 1;
    }
    assert!(reached > 0);
    for address in [format!("localhost:{port}"), format!("127.0.0.1:{port}")] {
        cluster.ask(&["health", "--coordinator", &address]);
        cluster.ask(&["campaigns", "--coordinator", &address]);
    }
}

#[tokio::test]
async fn a_port_alone_is_every_address_and_needs_a_word_about_the_traffic() {
    let server = Server::shared().await;
    let mut cluster = TestCluster::new(&server).await;
    let port = port(&cluster);
    cluster.listen = format!(":{port}");
    let refused = cluster.run(&[
        "coordinator",
        "--listen",
        &cluster.listen,
        "--database-url-file",
        "runtime.url",
    ]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("every address of this machine") && said.contains("--plaintext"),
        "{said}"
    );
    let cluster = cluster.with(&["--plaintext"]);
    let _coordinator = cluster.coordinator();
    cluster.ask(&["health"]);
    if TcpListener::bind("[::1]:0").is_ok() {
        cluster.ask(&["health", "--coordinator", &format!("[::1]:{port}")]);
    }
}

#[tokio::test]
async fn a_token_and_an_address_are_read_past_marks_and_line_ends() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    for name in ["runtime.url", "operator.token", "a.token"] {
        let text = fs::read_to_string(cluster.path(name)).unwrap();
        fs::write(cluster.path(name), format!("\u{feff}{}\r\n", text.trim())).unwrap();
    }
    let _coordinator = cluster.coordinator();
    cluster.ask(&[
        "submit",
        "minishogi",
        "--samples",
        "20,000",
        "--segment",
        "1",
    ]);
    let _worker = cluster.worker("a", &[]);
    let line = cluster.ask(&["watch"]);
    let digest = cluster.digest_of_run(&["minishogi", "--samples", "20k", "--segment", "1"]);
    assert!(line.trim().ends_with(&digest), "{line}");
}
