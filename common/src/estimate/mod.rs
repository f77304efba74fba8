//! Estimates: from a prefix's tally and the population's size to numbers.
//!
//! Sizes, estimates and the ends of their intervals stay exact, as integers or ratios of integers,
//! until [`numerals`] prints them; a float is only ever an end of an interval for a proportion, or
//! a z-score. Nothing here knows a terminal: [`Report`] holds what a report says, and who prints
//! it decides how it looks.
//!
//! The published experiment, put through the same arithmetic, gives the published interval:
//!
//! ```
//! use kazoe_common::estimate::{Counts, normal, numerals, scaled};
//! use num_bigint::BigUint;
//!
//! let size: BigUint =
//!     "80880932079767835177773204009328769812438521503800714936366945233084532".parse().unwrap();
//! let counts = Counts { samples: 5_000_000_000, reachable: 40_491_613, undecided: 0 };
//! let estimate = counts.estimate(&size).unwrap();
//! let interval = scaled(&normal(&counts), &size);
//!
//! assert_eq!(numerals::nearest(&estimate, 3), "6.55e68");
//! assert_eq!(numerals::interval(&interval, 2), "6.5469e68 to 6.5531e68");
//! ```

mod agreement;
mod audit;
mod beta;
mod counts;
mod figures;
mod intervals;
pub mod numerals;
pub mod published;
mod report;
mod running;

pub use agreement::{AGREES_BELOW, Beside, Comparison, Verdict, two_proportion_z};
pub use audit::{AuditBound, largest_wrong_share};
pub use counts::{Counts, Interval, scaled, unfolded};
pub use figures::{DepthRow, FunnelRow, PathFigures, Stage};
pub use intervals::{
    ALPHA, ANYTIME_LEVEL, LEVEL, Method, Share, anytime_valid, clopper_pearson, normal,
};
pub use report::{Estimates, Folding, Report};
pub use running::Running;

#[cfg(test)]
mod tests;
