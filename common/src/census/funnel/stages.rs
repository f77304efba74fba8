//! The loops of the stages over the samples of a batch.
//!
//! Each is a loop without unforeseeable branches over independent samples, and short: what a step needs has
//! to be awaited, and the fewer instructions a sample takes in a loop, the more samples the processor has
//! under way at once. (Measured on shogi: three loops for a kind's digit took a quarter less time than one,
//! though more instructions.)

use super::arm::Instructions;
use super::boards::Board;
use super::few::{Choice, Line};
use super::files::FileSums;
use super::kinds::{KindTable, Kinds};
use super::kings::Kings;
use super::lanes::{BATCH, Lane, Samples};
use super::layout::Layout;
use crate::game::Bits;
use crate::population::Rank;

/// Begins with the ranks: the samples whose section fits the words.
#[inline(always)]
pub(super) fn enter(layout: &Layout, ranks: &[Rank], lanes: &mut [Lane; BATCH]) -> Samples {
    let mut fit = Samples::NONE;
    for (lane, &rank) in lanes.iter_mut().zip(ranks) {
        lane.section = layout.locate(rank);
    }
    for (i, (lane, &rank)) in lanes.iter_mut().zip(ranks).enumerate() {
        fit.insert_if(lane.enter(layout, rank), i);
    }
    fit
}

/// Takes the topmost word that is left off the ranks.
#[inline(always)]
pub(super) fn take_word<const LIMBS: usize>(layout: &Layout, cut: usize, lanes: &mut [Lane]) {
    let word = layout.cut_limbs.len() - cut;
    for lane in lanes {
        let section = layout.section(lane.section);
        lane.words[word] = section.cut(cut).take::<LIMBS>(&mut lane.rest);
    }
}

/// Takes the hands and the King pair off the lowest word: the samples with both Kings on the central file.
#[inline(always)]
pub(super) fn take_kings<B: Bits>(
    layout: &Layout,
    kings: &Kings<B>,
    lanes: &mut [Lane; BATCH],
    samples: Samples,
) -> Samples {
    let mut central = Samples::NONE;
    for i in samples.iter() {
        let lane = &mut lanes[i];
        let (word, hands) = layout.section(lane.section).hands.divide(lane.rest[0]);
        lane.hands = hands;
        (lane.kings, lane.words[0]) = kings.take(word);
        lane.beside_kings = kings.sums_beside(lane.kings);
        central.insert_if(kings.are_central(lane.kings), i);
    }
    central
}

/// Takes the digit of a kind of few pieces off the words, and places its groups before the group `TO`. Those
/// before the `FIRST` are empty.
///
/// What the kind is like is told as constants: as questions in the loops they cost a third more
/// instructions.
#[inline(always)]
pub(super) fn take_few<B: Bits, const FIRST: usize, const TO: usize>(
    kinds: &Kinds<B>,
    kind: &KindTable<B>,
    lanes: &mut [Lane; BATCH],
    samples: Samples,
) {
    let few = kinds.few(FIRST);
    let mut choices = [Choice::NONE; BATCH];
    for i in samples.iter() {
        let Lane { words, rows, .. } = &mut lanes[i];
        choices[i] = few.take(rows[kind.number()], kind.places, words);
    }
    let mut combinations = [[0; 4]; BATCH];
    for i in samples.iter() {
        let line = few.line(choices[i]);
        combinations[i] = line.combinations::<FIRST>(choices[i]);
        lanes[i].counts[kind.number()] = line.counts;
        if TO < 4 {
            lanes[i].indices = line.indices(combinations[i]);
        }
    }
    for i in samples.iter() {
        let line = few.line(choices[i]);
        let lane = &mut lanes[i];
        if Line::are_few(combinations[i]) {
            let places = combinations[i].map(|number| kinds.combinations.few(number));
            lane.trail
                .push_groups::<FIRST, TO>(places, line.before, line.counts);
        } else {
            lane.indices = line.indices(combinations[i]);
            for group in FIRST..TO {
                kinds.place(kind, group, lane);
            }
        }
    }
}

/// Takes the digit of a kind of many pieces off the words.
#[inline(always)]
pub(super) fn take_many<B: Bits>(
    kinds: &Kinds<B>,
    kind: &KindTable<B>,
    lanes: &mut [Lane; BATCH],
    samples: Samples,
) {
    let many = kinds.many(kind.first_group);
    let number = kind.number();
    let mut inside = [0; BATCH];
    for i in samples.iter() {
        let Lane {
            counts,
            words,
            rows,
            ..
        } = &mut lanes[i];
        (counts[number], inside[i]) = many.take(rows[number], kind.places, words);
    }
    let mut halves = [[0; 2]; BATCH];
    let mut long = Samples::NONE;
    for i in samples.iter() {
        let Lane { counts, rows, .. } = &lanes[i];
        let two = many.halves(rows[number], counts[number], inside[i]);
        long.insert_if(two.is_none(), i);
        halves[i] = two.unwrap_or_default();
    }
    for i in samples.iter() {
        let Lane {
            counts,
            rows,
            indices,
            ..
        } = &mut lanes[i];
        *indices = many.indices(rows[number], counts[number], halves[i]);
    }
    for i in long.iter() {
        let Lane {
            counts,
            rows,
            indices,
            ..
        } = &mut lanes[i];
        *indices = many.indices_one_by_one(rows[number], counts[number], inside[i]);
    }
}

/// Places one group, sorted by its size.
#[inline(always)]
pub(super) fn place<B: Bits>(
    kinds: &Kinds<B>,
    kind: &KindTable<B>,
    group: usize,
    lanes: &mut [Lane; BATCH],
    samples: Samples,
) {
    let sorted = samples.sorted(|i| lanes[i].counts[kind.number()][group]);
    for i in sorted.iter() {
        kinds.place(kind, group, &mut lanes[i]);
    }
}

/// Places a group and keeps the samples in which it has no more pieces than `limit` on any file.
#[inline(always)]
pub(super) fn place_apart<B: Bits>(
    kinds: &Kinds<B>,
    kind: &KindTable<B>,
    group: usize,
    limit: &FileSums,
    lanes: &mut [Lane; BATCH],
    samples: Samples,
) -> Samples {
    let mut kept = Samples::NONE;
    let sorted = samples.sorted(|i| lanes[i].counts[kind.number()][group]);
    for i in sorted.iter() {
        let pieces = kinds.place_and_count(kind, group, &mut lanes[i]);
        kept.insert_if(!pieces.exceed(limit), i);
    }
    kept
}

/// Puts a kind's pieces on the boards, and keeps the samples in which all can move.
#[inline(always)]
pub(super) fn stand<B: Bits, I: Instructions>(
    kinds: &Kinds<B>,
    kind: &KindTable<B>,
    lanes: &[Lane; BATCH],
    boards: &mut [Board<B>; BATCH],
    samples: Samples,
) -> Samples {
    let mut kept = Samples::NONE;
    for i in samples.iter() {
        kept.insert_if(boards[i].stand::<I>(kinds, kind, &lanes[i]), i);
    }
    kept
}
