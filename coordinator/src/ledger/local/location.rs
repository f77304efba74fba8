//! What a path of a database names, decided before any file is made or opened.

use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::open_error::OpenError;

/// A file on its device, under whatever name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) fn of(meta: &Metadata) -> Self {
        FileId {
            device: meta.dev(),
            inode: meta.ino(),
        }
    }
}

/// Where a database is, or will be.
#[derive(Debug)]
pub(super) struct Location {
    /// The path as it was given, made absolute. It may name a symbolic link.
    pub(super) given: PathBuf,
    /// The file's own path: SQLite keeps its log beside that.
    pub(super) real: PathBuf,
    /// Whether the file is there.
    pub(super) exists: bool,
}

impl Location {
    /// Finds the file that a path names.
    ///
    /// # Errors
    /// [`OpenError::NoFile`] if the path names anything but a file, [`OpenError::Linked`] if the file has
    /// several names, [`OpenError::Unreachable`] if the path cannot be followed.
    pub(super) fn find(path: &Path) -> Result<Self, OpenError> {
        let unreachable = |source| OpenError::Unreachable {
            path: path.to_owned(),
            source,
        };
        let no_file = |what: &str| OpenError::NoFile {
            path: path.to_owned(),
            what: what.to_owned(),
        };
        if let Some(scheme) = scheme(path) {
            // The rest may hold a password.
            return Err(OpenError::NoFile {
                path: PathBuf::from(format!("{scheme}...")),
                what: "an address, and --db takes the path of a file".to_owned(),
            });
        }
        if let Some(what) = no_path(path) {
            return Err(no_file(what));
        }
        let given = std::path::absolute(path).map_err(unreachable)?;
        let real = match fs::metadata(path) {
            Ok(meta) => {
                if let Some(what) = kind(meta.file_type()) {
                    return Err(no_file(what));
                }
                check_links(path, &meta)?;
                fs::canonicalize(path).map_err(unreachable)?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if let Ok(target) = fs::read_link(path) {
                    let what = format!(
                        "a symbolic link to `{}`, which does not exist",
                        target.display()
                    );
                    return Err(no_file(&what));
                }
                return Ok(Location {
                    real: missing(path).map_err(unreachable)?,
                    given,
                    exists: false,
                });
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory && ends_as_folder(path) => {
                return Err(no_file("a file, with a slash behind its name"));
            }
            Err(source) => return Err(unreachable(source)),
        };
        Ok(Location {
            given,
            real,
            exists: true,
        })
    }

    /// The path of a file that SQLite or Kazoe keeps beside the database.
    pub(super) fn beside(&self, suffix: &str) -> PathBuf {
        beside(&self.real, suffix)
    }
}

/// A path with a suffix behind its name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Refuses a file that has more than one name: SQLite finds its log by the name, so two names of one file
/// have two logs.
pub(super) fn check_links(path: &Path, meta: &Metadata) -> Result<(), OpenError> {
    if meta.nlink() > 1 {
        return Err(OpenError::Linked {
            path: path.to_owned(),
            links: meta.nlink(),
        });
    }
    Ok(())
}

/// The scheme of an address that SQLite would follow, or that names another kind of database.
fn scheme(path: &Path) -> Option<&'static str> {
    const SCHEMES: [&str; 6] = [
        "file:",
        "sqlite:",
        "postgres:",
        "postgresql:",
        "http:",
        "https:",
    ];
    let text = path.to_str()?.to_ascii_lowercase();
    SCHEMES.into_iter().find(|scheme| text.starts_with(scheme))
}

/// Says what a text is that SQLite or a user takes for a database, and that is no path of a file.
fn no_path(path: &Path) -> Option<&'static str> {
    let Some(text) = path.to_str() else {
        return Some("a name that is not UTF-8, which SQLite needs");
    };
    if text.is_empty() {
        return Some("an empty name");
    }
    if text == ":memory:" {
        return Some("SQLite's name for a database in memory, which is lost when the command ends");
    }
    if ends_as_folder(path) && !path.exists() {
        return Some("the name of a folder");
    }
    let companion = ["-wal", "-shm", "-journal", ".lock"]
        .iter()
        .filter_map(|suffix| text.strip_suffix(suffix))
        .any(|database| Path::new(database).is_file());
    companion.then_some("a file that belongs to the database beside it")
}

/// Whether a path's last part can only be a folder.
fn ends_as_folder(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

/// Says what kind of thing that is no file this is.
fn kind(file: FileType) -> Option<&'static str> {
    if file.is_file() {
        None
    } else if file.is_dir() {
        Some("a folder")
    } else if file.is_fifo() {
        Some("a pipe")
    } else if file.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

/// The real path that a file will have.
fn missing(path: &Path) -> io::Result<PathBuf> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_else(|| OsStr::new(""));
    Ok(fs::canonicalize(folder)?.join(name))
}
