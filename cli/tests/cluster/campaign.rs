//! Campaigns from the first to the last command.

use std::fs;

use sqlx::query_scalar;

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, accepted, is_there, until};

/// 47 segments of 16 blocks and a cut one.
const RUN: [&str; 5] = ["minishogi", "--samples", "3.1M", "--segment", "16"];

/// Leases of a blink, so that there are many; deadlines that pass soon.
const SHORT: [&str; 4] = ["--lease", "100ms", "--hold", "3s"];

/// Three workers of three owners; one of them and the coordinator are killed in the middle.
#[tokio::test]
async fn whatever_is_killed_it_is_the_digest_of_one_process() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&SHORT);
    let coordinator = cluster.coordinator();
    assert_eq!(cluster.ask(&["health"]), "serving\n");
    let submit = [&["submit"], RUN.as_slice()].concat();
    let id = cluster.ask(&submit).trim().to_owned();

    let mut workers: Vec<_> = ["a", "b", "c"]
        .map(|owner| cluster.worker(owner, &[]))
        .into();
    for worker in &mut workers {
        worker.wait_for("a lease");
    }
    until(|| accepted(&cluster) > 0);
    workers.remove(0).kill_9();
    coordinator.kill_9();
    let between = cluster.refusal(&["campaigns"]);
    assert!(between.contains("does not answer"), "{between}");
    let coordinator = cluster.coordinator();
    workers.push(cluster.worker("a", &[]));

    let watched = cluster.ask(&["watch", &id]);
    assert!(
        watched.starts_with(&format!("{id}\tcomplete\t")),
        "{watched}"
    );
    cluster.assert_counted(&id, &RUN).await;

    // Everybody had a part in it, in many leases.
    let mut conn = cluster.connection().await;
    let owners: i64 = query_scalar(
        "SELECT count(DISTINCT r.owner) FROM accepted a JOIN results r ON r.id = a.result",
    )
    .fetch_one(&mut conn)
    .await
    .unwrap();
    assert_eq!(owners, 3);
    let leases: i64 = query_scalar("SELECT count(*) FROM leases")
        .fetch_one(&mut conn)
        .await
        .unwrap();
    assert!(leases >= 10, "{leases}");
    let joined = cluster.json(&["workers", "--all"]);
    assert_eq!(joined.len(), 4);
    let counted: u64 = joined
        .iter()
        .map(|one| one["accepted"].as_u64().unwrap())
        .sum();
    assert_eq!(counted, 48);
    assert!(joined.iter().all(|one| one["disagreed"] == 0));

    // Each worker reported its CPU time; no time is estimated.
    let report = cluster.json(&["report", &id]).remove(0);
    for owner in report["owners"].as_array().unwrap() {
        assert!(owner["core_seconds"].as_u64() > Some(0), "{owner}");
        assert_eq!(owner["estimated_segments"], 0, "{owner}");
    }

    // Workers deliver and exit on a signal; so does the coordinator.
    for worker in &mut workers {
        worker.signal("-TERM");
        assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    }
    let mut coordinator = coordinator;
    coordinator.signal("-TERM");
    assert_eq!(coordinator.wait(), Some(0), "{}", coordinator.log());
    let log = coordinator.log();
    for event in ["worker joined", "minishogi done in", "shutting down"] {
        assert!(log.contains(event), "{event} is not in:\n{log}");
    }
}

