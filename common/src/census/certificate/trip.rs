//! The way back of one promoted piece.

use super::quiet::Quiet;
use super::trail::Trail;
use crate::game::{Bits, Role, Side, Square};

/// The way back of one promoted piece over free squares, never attacking a King.
pub(super) struct Trip<'q, 'a, B> {
    pub(super) quiet: &'q Quiet<'a, B>,
    pub(super) side: Side,
    pub(super) now: &'q Role<B>,
    pub(super) before: &'q Role<B>,
    /// The other pieces.
    pub(super) others: B,
    /// Where it may not go: those and the shuttle squares.
    pub(super) blocked: B,
}

/// The most steps of a walk.
const LAYERS: usize = 16;

impl<B: Bits> Trip<'_, '_, B> {
    /// How many steps it takes until the piece is unpromoted, if there is a way.
    pub(super) fn run(&self, start: Square, trail: &mut impl Trail) -> Option<usize> {
        if let Some(f) = self.leave(start) {
            trail.unpromote(self.side, &[start], f);
            return Some(1);
        }
        let rules = self.quiet.rules;
        let loud = self.quiet.loud(self.now, self.side, self.others);
        let mut reached = B::bit(start);
        let mut layers = [B::EMPTY; LAYERS];
        layers[0] = reached;
        for last in 1..LAYERS {
            let mut next = B::EMPTY;
            for t in layers[last - 1].squares() {
                next |= rules.origins(self.now, self.side, t, self.blocked);
            }
            next &= !loud & !reached;
            if next.is_empty() {
                return None;
            }
            layers[last] = next;
            reached |= next;
            for t in next.squares() {
                if let Some(f) = self.leave(t) {
                    if trail.wants_squares() {
                        trail.unpromote(self.side, &self.way(&layers[..=last], t), f);
                    }
                    return Some(last + 1);
                }
            }
        }
        None
    }

    /// A square from which the unpromoted piece can have come to t.
    fn leave(&self, t: Square) -> Option<Square> {
        let rules = self.quiet.rules;
        let zone = rules.zone[self.side as usize];
        let mut origins = rules.origins(self.before, self.side, t, self.blocked);
        if !zone.has(t) {
            origins &= zone;
        }
        origins.squares().find(|&f| self.is_home(f))
    }

    /// Whether the unpromoted piece may have stood on f: within the limit of its file, and attacking
    /// no King in any phase.
    fn is_home(&self, f: Square) -> bool {
        let rules = self.quiet.rules;
        let turned = self.side.other() as usize;
        let quiet = self.quiet.targets[turned].iter().all(|&target| {
            let steps = self.before.steps[turned][target].has(f);
            let slides = self.before.slides[turned][target].has(f);
            let open = (rules.between(f, target) & self.others).is_empty();
            !(steps || (slides && open))
        });
        quiet && rules.file_allows(&self.quiet.board, self.side, self.before.kind, f)
    }

    /// The squares from the start to the end, one of each layer.
    fn way(&self, layers: &[B], end: Square) -> Vec<Square> {
        let mut way = vec![end];
        for layer in layers[..layers.len() - 1].iter().rev() {
            let here = way[way.len() - 1];
            let step = layer.squares().find(|&t| {
                let rules = self.quiet.rules;
                rules
                    .origins(self.now, self.side, t, self.blocked)
                    .has(here)
            });
            way.push(step.expect("each layer was reached from the one before"));
        }
        way.reverse();
        way
    }
}
