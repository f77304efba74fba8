//! Honest callers during an attack: none of them may be refused.

use std::fs::{self, File};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kazoe_proto::v1::ListRequest;
use kazoe_proto::v1::campaigns_client::CampaignsClient;
use kazoe_proto::v1::work_client::WorkClient;
use kazoe_proto::work::{Claim, Offer, Report, claim_request, join_request, joined, offer};
use kazoe_worker::channel::Link;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use kazoe_coordinator_testkit::scripted_worker::{ScriptedWorker, computed, honest};
use kazoe_coordinator_testkit::test_cluster::{Process, TestCluster};

/// The coordinator's memory never exceeds this, in a build without optimisation, whatever is done to it.
/// Undisturbed it has about a quarter.
pub(crate) const MOST_MEMORY: u64 = 256 << 20;

/// What is counted meanwhile.
const RUN: [&str; 5] = ["minishogi", "--samples", "1M", "--segment", "4"];

/// How many honest calls an attack goes on for at least.
pub(crate) const MANY: usize = 300;

/// How long honest calls took; all of them went well.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    took: Arc<Mutex<Vec<Duration>>>,
    over: Arc<AtomicBool>,
}

impl Calls {
    fn made(&self) -> usize {
        self.took.lock().unwrap().len()
    }

    /// Waits for this number of further successes.
    pub(crate) async fn more(&self, calls: usize) {
        let enough = self.made() + calls;
        while self.made() < enough && !self.are_over() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn are_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Makes a call that must go well.
    async fn time<T, E: std::fmt::Debug>(
        &self,
        what: &str,
        call: impl Future<Output = Result<T, E>>,
    ) -> T {
        let begun = Instant::now();
        let answer = call.await;
        let took = begun.elapsed();
        if answer.is_err() {
            // Waiting for more would never end.
            self.over.store(true, Ordering::Release);
        }
        let answer = answer.unwrap_or_else(|error| panic!("an honest {what}: {error:?}"));
        self.took.lock().unwrap().push(took);
        answer
    }

    /// Adds a line to the file that the environment names.
    fn tell(&self, attack: &str, memory: u64) {
        let Some(path) = std::env::var_os("HOSTILE_LATENCIES") else {
            return;
        };
        let mut took = self.took.lock().unwrap();
        took.sort_unstable();
        let of = |share: usize| took[(took.len() - 1) * share / 100].as_secs_f64() * 1e3;
        let file = File::options().create(true).append(true).open(path);
        writeln!(
            file.unwrap(),
            "{attack}\t{} calls\t{:.1} ms\t{:.1} ms\t{} MiB",
            took.len(),
            of(50),
            of(99),
            memory >> 20
        )
        .unwrap();
    }
}

/// How an owner reaches the coordinator.
pub(crate) fn link(cluster: &TestCluster<'_>, owner: &str) -> Link {
    let token = fs::read_to_string(cluster.path(&format!("{owner}.token")));
    Link {
        url: cluster.url.clone(),
        authority: fs::read(cluster.path("ours.ca")).ok(),
        token: Some(token.unwrap().trim().to_owned()),
        ..Link::default()
    }
}

/// Attacks a coordinator while a worker process, a worker by hand and an operator do what they do.
pub(crate) async fn under_attack(
    cluster: &TestCluster<'_>,
    coordinator: &Process,
    name: &str,
    attack: impl AsyncFnOnce(&Calls),
) {
    let mut flags: Vec<&str> = Vec::new();
    let authority = cluster.path("ours.ca");
    if authority.exists() {
        flags.extend(["--ca-file", authority.to_str().unwrap()]);
    }
    let ask = |arguments: &[&str]| cluster.ask(&[arguments, &flags].concat());
    let id = ask(&[&["submit"], RUN.as_slice()].concat());
    let id = id.trim();
    let calls = Calls::default();
    let scripted = tokio::spawn(compute(link(cluster, "b"), calls.clone()));
    let operator = tokio::spawn(look(link(cluster, "operator"), calls.clone()));
    let mut worker = cluster.worker("a", &flags);
    calls.more(20).await;

    attack(&calls).await;

    calls.over.store(true, Ordering::Release);
    scripted.await.unwrap();
    operator.await.unwrap();
    ask(&["watch", id]);
    let digest = cluster.digest_of_run(&RUN);
    let report = ask(&["report", id, "--json"]);
    assert!(report.contains(&digest), "{report}");
    cluster.assert_lawful(id).await;
    worker.signal("-TERM");
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    assert!(!worker.log().contains("WARN"), "{}", worker.log());
    let log = coordinator.log();
    assert!(!log.contains("panicked"), "{log}");
    let memory = peak_memory(coordinator);
    assert!(memory < MOST_MEMORY, "{} MiB", memory >> 20);
    calls.tell(name, memory);
}

/// The most memory that a process ever had, in bytes.
fn peak_memory(process: &Process) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kilobytes.parse::<u64>().unwrap() << 10
}

/// A worker: claims, hands in, says that it is alive, is done.
async fn compute(link: Link, calls: Calls) {
    let mut client = WorkClient::new(link.open().unwrap());
    let join = client.join(join_request(&honest()));
    let answer = calls.time("join", join).await;
    let worker = joined(answer.into_inner()).unwrap().worker;
    let mut scripted = ScriptedWorker { client, worker };
    while !calls.are_over() {
        let claim = Claim {
            worker: scripted.worker.clone(),
            threads: 1,
            samples_per_second: Some(1),
        };
        let mut client = scripted.client.clone();
        let claim = client.claim(claim_request(&claim));
        let answer = calls.time("claim", claim).await;
        if let Offer::Lease(lease) = offer(answer.into_inner()).unwrap() {
            let first = Report::Finished(vec![computed(&lease).remove(0)]);
            for report in [Report::Heartbeat, first, Report::Heartbeat, Report::Done] {
                calls.time("delivery", scripted.say(&lease, &report)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// An operator, which queries and sometimes reconnects.
async fn look(link: Link, calls: Calls) {
    let mut campaigns = CampaignsClient::new(link.open().unwrap());
    while !calls.are_over() {
        let list = campaigns.list(ListRequest {});
        calls.time("list", list).await;
        let mut newcomer = HealthClient::new(link.open().unwrap());
        let check = newcomer.check(HealthCheckRequest::default());
        calls.time("health check of a newcomer", check).await;
        let mut newcomer = CampaignsClient::new(link.open().unwrap());
        let list = newcomer.list(ListRequest {});
        calls.time("list of a newcomer", list).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
