//! Quotas: how many requests are in progress, or answers unread, in all and for each token or address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::Share;

/// A bound on how many permits are out, in all and for each key.
#[derive(Debug)]
pub(super) struct Quota {
    taken: Mutex<Taken>,
    share: Share,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<String, usize>,
}

/// One permit of a quota. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Permit {
    quota: Arc<Quota>,
    key: String,
}

impl Quota {
    pub(super) fn new(share: Share) -> Self {
        Quota {
            taken: Mutex::default(),
            share,
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a permit for a token or an address, if there is one.
    pub(super) fn take(self: &Arc<Self>, key: &str) -> Option<Permit> {
        let mut taken = self.taken();
        let own = taken.by.get(key).copied().unwrap_or(0);
        if own >= self.share.each || taken.all >= self.share.all {
            return None;
        }
        taken.all += 1;
        taken.by.insert(key.to_owned(), own + 1);
        Some(Permit {
            quota: Arc::clone(self),
            key: key.to_owned(),
        })
    }
}

#[cfg(test)]
impl Quota {
    /// Returns how many permits of a key are out.
    pub(super) fn taken_by(&self, key: &str) -> usize {
        self.taken().by.get(key).copied().unwrap_or(0)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = self.quota.taken();
        taken.all -= 1;
        if let Some(own) = taken.by.get_mut(&self.key) {
            *own -= 1;
            if *own == 0 {
                taken.by.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_gets_more_than_its_share() {
        let quota = Arc::new(Quota::new(Share { all: 3, each: 2 }));
        let a = [(); 3].map(|()| quota.take("a"));
        assert!(a[1].is_some() && a[2].is_none());
        let b = quota.take("b").unwrap();
        assert!(quota.take("c").is_none(), "no permit is left");
        drop(b);
        assert!(quota.take("c").is_some());
        drop(a);
        assert!(quota.taken().by.is_empty() && quota.taken().all == 0);
    }
}
