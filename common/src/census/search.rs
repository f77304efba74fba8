//! The complete reverse search: best-first over all ancestors of a position.
//!
//! The published method takes, from the open list, a position with least H = 10 N + 10 P + D, where N
//! counts the pieces on the board other than Kings, P the promoted ones, and D how many ranks these
//! are away from their owners' promotion zones. Here ties go first in, first out; a position enters
//! the list once; the order in which predecessors are made is that of
//! [`Rules::predecessors`]. H only orders the work: a search that runs out of positions has seen every
//! ancestor, so its verdict does not depend on the order.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use hashbrown::HashTable;

use crate::game::{Bits, Position, Rules, Side, Unmove};

/// Whether a position can occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Some sequence of legal moves leads to it.
    Reachable,
    /// None does.
    Unreachable {
        /// The most plies that can be traced back: the largest breadth-first distance among its
        /// ancestors, 0 if it has no predecessor.
        depth: u32,
    },
    /// The search was stopped by its cap.
    Undecided,
}

/// What the published search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The verdict.
    pub verdict: Verdict,
    /// For a reachable position the un-moves from it to a KK position, in the order in which they are
    /// undone; empty otherwise.
    pub path: Vec<Unmove>,
    /// E: how many positions were taken from the open list.
    pub expansions: u64,
}

impl Search {
    /// L: how many positions the path holds, both ends included.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.path.len() as u64 + 1
    }
}

/// The published greedy best-first search, to the end or to `cap` expansions.
///
/// The position must satisfy the local rules, and the King of the side not to move must not be
/// attacked.
#[must_use]
pub fn published_search<B: Bits>(
    rules: &Rules<B>,
    position: &Position<B>,
    cap: Option<u64>,
) -> Search {
    let mut ancestors = Ancestors::new(rules, position);
    let found = ancestors.search(cap, |_, position| is_kings_only(position).then_some(()));
    Search {
        verdict: match found {
            Found::Goal(..) => Verdict::Reachable,
            Found::Exhausted => Verdict::Unreachable {
                depth: ancestors.depth(),
            },
            Found::Capped => Verdict::Undecided,
        },
        path: match found {
            Found::Goal(node, ()) => ancestors.path(node),
            _ => Vec::new(),
        },
        expansions: ancestors.expansions,
    }
}

/// Whether only the Kings are left on the board.
#[inline]
pub(crate) fn is_kings_only<B: Bits>(position: &Position<B>) -> bool {
    position.occupied() == position.kinds[0]
}

/// How a search over ancestors ended.
pub(crate) enum Found<T> {
    /// At a node that satisfied the goal.
    Goal(usize, T),
    /// Every ancestor was seen.
    Exhausted,
    /// At the cap.
    Capped,
}

/// A position and how its successor on the path was reached from it.
struct Node<B> {
    position: Position<B>,
    /// The node that this one is a predecessor of, and the un-move between; the root names itself.
    successor: usize,
    unmove: Option<Unmove>,
    fingerprint: u64,
}

/// The ancestors of a position found so far.
pub(crate) struct Ancestors<'a, B> {
    rules: &'a Rules<B>,
    nodes: Vec<Node<B>>,
    index: HashTable<u32>,
    /// The open list: node numbers by H.
    open: Vec<VecDeque<u32>>,
    /// No open node has a smaller H.
    least: usize,
    expansions: u64,
}

impl<'a, B: Bits> Ancestors<'a, B> {
    pub(crate) fn new(rules: &'a Rules<B>, root: &Position<B>) -> Self {
        let mut ancestors = Ancestors {
            rules,
            nodes: Vec::new(),
            index: HashTable::new(),
            open: Vec::new(),
            least: 0,
            expansions: 0,
        };
        ancestors.add(root, 0, None);
        ancestors
    }

    /// Takes nodes from the open list, least H first, until the goal accepts one.
    pub(crate) fn search<T>(
        &mut self,
        cap: Option<u64>,
        mut goal: impl FnMut(&Rules<B>, &Position<B>) -> Option<T>,
    ) -> Found<T> {
        let rules = self.rules;
        while let Some(node) = self.take() {
            if cap.is_some_and(|cap| self.expansions >= cap) {
                return Found::Capped;
            }
            self.expansions += 1;
            let position = self.nodes[node].position;
            if let Some(reached) = goal(rules, &position) {
                return Found::Goal(node, reached);
            }
            let _: ControlFlow<()> = rules.predecessors(&position, |unmove, before| {
                self.add(before, node, Some(unmove));
                ControlFlow::Continue(())
            });
        }
        Found::Exhausted
    }

