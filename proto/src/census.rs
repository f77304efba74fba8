//! Campaigns, cuts, tallies and witnesses.

use std::collections::BTreeMap;
use std::time::Duration;

use kazoe_common::census::{
    BLOCK, Block, Campaign, Cut, Design, Digest, PopulationName, SegmentResult, Tally, TallyError,
    Witness,
};
use kazoe_common::game::Variant;

use crate::invalid::{length, present, within};
use crate::{Invalid, v1};

/// The most entries of a histogram: more than any alphabet has letters and any game has plies.
pub const MOST_COUNTS: usize = 1 << 16;

/// The most CPU time of one segment, in microseconds: half a year.
const MOST_CPU: u64 = 1 << 44;

/// The most self-tests of one campaign.
pub const MOST_SELF_TESTS: usize = 64;

/// The most witnesses of a block: four unreachable ones and a path.
const WITNESSES_OF_A_BLOCK: u64 = 5;

/// A campaign as a message.
#[must_use]
pub fn campaign_message(campaign: &Campaign) -> v1::Campaign {
    v1::Campaign {
        variant: campaign.variant.id.to_owned(),
        population: campaign.population.name().to_owned(),
        design: campaign.design.name().to_owned(),
        seed: campaign.seed,
        cap: campaign.cap,
    }
}

/// The campaign that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn campaign(field: &str, message: Option<v1::Campaign>) -> Result<Campaign, Invalid> {
    let message = present(field, message)?;
    let odd = |(what, why): (&str, String)| Invalid::new(format!("{field}.{what}"), why);
    let (variant, population, design) = names(&message).map_err(odd)?;
    Ok(Campaign {
        variant,
        population,
        design,
        seed: message.seed,
        cap: message.cap,
    })
}

type Names = (&'static Variant, PopulationName, Design);

/// What a campaign's names mean; if this build does not know one, its field, and that in words.
fn names(message: &v1::Campaign) -> Result<Names, (&'static str, String)> {
    let unknown = |what: &'static str, name: &str| (what, unknown(what, name));
    let variant = Variant::by_id(&message.variant);
    let population = PopulationName::by_name(&message.population);
    let design = Design::by_name(&message.design);
    Ok((
        variant.ok_or_else(|| unknown("variant", &message.variant))?,
        population.ok_or_else(|| unknown("population", &message.population))?,
        design.ok_or_else(|| unknown("design", &message.design))?,
    ))
}

/// The first of a campaign's names that this build does not know: its field, and that in words.
pub(crate) fn unknown_name(message: &v1::Campaign) -> Option<(&'static str, String)> {
    names(message).err()
}

/// What to say of a name that this build does not know: no more of it than fits on a line.
fn unknown(what: &str, name: &str) -> String {
    let head: String = name.chars().take(40).collect();
    format!("unknown {what} `{}`", head.escape_debug())
}

/// The id of a campaign: 10 lower-case hexadecimal digits.
pub(crate) fn campaign_id(field: &str, id: String) -> Result<String, Invalid> {
    let digits = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if id.len() == 10 && id.bytes().all(digits) {
        Ok(id)
    } else {
        Err(Invalid::new(
            field,
            "a campaign's id is 10 lower-case hexadecimal digits",
        ))
    }
}

/// A cut as a message.
#[must_use]
pub const fn cut_message(cut: &Cut) -> v1::Cut {
    v1::Cut {
        samples: cut.samples,
        segment_blocks: cut.segment_blocks,
    }
}

/// The cut that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn cut(field: &str, message: Option<v1::Cut>) -> Result<Cut, Invalid> {
    let message = present(field, message)?;
    let samples = within(&format!("{field}.samples"), message.samples, 1..=1 << 62)?;
    let blocks = within(
        &format!("{field}.segment_blocks"),
        message.segment_blocks,
        1..=1 << 20,
    )?;
    Cut::new(samples, blocks).map_err(|error| Invalid::new(field, error.to_string()))
}

