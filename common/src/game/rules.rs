//! What a variant's table implies, computed once: attacks, zones, standing squares.

use super::bits::Bits;
use super::families::Families;
use super::local::MirrorGroup;
use super::march::March;
use super::position::{Position, Side};
use super::variant::{Kind, Movement, Variant};

/// A square's index, `height * x + y`.
pub type Square = usize;

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
    /// `steps[side][s]`: the squares that a piece of `side` on s steps to.
    pub(crate) steps: [Vec<B>; 2],
    /// `sliders[side][s]`: the squares that it would slide to from s on an empty board.
    pub(crate) slides: [Vec<B>; 2],
    /// Its only step, by side, if it is unpromoted, has just one and no slide, and need not mind a
    /// file's limit: the Pawn's. All such pieces can take it at once.
    pub(crate) march: Option<[March<B>; 2]>,
    /// How a set of squares spreads by one step in each of its directions, slides included, by side:
    /// the squares from which the step stays on the board, and the distance in the word.
    pub(crate) spreads: [Vec<(B, i32)>; 2],
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

/// The promoted roles that step alike and slide nowhere.
#[derive(Clone, Debug)]
pub(crate) struct Gait {
    /// Their indices.
    pub(crate) roles: Vec<usize>,
}

impl Gait {
    fn group<B: Bits>(roles: &[Role<B>]) -> Vec<Gait> {
        let mut gaits: Vec<Gait> = Vec::new();
        for (index, role) in roles.iter().enumerate() {
            if !role.promoted || !role.directions[0].is_empty() {
                continue;
            }
            let alike = |gait: &&mut Gait| roles[gait.roles[0]].steps == role.steps;
            match gaits.iter_mut().find(alike) {
                Some(gait) => gait.roles.push(index),
                None => gaits.push(Gait { roles: vec![index] }),
            }
        }
        gaits
    }
}

/// Which pieces a role stands for.
#[derive(Clone, Copy, Debug)]
struct Mask {
    kind: usize,
    promoted: bool,
}

/// Whence a piece of one side in one role attacks one square.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bearing<B> {
    /// By a step.
    pub(crate) steps: B,
    /// By a slide, over empty squares.
    pub(crate) slides: B,
}

/// A variant with its tables, for sets of squares of type `B`.
///
/// Reversal costs no table: a piece of one side attacks s from t exactly when the same piece of the
/// other side, turned by 180 degrees, attacks t from s.
#[derive(Clone, Debug)]
pub struct Rules<B> {
    pub(crate) variant: &'static Variant,
    pub(crate) roles: Vec<Role<B>>,
    /// The roles without their tables.
    masks: Vec<Mask>,
    /// Where in `roles` each kind stands unpromoted; its promoted self follows at once.
    pub(crate) plain_roles: Vec<usize>,
    /// The indices of the roles that slide.
    pub(crate) slider_roles: Vec<usize>,
    /// The promoted steppers, grouped by how they move.
    pub(crate) gaits: Vec<Gait>,
    /// The kinds whose drop is restricted beyond standing: by file or by mate.
    pub(crate) restricted_kinds: Vec<usize>,
    /// `bearings[(side * squares + target) * (1 + roles)]`: the union over all roles, then each role;
    /// all that may attack one square lies together, since this is asked more than anything else.
    bearings: Vec<Bearing<B>>,
    /// `rays[d][s]`: the squares from s to the edge in direction d, s excluded.
    pub(crate) rays: Vec<Vec<B>>,
    /// `between[s * squares + t]`: the squares strictly between two that a slide direction joins;
    /// empty for all others.
    pub(crate) between: Vec<B>,
    /// All squares.
    pub(crate) board: B,
    /// Each file, by x.
    pub(crate) files: Vec<B>,
    /// The promotion zone by side.
    pub(crate) zone: [B; 2],
    /// `beyond_zone[side][d]`: the squares more than d ranks away from the side's zone.
    pub(crate) beyond_zone: [Vec<B>; 2],
    /// `standing[side][kind]`: where an unpromoted piece of the kind can still move some day.
    pub(crate) standing: [Vec<B>; 2],
    /// The ways of moving.
    pub(crate) families: Families<B>,
    /// How many bits of the word, above the board's, stay clear.
    pub(crate) unused: u32,
    /// The kinds that can be in hand, in SFEN's order.
    pub(crate) hand_order: Vec<usize>,
    /// The pieces in the order of the mirror comparison.
    pub(crate) mirror_groups: Vec<MirrorGroup>,
}

