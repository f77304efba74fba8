//! Which workers are here, what they are called, and who they are not.

use std::fs;

use serde_json::Value;

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, until};

/// Far more than is computed here.
const ENDLESS: [&str; 6] = ["submit", "minishogi", "--samples", "50G", "--segment", "4"];

fn states(cluster: &TestCluster<'_>, arguments: &[&str]) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let workers = cluster
        .json(&[&["workers"], arguments].concat())
        .into_iter();
    let mut states: Vec<_> = workers
        .map(|one| (word(&one["owner"]), word(&one["state"])))
        .collect();
    states.sort();
    states
}

fn state(owner: &str, state: &str) -> (String, String) {
    (owner.to_owned(), state.to_owned())
}

#[tokio::test]
async fn workers_that_were_killed_or_left_are_listed_no_more() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server)
        .await
        .with(&["--hold", "2s", "--lease", "1s"]);
    let coordinator = cluster.coordinator();
    let campaign = cluster.ask(&ENDLESS);
    let campaign = campaign.trim();
    let mut killed = cluster.worker("a", &["--name", "rack-1"]);
    let mut left = cluster.worker("b", &["--name", "rack-2"]);
    killed.wait_for("a lease");
    left.wait_for("a lease");
    until(|| states(&cluster, &[]) == [state("a", "at work"), state("b", "at work")]);
    let id = |owner: &str| {
        let mut workers = cluster.json(&["workers", "--all"]).into_iter();
        let one = workers.find(|one| one["owner"] == owner).unwrap();
        one["worker"].as_str().unwrap().to_owned()
    };
    let (killed_id, left_id) = (id("a"), id("b"));

    // One that leaves says so.
    left.signal("-TERM");
    assert_eq!(left.wait(), Some(0), "{}", left.log());
    assert_eq!(states(&cluster, &[]), [state("a", "at work")]);
    assert_eq!(states(&cluster, &["--all"])[1], state("b", "gone"));
    until(|| {
        let log = coordinator.log();
        let mut lines = log.lines();
        lines.any(|line| line.contains("worker left") && line.contains("rack-2"))
    });
    let drained = cluster.run(&["drain", &left_id]);
    assert!(drained.status.success(), "{drained:?}");
    let said = String::from_utf8(drained.stderr).unwrap();
    assert_eq!(said, format!("{left_id} is already gone.\n"));
    assert_eq!(states(&cluster, &["--all"])[1], state("b", "gone"));

    // `watch` counts the living, though nothing else happens when the last one dies.
    let mut watch = cluster.command(&["watch", campaign, "--json"]);
    let watched = cluster.path("watched");
    watch.stdout(fs::File::create(&watched).unwrap());
    let mut watch = watch.spawn().unwrap();
    let workers = || -> Option<u64> {
        let watched = fs::read_to_string(&watched).unwrap();
        let last: Value = serde_json::from_str(watched.lines().last()?).ok()?;
        last["workers"].as_u64()
    };
    until(|| workers() == Some(1));
    killed.kill_9();
    until(|| workers() == Some(0));
    watch.kill().unwrap();
    watch.wait().unwrap();

    // One that was killed while it had segments holds no lease once that expired, and is gone after a while.
    until(|| states(&cluster, &[]).is_empty());
    let listed = cluster.json(&["workers", "--all"]);
    let dead = listed
        .iter()
        .find(|one| one["worker"] == killed_id.as_str())
        .unwrap();
    assert_eq!(
        (&dead["state"], &dead["leases"]),
        (&"gone".into(), &0.into())
    );
    assert!(
        dead["samples_per_second"].as_u64().unwrap() > 1_000,
        "{dead}"
    );
    let empty = cluster.run(&["workers"]);
    assert!(empty.stdout.is_empty(), "{empty:?}");
    let said = String::from_utf8(empty.stderr).unwrap();
    assert!(said.contains("--all"), "{said}");
}

