//! What each command answers to a campaign that is paused, cancelled or complete, and to a submission that
//! asks for something else than what is stored.

use std::process::Output;

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{Process, TestCluster, accepted, until};

const SUBMIT: [&str; 6] = ["submit", "minishogi", "--samples", "100k", "--segment", "4"];

/// A campaign that is new at this coordinator; its id.
fn submitted(cluster: &TestCluster<'_>) -> String {
    cluster.ask(&SUBMIT).trim().to_owned()
}

/// The same submission with further arguments.
fn submit<'a>(further: &[&'a str]) -> Vec<&'a str> {
    [&SUBMIT, further].concat()
}

/// What a command that went well said to people.
#[track_caller]
fn said(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

/// `kazoe watch` in the background.
fn watcher(cluster: &TestCluster<'_>, id: &str) -> Process {
    cluster.start("watch.log", &["watch", id], "operator.token")
}

/// A worker that leaves when the campaign is complete.
fn complete(cluster: &TestCluster<'_>) {
    let mut worker = cluster.worker("a", &["--idle-exit", "500ms"]);
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    assert_eq!(state(cluster), "complete");
}

fn state(cluster: &TestCluster<'_>) -> String {
    let campaigns = cluster.json(&["campaigns"]);
    campaigns[0]["state"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_cancelled_campaign_is_named_and_never_waited_for() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let id = submitted(&cluster);
    cluster.ask(&["cancel", &id]);
    let remedy = format!("`kazoe resume {id}`");

    let again = said(&cluster.run(&SUBMIT));
    assert!(again.contains("is cancelled"), "{again}");
    assert!(again.contains(&remedy), "{again}");
    let document = cluster.json(&SUBMIT).remove(0);
    assert_eq!(document["submission"], "existing");
    assert_eq!(document["state"], "cancelled");

    for command in [vec!["watch", &id], submit(&["--wait"])] {
        let refused = cluster.refusal(&command);
        assert!(refused.contains("is cancelled"), "{command:?}: {refused}");
        assert!(refused.contains(&remedy), "{command:?}: {refused}");
    }
    let watched = cluster.run(&["watch", &id, "--json"]);
    assert_eq!(watched.status.code(), Some(1), "{watched:?}");
    let last: serde_json::Value = serde_json::from_slice(&watched.stdout).unwrap();
    assert_eq!(last["state"], "cancelled");

    // More samples are wanted from then on, and still none is computed.
    let more = ["submit", "minishogi", "--samples", "120k", "--segment", "4"];
    let extended = said(&cluster.run(&more));
    assert!(extended.contains("Extended from 100,000"), "{extended}");
    assert!(extended.contains(&remedy), "{extended}");
    assert_eq!(cluster.json(&more)[0]["state"], "cancelled");

    // A pause would bring it half back.
    let refused = cluster.refusal(&["pause", &id]);
    assert!(refused.contains("is cancelled"), "{refused}");
    assert!(refused.contains(&remedy), "{refused}");
    assert_eq!(state(&cluster), "cancelled");
    let again = said(&cluster.run(&["cancel", &id]));
    assert!(again.contains("was already cancelled"), "{again}");

    assert_eq!(cluster.ask(&["resume", &id]), format!("{id}\trunning\n"));
    let _worker = cluster.worker("a", &[]);
    cluster.ask(&["watch", &id]);
    cluster.assert_counted(&id, &more[1..]).await;
}

#[tokio::test]
async fn watch_ends_when_the_campaign_is_cancelled_meanwhile() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let id = submitted(&cluster);
    cluster.ask(&["pause", &id]);
    let mut watch = watcher(&cluster, &id);
    watch.wait_for("is paused");
    cluster.ask(&["cancel", &id]);
    assert_eq!(watch.wait(), Some(1), "{}", watch.log());
    let log = watch.log();
    assert!(log.contains(&format!("`kazoe resume {id}`")), "{log}");
    assert_eq!(log.matches("is paused").count(), 1, "{log}");
}

#[tokio::test]
async fn watch_says_once_that_a_campaign_is_paused_and_goes_on() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let id = submitted(&cluster);
    cluster.ask(&["pause", &id]);
    let again = said(&cluster.run(&["pause", &id]));
    assert!(again.contains("was already paused"), "{again}");
    let again = said(&cluster.run(&SUBMIT));
    assert!(again.contains("is paused"), "{again}");
    assert_eq!(cluster.json(&SUBMIT)[0]["state"], "paused");

    let mut watch = watcher(&cluster, &id);
    watch.wait_for(&format!("`kazoe resume {id}`"));
    let _worker = cluster.worker("a", &[]);
    assert_eq!(accepted(&cluster), 0);
    cluster.ask(&["resume", &id]);
    assert_eq!(watch.wait(), Some(0), "{}", watch.log());
    let log = watch.log();
    assert_eq!(log.matches("is paused").count(), 1, "{log}");
    let again = said(&cluster.run(&["resume", &id]));
    assert!(again.contains("was already running"), "{again}");
}

