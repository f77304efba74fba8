//! The funnel: from a block's ranks to the few positions that need a verdict, as fast as can be.
//!
//! Nineteen of twenty shogi samples end at two Pawns on a file or at a piece that cannot move. So a
//! sample is unranked only as far as its fate needs: the stages below do for a batch of samples at a
//! time what the next filter asks, and drop what it rejects. Each stage is a loop without unforeseeable
//! branches over independent samples, which keeps the processor's arithmetic units busy while single
//! results are awaited.
//!
//! The plain computation (unrank, then the local rules one by one) is the twin that the tests compare
//! with; the funnel itself takes it for the rare samples that its tables leave out.

mod arm;
mod boards;
mod categories;
mod combinations;
mod cuts;
mod division;
mod few;
mod files;
mod kinds;
mod kings;
mod lanes;
mod layout;
mod many;
mod stages;
mod trail;

pub use arm::Arm;

use arm::{Instructions, Portable};
use boards::Board;
use kinds::{KindTable, Kinds};
use kings::Kings;
use lanes::{BATCH, Lane, Samples};
use layout::Layout;
use stages::{enter, place, place_apart, stand, take_few, take_kings, take_many, take_word};

use super::campaign::BLOCK;
use super::filters::rejection;
use super::outcome::Outcome;
use crate::game::{Bits, Position, Rules};
use crate::population::{Candidates, Rank, Sampler};

/// A kind's last two groups: Black's and White's unpromoted pieces.
const BLACK: usize = 2;
const WHITE: usize = 3;

/// The funnel of one variant. Shared by all threads; it holds tables only.
#[derive(Clone, Debug)]
pub struct Funnel<B> {
    rules: Rules<B>,
    candidates: Candidates,
    arm: Arm,
    /// `None` if the variant's numbers do not fit the tables: all samples take the plain way.
    tables: Option<Tables<B>>,
}

#[derive(Clone, Debug)]
struct Tables<B> {
    layout: Layout,
    kings: Kings<B>,
    kinds: Kinds<B>,
}

/// The samples that are on their way together. Each thread has one.
struct Batch<B> {
    lanes: [Lane; BATCH],
    /// By lane; of those that come so far.
    boards: [Board<B>; BATCH],
}

impl<B: Bits> Batch<B> {
    const NEW: Self = Batch {
        lanes: [Lane::NEW; BATCH],
        boards: [Board::NEW; BATCH],
    };
}

impl<B: Bits> Funnel<B> {
    /// Computes the tables, for the best arm that this machine has.
    ///
    /// # Panics
    /// If the rules and the candidates are not of one variant.
    #[must_use]
    pub fn new(rules: Rules<B>, candidates: Candidates) -> Self {
        Self::with_arm(rules, candidates, Arm::detect())
    }

