//! Tests of the estimates: against independent arithmetic, against simulation, against the
//! published figures, and properties.

mod beside;
mod coverage;
mod properties;
mod reference;
mod report;

use super::counts::Counts;

fn counts(samples: u64, reachable: u64) -> Counts {
    Counts {
        samples,
        reachable,
        undecided: 0,
    }
}
