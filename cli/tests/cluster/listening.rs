//! Where a coordinator listens, and what it reads, as people type and paste it.

use std::fs;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};

use crate::house::House;
use crate::server::Server;

/// The port of a house.
fn port(house: &House<'_>) -> u16 {
    house.listen.rsplit_once(':').unwrap().1.parse().unwrap()
}

#[tokio::test]
async fn a_coordinator_listens_at_every_address_of_a_name() {
    let server = Server::shared().await;
    let mut house = House::new(&server).await;
    let port = port(&house);
    // Those that this machine has: a name may have one of a protocol that is off.
    let addresses: Vec<_> = ("localhost", port).to_socket_addrs().unwrap().collect();
    let ours = addresses
        .iter()
        .filter(|address| TcpListener::bind((address.ip(), 0)).is_ok());
    house.listen = format!("localhost:{port}");
    let coordinator = house.coordinator();
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
        house.ask(&["health", "--coordinator", &address]);
        house.ask(&["campaigns", "--coordinator", &address]);
    }
}

#[tokio::test]
async fn a_port_alone_is_every_address_and_needs_a_word_about_the_traffic() {
    let server = Server::shared().await;
    let mut house = House::new(&server).await;
    let port = port(&house);
    house.listen = format!(":{port}");
    let refused = house.run(&[
        "coordinator",
        "--listen",
        &house.listen,
        "--database-url-file",
        "runtime.url",
    ]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("every address of this machine") && said.contains("--plaintext"),
        "{said}"
    );
    let house = house.with(&["--plaintext"]);
    let _coordinator = house.coordinator();
    house.ask(&["health"]);
    if TcpListener::bind("[::1]:0").is_ok() {
        house.ask(&["health", "--coordinator", &format!("[::1]:{port}")]);
    }
}

#[tokio::test]
async fn a_token_and_an_address_are_read_past_marks_and_line_ends() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    for name in ["runtime.url", "operator.token", "a.token"] {
        let text = fs::read_to_string(house.path(name)).unwrap();
        fs::write(house.path(name), format!("\u{feff}{}\r\n", text.trim())).unwrap();
    }
    let _coordinator = house.coordinator();
    house.ask(&[
        "submit",
        "minishogi",
        "--samples",
        "20,000",
        "--segment",
        "1",
    ]);
    let _worker = house.worker("a", &[]);
    let line = house.ask(&["watch"]);
    let digest = house.digest_of_run(&["minishogi", "--samples", "20k", "--segment", "1"]);
    assert!(line.trim().ends_with(&digest), "{line}");
}
