//! A proof by passing: most reachable positions are shown to be so without a search.
//!
//! # Words
//! M made the last move of a position, O is to move. A *configuration* is the board and the hands
//! without the side to move. It is *calm* if neither King is attacked. A side's *shuttle* is its King
//! on a square a together with an adjacent empty square b; the four squares of both shuttles are
//! distinct, and no square of the one is adjacent to a square of the other. The *phases* are the four
//! configurations with each King on its a or b. A configuration is *quiet* if all four are calm.
//!
//! # What is used
//! **Prelude.** Let a position be calm, and let x be an unpromoted piece of M, no King, that stands on
//! no square between a slider and the King that it points at. Then the position without x, x in
//! M's hand and M to move, is a predecessor and calm, provided that O has a legal move if x is of a
//! kind whose mating drop is forbidden. *Proof.* Taking x away opens no line to either King, so both
//! stay unattacked: O's as a predecessor demands, M's as the drop, played forward, demands. x
//! satisfied the local rules where it stood, so it could be dropped there. ∎ O has a legal move when
//! its King is unattacked and it holds a piece of a kind without restrictions that can stand on some
//! empty square: the drop of it cannot expose its King.
//!
//! **Lemma (a step in a quiet configuration).** A *step* of X takes back one non-capturing move of a
//! piece of X that is no King: an undone drop of an unpromoted piece, or the return of a piece from t
//! to an empty square f, as it is or as its unpromoted self, by the rules of zone, standing and two
//! Pawns; f and the squares between f and t are no shuttle squares. If a step leads from the quiet
//! configuration c to c', quiet for the same shuttles, then from a position of c in any phase, whoever
//! is to move, at most two legal un-moves lead to c' in some phase with X to move. *Proof.* If X did
//! not make the last move of the position, its opponent did and *passes* first: its King returns to
//! the other square of its shuttle. Played forward that is a legal King's move: the King that moves is
//! unattacked after it, the other one before it, since both configurations are phases of c. Now X made
//! the last move: undo the step in the present phase. Its squares are no shuttle squares, so they are
//! as empty in every phase. In the predecessor the opponent's King is unattacked, as c' is quiet; in
//! the present position the King of X is, as c is. An undone Pawn drop left neither mate nor
//! stalemate, since the opponent's shuttle was a legal move and no drop. ∎
//!
//! **Theorem.** A position from which a prelude and then steps in quiet configurations lead to the two
//! Kings alone is reachable. *Proof.* All these un-moves are legal moves played forward. The last
//! position is calm with non-adjacent Kings, so it is a KK position; and KK positions are
//! reachable (`docs/mathematics.md`). ∎
//!
//! # How quietness is known
//! A shuttle may also be another piece that steps to b and back to a, as long as it attacks the opposing
//! King from neither square even on an empty board; the lemma holds for it word for word. All tests see
//! through Kings and shuttles and take every shuttle square as empty: whatever attacks a King in some
//! phase attacks its square then too. Sufficient, never wrong. A piece that leaves the board exposes a
//! King only along a line of a slider on which it stands, so pieces off all such lines may go together,
//! in any order, each step quiet. When nothing can go, other shuttles may do, or the Kings walk and
//! sliders move out of their way: these are steps and passes too. Failure proves nothing; the complete
//! search decides then.
//!
//! # What it costs
//! Counted over 4,000 positions of each game that passed the filters, a whole verdict takes 8,100
//! instructions in shogi and 8,200 in mini shogi, and one in 700 and one in 100 comes to the complete
//! search. Nine of ten reachable positions of shogi are emptied by one pair of shuttles; in mini shogi the positions in which Kings have to walk, a fifth, take half of
//! the time. What paid: the prelude (without it half of shogi's boards have no room for a King to
//! shuttle), sets instead of squares wherever pieces move alike, ways home in a wide berth of the Kings
//! tried first, no question asked twice of the same piece or the same shuttles, other pairs of shuttles
//! before the Kings walk (a third of mini shogi's instructions), and a search that asks for a certificate as
//! soon as it finds an ancestor (a rare search then takes 50 us, not 900). What did not pay: taking
//! sliders first, looking at the lines again before promoted pieces go, more or fewer pairs of shuttles,
//! and other machine instructions (a twentieth).

mod flood;
mod quiet;
mod shuttles;
mod stuck;
mod trail;

pub(super) use trail::{Step, Trail, expand};

use std::ops::ControlFlow;

use quiet::{Quiet, droppable, lines, remove};
use shuttles::{Shuttle, for_each_pair};

use crate::game::{Bits, KINDS, Position, Rules, Side};

/// Tries to prove that a calm position is reachable, leaving the steps in `trail`.
///
/// The prelude empties the board around the Kings, but may also take away the last piece that could
/// shuttle; so the position as it stands is tried second.
pub(super) fn certify<B: Bits, T: Trail + Default>(
    rules: &Rules<B>,
    position: &Position<B>,
) -> Option<T> {
    let mut trail = T::default();
    let mut board = *position;
    prelude(rules, &mut board, &mut trail);
    let prelude_took_none = board.sides == position.sides;
    if finish(rules, &mut board, &mut trail) {
        return Some(trail);
    }
    if prelude_took_none {
        return None;
    }
    trail = T::default();
    board = *position;
    finish(rules, &mut board, &mut trail).then_some(trail)
}

