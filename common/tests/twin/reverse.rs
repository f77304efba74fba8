//! Backward play: predecessors, all ancestors, and the published best-first search.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;

use super::hash::{Map, Set};
use super::{At, Mailbox, Piece, Twin};

/// What the published search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A KK position was taken from the open list.
    Reachable {
        /// From the root to the KK position, both included.
        path: Vec<Mailbox>,
        /// E: positions taken from the open list, the root and the KK position included.
        expansions: usize,
    },
    /// The open list ran empty.
    Unreachable {
        /// The largest breadth-first distance among the ancestors.
        depth: u32,
    },
}

/// What undoing moves onto a square has to know.
struct Landing {
    to: At,
    /// Where the King stands that must not be attacked before the move.
    king: At,
    /// What may have been captured there.
    captures: Vec<Piece>,
}

/// What a search fills. It is kept for the next one, for most of the time would go into growing it.
#[derive(Default)]
struct Workspace {
    /// Each position that was found, and the one that it was found from, by its place in `taken`.
    successors: Map<Mailbox, Option<usize>>,
    open: BinaryHeap<Reverse<(usize, Mailbox)>>,
    /// The positions taken from the open list.
    taken: Vec<Mailbox>,
}

impl Workspace {
    fn clear(&mut self) {
        self.successors.clear();
        self.open.clear();
        self.taken.clear();
    }
}

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

impl Twin {
    /// The positions from which one legal move leads here, in the documented order: for each square
    /// t ascending that holds a piece of the side that moved last, the undone drop, then the moves of
    /// the piece as it is now, then those of its unpromoted self, from f ascending; for each f first
    /// without a capture, then captures by kind ascending, unpromoted before promoted.
    ///
    /// In none of them is the King of the side that is to move here attacked.
    pub(crate) fn predecessors(&self, position: &Mailbox) -> Vec<Mailbox> {
        let mover = position.turn.other();
        let king = self.king(position, position.turn);
        let mut may_reply = None;
        let mut found = Vec::new();
        for to in self.squares() {
            let Some(piece) = position.at(to).filter(|p| p.side == mover) else {
                continue;
            };
            if !piece.promoted && piece.kind != 0 {
                let mut before = *position;
                before.turn = mover;
                before.set(to, None);
                before.hands[mover as usize][usize::from(piece.kind)] += 1;
                let kind = &self.variant.kinds[usize::from(piece.kind)];
                if !self.attacks(&before, mover, king)
                    && (!kind.mating_drop_forbidden
                        || *may_reply.get_or_insert_with(|| self.has_legal_move(position)))
                {
                    found.push(before);
                }
            }
            let landing = Landing {
                to,
                king,
                captures: self.captures(position, to),
            };
            self.undo_board_moves(position, &landing, piece, piece, &mut found);
            if piece.promoted {
                let before = Piece {
                    promoted: false,
                    ..piece
                };
                self.undo_board_moves(position, &landing, piece, before, &mut found);
            }
        }
        found
    }

    /// What the side that moved last may have captured on a square where it stands now, by kind
    /// ascending, unpromoted before promoted: pieces that it holds, as its opponent's. Where the
    /// capturing piece came from is the same to them, for it is not the opponent's.
    fn captures(&self, position: &Mailbox, to: At) -> Vec<Piece> {
        let mover = position.turn.other();
        let mut vacated = *position;
        vacated.set(to, None);
        let held = self
            .kinds()
            .filter(|&kind| position.hands[mover as usize][usize::from(kind)] > 0);
        held.flat_map(|kind| {
            [false, true].map(|promoted| Piece {
                side: position.turn,
                kind,
                promoted,
            })
        })
        .filter(|&piece| !piece.promoted || self.promotes(piece.kind))
        .filter(|&piece| self.may_place(&vacated, piece, to))
        .collect()
    }

    /// Moves of a piece that was `before` and is `now` where it landed.
    fn undo_board_moves(
        &self,
        position: &Mailbox,
        landing: &Landing,
        now: Piece,
        before: Piece,
        found: &mut Vec<Mailbox>,
    ) {
        let &Landing {
            to,
            king,
            ref captures,
        } = landing;
        let side = now.side;
        let promotes = now.promoted && !before.promoted;
        for from in self.squares() {
            if position.at(from).is_some()
                || !self.reaches(position, before, from, to)
                || (promotes && !self.in_zone(side, from) && !self.in_zone(side, to))
            {
                continue;
            }
            let mut quiet = *position;
            quiet.turn = side;
            quiet.set(to, None);
            if !self.may_place(&quiet, before, from) {
                continue;
            }
            quiet.set(from, Some(before));
            if !self.attacks(&quiet, side, king) {
                found.push(quiet);
            }
            // Whatever was captured bars the same lines to the King and is no attacker of his, so one
            // look is enough for all.
            let mut attacked = None;
            for &captured in captures {
                let mut capture = quiet;
                capture.hands[side as usize][usize::from(captured.kind)] -= 1;
                capture.set(to, Some(captured));
                if !*attacked.get_or_insert_with(|| self.attacks(&capture, side, king)) {
                    found.push(capture);
                }
            }
        }
    }

    /// Whether only the two Kings are on the board, and not adjacent.
    pub(crate) fn is_kings_only(&self, position: &Mailbox) -> bool {
        self.squares()
            .filter_map(|at| position.at(at))
            .all(|piece| piece.kind == 0)
            && !self.in_check(position, position.turn)
    }

    /// The published measure of what is left to undo: H = 10 N + 10 P + D.
    pub(crate) fn remaining(&self, position: &Mailbox) -> usize {
        position.weighed(&self.weights)
    }

    /// The published greedy best-first search: least H first, of equals the least position.
    pub(crate) fn published_search(&self, root: &Mailbox) -> Found {
        WORKSPACE.with_borrow_mut(|workspace| {
            workspace.clear();
            self.search_in(workspace, root)
        })
    }

    fn search_in(&self, workspace: &mut Workspace, root: &Mailbox) -> Found {
        let Workspace {
            successors,
            open,
            taken,
        } = workspace;
        successors.insert(*root, None);
        open.push(Reverse((self.remaining(root), *root)));
        while let Some(Reverse((_, position))) = open.pop() {
            taken.push(position);
            if self.is_kings_only(&position) {
                let mut path = vec![position];
                let mut here = position;
                while let Some(place) = successors[&here] {
                    here = taken[place];
                    path.push(here);
                }
                path.reverse();
                return Found::Reachable {
                    path,
                    expansions: taken.len(),
                };
            }
            for before in self.predecessors(&position) {
                if let Entry::Vacant(place) = successors.entry(before) {
                    place.insert(Some(taken.len() - 1));
                    open.push(Reverse((self.remaining(&before), before)));
                }
            }
        }
        let generations = self.ancestors(root);
        Found::Unreachable {
            depth: u32::try_from(generations.len() - 1).unwrap(),
        }
    }

    /// All ancestors, breadth first: `[d]` holds those whose shortest way to the root has d plies;
    /// the root itself is `[0]`.
    pub(crate) fn ancestors(&self, root: &Mailbox) -> Vec<Vec<Mailbox>> {
        let mut seen: Set<Mailbox> = Set::from_iter([*root]);
        let mut generations = vec![vec![*root]];
        loop {
            let mut older = Vec::new();
            for position in generations.last().unwrap() {
                for before in self.predecessors(position) {
                    if seen.insert(before) {
                        older.push(before);
                    }
                }
            }
            if older.is_empty() {
                return generations;
            }
            generations.push(older);
        }
    }
}
