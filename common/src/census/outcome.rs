//! How one sample ends.

use std::fmt;

/// How one sample ends in the design `plain`; the number is its byte in a block's digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// Greater than its left-right mirror image.
    Mirrored = 0,
    /// Two unpromoted Pawns of one side on a file (nifu).
    TwoPawns = 1,
    /// A piece that can never move.
    Immobile = 2,
    /// The King of the side not to move is attacked.
    InCheck = 3,
    /// No sequence of legal moves leads here.
    Unreachable = 4,
    /// Some sequence of legal moves leads here.
    Reachable = 5,
    /// The search was stopped by the campaign's cap.
    Undecided = 6,
}

impl Outcome {
    /// All, by their byte.
    pub const ALL: [Outcome; 7] = [
        Outcome::Mirrored,
        Outcome::TwoPawns,
        Outcome::Immobile,
        Outcome::InCheck,
        Outcome::Unreachable,
        Outcome::Reachable,
        Outcome::Undecided,
    ];

    /// The name used on every surface: `two_pawns`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Mirrored => "mirrored",
            Outcome::TwoPawns => "two_pawns",
            Outcome::Immobile => "immobile",
            Outcome::InCheck => "in_check",
            Outcome::Unreachable => "unreachable",
            Outcome::Reachable => "reachable",
            Outcome::Undecided => "undecided",
        }
    }

    /// The outcome with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Outcome> {
        Outcome::ALL
            .into_iter()
            .find(|outcome| outcome.name() == name)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
