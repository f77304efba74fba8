//! Workers that are not to be trusted.

use kazoe_common::census::Digest;
use kazoe_proto::census::result_message;
use kazoe_proto::outcome::DeliveryOutcome;
use kazoe_proto::v1::deliver_request::{Finished as FinishedStep, Step};
use kazoe_proto::work::{Notice, Report, StopReason, claim_request, deliver_request, join_request};
use kazoe_proto::{v1, work};
use tonic::Code;

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::scripted_worker::{
    ScriptedWorker, client, computed, honest, tampered,
};
use kazoe_coordinator_testkit::test_cluster::{TestCluster, accepted, until};

const RUN: [&str; 5] = ["minishogi", "--samples", "200k", "--segment", "4"];

/// Everything is audited: the one count that was moved is found, and a third owner or the operator
/// decides.
#[tokio::test]
async fn a_worker_that_moves_one_count_is_caught_and_outvoted() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--audit", "100%"]);
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();

    let mut liar = ScriptedWorker::join(&cluster, "a").await;
    let lease = liar.claim().await.unwrap();
    let mut finished = computed(&lease);
    let lie = tampered(finished.remove(0));
    let segment = lie.segment;
    finished.insert(0, lie.clone());
    let said = liar.say(&lease, &Report::Finished(finished)).await.unwrap();
    let Some(Notice::Acknowledged(receipts)) = said else {
        panic!("{said:?}");
    };
    assert!(
        receipts
            .iter()
            .all(|(_, verdict)| *verdict == DeliveryOutcome::Accepted)
    );
    assert_eq!(liar.say(&lease, &Report::Done).await.unwrap(), None);

    // An honest one finishes the rest, and audits what the liar did.
    let mut honest = cluster.worker("b", &["--idle-exit", "3s"]);
    assert_eq!(honest.wait(), Some(0), "{}", honest.log());
    let disputed = cluster.json(&["report"]).remove(0);
    assert_eq!(disputed["segments"]["disputed"], 1);
    assert_eq!(disputed["complete"], false);
    // Who is wrong is not known yet: an operator must not purge the honest side for it.
    let standing = cluster.json(&["workers", "--all"]);
    assert_eq!(standing.len(), 2);
    for one in &standing {
        assert_eq!(
            (&one["disagreed"], &one["disputed"]),
            (&0.into(), &1.into())
        );
    }
    for one in disputed["owners"].as_array().unwrap() {
        assert_eq!(
            (&one["disagreed"], &one["disputed"]),
            (&0.into(), &1.into())
        );
    }

    // A third owner decides it, by computing it.
    let mut third = cluster.worker("c", &["--idle-exit", "3s"]);
    assert_eq!(third.wait(), Some(0), "{}", third.log());
    cluster.assert_counted(id, &RUN).await;
    let standing = cluster.json(&["workers", "--all"]);
    assert!(standing.iter().all(|one| one["disputed"] == 0));
    let disagreed = |owner: &str| {
        let mut all = standing.iter();
        let one = all.find(|one| one["owner"] == owner).unwrap();
        one["disagreed"].as_u64().unwrap()
    };
    assert_eq!((disagreed("a"), disagreed("b"), disagreed("c")), (1, 0, 0));

    // The report says the same of the owners.
    let report = cluster.json(&["report"]).remove(0);
    let owners = report["owners"].as_array().unwrap();
    let names = owners.iter().map(|one| one["owner"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(owners[0]["disagreed"], 1);
    assert_eq!(owners[1]["disagreed"], 0);
    let segments = owners.iter().map(|one| one["segments"].as_u64().unwrap());
    assert_eq!(segments.sum::<u64>(), 13);
    let reachable = owners.iter().map(|one| one["reachable"].as_u64().unwrap());
    let passed = report["funnel"][4]["passed"].as_u64();
    assert_eq!(Some(reachable.sum::<u64>()), passed);
    let z = owners[1]["z"].as_f64().unwrap();
    assert!(z.abs() < 6.0, "{z}");
    for form in ["text", "md"] {
        let text = cluster.ask(&["report", "--format", form]);
        assert!(text.contains("disagreed"), "{text}");
    }

    // What lost does not open the dispute again; the rest of the liar is taken back nevertheless.
    let said = liar
        .say(&lease, &Report::Finished(vec![lie]))
        .await
        .unwrap();
    let lost = Notice::Acknowledged(vec![(segment, DeliveryOutcome::Disputed)]);
    assert_eq!(said, Some(lost));
    cluster.assert_counted(id, &RUN).await;
}

/// With two owners a dispute waits for the operator.
#[tokio::test]
async fn the_operator_decides_and_purges() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--audit", "0%"]);
    let coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();
    let mut liar = ScriptedWorker::join(&cluster, "a").await;
    let lease = liar.claim().await.unwrap();
    let lies: Vec<_> = computed(&lease).into_iter().map(tampered).collect();
    let segment = lies[0].segment;
    liar.say(&lease, &Report::Finished(lies)).await.unwrap();
    liar.say(&lease, &Report::Done).await.unwrap();
    let mut honest = cluster.worker("b", &["--idle-exit", "3s"]);
    assert_eq!(honest.wait(), Some(0), "{}", honest.log());
    // Without audits it is complete, and wrong; `verify` finds that.
    assert_eq!(accepted(&cluster), 200_000);
    let verified = cluster.run(&["verify", "--share", "100%"]);
    assert_eq!(verified.status.code(), Some(1), "{verified:?}");

    let text = segment.to_string();
    cluster.ask(&["resolve", id, &text]);
    let purged = cluster.ask(&["purge", id, "--owner", "a", "--why", "moved counts"]);
    assert_eq!(
        purged,
        format!(
            "{id}\t{} retracted\n",
            match lease.segments.len() - 1 {
                1 => "1 segment".to_owned(),
                n => format!("{n} segments"),
            }
        )
    );
    let mut honest = cluster.worker("b", &["--idle-exit", "3s"]);
    assert_eq!(honest.wait(), Some(0), "{}", honest.log());
    cluster.assert_counted(id, &RUN).await;
    let nothing = cluster.refusal(&["retry", id, "0"]);
    assert!(nothing.contains("not set aside"), "{nothing}");
    let beyond = cluster.run(&["resolve", id, "99999"]);
    assert_eq!(beyond.status.code(), Some(2), "{beyond:?}");
    until(|| {
        coordinator
            .log()
            .contains("segment taken back: moved counts")
    });
}

