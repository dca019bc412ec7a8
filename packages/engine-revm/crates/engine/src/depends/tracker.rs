use super::{
    fact::{Dependencies, FactKey, FactKind, Facts, reached},
    labels::{COMPUTED, How, Label, Labels, NONE, SELECTED},
    shadow::{Opening, Returned, Shadow},
    spans::Spans,
};
use alloy_primitives::{
    Address, U256,
    map::{AddressMap, HashMap},
};
use revm::bytecode::opcode::*;
use std::rc::Rc;

/// Steps, and pieces that are looked at or copied: some seconds.
const MOST_WORK: u64 = 16_000_000;
/// Pieces that are kept, each once though it is given up since: elements of sets, spans, words. Some 32 MB.
const MOST_KEPT: u64 = 500_000;
const MOST_FACTS: usize = 8_192;
/// As many pieces are moved in the time of a step.
const PIECES_A_STEP: usize = 64;
/// A mask or a shift that leaves fewer bits than these selects.
const FEWEST_BITS: usize = 64;

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
        self.work >= MOST_WORK
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

    /// A step that moves no words is about to run. Does what does not hang on what comes of it, where that is all that it does.
    /// @returns the label of what it takes; none where it has to be noted once it ran
    pub fn takes(&mut self, opcode: u8, stack: &[U256]) -> Option<Label> {
        let Self { frames, labels, settled, .. } = self;
        let shadow = frames.last_mut()?;
        let operand = |at: usize| stack.iter().nth_back(at).copied().unwrap_or_default();
        let place = || operand(0).saturating_to();
        let (words, how) = match opcode {
            OR | SIGNEXTEND => (2, 0),
            ADD | MUL | SUB | XOR => (2, COMPUTED),
            ADDMOD | MULMOD => (3, COMPUTED),
            NOT => (1, COMPUTED),
            AND => {
                let mask = match (shadow.at(0), shadow.at(1)) {
                    (NONE, _) => Some(operand(0)),
                    (_, NONE) => Some(operand(1)),
                    _ => None,
                };
                (
                    2,
                    if mask.is_some_and(|mask| mask.count_ones() >= FEWEST_BITS || mask.is_zero()) {
                        0
                    } else {
                        SELECTED
                    },
                )
            }
            SHL | SHR | SAR => {
                let most = U256::from(256 - FEWEST_BITS);
                let is_whole = shadow.at(0) == NONE
                    && match opcode {
                        SHL => operand(0) < most,
                        SHR => operand(0) <= most,
                        _ => false,
                    };
                (2, if is_whole { 0 } else { SELECTED })
            }
            DIV | SDIV => {
                let is_constant = shadow.at(1) == NONE && operand(1).bit_len() <= FEWEST_BITS;
                (2, if is_constant { COMPUTED } else { SELECTED })
            }
            LT | GT | SLT | SGT | EQ | BYTE | MOD | SMOD | EXP => (2, SELECTED),
            ISZERO | CLZ => (1, SELECTED),
            JUMPI if shadow.at(0) == NONE && settled.get(shadow.at(1) as usize).copied().unwrap_or_default() => {
                let condition = shadow.at(1);
                shadow.pop(2);
                self.count_step();
                return Some(condition);
            }
            MLOAD | CALLDATALOAD if shadow.at(0) == NONE => {
                let source = if opcode == MLOAD { &shadow.memory } else { &*shadow.input };
                let label = source.of(place(), 32, labels);
                shadow.pop(1);
                shadow.push(label);
                self.count_step();
                return Some(NONE);
            }
            MSTORE | MSTORE8 if shadow.at(0) == NONE => {
                let label = shadow.at(1);
                shadow.memory.set(place(), if opcode == MSTORE { 32 } else { 1 }, label);
                shadow.pop(2);
                self.put(usize::from(label != NONE));
                self.count_step();
                return Some(label);
            }
            _ => return None,
        };
        let label = self.made(words, how);
        self.count_step();
        Some(label)
    }

    /// Of so many words from the top of the stack on.
    pub fn all(&mut self, words: usize) -> Label {
        let Self { frames, labels, .. } = self;
        let Some(shadow) = frames.last() else { return NONE };
        (0..words).fold(NONE, |all, depth| labels.union(all, shadow.at(depth)))
    }

    /// A word is made of so many words. @returns the label of what it is made of
    pub fn made(&mut self, words: usize, how: How) -> Label {
        let label = self.all(words);
        let made = self.labels.raise(label, how);
        self.with(|shadow, _| {
            shadow.pop(words);
            shadow.push(made);
        });
        label
    }

    /// Counts a step that was noted.
    pub fn count_step(&mut self) {
        self.work += 1 + self.labels.take_work();
        self.kept += self.labels.take_kept();
        if self.kept >= MOST_KEPT || self.facts.count() >= MOST_FACTS {
            self.work = MOST_WORK;
        }
    }

    /// Counts pieces that were looked at.
    pub fn count(&mut self, pieces: usize) {
        self.work += pieces as u64;
    }

    /// Counts pieces that are put into the memory of the innermost frame: those behind them are moved.
    pub fn put(&mut self, pieces: usize) {
        let moved = self.with(|shadow, _| shadow.memory.count() / PIECES_A_STEP);
        self.count(moved);
        self.keep(pieces);
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
