//! The queue of operators' and viewers' calls for the database: a few at once, none for long, and no token takes all.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::limits::Share;
use super::quota::{Permit, Quota};

/// The queue.
#[derive(Debug)]
pub(super) struct FairQueue {
    waiting: Arc<Quota>,
    connections: Arc<Semaphore>,
    patience: Duration,
}

/// A turn; over when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _connection: OwnedSemaphorePermit,
    _permit: Permit,
}

impl FairQueue {
    pub(super) fn new(share: Share, connections: u32, patience: Duration) -> Self {
        FairQueue {
            waiting: Arc::new(Quota::new(share)),
            connections: Arc::new(Semaphore::new(connections as usize)),
            patience,
        }
    }

    /// Waits for a turn of a token. Returns nothing if too many calls wait already, or the wait is too long.
    pub(super) async fn take(&self, token: &str) -> Option<Turn> {
        let permit = self.waiting.take(token)?;
        let connection = Arc::clone(&self.connections).acquire_owned();
        let connection = timeout(self.patience, connection).await.ok()?.ok()?;
        Some(Turn {
            _connection: connection,
            _permit: permit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Share = Share { all: 8, each: 2 };

    #[tokio::test]
    async fn a_call_without_room_or_patience_gets_no_turn() {
        let queue = Arc::new(FairQueue::new(SHARE, 1, Duration::from_secs(3600)));
        let first = queue.take("a").await.unwrap();
        let wait = |token: &'static str| {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move { queue.take(token).await.is_some() })
        };
        let waiting = [wait("a"), wait("b")];
        while queue.waiting.taken_by("a") < 2 || queue.waiting.taken_by("b") < 1 {
            tokio::task::yield_now().await;
        }
        assert!(queue.take("a").await.is_none(), "a quarter of the room");
        drop(first);
        for one in waiting {
            assert!(one.await.unwrap());
        }

        let hasty = FairQueue::new(SHARE, 1, Duration::from_millis(1));
        let _first = hasty.take("a").await.unwrap();
        assert!(hasty.take("b").await.is_none());
        assert_eq!(hasty.waiting.taken_by("b"), 0);
    }
}