#[tokio::test]
async fn a_worker_that_counts_otherwise_is_refused_with_both_values() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    let mut client = client(&cluster, "a");

    let mut other = honest();
    other.protocol = 9;
    let refused = client.join(join_request(&other)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(
        refused.message().contains("protocol version is 9"),
        "{refused:?}"
    );

    let mut other = honest();
    let tally = other.self_tests[0].1.get_mut(&1).unwrap();
    let digest = tally.digest;
    tally.digest = Digest(digest.0 ^ 1);
    let shown = tally.digest;
    let refused = client.join(join_request(&other)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    for value in [digest, shown] {
        let value = value.to_string();
        assert!(refused.message().contains(&value), "{value}: {refused:?}");
    }

    let mut other = honest();
    other.self_tests.pop();
    let refused = client.join(join_request(&other)).await.unwrap_err();
    assert!(
        refused.message().contains("sent no self-test"),
        "{refused:?}"
    );
    assert_eq!(coordinator.log().matches("worker refused").count(), 3);
    assert!(cluster.json(&["workers"]).is_empty());
}

/// Wrong fields are refused by their names, and change nothing.
#[tokio::test]
async fn wrong_fields_change_nothing() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();
    let mut scripted = ScriptedWorker::join(&cluster, "a").await;
    let lease = scripted.claim().await.unwrap();
    let good = computed(&lease).remove(0);

    let finished = |change: &dyn Fn(&mut v1::FinishedSegment)| {
        let mut message = result_message(&good);
        change(&mut message);
        v1::DeliverRequest {
            token: lease.key.to_text(),
            step: Some(Step::Finished(FinishedStep {
                segments: vec![message],
            })),
        }
    };
    let wrong: [(&str, v1::DeliverRequest); 6] = [
        (
            "finished.segments[0].segment",
            finished(&|it| it.segment = 49),
        ),
        (
            "finished.segments[0].samples",
            finished(&|it| it.samples = 0),
        ),
        (
            "finished.segments[0].tally.cells",
            finished(&|it| it.samples -= 1),
        ),
        (
            "finished.segments[0].tally",
            finished(&|it| it.tally = None),
        ),
        (
            "finished.segments[0].witnesses[0].index",
            finished(&|it| {
                it.witnesses[0].index = 1 << 40;
            }),
        ),
        (
            "step",
            v1::DeliverRequest {
                token: lease.key.to_text(),
                step: None,
            },
        ),
    ];
    for (field, message) in wrong {
        let refused = scripted.send(&lease, message).await.unwrap_err();
        assert_eq!(
            refused.code(),
            Code::InvalidArgument,
            "{field}: {refused:?}"
        );
        assert!(
            refused.message().contains(&format!("`{field}`")),
            "{field}: {refused:?}"
        );
    }
    // A malformed token, an unknown one, and another owner's.
    let mut message = deliver_request(&lease.key, &Report::Heartbeat);
    message.token = "1-x".to_owned();
    let refused = scripted.send(&lease, message.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    message.token = "1-0000000000000000".to_owned();
    let refused = scripted.send(&lease, message).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    let mut other = ScriptedWorker::join(&cluster, "b").await;
    let refused = other.say(&lease, &Report::Done).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    // A worker's id belongs to its owner, and must be one.
    let claim = |worker: &str| {
        claim_request(&work::Claim {
            worker: worker.to_owned(),
            threads: 1,
            samples_per_second: None,
        })
    };
    let theirs = claim(&scripted.worker);
    let refused = other.client.claim(theirs).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let unknown = other.client.claim(claim("w-none")).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let mut wrong = claim(&scripted.worker);
    wrong.threads = 0;
    let refused = scripted.client.claim(wrong).await.unwrap_err();
    assert!(refused.message().contains("`threads`"), "{refused:?}");
    assert_eq!(accepted(&cluster), 0);

    // A stale token neither extends nor ends what was lent to another since; its tally is taken.
    cluster.let_deadlines_pass().await;
    until(|| coordinator.log().contains("lease expired"));
    let held = other.claim().await.unwrap();
    assert_eq!(held.segments, [good.segment], "what was lost is lent alone");
    for _ in 1..lease.segments.len() {
        let mut another = ScriptedWorker::join(&cluster, "c").await;
        assert_eq!(another.claim().await.unwrap().segments.len(), 1);
    }
    let stopped = scripted.say(&lease, &Report::Heartbeat).await.unwrap();
    assert_eq!(stopped, Some(Notice::Stop(StopReason::NotHeld)));
    assert_eq!(scripted.say(&lease, &Report::Done).await.unwrap(), None);
    let extended = other.say(&held, &Report::Heartbeat).await.unwrap();
    assert!(
        matches!(extended, Some(Notice::Extended(_))),
        "{extended:?}"
    );
    let late = Report::Finished(vec![good.clone()]);
    let receipts = |verdict| Some(Notice::Acknowledged(vec![(good.segment, verdict)]));
    assert_eq!(
        scripted.say(&lease, &late).await.unwrap(),
        receipts(DeliveryOutcome::Accepted)
    );
    assert_eq!(
        scripted.say(&lease, &late).await.unwrap(),
        receipts(DeliveryOutcome::Repeat)
    );
    assert_eq!(
        other.say(&held, &late).await.unwrap(),
        receipts(DeliveryOutcome::Audit)
    );

    // A worker holds only a few leases.
    let mut third = ScriptedWorker::join(&cluster, "c").await;
    let mut more = 0;
    while third.claim().await.is_some() {
        more += 1;
        assert!(more < 5);
    }

    // A campaign that is cancelled is dropped at the next heartbeat.
    cluster.ask(&["cancel", id]);
    let stopped = other.say(&held, &Report::Heartbeat).await.unwrap();
    assert_eq!(stopped, Some(Notice::Stop(StopReason::Cancelled)));
    cluster.ask(&["resume", id]);
    cluster.let_deadlines_pass().await;
    let _worker = cluster.worker("b", &[]);
    cluster.ask(&["watch"]);
    cluster.assert_counted(id, &RUN).await;
}
