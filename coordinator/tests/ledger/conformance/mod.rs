//! What every database behind [`Ledger`](kazoe_coordinator::ledger::Ledger) must do. Each test takes an
//! empty ledger.

mod campaigns;
mod leases;
mod tallies;

use std::time::Duration;

pub(crate) use campaigns::{
    a_build_that_counts_otherwise_is_refused, a_campaign_is_counted_from_end_to_end,
    a_campaign_is_what_it_counts, a_gap_ends_the_prefix,
    an_extension_recalls_the_cut_segment_from_its_lease, an_import_fills_and_compares,
    more_samples_reuse_every_whole_segment,
};
pub(crate) use leases::{
    a_dead_worker_s_leases_go_back_at_once, a_segment_that_kills_its_workers_is_set_aside,
    a_token_ends_and_extends_its_own_lease_only, set_aside_counts_as_undecided,
    what_is_given_back_is_lent_first,
};
pub(crate) use tallies::{
    a_difference_is_disputed_until_two_owners_agree, cpu_time_is_kept_beside_a_tally,
    one_tally_sent_often_counts_once, the_operator_settles_alone, what_cannot_be_changes_nothing,
};

const LONG: Duration = Duration::from_secs(3600);

/// A lease that has run out when it is made.
const NONE: Duration = Duration::ZERO;

/// What breaks an invariant that the audit looks for, in a campaign of 200 segments of which the first
/// 150 are accepted and lie before the frontier. No ledger allows it.
pub(crate) const BREACHES: [(&str, &str); 8] = [
    (
        "I1",
        "UPDATE accepted SET result = result + 1 WHERE segment = 9",
    ),
    ("I2", "UPDATE campaigns SET samples = 149 * 4096 + 5"),
    (
        "I3",
        "INSERT INTO result_cells SELECT result, 0, 1 FROM accepted WHERE segment = 3",
    ),
    (
        "I3",
        "INSERT INTO result_depths SELECT result, 77, 1 FROM accepted WHERE segment = 3",
    ),
    ("I6", "UPDATE campaigns SET frontier = 160"),
    (
        "I6",
        "INSERT INTO waiting SELECT campaign, 3, 'returned' FROM accepted LIMIT 1",
    ),
    ("I6", "DELETE FROM accepted WHERE segment = 149"),
    (
        "I6",
        "INSERT INTO set_aside SELECT id, 200, 'x' FROM campaigns",
    ),
];
