//! A stream of messages under a lease.

use std::time::Duration;

use kazoe_proto::v1::work_client::WorkClient;
use kazoe_proto::v1::{DeliverRequest, DeliverResponse};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::link::Wire;

/// How long an answer may take before the request is sent again.
const ANSWER: Duration = Duration::from_secs(60);

/// A stream of messages under a lease, each answered before the next.
#[derive(Debug)]
pub struct Conversation {
    out: mpsc::Sender<DeliverRequest>,
    answers: Streaming<DeliverResponse>,
}

impl Conversation {
    /// Opens a stream.
    ///
    /// # Errors
    /// What the coordinator or the network says.
    pub async fn open(work: &mut WorkClient<Wire>) -> Result<Self, Status> {
        let (out, messages) = mpsc::channel(1);
        let opened = work.deliver(ReceiverStream::new(messages));
        Ok(Conversation {
            out,
            answers: soon(opened).await?.into_inner(),
        })
    }

    /// The answer; nothing if the stream ended instead.
    ///
    /// # Errors
    /// What the coordinator or the network says; the stream is of no more use then.
    pub async fn ask(
        &mut self,
        message: DeliverRequest,
    ) -> Result<Option<DeliverResponse>, Status> {
        // If the stream is over, its answers say why.
        let _ = self.out.send(message).await;
        soon(self.answers.message()).await
    }
}

/// An answer, or that none came in time.
///
/// # Errors
/// What the answer says, or that it did not come.
pub async fn soon<T>(answer: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    match tokio::time::timeout(ANSWER, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(Status::deadline_exceeded("no answer came in time")),
    }
}
