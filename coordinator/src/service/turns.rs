//! Whose turn it is at the database: each kind of call has connections of its own.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::limits::Share;
use super::seats::{Seat, Seats};

/// Of those who may wait, nobody's token has more than such a part: however much one asks, others find
/// room, and wait for no more than this part of them.
const PART: u32 = 4;

/// The turns of one kind of call.
#[derive(Debug)]
pub(super) struct Turns {
    share: Share,
    room: Arc<Seats>,
    turns: Arc<Semaphore>,
}

/// A turn; over when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _turn: OwnedSemaphorePermit,
    _seat: Seat,
}

impl Turns {
    pub(super) fn new(share: Share) -> Self {
        let Share { turns, queue, .. } = share;
        let room = turns + queue;
        Turns {
            share,
            room: Arc::new(Seats::new(room as usize, room.div_ceil(PART) as usize)),
            turns: Arc::new(Semaphore::new(turns as usize)),
        }
    }

    /// Waits for a turn of this token's; nothing where too many wait already, or it takes too long.
    pub(super) async fn take(&self, token: &str) -> Option<Turn> {
        let seat = self.room.take(token)?;
        let turn = Arc::clone(&self.turns).acquire_owned();
        let turn = timeout(self.share.patience, turn).await.ok()?.ok()?;
        Some(Turn {
            _turn: turn,
            _seat: seat,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn who_finds_no_room_or_waits_too_long_gets_no_turn() {
        let turns = Arc::new(Turns::new(Share {
            turns: 1,
            queue: 7,
            patience: Duration::from_secs(3600),
        }));
        let first = turns.take("a").await.unwrap();
        let wait = |token: &'static str| {
            let turns = Arc::clone(&turns);
            tokio::spawn(async move { turns.take(token).await.is_some() })
        };
        let waiting = [wait("a"), wait("b")];
        while turns.room.taken_by("a") < 2 || turns.room.taken_by("b") < 1 {
            tokio::task::yield_now().await;
        }
        assert!(turns.take("a").await.is_none(), "a quarter of the room");
        drop(first);
        for one in waiting {
            assert!(one.await.unwrap());
        }

        let hasty = Turns::new(Share {
            turns: 1,
            queue: 7,
            patience: Duration::from_millis(1),
        });
        let _first = hasty.take("a").await.unwrap();
        assert!(hasty.take("b").await.is_none());
        assert_eq!(hasty.room.taken_by("b"), 0);
    }
}
