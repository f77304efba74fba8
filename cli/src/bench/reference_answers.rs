//! The stretch of blocks that is measured, and its answers.
//!
//! The stretch stands for a long campaign: 128 blocks, of which one, the first, has a witness search. One
//! search can be far from the others, and in shogi it is felt: so that a stretch costs about what it costs
//! on average, one was taken whose search is like the mean. It expands 149 positions, a little more than
//! the mean of 134 over the first 2,224 witnesses of the campaign with seed 1. In mini shogi the search is
//! too short to matter.

use kazoe_common::census::{Outcome, Tally, Witness};

/// A stretch of blocks and what must come out of it.
///
/// Origin. `docs/recheck.py`, which shares no code with Kazoe, computed `ranks` for both games, and for
/// mini shogi `outcomes`, `digest` and the head's counts but for the last (they are sums over what
/// `block minishogi 1 BLOCK --tsv` says; so they can be checked again). For shogi that takes hours: its
/// first 12 blocks were compared, the rest is Kazoe's own, equal on every arm. Kazoe's are also the
/// searches and the predecessors, which the tests compare with a plain twin.
#[derive(Debug)]
pub(super) struct Known {
    /// The game.
    pub(super) variant: &'static str,
    /// The first of the [`BLOCKS`] blocks.
    pub(super) first_block: u64,
    /// The sum of all ranks modulo 2^64.
    pub(super) ranks: u64,
    /// How many samples end so, by outcome.
    pub(super) outcomes: [u64; 7],
    /// The digest of the stretch.
    pub(super) digest: &'static str,
    /// Index, L and E of the one witness search.
    pub(super) path: (u64, u32, u32),
    /// The blocks from which single positions are taken.
    pub(super) head: Head,
    /// L and E, added up over the first reachable samples of the first [`SEARCHES`] blocks.
    pub(super) searches: (u64, u64),
}

/// The first blocks of a stretch.
#[derive(Debug)]
pub(super) struct Head {
    /// How many.
    pub(super) blocks: u64,
    /// How many samples the King filter rejects.
    pub(super) in_check: u64,
    /// How many samples are unreachable.
    pub(super) unreachable: u64,
    /// How many samples are reachable.
    pub(super) reachable: u64,
    /// How many of the unreachable have no predecessor.
    pub(super) without_predecessor: u64,
}

/// The campaigns' seed.
pub(super) const SEED: u64 = 1;

/// Blocks of a stretch.
pub(super) const BLOCKS: u64 = 128;

/// Blocks whose first reachable samples are searched.
pub(super) const SEARCHES: u64 = 32;

/// The known answers.
pub(super) const KNOWN: [Known; 2] = [
    Known {
        variant: "shogi",
        first_block: (1 << 20) + (1 << 13),
        ranks: 400_758_859_375_481_392,
        outcomes: [5785, 429_450, 69_207, 13_537, 1977, 4332, 0],
        digest: "bd89d82ae5325a9a24528ee11f920f07",
        path: (4_328_521_915, 125, 149),
        head: Head {
            blocks: 128,
            in_check: 13_537,
            unreachable: 1977,
            reachable: 4332,
            without_predecessor: 1977,
        },
        searches: (3694, 4166),
    },
    Known {
        variant: "minishogi",
        first_block: (1 << 20) + (1 << 13),
        ranks: 3_268_805_132_055_991_763,
        outcomes: [17_078, 9792, 89_718, 295_388, 34_702, 77_610, 0],
        digest: "22124789d49af5b7221e2f0793fa6b69",
        path: (4_328_521_753, 37, 102),
        head: Head {
            blocks: 16,
            in_check: 36_988,
            unreachable: 4372,
            reachable: 9553,
            without_predecessor: 4368,
        },
        searches: (866, 1193),
    },
];

impl Known {
    /// Samples that the funnel lets pass.
    pub(super) fn passed(&self) -> u64 {
        self.outcomes[Outcome::Unreachable as usize] + self.outcomes[Outcome::Reachable as usize]
    }

    /// Checks the stretch's tally and the paths among its witnesses.
    ///
    /// # Errors
    /// What differs.
    pub(super) fn check(&self, tally: &Tally, witnesses: &[Witness]) -> Result<(), String> {
        let outcomes = Outcome::ALL.map(|outcome| tally.of(outcome));
        expect("outcomes", &outcomes, &self.outcomes)?;
        expect("digest", tally.digest.to_string().as_str(), self.digest)?;
        let paths: Vec<_> = witnesses.iter().filter_map(path).collect();
        expect("witness search (index, L, E)", &paths[..], &[self.path][..])
    }
}

fn path(witness: &Witness) -> Option<(u64, u32, u32)> {
    match *witness {
        Witness::Path {
            index,
            length,
            expansions,
        } => Some((index, length, expansions)),
        Witness::Unreachable { .. } => None,
    }
}

/// Compares an answer with what is known.
///
/// # Errors
/// If they differ: both.
pub(super) fn expect<T: PartialEq + std::fmt::Debug + ?Sized>(
    what: &str,
    found: &T,
    known: &T,
) -> Result<(), String> {
    if found == known {
        Ok(())
    } else {
        Err(format!(
            "wrong result, {what}: {found:?}, expected {known:?}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use kazoe_common::census::{BLOCK, Digest};
    use kazoe_common::game::Variant;

    use super::*;

    #[test]
    fn the_table_agrees_with_itself() {
        for variant in Variant::ALL {
            let known = KNOWN.iter().find(|known| known.variant == variant.id);
            let known = known.expect("every game has known answers");
            assert_eq!(known.outcomes.iter().sum::<u64>(), BLOCKS * BLOCK);
            assert!(known.first_block.is_multiple_of(128) && known.first_block >= 1 << 20);
            assert_eq!(known.path.0 / BLOCK, known.first_block);
            assert!(known.head.blocks <= BLOCKS && SEARCHES <= BLOCKS);
            assert!(known.head.without_predecessor <= known.head.unreachable);
            if known.head.blocks == BLOCKS {
                let head = [
                    known.head.in_check,
                    known.head.unreachable,
                    known.head.reachable,
                ];
                assert_eq!(head, known.outcomes[3..6]);
            }
        }
    }

    #[test]
    fn whatever_differs_is_named() {
        let known = &KNOWN[0];
        let mut tally = Tally {
            digest: known.digest.parse().unwrap(),
            ..Tally::default()
        };
        for (cell, &count) in (0..).zip(&known.outcomes) {
            if count > 0 {
                tally.cells.insert(cell, count);
            }
        }
        let (index, length, expansions) = known.path;
        let path = Witness::Path {
            index,
            length,
            expansions,
        };
        let other = Witness::Unreachable { index: 1, depth: 1 };
        assert_eq!(known.check(&tally, &[other, path]), Ok(()));
        let wrong = |tally: &Tally, witnesses: &[Witness], what: &str| {
            let error = known.check(tally, witnesses).unwrap_err();
            assert!(
                error.starts_with(&format!("wrong result, {what}")),
                "{error}"
            );
        };
        wrong(&tally, &[], "witness");
        let mut cells = tally.clone();
        *cells.cells.get_mut(&1).unwrap() += 1;
        wrong(&cells, &[path], "outcomes");
        tally.digest = tally.digest.plus(Digest(1));
        wrong(&tally, &[path], "digest");
    }
}