impl<B: Bits> Rules<B> {
    /// Computes the tables.
    ///
    /// # Panics
    /// If the board has more squares than `B` can hold or the table contradicts itself: a
    /// programmer's error in a constant.
    #[must_use]
    pub fn new(variant: &'static Variant) -> Self {
        let squares = variant.squares();
        assert!(squares <= B::CAPACITY, "{}: board too large", variant.id);
        let geometry = Geometry::of(variant);
        let mut directions: Vec<(i8, i8)> = Vec::new();
        for kind in variant.kinds {
            for movement in [Some(kind.moves), kind.promoted].into_iter().flatten() {
                for &(dx, dy) in movement.slides {
                    for direction in [(dx, dy), (-dx, -dy)] {
                        if !directions.contains(&direction) {
                            directions.push(direction);
                        }
                    }
                }
            }
        }
        assert!(
            directions.len() <= 8,
            "{}: more than 8 slide directions",
            variant.id
        );
        let rays: Vec<Vec<B>> = directions
            .iter()
            .map(|&d| (0..squares).map(|s| geometry.ray(s, d)).collect())
            .collect();
        let mut between = vec![B::EMPTY; squares * squares];
        for (ray, &(dx, dy)) in rays.iter().zip(&directions) {
            for s in 0..squares {
                let mut path = B::EMPTY;
                let mut here = geometry.shift(s, (dx, dy));
                while let Some(t) = here {
                    between[s * squares + t] = path;
                    path |= B::bit(t);
                    here = geometry.shift(t, (dx, dy));
                }
                debug_assert_eq!(path, ray[s]);
            }
        }
        let mut roles = Vec::new();
        let mut plain_roles = Vec::new();
        for (kind, entry) in variant.kinds.iter().enumerate() {
            plain_roles.push(roles.len());
            let mut role = geometry.role(kind, false, entry.moves, &directions);
            role.promotes = entry.promoted.is_some();
            let mut moves = entry.moves.steps.iter().chain(entry.moves.slides);
            role.crowds = entry.file_limit.is_some() && moves.any(|&(dx, _)| dx != 0);
            roles.push(role);
            if let Some(movement) = entry.promoted {
                roles.push(geometry.role(kind, true, movement, &directions));
            }
        }
        let mut bearings = Vec::new();
        for side in Side::BOTH {
            let turned = side.other() as usize;
            for target in 0..squares {
                let of_role = |role: &Role<B>| Bearing {
                    steps: role.steps[turned][target],
                    slides: role.slides[turned][target],
                };
                let all = roles.iter().map(of_role).fold(
                    Bearing {
                        steps: B::EMPTY,
                        slides: B::EMPTY,
                    },
                    |sum, one| Bearing {
                        steps: sum.steps | one.steps,
                        slides: sum.slides | one.slides,
                    },
                );
                bearings.push(all);
                bearings.extend(roles.iter().map(of_role));
            }
        }
        let rank_set = |ys: std::ops::Range<u8>| {
            let mut set = B::EMPTY;
            for x in 0..variant.width {
                for y in ys.clone() {
                    set |= B::bit(geometry.square(x, y));
                }
            }
            set
        };
        let (height, zone) = (variant.height, variant.zone);
        let board = rank_set(0..height);
        let zone = [rank_set(0..zone), rank_set(height - zone..height)];
        for role in &mut roles {
            if !role.promoted && !role.crowds && role.directions[0].is_empty() {
                let [black, white] = Side::BOTH.map(|side| {
                    let side = side as usize;
                    March::new(&role.steps[side], zone[side])
                });
                role.march = black.zip(white).map(<[March<B>; 2]>::from);
            }
        }
        let standing = Side::BOTH.map(|side| {
            variant
                .kinds
                .iter()
                .map(|kind| geometry.standing(kind, side))
                .collect()
        });
        let families = Families::new(&roles);
        let (hand_order, mirror_groups) = (hand_order(variant), MirrorGroup::list(variant));
        for kind in 0..variant.kinds.len() {
            assert!(
                kind == 0 || hand_order.contains(&kind),
                "{}: no place in hand for kind {kind}",
                variant.id
            );
            assert!(
                mirror_groups.iter().any(|group| group.kind == kind),
                "{}: no place in the mirror comparison for kind {kind}",
                variant.id
            );
        }
        Rules {
            variant,
            slider_roles: (0..roles.len())
                .filter(|&r| !roles[r].directions[0].is_empty())
                .collect(),
            gaits: Gait::group(&roles),
            restricted_kinds: (0..variant.kinds.len())
                .filter(|&k| {
                    let kind = &variant.kinds[k];
                    kind.file_limit.is_some() || kind.mating_drop_forbidden
                })
                .collect(),
            bearings,
            masks: roles
                .iter()
                .map(|role| Mask {
                    kind: role.kind,
                    promoted: role.promoted,
                })
                .collect(),
            roles,
            plain_roles,
            rays,
            between,
            board,
            files: (0..variant.width)
                .map(|x| {
                    let mut file = B::EMPTY;
                    for y in 0..height {
                        file |= B::bit(geometry.square(x, y));
                    }
                    file
                })
                .collect(),
            beyond_zone: [
                (variant.zone..height)
                    .map(|y| rank_set(y..height))
                    .collect(),
                (variant.zone..height)
                    .map(|y| rank_set(0..height - y))
                    .collect(),
            ],
            zone,
            standing,
            families,
            unused: u32::try_from(B::CAPACITY - squares).expect("a word has few bits"),
            hand_order,
            mirror_groups,
        }
    }

