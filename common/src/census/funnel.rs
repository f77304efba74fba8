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
mod division;
mod kinds;
mod layout;

pub use arm::Arm;

use arm::{Deposit, Portable};
use kinds::{KindTable, Kinds, Split, Words};
use layout::{Layout, Section};

use super::campaign::BLOCK;
use super::outcome::Outcome;
use crate::game::{Bits, Position, Rules, Side};
use crate::population::{Candidates, GROUPS, Rank, Sampler};

/// The groups of a kind that a file may not hold many of: unpromoted, Black's and White's.
const BLACK_PAWNS: usize = 2;
const WHITE_PAWNS: usize = 3;

/// The most samples of a batch: what one refill of the draws keeps at most.
const BATCH: usize = 128;

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
        let mut draws = sampler.ranks_of(block);
        let mut done = 0;
        while done < outcomes.len() {
            let ranks = draws.next_batch();
            let ranks = &ranks[..ranks.len().min(outcomes.len() - done)];
            let outcomes = &mut outcomes[done..done + ranks.len()];
            self.batch(ranks, outcomes, &mut |sample, position| {
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
        let mut done = 0;
        for (ranks, outcomes) in ranks.chunks(BATCH).zip(outcomes.chunks_mut(BATCH)) {
            self.batch(ranks, outcomes, &mut |sample, position| {
                verdict(done + sample, position)
            });
            done += ranks.len();
        }
    }

    /// One batch of ranks.
    fn batch(
        &self,
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
                self.stages::<Portable>(tables, ranks, outcomes, verdict);
            }
            #[cfg(target_arch = "x86_64")]
            (Some(tables), Arm::Avx2Bmi2) => {
                // SAFETY: a funnel with this arm exists only where the machine has its instructions.
                unsafe { self.stages_avx2_bmi2(tables, ranks, outcomes, verdict) }
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
        ranks: &[Rank],
        outcomes: &mut [u8],
        verdict: &mut impl FnMut(usize, &Position<B>) -> Outcome,
    ) {
        self.stages::<arm::Bmi2>(tables, ranks, outcomes, verdict);
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
        ranks: &[Rank],
        outcomes: &mut [u8],
        verdict: &mut impl FnMut(usize, &Position<B>) -> Outcome,
    ) {
        let Tables { layout, kinds } = tables;
        let mut lanes = [Lane::NEW; BATCH];
        let mut alive = List::NEW;
        let mut plain = List::NEW;

        // The rank as words.
        for (i, (lane, &rank)) in lanes.iter_mut().zip(ranks).enumerate() {
            (lane.section, lane.rest) = layout.locate(rank);
            let fits = layout.section(lane.section).fits;
            alive.push_if(fits, i);
            plain.push_if(!fits, i);
        }
        for (cut, &steps) in layout.steps.iter().enumerate() {
            match steps {
                1 => take_word::<B, 1>(layout, cut, &mut lanes, &alive),
                2 => take_word::<B, 2>(layout, cut, &mut lanes, &alive),
                3 => take_word::<B, 3>(layout, cut, &mut lanes, &alive),
                _ => take_word::<B, 4>(layout, cut, &mut lanes, &alive),
            }
        }

        // The Kings. Only where both stand on the central file can a sample be `mirrored`.
        alive.retain(|i| {
            let lane = &mut lanes[i];
            lane.words.values[layout.steps.len()] = lane.rest[0];
            let central = tables.seat_kings(lane);
            if !central {
                return true;
            }
            let canonical = self.is_canonical::<D>(tables, *lane);
            plain.push_if(canonical.is_none(), i);
            outcomes[i] = Outcome::Mirrored as u8;
            canonical == Some(true)
        });

        // Kind by kind the squares that are taken, and nothing else, until the last Pawn stands.
        for kind in kinds.until_pawns() {
            alive.retain(|i| {
                let lane = &mut lanes[i];
                let split = tables.split(kind, lane);
                for group in kind.groups().take_while(|&group| group < BLACK_PAWNS) {
                    lane.empty ^= kinds.squares::<D>(&split, group, lane.empty);
                }
                let black = kinds.squares::<D>(&split, BLACK_PAWNS, lane.empty);
                lane.empty ^= black;
                lane.split = split;
                outcomes[i] = Outcome::TwoPawns as u8;
                !kinds.crowded(kind, black)
            });
            alive.retain(|i| {
                let lane = &mut lanes[i];
                let white = kinds.squares::<D>(&lane.split, WHITE_PAWNS, lane.empty);
                lane.empty ^= white;
                !kinds.crowded(kind, white)
            });
        }

        // The few that are left, one by one; in order, those for the plain way among them.
        alive.merge(&plain);
        for i in alive.iter() {
            let mut ask = |position: &Position<B>| verdict(i, position);
            let outcome = if plain.holds(i) {
                self.plain(ranks[i], ask)
            } else {
                match self.settle::<D>(tables, lanes[i]) {
                    Ok(position) => ask(&position),
                    Err(outcome) => outcome,
                }
            };
            outcomes[i] = outcome as u8;
        }
    }
}

impl<B: Bits> Funnel<B> {
    /// Whether a sample with both Kings on the central file is canonical, if its first kind tells.
    fn is_canonical<D: Deposit>(&self, tables: &Tables<B>, mut lane: Lane<B>) -> Option<bool> {
        let kind = tables.kinds.first_decides()?;
        let split = tables.split(kind, &mut lane);
        for group in kind.groups() {
            let set = tables.kinds.squares::<D>(&split, group, lane.empty);
            lane.empty ^= set;
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
        mut lane: Lane<B>,
    ) -> Result<Position<B>, Outcome> {
        let Tables { layout, kinds } = tables;
        let mut twin = Position::bare(Side::White);
        twin.sides = [lane.kings[1], lane.kings[0]].map(|set| set.down(self.rules.unused));
        twin.kinds[0] = twin.sides[0] | twin.sides[1];
        lane.empty = kinds.empty_beside(&lane.kings);
        lane.free = kinds.room();
        lane.words.open(0);
        for kind in kinds.all() {
            let split = tables.split(kind, &mut lane);
            for group in kind.groups() {
                let set = kinds.squares::<D>(&split, group, lane.empty);
                lane.empty ^= set;
                let (side, promoted) = GROUPS[group];
                if !promoted && !(set & kind.immobile[side as usize]).is_empty() {
                    return Err(Outcome::Immobile);
                }
                let set = set.down(self.rules.unused);
                twin.sides[side.other() as usize] |= set;
                twin.kinds[kind.kind] |= set;
                if promoted {
                    twin.promoted |= set;
                }
            }
        }
        if self.rules.in_check(&twin, Side::Black) {
            return Err(Outcome::InCheck);
        }
        let section = layout.section(lane.section);
        let mut digits = lane.hands;
        for (kind, entry) in self.rules.variant().kinds.iter().enumerate().skip(1) {
            let total = entry.count - section.board[kind];
            let black = (digits % (u64::from(total) + 1)) as u8;
            digits /= u64::from(total) + 1;
            twin.hands[1][kind] = black;
            twin.hands[0][kind] = total - black;
        }
        Ok(self.rules.exchanged(&twin))
    }
}

impl<B: Bits> Tables<B> {
    /// Takes the hands and the King pair off the first word, and says whether both Kings stand on the
    /// central file.
    #[inline(always)]
    fn seat_kings(&self, lane: &mut Lane<B>) -> bool {
        let section = self.layout.section(lane.section);
        let (word, hands) = section.hands.divide(lane.words.values[0]);
        lane.hands = hands;
        (lane.kings, lane.words.values[0]) = self.kinds.kings(word);
        lane.empty = self.kinds.empty_beside(&lane.kings);
        lane.free = self.kinds.room();
        lane.words.open(0);
        self.kinds.both_central(&lane.kings)
    }

    /// Takes a kind's digit apart.
    #[inline(always)]
    fn split(&self, kind: &KindTable<B>, lane: &mut Lane<B>) -> Split {
        let b = self.layout.section(lane.section).board[kind.kind];
        let split = self.kinds.split(kind, &mut lane.words, b, lane.free);
        lane.free -= usize::from(b);
        split
    }
}

/// Takes one word off the ranks.
#[inline(always)]
fn take_word<B: Bits, const STEPS: usize>(
    layout: &Layout,
    cut: usize,
    lanes: &mut Lanes<B>,
    alive: &List,
) {
    for i in alive.iter() {
        let lane = &mut lanes[i];
        let section: &Section = layout.section(lane.section);
        let (value, high) = section.cut(cut).take::<STEPS>(&mut lane.rest);
        lane.words.values[cut] = value;
        lane.words.highs[cut] = high;
    }
}

type Lanes<B> = [Lane<B>; BATCH];

/// A sample on its way.
#[derive(Clone, Copy, Debug)]
struct Lane<B> {
    section: u32,
    /// The rank less its section's first, and later what the cuts have left of it.
    rest: [u64; 4],
    /// Its words; the first one loses the hands and the Kings when they are seated.
    words: Words,
    /// The hands' digits, as one.
    hands: u64,
    /// The Kings, Black's first.
    kings: [B; 2],
    /// The squares without a piece.
    empty: B,
    /// How many there are before the present kind is placed.
    free: usize,
    /// The present kind's digit.
    split: Split,
}

impl<B: Bits> Lane<B> {
    const NEW: Self = Lane {
        section: 0,
        rest: [0; 4],
        words: Words::NEW,
        hands: 0,
        kings: [B::EMPTY; 2],
        empty: B::EMPTY,
        free: 0,
        split: Split::NEW,
    };
}

/// Samples of a batch by number, ascending.
#[derive(Clone, Copy)]
struct List {
    /// One more than are held, so that what is not wanted has a place to be written to.
    items: [u8; BATCH + 1],
    len: usize,
}

impl List {
    const NEW: Self = List {
        items: [0; BATCH + 1],
        len: 0,
    };

    /// Adds a sample or not, without a branch.
    #[inline(always)]
    fn push_if(&mut self, wanted: bool, sample: usize) {
        self.items[self.len] = sample as u8;
        self.len += usize::from(wanted);
    }

    /// Keeps the samples that the filter passes, without a branch.
    #[inline(always)]
    fn retain(&mut self, mut passes: impl FnMut(usize) -> bool) {
        let mut kept = 0;
        for i in 0..self.len {
            let sample = self.items[i];
            let pass = passes(usize::from(sample) & (BATCH - 1));
            self.items[kept] = sample;
            kept += usize::from(pass);
        }
        self.len = kept;
    }

    /// Adds the other list's samples, none of which this one holds.
    fn merge(&mut self, other: &List) {
        for sample in other.iter() {
            self.push_if(true, sample);
        }
        if other.len > 0 {
            self.items[..self.len].sort_unstable();
        }
    }

    fn holds(&self, sample: usize) -> bool {
        self.iter().any(|item| item == sample)
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = usize> {
        let items = self.items[..self.len].iter();
        items.map(|&sample| usize::from(sample) & (BATCH - 1))
    }
}
