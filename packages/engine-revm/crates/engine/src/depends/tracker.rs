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
/// Where this is all that a fact reaches, the same branches come to the same.
const DECIDED_BY_BRANCHES: u64 = reached::BRANCH | reached::GUARD;
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
    /// Seconds after which it is asked whether the call comes to the same; 0: not asked.
    later: u64,
    /// For all that is known it does not.
    pub differs: bool,
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
    /// @param later seconds after which it is asked whether it comes to the same; 0: not asked
    pub fn begin(&mut self, later: u64) {
        self.words.retain(|word, _| !word.is_transient);
        self.frames.clear();
        self.journal.clear();
        self.decided = NONE;
        self.settled.clear();
        self.facts.take_decided();
        (self.later, self.differs) = (later, false);
    }

    pub fn finish(&mut self) -> Dependencies {
        let (facts, is_partial) = (self.facts.take_decided(), self.is_spent());
        let passes = facts.iter().all(|fact| fact.kind != FactKind::Time || fact.reached & !DECIDED_BY_BRANCHES == 0);
        Dependencies { is_same_later: self.later > 0 && passes && !self.differs && !is_partial, facts, is_partial }
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
        let Self { frames, labels, settled, differs, .. } = self;
        let shadow = frames.last_mut()?;
        let operand = |at: usize| stack.iter().nth_back(at).copied().unwrap_or_default();
        let later = |labels: &Labels, at: usize| labels.later(shadow.at(at), operand(at));
        match opcode {
            JUMPI => *differs |= later(labels, 1).is_none_or(|later| later.is_zero() != operand(1).is_zero()),
            // It costs by its exponent.
            EXP => *differs |= labels.passes(shadow.at(1)),
            _ => {}
        }
        let place = || operand(0).saturating_to();
        let is_clean = |at: usize| shadow.at(at) == NONE;
        let (most, whole) = (U256::from(256 - FEWEST_BITS), |is_whole: bool| if is_whole { 0 } else { SELECTED });
        let (words, how) = match opcode {
            OR | SIGNEXTEND => (2, 0),
            ADD | MUL | SUB | XOR => (2, COMPUTED),
            ADDMOD | MULMOD => (3, COMPUTED),
            NOT => (1, COMPUTED),
            AND => {
                let mask = operand(usize::from(!is_clean(0)));
                let is_wide = mask.count_ones() >= FEWEST_BITS || mask.is_zero();
                (2, whole(is_wide && (is_clean(0) || is_clean(1))))
            }
            SHL => (2, whole(is_clean(0) && operand(0) < most)),
            SHR => (2, whole(is_clean(0) && operand(0) <= most)),
            DIV | SDIV if is_clean(1) && operand(1).bit_len() <= FEWEST_BITS => (2, COMPUTED),
            LT | GT | SLT | SGT | EQ | BYTE | DIV | SDIV | MOD | SMOD | EXP | SAR => (2, SELECTED),
            ISZERO | CLZ => (1, SELECTED),
            JUMPI if shadow.at(0) == NONE && settled.get(labels.plain(shadow.at(1)) as usize) == Some(&true) => {
                let condition = shadow.at(1);
                shadow.pop(2);
                self.count_step();
                return Some(condition);
            }
            MLOAD | CALLDATALOAD if shadow.at(0) == NONE => {
                let source = if opcode == MLOAD { &shadow.memory } else { &*shadow.input };
                let label = source.word(place()).unwrap_or_else(|| source.of(place(), 32, labels));
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
        let is_known = (0..words).any(|at| shadow.at(at) != labels.plain(shadow.at(at)));
        let result = if is_known { result_of(opcode, later(labels, 0), later(labels, 1)) } else { None };
        let label = self.made(words, how, result);
        self.count_step();
        Some(label)
    }

    /// Of so many words from the top of the stack on.
    pub fn all(&mut self, words: usize) -> Label {
        let Self { frames, labels, .. } = self;
        let Some(shadow) = frames.last() else { return NONE };
        (0..words).fold(NONE, |all, depth| labels.union(all, shadow.at(depth)))
    }

    /// A word is made of so many words. @param later what it is then, where that is known @returns the label of what it is made of
    pub fn made(&mut self, words: usize, how: How, later: Option<U256>) -> Label {
        let label = self.all(words);
        let made = self.labels.raise(label, how);
        self.with(|shadow, labels| {
            shadow.pop(words);
            shadow.push(later.map_or(made, |later| labels.with_later(made, later)));
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
        if place.kind == FactKind::Time {
            self.labels.pass(fact);
        }
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
            self.differs |= self.labels.passes(label);
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

    /// The label of the block's time.
    pub fn time(&mut self, now: U256) -> Label {
        let label = self.of_surroundings(FactKind::Time, now);
        if self.later == 0 { label } else { self.labels.with_later(label, now + U256::from(self.later)) }
    }

    /// A step that was not noted before it ran takes so many words. Where one of them is another one later, what it does may be.
    pub fn takes_later(&mut self, words: usize) {
        let Self { frames, labels, .. } = self;
        let taken = frames.last().into_iter().flat_map(|shadow| (0..words).map(|at| shadow.at(at)));
        self.differs |= taken.into_iter().any(|label| labels.passes(label));
    }

    /// A word is written that may be another one later: it has to cost the same. What differs from what the slot held before the call, now and
    /// later, costs the same whenever it is written (EIP-2200).
    pub fn writes_later(&mut self, place: &FactKey, now: U256) {
        let label = self.with(|shadow, _| shadow.at(1));
        if !self.labels.passes(label) {
            return;
        }
        let before = self.facts.value_of(place);
        let is_same = |later| later == now || before.is_some_and(|before| before != now && before != later);
        self.differs |= !self.labels.later(label, now).is_some_and(is_same);
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

/// What an instruction makes of the words on top; none where they are not known, or it is not worked out.
fn result_of(opcode: u8, first: Option<U256>, second: Option<U256>) -> Option<U256> {
    let first = first?;
    let by = || usize::try_from(first).unwrap_or(256);
    Some(match opcode {
        ISZERO => U256::from(first.is_zero()),
        NOT => !first,
        ADD => first.wrapping_add(second?),
        SUB => first.wrapping_sub(second?),
        MUL => first.wrapping_mul(second?),
        DIV => first.checked_div(second?).unwrap_or_default(),
        MOD => first.checked_rem(second?).unwrap_or_default(),
        AND => first & second?,
        OR => first | second?,
        XOR => first ^ second?,
        LT => U256::from(first < second?),
        GT => U256::from(first > second?),
        EQ => U256::from(first == second?),
        SHL => second? << by(),
        SHR => second? >> by(),
        SIGNEXTEND if first < U256::from(31) => {
            let above = 256 - 8 * (by() + 1);
            (second? << above).arithmetic_shr(above)
        }
        _ => return None,
    })
}
