//! TLS: both sides authenticate, and others are rejected.

use kazoe_coordinator_testkit::certificates::Authority;
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::TestCluster;

const RUN: [&str; 5] = ["minishogi", "--samples", "100k", "--segment", "4"];

#[tokio::test]
async fn callers_without_a_certificate_of_the_authority_are_rejected() {
    let server = Server::shared().await;
    let mut cluster = TestCluster::new(&server).await.with(&[
        "--tls-cert",
        "ours.cert",
        "--tls-key",
        "ours.key",
        "--tls-client-ca",
        "ours.ca",
    ]);
    Authority::generate().write(&cluster, "ours", "localhost");
    Authority::generate().write(&cluster, "theirs", "localhost");
    cluster.url = cluster.url.replace("http://127.0.0.1", "https://localhost");
    let _coordinator = cluster.coordinator();
    let flags = |ca: &str, own: &str| {
        let flags = ["--ca-file", ca, "--cert-file", own, "--key-file"];
        let mut flags: Vec<String> = flags.map(str::to_owned).into();
        flags.push(own.replace("cert", "key"));
        flags
    };
    let run = |arguments: &[&str], flags: &[String]| {
        let output = cluster.command(arguments).args(flags).output().unwrap();
        let words = String::from_utf8(output.stderr.clone()).unwrap();
        (output.status.code(), words)
    };
    let ours = flags("ours.ca", "ours.cert");
    assert_eq!(
        run(&["health"], &ours).0,
        Some(0),
        "{:?}",
        run(&["health"], &ours)
    );
    for (flags, who) in [
        (
            flags("theirs.ca", "ours.cert"),
            "a server of another authority",
        ),
        (
            flags("ours.ca", "theirs.cert"),
            "a client of another authority",
        ),
        (
            vec!["--ca-file".to_owned(), "ours.ca".to_owned()],
            "a client without",
        ),
        (Vec::new(), "the system's authorities"),
    ] {
        let (code, words) = run(&["health"], &flags);
        assert_eq!(code, Some(1), "{who}: {words}");
    }
    // Without TLS there is no answer.
    let clear = cluster.url.replace("https", "http");
    assert_eq!(run(&["health", "--coordinator", &clear], &[]).0, Some(1));

    // With a certificate it still takes a token, and then all goes as ever.
    let submit = [&["submit"], RUN.as_slice()].concat();
    assert_eq!(run(&submit, &ours).0, Some(0));
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    let _worker = cluster.worker("a", &ours);
    let watched = [&["watch"], ours.as_slice()].concat();
    let line = cluster.ask(&watched);
    let digest = cluster.digest_of_run(&RUN);
    assert!(line.trim().ends_with(&digest), "{line}");
}
