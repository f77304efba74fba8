//! Campaigns of another build in a coordinator's database.

use kazoe_proto::work::{Notice, Report, StopReason};

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::scripted_worker::{ScriptedWorker, computed};
use kazoe_coordinator_testkit::test_cluster::{Process, TestCluster, until};

/// A row that another build wrote.
struct Row {
    id: &'static str,
    variant: &'static str,
    population: &'static str,
    design: &'static str,
    cap: Option<&'static str>,
}

const ROWS: [Row; 4] = [
    Row {
        id: "aaaaaaaaa1",
        variant: "chushogi",
        population: "candidates",
        design: "plain",
        cap: None,
    },
    Row {
        id: "aaaaaaaaa2",
        variant: "minishogi",
        population: "candidates",
        design: "weighed",
        cap: None,
    },
    Row {
        id: "aaaaaaaaa3",
        variant: "minishogi",
        population: "endgames",
        design: "plain",
        cap: None,
    },
    Row {
        id: "aaaaaaaaa4",
        variant: "minishogi",
        population: "candidates",
        design: "plain",
        cap: Some("1e9"),
    },
];

/// Enters campaigns of another build, older and more urgent than all others.
async fn enter(cluster: &TestCluster<'_>) {
    let mut conn = cluster.connection().await;
    for row in ROWS {
        sqlx::query(
            "INSERT INTO campaigns (id, canonical, variant, population, design, seed, cap, samples,
                                    segment_blocks, build, submitted_at, priority)
             VALUES ($1, $1, $2, $3, $4, '1', $5, 1000000, 4, 'kazoe 9.0.0 (f00)', 0, 100)",
        )
        .bind(row.id)
        .bind(row.variant)
        .bind(row.population)
        .bind(row.design)
        .bind(row.cap)
        .execute(&mut conn)
        .await
        .unwrap();
    }
}

fn warnings(coordinator: &Process) -> usize {
    coordinator.log().matches("another build submitted").count()
}

