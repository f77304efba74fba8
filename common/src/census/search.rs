//! The complete reverse search: best-first over all ancestors of a position.
//!
//! The published method takes, from the open list, a position with least H = 10 N + 10 P + D, where N
//! counts the pieces on the board other than Kings, P the promoted ones, and D how many ranks these
//! are away from their owners' promotion zones; of equals it takes the least [position](super::key).
//! A position enters the list once, from the first of its successors that is taken. All this only
//! orders the work: a search that runs out of positions has seen every ancestor, so its verdict does
//! not depend on the order.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::key::{Key, Keys};
use super::open::Open;
use crate::game::{Bits, Position, Rules, Unmove};

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

/// As many nodes as the published search finds in shogi at most, as a rule: room for them, made at once,
/// need not be made again and again.
const EXPECTED: usize = 50_000;

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
    let mut ancestors = Ancestors::new(rules, position, EXPECTED);
    let found = ancestors.search(cap, |position| is_kings_only(position).then_some(()));
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
    Goal(u32, T),
    /// Every ancestor was seen.
    Exhausted,
    /// At the cap.
    Capped,
}

/// The node that every search begins with.
const ROOT: u32 = 0;

/// How many keys lie together. Most searches find many times as many nodes, and one list of all would be
/// copied each time that it grows.
const CHUNK: u32 = 1 << 10;

/// The ancestors found so far, numbered in the order in which they were found, the root first.
struct Nodes {
    /// How many words a key takes.
    words: usize,
    /// The keys, `CHUNK` of them in each but the last.
    keys: Vec<Vec<u64>>,
    /// The node that each is a predecessor of; the root names itself.
    successors: Vec<u32>,
    index: HashTable<u32>,
}

impl Nodes {
    fn new(words: usize, expected: usize) -> Self {
        Nodes {
            words,
            keys: Vec::new(),
            successors: Vec::with_capacity(expected),
            index: HashTable::with_capacity(expected),
        }
    }

    fn words(&self, node: u32) -> &[u64] {
        words_of(&self.keys, self.words, node)
    }

    fn key(&self, node: u32) -> Key {
        Key::of_words(self.words(node))
    }

    fn find(&self, key: &Key) -> Option<u32> {
        let words = key.words(self.words);
        let found = (self.index).find(fingerprint(words), |&node| self.words(node) == words);
        found.copied()
    }

    /// The number of a key that is new.
    fn add(&mut self, key: &Key, successor: u32) -> Option<u32> {
        let (number, keys) = (self.words, &self.keys);
        let words = key.words(number);
        let entry = self.index.entry(
            fingerprint(words),
            |&node| words_of(keys, number, node) == words,
            |&node| fingerprint(words_of(keys, number, node)),
        );
        let Entry::Vacant(place) = entry else {
            return None;
        };
        let node = u32::try_from(self.successors.len()).expect("memory ends before 2^32 nodes do");
        place.insert(node);
        self.successors.push(successor);
        if node.is_multiple_of(CHUNK) {
            self.keys.push(Vec::with_capacity(CHUNK as usize * number));
        }
        self.keys[(node / CHUNK) as usize].extend_from_slice(words);
        Some(node)
    }
}

/// A node's key, of so many words.
#[inline]
fn words_of(keys: &[Vec<u64>], words: usize, node: u32) -> &[u64] {
    &keys[(node / CHUNK) as usize][(node % CHUNK) as usize * words..][..words]
}

/// A hash that costs a multiplication a word.
fn fingerprint(words: &[u64]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let sum = words.iter().fold(0_u64, |sum, word| {
        (sum.rotate_left(29) ^ word).wrapping_mul(ODD)
    });
    sum ^ (sum >> 32)
}

/// The ancestors of a position found so far.
pub(crate) struct Ancestors<'a, B> {
    rules: &'a Rules<B>,
    keys: Keys,
    nodes: Nodes,
    open: Open,
    expansions: u64,
}

impl<'a, B: Bits> Ancestors<'a, B> {
    /// The position alone; `expected`: how many nodes to make room for at once.
    pub(crate) fn new(rules: &'a Rules<B>, root: &Position<B>, expected: usize) -> Self {
        let keys = Keys::new(rules, root);
        let mut ancestors = Ancestors {
            rules,
            nodes: Nodes::new(keys.words(), expected),
            open: Open::default(),
            expansions: 0,
            keys,
        };
        ancestors.add(&ancestors.keys.key(root), ROOT);
        ancestors
    }

