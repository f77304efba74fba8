//! Plain text as editors and shells save it: UTF-8, with or without a byte order mark, its lines ended by LF or
//! CR LF.
//!
//! Every text that Kazoe reads goes through here: ledger files, lines of standard input, settings, tokens,
//! addresses and certificates.

use std::fmt;

/// The byte order mark in UTF-8; Windows' editors put it before a text.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Why bytes are no plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// They are UTF-16, with or without a byte order mark.
    Utf16,
    /// They are UTF-32 with a byte order mark.
    Utf32,
    /// They are not UTF-8 at this byte, counted from 1.
    NotUtf8(usize),
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Encoding::Utf16 => write!(f, "this is UTF-16 text: save it as UTF-8"),
            Encoding::Utf32 => write!(f, "this is UTF-32 text: save it as UTF-8"),
            Encoding::NotUtf8(byte) => {
                write!(f, "byte {byte} is not UTF-8: save the text as UTF-8")
            }
        }
    }
}

impl std::error::Error for Encoding {}

/// Returns the bytes of a text without its byte order mark.
///
/// # Errors
/// If the first bytes are those of UTF-16 or UTF-32. Text begins with no NUL, and UTF-16 has one in the first
/// two bytes of every text that begins in ASCII.
pub fn unmarked(bytes: &[u8]) -> Result<&[u8], Encoding> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Err(Encoding::Utf32),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 1..=255, ..] | [1..=255, 0, ..] => {
            Err(Encoding::Utf16)
        }
        _ => Ok(bytes.strip_prefix(MARK).unwrap_or(bytes)),
    }
}

/// Returns a whole text without its byte order mark; its lines keep their ends.
///
/// # Errors
/// If it is in another encoding than UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, Encoding> {
    let bytes = unmarked(bytes)?;
    std::str::from_utf8(bytes).map_err(|error| Encoding::NotUtf8(error.valid_up_to() + 1))
}

/// Returns the bytes of a line, which was split off at its LF, without the CR before that and without a byte
/// order mark: one stands at the beginning of every file of several that were concatenated.
#[must_use]
pub fn line(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_loses_its_mark_alone() {
        assert_eq!(decode(b""), Ok(""));
        assert_eq!(decode("\u{feff}a\r\nb".as_bytes()), Ok("a\r\nb"));
        assert_eq!(decode("\u{feff}".as_bytes()), Ok(""));
        assert_eq!(decode(b"ab\xff"), Err(Encoding::NotUtf8(3)));
    }

    #[test]
    fn other_encodings_are_told_by_their_first_bytes() {
        let low: Vec<u8> = "\u{feff}ab"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let high: Vec<u8> = "\u{feff}ab"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        for bytes in [&low[..], &low[2..], &high, &high[2..], &low[..2]] {
            assert_eq!(unmarked(bytes), Err(Encoding::Utf16), "{bytes:?}");
        }
        assert_eq!(unmarked(b"\xff\xfe\0\0a\0\0\0"), Err(Encoding::Utf32));
        assert_eq!(unmarked(b"\0\0\xfe\xff\0\0\0a"), Err(Encoding::Utf32));
    }

    #[test]
    fn a_line_loses_what_stands_around_it() {
        for (bytes, text) in [
            (&b"a\r"[..], &b"a"[..]),
            (b"a\r\r", b"a\r"),
            (b"\xef\xbb\xbfa", b"a"),
            (b"\xef\xbb\xbf\r", b""),
            (b" a ", b" a "),
            (b"\r", b""),
        ] {
            assert_eq!(line(bytes), text);
        }
    }
}
