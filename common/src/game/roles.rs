//! Roles: kinds, promoted or not, and how they move.

use super::bits::Bits;
use super::march::March;
use super::pace::Pace;
use super::position::Position;

/// A kind, promoted or not: what decides how a piece moves.
#[derive(Clone, Debug)]
pub struct Role<B> {
    /// The kind's index.
    pub kind: usize,
    /// Whether promoted.
    pub promoted: bool,
    /// Whether it may promote.
    pub(crate) promotes: bool,
    /// Whether it moves across files and a file may hold only so many of it, so that its moves have to
    /// mind the limit as drops do.
    pub(crate) crowds: bool,
    /// Whether some of its moves do not go forward, so that it may leave its promotion zone.
    pub(crate) retreats: bool,
    /// `steps[side][s]`: the squares that a piece of `side` on s steps to.
    pub(crate) steps: [Vec<B>; 2],
    /// `sliders[side][s]`: the squares that it would slide to from s on an empty board.
    pub(crate) slides: [Vec<B>; 2],
    /// Its only step, by side, if it is unpromoted, has just one and no slide, and need not mind a
    /// file's limit: the Pawn's. All such pieces can take it at once.
    pub(crate) march: Option<[March<B>; 2]>,
    /// Its directions, steps and slides, as shifts of sets, by side.
    pub(crate) paces: [Vec<Pace<B>>; 2],
    /// Its slide directions by side: the index in `Rules::rays`, and whether squares ascend there.
    pub(crate) directions: [Vec<(usize, bool)>; 2],
}

impl<B: Bits> Role<B> {
    /// The pieces in this role, of both sides.
    #[inline]
    pub(crate) fn of(&self, position: &Position<B>) -> B {
        let all = position.kinds[self.kind];
        if self.promoted {
            all & position.promoted
        } else {
            all & !position.promoted
        }
    }
}

/// The promoted roles that move alike.
#[derive(Clone, Debug)]
pub(crate) struct Gait {
    /// Their indices.
    pub(crate) roles: Vec<usize>,
    /// Whether they slide.
    pub(crate) slides: bool,
}

impl Gait {
    pub(crate) fn group<B: Bits>(roles: &[Role<B>]) -> Vec<Gait> {
        let mut gaits: Vec<Gait> = Vec::new();
        for (index, role) in roles.iter().enumerate() {
            if !role.promoted {
                continue;
            }
            let alike = |gait: &&mut Gait| {
                let other = &roles[gait.roles[0]];
                other.steps == role.steps && other.slides == role.slides
            };
            match gaits.iter_mut().find(alike) {
                Some(gait) => gait.roles.push(index),
                None => gaits.push(Gait {
                    roles: vec![index],
                    slides: !role.directions[0].is_empty(),
                }),
            }
        }
        gaits
    }
}
