//! A worker by hand: it says what a test wants it to.

use std::collections::BTreeSet;
use std::fs;

use kazoe_common::census::SegmentResult;
use kazoe_common::census::{Counter, Outcome};
use kazoe_proto::v1::DeliverRequest;
use kazoe_proto::v1::work_client::WorkClient;
use kazoe_proto::work::{
    Claim, Join, Lease, Notice, Offer, PROTOCOL, Report, claim_request, deliver_request,
    join_request, joined, notice, offer,
};
use kazoe_worker::channel::{Link, Wire};
use kazoe_worker::count::Count;
use kazoe_worker::self_test;
use tonic::Status;

use crate::test_cluster::TestCluster;

/// A worker of some owner.
pub struct ScriptedWorker {
    /// Its connection.
    pub client: WorkClient<Wire>,
    /// Its id.
    pub worker: String,
}

/// What an honest worker says on joining.
pub fn honest() -> Join {
    Join {
        protocol: PROTOCOL,
        build: "by hand".to_owned(),
        self_tests: self_test::known().unwrap(),
        name: None,
    }
}

/// The client of an owner.
pub fn client(cluster: &TestCluster<'_>, owner: &str) -> WorkClient<Wire> {
    let token = fs::read_to_string(cluster.path(&format!("{owner}.token")));
    let link = Link {
        url: cluster.url.clone(),
        token: Some(token.unwrap().trim().to_owned()),
        ..Link::default()
    };
    WorkClient::new(link.open().unwrap())
}

impl ScriptedWorker {
    /// Joins as a worker of an owner.
    pub async fn join(cluster: &TestCluster<'_>, owner: &str) -> Self {
        let mut client = client(cluster, owner);
        let answer = client.join(join_request(&honest())).await.unwrap();
        let joined = joined(answer.into_inner()).unwrap();
        assert_eq!(joined.owner, owner);
        ScriptedWorker {
            client,
            worker: joined.worker,
        }
    }

    /// Claims a lease; `None` if the coordinator has none to lend.
    pub async fn claim(&mut self) -> Option<Lease> {
        let claim = Claim {
            worker: self.worker.clone(),
            threads: 1,
            samples_per_second: Some(1 << 20),
        };
        let answer = self.client.claim(claim_request(&claim)).await.unwrap();
        match offer(answer.into_inner()).unwrap() {
            Offer::Lease(lease) => Some(lease),
            Offer::Later(_) | Offer::Leave => None,
        }
    }

    /// Says one thing under a lease, on a stream of its own; nothing if that ended.
    pub async fn send(
        &mut self,
        lease: &Lease,
        message: DeliverRequest,
    ) -> Result<Option<Notice>, Status> {
        let stream = tokio_stream::iter([message]);
        let mut answers = self.client.deliver(stream).await?.into_inner();
        let lent: BTreeSet<u64> = lease.segments.iter().copied().collect();
        let answer = answers.message().await?;
        Ok(answer.map(|answer| notice(answer, &lent).unwrap()))
    }

    /// Sends one report under a lease.
    pub async fn say(&mut self, lease: &Lease, report: &Report) -> Result<Option<Notice>, Status> {
        self.send(lease, deliver_request(&lease.key, report)).await
    }
}

/// The segments of a lease, computed.
pub fn computed(lease: &Lease) -> Vec<SegmentResult> {
    let counter = Counter::new(&lease.campaign).unwrap();
    let segments = lease.segments.iter();
    let finished = segments.map(|&segment| {
        let mut one = SegmentResult {
            segment,
            samples: lease.cut.samples_of(segment),
            tally: kazoe_common::census::Tally::default(),
            witnesses: Vec::new(),
            cpu: None,
        };
        for block in lease.cut.blocks_of(segment) {
            let samples = lease.cut.samples_in(block);
            let (tally, witnesses) = Count::block(&counter, block, samples);
            one.tally.merge(&tally);
            one.witnesses.extend(witnesses);
        }
        one
    });
    finished.collect()
}

/// One count moved, all sums kept.
pub fn tampered(mut finished: SegmentResult) -> SegmentResult {
    let cells = &mut finished.tally.cells;
    *cells.get_mut(&(Outcome::Reachable as u32)).unwrap() -= 1;
    *cells.entry(Outcome::Mirrored as u32).or_default() += 1;
    finished
}
