//! A stream of messages under a lease.

use std::time::Duration;

use kazoe_proto::v1::work_client::WorkClient;
use kazoe_proto::v1::{DeliverRequest, DeliverResponse};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::link::Wire;

/// A stream of messages under a lease, each answered before the next.
#[derive(Debug)]
pub struct Conversation {
    out: mpsc::Sender<DeliverRequest>,
    answers: Streaming<DeliverResponse>,
    silence: Duration,
}

impl Conversation {
    /// Opens a stream in which each answer may take so long.
    ///
    /// # Errors
    /// What the coordinator or the network says.
    pub async fn open(work: &mut WorkClient<Wire>, silence: Duration) -> Result<Self, Status> {
        let (out, messages) = mpsc::channel(1);
        let opened = work.deliver(ReceiverStream::new(messages));
        Ok(Conversation {
            out,
            answers: within(silence, opened).await?.into_inner(),
            silence,
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
        let answered = async {
            // If the stream is over, its answers say why.
            let _ = self.out.send(message).await;
            self.answers.message().await
        };
        within(self.silence, answered).await
    }
}

/// An answer, or that none came in time.
///
/// # Errors
/// What the answer says, or that it did not come.
pub async fn within<T>(
    silence: Duration,
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    match tokio::time::timeout(silence, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(Status::deadline_exceeded("no answer came in time")),
    }
}
