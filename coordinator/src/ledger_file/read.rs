//! Reading a ledger file, strictly and line by line.

use std::fmt;
use std::io::{self, BufRead};

use kazoe_common::census::{
    Block, Campaign, CampaignError, Cut, Design, Digest, PopulationName, Segment, Tally, Witness,
};
use kazoe_common::game::Variant;
use kazoe_common::population::Candidates;

use super::{MAGIC, date};
use crate::leasing::Millis;
use crate::ledger::SelfTest;
use crate::tally_text::{self, number};

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

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub segment: Segment,
    /// How many samples it has, which the cut says too.
    pub samples: u64,
    /// Its tally, whose identities hold.
    pub tally: Tally,
    /// Its witnesses, ascending by index.
    pub witnesses: Vec<Witness>,
    /// The build that computed it.
    pub build: String,
}

/// A ledger file that is being read: an iterator over its segments, in constant memory. It is whole
/// only if the iterator ends without an error.
#[derive(Debug)]
pub struct LedgerFile<R> {
    lines: Lines<R>,
    header: Header,
    builds: Vec<String>,
    segments: u64,
    samples: u64,
    digest: Digest,
    next: Segment,
    over: bool,
}

impl<R: BufRead> LedgerFile<R> {
    /// Reads what stands before the segments.
    ///
    /// # Errors
    /// The first line and field that are wrong.
    pub fn open(reader: R) -> Result<Self, FileError> {
        let mut lines = Lines {
            reader,
            line: String::new(),
            number: 0,
            held: false,
        };
        let header = header(&mut lines)?;
        Ok(LedgerFile {
            lines,
            header,
            builds: Vec::new(),
            segments: 0,
            samples: 0,
            digest: Digest::default(),
            next: 0,
            over: false,
        })
    }

    /// What stands before the segments.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The next segment, or `None` after the last line.
    fn entry(&mut self) -> Result<Option<Entry>, FileError> {
        loop {
            let line = self.lines.next()?;
            match line.word {
                "build" => {
                    let [number, text] = line.fields(["number", "text"])?;
                    if number != self.builds.len().to_string() {
                        return Err(line.wrong("number", number, "the builds counted from 0"));
                    }
                    self.builds.push(text.to_owned());
                }
                "segment" => return self.segment().map(Some),
                "end" => {
                    self.end()?;
                    return Ok(None);
                }
                other => {
                    return Err(line.wrong("line", other, "build, segment, witness or end"));
                }
            }
        }
    }

    fn segment(&mut self) -> Result<Entry, FileError> {
        let line = self.lines.current();
        let [segment, samples, cells, depths, digest, build] =
            line.fields(["segment", "samples", "cells", "depths", "digest", "build"])?;
        let cut = self.header.cut;
        let number = number::<Segment>(segment)
            .filter(|&number| number >= self.next && number < cut.segments())
            .ok_or_else(|| line.wrong("segment", segment, "ascending numbers of the campaign's"))?;
        if samples != cut.samples_of(number).to_string() {
            return Err(line.wrong("samples", samples, "those that the cut gives the segment"));
        }
        let samples = cut.samples_of(number);
        let tally = line.tally(cells, depths, digest, samples)?;
        let build = tally_text::number::<usize>(build)
            .and_then(|build| self.builds.get(build))
            .ok_or_else(|| line.wrong("build", build, "the number of a build line above"))?
            .clone();
        let first = number * cut.segment_samples();
        let witnesses = self.witnesses(first, samples)?;
        self.next = number + 1;
        self.segments += 1;
        self.samples += samples;
        self.digest = self.digest.plus(tally.digest);
        Ok(Entry {
            segment: number,
            samples,
            tally,
            witnesses,
            build,
        })
    }

    fn witnesses(&mut self, first: u64, samples: u64) -> Result<Vec<Witness>, FileError> {
        let mut witnesses: Vec<Witness> = Vec::new();
        loop {
            let line = self.lines.next()?;
            if line.word != "witness" {
                self.lines.hold();
                return Ok(witnesses);
            }
            let witness = line.witness()?;
            let key =
                |witness: &Witness| (witness.index(), matches!(witness, Witness::Path { .. }));
            let inside = (first..first + samples).contains(&witness.index());
            let ascending = witnesses
                .last()
                .is_none_or(|last| key(last) < key(&witness));
            if !inside || !ascending {
                return Err(line.wrong(
                    "index",
                    &witness.index().to_string(),
                    "ascending indices of the segment's samples",
                ));
            }
            witnesses.push(witness);
        }
    }

    fn end(&mut self) -> Result<(), FileError> {
        let line = self.lines.current();
        let [segments, samples, digest] = line.fields(["segments", "samples", "digest"])?;
        let sums = [
            ("segments", segments, self.segments.to_string()),
            ("samples", samples, self.samples.to_string()),
            ("digest", digest, self.digest.to_string()),
        ];
        for (field, found, sum) in sums {
            if found != sum {
                return Err(line.wrong(field, found, "the sum of the lines above"));
            }
        }
        match self.lines.next() {
            Err(FileError::CutShort { .. }) => Ok(()),
            Err(error) => Err(error),
            Ok(more) => Err(more.wrong("line", more.word, "nothing after `end`")),
        }
    }
}