    /// Takes nodes from the open list, the least first, until the goal accepts one that is taken.
    pub(crate) fn search<T>(
        &mut self,
        cap: Option<u64>,
        goal: impl FnMut(&Position<B>) -> Option<T>,
    ) -> Found<T> {
        self.run(cap, goal, |_, _| None)
    }

    /// The same, but the goal is asked about each ancestor as soon as it is found; never about the root
    /// and its predecessors.
    pub(crate) fn search_ahead<T>(
        &mut self,
        cap: Option<u64>,
        mut goal: impl FnMut(&Position<B>) -> Option<T>,
    ) -> Found<T> {
        self.run(
            cap,
            |_| None,
            |successor, before| {
                if successor == ROOT {
                    None
                } else {
                    goal(before)
                }
            },
        )
    }

    /// Asks `taken` about each node that is taken, `found` about each new predecessor of such a node.
    fn run<T>(
        &mut self,
        cap: Option<u64>,
        mut taken: impl FnMut(&Position<B>) -> Option<T>,
        mut found: impl FnMut(u32, &Position<B>) -> Option<T>,
    ) -> Found<T> {
        let rules = self.rules;
        while let Some(node) = self.take() {
            if cap.is_some_and(|cap| self.expansions >= cap) {
                return Found::Capped;
            }
            self.expansions += 1;
            let key = self.nodes.key(node);
            let position = self.keys.position(&key);
            if let Some(reached) = taken(&position) {
                return Found::Goal(node, reached);
            }
            let reached = rules.predecessors(&position, |unmove, before| {
                let new = self.add(&self.keys.before(&key, unmove, before), node);
                let reached = new.and_then(|new| Some((new, found(node, before)?)));
                reached.map_or(ControlFlow::Continue(()), ControlFlow::Break)
            });
            if let ControlFlow::Break((new, reached)) = reached {
                return Found::Goal(new, reached);
            }
        }
        Found::Exhausted
    }

    /// The un-moves from the root to a node.
    ///
    /// They are not kept but found again: there are a hundred nodes on a path, and a thousand times as
    /// many beside it.
    pub(crate) fn path(&self, node: u32) -> Vec<Unmove> {
        let mut path = Vec::new();
        let mut here = node;
        while here != ROOT {
            let successor = self.nodes.successors[here as usize];
            path.push(self.unmove(successor, here));
            here = successor;
        }
        path.reverse();
        path
    }

    /// The un-move that leads from a node to its predecessor.
    fn unmove(&self, node: u32, predecessor: u32) -> Unmove {
        let (key, wanted) = (self.nodes.key(node), self.nodes.key(predecessor));
        let found = self
            .rules
            .predecessors(&self.keys.position::<B>(&key), |unmove, before| {
                if self.keys.before(&key, unmove, before) == wanted {
                    ControlFlow::Break(unmove)
                } else {
                    ControlFlow::Continue(())
                }
            });
        found.break_value().expect("a predecessor is found again")
    }

    /// The largest breadth-first distance from the root among all ancestors, once all are known.
    pub(crate) fn depth(&self) -> u32 {
        let mut distance = vec![u32::MAX; self.nodes.successors.len()];
        distance[ROOT as usize] = 0;
        let mut queue = VecDeque::from([ROOT]);
        let mut deepest = 0;
        while let Some(node) = queue.pop_front() {
            deepest = distance[node as usize];
            let key = self.nodes.key(node);
            let position = self.keys.position(&key);
            let _: ControlFlow<()> = self.rules.predecessors(&position, |unmove, before| {
                let next = self.nodes.find(&self.keys.before(&key, unmove, before));
                let next = next.expect("every ancestor is known");
                if distance[next as usize] == u32::MAX {
                    distance[next as usize] = deepest + 1;
                    queue.push_back(next);
                }
                ControlFlow::Continue(())
            });
        }
        deepest
    }

    /// The number of an ancestor that is new.
    fn add(&mut self, key: &Key, successor: u32) -> Option<u32> {
        let node = self.nodes.add(key, successor)?;
        self.open.push(node, |node| self.nodes.words(node));
        Some(node)
    }

    fn take(&mut self) -> Option<u32> {
        self.open.pop(|node| self.nodes.words(node))
    }
}
