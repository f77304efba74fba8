//! Files of text, read as [`plain_text`] has it.

use std::path::Path;

use kazoe_coordinator::plain_text;

use crate::exit::Stop;

/// Reads a text without its byte order mark.
///
/// # Errors
/// If the file can't be read, or is in another encoding than UTF-8; names it.
pub(crate) fn read(path: &Path) -> Result<String, Stop> {
    let bytes = bytes_of(path)?;
    let text = plain_text::decode(&bytes).map_err(|encoding| wrong(path, encoding))?;
    Ok(text.to_owned())
}

/// Reads certificates or a key (PEM) without a byte order mark.
///
/// # Errors
/// If the file can't be read, or is UTF-16 or UTF-32; names it.
pub(crate) fn read_pem(path: &Path) -> Result<Vec<u8>, Stop> {
    let bytes = bytes_of(path)?;
    let text = plain_text::unmarked(&bytes).map_err(|encoding| wrong(path, encoding))?;
    Ok(text.to_vec())
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Stop> {
    std::fs::read(path).map_err(|error| wrong(path, error))
}

fn wrong(path: &Path, error: impl std::fmt::Display) -> Stop {
    Stop::failed(format_args!("{}: {error}", path.display()))
}
