//! Why a position has no predecessor: what stands against every last move that one could think of.

use crate::game::{Bits, Move, Piece, Position, Rules, Square, Unmove};

use super::{piece_on, pieces_on, squares_named};

/// The most lines about movers where no attack narrows them down.
const MOST: usize = 12;

/// Why no move can have led to a position that satisfies the local rules.
///
/// The last move must account for the attacks on the King of the side to move: the piece that moved
/// attacks it now, or opened the line of one that does.
pub(super) fn why_none(rules: &Rules<u128>, position: &Position<u128>) -> Vec<String> {
    let scene = Scene {
        rules,
        position,
        king: position.king(position.turn()),
    };
    let checkers = rules.checkers(position, position.turn());
    let (owner, mover) = (position.turn(), position.turn().other());
    let king = piece_on(rules, position, scene.king);
    let mut lines = Vec::new();
    if checkers.is_empty() {
        lines.push(format!(
            "{owner} is to move, and no piece of {mover} can have moved last:"
        ));
        scene.every_mover(&mut lines);
        return lines;
    }
    lines.push(format!(
        "{owner}'s {king} is attacked by {}, and {mover} made the last move.",
        pieces_on(rules, position, checkers)
    ));
    let all: Vec<Square> = checkers.squares().collect();
    match all[..] {
        [only] => scene.single(only, &mut lines),
        [a, b] => {
            if scene.line(a).is_empty() && scene.line(b).is_empty() {
                lines.push(
                    "Neither attack can have been blocked before, and one move brings only one such attack."
                        .to_owned(),
                );
            } else {
                scene.pair(a, b, &mut lines);
                scene.pair(b, a, &mut lines);
            }
        }
        _ => lines.push(
            "One move brings at most two attacks: that of the piece that moves, and one along a line that it opens."
                .to_owned(),
        ),
    }
    lines
}

struct Scene<'a> {
    rules: &'a Rules<u128>,
    position: &'a Position<u128>,
    /// The square of the King of the side to move.
    king: Square,
}

/// Why a last move that the pieces' ways allow can't have been.
#[derive(PartialEq, Eq)]
enum Obstacle {
    /// The piece attacked the King from where it came.
    Itself,
    /// These pieces attacked the King already.
    Others(u128),
    /// Two Pawns of one side would have stood on a file.
    TwoPawns,
}

/// A way of having come to a square.
struct Way {
    from: Square,
    promoting: bool,
    obstacle: Obstacle,
}

