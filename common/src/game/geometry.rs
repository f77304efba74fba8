//! The plain coordinates from which all tables are made.

use super::bits::Bits;
use super::pace::Pace;
use super::position::Side;
use super::roles::Role;
use super::rules::Square;
use super::variant::{Kind, Movement, Variant};

/// The plain coordinates from which the tables are made.
pub(crate) struct Geometry {
    width: i8,
    height: i8,
}

impl Geometry {
    pub(crate) fn of(variant: &Variant) -> Self {
        Geometry {
            width: variant.width.cast_signed(),
            height: variant.height.cast_signed(),
        }
    }

    pub(crate) fn square(&self, x: u8, y: u8) -> Square {
        usize::from(self.height.cast_unsigned()) * usize::from(x) + usize::from(y)
    }

    pub(crate) fn shift(&self, square: Square, (dx, dy): (i8, i8)) -> Option<Square> {
        let height = usize::from(self.height.cast_unsigned());
        let x = i8::try_from(square / height).ok()? + dx;
        let y = i8::try_from(square % height).ok()? + dy;
        let inside = (0..self.width).contains(&x) && (0..self.height).contains(&y);
        inside.then(|| self.square(x.cast_unsigned(), y.cast_unsigned()))
    }

    pub(crate) fn ray<B: Bits>(&self, square: Square, direction: (i8, i8)) -> B {
        let mut set = B::EMPTY;
        let mut here = self.shift(square, direction);
        while let Some(s) = here {
            set |= B::bit(s);
            here = self.shift(s, direction);
        }
        set
    }

    /// A step in one direction, repeated if it is a slide.
    fn pace<B: Bits>(&self, step: (i8, i8), slides: bool) -> Pace<B> {
        let squares =
            usize::from(self.width.cast_unsigned()) * usize::from(self.height.cast_unsigned());
        let mut arrivals = B::EMPTY;
        for s in 0..squares {
            if let Some(t) = self.shift(s, step) {
                arrivals |= B::bit(t);
            }
        }
        let distance = i32::from(self.height) * i32::from(step.0) + i32::from(step.1);
        Pace::new(arrivals, distance, slides)
    }

    /// A direction as the side sees it.
    pub(crate) fn facing(side: Side, (dx, dy): (i8, i8)) -> (i8, i8) {
        match side {
            Side::Black => (dx, dy),
            Side::White => (-dx, -dy),
        }
    }

    pub(crate) fn role<B: Bits>(
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
            retreats: movement
                .steps
                .iter()
                .chain(movement.slides)
                .any(|&(_, dy)| dy >= 0),
            march: None,
            steps,
            slides,
            directions: indices,
            shuttles: (0..squares)
                .map(|s| {
                    let all = [movement.steps, movement.slides].concat();
                    let mut set = B::EMPTY;
                    for &(dx, dy) in &all {
                        let back = all.contains(&(-dx, -dy));
                        if let Some(t) = self.shift(s, (dx, dy)).filter(|_| back) {
                            set |= B::bit(t);
                        }
                    }
                    set
                })
                .collect(),
            paces: Side::BOTH.map(|side| {
                let steps = movement.steps.iter().map(|&m| (m, false));
                let slides = movement.slides.iter().map(|&m| (m, true));
                let all = steps.chain(slides);
                all.map(|(m, slides)| self.pace(Self::facing(side, m), slides))
                    .collect()
            }),
        }
    }

    /// Where an unpromoted piece has at least one move on an otherwise empty board.
    pub(crate) fn standing<B: Bits>(&self, kind: &Kind, side: Side) -> B {
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
