use alloy_primitives::{U256, map::HashMap};
use std::{cmp::Ordering, hash::BuildHasher, ops::Range};

/// A set of facts, by its number; `NONE` is the empty one.
pub type Label = u32;
pub const NONE: Label = 0;

/// How a word was made of a fact; none: it is the fact's own word, or an address in it.
pub type How = u8;
/// By arithmetic.
pub const COMPUTED: How = 1;
/// By a comparison, or what does for one: a remainder, a hash, a shift by it, a place in memory.
pub const SELECTED: How = 2;

const HOW_BITS: u32 = 2;
const HOW_MASK: u32 = (1 << HOW_BITS) - 1;

/// From here on labels are of words of which it is known, too, what they are later.
const LATER: Label = 1 << 31;
/// Words of which that is kept: some 500 kB.
const MOST_LATER: usize = 10_000;

/// A fact and how: `fact << HOW_BITS | how`.
type Element = u32;

/// Sets of facts, each once. Ascending by fact, each fact once.
#[derive(Debug)]
pub struct Labels {
    /// Of all sets, one after another.
    elements: Vec<Element>,
    /// Where each set ends; the empty one is the first.
    ends: Vec<usize>,
    /// By digests of sets.
    numbers: HashMap<u64, Label>,
    unions: HashMap<(Label, Label), Label>,
    /// Of each set; `NONE`: not made yet.
    raised: Vec<[Label; 1 << HOW_BITS]>,
    /// Of each fact alone; `NONE`: not made yet.
    single: Vec<Label>,
    /// The time, which is another one later; of each set whether it has it.
    passing: Option<u32>,
    passes: Vec<bool>,
    /// From `LATER` on: the label, and what the word is later.
    later: Vec<(Label, U256)>,
    /// Since they were last taken: elements that were looked at, and those that were kept.
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
            raised: vec![[NONE; 1 << HOW_BITS]],
            single: Vec::new(),
            passing: None,
            passes: vec![false],
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
            self.elements.push(fact << HOW_BITS);
            self.single[index] = self.intern();
        }
        self.single[index]
    }

    /// This fact is another one later.
    pub fn pass(&mut self, fact: u32) {
        self.passing = Some(fact);
    }

    /// The facts alone.
    pub fn plain(&self, label: Label) -> Label {
        label.checked_sub(LATER).map_or(label, |at| self.later[at as usize].0)
    }

    /// Whether a word may be another one later.
    pub fn passes(&self, label: Label) -> bool {
        self.passes[self.plain(label) as usize]
    }

    /// What a word is later; none where that is not known. @param now what it is
    pub fn later(&self, label: Label, now: U256) -> Option<U256> {
        match label.checked_sub(LATER) {
            Some(at) => Some(self.later[at as usize].1),
            None => (!self.passes(label)).then_some(now),
        }
    }

    /// The same facts, of a word that is this one later.
    pub fn with_later(&mut self, label: Label, later: U256) -> Label {
        if self.later.len() == MOST_LATER {
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

    /// Facts of the set, and how.
    pub fn facts(&self, label: Label) -> impl Iterator<Item = (u32, How)> + '_ {
        self.set(label).iter().map(|element| (element >> HOW_BITS, (element & HOW_MASK) as How))
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
            let (fact, other) = (l >> HOW_BITS, r >> HOW_BITS);
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

    /// The same facts, made in this way too.
    pub fn raise(&mut self, label: Label, how: How) -> Label {
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

    /// The facts for which this holds: often all, or none.
    pub fn only(&mut self, label: Label, holds: impl Fn(u32, How) -> bool) -> Label {
        let range = self.range(label);
        self.work += range.len() as u64;
        for at in range {
            let element = self.elements[at];
            if holds(element >> HOW_BITS, (element & HOW_MASK) as How) {
                self.elements.push(element);
            }
        }
        self.intern()
    }

    /// The set of the elements that were put behind all others.
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
        // Two sets may have the same digest.
        if known != number && self.set(known) == set {
            self.elements.truncate(from);
            return known;
        }
        // What its places in the maps take is about as much as some elements.
        self.kept += 2 + set.len() as u64 / 4;
        self.passes.push(self.passing.is_some_and(|fact| set.iter().any(|element| element >> HOW_BITS == fact)));
        self.ends.push(self.elements.len());
        self.raised.push([NONE; 1 << HOW_BITS]);
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
