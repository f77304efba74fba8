//! What goes out, and whether it is read.
//!
//! HTTP/2 asks a body for its next piece only when the peer's window and our own buffer have room for
//! it. A body that gave a piece and was asked for nothing since is one that nobody reads.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tonic::Status;

use super::quota::Permit;

/// The answers on one connection of which a piece is unread.
#[derive(Debug, Default)]
pub(super) struct Unread {
    made: AtomicU64,
    since: Mutex<HashMap<u64, Instant>>,
}

impl Unread {
    fn since(&self) -> MutexGuard<'_, HashMap<u64, Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For how long the one that waits longest has been waiting.
    pub(super) fn longest(&self) -> Duration {
        let oldest = self.since().values().min().copied();
        oldest.map_or(Duration::ZERO, |oldest| oldest.elapsed())
    }
}

/// The body of an answer.
pub(super) struct Outflow {
    body: tonic::body::Body,
    number: u64,
    unread: Arc<Unread>,
    _permit: Option<Permit>,
}

impl Outflow {
    pub(super) fn new(
        body: tonic::body::Body,
        unread: &Arc<Unread>,
        permit: Option<Permit>,
    ) -> Self {
        Outflow {
            body,
            number: unread.made.fetch_add(1, Ordering::Relaxed),
            unread: Arc::clone(unread),
            _permit: permit,
        }
    }
}

impl Body for Outflow {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        this.unread.since().remove(&this.number);
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && frame.is_data()
        {
            this.unread.since().insert(this.number, Instant::now());
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Outflow {
    fn drop(&mut self) {
        self.unread.since().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn what_was_given_is_unread_until_more_is_asked_for() {
        let unread = Arc::new(Unread::default());
        let text = "text".to_owned();
        let mut flow = Outflow::new(tonic::body::Body::new(text), &unread, None);
        let is_waiting = || !unread.since().is_empty();
        let mut context = Context::from_waker(Waker::noop());
        assert!(!is_waiting());
        let piece = Pin::new(&mut flow).poll_frame(&mut context);
        assert!(matches!(piece, Poll::Ready(Some(Ok(_)))) && is_waiting());
        let end = Pin::new(&mut flow).poll_frame(&mut context);
        assert!(matches!(end, Poll::Ready(None)) && !is_waiting());

        let mut gone = Outflow::new(tonic::body::Body::new("text".to_owned()), &unread, None);
        let _ = Pin::new(&mut gone).poll_frame(&mut context);
        drop(gone);
        assert_eq!(unread.longest(), Duration::ZERO);
    }
}
