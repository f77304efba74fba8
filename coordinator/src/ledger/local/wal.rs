//! Reading a write-ahead log as SQLite's recovery does, without SQLite: a reader may have no right to make
//! the index that SQLite reads it by (sqlite.org/walformat.html).

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The length of a log's header, which the first frame follows.
pub(super) const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The committed pages of a log.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Committed {
    /// Bytes of a page; 0 if nothing is committed.
    pub(super) page_size: u64,
    /// How many pages the database has after the last commit.
    pub(super) pages: u32,
    /// Where in the log the last committed content of each changed page begins.
    pub(super) at: BTreeMap<u32, u64>,
}

/// Reads the frames of a log up to its last commit. A log with an invalid header holds nothing, as for
/// SQLite.
pub(super) fn committed(log: &File, header: &[u8]) -> io::Result<Committed> {
    let mut committed = Committed::default();
    let Some(mut chain) = Chain::begin(header) else {
        return Ok(committed);
    };
    let mut pending = Vec::new();
    let mut frame = vec![0; FRAME_HEADER + chain.page_size];
    let mut at = HEADER as u64;
    while read_whole(log, &mut frame, at)? {
        let Some((page, pages)) = chain.next(&frame) else {
            break;
        };
        pending.push((page, at + FRAME_HEADER as u64));
        if pages > 0 {
            committed.page_size = chain.page_size as u64;
            committed.pages = pages;
            committed.at.extend(pending.drain(..));
        }
        at += frame.len() as u64;
    }
    Ok(committed)
}

/// Fills the buffer from a place of a file, or says that the file ends before.
fn read_whole(file: &File, buffer: &mut [u8], at: u64) -> io::Result<bool> {
    match file.read_exact_at(buffer, at) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The chain of checksums through a log: each covers all frames before it.
struct Chain {
    big_endian: bool,
    page_size: usize,
    salt: [u8; 8],
    sum: (u32, u32),
}

impl Chain {
    /// Begins with a header; `None` if it is invalid.
    fn begin(header: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = header.try_into().ok()?;
        let magic = word(header, 0);
        let page_size = word(header, 8) as usize;
        let sound = magic & !1 == 0x377f_0682
            && word(header, 4) == 3_007_000
            && page_size.is_power_of_two()
            && (512..=65_536).contains(&page_size);
        if !sound {
            return None;
        }
        let mut chain = Chain {
            big_endian: magic & 1 == 1,
            page_size,
            salt: header[16..24].try_into().ok()?,
            sum: (0, 0),
        };
        chain.add(&header[..24]);
        (chain.sum == (word(header, 24), word(header, 28))).then_some(chain)
    }

    /// The page of the next frame, and the database's length in pages if the frame commits, else 0; `None`
    /// if the frame does not belong to this log.
    fn next(&mut self, frame: &[u8]) -> Option<(u32, u32)> {
        let page = word(frame, 0);
        if page == 0 || frame[8..16] != self.salt {
            return None;
        }
        self.add(&frame[..8]);
        self.add(&frame[FRAME_HEADER..]);
        (self.sum == (word(frame, 16), word(frame, 20))).then_some((page, word(frame, 4)))
    }

    fn add(&mut self, bytes: &[u8]) {
        let read = if self.big_endian {
            u32::from_be_bytes
        } else {
            u32::from_le_bytes
        };
        let (mut a, mut b) = self.sum;
        let (pairs, _) = bytes.as_chunks::<8>();
        for &[p, q, r, s, t, u, v, w] in pairs {
            a = a.wrapping_add(read([p, q, r, s])).wrapping_add(b);
            b = b.wrapping_add(read([t, u, v, w])).wrapping_add(a);
        }
        self.sum = (a, b);
    }
}

/// A big-endian word.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
