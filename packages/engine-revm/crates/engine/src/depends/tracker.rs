//! Follows facts through the stack, memory and storage of a plan's calls, for at most 16 million steps and pieces.

use super::{
    fact::{Dependencies, FactKey, FactKind, Facts, reached},
    labels::{COMPUTED, Derivation, Label, Labels, NONE, SELECTED},
    shadow::{Opening, Returned, ShadowFrame},
    spans::Spans,
};
use alloy_primitives::{
    Address, U256,
    map::{AddressMap, HashMap},
};
use revm::bytecode::opcode::*;
use std::rc::Rc;

/// Limit of steps, and of pieces looked at or copied: some seconds.
const MAX_WORK: u64 = 16_000_000;
/// Limit of pieces ever kept (elements of sets, spans, words): some 32 MB.
const MAX_KEPT: u64 = 500_000;
const MAX_FACTS: usize = 8_192;
/// If a fact reaches only these, the same branches mean the same outcome.
const DECIDED_BY_BRANCHES: u64 = reached::BRANCH | reached::GUARD;
/// Pieces that can be moved in the time of a step.
const PIECES_A_STEP: usize = 64;
/// A mask or shift that leaves fewer bits counts as a selection.
const MIN_BITS: usize = 64;

/// Follows facts through the calls of a plan.
#[derive(Debug, Default)]
pub struct Tracker {
    pub facts: Facts,
    pub labels: Labels,
    frames: Vec<ShadowFrame>,
    words: HashMap<Word, Label>,
    balances: AddressMap<Label>,
    /// Labels of deployed code.
    codes: AddressMap<Rc<Spans>>,
    journal: Vec<Undo>,
    /// Facts of the surroundings that have decided a branch of the call: attached to everything written from then on.
    pub decided: Label,
    /// By label: whether another branch on it is redundant for this call.
    settled: Vec<bool>,
    /// Seconds after which the outcome is compared; 0 if not asked.
    later: u64,
    /// Whether the outcome may differ later.
    pub differs_later: bool,
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

/// What the side of a branch that is not taken leads to.
#[derive(Clone, Copy, Debug)]
pub enum Avoided {
    /// Only an error.
    Error,
    /// Possibly a transfer, an approval or a failure.
    Effect,
    Nothing,
}

/// How a frame ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub succeeded: bool,
    /// Its output follows from its input alone.
    pub is_precompile: bool,
    /// The creator, if it is a creation.
    pub created: Option<Address>,
    /// Length of its output.
    pub size: usize,
}

impl Tracker {
    /// Begins the next call of the plan. Transient storage and earlier calls' decisions are dropped; labels of written storage stay.
    /// @param later seconds after which the outcome is compared; 0 if not asked
    pub fn begin(&mut self, later: u64) {
        self.words.retain(|word, _| !word.is_transient);
        self.frames.clear();
        self.journal.clear();
        self.decided = NONE;
        self.settled.clear();
        self.facts.take_decided();
        (self.later, self.differs_later) = (later, false);
    }

    pub fn finish(&mut self) -> Dependencies {
        let (facts, is_partial) = (self.facts.take_decided(), self.is_spent());
        let passes = facts.iter().all(|fact| fact.kind != FactKind::Time || fact.reached & !DECIDED_BY_BRANCHES == 0);
        Dependencies {
            is_same_later: self.later > 0 && passes && !self.differs_later && !is_partial,
            facts,
            is_partial,
        }
    }

    pub fn is_spent(&self) -> bool {
        self.work >= MAX_WORK
    }

    /// Called before a step. Returns true if nothing has to be noted after it: it only moves words, or the limits are reached.
    #[inline]
    pub fn moves(&mut self, opcode: u8) -> bool {
        if self.is_spent() {
            return true;
        }
        let moved = self.frames.last_mut().is_none_or(|shadow| shadow.moves(opcode));
        self.work += u64::from(moved);
        moved
    }

