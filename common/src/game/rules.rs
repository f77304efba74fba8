//! What a variant's table implies, computed once: attacks, zones, standing squares.

use super::attacks::Bearings;
use super::bits::Bits;
use super::families::Families;
use super::geometry::Geometry;
use super::local::MirrorGroup;
use super::march::March;
use super::position::Side;
use super::roles::{Gait, Role};
use super::variant::Variant;

/// A square's index, `height * x + y`.
pub type Square = usize;

/// A variant with its tables, for sets of squares of type `B`.
///
/// Reversal costs no table: a piece of one side attacks s from t exactly when the same piece of the
/// other side, turned by 180 degrees, attacks t from s.
#[derive(Clone, Debug)]
pub struct Rules<B> {
    pub(crate) variant: &'static Variant,
    pub(crate) roles: Vec<Role<B>>,
    /// Where in `roles` each kind stands unpromoted; its promoted self follows at once.
    pub(crate) plain_roles: Vec<usize>,
    /// The indices of the roles that slide.
    pub(crate) slider_roles: Vec<usize>,
    /// The kinds that slide unpromoted, and those that do promoted.
    pub(crate) sliding_kinds: [Vec<usize>; 2],
    /// The promoted steppers, grouped by how they move.
    pub(crate) gaits: Vec<Gait<B>>,
    /// The kinds whose drop is restricted beyond standing: by file or by mate.
    pub(crate) restricted_kinds: Vec<usize>,
    /// Whence squares are attacked.
    pub(crate) bearings: Bearings<B>,
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
        let bearings = Bearings::new(&roles, squares);
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
        let sliding_kinds = [false, true].map(|promoted| {
            let sliders = roles.iter().filter(|role| !role.directions[0].is_empty());
            let sliders = sliders.filter(|role| role.promoted == promoted);
            sliders.map(|role| role.kind).collect()
        });
        Rules {
            variant,
            sliding_kinds,
            slider_roles: (0..roles.len())
                .filter(|&r| !roles[r].directions[0].is_empty())
                .collect(),
            gaits: Gait::group(&roles, variant),
            restricted_kinds: (0..variant.kinds.len())
                .filter(|&k| {
                    let kind = &variant.kinds[k];
                    kind.file_limit.is_some() || kind.mating_drop_forbidden
                })
                .collect(),
            bearings,
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
}

/// The kinds that can be in hand, in SFEN's order.
fn hand_order(variant: &Variant) -> Vec<usize> {
    let index = |letter| variant.kinds.iter().position(|k| k.letter == letter);
    variant.hand_order.chars().filter_map(index).collect()
}