/// A tally as a message.
#[must_use]
pub fn tally_message(tally: &Tally) -> v1::Tally {
    v1::Tally {
        cells: counts_message(&tally.cells),
        depths: counts_message(&tally.depths),
        digest: tally.digest.0.to_le_bytes().to_vec(),
    }
}

fn counts_message(counts: &BTreeMap<u32, u64>) -> Vec<v1::Count> {
    counts
        .iter()
        .map(|(&key, &count)| v1::Count { key, count })
        .collect()
}

/// The tally that a message says. Whether it satisfies its design's identities depends on how many
/// samples it counts: [`tally_of`] checks that as well.
///
/// # Errors
/// The first field that cannot be.
pub fn tally(field: &str, message: Option<v1::Tally>) -> Result<Tally, Invalid> {
    let message = present(field, message)?;
    let digest = <[u8; 16]>::try_from(message.digest.as_slice())
        .map_err(|_| Invalid::new(format!("{field}.digest"), "a digest is 16 bytes"))?;
    Ok(Tally {
        cells: counts(&format!("{field}.cells"), &message.cells)?,
        depths: counts(&format!("{field}.depths"), &message.depths)?,
        digest: Digest(u128::from_le_bytes(digest)),
    })
}

/// The tally of so many samples that a message says.
///
/// # Errors
/// The first field that cannot be, or the identity that fails.
pub fn tally_of(field: &str, samples: u64, message: Option<v1::Tally>) -> Result<Tally, Invalid> {
    let tally = tally(field, message)?;
    tally.check(samples).map_err(|error| {
        let part = match error {
            TallyError::Depths { .. } => "depths",
            TallyError::Digest(_) => "digest",
            TallyError::Cell(_)
            | TallyError::Samples { .. }
            | TallyError::Zero
            | TallyError::Overflow => "cells",
        };
        Invalid::new(format!("{field}.{part}"), error.to_string())
    })?;
    Ok(tally)
}

fn counts(field: &str, counts: &[v1::Count]) -> Result<BTreeMap<u32, u64>, Invalid> {
    length(field, counts, 0..=MOST_COUNTS)?;
    let mut map = BTreeMap::new();
    for (place, &v1::Count { key, count }) in counts.iter().enumerate() {
        if map.last_key_value().is_some_and(|(&last, _)| last >= key) {
            return Err(Invalid::new(
                format!("{field}[{place}].key"),
                "keys ascend, each once",
            ));
        }
        within(&format!("{field}[{place}].count"), count, 1..=u64::MAX)?;
        map.insert(key, count);
    }
    Ok(map)
}

/// A witness as a message.
#[must_use]
pub const fn witness_message(witness: &Witness) -> v1::Witness {
    use v1::witness::{Kind, Path, Unreachable};
    let (index, kind) = match *witness {
        Witness::Unreachable { index, depth } => (index, Kind::Unreachable(Unreachable { depth })),
        Witness::Path {
            index,
            length,
            expansions,
        } => (index, Kind::Path(Path { length, expansions })),
    };
    v1::Witness {
        index,
        kind: Some(kind),
    }
}

/// The witness that a message says.
///
/// # Errors
/// The first field that cannot be.
pub fn witness(field: &str, message: v1::Witness) -> Result<Witness, Invalid> {
    use v1::witness::Kind;
    let index = message.index;
    Ok(match present(&format!("{field}.kind"), message.kind)? {
        Kind::Unreachable(unreachable) => Witness::Unreachable {
            index,
            depth: within(
                &format!("{field}.unreachable.depth"),
                unreachable.depth,
                1..=u32::MAX,
            )?,
        },
        Kind::Path(path) => Witness::Path {
            index,
            length: within(&format!("{field}.path.length"), path.length, 1..=u32::MAX)?,
            expansions: path.expansions,
        },
    })
}

