use super::{
    fact::{Dependencies, FactKey, FactKind, Facts, reached},
    labels::{How, Label, Labels, NONE, SELECTED},
    shadow::{Opening, Returned, Shadow},
    spans::Spans,
};
use alloy_primitives::{
    Address, U256,
    map::{AddressMap, HashMap},
};
use std::rc::Rc;

/// Steps, and pieces that are looked at or copied: some seconds.
const MOST_WORK: u64 = 16_000_000;
/// Pieces that are kept, each once though it is given up since: elements of sets, spans, words. Some 32 MB.
const MOST_KEPT: u64 = 500_000;
const MOST_FACTS: usize = 8_192;

/// Follows facts through the calls of a plan.
#[derive(Debug, Default)]
pub struct Tracker {
    pub facts: Facts,
    pub labels: Labels,
    frames: Vec<Shadow>,
    words: HashMap<Word, Label>,
    balances: AddressMap<Label>,
    /// Of what creations deployed.
    codes: AddressMap<Rc<Spans>>,
    journal: Vec<Undo>,
    /// What surrounds the call and has decided a branch of it: what is written from then on hangs on it.
    pub decided: Label,
    /// By label: a branch on it says nothing new of this call.
    settled: Vec<bool>,
    work: u64,
    kept: u64,
}

/// A word that outlives its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Word {
    pub account: Address,
    pub slot: U256,
    pub is_transient: bool,
}

#[derive(Debug)]
enum Undo {
    Word(Word, Option<Label>),
    Balance(Address, Option<Label>),
}

/// What the side of a branch leads to that is not taken.
#[derive(Clone, Copy, Debug)]
pub enum Avoided {
    /// Nothing else.
    Error,
    /// A transfer, an approval or a failure, for all that is known.
    Effect,
    Nothing,
}

/// How a frame ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub succeeded: bool,
    /// What it returned is all that its input says.
    pub is_precompile: bool,
    /// By whom it was created, where one was.
    pub created: Option<Address>,
    /// Bytes that it returned.
    pub size: usize,
}

impl Tracker {
    /// The next call of the plan: transient words and what earlier calls were decided by are gone, what they wrote is not.
    pub fn begin(&mut self) {
        self.words.retain(|word, _| !word.is_transient);
        self.frames.clear();
        self.journal.clear();
        self.decided = NONE;
        self.settled.clear();
        self.facts.take_decided();
    }

    pub fn finish(&mut self) -> Dependencies {
        Dependencies { facts: self.facts.take_decided(), is_partial: self.is_spent() }
    }

    pub fn is_spent(&self) -> bool {
        self.work >= MOST_WORK || self.kept >= MOST_KEPT || self.facts.count() >= MOST_FACTS
    }

    /// A step is about to run. Whether nothing is left to note once it ran: it moves words, or nothing more is followed.
    #[inline]
    pub fn moves(&mut self, opcode: u8) -> bool {
        if self.is_spent() {
            return true;
        }
        let moved = self.frames.last_mut().is_none_or(|shadow| shadow.moves(opcode));
        self.work += u64::from(moved);
        moved
    }

    /// Counts a step that was noted.
    pub fn count_step(&mut self) {
        self.work += 1 + self.labels.take_work();
        self.kept += self.labels.take_kept();
    }

    /// Counts pieces that were looked at.
    pub fn count(&mut self, pieces: usize) {
        self.work += pieces as u64;
    }

    /// Counts pieces that are kept.
    pub fn keep(&mut self, pieces: usize) {
        self.work += pieces as u64;
        self.kept += pieces as u64;
    }

    /// Works on the innermost frame.
    pub fn with<T: Default>(&mut self, work: impl FnOnce(&mut Shadow, &mut Labels) -> T) -> T {
        self.frames.last_mut().map(|shadow| work(shadow, &mut self.labels)).unwrap_or_default()
    }

    /// The label of a fact.
    pub fn fact(&mut self, place: FactKey, value: U256) -> Label {
        let fact = self.facts.number_of(place, value);
        self.labels.of(fact)
    }

    pub fn union(&mut self, a: Label, b: Label) -> Label {
        self.labels.union(a, b)
    }

    /// All facts of this word reach a place that decides.
    pub fn reach(&mut self, label: Label, by: u64) {
        for (fact, _) in self.labels.facts(label) {
            self.facts.reach(fact, by);
        }
    }

    /// A word is an amount.
    pub fn reach_amount(&mut self, label: Label) {
        for (fact, how) in self.labels.facts(label) {
            let by = if how & SELECTED != 0 { reached::AMOUNT | reached::SELECTION } else { reached::AMOUNT };
            self.facts.reach(fact, by);
        }
    }

    /// A word names somebody: by itself, or by what was made of it.
    pub fn reach_somebody(&mut self, label: Label) {
        for (fact, how) in self.labels.facts(label) {
            self.facts.reach(fact, if how == 0 { reached::RECIPIENT } else { reached::TARGET });
        }
    }

