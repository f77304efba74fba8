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
mod categories;
mod combinations;
mod cuts;
mod division;
mod files;
mod kinds;
mod lanes;
mod layout;

pub use arm::Arm;

use arm::{Deposit, Portable};
use kinds::{Groups, KindTable, Kinds};
use lanes::{BATCH, Lane, List, filter, take_kind, take_word};
use layout::Layout;

use super::campaign::BLOCK;
use super::outcome::Outcome;
use crate::game::{Bits, KINDS, Position, Rules, Side};
use crate::population::{Candidates, GROUPS, Rank, Sampler};

/// The numbers of a kind's last two groups: Black's and White's unpromoted pieces.
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
    kinds: Kinds<B>,
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
            let kinds = Kinds::new(&rules, &candidates, &layout)?;
            Some(Tables { layout, kinds })
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
        let mut lanes = [Lane::NEW; BATCH];
        let mut draws = sampler.ranks_of(block);
        let mut done = 0;
        while done < outcomes.len() {
            let ranks = draws.next_batch();
            let ranks = &ranks[..ranks.len().min(outcomes.len() - done)];
            let outcomes = &mut outcomes[done..done + ranks.len()];
            self.batch(&mut lanes, ranks, outcomes, &mut |sample, position| {
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
        let mut lanes = [Lane::NEW; BATCH];
        let mut done = 0;
        for (ranks, outcomes) in ranks.chunks(BATCH).zip(outcomes.chunks_mut(BATCH)) {
            self.batch(&mut lanes, ranks, outcomes, &mut |sample, position| {
                verdict(done + sample, position)
            });
            done += ranks.len();
        }
    }

    /// One batch of ranks.
    fn batch(
        &self,
        lanes: &mut [Lane; BATCH],
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
                self.stages::<Portable>(tables, lanes, ranks, outcomes, verdict);
            }
            #[cfg(target_arch = "x86_64")]
            (Some(tables), Arm::Avx2Bmi2) => {
                // SAFETY: a funnel with this arm exists only where the machine has its instructions.
                unsafe { self.stages_avx2_bmi2(tables, lanes, ranks, outcomes, verdict) }
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
        lanes: &mut [Lane; BATCH],
        ranks: &[Rank],
        outcomes: &mut [u8],
        verdict: &mut impl FnMut(usize, &Position<B>) -> Outcome,
    ) {
        self.stages::<arm::Bmi2>(tables, lanes, ranks, outcomes, verdict);
    }

    /// The plain way: unrank the position, then ask one local rule after the other.
    fn plain(&self, rank: Rank, verdict: impl FnOnce(&Position<B>) -> Outcome) -> Outcome {
        let position = self.candidates.unrank(rank);
        let position = position.expect("the ranks of a block lie in the population");
        if !self.rules.is_canonical(&position) {
            Outcome::Mirrored
        } else if self.rules.has_two_pawns(&position) {
            Outcome::TwoPawns
        } else if self.rules.has_immobile(&position) {
            Outcome::Immobile
        } else if self.rules.in_check(&position, position.turn().other()) {
            Outcome::InCheck
        } else {
            verdict(&position)
        }
    }

    /// The stages, in order.
    #[inline(always)]
    fn stages<D: Deposit>(
        &self,
        tables: &Tables<B>,
        lanes: &mut [Lane; BATCH],
        ranks: &[Rank],
        outcomes: &mut [u8],
        verdict: &mut impl FnMut(usize, &Position<B>) -> Outcome,
    ) {
        let Tables { layout, kinds } = tables;
        let mut plain = List::NEW;
        let mut alive = List::NEW;
        let mut central = List::NEW;

        // The rank as words.
        D::apart(|| {
            for (i, (lane, &rank)) in lanes.iter_mut().zip(ranks).enumerate() {
                let (section, rest) = layout.locate(rank);
                let fits = layout.section(section).fits;
                plain.push_if(!fits, i);
                alive.push_if(fits, i);
                lane.enter(layout, section, rest);
            }
        });
        for (cut, &limbs) in layout.cut_limbs.iter().enumerate() {
            match limbs {
                1 => D::apart(|| take_word::<1>(layout, cut, &mut lanes[..ranks.len()])),
                2 => D::apart(|| take_word::<2>(layout, cut, &mut lanes[..ranks.len()])),
                3 => D::apart(|| take_word::<3>(layout, cut, &mut lanes[..ranks.len()])),
                _ => D::apart(|| take_word::<4>(layout, cut, &mut lanes[..ranks.len()])),
            }
        }

        // The Kings.
        D::apart(|| {
            for i in alive.iter() {
                central.push_if(tables.seat_kings(&mut lanes[i]), i);
            }
        });

        // Kind by kind how many squares of each file are taken, until the last Pawn stands.
        for (number, kind) in kinds.until_pawns().iter().enumerate() {
            match (kind.wide, kind.first_group) {
                (true, _) => D::apart(|| take_kind::<_, true, 0>(kinds, kind, lanes, &alive)),
                (false, 0) => D::apart(|| take_kind::<_, false, 0>(kinds, kind, lanes, &alive)),
                (false, _) => D::apart(|| take_kind::<_, false, 2>(kinds, kind, lanes, &alive)),
            }
            // Only where both Kings stand on the central file can a sample be mirrored.
            for i in central.iter().filter(|_| number == 0) {
                match self.is_canonical::<D>(tables, &lanes[i]) {
                    Some(true) => continue,
                    Some(false) => outcomes[i] = Outcome::Mirrored as u8,
                    None => plain.push_if(true, i),
                }
                alive.retain(|other| other != i);
            }
            let Some(limit) = kind.file_limit else {
                continue;
            };
            for i in alive.iter() {
                outcomes[i] = Outcome::TwoPawns as u8;
            }
            if kind.wide {
                D::apart(|| filter::<_, true, 0, BLACK>(kinds, kind, &limit, lanes, &mut alive));
                D::apart(|| {
                    filter::<_, true, WHITE, WHITE>(kinds, kind, &limit, lanes, &mut alive);
                });
            } else {
                D::apart(|| filter::<_, false, 0, BLACK>(kinds, kind, &limit, lanes, &mut alive));
                D::apart(|| {
                    filter::<_, false, WHITE, WHITE>(kinds, kind, &limit, lanes, &mut alive);
                });
            }
        }

        // The few that are left, one by one; in order, those for the plain way among them.
        alive.merge(&plain);
        for i in alive.iter() {
            let mut ask = |position: &Position<B>| verdict(i, position);
            let outcome = if plain.holds(i) {
                self.plain(ranks[i], ask)
            } else {
                match self.settle::<D>(tables, &mut lanes[i]) {
                    Ok(position) => ask(&position),
                    Err(outcome) => outcome,
                }
            };
            outcomes[i] = outcome as u8;
        }
    }

    /// Whether a sample with both Kings on the central file is canonical, if its first kind tells.
    #[inline(always)]
    fn is_canonical<D: Deposit>(&self, tables: &Tables<B>, lane: &Lane) -> Option<bool> {
        let kinds = &tables.kinds;
        let kind = kinds.all().first().filter(|_| kinds.first_decides())?;
        let (_, mut empty) = kinds.board_with(kinds.king_pair(lane.kings));
        for number in kind.numbers() {
            let set = kinds.squares::<D>(&lane.groups[kind.kind % KINDS], number, empty);
            empty ^= set;
            let own = set.reversed();
            let difference = own ^ self.rules.flipped(own);
            if !difference.is_empty() {
                return Some(own.has(difference.first()));
            }
        }
        None
    }

    /// Places all pieces of a sample that passed the first filters, now with owner and kind, and asks
    /// the other ones.
    ///
    /// The position is built turned by 180 degrees with the players exchanged, as the sets come; only
    /// one that passes is turned back.
    #[inline(always)]
    fn settle<D: Deposit>(
        &self,
        tables: &Tables<B>,
        lane: &mut Lane,
    ) -> Result<Position<B>, Outcome> {
        let Tables { layout, kinds } = tables;
        let (kings, mut empty) = kinds.board_with(kinds.king_pair(lane.kings));
        let mut sets = [[B::EMPTY; 4]; KINDS];
        let mut place = |kind: &KindTable<B>, groups: &Groups| {
            let sets = &mut sets[kind.kind];
            for number in kind.numbers() {
                sets[number] = kinds.squares::<D>(groups, number, empty);
                empty ^= sets[number];
            }
            (sets[2] & kind.immobile[0] | sets[3] & kind.immobile[1]).is_empty()
        };
        for kind in kinds.until_pawns() {
            if !place(kind, &lane.groups[kind.kind % KINDS]) {
                return Err(Outcome::Immobile);
            }
        }
        for kind in kinds.after_pawns() {
            let mut groups = Groups::NEW;
            kinds.take_any_groups(kind, &mut lane.digits, &mut groups);
            if !place(kind, &groups) {
                return Err(Outcome::Immobile);
            }
        }

        let mut twin = Position::bare(Side::White);
        twin.sides = [kings[1], kings[0]];
        twin.kinds[0] = kings[0] | kings[1];
        for (all, sets) in twin.kinds.iter_mut().zip(&sets).skip(1) {
            for (&set, (side, promoted)) in sets.iter().zip(GROUPS) {
                *all |= set;
                twin.sides[side.other() as usize] |= set;
                if promoted {
                    twin.promoted |= set;
                }
            }
        }
        let lowered = |set: B| set.down(self.rules.unused);
        twin.sides = twin.sides.map(lowered);
        twin.kinds = twin.kinds.map(lowered);
        twin.promoted = lowered(twin.promoted);
        if self.rules.in_check(&twin, Side::Black) {
            return Err(Outcome::InCheck);
        }
        // The hands' digits count from the end: how many White holds.
        let board = layout.section(lane.section).board;
        let mut digits = lane.hands;
        for (kind, entry) in self.rules.variant().kinds.iter().enumerate().skip(1) {
            let total = entry.count - board[kind];
            let white = (digits % (u64::from(total) + 1)) as u8;
            digits /= u64::from(total) + 1;
            twin.hands[0][kind] = white;
            twin.hands[1][kind] = total - white;
        }
        Ok(self.rules.exchanged(&twin))
    }
}

impl<B: Bits> Tables<B> {
    /// Takes the hands and the King pair off the lowest word; whether both Kings stand on the central
    /// file.
    #[inline(always)]
    fn seat_kings(&self, lane: &mut Lane) -> bool {
        let section = self.layout.section(lane.section);
        let (word, hands) = section.hands.divide(lane.rest[0]);
        lane.hands = hands;
        (lane.kings, lane.digits.words[0]) = self.kinds.king_digit(word);
        let pair = self.kinds.king_pair(lane.kings);
        lane.empty = self.kinds.sums_beside(pair);
        pair.central
    }
}
