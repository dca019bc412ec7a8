//! Sets of facts by number. A set never changes, so words that depend on the same facts share a number.

use alloy_primitives::{U256, map::HashMap};
use std::{cmp::Ordering, hash::BuildHasher, ops::Range};

/// The number of a set of facts. `NONE` is the empty set.
pub type Label = u32;
pub const NONE: Label = 0;

/// How a word was derived from a fact. 0: it is the fact's own word, or an address in it.
pub type Derivation = u8;
/// By arithmetic.
pub const COMPUTED: Derivation = 1;
/// By a comparison or an equivalent: a remainder, a hash, a shift by it, a memory position.
pub const SELECTED: Derivation = 2;

const DERIVATION_BITS: u32 = 2;
const DERIVATION_MASK: u32 = (1 << DERIVATION_BITS) - 1;

/// Labels from here on also have a known later value of the word.
const LATER: Label = 1 << 31;
/// Limit of words with a known later value: some 500 kB.
const MAX_LATER: usize = 10_000;

/// A fact and how it was used: `fact << DERIVATION_BITS | how`.
type Element = u32;

/// Interned sets of facts. A set is sorted by fact and has each fact once.
#[derive(Debug)]
pub struct Labels {
    /// The elements of all sets, in sequence.
    elements: Vec<Element>,
    /// The end of each set. The first is the empty one.
    ends: Vec<usize>,
    /// Sets by digest.
    numbers: HashMap<u64, Label>,
    unions: HashMap<(Label, Label), Label>,
    /// For each set, the sets raised from it; `NONE` if not made yet.
    raised: Vec<[Label; 1 << DERIVATION_BITS]>,
    /// For each fact, the set of it alone; `NONE` if not made yet.
    single: Vec<Label>,
    /// The time fact, whose value changes later; and for each set, whether it contains it.
    time_fact: Option<u32>,
    has_time: Vec<bool>,
    /// For labels from `LATER` on: the plain label, and the word's later value.
    later: Vec<(Label, U256)>,
    /// Elements looked at, and elements kept, since these were last taken.
    work: u64,
    kept: u64,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            elements: Vec::with_capacity(1024),
            ends: vec![0],
            numbers: HashMap::default(),
            unions: HashMap::default(),
            raised: vec![[NONE; 1 << DERIVATION_BITS]],
            single: Vec::new(),
            time_fact: None,
            has_time: vec![false],
            later: Vec::new(),
            work: 0,
            kept: 0,
        }
    }
}

impl Labels {
    pub fn of(&mut self, fact: u32) -> Label {
        let index = fact as usize;
        self.single.resize(self.single.len().max(index + 1), NONE);
        if self.single[index] == NONE {
            self.elements.push(fact << DERIVATION_BITS);
            self.single[index] = self.intern();
        }
        self.single[index]
    }

    /// Marks the fact whose value changes later.
    pub fn set_time_fact(&mut self, fact: u32) {
        self.time_fact = Some(fact);
    }

    /// The label without a later value.
    pub fn plain(&self, label: Label) -> Label {
        label.checked_sub(LATER).map_or(label, |at| self.later[at as usize].0)
    }

    /// Whether a word may have another value later.
    pub fn depends_on_time(&self, label: Label) -> bool {
        self.has_time[self.plain(label) as usize]
    }

    /// A word's later value; None if unknown. @param now its value now
    pub fn later(&self, label: Label, now: U256) -> Option<U256> {
        match label.checked_sub(LATER) {
            Some(at) => Some(self.later[at as usize].1),
            None => (!self.depends_on_time(label)).then_some(now),
        }
    }

    /// The same facts, with the word's later value.
    pub fn with_later(&mut self, label: Label, later: U256) -> Label {
        if self.later.len() == MAX_LATER {
            return label;
        }
        self.later.push((self.plain(label), later));
        LATER + self.later.len() as Label - 1
    }

    fn range(&self, label: Label) -> Range<usize> {
        let at = self.plain(label) as usize;
        at.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[at]
    }

    fn set(&self, label: Label) -> &[Element] {
        &self.elements[self.range(label)]
    }

