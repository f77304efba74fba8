//! The lines of a ledger file and their fields.

use std::fmt;
use std::io::{self, BufRead};

use kazoe_common::census::{Fingerprint, Tally, Witness};

use super::check::Check;
use crate::plain_text::{self, Encoding};
use crate::tally_text::{self, number};

/// The lines with their numbers; one may be held back to be read again.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    line: String,
    number: u64,
    held: bool,
    /// Over the lines before this one that a check covers.
    before: blake3::Hasher,
}

impl<R: BufRead> Lines<R> {
    /// No line is longer: what bounds the memory when it is not a ledger file at all.
    const LONGEST: u64 = 1 << 20;

    /// From the first one on.
    pub(super) fn new(reader: R) -> Self {
        Lines {
            reader,
            line: String::new(),
            number: 0,
            held: false,
            before: blake3::Hasher::new(),
        }
    }

    pub(super) fn next(&mut self) -> Result<Line<'_>, FileError> {
        if self.held {
            self.held = false;
            return Ok(self.current());
        }
        if self.number > 0 && Check::covers(self.line.as_bytes()) {
            self.before.update(self.line.as_bytes()).update(b"\n");
        }
        self.line.clear();
        self.number += 1;
        let line = self.number;
        let mut bytes = Vec::new();
        io::Read::take(&mut self.reader, Self::LONGEST)
            .read_until(b'\n', &mut bytes)
            .map_err(|source| FileError::Read { line, source })?;
        if line == 1 {
            plain_text::unmarked(&bytes).map_err(FileError::Encoding)?;
        }
        if bytes.pop() != Some(b'\n') {
            return Err(FileError::CutShort { line });
        }
        let bytes = plain_text::line(&bytes);
        let text = std::str::from_utf8(bytes).map_err(|_| FileError::Field {
            line,
            field: "line",
            found: String::from_utf8_lossy(bytes).into_owned(),
            expected: "UTF-8".to_owned(),
        })?;
        self.line.push_str(text);
        Ok(self.current())
    }

    pub(super) fn current(&self) -> Line<'_> {
        Line {
            number: self.number,
            text: &self.line,
            word: self.line.split('\t').next().unwrap_or_default(),
        }
    }

    /// Returns whether nothing follows.
    pub(super) fn is_over(&mut self) -> Result<bool, FileError> {
        let line = self.number + 1;
        let rest = self.reader.fill_buf();
        rest.map(<[u8]>::is_empty)
            .map_err(|source| FileError::Read { line, source })
    }

    pub(super) const fn hold(&mut self) {
        self.held = true;
    }

    /// Returns the hash of the lines before the current one that a check covers, each ended by one line feed.
    pub(super) fn checksum_before(&self) -> Fingerprint {
        Fingerprint::of_hasher(&self.before)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) number: u64,
    pub(super) text: &'a str,
    pub(super) word: &'a str,
}

impl<'a> Line<'a> {
    pub(super) fn wrong(&self, field: &'static str, found: &str, expected: &str) -> FileError {
        FileError::Field {
            line: self.number,
            field,
            found: found.chars().take(80).collect(),
            expected: expected.to_owned(),
        }
    }

    /// The fields after the first word, just so many.
    pub(super) fn fields<const N: usize>(
        &self,
        names: [&'static str; N],
    ) -> Result<[&'a str; N], FileError> {
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

    pub(super) fn tally(
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

    pub(super) fn witness(&self) -> Result<Witness, FileError> {
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
    /// It is text in another encoding than UTF-8.
    Encoding(Encoding),
    /// It ends without its last line.
    CutShort {
        /// The line that is missing or not ended.
        line: u64,
    },
    /// The counts are not those that it was written with.
    Fingerprint {
        /// The line that states the fingerprint, counted from 1.
        line: u64,
        /// What the file states.
        stated: Fingerprint,
        /// The fingerprint of its counts.
        counted: Fingerprint,
    },
    /// Its lines are not those that it was written with.
    Checksum {
        /// The line that states the checksum, counted from 1.
        line: u64,
        /// What the file states.
        stated: Fingerprint,
        /// The checksum of its lines.
        found: Fingerprint,
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
            FileError::Encoding(encoding) => write!(f, "{encoding}"),
            FileError::CutShort { line } => write!(
                f,
                "line {line}: the file ends without its `end` line: it was truncated"
            ),
            FileError::Fingerprint {
                line,
                stated,
                counted,
            } => write!(
                f,
                "line {line}: the file states the fingerprint {stated}, but its counts have {counted}: \
                 counts were changed after it was written; get the file from its source again"
            ),
            FileError::Checksum {
                line,
                stated,
                found,
            } => write!(
                f,
                "line {line}: the file states the checksum {stated}, but the lines above have {found}: \
                 a line was changed after it was written; get the file from its source again"
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

impl FileError {
    /// Returns whether every line could be read and the file only differs from what it states of itself.
    #[must_use]
    pub const fn is_of_the_whole(&self) -> bool {
        matches!(
            self,
            FileError::Fingerprint { .. } | FileError::Checksum { .. }
        )
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FileError::Read { source, .. } => Some(source),
            FileError::Encoding(encoding) => Some(encoding),
            _ => None,
        }
    }
}
