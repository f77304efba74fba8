//! Tokens that are wrong, revoked, used again, or another's.

use std::time::Duration;

use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::work::{Notice, Report, StopReason, deliver_request};
use tonic::Code;

use crate::healthy::{MANY, under_attack};
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::raw_http2::{Raw, answer, bearer, framed};
use kazoe_coordinator_testkit::scripted_worker::{ScriptedWorker, computed};
use kazoe_coordinator_testkit::test_cluster::TestCluster;

const LIST: &str = "/kazoe.v1.Campaigns/List";

/// Shows wrong tokens, each another, on one connection until it is closed; how often.
async fn try_tokens(cluster: &TestCluster<'_>) -> usize {
    let mut tried = 0;
    let mut raw = Raw::connect(cluster).await;
    loop {
        let mut answers = Vec::new();
        for _ in 0..50 {
            let token = format!("Bearer t-{tried:08x}.{tried:064x}");
            let begun = raw.begin(LIST, &[("authorization", &token)]).await;
            let Ok((response, mut stream)) = begun else {
                return tried;
            };
            let _ = stream.send_data(framed(false, 0, &[]), true);
            answers.push(answer(response));
            tried += 1;
        }
        for answer in answers {
            let Ok(answer) = answer.await else {
                return tried;
            };
            let refused = Some(Code::Unauthenticated as i32);
            assert_eq!(answer.code, refused, "{answer:?}");
        }
    }
}

/// Transactions of a database until now.
async fn transactions(cluster: &TestCluster<'_>) -> i64 {
    // The log has the counts with a delay.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut conn = cluster.connection().await;
    sqlx::query_scalar(
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()",
    )
    .fetch_one(&mut conn)
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wrong_tokens_are_refused_without_a_query_each() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let mut coordinator = cluster.coordinator();
    let before = transactions(&cluster).await;
    // A known name with a wrong secret costs nothing at all.
    let good = bearer(&cluster, "a");
    let (name, _) = good.split_once('.').unwrap();
    let mut known = 0;
    for _ in 0..20 {
        let mut raw = Raw::connect(&cluster).await;
        let wrong = format!("{name}.{}", "0".repeat(64));
        let headers = [("authorization", wrong.as_str())];
        while let Ok(answer) = raw.call(LIST, &headers, [framed(false, 0, &[])]).await {
            assert_eq!(
                answer.code,
                Some(Code::Unauthenticated as i32),
                "{answer:?}"
            );
            known += 1;
        }
    }
    let asked = transactions(&cluster).await - before;
    assert!(known >= 20 * 90, "{known}");
    // The coordinator looks around twice a second all the same.
    assert!(asked < known / 2, "{asked} transactions for {known} calls");

    under_attack(&cluster, &coordinator, "wrong tokens", async |calls| {
        for _ in 0..20 {
            let tried = try_tokens(&cluster).await;
            assert!((100..=200).contains(&tried), "{tried}");
        }
        calls.more(MANY).await;
    })
    .await;
    coordinator.wait_for("calls without a valid token");
}

/// Of a token that is revoked nothing is good any more: neither a new connection, nor an open one, nor a
/// conversation that is going on, nor what was lent under it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_revoked_token_is_good_for_nothing() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--audit", "0%"]);
    let coordinator = cluster.coordinator();
    under_attack(&cluster, &coordinator, "revoked tokens", async |calls| {
        let mut scripted = ScriptedWorker::join(&cluster, "c").await;
        let lease = loop {
            if let Some(lease) = scripted.claim().await {
                break lease;
            }
        };
        let (send, stream) = tokio::sync::mpsc::channel(1);
        let stream = tokio_stream::wrappers::ReceiverStream::new(stream);
        let heartbeat = || deliver_request(&lease.key, &Report::Heartbeat);
        send.send(heartbeat()).await.unwrap();
        let mut answers = scripted.client.deliver(stream).await.unwrap().into_inner();
        assert!(answers.message().await.unwrap().is_some());

        let token = bearer(&cluster, "c");
        let id = token.strip_prefix("Bearer ").unwrap().split('.').next();
        cluster.ask(&["token", "revoke", id.unwrap()]);
        send.send(heartbeat()).await.unwrap();
        let refused = answers.message().await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated, "{refused:?}");
        for report in [
            Report::Finished(vec![computed(&lease).remove(0)]),
            Report::Done,
        ] {
            let refused = scripted.say(&lease, &report).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unauthenticated, "{refused:?}");
        }
        let mut raw = Raw::connect(&cluster).await;
        let headers = [("authorization", token.as_str())];
        for _ in 0..50 {
            let answer = raw
                .call(LIST, &headers, [framed(false, 0, &[])])
                .await
                .unwrap();
            assert_eq!(
                answer.code,
                Some(Code::Unauthenticated as i32),
                "{answer:?}"
            );
        }
        calls.more(MANY).await;
    })
    .await;
}

/// A lease's token in other hands, or after its time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lease_is_its_owner_s_and_ends_once() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--audit", "0%"]);
    let coordinator = cluster.coordinator();
    under_attack(&cluster, &coordinator, "others' leases", async |calls| {
        let mut theirs = ScriptedWorker::join(&cluster, "a").await;
        let mut ours = ScriptedWorker::join(&cluster, "c").await;
        let lease = loop {
            if let Some(lease) = theirs.claim().await {
                break lease;
            }
        };
        let finished = computed(&lease);
        let reports = [
            Report::Heartbeat,
            Report::Finished(vec![finished[0].clone()]),
            Report::Done,
        ];
        for _ in 0..20 {
            for report in &reports {
                let refused = ours.say(&lease, report).await.unwrap_err();
                assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
            }
        }
        // A worker's id of another is no use either.
        let mut stolen = ScriptedWorker {
            client: ours.client.clone(),
            worker: theirs.worker.clone(),
        };
        let claim = kazoe_proto::work::Claim {
            worker: stolen.worker.clone(),
            threads: 1,
            samples_per_second: None,
        };
        let claim = kazoe_proto::work::claim_request(&claim);
        let refused = stolen.client.claim(claim).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
        // A guess at the secret.
        let number = lease.key.sequence;
        let guess = LeaseKey::parse("token", &format!("{number}-0000000000000000")).unwrap();
        let guess = deliver_request(&guess, &Report::Done);
        let refused = ours.send(&lease, guess).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound, "{refused:?}");

        // It is as it was: its owner goes on, ends it, and uses it again to no effect.
        let held = theirs.say(&lease, &Report::Heartbeat).await.unwrap();
        assert!(matches!(held, Some(Notice::Extended(_))), "{held:?}");
        for _ in 0..3 {
            assert_eq!(theirs.say(&lease, &Report::Done).await.unwrap(), None);
            let over = theirs.say(&lease, &Report::Heartbeat).await.unwrap();
            assert_eq!(over, Some(Notice::Stop(StopReason::NotHeld)));
        }
        calls.more(MANY).await;
    })
    .await;
}
