//! A coordinator that is reached through a proxy alone: its name means something to the proxy only.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use kazoe_coordinator_testkit::certificates::Authority;
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, until};

/// A name that no resolver knows.
const NAME: &str = "kazoe.invalid";

/// `me:hush`, encoded for a proxy.
const CREDENTIALS: &str = "Basic bWU6aHVzaA==";

/// How a proxy answers a request for a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Opens it to those who show the right name and password.
    Credentials,
    /// Opens it to all.
    Open,
    /// Rejects the tunnel.
    Forbidden,
    /// Says nothing.
    Silent,
}

/// A proxy that knows one name, and where it is.
struct Proxy {
    url: String,
    tunnels: Arc<AtomicU32>,
}

impl Proxy {
    fn before(cluster: &TestCluster<'_>, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let tunnels = Arc::new(AtomicU32::new(0));
        let (count, coordinator) = (Arc::clone(&tunnels), cluster.listen.clone());
        thread::spawn(move || {
            for client in listener.incoming() {
                let (count, coordinator) = (Arc::clone(&count), coordinator.clone());
                thread::spawn(move || serve(client.unwrap(), manner, &coordinator, &count));
            }
        });
        Proxy {
            url: format!("http://{address}"),
            tunnels,
        }
    }

    fn with_credentials(&self, credentials: &str) -> String {
        self.url.replace("//", &format!("//{credentials}@"))
    }
}

fn serve(mut client: TcpStream, manner: Manner, coordinator: &str, tunnels: &AtomicU32) {
    let head = head(&mut client);
    let port = coordinator.rsplit(':').next().unwrap();
    assert!(
        head.starts_with(&format!("CONNECT {NAME}:{port} HTTP/1.1\r\n")),
        "{head}"
    );
    let shown = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("proxy-authorization")
            .then_some(value)
    });
    let answer = match manner {
        Manner::Silent => {
            // Until the other side hangs up.
            let _ = client.read(&mut [0]);
            return;
        }
        Manner::Forbidden => "403 Forbidden",
        Manner::Credentials if shown != Some(CREDENTIALS) => "407 Proxy Authentication Required",
        Manner::Credentials | Manner::Open => "200 Connection established",
    };
    let answer = format!("HTTP/1.1 {answer}\r\n\r\n");
    client.write_all(answer.as_bytes()).unwrap();
    let Ok(server) = TcpStream::connect(coordinator) else {
        return;
    };
    if answer.contains(" 200 ") {
        tunnels.fetch_add(1, Ordering::Relaxed);
        let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || pass(from, to));
        pass(server, client);
    }
}

/// A request up to its empty line.
fn head(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|length| length == 1) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

const RUN: [&str; 5] = ["minishogi", "--samples", "100k", "--segment", "4"];

/// A cluster whose coordinator speaks TLS under a name that only a proxy knows.
async fn cluster(server: &Server) -> TestCluster<'_> {
    let tls = ["--tls-cert", "ours.cert", "--tls-key", "ours.key"];
    let mut cluster = TestCluster::new(server).await.with(&tls);
    Authority::generate().write(&cluster, "ours", NAME);
    cluster.url = cluster
        .listen
        .replace("127.0.0.1", &format!("https://{NAME}"));
    cluster
}

#[tokio::test]
async fn a_worker_uses_a_proxy_and_keeps_its_password_secret() {
    let server = Server::shared().await;
    let mut cluster = cluster(&server).await;
    let _coordinator = cluster.coordinator();
    let proxy = Proxy::before(&cluster, Manner::Credentials);
    let given = proxy.with_credentials("me:hush");
    let flags = ["--ca-file", "ours.ca"];
    let typed = [flags[0], flags[1], "--proxy", &given];
    let submit = [&["submit"], RUN.as_slice(), &typed].concat();
    let id = cluster.ask(&submit);
    cluster
        .environment
        .push(("KAZOE_PROXY", given.clone().into()));
    let before = proxy.tunnels.load(Ordering::Relaxed);
    let mut worker = cluster.worker("a", &[&flags[..], &["--log-level", "debug"]].concat());
    let line = cluster.ask(&[&["watch"], &typed[..]].concat());
    let digest = cluster.digest_of_run(&RUN);
    assert!(line.trim().ends_with(&digest), "{line}");
    cluster.assert_lawful(id.trim()).await;
    // One of the worker, one of who watched.
    assert_eq!(proxy.tunnels.load(Ordering::Relaxed), before + 2);
    worker.signal("-TERM");
    assert_eq!(worker.wait(), Some(0));
    let log = worker.log();
    assert!(!log.contains("hush") && !log.contains("bWU6"), "{log}");
}

#[tokio::test]
async fn the_environments_proxy_is_for_tls_and_has_exceptions() {
    let server = Server::shared().await;
    let cluster = cluster(&server).await;
    let _coordinator = cluster.coordinator();
    let proxy = Proxy::before(&cluster, Manner::Open);
    let health = |variables: &[(&str, &str)]| {
        let mut health = cluster.command(&["health", "--ca-file", "ours.ca"]);
        let output = health.envs(variables.iter().copied()).output().unwrap();
        output.status.code()
    };
    assert_eq!(health(&[]), Some(1), "the name means nothing to us");
    for name in ["HTTPS_PROXY", "https_proxy", "KAZOE_PROXY"] {
        assert_eq!(health(&[(name, &proxy.url)]), Some(0), "{name}");
    }
    let except = [("HTTPS_PROXY", proxy.url.as_str()), ("NO_PROXY", NAME)];
    assert_eq!(health(&except), Some(1));
    assert_eq!(proxy.tunnels.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn without_tls_a_proxy_is_used_that_was_named() {
    let server = Server::shared().await;
    let mut cluster = TestCluster::new(&server).await;
    cluster.url = cluster.url.replace("127.0.0.1", NAME);
    let _coordinator = cluster.coordinator();
    let proxy = Proxy::before(&cluster, Manner::Open);
    cluster.ask(&["health", "--proxy", &proxy.url]);
    assert_eq!(proxy.tunnels.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn errors_name_what_is_wrong_with_a_proxy() {
    let server = Server::shared().await;
    let cluster = cluster(&server).await;
    let _coordinator = cluster.coordinator();
    let strict = Proxy::before(&cluster, Manner::Credentials);
    let forbidding = Proxy::before(&cluster, Manner::Forbidden);
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://me:hush@{}", listener.local_addr().unwrap())
    };
    for (proxy, given) in [
        (strict.url.clone(), "requires a user name and a password"),
        (
            strict.with_credentials("me:hushhush"),
            "rejects the user name and the password",
        ),
        (
            forbidding.with_credentials("me:hush"),
            "opens no tunnel to kazoe.invalid:",
        ),
        (gone, "is unreachable: "),
    ] {
        let refusal = cluster.refusal(&["health", "--ca-file", "ours.ca", "--proxy", &proxy]);
        let place = proxy.rsplit(['@', '/']).next().unwrap();
        let given = format!("the proxy http://{place} {given}");
        assert!(refusal.contains(&given), "{given}: {refusal}");
        assert!(!refusal.contains("hush"), "{refusal}");
    }
    let silent = Proxy::before(&cluster, Manner::Silent);
    let flags = ["--ca-file", "ours.ca", "--silence", "3s", "--proxy"];
    let mut worker = cluster.worker("a", &[&flags[..], &[&silent.url]].concat());
    let given = format!("the proxy {} did not answer within 1s", silent.url);
    until(|| {
        assert!(!worker.has_ended(), "{}", worker.log());
        worker.log().contains(&given)
    });
}
