//! Lanes: the samples of a batch on their way, and the loops of the stages over them.

use super::files::FileSums;
use super::kinds::{Digits, Groups, KindTable, Kinds};
use super::layout::Layout;
use crate::game::{Bits, KINDS};

/// The most samples of a batch: what one refill of the draws keeps at most.
pub(super) const BATCH: usize = 64;

/// A sample on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) section: u32,
    /// The King digit.
    pub(super) kings: u32,
    /// The hands' digits, as one.
    pub(super) hands: u64,
    /// How far the rank is before its section's end, and later what the cuts have left of it.
    pub(super) rest: [u64; 4],
    pub(super) digits: Digits,
    /// How many squares are empty before the present group is placed, by files.
    pub(super) empty: FileSums,
    /// The groups of each kind that has been taken off the words, until the last Pawn.
    pub(super) groups: [Groups; KINDS],
}

impl Lane {
    pub(super) const NEW: Self = Lane {
        section: 0,
        kings: 0,
        hands: 0,
        rest: [0; 4],
        digits: Digits::NEW,
        empty: FileSums::ZERO,
        groups: [Groups::NEW; KINDS],
    };

    /// Begins with a rank. One whose section does not fit the words is left out later; in its lane the
    /// largest section's last rank keeps the others company.
    #[inline(always)]
    pub(super) fn enter(&mut self, layout: &Layout, section: u32, rest: [u64; 4]) {
        let fits = layout.section(section).fits;
        self.section = if fits { section } else { layout.largest };
        self.rest = if fits { rest } else { [0; 4] };
        let section = layout.section(self.section);
        self.digits.board = section.board;
        self.digits.empty = section.empty;
    }
}

/// Samples of a batch by number, ascending.
#[derive(Clone, Copy)]
pub(super) struct List {
    /// One more than are held, so that what is not wanted has a place to be written to.
    items: [u8; BATCH + 1],
    len: usize,
}

impl List {
    pub(super) const NEW: Self = List {
        items: [0; BATCH + 1],
        len: 0,
    };

    /// Adds a sample or not, without a branch.
    #[inline(always)]
    pub(super) fn push_if(&mut self, wanted: bool, sample: usize) {
        self.items[self.len] = sample as u8;
        self.len += usize::from(wanted);
    }

    /// Keeps the samples that the filter passes, without a branch.
    #[inline(always)]
    pub(super) fn retain(&mut self, mut passes: impl FnMut(usize) -> bool) {
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
    pub(super) fn merge(&mut self, other: &List) {
        for sample in other.iter() {
            self.push_if(true, sample);
        }
        if other.len > 0 {
            self.items[..self.len].sort_unstable();
        }
    }

    pub(super) fn holds(&self, sample: usize) -> bool {
        self.iter().any(|item| item == sample)
    }

    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let items = self.items[..self.len].iter();
        items.map(|&sample| usize::from(sample) & (BATCH - 1))
    }
}

/// Takes the topmost word that is left off the ranks.
#[inline(always)]
pub(super) fn take_word<const LIMBS: usize>(layout: &Layout, cut: usize, lanes: &mut [Lane]) {
    let word = layout.cut_limbs.len() - cut;
    for lane in lanes {
        let section = layout.section(lane.section);
        lane.digits.words[word] = section.cut(cut).take::<LIMBS>(&mut lane.rest);
    }
}

/// Takes a kind's digit off the words of the samples that are alive; without a limit to its pieces on a
/// file it also counts them.
///
/// What the kind is like is told as constants: as questions in the loop they cost a third more
/// instructions.
#[inline(always)]
pub(super) fn take_kind<B: Bits, const WIDE: bool, const FIRST: usize>(
    kinds: &Kinds<B>,
    kind: &KindTable<B>,
    lanes: &mut [Lane; BATCH],
    alive: &List,
) {
    for i in alive.iter() {
        let lane = &mut lanes[i];
        let groups = &mut lane.groups[kind.kind % KINDS];
        kinds.take_groups::<WIDE, FIRST>(kind, &mut lane.digits, groups);
    }
    if kind.file_limit.is_none() {
        for i in alive.iter() {
            let lane = &mut lanes[i];
            let groups = &lane.groups[kind.kind % KINDS];
            let mut empty = lane.empty;
            for number in FIRST..4 {
                (empty, _) = kinds.count::<WIDE>(groups, number, empty);
            }
            lane.empty = empty;
        }
    }
}

/// Counts a kind's groups by files, from the group `FROM` on to the group `JUDGED`, and keeps the samples
/// in which this one has no more pieces than `limit` on any file.
#[inline(always)]
pub(super) fn filter<B: Bits, const WIDE: bool, const FROM: usize, const JUDGED: usize>(
    kinds: &Kinds<B>,
    kind: &KindTable<B>,
    limit: &FileSums,
    lanes: &mut [Lane; BATCH],
    alive: &mut List,
) {
    alive.retain(|i| {
        let lane = &mut lanes[i];
        let groups = &lane.groups[kind.kind % KINDS];
        let mut empty = lane.empty;
        for number in FROM..JUDGED {
            (empty, _) = kinds.count::<WIDE>(groups, number, empty);
        }
        let judged;
        (lane.empty, judged) = kinds.count::<WIDE>(groups, JUDGED, empty);
        !judged.exceed(limit)
    });
}
