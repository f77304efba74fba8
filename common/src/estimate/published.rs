//! What others found, as data: figures to reproduce, never to tune to.
//!
//! Shogi: Ishii and Tanaka's experiment with 5,000,000,000 samples and its preliminary one; mini
//! shogi: theirs with 100,000,000 samples, of which this table has the reachable count alone. Their
//! Table 1 has rows for the other stages of mini shogi too, whose figures were not at hand: those
//! stages stand against an independent check of this project's own, which its [`Source`] says
//! wherever it is shown.

use super::figures::Stage;
use crate::game::Variant;

/// Who found a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A published experiment.
    Published,
    /// This project's own check by an independent program, where no published figure is at hand.
    OwnCheck,
}

impl Source {
    /// The name on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Source::Published => "published",
            Source::OwnCheck => "own_check",
        }
    }

    /// The name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Source::Published => "published",
            Source::OwnCheck => "our own check",
        }
    }
}

/// The figures of one experiment: uniform samples of the population `candidates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Who did it.
    pub source: Source,
    /// How many samples it took.
    pub samples: u64,
    /// How many samples passed each stage and all before it, in the order of [`Stage::ALL`];
    /// `None` where that is not known.
    pub passed: [Option<u64>; Stage::ALL.len()],
    /// How many unreachable samples can be traced back 0, 1, 2, ... plies; empty where that is not
    /// known.
    pub depths: &'static [u64],
    /// The estimate that its authors published; `None` where they published none.
    pub estimate: Option<PrintedEstimate>,
}

/// A published estimate, as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintedEstimate {
    /// The authors.
    pub authors: &'static str,
    /// The number with a position and its left-right mirror image counted once, Black to move.
    pub folded: Printed,
    /// The number with mirror images counted separately; `None` where it is not published.
    pub unfolded: Option<Printed>,
}

/// A printed number of positions in scientific notation: `6.55e68`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The estimate.
    pub estimate: &'static str,
    /// The ends of its interval of three standard deviations, lower and upper; `None` where no
    /// interval is published.
    pub interval: Option<[&'static str; 2]>,
}

impl Experiment {
    /// How many samples passed the stage and all before it, where known.
    #[must_use]
    pub const fn passed(&self, stage: Stage) -> Option<u64> {
        self.passed[stage as usize]
    }
}

/// Published figures of the search itself, as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchFigures {
    /// The median of E/L.
    pub ratio_median: &'static str,
    /// The 95th percentile of E/L.
    pub ratio_p95: &'static str,
    /// The greatest E/L.
    pub ratio_max: &'static str,
    /// The least and greatest L, where published.
    pub lengths: Option<&'static str>,
}

/// What is known of a variant: the experiments, those to compare with first standing first, and
/// the search's figures. Empty for a variant that nobody has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The experiments.
    pub experiments: &'static [Experiment],
    /// The figures of the published search, L the positions on the path found and E those taken
    /// from the open list.
    pub search: Option<SearchFigures>,
    /// Which published figures are missing here although they exist, in a sentence without its full
    /// stop; `None` where none is known to be missing.
    pub not_at_hand: Option<&'static str>,
}

impl Published {
    /// What is known of the variant.
    #[must_use]
    pub fn of(variant: &Variant) -> Self {
        TABLE
            .iter()
            .find(|(id, _)| *id == variant.id)
            .map_or(NOTHING, |&(_, published)| published)
    }

    /// The first experiment with a figure for the stage, and that figure.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> Option<(&'static Experiment, u64)> {
        self.experiments
            .iter()
            .find_map(|experiment| Some((experiment, experiment.passed(stage)?)))
    }

    /// The first experiment with a published estimate, and that estimate.
    #[must_use]
    pub fn estimate(&self) -> Option<(&'static Experiment, PrintedEstimate)> {
        self.experiments
            .iter()
            .find_map(|experiment| Some((experiment, experiment.estimate?)))
    }

    /// The first experiment with figures for the depths.
    #[must_use]
    pub fn depths(&self) -> Option<&'static Experiment> {
        self.experiments
            .iter()
            .find(|experiment| !experiment.depths.is_empty())
    }
}

/// The constant p0 that centres the anytime-valid interval: the variant's published share, else
/// one half.
#[must_use]
pub fn centre(variant: &Variant) -> (u64, u64) {
    variant.published_share.unwrap_or((1, 2))
}

const NOTHING: Published = Published {
    experiments: &[],
    search: None,
    not_at_hand: None,
};

const TABLE: [(&str, Published); 2] = [("shogi", SHOGI), ("minishogi", MINISHOGI)];

const ISHII_AND_TANAKA: &str = "Ishii and Tanaka";

const SHOGI: Published = Published {
    experiments: &[
        Experiment {
            source: Source::Published,
            samples: 5_000_000_000,
            passed: [
                Some(4_945_063_843),
                None,
                Some(187_220_063),
                Some(58_981_117),
                Some(40_491_613),
            ],
            depths: &[18_488_938, 480, 83, 3],
            estimate: Some(PrintedEstimate {
                authors: ISHII_AND_TANAKA,
                folded: Printed {
                    estimate: "6.55e68",
                    interval: Some(["6.546923e68", "6.553074e68"]),
                },
                unfolded: Some(Printed {
                    estimate: "1.31e69",
                    interval: None,
                }),
            }),
        },
        Experiment {
            source: Source::Published,
            samples: 1_000_000,
            passed: [Some(989_054), None, Some(37_417), Some(11_760), Some(8_083)],
            depths: &[3_677],
            estimate: None,
        },
    ],
    search: Some(SearchFigures {
        ratio_median: "1.07",
        ratio_p95: "1.43",
        ratio_max: "< 3",
        lengths: Some("about 60 to 215"),
    }),
    not_at_hand: None,
};

const MINISHOGI: Published = Published {
    experiments: &[
        Experiment {
            source: Source::Published,
            samples: 100_000_000,
            passed: [None, None, None, None, Some(14_849_198)],
            depths: &[],
            // Printed as (2.3780 +- 0.0017)e18.
            estimate: Some(PrintedEstimate {
                authors: ISHII_AND_TANAKA,
                folded: Printed {
                    estimate: "2.3780e18",
                    interval: Some(["2.3763e18", "2.3797e18"]),
                },
                unfolded: None,
            }),
        },
        Experiment {
            source: Source::OwnCheck,
            samples: 1_000_000,
            passed: [
                Some(967_784),
                Some(949_200),
                Some(778_731),
                Some(215_609),
                Some(149_000),
            ],
            depths: &[66_543, 40, 23, 1, 2],
            estimate: None,
        },
    ],
    search: Some(SearchFigures {
        ratio_median: "1.06",
        ratio_p95: "2.28",
        ratio_max: "14.3",
        lengths: None,
    }),
    not_at_hand: Some(
        "Ishii and Tanaka's Table 1 has rows for mini shogi, whose figures were not at hand",
    ),
};
