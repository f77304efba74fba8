//! Those who ask and do not read.

use h2::RecvStream;
use http::HeaderMap;
use kazoe_proto::work::{Report, deliver_request};
use prost::Message;
use tonic::Code;

use crate::healthy::{MANY, under_attack};
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::raw_http2::{Raw, bearer, framed, send};
use kazoe_coordinator_testkit::scripted_worker::ScriptedWorker;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, until};

/// As many answers as one token may leave unread.
const SEATS: usize = 32;

/// Messages on each stream of a worker that does not listen: few enough that they are not rejected as a
/// flood of small pieces.
const SAID: usize = 10;

/// A message that names a campaign.
fn named(id: &str) -> bytes::Bytes {
    let message = kazoe_proto::campaigns::campaign_ref(id).encode_to_vec();
    framed(false, message.len(), &message)
}

/// Waits until the coordinator has hung up.
async fn hung_up(raw: Raw) {
    let _ = raw.end.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_does_not_read_is_hung_up_on() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server)
        .await
        .with(&["--max-unread", "4s"]);
    cluster.mint("slow", "viewer");
    let coordinator = cluster.coordinator();
    let token = bearer(&cluster, "slow");
    let headers = [("authorization", token.as_str())];
    under_attack(&cluster, &coordinator, "slow readers", async |calls| {
        let id = cluster.json(&["campaigns"])[0]["campaign"].clone();
        let id = id.as_str().unwrap();
        let methods = ["Watch", "Export", "Report", "List"];
        // Nothing may be sent to them, so they cannot read.
        let mut slow = Vec::new();
        let mut open: Vec<RecvStream> = Vec::new();
        for _ in 0..4 {
            slow.push(Raw::with_window(&cluster, 0).await);
        }
        for number in 0..SEATS {
            let method = methods[number % methods.len()];
            let path = format!("/kazoe.v1.Campaigns/{method}");
            let raw = &mut slow[number % 3];
            let (response, mut stream) = raw.begin(&path, &headers).await.unwrap();
            let body = if method == "List" {
                framed(false, 0, &[])
            } else {
                named(id)
            };
            assert!(send(&mut stream, body).await);
            stream.send_data(bytes::Bytes::new(), true).unwrap();
            open.push(response.await.unwrap().into_body());
        }
        // One more is rejected with the reason; other tokens keep their places.
        let refused = slow[3].call(
            "/kazoe.v1.Campaigns/List",
            &headers,
            [framed(false, 0, &[])],
        );
        let refused = refused.await.unwrap();
        assert_eq!(
            refused.code,
            Some(Code::ResourceExhausted as i32),
            "{refused:?}"
        );
        assert!(
            refused.headers.contains_key("grpc-retry-pushback-ms"),
            "{refused:?}"
        );
        calls.more(MANY).await;
        let idle = slow.pop().unwrap();
        for raw in slow {
            hung_up(raw).await;
        }
        drop(open);
        // The seats are free again, and who waits for nothing is left in peace.
        let mut idle = idle;
        let again = idle.begin("/kazoe.v1.Campaigns/List", &headers).await;
        let (response, mut stream) = again.unwrap();
        stream.send_data(framed(false, 0, &[]), true).unwrap();
        let head: HeaderMap = response.await.unwrap().headers().clone();
        assert!(!head.contains_key("grpc-status"), "{head:?}");
    })
    .await;
    until(|| {
        coordinator
            .log()
            .contains("connections with unread answers")
    });
}

/// A worker that says much and hears nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_worker_that_reads_no_answer_is_hung_up_on() {
    let server = Server::shared().await;
    let flags = ["--max-unread", "4s", "--hold", "5s"];
    let cluster = TestCluster::new(&server).await.with(&flags);
    let coordinator = cluster.coordinator();
    let token = bearer(&cluster, "c");
    let headers = [("authorization", token.as_str())];
    under_attack(
        &cluster,
        &coordinator,
        "unread acknowledgements",
        async |calls| {
            let mut scripted = ScriptedWorker::join(&cluster, "c").await;
            let lease = loop {
                if let Some(lease) = scripted.claim().await {
                    break lease;
                }
            };
            let message = deliver_request(&lease.key, &Report::Heartbeat).encode_to_vec();
            let heartbeat = framed(false, message.len(), &message);
            let mut raw = Raw::with_window(&cluster, 0).await;
            let mut talking = Vec::new();
            for _ in 0..50 {
                let (response, mut stream) =
                    raw.begin("/kazoe.v1.Work/Deliver", &headers).await.unwrap();
                let heartbeat = heartbeat.clone();
                talking.push(tokio::spawn(async move {
                    for _ in 0..SAID {
                        send(&mut stream, heartbeat.clone()).await;
                    }
                    // It would read the notice if it could; until the end it does not.
                    if let Ok(answer) = response.await {
                        drop(answer.into_body().data().await);
                    }
                }));
            }
            calls.more(MANY).await;
            hung_up(raw).await;
            for one in talking {
                one.await.unwrap();
            }
        },
    )
    .await;
}
