//! Results in messages of a bounded size.

use kazoe_common::census::SegmentResult;
use kazoe_proto::work::MOST_FINISHED;

/// Witnesses in one message: they are most of it, and so it stays below a few megabytes, unless one
/// segment alone has more.
const MOST_WITNESSES: usize = 1 << 16;

/// Splits results into messages of a bounded size.
pub(super) fn batches(results: Vec<SegmentResult>) -> Vec<Vec<SegmentResult>> {
    let mut batches: Vec<Vec<SegmentResult>> = Vec::new();
    let mut witnesses = 0;
    for result in results {
        let fits = batches.last().is_some_and(|batch| {
            batch.len() < MOST_FINISHED && witnesses + result.witnesses.len() <= MOST_WITNESSES
        });
        if !fits {
            batches.push(Vec::new());
            witnesses = 0;
        }
        witnesses += result.witnesses.len();
        if let Some(batch) = batches.last_mut() {
            batch.push(result);
        }
    }
    batches
}
