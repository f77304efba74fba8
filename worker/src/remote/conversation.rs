//! What is said under a lease, and the streams over which it is said.

use std::collections::BTreeSet;
use std::time::Duration;

use kazoe_common::census::Segment;
use kazoe_proto::Invalid;

use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::v1::work_client::WorkClient;
use kazoe_proto::v1::{DeliverRequest, DeliverResponse};
use kazoe_proto::work::{self as messages, Notice, Report};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::channel::Wire;

/// What is said under a lease: over one stream, and over another where that broke.
#[derive(Debug)]
pub struct Talk {
    key: LeaseKey,
    lent: BTreeSet<Segment>,
    conversation: Option<Conversation>,
}

impl Talk {
    /// Under a lease of these segments. Nothing is said yet.
    #[must_use]
    pub const fn new(key: LeaseKey, lent: BTreeSet<Segment>) -> Self {
        Talk {
            key,
            lent,
            conversation: None,
        }
    }

    /// The key of the lease.
    #[must_use]
    pub const fn key(&self) -> &LeaseKey {
        &self.key
    }

    /// Says something, and waits so long for the answer; there is none to the last word.
    ///
    /// # Errors
    /// What the coordinator or the network says, or that the answer cannot be. What was said may have arrived.
    pub async fn say(
        &mut self,
        work: &mut WorkClient<Wire>,
        silence: Duration,
        report: &Report,
    ) -> Result<Option<Notice>, Status> {
        let said = self.try_to_say(work, silence, report).await;
        if said.is_err() {
            self.hang_up();
        }
        said
    }

    async fn try_to_say(
        &mut self,
        work: &mut WorkClient<Wire>,
        silence: Duration,
        report: &Report,
    ) -> Result<Option<Notice>, Status> {
        let message = messages::deliver_request(&self.key, report);
        let conversation = match &mut self.conversation {
            Some(conversation) => conversation,
            none => none.insert(Conversation::open(work, silence).await?),
        };
        match conversation.ask(message).await? {
            Some(answer) => Ok(Some(messages::notice(answer, &self.lent).map_err(odd)?)),
            None if *report == Report::Done => Ok(None),
            None => Err(Status::unavailable("the coordinator closed the stream")),
        }
    }

    /// Whatever is said next is said over a new stream.
    pub fn hang_up(&mut self) {
        self.conversation = None;
    }
}

/// An answer that cannot be: a coordinator of another build, or no coordinator at all.
#[must_use]
pub fn odd(invalid: Invalid) -> Status {
    Status::failed_precondition(format!("invalid coordinator response: {invalid}"))
}

/// A stream of messages under a lease, each answered before the next.
#[derive(Debug)]
struct Conversation {
    out: mpsc::Sender<DeliverRequest>,
    answers: Streaming<DeliverResponse>,
    silence: Duration,
}

impl Conversation {
    /// Opens a stream in which each answer may take so long.
    ///
    /// # Errors
    /// What the coordinator or the network says.
    async fn open(work: &mut WorkClient<Wire>, silence: Duration) -> Result<Self, Status> {
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
    async fn ask(&mut self, message: DeliverRequest) -> Result<Option<DeliverResponse>, Status> {
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
