//! Segments over which workers are lost.

use std::collections::{BTreeMap, BTreeSet};

use kazoe_common::census::Segment;

/// The loss of a segment: it was lent to be filled, and its worker was not heard again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The segment.
    pub segment: Segment,
    /// The worker.
    pub worker: String,
    /// Whether it was lent alone.
    pub alone: bool,
}

/// How many workers must be lost over a segment, each while it was lent to it alone, before it is given
/// up for now.
pub const HOPELESS: usize = 3;

/// The segments over which so many workers were lost that they are to be set aside, each with those
/// workers. The losses stand oldest first. The first one of a segment is anybody's bad luck, one worker
/// that is lost again and again proves nothing, nor does a segment that was lent among others.
#[must_use]
pub fn hopeless(losses: &[Loss]) -> BTreeMap<Segment, BTreeSet<String>> {
    let mut lost = BTreeSet::new();
    let mut workers: BTreeMap<Segment, BTreeSet<String>> = BTreeMap::new();
    for loss in losses {
        let again = !lost.insert(loss.segment);
        if again && loss.alone {
            let of_segment = workers.entry(loss.segment).or_default();
            of_segment.insert(loss.worker.clone());
        }
    }
    workers.retain(|_, lost| lost.len() >= HOPELESS);
    workers
}