    /// The same for a chosen arm.
    ///
    /// # Panics
    /// If this machine cannot run the arm, or the rules and the candidates are not of one variant.
    #[must_use]
    pub fn with_arm(rules: Rules<B>, candidates: Candidates, arm: Arm) -> Self {
        assert!(arm.runs_here(), "this machine cannot run the arm {arm}");
        assert_eq!(rules.variant(), candidates.variant(), "one variant");
        let tables = Layout::new(&candidates).and_then(|layout| {
            Some(Tables {
                kinds: Kinds::new(&rules, &candidates, &layout)?,
                kings: Kings::new(&rules, &candidates),
                layout,
            })
        });
        Funnel {
            rules,
            candidates,
            arm,
            tables,
        }
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &Rules<B> {
        &self.rules
    }

    /// The population.
    #[must_use]
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// The arm in use.
    #[must_use]
    pub fn arm(&self) -> Arm {
        self.arm
    }

    /// Writes the outcome byte of each of the block's first samples; `verdict` is asked, in ascending
    /// order of the samples' numbers in the block, about those that pass all filters.
    ///
    /// # Panics
    /// If `outcomes` is longer than a block.
    pub fn block(
        &self,
        sampler: &Sampler,
        block: u64,
        outcomes: &mut [u8],
        mut verdict: impl FnMut(usize, &Position<B>) -> Outcome,
    ) {
        assert!(
            outcomes.len() as u64 <= BLOCK,
            "a block has {BLOCK} samples"
        );
        let mut batch = Batch::NEW;
        let mut draws = sampler.ranks_of(block);
        let mut done = 0;
        while done < outcomes.len() {
            let ranks = draws.next_batch();
            let ranks = &ranks[..ranks.len().min(outcomes.len() - done)];
            let outcomes = &mut outcomes[done..done + ranks.len()];
            self.batch(&mut batch, ranks, outcomes, &mut |sample, position| {
                verdict(done + sample, position)
            });
            done += ranks.len();
        }
    }

    /// Writes the outcome bytes of any ranks of the population, likewise.
    ///
    /// # Panics
    /// If there are not as many outcomes as ranks, or a rank is out of range.
    pub fn ranks(
        &self,
        ranks: &[Rank],
        outcomes: &mut [u8],
        mut verdict: impl FnMut(usize, &Position<B>) -> Outcome,
    ) {
        assert_eq!(ranks.len(), outcomes.len(), "one outcome a rank");
        let mut batch = Batch::NEW;
        let mut done = 0;
        for (ranks, outcomes) in ranks.chunks(BATCH).zip(outcomes.chunks_mut(BATCH)) {
            self.batch(&mut batch, ranks, outcomes, &mut |sample, position| {
                verdict(done + sample, position)
            });
            done += ranks.len();
        }
    }

    /// One batch of ranks.
    fn batch(
        &self,
        batch: &mut Batch<B>,
        ranks: &[Rank],
        outcomes: &mut [u8],
        verdict: &mut impl FnMut(usize, &Position<B>) -> Outcome,
    ) {
        match (&self.tables, self.arm) {
            (None, _) => {
                for (sample, (&rank, outcome)) in ranks.iter().zip(outcomes).enumerate() {
                    *outcome = self.plain(rank, |position| verdict(sample, position)) as u8;
                }
            }
            (Some(tables), Arm::Portable) => {
                self.stages::<Portable>(tables, batch, ranks, outcomes, verdict);
            }
            #[cfg(target_arch = "x86_64")]
            (Some(tables), Arm::Avx2Bmi2) => {
                // SAFETY: a funnel with this arm exists only where the machine has its instructions.
                unsafe { self.stages_avx2_bmi2(tables, batch, ranks, outcomes, verdict) }
            }
            #[cfg(not(target_arch = "x86_64"))]
            (Some(_), Arm::Avx2Bmi2) => unreachable!("no funnel has an arm that cannot run"),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn stages_avx2_bmi2(
        &self,
        tables: &Tables<B>,
        batch: &mut Batch<B>,
        ranks: &[Rank],
        outcomes: &mut [u8],
        verdict: &mut impl FnMut(usize, &Position<B>) -> Outcome,
    ) {
        self.stages::<arm::Bmi2>(tables, batch, ranks, outcomes, verdict);
    }

    /// The plain way: unrank the position, then ask one local rule after the other.
    fn plain(&self, rank: Rank, verdict: impl FnOnce(&Position<B>) -> Outcome) -> Outcome {
        let position = self.candidates.unrank(rank);
        let position = position.expect("the ranks of a block lie in the population");
        rejection(&self.rules, &position).unwrap_or_else(|| verdict(&position))
    }

    /// The stages, in order.
    #[inline(always)]
    fn stages<I: Instructions>(
        &self,
        tables: &Tables<B>,
        Batch { lanes, boards }: &mut Batch<B>,
        ranks: &[Rank],
        outcomes: &mut [u8],
        verdict: &mut impl FnMut(usize, &Position<B>) -> Outcome,
    ) {
        let Tables {
            layout,
            kings,
            kinds,
        } = tables;

        // The rank as words.
        let mut alive = I::apart(|| enter(layout, ranks, lanes));
        let mut plain = Samples::first(ranks.len()).without(alive);
        for (cut, &limbs) in layout.cut_limbs.iter().enumerate() {
            let lanes = &mut lanes[..ranks.len()];
            match limbs {
                1 => I::apart(|| take_word::<1>(layout, cut, lanes)),
                2 => I::apart(|| take_word::<2>(layout, cut, lanes)),
                3 => I::apart(|| take_word::<3>(layout, cut, lanes)),
                _ => I::apart(|| take_word::<4>(layout, cut, lanes)),
            }
        }
        let mut central = I::apart(|| take_kings(layout, kings, lanes, alive));

        // Kind by kind which places are taken, until the last Pawn stands.
        for kind in kinds.until_pawns() {
            tables.take::<I>(kind, lanes, alive);
            // Only where both Kings stand on the central file can a sample be mirrored.
            for i in std::mem::take(&mut central).iter() {
                match self.is_canonical::<I>(tables, &lanes[i]) {
                    Some(true) => continue,
                    Some(false) => outcomes[i] = Outcome::Mirrored as u8,
                    None => plain.insert_if(true, i),
                }
                alive.remove(i);
            }
            if let Some(limit) = &kind.file_limit {
                alive.mark(outcomes, Outcome::TwoPawns);
                I::apart(|| I::count(&mut lanes[..ranks.len().next_multiple_of(2)]));
                for group in [BLACK, WHITE] {
                    alive = I::apart(|| place_apart(kinds, kind, group, limit, lanes, alive));
                }
            }
        }

        // Kind by kind which squares, and whether all pieces can move there.
        alive.mark(outcomes, Outcome::Immobile);
        for i in alive.iter() {
            boards[i].seat(kings, &lanes[i]);
        }
        for kind in kinds.until_pawns() {
            alive = I::apart(|| stand::<B, I>(kinds, kind, lanes, boards, alive));
        }
        for kind in kinds.after_pawns() {
            tables.take::<I>(kind, lanes, alive);
            alive = I::apart(|| stand::<B, I>(kinds, kind, lanes, boards, alive));
        }

        // The few that are left, one by one; in order, those for the plain way among them.
        for i in alive.with(plain).iter() {
            let mut ask = |position: &Position<B>| verdict(i, position);
            let outcome = if plain.holds(i) {
                self.plain(ranks[i], ask)
            } else {
                match self.position(&lanes[i], &boards[i]) {
                    Some(position) => ask(&position),
                    None => Outcome::InCheck,
                }
            };
            outcomes[i] = outcome as u8;
        }
    }

    /// Whether a sample with both Kings on the central file is canonical, if its first kind tells.
    #[inline(always)]
    fn is_canonical<I: Instructions>(&self, tables: &Tables<B>, lane: &Lane) -> Option<bool> {
        let kind = tables.kinds.deciding()?;
        let mut board = Board::NEW;
        board.seat(&tables.kings, lane);
        board.stand::<I>(&tables.kinds, kind, lane);
        for set in board.groups(kind) {
            let own = set.reversed();
            let difference = own ^ self.rules.flipped(own);
            if !difference.is_empty() {
                return Some(own.has(difference.first()));
            }
        }
        None
    }
}

impl<B: Bits> Tables<B> {
    /// Takes a kind's digit off the words, and places its groups but those that a file may not hold many of.
    #[inline(always)]
    fn take<I: Instructions>(
        &self,
        kind: &KindTable<B>,
        lanes: &mut [Lane; BATCH],
        samples: Samples,
    ) {
        let kinds = &self.kinds;
        match (kind.many, kind.first_group, kind.file_limit.is_some()) {
            (false, 0, false) => I::apart(|| take_few::<B, 0, 4>(kinds, kind, lanes, samples)),
            (false, 0, true) => I::apart(|| take_few::<B, 0, 2>(kinds, kind, lanes, samples)),
            (false, _, false) => I::apart(|| take_few::<B, 2, 4>(kinds, kind, lanes, samples)),
            (false, _, true) => I::apart(|| take_few::<B, 2, 2>(kinds, kind, lanes, samples)),
            (true, first, limited) => {
                I::apart(|| take_many(kinds, kind, lanes, samples));
                for group in first..if limited { BLACK } else { 4 } {
                    I::apart(|| place(kinds, kind, group, lanes, samples));
                }
            }
        }
    }
}
