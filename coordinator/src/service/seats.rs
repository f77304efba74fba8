//! Places of which nobody gets more than a part: for answers that are on their way to callers who take
//! their time to read, and for those who wait for their turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Seats, of which nobody gets more than a part.
#[derive(Debug)]
pub(super) struct Seats {
    taken: Mutex<Taken>,
    all: usize,
    each: usize,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<String, usize>,
}

/// A seat; free again when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    who: String,
}

impl Seats {
    pub(super) fn new(all: usize, each: usize) -> Self {
        Seats {
            taken: Mutex::default(),
            all,
            each,
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat for somebody, if there is one.
    pub(super) fn take(self: &Arc<Self>, who: &str) -> Option<Seat> {
        let mut taken = self.taken();
        let own = taken.by.get(who).copied().unwrap_or(0);
        if own >= self.each || taken.all >= self.all {
            return None;
        }
        taken.all += 1;
        taken.by.insert(who.to_owned(), own + 1);
        Some(Seat {
            seats: Arc::clone(self),
            who: who.to_owned(),
        })
    }
}

#[cfg(test)]
impl Seats {
    /// How many somebody has.
    pub(super) fn taken_by(&self, who: &str) -> usize {
        self.taken().by.get(who).copied().unwrap_or(0)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken();
        taken.all -= 1;
        if let Some(own) = taken.by.get_mut(&self.who) {
            *own -= 1;
            if *own == 0 {
                taken.by.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_more_than_a_part() {
        let seats = Arc::new(Seats::new(3, 2));
        let a = [(); 3].map(|()| seats.take("a"));
        assert!(a[1].is_some() && a[2].is_none());
        let b = seats.take("b").unwrap();
        assert!(seats.take("c").is_none(), "no seat is left");
        drop(b);
        assert!(seats.take("c").is_some());
        drop(a);
        assert!(seats.taken().by.is_empty() && seats.taken().all == 0);
    }
}
