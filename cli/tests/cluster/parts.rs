//! Parts that were computed without a network.

use std::fs;

use kazoe_proto::admin::{Import, import_request};
use kazoe_proto::v1;
use kazoe_proto::v1::admin_client::AdminClient;
use kazoe_worker::channel::Link;
use sqlx::query_scalar;
use tonic::Code;

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::scripted_worker::{ScriptedWorker, computed};
use kazoe_coordinator_testkit::test_cluster::{TestCluster, accepted, is_there};

/// 13 segments.
const RUN: [&str; 5] = ["minishogi", "--samples", "200k", "--segment", "4"];

#[tokio::test]
async fn a_part_fills_what_is_empty_and_is_compared_with_the_rest() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();
    cluster.ask(&["export", id, "-o", "campaign.ledger.tsv"]);
    let part = |segments: &str, file: &str| {
        cluster.ask(&["compute", "campaign.ledger.tsv", "-s", segments, "-o", file]);
    };
    part("4..9", "part.ledger.tsv");
    let done = cluster.json(&["import", "part.ledger.tsv"]).remove(0);
    assert_eq!(done["accepted"], 5);
    assert!(!is_there(&cluster.path("kazoe.db")));
    assert_eq!(accepted(&cluster), 5 * 4 * 4096);
    // The token's owner answers for it.
    let mut conn = cluster.connection().await;
    let owners: Vec<String> = query_scalar("SELECT DISTINCT owner FROM results")
        .fetch_all(&mut conn)
        .await
        .unwrap();
    assert_eq!(owners, ["operator"]);

    // Sent again it counts nothing twice; the rest is filled by workers, and compared with another part.
    let done = cluster.json(&["import", "part.ledger.tsv"]).remove(0);
    assert_eq!(
        (&done["accepted"], &done["repeated"]),
        (&0.into(), &5.into())
    );
    let mut worker = cluster.worker("a", &["--idle-exit", "3s"]);
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    cluster.assert_counted(id, &RUN).await;
    part("0..", "whole.ledger.tsv");
    let done = cluster.json(&["import", "whole.ledger.tsv"]).remove(0);
    assert_eq!(done["accepted"], 0);
    let (audited, repeated) = (done["audited"].as_u64(), done["repeated"].as_u64());
    assert!(repeated >= Some(5) && audited >= Some(1), "{done}");
    assert_eq!(done["disputed"].as_array().unwrap().len(), 0);

    // A count that was moved is refused.
    let text = fs::read_to_string(cluster.path("whole.ledger.tsv")).unwrap();
    let line = text.lines().find(|line| line.starts_with("segment\t0\t"));
    let line = line.unwrap();
    let fields: Vec<&str> = line.split('\t').collect();
    let (first, rest) = fields[3].split_once(',').unwrap();
    let (second, rest) = rest.split_once(',').unwrap();
    let moved = |cell: &str, by: i64| {
        let (cell, count) = cell.split_once(':').unwrap();
        format!("{cell}:{}", count.parse::<i64>().unwrap() + by)
    };
    let cells = format!("{},{},{rest}", moved(first, 1), moved(second, -1));
    let text = text.replace(line, &line.replace(fields[3], &cells));
    fs::write(cluster.path("wrong.ledger.tsv"), &text).unwrap();
    let refused = cluster.run(&["import", "wrong.ledger.tsv"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("the file states the fingerprint"), "{said}");
    cluster.assert_counted(id, &RUN).await;

    // So it does in a file of a build from before fingerprints.
    let check = text.lines().find(|line| line.contains("\tkazoe-check/1 "));
    let text = text.replace(&format!("{}\n", check.unwrap()), "");
    fs::write(cluster.path("wrong.ledger.tsv"), text).unwrap();
    let wrong = cluster.run(&["import", "wrong.ledger.tsv"]);
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(said.contains("segment 0 differs"), "{said}");
    cluster.ask(&["resolve", id, "0"]);
    cluster.assert_counted(id, &RUN).await;
}