/// Self-tests as messages.
#[must_use]
pub fn self_test_messages(tests: &BTreeMap<Block, Tally>) -> Vec<v1::SelfTest> {
    tests
        .iter()
        .map(|(&block, tally)| v1::SelfTest {
            block,
            tally: Some(tally_message(tally)),
        })
        .collect()
}

/// The self-tests that messages say, by block.
///
/// # Errors
/// The first field that cannot be.
pub fn self_tests(
    field: &str,
    messages: Vec<v1::SelfTest>,
) -> Result<BTreeMap<Block, Tally>, Invalid> {
    /// No campaign has a block from here on: 2^62 samples.
    const END: u64 = (1 << 62) / BLOCK;
    length(field, &messages, 0..=MOST_SELF_TESTS)?;
    let mut tests: BTreeMap<Block, Tally> = BTreeMap::new();
    for (place, message) in messages.into_iter().enumerate() {
        let here = format!("{field}[{place}]");
        let block = within(&format!("{here}.block"), message.block, 0..=END - 1)?;
        if tests
            .last_key_value()
            .is_some_and(|(&last, _)| last >= block)
        {
            return Err(Invalid::new(
                format!("{here}.block"),
                "blocks ascend, each once",
            ));
        }
        let tally = tally_of(&format!("{here}.tally"), BLOCK, message.tally)?;
        tests.insert(block, tally);
    }
    Ok(tests)
}

/// A segment's result as a message.
#[must_use]
pub fn result_message(result: &SegmentResult) -> v1::FinishedSegment {
    v1::FinishedSegment {
        segment: result.segment,
        samples: result.samples,
        tally: Some(tally_message(&result.tally)),
        witnesses: result.witnesses.iter().map(witness_message).collect(),
        cpu_us: result.cpu.map(|cpu| {
            let micros = u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX);
            micros.min(MOST_CPU)
        }),
    }
}

/// The segment's result that a message says, of a campaign with `segment_blocks` blocks in a segment.
///
/// # Errors
/// The first field that cannot be.
pub fn result(
    field: &str,
    message: v1::FinishedSegment,
    segment_blocks: u64,
) -> Result<SegmentResult, Invalid> {
    let at = |name: &str| format!("{field}.{name}");
    let whole = segment_blocks * BLOCK;
    // The last segment begins before sample 2^62.
    let segment = within(&at("segment"), message.segment, 0..=((1 << 62) - 1) / whole)?;
    let samples = within(&at("samples"), message.samples, 1..=whole)?;
    let tally = tally_of(&at("tally"), samples, message.tally)?;
    let most = samples.div_ceil(BLOCK) * WITNESSES_OF_A_BLOCK;
    length(
        &at("witnesses"),
        &message.witnesses,
        0..=usize::try_from(most).unwrap_or(usize::MAX),
    )?;
    let first = segment * whole;
    let mut witnesses: Vec<Witness> = Vec::with_capacity(message.witnesses.len());
    let order = |witness: &Witness| (witness.index(), matches!(witness, Witness::Path { .. }));
    for (place, message) in message.witnesses.into_iter().enumerate() {
        let here = at(&format!("witnesses[{place}]"));
        let index = format!("{here}.index");
        let witness = witness(&here, message)?;
        within(&index, witness.index(), first..=first + samples - 1)?;
        if witnesses
            .last()
            .is_some_and(|last| order(last) >= order(&witness))
        {
            return Err(Invalid::new(
                index,
                "witnesses ascend by index, an unreachable one before a path",
            ));
        }
        witnesses.push(witness);
    }
    let cpu = message.cpu_us;
    let cpu = cpu.map(|micros| within(&at("cpu_us"), micros, 0..=MOST_CPU));
    Ok(SegmentResult {
        segment,
        samples,
        tally,
        witnesses,
        cpu: cpu.transpose()?.map(Duration::from_micros),
    })
}
