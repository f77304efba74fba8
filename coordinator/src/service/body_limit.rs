//! What comes in with a call, piece by piece: no more of it than the call may have, and of all large
//! messages together no more than there is room for.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tonic::Status;

use super::limits::{INTAKE, INTAKE_EACH, SMALL};

/// gRPC's prefix of a message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// What a call may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ration {
    /// Bytes of a message.
    pub(super) most: usize,
    /// Whether there may be more than one.
    pub(super) stream: bool,
}

/// The room for large messages of all calls together, of which no token has more than a part.
#[derive(Clone, Debug)]
pub(super) struct Room {
    all: Arc<Semaphore>,
    /// Only good tokens get here, so there are no more of them than those.
    each: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
}

impl Room {
    pub(super) fn new() -> Self {
        Room {
            all: Arc::new(Semaphore::new(INTAKE)),
            each: Arc::default(),
        }
    }

    /// Waits for room for a message that came with this token.
    async fn take(self, token: String, length: usize) -> Result<Space, AcquireError> {
        let own = {
            let mut each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
            let own = each.entry(token);
            Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(INTAKE_EACH))))
        };
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        // In this order: who waits for its own part stands in nobody's way.
        Ok(Space {
            _own: own.acquire_many_owned(length).await?,
            _all: self.all.acquire_many_owned(length).await?,
        })
    }
}

/// Room that is taken; free again when it is dropped.
#[derive(Debug)]
pub(super) struct Space {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// The room that a call has taken; who answers the call keeps it until then.
pub(super) type Taken = Arc<Mutex<Option<Space>>>;

type Waiting = Pin<Box<dyn Future<Output = Result<Space, AcquireError>> + Send>>;

/// The body of a request.
pub(super) struct Intake<B> {
    body: B,
    ration: Ration,
    token: String,
    room: Room,
    taken: Taken,
    /// How long one message may take.
    within: Duration,
    prefix: [u8; PREFIX],
    /// How much of the prefix is there.
    prefixed: usize,
    /// How much of the message is still to come.
    left: usize,
    messages: usize,
    ended: bool,
    deadline: Option<Pin<Box<Sleep>>>,
    /// A large message has begun, for which there must be room before more of it is read.
    large: Option<usize>,
    waiting: Option<Waiting>,
}

impl<B> Intake<B> {
    /// Of a call under this token; one message may take so long.
    pub(super) fn new(
        body: B,
        (ration, within): (Ration, Duration),
        token: String,
        (room, taken): (Room, Taken),
    ) -> Self {
        Intake {
            body,
            ration,
            token,
            room,
            taken,
            within,
            prefix: [0; PREFIX],
            prefixed: 0,
            left: 0,
            messages: 0,
            ended: false,
            // Of a stream nobody knows when it will say something.
            deadline: (!ration.stream).then(|| Box::pin(sleep(within))),
            large: None,
            waiting: None,
        }
    }

    fn is_between_messages(&self) -> bool {
        self.prefixed == 0 && self.left == 0
    }

    /// Follows the messages in some bytes that arrived.
    fn follow(&mut self, mut bytes: &[u8]) -> Result<(), Status> {
        while !bytes.is_empty() {
            if self.is_between_messages() {
                if self.messages > 0 && !self.ration.stream {
                    return Err(Status::invalid_argument(
                        "this call requires exactly one message",
                    ));
                }
                self.messages += 1;
                let within = self.within;
                self.deadline.get_or_insert_with(|| Box::pin(sleep(within)));
            }
            if self.left == 0 {
                let missing = (PREFIX - self.prefixed).min(bytes.len());
                let (head, rest) = bytes.split_at(missing);
                self.prefix[self.prefixed..self.prefixed + missing].copy_from_slice(head);
                self.prefixed += missing;
                bytes = rest;
                if self.prefixed < PREFIX {
                    break;
                }
                self.begin()?;
            }
            let part = self.left.min(bytes.len());
            self.left -= part;
            bytes = &bytes[part..];
            if self.left == 0 {
                self.prefixed = 0;
                self.deadline = None;
                // It came in one piece, which was here before there was anything to wait for.
                self.large = None;
            }
        }
        Ok(())
    }

    /// A prefix is whole: whether its message may come.
    fn begin(&mut self) -> Result<(), Status> {
        let [compressed, length @ ..] = self.prefix;
        if compressed > 1 {
            return Err(Status::invalid_argument(format!(
                "not gRPC: a message begins with 0 or 1 and its length, not with {compressed}"
            )));
        }
        if compressed != 0 {
            // Before anything is inflated: it could become any size.
            return Err(Status::unimplemented(
                "compressed messages are not supported; send them uncompressed",
            ));
        }
        let length = u32::from_be_bytes(length) as usize;
        if length > self.ration.most {
            return Err(Status::out_of_range(format!(
                "the message has {length} bytes, and this call accepts at most {}",
                self.ration.most
            )));
        }
        self.left = length;
        self.large = (length > SMALL).then_some(length);
        Ok(())
    }

    /// Whether the body may end here.
    fn end(&self) -> Result<(), Status> {
        if self.prefixed == PREFIX {
            return Err(Status::invalid_argument(format!(
                "the message is truncated by {} bytes",
                self.left
            )));
        }
        if self.prefixed > 0 {
            return Err(Status::invalid_argument(
                "the message is truncated before its length",
            ));
        }
        if self.messages == 0 && !self.ration.stream {
            return Err(Status::invalid_argument(
                "this call requires a message, and none was sent",
            ));
        }
        Ok(())
    }

    /// Makes room for what comes next. What came before is dealt with when more is asked for, unless the
    /// call takes one message.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        if let Some(length) = self.large.take() {
            self.give_back();
            let room = self.room.clone();
            self.waiting = Some(Box::pin(room.take(self.token.clone(), length)));
        } else if self.is_between_messages() && self.ration.stream {
            self.give_back();
        }
        if let Some(waiting) = &mut self.waiting {
            let taken = ready!(waiting.as_mut().poll(cx));
            let taken =
                taken.map_err(|_| Status::unavailable("the coordinator is shutting down"))?;
            self.waiting = None;
            *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
        }
        Poll::Ready(Ok(()))
    }

    fn give_back(&self) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<B> Body for Intake<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: fmt::Display,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if let Some(deadline) = &mut this.deadline
            && deadline.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Some(Err(Status::deadline_exceeded(format!(
                "the message did not arrive within {} s",
                this.within.as_secs_f64()
            )))));
        }
        if let Err(status) = ready!(this.poll_room(cx)) {
            return Poll::Ready(Some(Err(status)));
        }
        if this.ended {
            return Poll::Ready(None);
        }
        let frame = match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            // The caller has gone, or spoke no HTTP.
            Some(Err(error)) => {
                return Poll::Ready(Some(Err(Status::cancelled(error.to_string()))));
            }
            None => {
                this.ended = true;
                return Poll::Ready(this.end().err().map(Err));
            }
        };
        if let Some(bytes) = frame.data_ref()
            && let Err(status) = this.follow(bytes)
        {
            return Poll::Ready(Some(Err(status)));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    // A body that ended too early still has a refusal to say.
    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