#[tokio::test]
async fn a_complete_campaign_is_not_cancelled() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let id = submitted(&cluster);
    complete(&cluster);

    let refused = cluster.refusal(&["cancel", &id]);
    assert!(refused.contains("is complete"), "{refused}");
    assert_eq!(cluster.json(&["watch", &id])[0]["state"], "complete");
    let again = said(&cluster.run(&SUBMIT));
    assert!(again.contains("is complete"), "{again}");
    assert_eq!(cluster.json(&SUBMIT)[0]["state"], "complete");
    let fewer = ["submit", "minishogi", "--samples", "50k"];
    let document = cluster.json(&fewer).remove(0);
    assert_eq!(document["submission"], "fewer");
    assert_eq!(document["state"], "complete");
    assert_eq!(document["not_taken"]["samples"], 50_000);
    let waited = said(&cluster.run(&submit(&["--wait"])));
    assert!(waited.contains("is complete"), "{waited}");

    // Its audits may be paused, which is said, and goes on when more samples are wanted.
    let paused = said(&cluster.run(&["pause", &id]));
    assert!(paused.contains("audits"), "{paused}");
    assert_eq!(cluster.json(&SUBMIT)[0]["state"], "complete");
    let more = ["submit", "minishogi", "--samples", "120k"];
    let extended = said(&cluster.run(&more));
    assert!(extended.contains("is paused"), "{extended}");
    cluster.ask(&["resume", &id]);
    complete(&cluster);
}

#[tokio::test]
async fn what_a_submission_does_not_change_is_named() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let id = submitted(&cluster);

    let other = ["submit", "minishogi", "--samples", "100k"];
    let differs = [&other[..], &["--segment", "8", "--priority", "5"]].concat();
    let words = said(&cluster.run(&differs));
    assert!(words.contains("4 blocks, not 8"), "{words}");
    assert!(words.contains("`kazoe priority"), "{words}");
    let document = cluster.json(&differs).remove(0);
    assert_eq!(document["segment_blocks"], 4);
    assert_eq!(document["priority"], 0);
    let not_taken = serde_json::json!({ "segment_blocks": 8, "priority": 5 });
    assert_eq!(document["not_taken"], not_taken);

    // What is not typed, or is as stored, was taken.
    for submission in [&other[..], &submit(&["--priority", "0"])] {
        let words = said(&cluster.run(submission));
        assert!(!words.contains("not "), "{words}");
        let document = cluster.json(submission).remove(0);
        assert_eq!(document["not_taken"], serde_json::json!({}));
        assert_eq!(document["campaign"], id.as_str());
    }
}

