//! Campaigns whose rows this build cannot read: each is named in the log once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The campaigns by their id, each at the revision at which it could not be read.
#[derive(Debug, Default)]
pub(super) struct Barred(Mutex<BTreeMap<String, u64>>);

impl Barred {
    /// Adds a campaign at a revision. Returns whether it is new here.
    pub(super) fn add(&self, campaign: &str, revision: u64) -> bool {
        let mut barred = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        barred.insert(campaign.to_owned(), revision).is_none()
    }

    /// Whether a campaign could not be read at this very revision.
    pub(super) fn is_at(&self, campaign: &str, revision: u64) -> bool {
        let barred = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        barred.get(campaign) == Some(&revision)
    }

    /// Takes out a campaign that can be read again.
    pub(super) fn remove(&self, campaign: &str) {
        let mut barred = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        barred.remove(campaign);
    }
}

#[cfg(test)]
mod tests {
    use super::Barred;

    #[test]
    fn a_campaign_is_new_once_until_it_can_be_read_again() {
        let barred = Barred::default();
        assert!(barred.add("a", 1));
        assert!(!barred.add("a", 1) && !barred.add("a", 2));
        assert!(barred.is_at("a", 2) && !barred.is_at("a", 1) && !barred.is_at("b", 2));
        barred.remove("a");
        assert!(!barred.is_at("a", 2));
        assert!(barred.add("a", 2));
    }
}
