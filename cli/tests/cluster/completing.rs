//! The ids that a shell offers are those of the coordinator that is named.

use std::net::TcpListener;

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, until};

/// What bash is offered for the last of these words; nothing else may be said.
fn offered(cluster: &TestCluster<'_>, words: &[&str]) -> Vec<String> {
    let ran = cluster
        .command(&["--"])
        .args(words)
        .env("KAZOE_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .env("_CLAP_IFS", "\n")
        .output()
        .unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
    let said = String::from_utf8(ran.stdout).unwrap();
    said.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn ids_of_campaigns_workers_and_tokens_are_offered() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let submit = ["submit", "minishogi", "--samples", "10k"];
    let campaign = cluster.ask(&submit).trim().to_owned();
    let _worker = cluster.worker("a", &[]);
    until(|| !cluster.json(&["workers"]).is_empty());
    let worker = cluster.json(&["workers"])[0]["worker"].clone();
    let worker = worker.as_str().unwrap().to_owned();
    let tokens = cluster.json(&["token", "list"]);
    let (lost, kept): (Vec<_>, Vec<_>) = tokens.iter().partition(|one| one["owner"] == "c");
    cluster.ask(&["token", "revoke", lost[0]["token"].as_str().unwrap()]);

    let begun = &campaign[..3];
    for command in [
        "report", "watch", "pause", "priority", "retry", "export", "purge",
    ] {
        assert_eq!(
            offered(&cluster, &["kazoe", command, begun]),
            [&*campaign],
            "{command}"
        );
    }
    assert_eq!(offered(&cluster, &["kazoe", "drain", "w-"]), [&*worker]);
    let purge = ["kazoe", "purge", &campaign, "--worker", ""];
    assert_eq!(offered(&cluster, &purge), [&*worker]);
    // What was revoked is not offered again.
    let mut good = offered(&cluster, &["kazoe", "token", "revoke", "t-"]);
    good.sort();
    let mut kept: Vec<&str> = kept
        .iter()
        .map(|one| one["token"].as_str().unwrap())
        .collect();
    kept.sort_unstable();
    assert_eq!(good, kept);

    // As bash cuts what is typed, and past the environment's coordinator.
    let (host, port) = cluster.listen.split_once(':').unwrap();
    let host = format!("//{host}");
    let typed = [
        "kazoe",
        "report",
        "--coordinator",
        "http",
        ":",
        &host,
        ":",
        port,
        begun,
    ];
    assert_eq!(offered(&cluster, &typed), [&*campaign]);
    assert!(offered(&cluster, &["kazoe", "report", "--db", "none.db", begun]).is_empty());
}

#[tokio::test]
async fn a_silent_coordinator_offers_no_ids() {
    let server = Server::shared().await;
    let mut cluster = TestCluster::new(&server).await;
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    cluster.url = format!("http://{}", silent.local_addr().unwrap());
    assert!(offered(&cluster, &["kazoe", "drain", "w-"]).is_empty());
    assert!(offered(&cluster, &["kazoe", "report", "3"]).is_empty());
}
