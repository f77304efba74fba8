//! A field that cannot be, and the checks of single fields.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use tonic::Status;

/// A field of a message that cannot be what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Its path in the message: `segments[3].tally.cells[1].count`.
    pub field: String,
    /// What is wrong.
    pub why: String,
}

impl Invalid {
    /// A field and what is wrong with it.
    #[must_use]
    pub fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Invalid {
            field: field.into(),
            why: why.into(),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field `{}`: {}", self.field, self.why)
    }
}

impl std::error::Error for Invalid {}

impl From<Invalid> for Status {
    fn from(invalid: Invalid) -> Self {
        Status::invalid_argument(invalid.to_string())
    }
}

/// A field that must be there.
pub(crate) fn present<T>(field: &str, value: Option<T>) -> Result<T, Invalid> {
    value.ok_or_else(|| Invalid::new(field, "missing"))
}

/// A number within bounds.
pub(crate) fn within<N>(field: &str, value: N, bounds: RangeInclusive<N>) -> Result<N, Invalid>
where
    N: PartialOrd + fmt::Display,
{
    if bounds.contains(&value) {
        Ok(value)
    } else {
        Err(Invalid::new(
            field,
            format!("{value} is outside {} to {}", bounds.start(), bounds.end()),
        ))
    }
}

/// A list whose length is within bounds.
pub(crate) fn length<T>(
    field: &str,
    list: &[T],
    bounds: RangeInclusive<usize>,
) -> Result<(), Invalid> {
    within(field, list.len(), bounds)
        .map(|_| ())
        .map_err(|invalid| Invalid::new(field, format!("its length {}", invalid.why)))
}

/// A text for people: one line, not too long.
pub(crate) fn text(
    field: &str,
    value: String,
    bounds: RangeInclusive<usize>,
) -> Result<String, Invalid> {
    length(field, value.as_bytes(), bounds)?;
    if value.chars().any(char::is_control) {
        return Err(Invalid::new(field, "it has a control character"));
    }
    Ok(value)
}

/// A word that names something: 1 to 64 letters, digits and hyphens.
pub(crate) fn word(field: &str, value: String) -> Result<String, Invalid> {
    length(field, value.as_bytes(), 1..=64)?;
    if !value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return Err(Invalid::new(
            field,
            "it has other characters than letters, digits and hyphens",
        ));
    }
    Ok(value)
}

/// What the number of an enumeration's variant means, if it means anything.
pub(crate) fn variant<E: TryFrom<i32>, T>(
    field: &str,
    number: i32,
    meaning: impl FnOnce(E) -> Option<T>,
) -> Result<T, Invalid> {
    E::try_from(number)
        .ok()
        .and_then(meaning)
        .ok_or_else(|| Invalid::new(field, format!("unknown enum value {number}")))
}

/// A duration in whole milliseconds.
pub(crate) fn duration(
    field: &str,
    millis: u32,
    bounds: RangeInclusive<u32>,
) -> Result<Duration, Invalid> {
    within(field, millis, bounds).map(|millis| Duration::from_millis(u64::from(millis)))
}

/// A duration as the wire says it, the longest if it is longer.
pub(crate) fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