#[tokio::test]
async fn a_worker_s_name_is_shown_beside_its_id_and_harmless() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--hold", "1h"]);
    let coordinator = cluster.coordinator();
    let campaign = cluster.ask(&ENDLESS);
    let evil = format!(
        "rack\t7\u{1b}[31m\u{202e}evil\u{202c}\r\nw-000000\u{200b} {}",
        "\u{6f22}".repeat(300)
    );
    let shown = format!("rack 7 [31mevil w-000000 {}", "\u{6f22}".repeat(39));
    assert_eq!(shown.chars().count(), 64);
    let mut named = cluster.worker("a", &["--name", &evil]);
    let mut twin = cluster.worker("b", &["--name", &evil]);
    let mut plain = cluster.worker("c", &[]);
    for worker in [&mut named, &mut twin, &mut plain] {
        worker.wait_for("a lease");
        assert!(!worker.log().contains('\u{202e}'), "{}", worker.log());
    }
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let workers = cluster.json(&["workers"]);
    let name = |owner: &str| {
        let one = workers.iter().find(|one| one["owner"] == owner).unwrap();
        one["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (name("a"), name("b"), name("c")),
        (shown.clone(), shown.clone(), host)
    );
    let ids = workers.iter().map(|one| one["worker"].as_str().unwrap());
    let ids: std::collections::BTreeSet<&str> = ids.collect();
    assert_eq!(ids.len(), 3, "two of one name are two workers");

    // A header, and as many cells in each line.
    let listed = cluster.ask(&["workers"]);
    let mut lines = listed
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    assert_eq!(header[..3], ["worker", "name", "owner"]);
    let rows: Vec<_> = lines.collect();
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(row.len(), header.len(), "{row:?}");
        assert!(row[0].starts_with("w-"), "{row:?}");
    }

    let log = coordinator.log();
    let joined: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("worker joined"))
        .collect();
    assert_eq!(joined.len(), 3, "{log}");
    assert!(
        joined.iter().filter(|line| line.contains(&shown)).count() == 2,
        "{log}"
    );
    // `watch` and the report name the machines.
    let mut watch = cluster.command(&["watch", campaign.trim(), "--json"]);
    let watched = cluster.path("watched");
    watch.stdout(fs::File::create(&watched).unwrap());
    let mut watch = watch.spawn().unwrap();
    until(|| {
        let watched = fs::read_to_string(&watched).unwrap();
        let mut documents = watched
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        documents.next_back().is_some_and(|last| {
            let at_work = last["at_work"].as_array().unwrap().iter();
            at_work.filter(|one| one["name"] == shown.as_str()).count() == 2
        })
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
    until(|| {
        let report = cluster.json(&["report"]).remove(0);
        let workers = report["workers"].as_array().unwrap().iter();
        workers.filter(|one| one["name"] == shown.as_str()).count() == 2
    });
    for form in ["text", "md"] {
        let report = cluster.ask(&["report", "--format", form]);
        assert!(report.contains(&shown), "{report}");
    }
}

#[tokio::test]
async fn two_spellings_of_an_owner_are_one_owner() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--audit", "100%"]);
    let _coordinator = cluster.coordinator();
    let create = |owner: &str| {
        let create = ["token", "create", "--owner", owner, "--role", "worker"];
        cluster.run(&create)
    };
    for spelling in [
        "Tanaka Lab",
        " Tanaka\u{a0} Lab",
        "Tana\u{200b}ka Lab",
        "Tanaka\u{202e} Lab",
    ] {
        let made = create(spelling);
        assert!(made.status.success(), "{made:?}");
        let said = String::from_utf8(made.stderr).unwrap();
        assert!(said.contains(" for Tanaka Lab: "), "{said}");
    }
    let longest = "\u{7530}".repeat(200);
    assert!(create(&longest).status.success());
    for (wrong, why) in [
        ("\u{200b} \u{2060}", "no visible character"),
        ("a\u{1b}[31mb", "control character"),
        (&format!("{longest}x"), "201 characters"),
    ] {
        let said = String::from_utf8(create(wrong).stderr).unwrap();
        assert!(said.contains(why), "{wrong:?}: {said}");
    }
    let tokens = cluster.json(&["token", "list"]);
    let labs = tokens.iter().filter(|token| token["owner"] == "Tanaka Lab");
    assert_eq!(labs.count(), 4);

    // One does it all; the other spelling has nothing to audit.
    let first = create("e\u{301}quipe").stdout;
    let second = create("\u{e9}quipe").stdout;
    fs::write(cluster.path("first.token"), first).unwrap();
    fs::write(cluster.path("second.token"), second).unwrap();
    cluster.ask(&["submit", "minishogi", "--samples", "50k", "--segment", "4"]);
    for owner in ["first", "second"] {
        let mut worker = cluster.worker(owner, &["--idle-exit", "1s"]);
        assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    }
    let report = cluster.json(&["report"]).remove(0);
    assert_eq!(report["complete"], true);
    let owners = report["owners"].as_array().unwrap();
    assert_eq!((owners.len(), &owners[0]["audited"]), (1, &0.into()));
    let mut worker = cluster.worker("a", &["--idle-exit", "1s"]);
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    let report = cluster.json(&["report"]).remove(0);
    let audited = report["owners"].as_array().unwrap().iter();
    let audited = audited.map(|one| one["audited"].as_u64().unwrap());
    assert_eq!(audited.sum::<u64>(), 4);
}

#[tokio::test]
async fn an_operator_takes_a_hanging_worker_s_leases_back() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server)
        .await
        .with(&["--hold", "1h", "--audit", "0%"]);
    let coordinator = cluster.coordinator();
    let run = ["minishogi", "--samples", "200k", "--segment", "4"];
    let campaign = cluster.ask(&[&["submit"], run.as_slice()].concat());
    let mut hanging = cluster.worker("a", &[]);
    hanging.wait_for("a lease");
    hanging.signal("-STOP");
    let id = cluster.json(&["workers"])[0]["worker"]
        .as_str()
        .unwrap()
        .to_owned();
    let refused = cluster.refusal(&["reclaim", "w-none"]);
    assert!(refused.contains("kazoe workers --all"), "{refused}");
    let refused = cluster.refusal(&["reclaim", "99999"]);
    assert!(refused.contains("no lease 99999"), "{refused}");
    let mut as_worker = cluster.command(&["reclaim", &id]);
    as_worker.env("KAZOE_TOKEN_FILE", cluster.path("b.token"));
    let as_worker = as_worker.output().unwrap();
    let said = String::from_utf8(as_worker.stderr).unwrap();
    assert!(said.contains("requires the role operator"), "{said}");
    let back = cluster.ask(&["reclaim", &id]);
    assert!(back.starts_with(&format!("{id}\t")), "{back}");
    until(|| coordinator.log().contains("lease taken back"));
    let refused = cluster.refusal(&["reclaim", &id]);
    assert!(refused.contains("holds no lease"), "{refused}");
    let mut worker = cluster.worker("b", &["--idle-exit", "1s"]);
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    hanging.signal("-CONT");
    cluster.assert_counted(campaign.trim(), &run).await;
}
