//! What stands before the segments of a ledger file.

use std::io::BufRead;

use kazoe_common::census::{BLOCK, Block, Campaign, CampaignError, Cut, Design, PopulationName};
use kazoe_common::game::Variant;
use kazoe_common::population::Candidates;

use super::lines::{FileError, Lines};
use super::{MAGIC, date};
use crate::leasing::Millis;
use crate::ledger::SelfTest;
use crate::tally_text::number;

/// What stands before the segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What was counted.
    pub campaign: Campaign,
    /// How many samples were wanted, and how they are cut.
    pub cut: Cut,
    /// When the campaign was first submitted.
    pub submitted_at: Millis,
    /// When the first and the last of the segments arrived.
    pub computed: Option<(Millis, Millis)>,
    /// What the build that submitted it computes for a few blocks.
    pub self_tests: Vec<SelfTest>,
}

pub(super) fn header<R: BufRead>(lines: &mut Lines<R>) -> Result<Header, FileError> {
    let first = lines.next()?;
    if first.text != MAGIC {
        return Err(first.wrong("first line", first.text, MAGIC));
    }
    let mut value = |word: &'static str| -> Result<(u64, String), FileError> {
        let line = lines.next()?;
        if line.word != word {
            return Err(line.wrong("line", line.word, word));
        }
        let [value] = line.fields([word])?;
        Ok((line.number, value.to_owned()))
    };
    let id = value("campaign")?;
    let variant = value("variant")?;
    let population = value("population")?;
    let size = value("size")?;
    let design = value("design")?;
    let seed = value("seed")?;
    let cap = value("cap")?;
    let samples = value("samples")?;
    let blocks = value("segment-blocks")?;
    let submitted = value("submitted")?;
    let wrong =
        |field: &'static str, (line, found): &(u64, String), expected: &str| FileError::Field {
            line: *line,
            field,
            found: found.clone(),
            expected: expected.to_owned(),
        };
    let unknown = |what: &'static str, name: &(u64, String)| {
        let known = format!(
            "a {what} that this build knows: another build wrote the file; use that one, or a later one"
        );
        wrong(what, name, &known)
    };
    let campaign = Campaign {
        variant: Variant::by_id(&variant.1).ok_or_else(|| unknown("variant", &variant))?,
        population: PopulationName::by_name(&population.1)
            .ok_or_else(|| unknown("population", &population))?,
        design: Design::by_name(&design.1).ok_or_else(|| unknown("design", &design))?,
        seed: number(&seed.1).ok_or_else(|| wrong("seed", &seed, "an unsigned 64-bit number"))?,
        cap: match cap.1.as_str() {
            "none" => None,
            text => Some(number(text).ok_or_else(|| wrong("cap", &cap, "a number or `none`"))?),
        },
    };
    if campaign.id() != id.1 {
        return Err(wrong("campaign", &id, &campaign.id()));
    }
    let exact = Candidates::new(campaign.variant)
        .map_err(|error| wrong("size", &size, &error.to_string()))?
        .size()
        .to_string();
    if exact != size.1 {
        return Err(wrong("size", &size, &exact));
    }
    let count = number::<u64>(&samples.1);
    let count = count.ok_or_else(|| wrong("samples", &samples, "a number"))?;
    let in_segment = number::<u64>(&blocks.1);
    let in_segment = in_segment.ok_or_else(|| wrong("segment-blocks", &blocks, "a number"))?;
    let cut = Cut::new(count, in_segment).map_err(|error| match error {
        CampaignError::Samples(_) => wrong("samples", &samples, &error.to_string()),
        CampaignError::SegmentBlocks(_) => wrong("segment-blocks", &blocks, &error.to_string()),
    })?;
    let submitted_at = date::parse(&submitted.1).ok_or_else(|| {
        wrong(
            "submitted",
            &submitted,
            "a date like 2026-11-30T02:15:00.123Z",
        )
    })?;
    let computed = computed(lines)?;
    let self_tests = self_tests(lines)?;
    Ok(Header {
        campaign,
        cut,
        submitted_at,
        computed,
        self_tests,
    })
}

fn computed<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<(Millis, Millis)>, FileError> {
    let line = lines.next()?;
    if line.word != "computed" {
        return Err(line.wrong("line", line.word, "computed"));
    }
    let [first, last] = line.fields(["first", "last"])?;
    if (first, last) == ("-", "-") {
        return Ok(None);
    }
    let moment = |field, text| {
        date::parse(text)
            .ok_or_else(|| line.wrong(field, text, "a date like 2026-11-30T02:15:00.123Z"))
    };
    Ok(Some((moment("first", first)?, moment("last", last)?)))
}

fn self_tests<R: BufRead>(lines: &mut Lines<R>) -> Result<Vec<SelfTest>, FileError> {
    let mut tests: Vec<SelfTest> = Vec::new();
    loop {
        let line = lines.next()?;
        if line.word != "self-test" {
            lines.hold();
            return Ok(tests);
        }
        let [block, cells, depths, digest] = line.fields(["block", "cells", "depths", "digest"])?;
        let number = number::<Block>(block)
            .filter(|&number| tests.last().is_none_or(|last| last.block < number))
            .ok_or_else(|| line.wrong("block", block, "ascending numbers"))?;
        tests.push(SelfTest {
            block: number,
            tally: line.tally(cells, depths, digest, BLOCK)?,
        });
    }
}