    /// Takes nodes from the open list as [`search`](Self::search) does, but asks the goal about each
    /// ancestor as soon as it is found; never about the root and its predecessors.
    pub(crate) fn search_ahead<T>(
        &mut self,
        cap: Option<u64>,
        mut goal: impl FnMut(&Position<B>) -> Option<T>,
    ) -> Found<T> {
        let rules = self.rules;
        while let Some(node) = self.take() {
            if cap.is_some_and(|cap| self.expansions >= cap) {
                return Found::Capped;
            }
            self.expansions += 1;
            let position = self.nodes[node].position;
            let reached = rules.predecessors(&position, |unmove, before| {
                let known = self.nodes.len();
                self.add(before, node, Some(unmove));
                if node > 0 && self.nodes.len() > known {
                    if let Some(reached) = goal(before) {
                        return ControlFlow::Break(reached);
                    }
                }
                ControlFlow::Continue(())
            });
            if let ControlFlow::Break(reached) = reached {
                return Found::Goal(self.nodes.len() - 1, reached);
            }
        }
        Found::Exhausted
    }

    /// The un-moves from the root to a node.
    pub(crate) fn path(&self, node: usize) -> Vec<Unmove> {
        let mut path = Vec::new();
        let mut here = node;
        while let Some(unmove) = self.nodes[here].unmove {
            path.push(unmove);
            here = self.nodes[here].successor;
        }
        path.reverse();
        path
    }

    /// The largest breadth-first distance from the root among all ancestors, once all are known.
    pub(crate) fn depth(&self) -> u32 {
        let mut distance = vec![u32::MAX; self.nodes.len()];
        distance[0] = 0;
        let mut queue = VecDeque::from([0]);
        let mut deepest = 0;
        while let Some(node) = queue.pop_front() {
            deepest = distance[node];
            let _: ControlFlow<()> =
                self.rules
                    .predecessors(&self.nodes[node].position, |_, before| {
                        let next = self.find(before).expect("every ancestor is known");
                        if distance[next] == u32::MAX {
                            distance[next] = deepest + 1;
                            queue.push_back(next);
                        }
                        ControlFlow::Continue(())
                    });
        }
        deepest
    }

    fn find(&self, position: &Position<B>) -> Option<usize> {
        let found = self.index.find(position.fingerprint(), |&node| {
            self.nodes[node as usize].position == *position
        });
        found.map(|&node| node as usize)
    }

    fn add(&mut self, position: &Position<B>, successor: usize, unmove: Option<Unmove>) {
        let fingerprint = position.fingerprint();
        let known = self.index.find(fingerprint, |&node| {
            let node = &self.nodes[node as usize];
            node.fingerprint == fingerprint && node.position == *position
        });
        if known.is_some() {
            return;
        }
        let node = u32::try_from(self.nodes.len()).expect("memory ends before 2^32 positions do");
        self.nodes.push(Node {
            position: *position,
            successor,
            unmove,
            fingerprint,
        });
        let nodes = &self.nodes;
        self.index
            .insert_unique(fingerprint, node, |&node| nodes[node as usize].fingerprint);
        let h = heuristic(self.rules, position);
        if self.open.len() <= h {
            self.open.resize_with(h + 1, VecDeque::new);
        }
        self.open[h].push_back(node);
        self.least = self.least.min(h);
    }

    fn take(&mut self) -> Option<usize> {
        while self.least < self.open.len() {
            if let Some(node) = self.open[self.least].pop_front() {
                return Some(node as usize);
            }
            self.least += 1;
        }
        None
    }
}

/// H = 10 N + 10 P + D.
fn heuristic<B: Bits>(rules: &Rules<B>, position: &Position<B>) -> usize {
    let pieces = position.occupied().count() - 2;
    let mut h = 10 * pieces + 10 * position.promoted.count();
    for side in Side::BOTH {
        let own = position.promoted & position.of(side);
        for beyond in &rules.beyond_zone[side as usize] {
            h += (own & *beyond).count();
        }
    }
    h as usize
}