    /// Called before a step that does more than move words. Notes it already, if its result does not matter.
    /// @returns the label of its operands; None if it has to be noted after it ran
    pub fn takes(&mut self, opcode: u8, stack: &[U256]) -> Option<Label> {
        let Self { frames, labels, settled, differs_later, .. } = self;
        let shadow = frames.last_mut()?;
        let operand = |at: usize| stack.iter().nth_back(at).copied().unwrap_or_default();
        let later = |labels: &Labels, at: usize| labels.later(shadow.at(at), operand(at));
        match opcode {
            JUMPI => *differs_later |= later(labels, 1).is_none_or(|later| later.is_zero() != operand(1).is_zero()),
            // Its cost depends on the exponent.
            EXP => *differs_later |= labels.depends_on_time(shadow.at(1)),
            _ => {}
        }
        let place = || operand(0).saturating_to();
        let is_clean = |at: usize| shadow.at(at) == NONE;
        let (most, whole) = (U256::from(256 - MIN_BITS), |is_whole: bool| if is_whole { 0 } else { SELECTED });
        let (words, how) = match opcode {
            OR | SIGNEXTEND => (2, 0),
            ADD | MUL | SUB | XOR => (2, COMPUTED),
            ADDMOD | MULMOD => (3, COMPUTED),
            NOT => (1, COMPUTED),
            AND => {
                let mask = operand(usize::from(!is_clean(0)));
                let is_wide = mask.count_ones() >= MIN_BITS || mask.is_zero();
                (2, whole(is_wide && (is_clean(0) || is_clean(1))))
            }
            SHL => (2, whole(is_clean(0) && operand(0) < most)),
            SHR => (2, whole(is_clean(0) && operand(0) <= most)),
            DIV | SDIV if is_clean(1) && operand(1).bit_len() <= MIN_BITS => (2, COMPUTED),
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
        let label = self.replace_operands(words, how, result);
        self.count_step();
        Some(label)
    }

    /// The union of the labels of the top `words` words.
    pub fn all(&mut self, words: usize) -> Label {
        let Self { frames, labels, .. } = self;
        let Some(shadow) = frames.last() else { return NONE };
        (0..words).fold(NONE, |all, depth| labels.union(all, shadow.at(depth)))
    }

    /// Replaces `words` words by one derived from them. @param later its later value, if known @returns the union of their labels
    pub fn replace_operands(&mut self, words: usize, how: Derivation, later: Option<U256>) -> Label {
        let label = self.all(words);
        let made = self.labels.raise(label, how);
        self.with(|shadow, labels| {
            shadow.pop(words);
            shadow.push(later.map_or(made, |later| labels.with_later(made, later)));
        });
        label
    }

    /// Counts a noted step.
    pub fn count_step(&mut self) {
        self.work += 1 + self.labels.take_work();
        self.kept += self.labels.take_kept();
        if self.kept >= MAX_KEPT || self.facts.count() >= MAX_FACTS {
            self.work = MAX_WORK;
        }
    }

    /// Counts pieces looked at.
    pub fn count(&mut self, pieces: usize) {
        self.work += pieces as u64;
    }

    /// Counts pieces inserted into the innermost frame's memory, which moves those behind them.
    pub fn put(&mut self, pieces: usize) {
        let moved = self.with(|shadow, _| shadow.memory.count() / PIECES_A_STEP);
        self.count(moved);
        self.keep(pieces);
    }

    /// Counts pieces kept.
    pub fn keep(&mut self, pieces: usize) {
        self.work += pieces as u64;
        self.kept += pieces as u64;
    }

    /// Applies `work` to the innermost frame.
    pub fn with<T: Default>(&mut self, work: impl FnOnce(&mut ShadowFrame, &mut Labels) -> T) -> T {
        self.frames.last_mut().map(|shadow| work(shadow, &mut self.labels)).unwrap_or_default()
    }

    /// The label of a fact.
    pub fn fact(&mut self, place: FactKey, value: U256) -> Label {
        let fact = self.facts.number_of(place, value);
        if place.kind == FactKind::Time {
            self.labels.set_time_fact(fact);
        }
        self.labels.of(fact)
    }

    pub fn union(&mut self, a: Label, b: Label) -> Label {
        self.labels.union(a, b)
    }

    /// All facts of this word reach a deciding place.
    pub fn reach(&mut self, label: Label, by: u64) {
        for (fact, _) in self.labels.facts(label) {
            self.facts.reach(fact, by);
        }
    }

    /// The word is used as an amount.
    pub fn reach_amount(&mut self, label: Label) {
        for (fact, how) in self.labels.facts(label) {
            let by = if how & SELECTED != 0 { reached::AMOUNT | reached::SELECTION } else { reached::AMOUNT };
            self.facts.reach(fact, by);
        }
    }

    /// The word is used as an address, directly or derived.
    pub fn reach_somebody(&mut self, label: Label) {
        for (fact, how) in self.labels.facts(label) {
            self.facts.reach(fact, if how == 0 { reached::RECIPIENT } else { reached::TARGET });
        }
    }

    /// A branch on the word is taken.
    pub fn branch(&mut self, label: Label, avoided: Avoided) {
        for (fact, _) in self.labels.facts(label) {
            match avoided {
                Avoided::Error => self.facts.decide(fact, reached::GUARD),
                Avoided::Effect => self.facts.decide(fact, reached::BRANCH),
                Avoided::Nothing => self.facts.reach(fact, reached::BRANCH),
            }
        }
        let facts = &self.facts;
        let environment = self.labels.only(label, |fact, _| facts.kind(fact).is_environment());
        let selected = self.labels.raise(environment, SELECTED);
        self.decided = self.labels.union(self.decided, selected);
    }

    /// Whether all facts of a word are known to decide branches.
    pub fn has_branched(&self, label: Label) -> bool {
        self.labels.facts(label).all(|(fact, _)| self.facts.is_decided(fact, reached::BRANCH | reached::GUARD))
    }

    /// Whether another branch on this word adds nothing.
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
        // False once more: `decided` must get this word's surroundings, even if other words reported all of its facts.
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

    /// The label of amounts transferred to or from the account so far.
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

    pub fn raise(&mut self, label: Label, how: Derivation) -> Label {
        self.labels.raise(label, how)
    }

    /// Called before a frame is opened. `caller`: the label of the outermost frame's caller.
    pub fn enter(&mut self, account: Address, caller: Label) {
        let journal = self.journal.len();
        let shadow = match self.frames.last() {
            None => ShadowFrame { account, caller, journal, ..ShadowFrame::default() },
            Some(parent) => {
                let Opening { input, input_size, value, is_create, .. } = &parent.opens;
                let (input, code) =
                    if *is_create { (Rc::default(), input.clone()) } else { (input.clone(), Rc::default()) };
                ShadowFrame {
                    account,
                    journal,
                    input,
                    code,
                    input_size: *input_size,
                    value: *value,
                    ..ShadowFrame::default()
                }
            }
        };
        self.frames.push(shadow);
    }

    /// Called after the innermost frame ended.
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
            self.differs_later |= self.labels.depends_on_time(label);
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
        let label = self.environment_label(FactKind::Time, now);
        if self.later == 0 { label } else { self.labels.with_later(label, now + U256::from(self.later)) }
    }