#[tokio::test]
async fn a_priority_is_changed_by_an_operator_alone() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    let first = submitted(&cluster);
    let second = cluster.ask(&["submit", "shogi", "--samples", "1M"]);
    let second = second.trim();

    let set = cluster.run(&["priority", "shogi", "7"]);
    let words = said(&set);
    assert!(words.contains("from 0 to 7"), "{words}");
    assert_eq!(
        String::from_utf8(set.stdout).unwrap(),
        format!("{second}\trunning\t7\n")
    );
    let again = said(&cluster.run(&["priority", second, "7"]));
    assert!(again.contains("was already 7"), "{again}");
    let document = cluster.json(&["priority", &first, "-3"]).remove(0);
    assert_eq!(document["campaign"], first.as_str());
    assert_eq!(
        (&document["priority"], &document["priority_before"]),
        (&(-3).into(), &0.into())
    );
    let listed = cluster.json(&["campaigns"]);
    assert_eq!(listed[0]["priority"], -3);
    assert_eq!(listed[1]["priority"], 7);
    let listed = cluster.ask(&["campaigns"]);
    assert!(
        listed.lines().last().unwrap().ends_with("\trunning\t7"),
        "{listed}"
    );
    assert!(
        coordinator.log().contains("priority"),
        "{}",
        coordinator.log()
    );

    let mut refused = cluster.command(&["priority", &first, "9"]);
    refused.env("KAZOE_TOKEN_FILE", cluster.path("a.token"));
    let refused = refused.output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(
        words.contains("this call requires the role operator"),
        "{words}"
    );
    assert_eq!(
        cluster.run(&["priority", &first, "high"]).status.code(),
        Some(2)
    );

    let mut conn = cluster.connection().await;
    let lines: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT campaign, actor, note FROM audit_log WHERE action = 'priority' ORDER BY id",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    let line = |id: &str, note: &str| (id.to_owned(), "operator".to_owned(), note.to_owned());
    assert_eq!(
        lines,
        [line(second, "from 0 to 7"), line(&first, "from 0 to -3")]
    );

    // The next lease is of the campaign that is first now.
    let mut once = cluster.worker("a", &["--once"]);
    assert_eq!(once.wait(), Some(0), "{}", once.log());
    until(|| cluster.json(&["campaigns"])[1]["accepted_samples"] != 0);
    assert_eq!(accepted(&cluster), 0);
}

/// What only an operator can bring on is said once, with the command.
#[tokio::test]
async fn watch_says_what_a_stalled_campaign_waits_for() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let id = submitted(&cluster);
    complete(&cluster);
    let ledger = cluster.database.ledger().await;
    for segment in [1, 3] {
        assert!(
            ledger
                .retract(&id, segment, "test", "a test")
                .await
                .unwrap()
        );
        assert!(
            ledger
                .set_aside(&id, segment, "test", "a test")
                .await
                .unwrap()
        );
    }
    let mut watch = watcher(&cluster, &id);
    watch.wait_for("waits for 2 segments set aside");
    assert!(watch.log().contains(&format!("`kazoe retry {id} SEGMENT`")));
    // A stalled campaign is none that is complete.
    cluster.ask(&["cancel", &id]);
    assert_eq!(watch.wait(), Some(1), "{}", watch.log());
    cluster.ask(&["resume", &id]);
    let mut watch = watcher(&cluster, &id);
    watch.wait_for("waits for 2 segments set aside");
    for segment in ["1", "3"] {
        cluster.ask(&["retry", &id, segment]);
    }
    let _worker = cluster.worker("b", &[]);
    assert_eq!(watch.wait(), Some(0), "{}", watch.log());
}

/// The report of a campaign that stands still says how it goes on.
#[tokio::test]
async fn a_report_s_next_command_resumes() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let id = submitted(&cluster);
    let next = |cluster: &TestCluster<'_>| {
        let report = cluster.ask(&["report", &id]);
        let line = report
            .lines()
            .find(|line| line.starts_with("next"))
            .unwrap();
        line.split_once(' ').unwrap().1.trim().to_owned()
    };
    assert!(next(&cluster).starts_with("kazoe submit minishogi"));
    for order in ["pause", "cancel"] {
        cluster.ask(&["resume", &id]);
        cluster.ask(&[order, &id]);
        let expected = format!("kazoe resume {id} --coordinator {}", cluster.url);
        assert_eq!(next(&cluster), expected, "{order}");
    }
}
