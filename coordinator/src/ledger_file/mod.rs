//! A ledger as one text file, `NAME.ledger.tsv`: all that a recheck of a campaign needs.
//!
//! UTF-8, lines ended by a line feed, fields separated by one tab, numbers in decimal without sign or
//! leading zeros. The first word of a line says what it is:
//!
//! ```text
//! kazoe-ledger/1
//! campaign     its id, which follows from the next six
//! variant      shogi
//! population   candidates
//! size         the population's exact size
//! design       plain
//! seed         1
//! cap          the most positions a search may expand, or `none`
//! samples      how many are wanted
//! segment-blocks  blocks in a segment
//! submitted    when the campaign was first submitted, 2026-11-30T02:15:00.123Z
//! computed     when the first and the last of these segments arrived; `-` twice if there are none
//! self-test    block, then cells, depths, digest as below; none or more of these lines, ascending
//! build        number (0, 1, ...), text; before the first segment that names it
//! segment      number, samples, cells, depths, digest, number of the build; ascending
//! witness      `unreachable`, index, depth; or `path`, index, L, E; after its segment, ascending
//! build        number, `kazoe-check/1 fingerprint=F lines=L`; before `end`, and no segment names it
//! end          how many segments, how many samples, the sum of the digests modulo 2^128
//! ```
//!
//! Cells, depths and digest are as in [`tally_text`](crate::tally_text); the cells are the design's
//! alphabet, for `plain` the outcomes' bytes. The lines from `campaign` to `computed` stand each once
//! and in this order. Segments that are missing or disputed have no line. The last line tells a file
//! that was cut short.
//!
//! F is the [fingerprint](kazoe_common::census::Fingerprint) of the sum of the segments, and L the same hash
//! of all lines above the one that states it, without `submitted` and `computed`, each ended by one line feed. A file whose counts or lines do not
//! match them is refused. F and L have no key: a forger computes them too. Files of earlier builds state
//! neither and are read as well, and earlier builds read a file that states them: for those builds that line
//! is a build without segments.
//!
//! A reader accepts a byte order mark at the beginning and a carriage return at the end of each line.

mod check;
mod date;
mod header;
mod import;
mod lines;
mod read;
mod write;

pub use check::Sums;
pub use header::Header;
pub use import::{ImportError, Imported, Step, check_self_tests, import};
pub use lines::FileError;
pub use read::{Entry, LedgerFile};
pub use write::{ExportError, Exported, Pages, export, export_to_path};

/// The first line.
const MAGIC: &str = "kazoe-ledger/1";