impl Scene<'_> {
    /// The squares where the attack of a piece on the King can be blocked.
    fn line(&self, checker: Square) -> u128 {
        self.rules.between(checker, self.king)
    }

    fn name(&self, square: Square) -> String {
        piece_on(self.rules, self.position, square)
    }

    /// One checker: it came last, or another piece left its line.
    fn single(&self, checker: Square, lines: &mut Vec<String>) {
        lines.push(format!("If the {} came last:", self.name(checker)));
        self.drop_of(checker, lines);
        self.ways(
            checker,
            !0,
            "no square that it can have come from is free",
            lines,
        );
        let line = self.line(checker);
        if line.is_empty() {
            lines.push(
                "Nothing can have blocked its attack, so no other piece came last.".to_owned(),
            );
            return;
        }
        let squares = squares_named(self.rules, line, "or");
        let before = lines.len();
        for other in self.movers().squares().filter(|&other| other != checker) {
            if !self.ways_from(other, line).is_empty() {
                lines.push(format!(
                    "If the {} came last and had blocked it on {squares}:",
                    self.name(other)
                ));
                self.ways(other, line, "", lines);
            }
        }
        if lines.len() == before {
            lines.push(format!(
                "No other piece can have blocked it before: none can have come from {squares}."
            ));
        }
    }

    /// Two checkers, of which the first came last.
    fn pair(&self, first: Square, other: Square, lines: &mut Vec<String>) {
        let (first_name, other_name) = (self.name(first), self.name(other));
        let line = self.line(other);
        if line.is_empty() {
            lines.push(format!(
                "If the {first_name} came last, the attack of the {other_name}, which nothing can block, was there before."
            ));
            return;
        }
        lines.push(format!(
            "If the {first_name} came last, it had blocked the {other_name} on {}:",
            squares_named(self.rules, line, "or")
        ));
        self.ways(first, line, "it can't have come from there", lines);
    }

    /// No checker: any piece may have come last.
    fn every_mover(&self, lines: &mut Vec<String>) {
        let start = lines.len();
        for square in self.movers().squares() {
            let mut about = Vec::new();
            self.drop_of(square, &mut about);
            self.ways(
                square,
                !0,
                "no square that it can have come from is free",
                &mut about,
            );
            lines.push(format!("the {}:", self.name(square)));
            lines.extend(about);
        }
        let left_out = lines.len().saturating_sub(start + MOST);
        if left_out > 0 {
            lines.truncate(start + MOST);
            lines.push(format!("and {left_out} lines more like these."));
        }
    }

    fn movers(&self) -> u128 {
        self.position.of(self.position.turn().other())
    }

    /// Why a piece was not dropped.
    fn drop_of(&self, square: Square, lines: &mut Vec<String>) {
        let Some(piece) = self.position.at(square) else {
            return;
        };
        if piece.kind == 0 || piece.promoted {
            return;
        }
        let before = self.rules.undo(
            self.position,
            Unmove::Drop {
                kind: piece.kind,
                to: square,
            },
        );
        let attackers = self.rules.checkers(&before, self.position.turn());
        if attackers.is_empty() {
            lines.push(format!(
                "- it was not dropped: a {} may not be dropped where the opponent has no legal move left;",
                self.rules.variant().kinds[piece.kind].name
            ));
        } else {
            let by = pieces_on(self.rules, self.position, attackers);
            lines.push(format!("- dropped: {};", already(&by)));
        }
    }

    /// What stands against each way in which the piece on `to` can have come from one of `origins`,
    /// or that there is none.
    fn ways(&self, to: Square, origins: u128, none: &str, lines: &mut Vec<String>) {
        let ways = self.ways_from(to, origins);
        if ways.is_empty() {
            lines.push(format!("- {none}."));
        }
        let mut groups: Vec<(Obstacle, u128, bool)> = Vec::new();
        for way in ways {
            let from = u128::bit(way.from);
            match groups.iter_mut().find(|group| group.0 == way.obstacle) {
                Some((_, set, promoting)) => {
                    *set |= from;
                    *promoting &= way.promoting;
                }
                None => groups.push((way.obstacle, from, way.promoting)),
            }
        }
        for (obstacle, from, promoting) in groups {
            let why = match obstacle {
                Obstacle::TwoPawns => "it would have been a second Pawn on the file".to_owned(),
                Obstacle::Itself => already("it"),
                Obstacle::Others(by) => already(&pieces_on(self.rules, self.position, by)),
            };
            let promoting = if promoting { ", promoting" } else { "" };
            let from = squares_named(self.rules, from, "or");
            lines.push(format!("- from {from}{promoting}: {why};"));
        }
    }

    fn ways_from(&self, to: Square, origins: u128) -> Vec<Way> {
        let Some(piece) = self.position.at(to) else {
            return Vec::new();
        };
        let squares = self.rules.variant().squares();
        let free = (0..squares)
            .filter(|&from| origins.has(from) && from != to && !self.position.occupied().has(from));
        free.flat_map(|from| {
            let promotions: &[bool] = if piece.promoted {
                &[false, true]
            } else {
                &[false]
            };
            promotions
                .iter()
                .filter_map(move |&promoting| self.way(piece, from, to, promoting))
        })
        .collect()
    }

    /// The way from one square to another with what stands against it, if the piece can go it.
    ///
    /// A capture leaves the square that it came to occupied, so that fewer lines are open: what stands
    /// against a capture stands against the same move without one.
    fn way(&self, piece: Piece, from: Square, to: Square, promoting: bool) -> Option<Way> {
        let unmove = |captured| Unmove::Board {
            from,
            to,
            promoted: promoting,
            captured,
        };
        let quiet = self.rules.undo(self.position, unmove(None));
        let moved = Move::Board {
            from,
            to,
            promote: promoting,
        };
        if !self.rules.is_legal(&quiet, moved) || self.rules.has_immobile(&quiet) {
            return None;
        }
        if self.rules.has_two_pawns(&quiet) {
            return Some(Way {
                from,
                promoting,
                obstacle: Obstacle::TwoPawns,
            });
        }
        let variant = self.rules.variant();
        let held = self.position.hand(piece.side);
        let captures = (1..variant.kinds.len())
            .filter(|&kind| held[kind] > 0)
            .flat_map(|kind| [(kind, false), (kind, true)])
            .filter(|&(kind, promoted)| !promoted || variant.kinds[kind].promoted.is_some())
            .map(|captured| self.rules.undo(self.position, unmove(Some(captured))))
            .find(|before| !self.rules.has_two_pawns(before) && !self.rules.has_immobile(before));
        let before = captures.unwrap_or(quiet);
        let attackers = self.rules.checkers(&before, self.position.turn());
        let others = attackers & !u128::bit(from);
        Some(Way {
            from,
            promoting,
            obstacle: if others.is_empty() {
                Obstacle::Itself
            } else {
                Obstacle::Others(others)
            },
        })
    }
}

/// That pieces attacked the King before the last move.
fn already(by: &str) -> String {
    format!("{by} would already have attacked the King")
}
