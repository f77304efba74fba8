//! Reading a ledger file, strictly and line by line.

use std::io::BufRead;

use kazoe_common::census::{Fingerprint, Segment, Tally, Witness};

use super::check::{Check, FORM, Sums};
use super::header::{Header, header};
use super::lines::{FileError, Lines};
use crate::tally_text::{self, number};

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
    sums: Sums,
    check: Option<Stated>,
    next: Segment,
    over: bool,
}

/// A check in a `build` line, which counts if `end` follows.
#[derive(Clone, Debug)]
struct Stated {
    line: u64,
    text: String,
    /// The checksum of the lines before it.
    found: Fingerprint,
}

impl<R: BufRead> LedgerFile<R> {
    /// Reads what stands before the segments.
    ///
    /// # Errors
    /// The first line and field that are wrong.
    pub fn open(reader: R) -> Result<Self, FileError> {
        let mut lines = Lines::new(reader);
        let header = header(&mut lines)?;
        Ok(LedgerFile {
            lines,
            header,
            builds: Vec::new(),
            sums: Sums::default(),
            check: None,
            next: 0,
            over: false,
        })
    }

    /// What stands before the segments.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the sums over the segments that were read.
    #[must_use]
    pub const fn sums(&self) -> &Sums {
        &self.sums
    }

    /// Returns the fingerprint that the file states, once it was read to its end; files of builds from
    /// before fingerprints state none.
    #[must_use]
    pub fn stated_fingerprint(&self) -> Option<Fingerprint> {
        let stated = self.check.as_ref()?;
        Some(Check::parse(&stated.text)?.fingerprint)
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
                    let (line, text) = (line.number, text.to_owned());
                    self.check = Check::is_meant(&text).then(|| Stated {
                        line,
                        text: text.clone(),
                        found: self.lines.checksum_before(),
                    });
                    self.builds.push(text);
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
        self.check = None;
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
        self.sums.add(&tally);
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
            ("segments", segments, self.sums.segments.to_string()),
            ("samples", samples, self.sums.samples().to_string()),
            ("digest", digest, self.sums.digest().to_string()),
        ];
        for (field, found, sum) in sums {
            if found != sum {
                return Err(line.wrong(field, found, "the sum of the lines above"));
            }
        }
        if self.lines.is_over()? {
            return self.compare();
        }
        match self.lines.next() {
            Ok(more) => Err(more.wrong("line", more.word, "nothing after `end`")),
            Err(FileError::CutShort { line }) => Err(FileError::Field {
                line,
                field: "line",
                found: "a line that does not end".to_owned(),
                expected: "nothing after `end`".to_owned(),
            }),
            Err(error) => Err(error),
        }
    }

    /// Compares the file with what it states of itself.
    fn compare(&self) -> Result<(), FileError> {
        let Some(stated) = &self.check else {
            return Ok(());
        };
        let (line, found) = (stated.line, stated.found);
        let check = Check::parse(&stated.text).ok_or_else(|| FileError::Field {
            line,
            field: "text",
            found: stated.text.clone(),
            expected: FORM.to_owned(),
        })?;
        let counted = self.sums.fingerprint(&self.header.campaign);
        if counted != check.fingerprint {
            return Err(FileError::Fingerprint {
                line,
                stated: check.fingerprint,
                counted,
            });
        }
        if found != check.lines {
            return Err(FileError::Checksum {
                line,
                stated: check.lines,
                found,
            });
        }
        Ok(())
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
