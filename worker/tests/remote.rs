//! A worker at a coordinator that is not what it should be.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kazoe_common::census::{BLOCK, Campaign, Cut};
use kazoe_common::game::Variant;
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::outcome::DeliveryOutcome;
use kazoe_proto::retry_after::later;
use kazoe_proto::v1::work_server::{Work, WorkServer};
use kazoe_proto::v1::{
    ClaimRequest, ClaimResponse, DeliverRequest, DeliverResponse, JoinRequest, JoinResponse,
    LeaveRequest, LeaveResponse,
};
use kazoe_proto::work::{self as messages, Held, Notice, Report};
use kazoe_worker::channel::Link;
use kazoe_worker::remote::{Habits, RemoteSource};
use kazoe_worker::session::{Pattern, work};
use kazoe_worker::stop::Stop;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

/// How often tallies are put off.
const PUT_OFF: u32 = 3;

const HOLD: Duration = Duration::from_millis(100);

/// A coordinator with one segment to lend, that has no time for tallies at first.
#[derive(Debug, Default)]
struct Busy {
    offered: AtomicU32,
    /// What came under the lease, a letter each: a tally, a heartbeat.
    heard: Arc<Mutex<String>>,
}

fn cut() -> Cut {
    Cut {
        samples: BLOCK,
        segment_blocks: 1,
    }
}

fn key() -> LeaseKey {
    LeaseKey::parse("token", "7-0123456789abcdef").unwrap()
}

/// The answer to a message; nothing to the last.
fn answer(
    heard: &Mutex<String>,
    message: DeliverRequest,
) -> Result<Option<DeliverResponse>, Status> {
    let held = Held {
        key: key(),
        segment_blocks: 1,
        segments: [0].into(),
    };
    let mut heard = heard.lock().unwrap();
    let notice = match messages::report(message, &held)? {
        Report::Finished(_) => {
            heard.push('t');
            let times = heard.matches('t').count();
            if times <= PUT_OFF as usize {
                return Err(later("too many tallies", 2 * HOLD));
            }
            Notice::Acknowledged(vec![(0, DeliveryOutcome::Accepted)])
        }
        Report::Heartbeat => {
            heard.push('h');
            Notice::Extended(HOLD)
        }
        Report::Done => return Ok(None),
    };
    Ok(Some(messages::deliver_response(&notice)))
}

#[tonic::async_trait]
impl Work for Busy {
    async fn join(&self, _: Request<JoinRequest>) -> Result<Response<JoinResponse>, Status> {
        Ok(Response::new(messages::join_response(&messages::Joined {
            worker: "w-1".to_owned(),
            heartbeat: HOLD,
            owner: "a".to_owned(),
        })))
    }

    async fn claim(&self, _: Request<ClaimRequest>) -> Result<Response<ClaimResponse>, Status> {
        let offer = match self.offered.fetch_add(1, Ordering::Relaxed) {
            0 => messages::Offer::Lease(messages::Lease {
                key: key(),
                campaign: Campaign::new(&Variant::MINISHOGI, 1),
                cut: cut(),
                segments: vec![0],
                hold: HOLD,
            }),
            _ => messages::Offer::Leave,
        };
        Ok(Response::new(messages::claim_response(&offer)))
    }

    type DeliverStream = Pin<Box<dyn Stream<Item = Result<DeliverResponse, Status>> + Send>>;

    async fn deliver(
        &self,
        request: Request<Streaming<DeliverRequest>>,
    ) -> Result<Response<Self::DeliverStream>, Status> {
        let heard = Arc::clone(&self.heard);
        let answers = request.into_inner();
        let answers = answers.map(move |message| {
            message
                .and_then(|message| answer(&heard, message))
                .transpose()
        });
        Ok(Response::new(Box::pin(answers.map_while(|answer| answer))))
    }

    async fn leave(&self, _: Request<LeaveRequest>) -> Result<Response<LeaveResponse>, Status> {
        Ok(Response::new(LeaveResponse {}))
    }
}

#[tokio::test]
async fn who_waits_to_hand_in_says_meanwhile_that_it_is_alive() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let busy = Busy::default();
    let heard = Arc::clone(&busy.heard);
    let coordinator = Server::builder().add_service(WorkServer::new(busy));
    tokio::spawn(coordinator.serve_with_incoming(TcpListenerStream::new(listener)));

    let habits = Habits {
        build: "test".to_owned(),
        name: None,
        threads: 1,
        once: true,
        idle_exit: None,
        most_load: None,
    };
    let link = Link {
        url,
        ..Link::default()
    };
    let stop = Arc::new(Stop::new());
    let mut desk = RemoteSource::new(&link, habits, Vec::new(), Arc::clone(&stop)).unwrap();
    let summary = work(&mut desk, Pattern::new(1), stop, |_| ())
        .await
        .unwrap();
    assert_eq!(summary.progress.delivered, BLOCK);
    let heard = heard.lock().unwrap().clone();
    let tallies: Vec<&str> = heard.split('t').collect();
    // Each wait is longer than a lease holds: none of them but the first is silent.
    assert!(tallies.len() == 5 && tallies[2].contains('h'), "{heard}");
    assert!(tallies[3].contains('h'), "{heard}");
}
