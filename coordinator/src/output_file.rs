//! Writing a file that a user names: whole, or what was there stays.
//!
//! A regular file, and one that is not there yet, is written under another name beside it and renamed when
//! it is complete. Symbolic links are followed, and an existing file keeps its permissions and its owner. A
//! pipe, a device or an open descriptor (`/dev/fd/N`, `>(gzip > x)`) is opened and written: a rename would put
//! a file in its place.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use tempfile::NamedTempFile;

/// A file that is being written; what is written appears when [`OutputFile::finish`] returns, or, in a pipe
/// or on a device, at once. Dropped before, it leaves what was there.
#[derive(Debug)]
pub struct OutputFile(Sink);

#[derive(Debug)]
enum Sink {
    Staged {
        temporary: BufWriter<NamedTempFile>,
        target: Target,
    },
    Stream(BufWriter<File>),
}

/// What a path names.
#[derive(Debug)]
enum Target {
    /// A regular file that is not there yet.
    New(PathBuf),
    /// A regular file that is there.
    Existing(PathBuf),
    /// Anything else that can be written: a pipe, a device.
    Stream(PathBuf),
    /// A descriptor of a regular file that a process has open: what it has stays.
    Descriptor(PathBuf),
}

impl OutputFile {
    /// Begins to write to a path. Waits, for a pipe with a name, until it is read.
    ///
    /// # Errors
    /// If the path names a folder or a socket, or cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = Target::of(path)?;
        match &target {
            Target::New(_) | Target::Existing(_) => Self::stage(target),
            Target::Stream(_) | Target::Descriptor(_) => {
                let stream = target.open_stream()?;
                Ok(OutputFile(Sink::Stream(BufWriter::new(stream))))
            }
        }
    }

    /// The same, except that a pipe or a device too gets nothing before all is written:
    /// [`OutputFile::staged`] can be read and checked before.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn create_staged(path: &Path) -> io::Result<Self> {
        Self::stage(Target::of(path)?)
    }

    /// Checks that a path can be written, without writing to it.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn check(path: &Path) -> io::Result<()> {
        match Target::of(path)? {
            Target::Stream(_) | Target::Descriptor(_) => Ok(()),
            file => file.temporary().map(drop),
        }
    }

    fn stage(target: Target) -> io::Result<Self> {
        let temporary = target.temporary()?;
        let temporary = BufWriter::new(temporary);
        Ok(OutputFile(Sink::Staged { temporary, target }))
    }

    /// Where what was written can be read before it is finished; `None` if it went out already.
    ///
    /// # Errors
    /// If it cannot be written to its end.
    pub fn staged(&mut self) -> io::Result<Option<&Path>> {
        match &mut self.0 {
            Sink::Staged { temporary, .. } => {
                temporary.flush()?;
                Ok(Some(temporary.get_ref().path()))
            }
            Sink::Stream(_) => Ok(None),
        }
    }

    /// Puts what was written in its place.
    ///
    /// # Errors
    /// If it cannot be written to its end; an existing regular file is as it was then.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Sink::Stream(mut stream) => stream.flush(),
            Sink::Staged {
                mut temporary,
                target,
            } => {
                temporary.flush()?;
                let temporary = temporary.into_inner().map_err(|error| error.into_error())?;
                temporary.as_file().sync_all()?;
                target.receive(temporary)
            }
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Sink::Staged { temporary, .. } => temporary.write(bytes),
            Sink::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Sink::Staged { temporary, .. } => temporary.flush(),
            Sink::Stream(stream) => stream.flush(),
        }
    }
}

/// Whether a path names the very file, pipe or terminal that this process has as its standard output.
#[must_use]
pub fn is_standard_output(path: &Path) -> bool {
    let stdout = io::stdout().as_fd().try_clone_to_owned();
    let stdout = stdout.and_then(|stdout| File::from(stdout).metadata());
    match (fs::metadata(path), stdout) {
        (Ok(path), Ok(stdout)) => (path.dev(), path.ino()) == (stdout.dev(), stdout.ino()),
        _ => false,
    }
}

/// Whether a path names something that is there and that is no regular file: it cannot be read back.
#[must_use]
pub fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) || is_descriptor(path)
}

