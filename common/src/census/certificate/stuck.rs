//! What to do when nothing can go: the Kings walk, and sliders move out of their way.
//!
//! All of it is made of steps and passes in quiet configurations: a King that walks steps on squares
//! that are safe whatever the other side's shuttle does, and the other side passes in between.

use super::quiet::Quiet;
use super::shuttles::{reserved, targets};
use super::trail::Trail;
use crate::game::{Bits, Piece, Side, Square};

/// How to make room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// Whether promoted sliders first go as far from their zones as they can.
    pub(super) scatter: bool,
    /// The weight of a King's distance from the pieces that are left.
    pub(super) distance: usize,
    /// The weight of its distance in ranks from the zones of the pieces that are left.
    pub(super) ranks: usize,
}

/// Room for the walks of most Kings, made at once.
const LAYERS: usize = 16;

impl<B: Bits> Quiet<'_, B> {
    /// Makes room for the pieces that are stuck; whether a King moved.
    pub(super) fn make_room(&mut self, walk: &Walk, trail: &mut impl Trail) -> bool {
        if walk.scatter {
            self.scatter(trail);
        }
        let mut moved = false;
        for side in Side::BOTH {
            moved |= self.walk_the_king(side, walk, trail);
        }
        moved
    }

    /// Moves promoted sliders, as they are, to where they least bar the opposing King's way.
    fn scatter(&mut self, trail: &mut impl Trail) {
        let rules = self.rules;
        for &index in &rules.slider_roles {
            let role = &rules.roles[index];
            if !role.promoted {
                continue;
            }
            for side in Side::BOTH {
                let all = self.board.pieces(side, role.kind, true);
                for square in all.squares() {
                    if self.is_last_shield(square) {
                        continue;
                    }
                    let others = self.board.occupied() & !B::bit(square);
                    let free = rules.origins(role, side, square, others | self.reserved)
                        & !self.loud(role, side, others);
                    let away = |s: &Square| self.ranks_from_far_side(side, *s);
                    let Some(end) = free.squares().max_by_key(away) else {
                        continue;
                    };
                    let farther = away(&end) > away(&square);
                    if farther {
                        let piece = Piece {
                            side,
                            kind: role.kind,
                            promoted: true,
                        };
                        trail.walk(side, &[square, end]);
                        self.board.lift(square, piece);
                        self.board.put(end, piece);
                    }
                }
            }
        }
    }

    /// Walks a side's King, if it is the side's shuttle, to the best square that it can reach.
    fn walk_the_king(&mut self, side: Side, walk: &Walk, trail: &mut impl Trail) -> bool {
        let own = side as usize;
        let shuttle = self.shuttles[own];
        if shuttle.piece.kind != 0 {
            return false;
        }
        let start = shuttle.squares[0];
        let layers = self.reach_of_the_king(side, start);
        let ends = layers
            .iter()
            .enumerate()
            .flat_map(|(depth, layer)| layer.squares().map(move |s| (depth, s)));
        let best = ends.max_by_key(|&(_, s)| self.room(s, walk));
        let Some((depth, end)) = best.filter(|&(depth, _)| depth > 0) else {
            return false;
        };
        let ring = &self.rules.roles[0].steps[0];
        let mut way = Vec::with_capacity(LAYERS);
        way.push(end);
        for layer in layers[..depth].iter().rev() {
            way.push((*layer & ring[way[way.len() - 1]]).first());
        }
        way.reverse();
        trail.settle();
        trail.walk(side, &way);
        // The square that it came from last is beside and safe: the next shuttle.
        self.shuttles[own].squares = [end, way[depth - 1]];
        self.kings[own] = end;
        self.targets = targets(self.kings, &self.shuttles);
        self.reserved = reserved(self.kings, &self.shuttles);
        trail.shuttle([self.shuttles[0].squares, self.shuttles[1].squares]);
        true
    }

    /// The squares that a side's King can walk to, by the number of steps.
    fn reach_of_the_king(&self, side: Side, start: Square) -> Vec<B> {
        let ring = &self.rules.roles[0].steps[0];
        let occupied = self.board.occupied();
        let [a, b] = self.targets[side.other() as usize];
        let [own_a, own_b] = self.shuttles[side as usize].squares;
        let own = B::bit(own_a) | B::bit(own_b);
        let mut barred = occupied | ring[a] | ring[b] | (self.reserved & !own);
        let shuttle = &self.shuttles[side.other() as usize];
        if shuttle.piece.kind != 0 {
            barred |= shuttle.reach(self.rules);
        }
        let theirs = self.board.of(side.other());
        for s in theirs.squares() {
            let role = self.rules.role_at(self.board, s);
            barred |= self.rules.attacks(role, side.other(), s, occupied);
        }
        let mut reached = B::bit(start);
        let mut layers = Vec::with_capacity(LAYERS);
        layers.push(reached);
        loop {
            let mut next = B::EMPTY;
            for t in layers[layers.len() - 1].squares() {
                next |= ring[t];
            }
            let safe = next & !barred & !reached;
            if safe.is_empty() {
                return layers;
            }
            reached |= safe;
            layers.push(safe);
        }
    }

    /// How much room a King on this square leaves to the pieces that are left.
    fn room(&self, square: Square, walk: &Walk) -> usize {
        let height = usize::from(self.rules.variant.height);
        let (x, y) = (square / height, square % height);
        let mut sum = 0;
        for side in Side::BOTH {
            for t in self.board.of(side).squares() {
                let apart = x.abs_diff(t / height).max(y.abs_diff(t % height));
                sum += walk.distance * apart.min(3);
                sum += walk.ranks * self.ranks_from_far_side(side, square);
            }
        }
        sum
    }

    /// How many ranks a square is away from the far side of the board, as a side sees it.
    fn ranks_from_far_side(&self, side: Side, square: Square) -> usize {
        let height = usize::from(self.rules.variant.height);
        match side {
            Side::Black => square % height,
            Side::White => height - 1 - square % height,
        }
    }
}