/// A coordinator takes a file in several requests. If one of them is refused, what was taken is said to the
/// segment, and the file can be imported again.
#[tokio::test]
async fn an_import_that_stops_half_way_says_what_was_taken() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();
    cluster.ask(&["export", id, "-o", "campaign.ledger.tsv"]);
    cluster.ask(&[
        "compute",
        "campaign.ledger.tsv",
        "-s",
        "2..11",
        "-o",
        "part.ledger.tsv",
    ]);
    let text = fs::read_to_string(cluster.path("part.ledger.tsv")).unwrap();
    // From segment 7 on it is of a build whose name no coordinator takes; each build is a request.
    let mut lines: Vec<String> = Vec::new();
    let mut later = false;
    for line in text
        .lines()
        .filter(|line| !line.contains("\tkazoe-check/1 "))
    {
        if line.starts_with("segment\t7\t") {
            lines.push(format!("build\t1\t{}", "x".repeat(201)));
            later = true;
        }
        let segment = line.starts_with("segment\t") && later;
        let (head, _) = line.rsplit_once('\t').unwrap_or_default();
        lines.push(if segment {
            format!("{head}\t1")
        } else {
            line.to_owned()
        });
    }
    fs::write(cluster.path("odd.ledger.tsv"), lines.join("\n") + "\n").unwrap();
    for _ in 0..2 {
        let stopped = cluster.run(&["import", "odd.ledger.tsv"]);
        assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
        assert!(stopped.stdout.is_empty(), "{stopped:?}");
        let said = String::from_utf8(stopped.stderr).unwrap();
        assert!(said.contains("error: field `build`"), "{said}");
        let taken = "error: of 9 segments in odd.ledger.tsv, the coordinator imported the first 5 segments, up \
                     to segment 6; it did not import the other 4; it is safe to import the file again";
        assert!(said.contains(taken), "{said}");
        assert_eq!(accepted(&cluster), 5 * 4 * 4096);
    }
    let done = cluster.json(&["import", "part.ledger.tsv"]).remove(0);
    assert_eq!(
        (&done["accepted"], &done["repeated"]),
        (&4.into(), &5.into())
    );

    // A file of another cut does not even extend the campaign.
    let other = [
        "run",
        "minishogi",
        "--samples",
        "300k",
        "--segment",
        "8",
        "--db",
        "other.db",
    ];
    cluster.ask(&other);
    cluster.ask(&["export", "-o", "other.ledger.tsv", "--db", "other.db"]);
    let refused = cluster.run(&["import", "other.ledger.tsv"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.ends_with("; no segment of other.ledger.tsv was imported\n"),
        "{said}"
    );
    assert_eq!(cluster.json(&["report", id])[0]["wanted_samples"], 200_000);
}

/// Only operators import files, and an invalid file changes nothing.
#[tokio::test]
async fn wrong_parts_are_refused_by_the_name_of_the_field() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();
    let mut scripted = ScriptedWorker::join(&cluster, "a").await;
    let lease = scripted.claim().await.unwrap();
    let import = Import {
        campaign: id.to_owned(),
        segment_blocks: 4,
        build: "by hand".to_owned(),
        segments: computed(&lease),
    };
    let admin = |owner: &str| {
        let token = fs::read_to_string(cluster.path(&format!("{owner}.token")));
        let link = Link {
            url: cluster.url.clone(),
            token: Some(token.unwrap().trim().to_owned()),
            ..Link::default()
        };
        AdminClient::new(link.open().unwrap())
    };
    let mut worker = admin("a");
    let refused = worker.import(import_request(&import)).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let mut operator = admin("operator");
    type Change = fn(&mut v1::ImportRequest);
    let wrong: [(&str, Change); 4] = [
        ("segment_blocks", |it| {
            it.segment_blocks = 8;
            it.segments[0].witnesses.clear();
            it.segments.truncate(1);
        }),
        ("build", |it| it.build.clear()),
        ("segments[0].tally", |it| it.segments[0].tally = None),
        ("segments[1].segment", |it| {
            it.segments.truncate(1);
            it.segments.push(it.segments[0].clone());
        }),
    ];
    for (field, change) in wrong {
        let mut message = import_request(&import);
        change(&mut message);
        let refused = operator.import(message).await.unwrap_err();
        assert_eq!(
            refused.code(),
            Code::InvalidArgument,
            "{field}: {refused:?}"
        );
        let named = format!("`{field}`");
        assert!(refused.message().contains(&named), "{field}: {refused:?}");
    }
    // A segment that the campaign does not have; and with it none of the others.
    let mut beyond = import.clone();
    let mut last = beyond.segments[0].clone();
    last.segment = 13;
    last.witnesses.clear();
    beyond.segments.push(last);
    let refused = operator.import(import_request(&beyond)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    assert!(refused.message().contains("segment 13"), "{refused:?}");
    assert_eq!(accepted(&cluster), 0);
    operator.import(import_request(&import)).await.unwrap();
    assert!(accepted(&cluster) > 0);
}
