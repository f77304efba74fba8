//! Finished segments in messages of a bounded size.

use kazoe_proto::{census, work as messages};

use crate::desk::Finished;

/// Witnesses in one message: they are most of it, and so it stays below a few megabytes, unless one
/// segment alone has more.
const MOST_WITNESSES: usize = 1 << 16;

/// Finished segments in messages of a bounded size.
pub(super) fn batches(finished: Vec<Finished>) -> Vec<Vec<census::Finished>> {
    let mut batches: Vec<Vec<census::Finished>> = Vec::new();
    let mut witnesses = 0;
    for one in finished {
        let fits = batches.last().is_some_and(|batch| {
            batch.len() < messages::MOST_FINISHED
                && witnesses + one.witnesses.len() <= MOST_WITNESSES
        });
        if !fits {
            batches.push(Vec::new());
            witnesses = 0;
        }
        witnesses += one.witnesses.len();
        if let Some(batch) = batches.last_mut() {
            batch.push(census::Finished {
                segment: one.job.segment,
                samples: one.job.samples,
                tally: one.tally,
                witnesses: one.witnesses,
                cpu: one.cpu,
            });
        }
    }
    batches
}
