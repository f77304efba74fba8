//! What a certificate leaves behind: nothing while counting, the actual un-moves when asked.

use crate::game::{Bits, Position, Rules, Side, Square, Unmove};

/// The two squares of each side's shuttle.
pub(in crate::census) type Squares = [[Square; 2]; 2];

/// Receives the steps of a certificate in the order in which they are undone.
pub(in crate::census) trait Trail {
    /// The sides undo drops in turn, `first` first, on all squares of a set each, those of `last` last.
    fn undrop_in_turn<B: Bits>(&mut self, first: Side, sets: [B; 2], last: B);
    /// From here on the sides may pass between these squares; each shuttle stands on one of them.
    fn shuttle(&mut self, shuttles: Squares);
    /// The sides pass until both shuttles stand on their first squares.
    fn settle(&mut self);
    /// Drops of `side` on all these squares are undone, in any order.
    fn undrop_all<B: Bits>(&mut self, side: Side, squares: B);
    /// A promoted piece of `side` walks back along `way`, returns unpromoted to `origin`, and its drop
    /// there is undone.
    fn unpromote(&mut self, side: Side, way: &[Square], origin: Square);
    /// The King of `side` walks back along `way`.
    fn walk(&mut self, side: Side, way: &[Square]);
    /// Whether the way of a walk is worth finding.
    fn wants_squares(&self) -> bool {
        true
    }
}

/// The trail of the count: only the verdict matters.
impl Trail for () {
    #[inline]
    fn undrop_in_turn<B: Bits>(&mut self, _: Side, _: [B; 2], _: B) {}
    #[inline]
    fn shuttle(&mut self, _: Squares) {}
    #[inline]
    fn settle(&mut self) {}
    #[inline]
    fn undrop_all<B: Bits>(&mut self, _: Side, _: B) {}
    #[inline]
    fn unpromote(&mut self, _: Side, _: &[Square], _: Square) {}
    #[inline]
    fn walk(&mut self, _: Side, _: &[Square]) {}
    #[inline]
    fn wants_squares(&self) -> bool {
        false
    }
}

/// One step of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::census) enum Step {
    Undrop(Side, Square),
    Shuttle(Squares),
    Settle,
    /// A piece returns from the first square to the second, unpromoted if the flag is set.
    Return(Side, Square, Square, bool),
}

impl Trail for Vec<Step> {
    fn undrop_in_turn<B: Bits>(&mut self, first: Side, sets: [B; 2], last: B) {
        let [ours, mut theirs] =
            sets.map(|set| (set & !last).squares().chain((set & last).squares()));
        for square in ours {
            self.push(Step::Undrop(first, square));
            self.extend(theirs.next().map(|s| Step::Undrop(first.other(), s)));
        }
    }
    fn shuttle(&mut self, shuttles: Squares) {
        self.push(Step::Shuttle(shuttles));
    }
    fn settle(&mut self) {
        self.push(Step::Settle);
    }
    fn undrop_all<B: Bits>(&mut self, side: Side, squares: B) {
        self.extend(squares.squares().map(|s| Step::Undrop(side, s)));
    }
    fn walk(&mut self, side: Side, way: &[Square]) {
        for pair in way.windows(2) {
            self.push(Step::Return(side, pair[0], pair[1], false));
        }
    }
    fn unpromote(&mut self, side: Side, way: &[Square], origin: Square) {
        self.walk(side, way);
        if let Some(&last) = way.last() {
            self.push(Step::Return(side, last, origin, true));
        }
        self.push(Step::Undrop(side, origin));
    }
}

/// The un-moves that a certificate's steps stand for, played from the position that it certifies:
/// whenever the other side would have to move, it passes with its shuttle.
pub(in crate::census) fn expand<B: Bits>(
    rules: &Rules<B>,
    position: &Position<B>,
    steps: &[Step],
) -> Vec<Unmove> {
    let mut walk = Walk {
        rules,
        position: *position,
        shuttles: None,
        unmoves: Vec::new(),
    };
    for step in steps {
        match *step {
            Step::Shuttle(shuttles) => walk.shuttles = Some(shuttles),
            Step::Settle => walk.settle(),
            Step::Undrop(side, square) => {
                walk.hand_over_to(side);
                let kind = rules.role_at(&walk.position, square).kind;
                walk.undo(Unmove::Drop { kind, to: square });
            }
            Step::Return(side, to, from, promoted) => {
                walk.hand_over_to(side);
                walk.undo(Unmove::Board {
                    from,
                    to,
                    promoted,
                    captured: None,
                });
            }
        }
    }
    walk.unmoves
}

/// A position on its way back.
struct Walk<'a, B> {
    rules: &'a Rules<B>,
    position: Position<B>,
    shuttles: Option<Squares>,
    unmoves: Vec<Unmove>,
}

impl<B: Bits> Walk<'_, B> {
    /// Makes `side` the one that made the last move.
    fn hand_over_to(&mut self, side: Side) {
        if self.position.turn() == side {
            self.pass();
        }
    }

    /// Passes until both shuttles stand on their first squares. They pass in turn, so each of the four
    /// phases comes within four passes.
    fn settle(&mut self) {
        let firsts = self.shuttles.expect("only shuttles settle");
        let firsts = firsts.map(|[first, _]| first);
        while Side::BOTH
            .iter()
            .any(|&side| !self.position.of(side).has(firsts[side as usize]))
        {
            self.pass();
        }
    }

    /// The side that made the last move undoes one of its shuttle's.
    fn pass(&mut self) {
        let mover = self.position.turn().other();
        let shuttles = self.shuttles.expect("a prelude takes turns");
        let [mut from, mut to] = shuttles[mover as usize];
        if self.position.of(mover).has(from) {
            (from, to) = (to, from);
        }
        self.undo(Unmove::Board {
            from,
            to,
            promoted: false,
            captured: None,
        });
    }

    fn undo(&mut self, unmove: Unmove) {
        self.position = self.rules.undo(&self.position, unmove);
        self.unmoves.push(unmove);
    }
}