/// Whether a file is an SQLite database, perhaps the very one that is exported. One that cannot be read is taken
/// for none.
fn is_database(path: &Path) -> bool {
    const HEADER: &[u8; 16] = b"SQLite format 3\0";
    let mut head = [0; HEADER.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *HEADER
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        let meta = match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Target::New(follow(path)?));
            }
            meta => meta?,
        };
        let kind = meta.file_type();
        if kind.is_dir() {
            let why = "it is a folder; name a file in it";
            return Err(io::Error::new(ErrorKind::IsADirectory, why));
        }
        if is_descriptor(path) {
            return Ok(if kind.is_file() {
                Target::Descriptor(path.to_owned())
            } else {
                Target::Stream(path.to_owned())
            });
        }
        if kind.is_socket() {
            let why = "it is a socket; name a file or a pipe";
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        if !kind.is_file() {
            return Ok(Target::Stream(path.to_owned()));
        }
        // A rename would replace a file that is protected from writing.
        OpenOptions::new().write(true).open(path)?;
        if is_database(path) {
            let why = "it is an SQLite database, which must not be overwritten; name another file";
            return Err(io::Error::new(ErrorKind::AlreadyExists, why));
        }
        Ok(Target::Existing(fs::canonicalize(path)?))
    }

    /// A temporary file: beside the target, so that the rename is one step, or, where that is impossible or
    /// of no use, in the folder for temporary files.
    fn temporary(&self) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".kazoe-").suffix(".part");
        match self {
            Target::New(path) => builder
                // As any new file: the umask takes its part.
                .permissions(Permissions::from_mode(0o666))
                .tempfile_in(folder_of(path))
                .map_err(|error| match error.kind() {
                    ErrorKind::NotFound => {
                        io::Error::new(ErrorKind::NotFound, "its folder does not exist")
                    }
                    kind => io::Error::from(kind),
                }),
            Target::Existing(path) => {
                builder
                    .tempfile_in(folder_of(path))
                    .or_else(|error| match error.kind() {
                        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                            builder.tempfile()
                        }
                        kind => Err(io::Error::from(kind)),
                    })
            }
            Target::Stream(_) | Target::Descriptor(_) => builder.tempfile(),
        }
    }

    fn open_stream(&self) -> io::Result<File> {
        match self {
            Target::Descriptor(path) => OpenOptions::new().append(true).open(path),
            Target::New(path) | Target::Existing(path) | Target::Stream(path) => {
                OpenOptions::new().write(true).open(path)
            }
        }
    }

    /// Takes over a complete file.
    fn receive(&self, mut temporary: NamedTempFile) -> io::Result<()> {
        match self {
            Target::New(path) => temporary
                .persist(path)
                .map(drop)
                .map_err(|error| error.error),
            Target::Existing(path) => {
                // A file that would change its owner is written where it is.
                if !keep_owner_and_mode(temporary.as_file(), path)? {
                    return overwrite(&mut temporary, path);
                }
                match temporary.persist(path) {
                    Ok(_) => Ok(()),
                    // A mount of this one file, a folder whose files only their owners rename.
                    Err(mut error) => overwrite(&mut error.file, path),
                }
            }
            Target::Stream(_) | Target::Descriptor(_) => {
                temporary.rewind()?;
                io::copy(temporary.as_file_mut(), &mut self.open_stream()?).map(drop)
            }
        }
    }
}

/// Gives a new file the permissions and the owner of the one that it will replace. Returns `false` if this
/// process may not give it that owner.
fn keep_owner_and_mode(new: &File, path: &Path) -> io::Result<bool> {
    let (old, now) = (fs::metadata(path)?, new.metadata()?);
    if (old.uid(), old.gid()) != (now.uid(), now.gid())
        && fchown(new, Some(old.uid()), Some(old.gid())).is_err()
    {
        return Ok(false);
    }
    new.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
    Ok(true)
}

/// Writes a complete file over an existing one. The room is taken before anything is overwritten: on a full
/// disk the old content stays.
fn overwrite(new: &mut NamedTempFile, path: &Path) -> io::Result<()> {
    let mut old = OpenOptions::new().write(true).open(path)?;
    let before = old.metadata()?.len();
    let length = new.as_file().metadata()?.len();
    if length > 0
        && let Err(error) = fallocate(&old, FallocateFlags::empty(), 0, length)
        && error != rustix::io::Errno::OPNOTSUPP
    {
        old.set_len(before)?;
        return Err(error.into());
    }
    new.rewind()?;
    io::copy(new.as_file_mut(), &mut old)?;
    old.set_len(length)?;
    old.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Symbolic links that are followed at most, as by Linux.
const LINKS: usize = 40;

/// The path of a file that is not there, at the end of any symbolic links that lead to it.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = folder_of(&path).join(next),
            Err(_) if path.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                let why = "it is the name of a folder; name a file in it";
                return Err(io::Error::new(ErrorKind::IsADirectory, why));
            }
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other(
        "it is a symbolic link that leads back to itself",
    ))
}

/// Whether a path names an open descriptor of a process: `/dev/fd/N`, `/dev/stdout`, `/proc/PID/fd/N`.
fn is_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(folder) = fs::canonicalize(folder_of(&path)) else {
            return false;
        };
        if folder.starts_with("/proc") && folder.ends_with("fd") {
            return true;
        }
        match fs::read_link(&path) {
            Ok(next) => path = folder.join(next),
            Err(_) => return false,
        }
    }
    false
}
