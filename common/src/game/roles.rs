//! Roles: kinds, promoted or not, and how they move.

use super::bits::Bits;
use super::march::March;
use super::pace::Pace;
use super::position::{Position, Side};
use super::variant::Variant;

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
    /// `shuttles[s]`: where it can step from s and back; the first square of a slide counts as a step.
    pub(crate) shuttles: Vec<B>,
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
pub(crate) struct Gait<B> {
    /// Their indices.
    pub(crate) roles: Vec<usize>,
    /// Their kinds.
    kinds: Vec<usize>,
    /// Whether they slide.
    pub(crate) slides: bool,
    /// Whether they slide unpromoted just as they do promoted.
    pub(crate) slides_alike: bool,
    /// `sees[side][t]`: from where a piece of `side` that moves so, or one of its roles unpromoted, attacks
    /// t on an empty board.
    pub(crate) sees: [Vec<B>; 2],
    /// The pace straight ahead, by side, of those that have one unpromoted.
    pub(crate) ahead: [Option<Pace<B>>; 2],
    /// The unpromoted roles that have none.
    pub(crate) leapers: Vec<usize>,
    /// The pace straight back, by side.
    pub(crate) retreat: [Option<Pace<B>>; 2],
    /// All other paces, and that one too if they slide so, by side.
    pub(crate) others: [Vec<Pace<B>>; 2],
    /// The kinds among theirs of which a file may hold only so many, unpromoted.
    pub(crate) limited: Vec<usize>,
}

impl<B: Bits> Gait<B> {
    /// Groups a variant's roles; each unpromoted one stands before its promoted self.
    pub(crate) fn group(roles: &[Role<B>], variant: &Variant) -> Vec<Gait<B>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (index, role) in roles.iter().enumerate() {
            if !role.promoted {
                continue;
            }
            let alike = |group: &&mut Vec<usize>| {
                let other = &roles[group[0]];
                other.steps == role.steps && other.slides == role.slides
            };
            match groups.iter_mut().find(alike) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
        let limited = |kind: usize| variant.kinds[kind].file_limit.is_some();
        let gaits = groups.into_iter();
        gaits
            .map(|group| Gait::new(roles, group, limited))
            .collect()
    }

    /// The pieces of both sides that move so.
    #[inline]
    pub(crate) fn of(&self, position: &Position<B>) -> B {
        let mut all = B::EMPTY;
        for &kind in &self.kinds {
            all |= position.kinds[kind];
        }
        all & position.promoted
    }

    fn new(roles: &[Role<B>], group: Vec<usize>, limited: impl Fn(usize) -> bool) -> Self {
        let kinds: Vec<usize> = group.iter().map(|&index| roles[index].kind).collect();
        let plain = |&index: &usize| index - 1;
        let straight = |role: usize, side: Side, way: Side| {
            let mut paces = roles[role].paces[side as usize].iter();
            paces.find(|pace| pace.is_retreat(way)).copied()
        };
        let leaps = |&role: &usize| straight(role, Side::Black, Side::White).is_none();
        let sees = Side::BOTH.map(|side| {
            let turned = side.other() as usize;
            let squares = 0..roles[0].steps[turned].len();
            let seen_by = |role: usize, t: usize| {
                roles[role].steps[turned][t] | roles[role].slides[turned][t]
            };
            squares
                .map(|t| {
                    let all = group.iter().flat_map(|index| [*index, plain(index)]);
                    all.fold(B::EMPTY, |sum, role| sum | seen_by(role, t))
                })
                .collect()
        });
        Gait {
            slides: !roles[group[0]].directions[0].is_empty(),
            slides_alike: group
                .iter()
                .all(|index| roles[*index].slides == roles[plain(index)].slides),
            sees,
            ahead: Side::BOTH.map(|side| {
                let mut paces = group.iter().map(plain);
                paces.find_map(|role| straight(role, side, side.other()))
            }),
            leapers: group.iter().map(plain).filter(leaps).collect(),
            retreat: Side::BOTH.map(|side| straight(group[0], side, side)),
            others: Side::BOTH.map(|side| {
                let paces = roles[group[0]].paces[side as usize].iter();
                let others = paces.filter(|pace| pace.slides || !pace.is_retreat(side));
                others.copied().collect()
            }),
            limited: kinds
                .iter()
                .copied()
                .filter(|&kind| limited(kind))
                .collect(),
            kinds,
            roles: group,
        }
    }
}