    /// Called for a step that takes `words` words and was not noted before it ran. It may act differently if one of them changes later.
    pub fn takes_later(&mut self, words: usize) {
        let Self { frames, labels, .. } = self;
        let taken = frames.last().into_iter().flat_map(|shadow| (0..words).map(|at| shadow.at(at)));
        self.differs_later |= taken.into_iter().any(|label| labels.depends_on_time(label));
    }

    /// Called for a storage write whose word may change later: it must cost the same then. A write costs the same if the word differs, now
    /// and later, from the slot's value before the call (EIP-2200).
    pub fn writes_later(&mut self, place: &FactKey, now: U256) {
        let label = self.with(|shadow, _| shadow.at(1));
        if !self.labels.depends_on_time(label) {
            return;
        }
        let before = self.facts.value_of(place);
        let is_same = |later| later == now || before.is_some_and(|before| before != now && before != later);
        self.differs_later |= !self.labels.later(label, now).is_some_and(is_same);
    }

    /// The label of a fact of an account.
    pub fn account_label(&mut self, kind: FactKind, address: Address, value: U256) -> Label {
        self.fact(FactKey { kind, address: Some(address), key: U256::ZERO }, value)
    }

    /// The label of a fact of the block or transaction.
    pub fn environment_label(&mut self, kind: FactKind, value: U256) -> Label {
        self.fact(FactKey { kind, address: None, key: U256::ZERO }, value)
    }
}

/// An instruction's result from the top words; None if they are unknown or the instruction is not modelled.
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
