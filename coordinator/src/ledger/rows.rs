//! What rows say, whatever database they came from: counts, digests, campaigns. A row is checked when
//! it is read: another build may have written it.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use kazoe_common::census::{
    Campaign, Cut, Design, Digest, PopulationName, Segment, Tally, TallyError, Witness,
};
use kazoe_common::game::Variant;
use kazoe_proto::lease_key::LeaseKey;

use super::{
    BuildShare, CampaignRecord, CampaignState, Counts, ForeignCampaign, LedgerError, Listed,
    LogEntry, Prefix, SelfTest,
};
use crate::leasing::Millis;
use crate::tally_text;
use kazoe_proto::campaigns::printable;
use kazoe_proto::outcome::DeliveryOutcome;

/// What goes wrong inside a transaction: an answer of the ledger's, or the database itself.
#[derive(Debug)]
pub(super) enum Failure {
    Ledger(LedgerError),
    Database(sqlx::Error),
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Failure::Ledger(error)
    }
}

impl From<Box<ForeignCampaign>> for Failure {
    fn from(campaign: Box<ForeignCampaign>) -> Self {
        Failure::Ledger(LedgerError::Foreign(campaign))
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Failure::Database(error)
    }
}

/// A count as the database keeps it. None of the ledger's exceeds 2^62.
pub(super) fn to_row(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count as the database gave it.
pub(super) fn from_row(count: i64) -> Result<u64, Failure> {
    u64::try_from(count).map_err(|_| LedgerError::Row(format!("a count of {count}")).into())
}

/// A time in whole microseconds.
pub(super) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

pub(super) fn millis(hold: Duration) -> Millis {
    i64::try_from(hold.as_millis())
        .unwrap_or(i64::MAX / 4)
        .min(i64::MAX / 4)
}

/// A row of a digest as 16 little-endian bytes.
pub(super) fn digest(bytes: &[u8]) -> Result<Digest, Failure> {
    let bytes = <[u8; 16]>::try_from(bytes)
        .map_err(|_| LedgerError::Row("a digest that is not 16 bytes".to_owned()))?;
    Ok(Digest(u128::from_le_bytes(bytes)))
}

/// A row of a histogram.
pub(super) fn entry(counts: &mut BTreeMap<u32, u64>, key: i64, count: i64) -> Result<(), Failure> {
    let key = u32::try_from(key)
        .map_err(|_| LedgerError::Row(format!("a cell or depth numbered {key}")))?;
    counts.insert(key, from_row(count)?);
    Ok(())
}

/// Checks a prefix that was summed up from rows: a cell that the design does not have is another build's.
pub(super) fn check_prefix(id: &str, prefix: &Prefix) -> Result<(), Failure> {
    let counted = prefix.samples.saturating_sub(prefix.set_aside_samples);
    let checked = prefix.tally.check(counted);
    Ok(checked
        .map_err(|error| LedgerError::Row(format!("the tallies of campaign {id}: {error}")))?)
}

/// Checks that a segment's tally has no cell that the design does not have.
pub(super) fn check_cells(
    id: &str,
    segment: Segment,
    tally: &Tally,
    samples: u64,
) -> Result<(), Failure> {
    match tally.check(samples) {
        Err(error @ TallyError::Cell(_)) => {
            let what = format!("the tally of segment {segment} of campaign {id}: {error}");
            Err(LedgerError::Row(what).into())
        }
        // What else is wrong with it is what `kazoe verify` looks for.
        _ => Ok(()),
    }
}

/// A token's random part.
pub(super) fn secret(bytes: &[u8]) -> Result<[u8; 8], Failure> {
    <[u8; 8]>::try_from(bytes)
        .map_err(|_| LedgerError::Row("a token's random part of another length".to_owned()).into())
}

/// The keys of leases, from rows of sequence and secret.
pub(super) fn lease_keys(rows: Vec<(i64, Vec<u8>)>) -> Result<HashSet<LeaseKey>, Failure> {
    let rows = rows.into_iter();
    rows.map(|(sequence, bytes)| {
        let secret = secret(&bytes)?;
        Ok(LeaseKey { sequence, secret })
    })
    .collect()
}

/// A row of `campaigns`: id, variant, population, design, seed, cap, samples, `segment_blocks`, state,
/// build, `submitted_at`, revision, priority.
pub(super) type CampaignRow = (
    String,
    String,
    String,
    String,
    String,
    Option<String>,
    i64,
    i64,
    String,
    String,
    i64,
    i64,
    i64,
);

/// The campaign that a row says, if this build can count it.
pub(super) fn campaign(row: CampaignRow) -> Result<CampaignRecord, Box<ForeignCampaign>> {
    interpret(&row).map_err(|why| {
        let (id, variant, population, design, seed, cap, samples, _, state, build, at, _, priority) =
            row;
        Box::new(ForeignCampaign {
            id,
            variant,
            population,
            design,
            seed,
            cap,
            samples: u64::try_from(samples).ok(),
            state,
            priority: Some(priority),
            build,
            submitted_at: at,
            why,
        })
    })
}

/// All campaigns that rows say.
pub(super) fn listed(rows: Vec<CampaignRow>) -> Listed {
    let mut listed = Listed::default();
    for row in rows {
        match campaign(row) {
            Ok(record) => listed.known.push(record),
            Err(foreign) => listed.foreign.push(*foreign),
        }
    }
    listed
}

/// The campaign that a row says, or what of it this build does not understand.
fn interpret(row: &CampaignRow) -> Result<CampaignRecord, String> {
    let (
        id,
        variant,
        population,
        design,
        seed,
        cap,
        samples,
        blocks,
        state,
        build,
        at,
        revision,
        priority,
    ) = row;
    let unknown = |what: &str, name: &str| format!("unknown {what} `{}`", printable(name));
    let number = |what: &str, text: &str| {
        let read = tally_text::number::<u64>(text);
        read.ok_or_else(|| format!("its {what} `{}` is not a number", printable(text)))
    };
    let count = |what: &str, count: i64| {
        u64::try_from(count).map_err(|_| format!("its {what} {count} is not a count"))
    };
    let campaign = Campaign {
        variant: Variant::by_id(variant).ok_or_else(|| unknown("variant", variant))?,
        population: PopulationName::by_name(population)
            .ok_or_else(|| unknown("population", population))?,
        design: Design::by_name(design).ok_or_else(|| unknown("design", design))?,
        seed: number("seed", seed)?,
        cap: cap.as_deref().map(|cap| number("cap", cap)).transpose()?,
    };
    if campaign.id() != *id {
        return Err(format!(
            "it has unknown options; without them its id would be {}",
            campaign.id()
        ));
    }
    Ok(CampaignRecord {
        id: id.clone(),
        campaign,
        cut: Cut::new(
            count("number of samples", *samples)?,
            count("segment size", *blocks)?,
        )
        .map_err(|error| error.to_string())?,
        pace: CampaignState::by_name(state).ok_or_else(|| unknown("state", state))?,
        priority: Some(*priority),
        build: build.clone(),
        submitted_at: *at,
        revision: count("revision", *revision)?,
    })
}

/// A row of `self_tests`: block, tally.
pub(super) fn self_test(id: &str, (block, tally): (i64, String)) -> Result<SelfTest, Failure> {
    Ok(SelfTest {
        block: from_row(block)?,
        tally: tally_text::parse(&tally)
            .map_err(|error| LedgerError::Row(format!("a self-test of campaign {id}: {error}")))?,
    })
}

/// What stands of a witness in a row of `witnesses`: kind, depth, length, expansions.
pub(super) type WitnessColumns = (&'static str, Option<i64>, Option<i64>, Option<i64>);

pub(super) fn witness_columns(witness: &Witness) -> WitnessColumns {
    match *witness {
        Witness::Unreachable { depth, .. } => ("unreachable", Some(i64::from(depth)), None, None),
        Witness::Path {
            length, expansions, ..
        } => (
            "path",
            None,
            Some(i64::from(length)),
            Some(i64::from(expansions)),
        ),
    }
}

/// A row of `witnesses`: sample, depth, length, expansions.
pub(super) type WitnessRow = (i64, Option<i64>, Option<i64>, Option<i64>);

pub(super) fn witness((sample, depth, length, expansions): WitnessRow) -> Result<Witness, Failure> {
    let small = |number: i64| {
        u32::try_from(number)
            .map_err(|_| Failure::Ledger(LedgerError::Row(format!("a witness's {number}"))))
    };
    let index = from_row(sample)?;
    Ok(match (depth, length, expansions) {
        (Some(depth), None, None) => Witness::Unreachable {
            index,
            depth: small(depth)?,
        },
        (None, Some(length), Some(expansions)) => Witness::Path {
            index,
            length: small(length)?,
            expansions: small(expansions)?,
        },
        _ => return Err(LedgerError::Row(format!("witness {index}")).into()),
    })
}

/// What a build contributed: build, segments, first and last arrival.
pub(super) type BuildRow = (String, i64, i64, i64);

pub(super) fn build_share(
    (build, segments, first_at, last_at): BuildRow,
) -> Result<BuildShare, Failure> {
    Ok(BuildShare {
        build,
        segments: from_row(segments)?,
        first_at,
        last_at,
    })
}

/// A row of `results`: verdict, owner, worker, `received_at`.
pub(super) type LogRow = (String, String, String, i64);

pub(super) fn log_entry(
    segment: Segment,
    (verdict, owner, worker, received_at): LogRow,
) -> Result<LogEntry, Failure> {
    Ok(LogEntry {
        segment,
        verdict: DeliveryOutcome::by_name(&verdict)
            .ok_or_else(|| LedgerError::Row(format!("verdict `{verdict}`")))?,
        owner,
        worker,
        received_at,
    })
}

/// How many segments of a campaign are accepted (disputed or not), disputed, set aside, leased,
/// returned, retracted; of how many undisputed ones an audit arrived; whether the last one is accepted
/// and undisputed (1 or 0).
pub(super) type StandingRow = (i64, i64, i64, i64, i64, i64, i64, i64);

/// What such a row says.
pub(super) struct Standing {
    pub(super) counts: Counts,
    /// Samples of the accepted and undisputed segments.
    pub(super) accepted_samples: u64,
    pub(super) audited: u64,
}

pub(super) fn standing(cut: &Cut, row: StandingRow) -> Result<Standing, Failure> {
    let (accepted, disputed, set_aside, leased, returned, retracted, audited, last) = row;
    let disputed = from_row(disputed)?;
    let accepted = from_row(accepted)?.saturating_sub(disputed);
    let mut counts = Counts {
        accepted,
        disputed,
        set_aside: from_row(set_aside)?,
        leased: from_row(leased)?,
        returned: from_row(returned)?,
        retracted: from_row(retracted)?,
        unleased: 0,
    };
    let known = counts.accepted
        + counts.disputed
        + counts.set_aside
        + counts.leased
        + counts.returned
        + counts.retracted;
    counts.unleased = cut.segments().saturating_sub(known);
    // Every segment is whole but the last.
    let short = cut.segment_samples() - cut.samples_of(cut.segments() - 1);
    Ok(Standing {
        counts,
        accepted_samples: accepted * cut.segment_samples() - if last > 0 { short } else { 0 },
        audited: from_row(audited)?,
    })
}
