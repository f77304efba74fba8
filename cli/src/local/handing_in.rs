//! What a session hands in, in the ledger's words, and what the ledger says, in the session's.

use kazoe_coordinator::leasing::Verdict;
use kazoe_coordinator::ledger::Delivery;
use kazoe_worker::desk::{Finished, Receipt};

pub(super) fn deliveries(finished: Vec<Finished>) -> Vec<Delivery> {
    let finished = finished.into_iter();
    finished
        .map(|one| Delivery {
            segment: one.job.segment,
            samples: one.job.samples,
            tally: one.tally,
            witnesses: one.witnesses,
            cpu: one.cpu,
        })
        .collect()
}

pub(super) fn receipts(verdicts: Vec<Verdict>) -> Vec<Receipt> {
    let verdicts = verdicts.into_iter();
    verdicts
        .map(|verdict| match verdict {
            Verdict::Accepted => Receipt::Accepted,
            Verdict::Audit | Verdict::Repeat => Receipt::Confirmed,
            Verdict::Disputed => Receipt::Disputed,
            Verdict::Stale => Receipt::Stale,
        })
        .collect()
}