    /// The facts in the set, and how the word was derived from each.
    pub fn facts(&self, label: Label) -> impl Iterator<Item = (u32, Derivation)> + '_ {
        self.set(label).iter().map(|element| (element >> DERIVATION_BITS, (element & DERIVATION_MASK) as Derivation))
    }

    pub fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    pub fn take_kept(&mut self) -> u64 {
        std::mem::take(&mut self.kept)
    }

    pub fn union(&mut self, a: Label, b: Label) -> Label {
        let (a, b) = (self.plain(a), self.plain(b));
        if a == b || b == NONE {
            return a;
        }
        if a == NONE {
            return b;
        }
        let key = (a.min(b), a.max(b));
        if let Some(known) = self.unions.get(&key) {
            return *known;
        }
        let (mut left, mut right) = (self.range(a), self.range(b));
        self.elements.reserve(left.len() + right.len());
        while !left.is_empty() && !right.is_empty() {
            let (l, r) = (self.elements[left.start], self.elements[right.start]);
            let (fact, other) = (l >> DERIVATION_BITS, r >> DERIVATION_BITS);
            self.elements.push(match fact.cmp(&other) {
                Ordering::Less => l,
                Ordering::Equal => l | r,
                Ordering::Greater => r,
            });
            left.start += usize::from(fact <= other);
            right.start += usize::from(other <= fact);
        }
        self.elements.extend_from_within(left);
        self.elements.extend_from_within(right);
        let made = self.intern();
        self.kept += 1;
        self.unions.insert(key, made);
        made
    }

    /// The same facts, also derived in this way.
    pub fn raise(&mut self, label: Label, how: Derivation) -> Label {
        let label = self.plain(label);
        if label == NONE || how == 0 {
            return label;
        }
        let known = self.raised[label as usize][usize::from(how)];
        if known != NONE {
            return known;
        }
        let from = self.elements.len();
        self.elements.extend_from_within(self.range(label));
        self.elements[from..].iter_mut().for_each(|element| *element |= u32::from(how));
        let made = self.intern();
        self.kept += 1;
        self.raised[label as usize][usize::from(how)] = made;
        made
    }

    /// The facts for which `holds` is true: often all, or none.
    pub fn only(&mut self, label: Label, holds: impl Fn(u32, Derivation) -> bool) -> Label {
        let range = self.range(label);
        self.work += range.len() as u64;
        for at in range {
            let element = self.elements[at];
            if holds(element >> DERIVATION_BITS, (element & DERIVATION_MASK) as Derivation) {
                self.elements.push(element);
            }
        }
        self.intern()
    }

    /// The number of the set whose elements were appended last.
    fn intern(&mut self) -> Label {
        let from = self.ends[self.ends.len() - 1];
        let set = &self.elements[from..];
        self.work += set.len() as u64;
        if set.is_empty() {
            return NONE;
        }
        let number = self.ends.len() as Label;
        let digest = self.numbers.hasher().hash_one(set);
        let known = *self.numbers.entry(digest).or_insert(number);
        // Different sets may have the same digest.
        if known != number && self.set(known) == set {
            self.elements.truncate(from);
            return known;
        }
        // Its map entries take about as much as this many elements.
        self.kept += 2 + set.len() as u64 / 4;
        self.has_time
            .push(self.time_fact.is_some_and(|fact| set.iter().any(|element| element >> DERIVATION_BITS == fact)));
        self.ends.push(self.elements.len());
        self.raised.push([NONE; 1 << DERIVATION_BITS]);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unites_facts_and_how_they_were_used() {
        let mut labels = Labels::default();
        let (one, two) = (labels.of(1), labels.of(2));
        let both = labels.union(one, two);
        assert_eq!(labels.union(two, one), both);
        assert_eq!(labels.union(both, one), both);
        let selected = labels.raise(one, SELECTED);
        let all = labels.union(both, selected);
        assert_eq!(labels.facts(all).collect::<Vec<_>>(), [(1, SELECTED), (2, 0)]);
        assert_eq!(labels.only(all, |fact, _| fact == 2), two);
    }
}
