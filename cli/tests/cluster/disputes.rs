//! Disputes where there are too few owners: they wait for the operator.

use kazoe_proto::outcome::DeliveryOutcome;
use kazoe_proto::work::{Notice, Report};

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::scripted_worker::{ScriptedWorker, computed, tampered};
use kazoe_coordinator_testkit::test_cluster::TestCluster;

const RUN: [&str; 5] = ["minishogi", "--samples", "100k", "--segment", "4"];

/// Delivers one false tally under an owner's lease; returns its segment.
async fn lie(cluster: &TestCluster<'_>, owner: &str) -> u64 {
    let mut liar = ScriptedWorker::join(cluster, owner).await;
    let lease = liar.claim().await.unwrap();
    let mut finished = computed(&lease);
    let lie = tampered(finished.remove(0));
    let segment = lie.segment;
    finished.push(lie);
    let said = liar.say(&lease, &Report::Finished(finished)).await.unwrap();
    let Some(Notice::Acknowledged(receipts)) = said else {
        panic!("{said:?}");
    };
    let accepted = |(_, verdict): &(u64, DeliveryOutcome)| *verdict == DeliveryOutcome::Accepted;
    assert!(receipts.iter().all(accepted), "{receipts:?}");
    assert_eq!(liar.say(&lease, &Report::Done).await.unwrap(), None);
    segment
}

/// Works until there is nothing for this owner.
fn work(cluster: &TestCluster<'_>, owner: &str) {
    let mut worker = cluster.worker(owner, &["--idle-exit", "1s"]);
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
}

fn disputed(cluster: &TestCluster<'_>) -> u64 {
    let report = cluster.json(&["report"]).remove(0);
    report["segments"]["disputed"].as_u64().unwrap()
}

/// The audit of the one finds the lie of the other; neither can outvote the other, however often they
/// compute.
#[tokio::test]
async fn two_owners_wait_for_the_operator() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let cluster = cluster.with(&["--audit", "100%", "--hold", "1s"]);
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();
    let segment = lie(&cluster, "a").await;
    for owner in ["b", "a", "b"] {
        work(&cluster, owner);
    }
    assert_eq!(disputed(&cluster), 1);
    cluster.assert_lawful(id).await;
    cluster.ask(&["resolve", id, &segment.to_string()]);
    assert_eq!(disputed(&cluster), 0);
    cluster.assert_counted(id, &RUN).await;
}

/// A single owner has no auditor and can only contradict itself; then the operator decides.
#[tokio::test]
async fn one_owner_s_contradiction_waits_for_the_operator() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let cluster = cluster.with(&["--audit", "100%", "--hold", "1s"]);
    let _coordinator = cluster.coordinator();
    let id = cluster.ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();
    let mut honest = ScriptedWorker::join(&cluster, "a").await;
    let lease = honest.claim().await.unwrap();
    let finished = computed(&lease);
    let segment = finished[0].segment;
    let lie = tampered(finished[0].clone());
    let acknowledged = |verdict| Some(Notice::Acknowledged(vec![(segment, verdict)]));
    let mut say = async |one| {
        let report = Report::Finished(vec![one]);
        honest.say(&lease, &report).await.unwrap()
    };
    assert_eq!(
        say(lie.clone()).await,
        acknowledged(DeliveryOutcome::Accepted)
    );
    // The same worker, the same lease: it contradicts itself, and neither of the two is believed.
    assert_eq!(
        say(finished[0].clone()).await,
        acknowledged(DeliveryOutcome::Disputed)
    );
    assert_eq!(
        say(finished[0].clone()).await,
        acknowledged(DeliveryOutcome::Disputed)
    );
    honest.say(&lease, &Report::Done).await.unwrap();
    work(&cluster, "a");
    assert_eq!(disputed(&cluster), 1);
    cluster.assert_lawful(id).await;
    cluster.ask(&["resolve", id, &segment.to_string()]);
    assert_eq!(disputed(&cluster), 0);
    cluster.assert_counted(id, &RUN).await;
}
