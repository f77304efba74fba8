//! Intervals for the share of reachable positions, by three methods.
//!
//! In all of them an undecided sample counts as unreachable in the lower end and as reachable in
//! the upper end: the lower end is that of (n, r), the upper end that of (n, r + u). Each end grows
//! with the number of reachable samples, so whatever the undecided ones truly are, the interval
//! holds the one that full knowledge would have given.

mod anytime;
mod clopper_pearson;
mod normal;

pub use anytime::{ANYTIME_LEVEL, anytime_valid};
pub use clopper_pearson::clopper_pearson;
pub use normal::normal;

#[cfg(test)]
pub(super) use anytime::ln_wealth;

/// The confidence level of the intervals for a fixed number of samples: the mass of the normal
/// distribution within three standard deviations.
pub const LEVEL: f64 = 0.997_300_203_936_739_8;

/// 1 - [`LEVEL`], to full relative precision.
pub const ALPHA: f64 = 0.002_699_796_063_260_189;

/// An interval for a proportion, 0 <= `lower` <= `upper` <= 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl Share {
    /// All that a proportion can be: what no samples tell.
    pub const ALL: Share = Share {
        lower: 0.0,
        upper: 1.0,
    };

    /// Whether the proportion lies in the interval.
    #[must_use]
    pub fn contains(&self, share: f64) -> bool {
        (self.lower..=self.upper).contains(&share)
    }
}

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Three standard deviations of the normal approximation: the published kind.
    Normal,
    /// Clopper-Pearson at the same level.
    ClopperPearson,
    /// The confidence sequence that holds at all numbers of samples at once.
    AnytimeValid,
}

impl Method {
    /// All, in the order of a report.
    pub const ALL: [Method; 3] = [Method::Normal, Method::ClopperPearson, Method::AnytimeValid];

    /// The name on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Method::Normal => "normal",
            Method::ClopperPearson => "clopper_pearson",
            Method::AnytimeValid => "anytime_valid",
        }
    }

    /// What the interval promises, for people.
    #[must_use]
    pub const fn promise(self) -> &'static str {
        match self {
            Method::Normal => "3 sigma, normal, for a number of samples fixed beforehand",
            Method::ClopperPearson => {
                "99.73%, Clopper-Pearson, for a number of samples fixed beforehand"
            }
            Method::AnytimeValid => "99.73%, anytime-valid: holds whenever one stops",
        }
    }
}