#[tokio::test]
async fn a_campaign_of_another_build_is_shown_and_blocks_nothing_else() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    enter(&cluster).await;
    let run = ["minishogi", "--samples", "100k", "--segment", "4"];
    let id = cluster.ask(&[&["submit"], run.as_slice()].concat());
    let id = id.trim();
    // A lease of it, by a coordinator of that build, goes back with the rest of a revoked token's.
    let mut worker = cluster.worker("a", &[]);
    cluster.ask(&["watch", id]);
    cluster.assert_counted(id, &run).await;
    assert_eq!(
        cluster.ask(&["report", "minishogi"]),
        cluster.ask(&["report", id])
    );
    cluster.ask(&["verify", id, "--share", "10%"]);
    cluster.ask(&["export", id]);
    until(|| warnings(&coordinator) == ROWS.len());
    worker.signal("-TERM");
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());

    let listed = cluster.run(&["campaigns"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    let words = String::from_utf8(listed.stderr).unwrap();
    assert_eq!(listed.status.code(), Some(0), "{words}");
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(
        text.contains("aaaaaaaaa1\tchushogi\t1\tnone\t-\t1000000\tunknown\t"),
        "{text}"
    );
    for (row, odd) in ROWS
        .iter()
        .zip(["`chushogi`", "`weighed`", "`endgames`", "`1e9`"])
    {
        let line = words.lines().find(|line| line.contains(row.id)).unwrap();
        assert!(
            line.contains(odd) && line.contains("another build"),
            "{line}"
        );
    }
    let documents = cluster.json(&["campaigns"]);
    assert_eq!(documents[1]["design"], "weighed");
    assert_eq!(documents[1]["state"], "unknown");
    assert!(documents[1]["accepted_samples"].is_null());
    assert_eq!(documents[4]["state"], "complete");

    for command in [
        "report", "watch", "export", "verify", "pause", "resume", "cancel",
    ] {
        for (row, odd) in ROWS
            .iter()
            .zip(["`chushogi`", "`weighed`", "`endgames`", "`1e9`"])
        {
            let refused = cluster.refusal(&[command, row.id]);
            assert!(refused.contains(odd), "{command}: {refused}");
            assert!(refused.contains("another build"), "{command}: {refused}");
            assert!(
                refused.contains("kazoe 9.0.0 (f00)"),
                "{command}: {refused}"
            );
        }
    }
    let refused = cluster.refusal(&["report", "chushogi"]);
    assert!(refused.contains("another build"), "{refused}");

    // A coordinator that finds them when it starts says so once, and serves the rest.
    drop(coordinator);
    let coordinator = cluster.coordinator();
    until(|| warnings(&coordinator) == 2 * ROWS.len());
    let run = ["minishogi", "--samples", "120k", "--segment", "4"];
    let _worker = cluster.worker("b", &[]);
    cluster.ask(&[&["submit"], run.as_slice(), &["--wait"]].concat());
    cluster.assert_counted(id, &run).await;
    assert_eq!(warnings(&coordinator), 2 * ROWS.len());
}

#[tokio::test]
async fn a_tally_of_an_unknown_design_hides_its_own_campaign_alone() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    let first = ["minishogi", "--samples", "20k", "--segment", "1"];
    let odd = cluster.ask(&[&["submit"], first.as_slice()].concat());
    let odd = odd.trim();
    let mut worker = cluster.worker("a", &["--idle-exit", "500ms"]);
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    let mut conn = cluster.connection().await;
    sqlx::query("INSERT INTO result_cells SELECT result, 99, 1 FROM accepted WHERE segment = 0")
        .execute(&mut conn)
        .await
        .unwrap();

    let second = [
        "minishogi",
        "--samples",
        "20k",
        "--segment",
        "1",
        "--seed",
        "2",
    ];
    let sound = cluster.ask(&[&["submit"], second.as_slice()].concat());
    let sound = sound.trim();
    let _worker = cluster.worker("a", &[]);
    cluster.ask(&["watch", sound]);
    cluster.assert_counted(sound, &second).await;

    let listed = cluster.run(&["campaigns", "--json"]);
    assert_eq!(listed.status.code(), Some(0), "{listed:?}");
    let words = String::from_utf8(listed.stderr).unwrap();
    assert!(words.contains(odd) && words.contains("cell 99"), "{words}");
    let text = String::from_utf8(listed.stdout).unwrap();
    let documents: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(documents[0]["state"], "unreadable");
    assert_eq!(documents[1]["state"], "complete");
    for command in ["report", "watch", "export"] {
        let refused = cluster.refusal(&[command, odd]);
        assert!(refused.contains("cell 99"), "{command}: {refused}");
        assert!(refused.contains("another build"), "{command}: {refused}");
    }

    // It may be extended, and what it lacks is computed.
    let more = ["submit", "minishogi", "--samples", "40k", "--segment", "1"];
    cluster.ask(&more);
    loop {
        let there: i64 = sqlx::query_scalar("SELECT count(*) FROM accepted WHERE campaign = $1")
            .bind(odd)
            .fetch_one(&mut conn)
            .await
            .unwrap();
        if there == 10 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(
        coordinator.log().matches("cell 99").count(),
        1,
        "{}",
        coordinator.log()
    );
}

/// A coordinator of that build lent it; this one takes nothing of it, and the worker goes on with other work.
#[tokio::test]
async fn a_worker_drops_a_lease_of_a_campaign_of_another_build() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    let run = ["minishogi", "--samples", "100k", "--segment", "4"];
    let lost = cluster.ask(&[&["submit"], run.as_slice()].concat());
    let mut scripted = ScriptedWorker::join(&cluster, "a").await;
    let lease = scripted.claim().await.unwrap();
    let mut admin = cluster.database.admin().await;
    sqlx::query("UPDATE campaigns SET design = 'weighed'")
        .execute(&mut admin)
        .await
        .unwrap();
    let run = [
        "minishogi",
        "--samples",
        "100k",
        "--segment",
        "4",
        "--seed",
        "2",
    ];
    let id = cluster.ask(&[&["submit"], run.as_slice()].concat());
    let id = id.trim();

    let finished = Report::Finished(computed(&lease));
    let said = scripted.say(&lease, &finished).await.unwrap();
    assert_eq!(said, Some(Notice::Stop(StopReason::NotHeld)));
    assert_eq!(scripted.say(&lease, &Report::Done).await.unwrap(), None);
    let next = scripted.claim().await.unwrap();
    assert_eq!(next.campaign.id(), id);
    let said = scripted
        .say(&next, &Report::Finished(computed(&next)))
        .await
        .unwrap();
    assert!(matches!(said, Some(Notice::Acknowledged(_))), "{said:?}");
    assert!(
        coordinator.log().contains(lost.trim()),
        "{}",
        coordinator.log()
    );

    let _worker = cluster.worker("b", &[]);
    assert_eq!(scripted.say(&next, &Report::Done).await.unwrap(), None);
    cluster.ask(&["watch", id]);
    cluster.assert_counted(id, &run).await;
}
