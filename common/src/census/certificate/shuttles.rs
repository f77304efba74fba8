//! Shuttles: what lets a side pass.

use std::ops::ControlFlow;

use crate::game::{Bits, Piece, Position, Rules, Side, Square};

/// A piece that steps from one square to another and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shuttle {
    /// Where it stands, and the free square beside.
    pub(super) squares: [Square; 2],
    pub(super) piece: Piece,
}

impl Shuttle {
    /// What a shuttle that is no King would attack from its two squares on an empty board.
    pub(super) fn reach<B: Bits>(&self, rules: &Rules<B>) -> B {
        let role = rules.role_of(self.piece);
        let side = self.piece.side as usize;
        let mut found = B::EMPTY;
        for square in self.squares {
            found |= role.steps[side][square] | role.slides[side][square];
        }
        found
    }
}

/// The squares of each side's King in the phases; twice the same if another piece shuttles.
pub(super) type Targets = [[Square; 2]; 2];

/// The Kings' squares in all phases.
pub(super) fn targets(kings: [Square; 2], shuttles: &[Shuttle; 2]) -> Targets {
    Side::BOTH.map(|side| {
        let shuttle = &shuttles[side as usize];
        if shuttle.piece.kind == 0 {
            shuttle.squares
        } else {
            [kings[side as usize]; 2]
        }
    })
}

/// Every square that a King or a shuttle uses in some phase.
pub(super) fn reserved<B: Bits>(kings: [Square; 2], shuttles: &[Shuttle; 2]) -> B {
    let mut found = B::EMPTY;
    for side in 0..2 {
        found |= B::bit(kings[side]);
        for square in shuttles[side].squares {
            found |= B::bit(square);
        }
    }
    found
}

/// The most candidates of one side.
const CANDIDATES: usize = 16;

/// The candidates of one side, the King first.
struct Candidates {
    list: [Option<Shuttle>; CANDIDATES],
    count: usize,
}

impl Candidates {
    /// The King with each of his safe squares.
    fn of_king<B: Bits>(kings: [Square; 2], safe: [B; 2], side: Side) -> Self {
        let mut found = Candidates {
            list: [None; CANDIDATES],
            count: 0,
        };
        let king = Piece {
            side,
            kind: 0,
            promoted: false,
        };
        for b in safe[side as usize].squares() {
            found.push(king, [kings[side as usize], b]);
        }
        found
    }

    /// Adds the pieces that can step to a free square and back and see the opposing King from neither.
    fn add_others<B: Bits>(
        &mut self,
        rules: &Rules<B>,
        board: &Position<B>,
        kings: [Square; 2],
        side: Side,
    ) {
        let free = !board.occupied();
        let other = kings[side.other() as usize];
        for role in &rules.roles[1..] {
            for a in (role.of(board) & board.of(side)).squares() {
                let piece = Piece {
                    side,
                    kind: role.kind,
                    promoted: role.promoted,
                };
                for b in (role.shuttles[a] & free).squares() {
                    let shuttle = Shuttle {
                        squares: [a, b],
                        piece,
                    };
                    if !shuttle.reach(rules).has(other) {
                        self.push(piece, [a, b]);
                    }
                }
            }
        }
    }

    fn push(&mut self, piece: Piece, squares: [Square; 2]) {
        if self.count < CANDIDATES {
            self.list[self.count] = Some(Shuttle { squares, piece });
            self.count += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = Shuttle> {
        self.list.iter().copied().map_while(|shuttle| shuttle)
    }
}

/// Visits pairs of shuttles for which the configuration is quiet, until the visitor breaks: the Kings
/// first, other pieces later.
///
/// A King that shuttles along his file bars fewest of the lines by which sliders go home, so those
/// come first.
pub(super) fn for_each_pair<B: Bits, T>(
    rules: &Rules<B>,
    board: &Position<B>,
    mut visit: impl FnMut([Shuttle; 2]) -> ControlFlow<T>,
) -> ControlFlow<T> {
    let kings = Side::BOTH.map(|side| board.king(side));
    let unseen = board.occupied() & !board.kinds[0];
    let ring = &rules.roles[0].steps[0];
    let free = !board.occupied();
    let mut safe = [B::EMPTY; 2];
    for side in Side::BOTH {
        let own = B::bit(kings[side as usize]);
        let beside = ring[kings[side as usize]] & free;
        let found = rules.safe_targets(board, side, beside | own, unseen);
        if (found & own).is_empty() {
            return ControlFlow::Continue(());
        }
        safe[side as usize] = found & !own;
    }
    // Two Kings need no further test: their second squares were free before.
    let upright = kings.map(|king| rules.files[king / usize::from(rules.variant.height)]);
    let ordered = [0, 1].map(|side| [safe[side] & upright[side], safe[side] & !upright[side]]);
    for b in ordered[0].iter().flat_map(|set| set.squares()) {
        for w in ordered[1]
            .iter()
            .flat_map(|&set| (set & !ring[b]).squares())
        {
            visit(Side::BOTH.map(|side| Shuttle {
                squares: [kings[side as usize], [b, w][side as usize]],
                piece: Piece {
                    side,
                    kind: 0,
                    promoted: false,
                },
            }))?;
        }
    }
    // A side whose King can shuttle needs another piece only if the two Kings are in each other's way.
    let shut_in = safe.map(B::is_empty);
    let needs = if shut_in == [false; 2] {
        [true; 2]
    } else {
        shut_in
    };
    let [black, white] = Side::BOTH.map(|side| {
        let mut found = Candidates::of_king(kings, safe, side);
        if needs[side as usize] {
            found.add_others(rules, board, kings, side);
        }
        found
    });
    for b in black.iter() {
        for w in white.iter() {
            let pair = [b, w];
            let both_kings = b.piece.kind == 0 && w.piece.kind == 0;
            if !both_kings && is_quiet(rules, board, kings, &pair) {
                visit(pair)?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// Whether no King is attacked in any phase, seeing through Kings and shuttles.
fn is_quiet<B: Bits>(
    rules: &Rules<B>,
    board: &Position<B>,
    kings: [Square; 2],
    shuttles: &[Shuttle; 2],
) -> bool {
    let [black, white] = shuttles;
    if black.squares[1] == white.squares[1] {
        return false;
    }
    let occupied = board.occupied() & !reserved::<B>(kings, shuttles);
    let targets = targets(kings, shuttles);
    let ring = &rules.roles[0].steps[0];
    Side::BOTH.into_iter().all(|side| {
        let other = side.other();
        let shuttle = &shuttles[other as usize];
        let mut barred = ring[targets[other as usize][0]] | ring[targets[other as usize][1]];
        if shuttle.piece.kind != 0 {
            barred |= shuttle.reach(rules);
        }
        targets[side as usize]
            .into_iter()
            .all(|target| !barred.has(target) && !rules.is_attacked(board, target, other, occupied))
    })
}
