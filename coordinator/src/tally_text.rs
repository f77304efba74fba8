//! A tally as three fields of text: cells, depths, digest.
//!
//! Cells and depths are `key:count` pairs joined by commas in ascending order of the key, or `-` where
//! there are none; the digest is 32 lower-case hexadecimal digits. There is one text for each tally.
//!
//! ```
//! use kazoe_coordinator::tally_text;
//! let text = "0:132,4:294\t0:292,1:2\t98b99c246fb9ecff4a84330331b32ba9";
//! assert_eq!(tally_text::write(&tally_text::parse(text).unwrap()), text);
//! ```

use std::collections::BTreeMap;
use std::fmt;

use kazoe_common::census::{Digest, Tally};

/// The three fields, separated by tabs.
#[must_use]
pub fn write(tally: &Tally) -> String {
    format!(
        "{}\t{}\t{}",
        counts_text(&tally.cells),
        counts_text(&tally.depths),
        tally.digest
    )
}

/// The tally that three fields separated by tabs say.
///
/// # Errors
/// The first field that is not the text of anything, by its name.
pub fn parse(text: &str) -> Result<Tally, TallyTextError> {
    let fields: Vec<&str> = text.split('\t').collect();
    match *fields.as_slice() {
        [cells, depths, digest] => fields_to_tally(cells, depths, digest),
        _ => Err(TallyTextError {
            field: "tally",
            found: text.to_owned(),
            expected: "three fields: cells, depths, digest",
        }),
    }
}

/// The tally that these three fields say.
///
/// # Errors
/// The first field that is not the text of anything, by its name.
pub fn fields_to_tally(cells: &str, depths: &str, digest: &str) -> Result<Tally, TallyTextError> {
    let plain = digest
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let digest = Some(digest)
        .filter(|_| plain)
        .and_then(|digest| digest.parse::<Digest>().ok())
        .ok_or_else(|| TallyTextError {
            field: "digest",
            found: digest.to_owned(),
            expected: "32 lower-case hexadecimal digits",
        })?;
    Ok(Tally {
        cells: counts("cells", cells)?,
        depths: counts("depths", depths)?,
        digest,
    })
}

fn counts_text(counts: &BTreeMap<u32, u64>) -> String {
    if counts.is_empty() {
        return "-".to_owned();
    }
    let pairs: Vec<String> = counts
        .iter()
        .map(|(key, count)| format!("{key}:{count}"))
        .collect();
    pairs.join(",")
}

fn counts(field: &'static str, text: &str) -> Result<BTreeMap<u32, u64>, TallyTextError> {
    let wrong = || TallyTextError {
        field,
        found: text.to_owned(),
        expected: "key:count pairs with ascending keys and counts of at least 1, or `-`",
    };
    let mut counts = BTreeMap::new();
    if text == "-" {
        return Ok(counts);
    }
    for pair in text.split(',') {
        let (key, count) = pair.split_once(':').ok_or_else(wrong)?;
        let key: u32 = number(key).ok_or_else(wrong)?;
        let count: u64 = number(count).filter(|&count| count > 0).ok_or_else(wrong)?;
        if counts
            .last_key_value()
            .is_some_and(|(&last, _)| last >= key)
        {
            return Err(wrong());
        }
        counts.insert(key, count);
    }
    Ok(counts)
}

/// An unsigned decimal number in its one spelling: no sign, no leading zero.
pub(crate) fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let spelled = !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    spelled.then(|| text.parse().ok()).flatten()
}

/// A field that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TallyTextError {
    /// Which field.
    pub field: &'static str,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: &'static str,
}

impl fmt::Display for TallyTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "field `{}` is `{}`, expected {}",
            self.field, self.found, self.expected
        )
    }
}

impl std::error::Error for TallyTextError {}
