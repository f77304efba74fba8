//! Calls that are begun and reset at once, by the thousand (CVE-2023-44487).

use h2::Reason;

use crate::healthy::{MANY, under_attack};
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::raw_http2::{Raw, bearer, framed};
use kazoe_coordinator_testkit::test_cluster::TestCluster;

/// Calls of one attacker.
const CALLS: usize = 3_000;

/// Begins calls and resets them until it has done so often, or is thrown out; how often it was.
async fn storm(cluster: &TestCluster<'_>, token: &str, path: &str) -> usize {
    let mut thrown_out = 0;
    let mut connected = None;
    for number in 0..CALLS {
        let raw = match &mut connected {
            Some(raw) => raw,
            None => match Raw::try_connect(cluster).await {
                Ok(raw) => connected.insert(raw),
                Err(_) => {
                    thrown_out += 1;
                    continue;
                }
            },
        };
        let headers = [("authorization", token)];
        match raw.begin(path, &headers).await {
            Ok((_response, mut stream)) => {
                // Some with a whole message, so that they are worked on.
                if number % 3 == 0 {
                    let _ = stream.send_data(framed(false, 0, &[]), true);
                }
                stream.send_reset(Reason::CANCEL);
            }
            Err(_) => {
                thrown_out += 1;
                connected = None;
            }
        }
    }
    thrown_out
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rapid_resets_disturb_no_caller() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    let good = bearer(&cluster, "c");
    let wrong = format!("Bearer t-00000000.{}", "0".repeat(64));
    under_attack(&cluster, &coordinator, "rapid resets", async |calls| {
        let (claims, lists, wrong) = tokio::join!(
            storm(&cluster, &good, "/kazoe.v1.Work/Claim"),
            storm(&cluster, &good, "/kazoe.v1.Campaigns/List"),
            storm(&cluster, &wrong, "/kazoe.v1.Work/Join"),
        );
        assert!(wrong > 0, "a stranger may be wrong a hundred times only");
        assert!(claims + lists > 0, "resets are counted");
        calls.more(MANY).await;
    })
    .await;
}
