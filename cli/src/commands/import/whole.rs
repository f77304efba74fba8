//! A ledger file that was read from its first line to its last before anything is done with it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use kazoe_common::census::Fingerprint;
use kazoe_coordinator::ledger_file::{LedgerFile, Sums};

use super::wrong;
use crate::exit::Stop;

/// A ledger file without a fault. It can be read again.
#[derive(Debug)]
pub(super) struct Whole {
    path: PathBuf,
    /// The file itself, or a copy of what can be read only once.
    file: File,
    /// The sums of its segments.
    pub(super) sums: Sums,
    /// The fingerprint that it states of itself, if it does.
    pub(super) stated: Option<Fingerprint>,
}

impl Whole {
    /// Reads a file; `-` is standard input.
    ///
    /// # Errors
    /// If it can't be read, or is not a whole ledger file.
    pub(super) fn read(path: &Path) -> Result<Self, Stop> {
        let at = |error: io::Error| Stop::failed(format_args!("{}: {error}", path.display()));
        if path == Path::new("-") {
            return Whole::copy(path, io::stdin().lock());
        }
        let file = File::open(path).map_err(at)?;
        if !file.metadata().map_err(at)?.is_file() {
            return Whole::copy(path, file);
        }
        let (sums, stated) = through(path, BufReader::new(&file))?;
        Ok(Whole {
            path: path.to_owned(),
            file,
            sums,
            stated,
        })
    }

    /// Keeps what is read in a file without a name, and no more than that.
    fn copy(path: &Path, reader: impl Read) -> Result<Self, Stop> {
        let at = |error: io::Error| {
            Stop::failed(format_args!(
                "{}: copying it into a temporary file failed ({error}); TMPDIR names the folder of temporary files",
                path.display()
            ))
        };
        let mut file = tempfile::tempfile().map_err(at)?;
        let copying = Copying {
            reader,
            copy: &mut file,
        };
        let (sums, stated) = through(path, BufReader::with_capacity(1 << 16, copying))?;
        Ok(Whole {
            path: path.to_owned(),
            file,
            sums,
            stated,
        })
    }

    /// Reads it once more.
    ///
    /// # Errors
    /// If it can't be read, or has changed.
    pub(super) fn again(&mut self) -> Result<LedgerFile<BufReader<&File>>, Stop> {
        self.file
            .rewind()
            .map_err(|error| Stop::failed(format_args!("{}: {error}", self.path.display())))?;
        LedgerFile::open(BufReader::new(&self.file)).map_err(|error| wrong(&self.path, &error))
    }
}

/// Reads all of it.
fn through(path: &Path, reader: impl BufRead) -> Result<(Sums, Option<Fingerprint>), Stop> {
    let mut file = LedgerFile::open(reader).map_err(|error| wrong(path, &error))?;
    for entry in file.by_ref() {
        entry.map_err(|error| wrong(path, &error))?;
    }
    Ok((file.sums().clone(), file.stated_fingerprint()))
}

/// A reader that writes what it reads elsewhere as well.
struct Copying<'a, R> {
    reader: R,
    copy: &'a mut File,
}

impl<R: Read> Read for Copying<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.copy.write_all(&buffer[..length])?;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is no ledger file is given up at its first line, however long it is.
    #[test]
    fn what_is_no_ledger_file_is_not_copied_to_its_end() {
        let error = Whole::copy(Path::new("-"), io::repeat(b'x')).unwrap_err();
        assert!(
            matches!(&error, Stop::Failed(why) if why.contains("line 1")),
            "{error:?}"
        );
        let error = Whole::copy(Path::new("-"), io::repeat(b'\n')).unwrap_err();
        assert!(
            matches!(&error, Stop::Failed(why) if why.contains("line 1")),
            "{error:?}"
        );
    }
}