impl<R: BufRead> Iterator for LedgerFile<R> {
    type Item = Result<Entry, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let entry = self.entry();
        self.over = !matches!(entry, Ok(Some(_)));
        entry.transpose()
    }
}

fn header<R: BufRead>(lines: &mut Lines<R>) -> Result<Header, FileError> {
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
    let campaign = Campaign {
        variant: Variant::by_id(&variant.1)
            .ok_or_else(|| wrong("variant", &variant, "a variant that this build knows"))?,
        population: PopulationName::by_name(&population.1)
            .ok_or_else(|| wrong("population", &population, "candidates"))?,
        design: Design::by_name(&design.1).ok_or_else(|| wrong("design", &design, "plain"))?,
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
            tally: line.tally(cells, depths, digest, kazoe_common::census::BLOCK)?,
        });
    }
}

/// The lines with their numbers; one may be held back to be read again.
#[derive(Debug)]
struct Lines<R> {
    reader: R,
    line: String,
    number: u64,
    held: bool,
}

impl<R: BufRead> Lines<R> {
    /// No line is longer: what bounds the memory when it is not a ledger file at all.
    const LONGEST: u64 = 1 << 20;

    fn next(&mut self) -> Result<Line<'_>, FileError> {
        if self.held {
            self.held = false;
            return Ok(self.current());
        }
        self.line.clear();
        self.number += 1;
        let line = self.number;
        let mut bytes = Vec::new();
        io::Read::take(&mut self.reader, Self::LONGEST)
            .read_until(b'\n', &mut bytes)
            .map_err(|source| FileError::Read { line, source })?;
        if bytes.pop() != Some(b'\n') {
            return Err(FileError::CutShort { line });
        }
        self.line = String::from_utf8(bytes).map_err(|error| FileError::Field {
            line,
            field: "line",
            found: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            expected: "UTF-8".to_owned(),
        })?;
        Ok(self.current())
    }

    fn current(&self) -> Line<'_> {
        Line {
            number: self.number,
            text: &self.line,
            word: self.line.split('\t').next().unwrap_or_default(),
        }
    }

    const fn hold(&mut self) {
        self.held = true;
    }
}

#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    number: u64,
    text: &'a str,
    word: &'a str,
}

impl<'a> Line<'a> {
    fn wrong(&self, field: &'static str, found: &str, expected: &str) -> FileError {
        FileError::Field {
            line: self.number,
            field,
            found: found.chars().take(80).collect(),
            expected: expected.to_owned(),
        }
    }

    /// The fields after the first word, just so many.
    fn fields<const N: usize>(&self, names: [&'static str; N]) -> Result<[&'a str; N], FileError> {
        let fields: Vec<&str> = self.text.split('\t').skip(1).collect();
        let count = fields.len();
        <[&str; N]>::try_from(fields).map_err(|_| {
            let expected = format!("{N} fields after the first: {}", names.join(", "));
            self.wrong(
                "line",
                &format!("{count} fields after the first"),
                &expected,
            )
        })
    }

    fn tally(
        &self,
        cells: &str,
        depths: &str,
        digest: &str,
        samples: u64,
    ) -> Result<Tally, FileError> {
        let tally = tally_text::fields_to_tally(cells, depths, digest)
            .map_err(|error| self.wrong(error.field, &error.found, error.expected))?;
        tally
            .check(samples)
            .map_err(|error| self.wrong("cells", cells, &format!("a tally of them: {error}")))?;
        Ok(tally)
    }

    fn witness(&self) -> Result<Witness, FileError> {
        let value = |field: &'static str, text: &str, least: u32| {
            number::<u32>(text)
                .filter(|&value| value >= least)
                .ok_or_else(|| self.wrong(field, text, "a number above 0"))
        };
        let index = |text: &str| {
            number::<u64>(text).ok_or_else(|| self.wrong("index", text, "a sample's index"))
        };
        match self.text.split('\t').nth(1) {
            Some("unreachable") => {
                let [_, sample, depth] = self.fields(["kind", "index", "depth"])?;
                Ok(Witness::Unreachable {
                    index: index(sample)?,
                    depth: value("depth", depth, 1)?,
                })
            }
            Some("path") => {
                let [_, sample, length, expansions] = self.fields(["kind", "index", "L", "E"])?;
                Ok(Witness::Path {
                    index: index(sample)?,
                    length: value("L", length, 1)?,
                    expansions: value("E", expansions, 0)?,
                })
            }
            other => {
                let found = other.unwrap_or_default();
                Err(self.wrong("kind", found, "unreachable or path"))
            }
        }
    }
}

/// Why a file is no ledger file, or not a whole one.
#[derive(Debug)]
pub enum FileError {
    /// It cannot be read.
    Read {
        /// At which line, counted from 1.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// It ends without its last line.
    CutShort {
        /// The line that is missing or not ended.
        line: u64,
    },
    /// A field is not what it should be.
    Field {
        /// In which line, counted from 1.
        line: u64,
        /// Which field.
        field: &'static str,
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Read { line, source } => write!(f, "line {line}: cannot read: {source}"),
            FileError::CutShort { line } => write!(
                f,
                "line {line}: the file ends here, without its `end` line: it was cut short"
            ),
            FileError::Field {
                line,
                field,
                found,
                expected,
            } => write!(
                f,
                "line {line}, field `{field}`: `{found}`, expected {expected}"
            ),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FileError::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}