    /// The variant's table.
    #[must_use]
    pub fn variant(&self) -> &'static Variant {
        self.variant
    }

    /// The squares strictly between two that a slide direction joins; empty for all others.
    #[inline]
    #[must_use]
    pub fn between(&self, s: Square, t: Square) -> B {
        self.between[s * self.variant.squares() + t]
    }

    /// The squares that a piece of `side` in this role attacks from a square: its steps, and its
    /// slides up to and including the first occupied square.
    #[inline]
    #[must_use]
    pub(crate) fn attacks(&self, role: &Role<B>, side: Side, from: Square, occupied: B) -> B {
        let mut found = role.steps[side as usize][from];
        for &(direction, ascending) in &role.directions[side as usize] {
            let ray = self.rays[direction][from];
            let blockers = ray & occupied;
            found |= if blockers.is_empty() {
                ray
            } else {
                let first = if ascending {
                    blockers.first()
                } else {
                    blockers.last()
                };
                ray & !self.rays[direction][first]
            };
        }
        found
    }

    /// Where pieces of `side` in a role, on all squares of a set, can be after one step; a slide counts
    /// for its first square.
    #[inline]
    pub(crate) fn spread(&self, role: &Role<B>, side: Side, set: B) -> B {
        let mut found = B::EMPTY;
        for &(from, distance) in &role.spreads[side as usize] {
            let moved = set & from;
            found |= if distance > 0 {
                moved.up(distance.unsigned_abs())
            } else {
                moved.down(distance.unsigned_abs())
            };
        }
        found
    }

    /// The pieces of `by` that attack `target` when the occupied squares are `occupied`.
    ///
    /// Pieces of `by` outside `occupied` do not count: callers may ask "what if these were gone".
    #[inline]
    #[must_use]
    pub fn attackers(&self, position: &Position<B>, target: Square, by: Side, occupied: B) -> B {
        let mut found = B::EMPTY;
        let own = position.sides[by as usize] & occupied;
        let (all, bearings) = self.bearings(by, target);
        let near = own & all.steps;
        if !near.is_empty() {
            let near = [near & !position.promoted, near & position.promoted];
            for (role, bearing) in self.masks.iter().zip(bearings) {
                let set = position.kinds[role.kind] & near[usize::from(role.promoted)];
                found |= set & bearing.steps;
            }
        }
        let far = own & all.slides;
        if !far.is_empty() {
            for &role in &self.slider_roles {
                let set = self.roles[role].of(position) & far & bearings[role].slides;
                for s in set.squares() {
                    if (self.between(s, target) & occupied).is_empty() {
                        found |= B::bit(s);
                    }
                }
            }
        }
        found
    }

    /// Whether [`attackers`](Self::attackers) finds any.
    #[inline]
    #[must_use]
    pub fn is_attacked(
        &self,
        position: &Position<B>,
        target: Square,
        by: Side,
        occupied: B,
    ) -> bool {
        let own = position.sides[by as usize] & occupied;
        let (all, bearings) = self.bearings(by, target);
        let near = own & all.steps;
        if !near.is_empty() {
            let near = [near & !position.promoted, near & position.promoted];
            let mut found = B::EMPTY;
            for (role, bearing) in self.masks.iter().zip(bearings) {
                found |=
                    position.kinds[role.kind] & near[usize::from(role.promoted)] & bearing.steps;
            }
            if !found.is_empty() {
                return true;
            }
        }
        let far = own & all.slides;
        !far.is_empty()
            && self.slider_roles.iter().any(|&role| {
                let set = self.roles[role].of(position) & far & bearings[role].slides;
                set.squares()
                    .any(|s| (self.between(s, target) & occupied).is_empty())
            })
    }

    /// Whence all roles together, and each, of `by` attack a square.
    #[inline]
    pub(crate) fn bearings(&self, by: Side, target: Square) -> (&Bearing<B>, &[Bearing<B>]) {
        let row = 1 + self.roles.len();
        let start = (by as usize * self.variant.squares() + target) * row;
        (
            &self.bearings[start],
            &self.bearings[start + 1..start + row],
        )
    }

    /// Whether a side's King is attacked.
    #[inline]
    #[must_use]
    pub fn in_check(&self, position: &Position<B>, side: Side) -> bool {
        self.is_attacked(
            position,
            position.king(side),
            side.other(),
            position.occupied(),
        )
    }
}