/// Empties the board by steps in quiet configurations; whether nothing but the Kings is left.
///
/// Who made the last move, and on which of their squares the shuttles stand, need no account: the
/// lemma holds for every phase and whoever is to move, and before shuttles are chosen anew both sides
/// pass until the present ones stand on their first squares.
fn finish<B: Bits>(rules: &Rules<B>, board: &mut Position<B>, trail: &mut impl Trail) -> bool {
    let mut walks = WALKS.iter();
    let mut last = None;
    while board.occupied() != board.kinds[0] {
        let moved = match take_some(rules, board, last, trail) {
            Attempt::Taken(shuttles) => {
                last = Some(shuttles);
                true
            }
            Attempt::Stuck(shuttles) => {
                last = None;
                walks.any(|walk| walk_away(rules, board, shuttles, walk, trail))
            }
            Attempt::NoShuttles => false,
        };
        if !moved {
            return false;
        }
    }
    true
}

/// How an attempt to take pieces off a board ended.
enum Attempt {
    /// Some went, as many as can with these shuttles.
    Taken([Shuttle; 2]),
    /// No piece could go, whatever shuttles were tried; those were the first.
    Stuck([Shuttle; 2]),
    /// Some side cannot pass.
    NoShuttles,
}

/// How many pairs of shuttles are tried, one after the other, until a piece can go; after that it costs
/// less to let the Kings walk.
const PAIRS: usize = 3;

/// Takes as many pieces as can go; `last`: shuttles with which none can.
fn take_some<B: Bits>(
    rules: &Rules<B>,
    board: &mut Position<B>,
    last: Option<[Shuttle; 2]>,
    trail: &mut impl Trail,
) -> Attempt {
    let (mut first, mut tried) = (None, 0);
    let whole = *board;
    let tries = for_each_pair(rules, &whole, |shuttles| {
        tried += 1;
        first.get_or_insert(shuttles);
        if last != Some(shuttles) {
            let mut quiet = Quiet::new(rules, board, shuttles, trail);
            let taken = quiet.take_pieces(trail);
            quiet.leave(trail);
            if taken {
                return ControlFlow::Break(Some(shuttles));
            }
        }
        if tried == PAIRS {
            ControlFlow::Break(None)
        } else {
            ControlFlow::Continue(())
        }
    });
    match (tries, first) {
        (ControlFlow::Break(Some(shuttles)), _) => Attempt::Taken(shuttles),
        (_, Some(first)) => Attempt::Stuck(first),
        (_, None) => Attempt::NoShuttles,
    }
}

/// Lets the Kings walk out of the way of pieces that are stuck; whether one could.
fn walk_away<B: Bits>(
    rules: &Rules<B>,
    board: &mut Position<B>,
    shuttles: [Shuttle; 2],
    walk: &stuck::Walk,
    trail: &mut impl Trail,
) -> bool {
    let mut quiet = Quiet::new(rules, board, shuttles, trail);
    let moved = quiet.make_room(walk, trail);
    quiet.leave(trail);
    moved
}

/// How the Kings walk out of the way of pieces that are stuck, one attempt after the other.
const WALKS: [stuck::Walk; 4] = [
    stuck::Walk {
        scatter: false,
        distance: 1,
        ranks: 3,
    },
    stuck::Walk {
        scatter: true,
        distance: 1,
        ranks: 3,
    },
    stuck::Walk {
        scatter: true,
        distance: 4,
        ranks: 1,
    },
    stuck::Walk {
        scatter: true,
        distance: 1,
        ranks: 3,
    },
];

/// Undoes drops in turn, M first, as long as both sides have loose pieces: of each side those without
/// restrictions first.
fn prelude<B: Bits>(rules: &Rules<B>, board: &mut Position<B>, trail: &mut impl Trail) {
    let kings = Side::BOTH.map(|side| [board.king(side)]);
    let loose = droppable(board) & !lines(rules, board, &kings);
    let restricted = restricted(rules, board);
    let (mover, other) = (board.turn.other(), board.turn);
    let [ours, theirs] = [mover, other].map(|side| loose & board.of(side));
    // M's first restricted piece needs a reply of O, O's first one a reply of M, all later ones too; once
    // a side has a piece without restrictions in hand it has a reply for good.
    let free = [ours & !restricted, theirs & !restricted].map(|set| !set.is_empty());
    let we_may = (free[0] && free[1]) || can_drop_freely(rules, board, other);
    let they_may = free[0] || can_drop_freely(rules, board, mover);
    let ours = if we_may { ours } else { ours & !restricted };
    let theirs = if they_may {
        theirs
    } else {
        theirs & !restricted
    };
    let turns = (ours.count()).min(theirs.count() + 1);
    let replies = (theirs.count()).min(turns);
    let ours = some_of(ours, restricted, turns);
    let theirs = some_of(theirs, restricted, replies);
    trail.undrop_in_turn(mover, [ours, theirs], restricted);
    remove(board, ours | theirs);
}

/// So many squares of a set, those of `last` last.
fn some_of<B: Bits>(set: B, last: B, number: u32) -> B {
    let mut surplus = set.count() - number;
    let mut kept = set;
    for part in [set & last, set & !last] {
        for square in part.squares() {
            if surplus == 0 {
                return kept;
            }
            surplus -= 1;
            kept &= !B::bit(square);
        }
    }
    kept
}

/// The pieces whose drop the rules restrict beyond standing.
fn restricted<B: Bits>(rules: &Rules<B>, board: &Position<B>) -> B {
    let mut found = B::EMPTY;
    for &kind in &rules.restricted_kinds {
        found |= board.kinds[kind];
    }
    found
}

/// Whether a side holds a piece of a kind without restrictions and a square to drop it on.
fn can_drop_freely<B: Bits>(rules: &Rules<B>, board: &Position<B>, side: Side) -> bool {
    let hand = board.hand(side);
    (1..KINDS).any(|kind| {
        hand[kind] > 0
            && !rules.restricted_kinds.contains(&kind)
            && !(rules.standing[side as usize][kind] & !board.occupied()).is_empty()
    })
}
