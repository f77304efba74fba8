//! What each command answers to a campaign that is paused, cancelled or complete, and to a submission that
//! asks for something else than what is stored.

use std::process::Output;

use crate::house::{House, Process, accepted, until};
use crate::server::Server;

const SUBMIT: [&str; 6] = ["submit", "minishogi", "--samples", "100k", "--segment", "4"];

/// A campaign that is new at this coordinator; its id.
fn submitted(house: &House<'_>) -> String {
    house.ask(&SUBMIT).trim().to_owned()
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
fn watcher(house: &House<'_>, id: &str) -> Process {
    house.start("watch.log", &["watch", id], "operator.token")
}

/// A worker that leaves when the campaign is complete.
fn complete(house: &House<'_>) {
    let mut worker = house.worker("a", &["--idle-exit", "500ms"]);
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    assert_eq!(state(house), "complete");
}

fn state(house: &House<'_>) -> String {
    let campaigns = house.json(&["campaigns"]);
    campaigns[0]["state"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_cancelled_campaign_is_named_and_never_waited_for() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let _coordinator = house.coordinator();
    let id = submitted(&house);
    house.ask(&["cancel", &id]);
    let remedy = format!("`kazoe resume {id}`");

    let again = said(&house.run(&SUBMIT));
    assert!(again.contains("is cancelled"), "{again}");
    assert!(again.contains(&remedy), "{again}");
    let document = house.json(&SUBMIT).remove(0);
    assert_eq!(document["submission"], "existing");
    assert_eq!(document["state"], "cancelled");

    for command in [vec!["watch", &id], submit(&["--wait"])] {
        let refused = house.refusal(&command);
        assert!(refused.contains("is cancelled"), "{command:?}: {refused}");
        assert!(refused.contains(&remedy), "{command:?}: {refused}");
    }
    let watched = house.run(&["watch", &id, "--json"]);
    assert_eq!(watched.status.code(), Some(1), "{watched:?}");
    let last: serde_json::Value = serde_json::from_slice(&watched.stdout).unwrap();
    assert_eq!(last["state"], "cancelled");

    // More samples are wanted from then on, and still none is computed.
    let more = ["submit", "minishogi", "--samples", "120k", "--segment", "4"];
    let extended = said(&house.run(&more));
    assert!(extended.contains("Extended from 100,000"), "{extended}");
    assert!(extended.contains(&remedy), "{extended}");
    assert_eq!(house.json(&more)[0]["state"], "cancelled");

    // A pause would bring it half back.
    let refused = house.refusal(&["pause", &id]);
    assert!(refused.contains("is cancelled"), "{refused}");
    assert!(refused.contains(&remedy), "{refused}");
    assert_eq!(state(&house), "cancelled");
    let again = said(&house.run(&["cancel", &id]));
    assert!(again.contains("was already cancelled"), "{again}");

    assert_eq!(house.ask(&["resume", &id]), format!("{id}\trunning\n"));
    let _worker = house.worker("a", &[]);
    house.ask(&["watch", &id]);
    house.assert_counted(&id, &more[1..]).await;
}

#[tokio::test]
async fn watch_ends_when_the_campaign_is_cancelled_meanwhile() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let _coordinator = house.coordinator();
    let id = submitted(&house);
    house.ask(&["pause", &id]);
    let mut watch = watcher(&house, &id);
    watch.wait_for("is paused");
    house.ask(&["cancel", &id]);
    assert_eq!(watch.wait(), Some(1), "{}", watch.log());
    let log = watch.log();
    assert!(log.contains(&format!("`kazoe resume {id}`")), "{log}");
    assert_eq!(log.matches("is paused").count(), 1, "{log}");
}

#[tokio::test]
async fn watch_says_once_that_a_campaign_is_paused_and_goes_on() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let _coordinator = house.coordinator();
    let id = submitted(&house);
    house.ask(&["pause", &id]);
    let again = said(&house.run(&["pause", &id]));
    assert!(again.contains("was already paused"), "{again}");
    let again = said(&house.run(&SUBMIT));
    assert!(again.contains("is paused"), "{again}");
    assert_eq!(house.json(&SUBMIT)[0]["state"], "paused");

    let mut watch = watcher(&house, &id);
    watch.wait_for(&format!("`kazoe resume {id}`"));
    let _worker = house.worker("a", &[]);
    assert_eq!(accepted(&house), 0);
    house.ask(&["resume", &id]);
    assert_eq!(watch.wait(), Some(0), "{}", watch.log());
    let log = watch.log();
    assert_eq!(log.matches("is paused").count(), 1, "{log}");
    let again = said(&house.run(&["resume", &id]));
    assert!(again.contains("was already running"), "{again}");
}

#[tokio::test]
async fn a_complete_campaign_is_not_cancelled() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let _coordinator = house.coordinator();
    let id = submitted(&house);
    complete(&house);

    let refused = house.refusal(&["cancel", &id]);
    assert!(refused.contains("is complete"), "{refused}");
    assert_eq!(house.json(&["watch", &id])[0]["state"], "complete");
    let again = said(&house.run(&SUBMIT));
    assert!(again.contains("is complete"), "{again}");
    assert_eq!(house.json(&SUBMIT)[0]["state"], "complete");
    let fewer = ["submit", "minishogi", "--samples", "50k"];
    let document = house.json(&fewer).remove(0);
    assert_eq!(document["submission"], "fewer");
    assert_eq!(document["state"], "complete");
    assert_eq!(document["not_taken"]["samples"], 50_000);
    let waited = said(&house.run(&submit(&["--wait"])));
    assert!(waited.contains("is complete"), "{waited}");

    // Its audits may be paused, which is said, and goes on when more samples are wanted.
    let paused = said(&house.run(&["pause", &id]));
    assert!(paused.contains("audits"), "{paused}");
    assert_eq!(house.json(&SUBMIT)[0]["state"], "complete");
    let more = ["submit", "minishogi", "--samples", "120k"];
    let extended = said(&house.run(&more));
    assert!(extended.contains("is paused"), "{extended}");
    house.ask(&["resume", &id]);
    complete(&house);
}

