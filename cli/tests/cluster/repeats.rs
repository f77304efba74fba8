//! Tallies that arrive often, at once, late and in any order.

use std::sync::Arc;

use kazoe_common::census::SegmentResult;
use kazoe_proto::outcome::DeliveryOutcome;
use kazoe_proto::work::{Lease, Notice, Report};
use sqlx::query_scalar;
use tokio::sync::Barrier;

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::scripted_worker::{ScriptedWorker, client, computed};
use kazoe_coordinator_testkit::test_cluster::TestCluster;

/// One segment.
const ONE: [&str; 5] = ["minishogi", "--samples", "16384", "--segment", "4"];

/// Thirteen of them.
const RUN: [&str; 5] = ["minishogi", "--samples", "200k", "--segment", "4"];

const TIMES: usize = 100;

/// One tally under a hundred tokens, sent at once to two coordinators, twice.
#[tokio::test]
async fn one_tally_sent_a_hundred_times_at_once_counts_once() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let second = TestCluster::beside(&cluster);
    let _coordinators = (cluster.coordinator(), second.coordinator());
    let id = cluster.ask(&[&["submit"], ONE.as_slice()].concat());
    let mut scripted = ScriptedWorker::join(&cluster, "a").await;
    let mut leases = Vec::new();
    for _ in 0..TIMES {
        let lease = scripted.claim().await.unwrap();
        assert_eq!(lease.segments, [0]);
        leases.push(lease);
        cluster.let_deadlines_pass().await;
    }
    let finished = computed(&leases[0]);
    let verdicts = send_at_once([&cluster, &second], &scripted, &leases, &finished).await;
    let accepted = verdicts
        .iter()
        .filter(|&&one| one == DeliveryOutcome::Accepted);
    assert_eq!(accepted.count(), 1);
    let repeats = verdicts
        .iter()
        .filter(|&&one| one == DeliveryOutcome::Repeat);
    assert_eq!(repeats.count(), TIMES - 1);
    assert_eq!(
        logged(&cluster).await,
        [("accepted", 1), ("repeat", 99)].map(own)
    );

    // Under the same tokens it is known, and enters the log no more.
    let verdicts = send_at_once([&cluster, &second], &scripted, &leases, &finished).await;
    assert_eq!(verdicts, [DeliveryOutcome::Repeat; TIMES]);
    assert_eq!(
        logged(&cluster).await,
        [("accepted", 1), ("repeat", 99)].map(own)
    );
    let deadlocks: i64 =
        query_scalar("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
            .fetch_one(&mut cluster.connection().await)
            .await
            .unwrap();
    assert_eq!(deadlocks, 0);
    cluster.assert_counted(id.trim(), &ONE).await;
}

fn own((verdict, count): (&str, i64)) -> (String, i64) {
    (verdict.to_owned(), count)
}

/// What the log holds, by verdict.
async fn logged(cluster: &TestCluster<'_>) -> Vec<(String, i64)> {
    let mut conn = cluster.connection().await;
    sqlx::query_as("SELECT verdict, count(*) FROM results GROUP BY verdict ORDER BY verdict")
        .fetch_all(&mut conn)
        .await
        .unwrap()
}

/// Under each lease, all at the same moment, by turns to either coordinator.
async fn send_at_once(
    clusters: [&TestCluster<'_>; 2],
    scripted: &ScriptedWorker,
    leases: &[Lease],
    finished: &[SegmentResult],
) -> Vec<DeliveryOutcome> {
    let start = Arc::new(Barrier::new(leases.len()));
    let clients = clusters.map(|cluster| client(cluster, "a"));
    let sends = leases.iter().enumerate().map(|(number, lease)| {
        let mut scripted = ScriptedWorker {
            client: clients[number % 2].clone(),
            worker: scripted.worker.clone(),
        };
        let (lease, start) = (lease.clone(), Arc::clone(&start));
        let report = Report::Finished(finished.to_vec());
        tokio::spawn(async move {
            start.wait().await;
            scripted.say(&lease, &report).await.unwrap()
        })
    });
    let sends: Vec<_> = sends.collect();
    let mut verdicts = Vec::new();
    for send in sends {
        match send.await.unwrap() {
            Some(Notice::Acknowledged(receipts)) => verdicts.push(receipts[0].1),
            other => panic!("{other:?}"),
        }
    }
    verdicts
}

/// The last segment first, each twice, the end of the lease before most of them.
#[tokio::test]
async fn the_order_in_which_tallies_arrive_changes_nothing() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--audit", "0%"]);
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    // One worker is lent no more than a few leases.
    let mut work = Vec::new();
    let mut scripted = ScriptedWorker::join(&cluster, "a").await;
    while let Some(lease) = scripted.claim().await {
        let finished = computed(&lease);
        work.extend(finished.into_iter().map(|one| (lease.clone(), one)));
        scripted = ScriptedWorker::join(&cluster, "a").await;
    }
    work.reverse();
    for (number, (lease, one)) in work.iter().enumerate() {
        let report = Report::Finished(vec![one.clone()]);
        for expected in [DeliveryOutcome::Accepted, DeliveryOutcome::Repeat] {
            let said = scripted.say(lease, &report).await.unwrap();
            let acknowledged = Notice::Acknowledged(vec![(one.segment, expected)]);
            assert_eq!(said, Some(acknowledged));
        }
        if number == 1 {
            assert_eq!(scripted.say(lease, &Report::Done).await.unwrap(), None);
            cluster.assert_lawful(id.trim()).await;
        }
    }
    let mut conn = cluster.connection().await;
    let rows: i64 = query_scalar("SELECT count(*) FROM results")
        .fetch_one(&mut conn)
        .await
        .unwrap();
    assert_eq!(
        rows, 13,
        "a repeat under the same token is not logged again"
    );
    cluster.assert_counted(id.trim(), &RUN).await;
}
