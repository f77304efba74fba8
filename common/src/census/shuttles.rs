//! Shuttles: what lets a side pass.

use crate::game::{Bits, Piece, Position, Rules, Side, Square};

/// A piece that steps from one square to another and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shuttle {
    /// Where it stands, and the free square beside.
    pub(crate) squares: [Square; 2],
    pub(crate) piece: Piece,
}

/// The squares of each side's King in the phases; twice the same if another piece shuttles.
pub(crate) type Targets = [[Square; 2]; 2];

/// The Kings' squares in all phases.
pub(crate) fn targets(kings: [Square; 2], shuttles: &[Shuttle; 2]) -> Targets {
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
pub(crate) fn reserved<B: Bits>(kings: [Square; 2], shuttles: &[Shuttle; 2]) -> B {
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

/// The candidates of one side, Kings first.
struct Candidates {
    list: [Option<Shuttle>; CANDIDATES],
    count: usize,
}

impl Candidates {
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

/// A shuttle for each side such that the configuration is quiet, Kings before other pieces.
pub(crate) fn find_shuttles<B: Bits>(
    rules: &Rules<B>,
    board: &Position<B>,
) -> Option<[Shuttle; 2]> {
    let kings = Side::BOTH.map(|side| board.king(side));
    let unseen = board.occupied() & !board.kinds[0];
    let attacked = |side: Side, square| rules.is_attacked(board, square, side.other(), unseen);
    if Side::BOTH
        .into_iter()
        .any(|side| attacked(side, kings[side as usize]))
    {
        return None;
    }
    let ring = &rules.roles[0].steps[0];
    let free = !board.occupied();
    let safe = Side::BOTH.map(|side| {
        let other = kings[side.other() as usize];
        let mut found = B::EMPTY;
        for b in (ring[kings[side as usize]] & free & !ring[other]).squares() {
            if !attacked(side, b) {
                found |= B::bit(b);
            }
        }
        found
    });
    // Two Kings need no further test: their second squares were free before.
    let both_kings = safe[0].squares().find_map(|b| {
        let apart = safe[1] & !ring[b];
        (!apart.is_empty()).then(|| [b, apart.first()])
    });
    if let Some(beside) = both_kings {
        return Some(Side::BOTH.map(|side| Shuttle {
            squares: [kings[side as usize], beside[side as usize]],
            piece: Piece {
                side,
                kind: 0,
                promoted: false,
            },
        }));
    }
    let [black, white] = Side::BOTH.map(|side| candidates(rules, board, kings, safe, side));
    black.iter().find_map(|b| {
        white
            .iter()
            .map(|w| [b, w])
            .find(|pair| is_quiet(rules, board, kings, pair))
    })
}

fn candidates<B: Bits>(
    rules: &Rules<B>,
    board: &Position<B>,
    kings: [Square; 2],
    safe: [B; 2],
    side: Side,
) -> Candidates {
    let free = !board.occupied();
    let (own, other) = (kings[side as usize], kings[side.other() as usize]);
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
        found.push(king, [own, b]);
    }
    for role in &rules.roles[1..] {
        if !role.directions[0].is_empty() {
            continue;
        }
        let steps = &role.steps[side as usize];
        for a in board.pieces(side, role.kind, role.promoted).squares() {
            let both_ways = steps[a] & role.steps[side.other() as usize][a] & free;
            let piece = Piece {
                side,
                kind: role.kind,
                promoted: role.promoted,
            };
            for b in both_ways.squares() {
                if !steps[b].has(other) {
                    found.push(piece, [a, b]);
                }
            }
        }
    }
    found
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
        let role = rules.role_of(shuttle.piece);
        targets[side as usize].into_iter().all(|target| {
            let near = |square: &Square| ring[target].has(*square);
            let hit = |square: &Square| role.steps[other as usize][*square].has(target);
            !targets[other as usize].iter().any(near)
                && !shuttle.squares.iter().any(hit)
                && !rules.is_attacked(board, target, other, occupied)
        })
    })
}