#[tokio::test]
async fn what_a_submission_does_not_change_is_named() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let _coordinator = house.coordinator();
    let id = submitted(&house);

    let other = ["submit", "minishogi", "--samples", "100k"];
    let differs = [&other[..], &["--segment", "8", "--priority", "5"]].concat();
    let words = said(&house.run(&differs));
    assert!(words.contains("4 blocks, not 8"), "{words}");
    assert!(words.contains("`kazoe priority"), "{words}");
    let document = house.json(&differs).remove(0);
    assert_eq!(document["segment_blocks"], 4);
    assert_eq!(document["priority"], 0);
    let not_taken = serde_json::json!({ "segment_blocks": 8, "priority": 5 });
    assert_eq!(document["not_taken"], not_taken);

    // What is not typed, or is as stored, was taken.
    for submission in [&other[..], &submit(&["--priority", "0"])] {
        let words = said(&house.run(submission));
        assert!(!words.contains("not "), "{words}");
        let document = house.json(submission).remove(0);
        assert_eq!(document["not_taken"], serde_json::json!({}));
        assert_eq!(document["campaign"], id.as_str());
    }
}

#[tokio::test]
async fn a_priority_is_changed_by_an_operator_alone() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let coordinator = house.coordinator();
    let first = submitted(&house);
    let second = house.ask(&["submit", "shogi", "--samples", "1M"]);
    let second = second.trim();

    let set = house.run(&["priority", "shogi", "7"]);
    let words = said(&set);
    assert!(words.contains("from 0 to 7"), "{words}");
    assert_eq!(
        String::from_utf8(set.stdout).unwrap(),
        format!("{second}\trunning\t7\n")
    );
    let again = said(&house.run(&["priority", second, "7"]));
    assert!(again.contains("was already 7"), "{again}");
    let document = house.json(&["priority", &first, "-3"]).remove(0);
    assert_eq!(document["campaign"], first.as_str());
    assert_eq!(
        (&document["priority"], &document["priority_before"]),
        (&(-3).into(), &0.into())
    );
    let listed = house.json(&["campaigns"]);
    assert_eq!(listed[0]["priority"], -3);
    assert_eq!(listed[1]["priority"], 7);
    let listed = house.ask(&["campaigns"]);
    assert!(
        listed.lines().last().unwrap().ends_with("\trunning\t7"),
        "{listed}"
    );
    assert!(
        coordinator.log().contains("priority"),
        "{}",
        coordinator.log()
    );

    let mut refused = house.command(&["priority", &first, "9"]);
    refused.env("KAZOE_TOKEN_FILE", house.path("a.token"));
    let refused = refused.output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("this call requires the role operator"), "{words}");
    assert_eq!(
        house.run(&["priority", &first, "high"]).status.code(),
        Some(2)
    );

    let mut conn = house.connection().await;
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
    let mut once = house.worker("a", &["--once"]);
    assert_eq!(once.wait(), Some(0), "{}", once.log());
    until(|| house.json(&["campaigns"])[1]["accepted_samples"] != 0);
    assert_eq!(accepted(&house), 0);
}

/// What only an operator can bring on is said once, with the command.
#[tokio::test]
async fn watch_says_what_a_stalled_campaign_waits_for() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let _coordinator = house.coordinator();
    let id = submitted(&house);
    complete(&house);
    let ledger = house.database.ledger().await;
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
    let mut watch = watcher(&house, &id);
    watch.wait_for("waits for 2 segments set aside");
    assert!(watch.log().contains(&format!("`kazoe retry {id} SEGMENT`")));
    // A stalled campaign is none that is complete.
    house.ask(&["cancel", &id]);
    assert_eq!(watch.wait(), Some(1), "{}", watch.log());
    house.ask(&["resume", &id]);
    let mut watch = watcher(&house, &id);
    watch.wait_for("waits for 2 segments set aside");
    for segment in ["1", "3"] {
        house.ask(&["retry", &id, segment]);
    }
    let _worker = house.worker("b", &[]);
    assert_eq!(watch.wait(), Some(0), "{}", watch.log());
}

/// The report of a campaign that stands still says how it goes on.
#[tokio::test]
async fn a_report_s_next_command_resumes() {
    let server = Server::shared().await;
    let house = House::new(&server).await;
    let _coordinator = house.coordinator();
    let id = submitted(&house);
    let next = |house: &House<'_>| {
        let report = house.ask(&["report", &id]);
        let line = report
            .lines()
            .find(|line| line.starts_with("next"))
            .unwrap();
        line.split_once(' ').unwrap().1.trim().to_owned()
    };
    assert!(next(&house).starts_with("kazoe submit minishogi"));
    for order in ["pause", "cancel"] {
        house.ask(&["resume", &id]);
        house.ask(&[order, &id]);
        let expected = format!("kazoe resume {id} --coordinator {}", house.url);
        assert_eq!(next(&house), expected, "{order}");
    }
}