    /// A branch is taken.
    pub fn branch(&mut self, label: Label, avoided: Avoided) {
        for (fact, _) in self.labels.facts(label) {
            match avoided {
                Avoided::Error => self.facts.decide(fact, reached::GUARD),
                Avoided::Effect => self.facts.decide(fact, reached::BRANCH),
                Avoided::Nothing => self.facts.reach(fact, reached::BRANCH),
            }
        }
        let facts = &self.facts;
        let surroundings = self.labels.only(label, |fact, _| facts.kind(fact).is_of_surroundings());
        let selected = self.labels.raise(surroundings, SELECTED);
        self.decided = self.labels.union(self.decided, selected);
    }

    /// Whether all facts of a word are known to decide branches.
    pub fn has_branched(&self, label: Label) -> bool {
        self.labels.facts(label).all(|(fact, _)| self.facts.is_decided(fact, reached::BRANCH | reached::GUARD))
    }

    /// Whether one more branch on this word says nothing new.
    pub fn is_settled(&mut self, label: Label) -> bool {
        let at = label as usize;
        if self.settled.get(at).copied().unwrap_or_default() {
            return true;
        }
        let is_settled =
            self.has_branched(label) && self.labels.facts(label).all(|(fact, _)| self.facts.has_branched(fact));
        if is_settled && at >= self.settled.len() {
            self.settled.resize(at + 1, false);
        }
        if is_settled {
            self.settled[at] = true;
        }
        // What surrounds the call is noted once more: it was, where all of this was said by another word.
        false
    }

    pub fn transfer(&mut self, from: Address, to: Address, label: Label) {
        if label == NONE {
            return;
        }
        for address in [from, to] {
            let before = self.balances.get(&address).copied();
            self.journal.push(Undo::Balance(address, before));
            let label = self.labels.union(before.unwrap_or(NONE), label);
            self.balances.insert(address, label);
        }
    }

    /// What was sent there before.
    pub fn balance(&self, address: Address) -> Label {
        self.balances.get(&address).copied().unwrap_or(NONE)
    }

    pub fn word(&self, word: &Word) -> Option<Label> {
        self.words.get(word).copied()
    }

    pub fn write(&mut self, word: Word, label: Label) {
        self.keep(1);
        let before = self.words.insert(word, label);
        self.journal.push(Undo::Word(word, before));
    }

    pub fn code(&self, address: Address) -> Option<Rc<Spans>> {
        self.codes.get(&address).cloned()
    }

    pub fn raise(&mut self, label: Label, how: How) -> Label {
        self.labels.raise(label, how)
    }

    /// A frame is about to be opened. `caller`: the label of who opens the outermost one.
    pub fn enter(&mut self, account: Address, caller: Label) {
        let journal = self.journal.len();
        let shadow = match self.frames.last() {
            None => Shadow { account, caller, journal, ..Shadow::default() },
            Some(parent) => {
                let Opening { input, input_size, value, is_create, .. } = &parent.opens;
                let (input, code) =
                    if *is_create { (Rc::default(), input.clone()) } else { (input.clone(), Rc::default()) };
                Shadow { account, journal, input, code, input_size: *input_size, value: *value, ..Shadow::default() }
            }
        };
        self.frames.push(shadow);
    }

    /// The innermost frame ended.
    pub fn exit(&mut self, ended: Ended) {
        let Some(frame) = self.frames.pop() else { return };
        if !ended.succeeded {
            self.facts.take_effect();
            for undo in self.journal.drain(frame.journal..).rev() {
                match undo {
                    Undo::Word(word, Some(label)) => drop(self.words.insert(word, label)),
                    Undo::Word(word, None) => drop(self.words.remove(&word)),
                    Undo::Balance(address, Some(label)) => drop(self.balances.insert(address, label)),
                    Undo::Balance(address, None) => drop(self.balances.remove(&address)),
                }
            }
        }
        let Some(parent) = self.frames.last_mut() else { return };
        let opens = std::mem::take(&mut parent.opens);
        let mut output = frame.output;
        let mut success = opens.success;
        if ended.is_precompile {
            let label = frame.input.of(0, usize::MAX, &mut self.labels);
            let label = self.labels.raise(label, SELECTED);
            let mut data = Spans::default();
            data.set(0, ended.size, label);
            output = Returned { data: Rc::new(data), size: NONE };
            success = self.labels.union(success, label);
        }
        if opens.is_create {
            if let Some(created) = ended.created.filter(|_| ended.succeeded && !output.data.is_empty()) {
                self.codes.insert(created, output.data.clone());
            }
            success = self.labels.union(success, opens.created);
            if ended.succeeded {
                output = Returned::default();
            }
        } else {
            let (to, length) = opens.output;
            parent.memory.paste(to, &output.data, 0, length.min(ended.size));
            parent.memory.add(to, length, output.size, &mut self.labels);
        }
        let moved = output.data.count();
        parent.returned = output;
        parent.push(success);
        self.keep(moved);
    }

    /// The label of a fact of the state that an account has.
    pub fn of_account(&mut self, kind: FactKind, address: Address, value: U256) -> Label {
        self.fact(FactKey { kind, address: Some(address), key: U256::ZERO }, value)
    }

    /// The label of a fact that the block or the transaction has.
    pub fn of_surroundings(&mut self, kind: FactKind, value: U256) -> Label {
        self.fact(FactKey { kind, address: None, key: U256::ZERO }, value)
    }
}