/// The kinds that can be in hand, in SFEN's order.
fn hand_order(variant: &Variant) -> Vec<usize> {
    let index = |letter| variant.kinds.iter().position(|k| k.letter == letter);
    variant.hand_order.chars().filter_map(index).collect()
}

/// The plain coordinates from which the tables are made.
struct Geometry {
    width: i8,
    height: i8,
}

impl Geometry {
    fn of(variant: &Variant) -> Self {
        Geometry {
            width: variant.width.cast_signed(),
            height: variant.height.cast_signed(),
        }
    }

    fn square(&self, x: u8, y: u8) -> Square {
        usize::from(self.height.cast_unsigned()) * usize::from(x) + usize::from(y)
    }

    fn shift(&self, square: Square, (dx, dy): (i8, i8)) -> Option<Square> {
        let height = usize::from(self.height.cast_unsigned());
        let x = i8::try_from(square / height).ok()? + dx;
        let y = i8::try_from(square % height).ok()? + dy;
        let inside = (0..self.width).contains(&x) && (0..self.height).contains(&y);
        inside.then(|| self.square(x.cast_unsigned(), y.cast_unsigned()))
    }

    fn ray<B: Bits>(&self, square: Square, direction: (i8, i8)) -> B {
        let mut set = B::EMPTY;
        let mut here = self.shift(square, direction);
        while let Some(s) = here {
            set |= B::bit(s);
            here = self.shift(s, direction);
        }
        set
    }

    /// The squares from which a step stays on the board, and its distance in the word.
    fn spread<B: Bits>(&self, step: (i8, i8)) -> (B, i32) {
        let squares =
            usize::from(self.width.cast_unsigned()) * usize::from(self.height.cast_unsigned());
        let mut from = B::EMPTY;
        for s in 0..squares {
            if self.shift(s, step).is_some() {
                from |= B::bit(s);
            }
        }
        let distance = i32::from(self.height) * i32::from(step.0) + i32::from(step.1);
        (from, distance)
    }

    /// A direction as the side sees it.
    fn facing(side: Side, (dx, dy): (i8, i8)) -> (i8, i8) {
        match side {
            Side::Black => (dx, dy),
            Side::White => (-dx, -dy),
        }
    }

    fn role<B: Bits>(
        &self,
        kind: usize,
        promoted: bool,
        movement: Movement,
        directions: &[(i8, i8)],
    ) -> Role<B> {
        let squares =
            usize::from(self.width.cast_unsigned()) * usize::from(self.height.cast_unsigned());
        let steps = Side::BOTH.map(|side| {
            (0..squares)
                .map(|s| {
                    let mut set = B::EMPTY;
                    for &step in movement.steps {
                        if let Some(t) = self.shift(s, Self::facing(side, step)) {
                            set |= B::bit(t);
                        }
                    }
                    set
                })
                .collect()
        });
        let slides = Side::BOTH.map(|side| {
            (0..squares)
                .map(|s| {
                    let mut set = B::EMPTY;
                    for &slide in movement.slides {
                        set |= self.ray(s, Self::facing(side, slide));
                    }
                    set
                })
                .collect()
        });
        let indices = Side::BOTH.map(|side| {
            movement
                .slides
                .iter()
                .filter_map(|&slide| {
                    let facing = Self::facing(side, slide);
                    let index = directions.iter().position(|&d| d == facing)?;
                    Some((index, facing > (0, 0)))
                })
                .collect()
        });
        Role {
            kind,
            promoted,
            promotes: false,
            crowds: false,
            march: None,
            steps,
            slides,
            directions: indices,
            spreads: Side::BOTH.map(|side| {
                let moves = movement.steps.iter().chain(movement.slides);
                moves.map(|&m| self.spread(Self::facing(side, m))).collect()
            }),
        }
    }

    /// Where an unpromoted piece has at least one move on an otherwise empty board.
    fn standing<B: Bits>(&self, kind: &Kind, side: Side) -> B {
        let mut set = B::EMPTY;
        for x in 0..self.width.cast_unsigned() {
            for y in 0..self.height.cast_unsigned() {
                let s = self.square(x, y);
                let moves = kind.moves.steps.iter().chain(kind.moves.slides);
                if moves
                    .map(|&m| Self::facing(side, m))
                    .any(|m| self.shift(s, m).is_some())
                {
                    set |= B::bit(s);
                }
            }
        }
        set
    }
}
