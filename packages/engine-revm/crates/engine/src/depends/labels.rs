use alloy_primitives::map::HashMap;

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

/// A fact and how: `fact << HOW_BITS | how`.
type Element = u32;

/// Sets of facts, each once. Ascending by fact, each fact once.
#[derive(Debug)]
pub struct Labels {
    sets: Vec<Box<[Element]>>,
    numbers: HashMap<Box<[Element]>, Label>,
    unions: HashMap<(Label, Label), Label>,
    /// Of each set; `NONE`: not made yet.
    raised: Vec<[Label; 1 << HOW_BITS]>,
    /// Of each fact alone.
    single: Vec<Option<Label>>,
    /// Since they were last taken: elements that were looked at, and those that were kept.
    work: u64,
    kept: u64,
}

impl Default for Labels {
    fn default() -> Self {
        let empty: Box<[Element]> = Box::default();
        Self {
            sets: vec![empty.clone()],
            numbers: [(empty, NONE)].into_iter().collect(),
            unions: HashMap::default(),
            raised: vec![[NONE; 1 << HOW_BITS]],
            single: Vec::new(),
            work: 0,
            kept: 0,
        }
    }
}

impl Labels {
    pub fn of(&mut self, fact: u32) -> Label {
        let index = fact as usize;
        if let Some(known) = self.single.get(index).copied().flatten() {
            return known;
        }
        let made = self.intern(vec![fact << HOW_BITS]);
        self.single.resize(self.single.len().max(index + 1), None);
        self.single[index] = Some(made);
        made
    }

    /// Facts of the set, and how.
    pub fn facts(&self, label: Label) -> impl Iterator<Item = (u32, How)> + '_ {
        self.sets[label as usize].iter().map(|element| (element >> HOW_BITS, (element & HOW_MASK) as How))
    }

    pub fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    pub fn take_kept(&mut self) -> u64 {
        std::mem::take(&mut self.kept)
    }

    pub fn union(&mut self, a: Label, b: Label) -> Label {
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
        let (left, right) = (&self.sets[a as usize], &self.sets[b as usize]);
        let mut merged = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (left.iter().copied().peekable(), right.iter().copied().peekable());
        loop {
            match (left.peek(), right.peek()) {
                (Some(l), Some(r)) if l >> HOW_BITS == r >> HOW_BITS => {
                    merged.push(l | r);
                    left.next();
                    right.next();
                }
                (Some(l), Some(r)) if l < r => merged.extend(left.next()),
                (Some(_), None) => merged.extend(left.next()),
                (_, Some(_)) => merged.extend(right.next()),
                (None, None) => break,
            }
        }
        let made = self.intern(merged);
        self.kept += 1;
        self.unions.insert(key, made);
        made
    }

    /// The same facts, made in this way too.
    pub fn raise(&mut self, label: Label, how: How) -> Label {
        if label == NONE || how == 0 {
            return label;
        }
        let known = self.raised[label as usize][usize::from(how)];
        if known != NONE {
            return known;
        }
        let made = self.sets[label as usize].iter().map(|element| element | u32::from(how)).collect();
        let made = self.intern(made);
        self.kept += 1;
        self.raised[label as usize][usize::from(how)] = made;
        made
    }

    /// The facts for which this holds: often all, or none.
    pub fn only(&mut self, label: Label, holds: impl Fn(u32, How) -> bool) -> Label {
        let set = &self.sets[label as usize];
        self.work += set.len() as u64;
        let holds = |element: &&Element| holds(**element >> HOW_BITS, (**element & HOW_MASK) as How);
        let count = set.iter().filter(&holds).count();
        if count == 0 {
            return NONE;
        }
        if count == set.len() {
            return label;
        }
        let kept = set.iter().filter(holds).copied().collect();
        self.intern(kept)
    }

    fn intern(&mut self, set: Vec<Element>) -> Label {
        self.work += set.len() as u64;
        if let Some(known) = self.numbers.get(set.as_slice()) {
            return *known;
        }
        // What its places in the maps take is about as much as some elements.
        self.kept += 2 + set.len() as u64 / 4;
        let number = self.sets.len() as Label;
        let set: Box<[Element]> = set.into();
        self.sets.push(set.clone());
        self.raised.push([NONE; 1 << HOW_BITS]);
        self.numbers.insert(set, number);
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
