//! What was measured, before anyone knows how it is shown.

use std::time::Duration;

use kazoe_common::census::Arm;
use kazoe_common::game::Variant;

use super::interleave::Spread;
use super::reference_answers::Known;
use super::scaling::Scaling;

/// Some games on one machine.
#[derive(Debug)]
pub(crate) struct Findings {
    /// The arm in use.
    pub(crate) arm: Arm,
    /// How many threads were measured against one.
    pub(crate) threads: usize,
    /// The time that each stage had.
    pub(crate) time: Duration,
    /// The number of rounds that was asked for instead.
    pub(crate) rounds: Option<u32>,
    /// The games.
    pub(crate) games: Vec<Measured>,
}

/// One game. All its answers were as known.
#[derive(Debug)]
pub(crate) struct Measured {
    /// The game.
    pub(crate) variant: &'static Variant,
    /// The stretch of blocks.
    pub(super) known: &'static Known,
    /// The stages' figures, in order.
    pub(super) figures: Vec<Figure>,
    /// All threads against one, if that was asked for.
    pub(super) scaling: Option<Scaling>,
}

impl Measured {
    /// The digest of the stretch, where a part that was measured computed it.
    pub(super) fn digest(&self) -> Option<&'static str> {
        let pipeline = |figure: &Figure| figure.label.name == "pipeline";
        let computed = self.scaling.is_some() || self.figures.iter().any(pipeline);
        computed.then_some(self.known.digest)
    }
}

/// What one figure of a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// The name for programs: `verdict_p99`.
    pub(super) name: &'static str,
    /// The name for people.
    pub(super) words: &'static str,
    /// The arm, if it matters.
    pub(super) arm: Option<Arm>,
    /// What one of was timed: `sample` or `position`.
    pub(super) per: &'static str,
    /// `cpu` or `wall`.
    pub(super) clock: &'static str,
}

/// One figure of a stage: nanoseconds.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) label: Label,
    pub(super) spread: Spread,
}
