//! The ways back of all promoted steppers that walk alike, found at once.

use super::quiet::Quiet;
use crate::game::{Bits, Gait, Position, Role, Rules, Side, Square};

/// The most walks of a piece on its way home.
const LAYERS: usize = 16;

/// The free squares from which pieces that walk alike can go home, found from home outwards.
///
/// Home is every square from which a piece of each role among them can have come; a piece that could
/// only use a home of its own role waits for a trip of its own.
pub(super) struct Flood<'a, B> {
    rules: &'a Rules<B>,
    side: Side,
    gait: &'a Gait,
    /// The pieces that are to go.
    pieces: B,
    /// By role of the gait: where the unpromoted piece may have stood, attacking no King, on a file
    /// with room. Empty sets for roles without pieces here.
    homes: [B; MEMBERS],
    /// The squares that are one return away from a home of every role.
    doors: B,
    /// Where the promoted pieces may walk: free squares from which they attack no King.
    passable: B,
}

/// The most roles that walk alike.
const MEMBERS: usize = 8;

impl<'a, B: Bits> Flood<'a, B> {
    pub(super) fn new(quiet: &Quiet<'a, B>, side: Side, gait: &'a Gait, own: B) -> Self {
        let rules = quiet.rules;
        let occupied = quiet.board.occupied();
        let free = rules.board & !occupied & !quiet.reserved;
        let zone = rules.zone[side as usize];
        let mut flood = Flood {
            rules,
            side,
            gait,
            pieces: B::EMPTY,
            homes: [B::EMPTY; MEMBERS],
            doors: !B::EMPTY,
            passable: B::EMPTY,
        };
        for &index in &gait.roles {
            flood.pieces |= rules.roles[index].of(&quiet.board) & own;
        }
        if flood.pieces.is_empty() {
            return flood;
        }
        flood.passable = free & !quiet.loud(&rules.roles[gait.roles[0]], side, occupied);
        for (homes, &index) in flood.homes.iter_mut().zip(&gait.roles) {
            let role = &rules.roles[index];
            if (role.of(&quiet.board) & own).is_empty() {
                continue;
            }
            let before = rules.plain(role.kind);
            // The pieces themselves bar no slide of the unpromoted one: it leaves their squares.
            let loud = quiet.loud(before, side, occupied & !flood.pieces);
            *homes = free & !loud & !quiet.full_files(side, role.kind);
            flood.doors &= (rules.spread(before, side, *homes) & zone)
                | rules.spread(before, side, *homes & zone);
        }
        flood
    }

    /// Calls `touch` with the pieces that can go home after as many walks as there are layers.
    pub(super) fn run(&self, mut touch: impl FnMut(B, &[B])) {
        let rules = self.rules;
        let walker = &rules.roles[self.gait.roles[0]];
        let mut layers = [B::EMPTY; LAYERS];
        let (mut rest, mut flooded) = (self.pieces, B::EMPTY);
        let mut touched = self.doors;
        for walks in 0..LAYERS {
            let found = rest & touched;
            if !found.is_empty() {
                touch(found, &layers[..walks]);
                rest &= !found;
            }
            let fresh = touched & self.passable & !flooded;
            if rest.is_empty() || fresh.is_empty() {
                return;
            }
            layers[walks] = fresh;
            flooded |= fresh;
            touched = rules.spread(walker, self.side, fresh);
        }
    }

    /// The walk of a piece inwards through the layers, and the origin of its promotion.
    pub(super) fn way(
        &self,
        board: &Position<B>,
        start: Square,
        layers: &[B],
    ) -> (Vec<Square>, Square) {
        let rules = self.rules;
        let back = |role: &Role<B>, t: Square| rules.spread(role, self.side.other(), B::bit(t));
        let index = rules.role_index_at(board, start);
        let role = &rules.roles[index];
        let mut way = vec![start];
        let mut here = start;
        for &layer in layers.iter().rev() {
            here = (back(role, here) & layer).first();
            way.push(here);
        }
        let member = self.gait.roles.iter().position(|&r| r == index);
        let homes = self.homes[member.expect("the piece walks so")];
        let zone = rules.zone[self.side as usize];
        let origins = back(rules.plain(role.kind), here) & homes;
        let origins = if zone.has(here) {
            origins
        } else {
            origins & zone
        };
        (way, origins.first())
    }
}