#[tokio::test]
async fn a_coordinator_s_campaigns_are_read_like_a_file_s() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let run = ["minishogi", "--samples", "100k", "--segment", "4"];
    let submit = [&["submit"], run.as_slice()].concat();
    let id = cluster.ask(&submit).trim().to_owned();
    assert_eq!(id.len(), 10);
    let again = cluster.json(&submit).remove(0);
    assert_eq!(again["submission"], "existing");
    let _worker = cluster.worker("a", &["--idle-exit", "1h"]);
    let waited = cluster.ask(&[submit.as_slice(), &["--wait", "--json"]].concat());
    let waited: serde_json::Value = serde_json::from_str(&waited).unwrap();
    assert_eq!(
        waited["prefix"]["digest"],
        cluster.digest_of_run(&run).as_str()
    );

    // The same report, but for where it is kept.
    let without_place = |text: String| {
        let lines = text.lines().filter(|line| {
            let places = ["stored in", "next", "audited"];
            places.iter().all(|word| !line.starts_with(word))
        });
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let alone = cluster
        .command(&["report", "--db", "alone.db"])
        .output()
        .unwrap();
    assert_eq!(
        without_place(cluster.ask(&["report"])),
        without_place(String::from_utf8(alone.stdout).unwrap())
    );

    // Exported, verified and imported elsewhere it is the same campaign.
    let name = cluster.ask(&["export"]);
    assert_eq!(name.trim(), format!("minishogi-{id}.ledger.tsv"));
    assert!(is_there(&cluster.path(name.trim())));
    let piped = cluster.ask(&["export", "--output", "-"]);
    assert_eq!(
        piped,
        fs::read_to_string(cluster.path(name.trim())).unwrap()
    );
    let verified = cluster.ask(&["verify", "--share", "100%"]);
    assert!(
        verified.contains("7 of 7 segments computed again"),
        "{verified}"
    );
    assert!(verified.contains("all equal"), "{verified}");
    let imported = cluster
        .command(&["import", name.trim(), "--db", "alone.db", "--owner", "afar"])
        .env_remove("KAZOE_COORDINATOR")
        .output()
        .unwrap();
    let imported = String::from_utf8(imported.stdout).unwrap();
    assert!(imported.contains("7 confirmed"), "{imported}");

    // More samples reuse what is there.
    let more = ["minishogi", "--samples", "120k", "--segment", "4"];
    cluster.ask(&[&["submit"], more.as_slice(), &["--wait"]].concat());
    cluster.assert_counted(&id, &more).await;
}

/// On lent machines workers leave by themselves.
#[tokio::test]
async fn workers_exit_at_their_limits() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server)
        .await
        .with(&["--log-format", "json"]);
    let coordinator = cluster.coordinator();
    cluster.ask(&["submit", "shogi", "--samples", "5G", "--segment", "4"]);
    let flags = ["--hours", "0.0003", "--nice", "5", "--max-load", "100000"];
    let mut hours = cluster.worker("a", &flags);
    assert_eq!(hours.wait(), Some(0), "{}", hours.log());
    assert!(
        hours.log().contains("the time limit is reached"),
        "{}",
        hours.log()
    );
    // Its own threads left out, no machine has a load below 0.
    let mut busy = cluster.worker("b", &["--max-load=-1", "--idle-exit", "500ms"]);
    busy.wait_for("exiting");
    assert_eq!(busy.wait(), Some(0), "{}", busy.log());
    let standing = cluster.json(&["workers", "--all"]);
    assert_eq!(
        standing.len(),
        1,
        "who asked for nothing did not join: {standing:?}"
    );
    // Every line of the log is a document.
    let log = coordinator.log();
    let lines: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        lines
            .iter()
            .any(|line| line["message"] == "worker joined" && line["owner"] == "a"),
        "{log}"
    );
}

#[tokio::test]
async fn a_campaign_is_paused_resumed_and_cancelled() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&SHORT);
    let _coordinator = cluster.coordinator();
    let run = ["minishogi", "--samples", "2M", "--segment", "8"];
    let id = cluster.ask(&[&["submit"], run.as_slice()].concat());
    let id = id.trim();
    assert_eq!(cluster.ask(&["pause", id]), format!("{id}\tpaused\n"));
    let mut worker = cluster.worker("a", &["--idle-exit", "1s"]);
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    assert_eq!(accepted(&cluster), 0);
    assert_eq!(cluster.ask(&["cancel", id]), format!("{id}\tcancelled\n"));
    assert_eq!(
        cluster.ask(&["resume", "minishogi"]),
        format!("{id}\trunning\n")
    );
    let mut once = cluster.worker("a", &["--once"]);
    assert_eq!(once.wait(), Some(0), "{}", once.log());
    let after = accepted(&cluster);
    assert!(after > 0 && after < 2_000_000, "{after}");
    let _worker = cluster.worker("b", &[]);
    cluster.ask(&["watch", id]);
    cluster.assert_counted(id, &run).await;
}
