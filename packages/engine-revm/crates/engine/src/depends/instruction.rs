//! What each instruction does with the labels of its words.

use super::{
    Tracker,
    fact::{FactKey, FactKind, reached},
    labels::{Label, NONE, SELECTED},
    shadow::{Opening, Returned, ShadowFrame},
    tracker::{Avoided, Word},
};
use crate::{
    code_end::{end_of, is_error},
    frame_end,
    last_step::LastStep,
};
use alloy_primitives::{Address, B256, U256, b256};
use revm::{
    bytecode::opcode::{self, *},
    interpreter::{
        Host, Interpreter, InterpreterAction,
        instructions::{GasTable, InstructionTable},
        interpreter::EthInterpreter,
        interpreter_types::{InputsTr, Jumps, LegacyBytecode},
    },
};
use std::rc::Rc;

/// Topics of tokens' transfer and approval events, see `packages/simulation/src/assets/events.ts`.
const TOKEN_EVENTS: [B256; 9] = [
    b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"),
    b256!("c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62"),
    b256!("4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb"),
    b256!("e1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c"),
    b256!("7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65"),
    b256!("8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"),
    b256!("17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31"),
    b256!("da9fa7c1b00402c17d0161b249b1ab8bbec047c5a52207b9c112deffd817036b"),
    b256!("c6a377bfc4eb120024a8ac08eef205be16b817020812c73223e81d1bdb9708ec"),
];

/// The state of an innermost frame's step before it runs.
#[derive(Clone, Copy, Debug)]
pub enum Before {
    /// Nothing to note after it ran.
    Noted,
    /// The label of its operands. Already noted, unless it halts the frame.
    Taken(Label),
    /// To be noted after it ran; its position in the code.
    Open(usize),
}

impl Before {
    /// Notes, before it runs, what does not depend on its result.
    #[inline]
    pub fn of(tracker: &mut Tracker, interpreter: &Interpreter<EthInterpreter>) -> Self {
        let opcode = interpreter.bytecode.opcode();
        if tracker.moves(opcode) {
            return Self::Noted;
        }
        let pc = interpreter.bytecode.pc();
        tracker.takes(opcode, interpreter.stack.data()).map_or(Self::Open(pc), Self::Taken)
    }

    #[inline]
    fn is_open(self) -> bool {
        matches!(self, Self::Open(_))
    }
}

/// Called after a step ran.
pub fn note(tracker: &mut Tracker, interpreter: &Interpreter<EthInterpreter>, before: Before, step: &LastStep) {
    let ended = match interpreter.bytecode.action {
        Some(InterpreterAction::Return(ref ended)) => Some(ended.result),
        _ => None,
    };
    let halts = ended.is_some_and(|ended| !ended.is_ok_or_revert());
    match before {
        // A step that halts its frame does so because of its operands, or for lack of gas.
        Before::Taken(label) if halts => tracker.branch(label, Avoided::Error),
        Before::Open(pc) => {
            let mut note = Note { tracker, interpreter, pc, step };
            if halts {
                note.halt()
            } else {
                note.instruction()
            }
            tracker.count_step();
        }
        _ => {}
    }
}

/// Runs a frame until it ends or opens another.
pub fn run<H: Host>(
    tracker: &mut Tracker,
    interpreter: &mut Interpreter<EthInterpreter>,
    table: &InstructionTable<EthInterpreter, H>,
    prices: &GasTable,
    host: &mut H,
) -> InterpreterAction {
    let mut step = LastStep::default();
    loop {
        let before = Before::of(tracker, interpreter);
        if before.is_open() {
            step.update(interpreter);
        }
        let ended = interpreter.step(table, prices, host).err();
        if let Some(ended) = ended {
            frame_end::end(interpreter, ended);
        }
        if before.is_open() || ended.is_some() {
            note(tracker, interpreter, before, &step);
        }
        if ended.is_some() {
            return interpreter.take_next_action();
        }
    }
}

struct Note<'a> {
    tracker: &'a mut Tracker,
    interpreter: &'a Interpreter<EthInterpreter>,
    pc: usize,
    step: &'a LastStep,
}

impl Note<'_> {
    fn instruction(&mut self) {
        let opcode = self.step.opcode;
        if !matches!(opcode, JUMPI | SSTORE | TSTORE) {
            let words = self.inputs();
            self.tracker.takes_later(words);
        }
        match opcode {
            DUPN => self.pushed(|note| note.at(nth(note.immediate()) - 1)),
            SWAPN => {
                let second = nth(self.immediate());
                self.shadow(|shadow| shadow.swap(0, second));
            }
            EXCHANGE => {
                let (first, second) = pair(self.immediate());
                self.shadow(|shadow| shadow.swap(first, second));
            }
            KECCAK256 => self.hash(),
            ORIGIN => self.environment(FactKind::Origin),
            GASPRICE => self.environment(FactKind::GasPrice),
            COINBASE => self.environment(FactKind::Coinbase),
            TIMESTAMP => {
                let label = self.tracker.time(self.top());
                self.push(label);
            }
            SLOTNUM => self.environment(FactKind::Time),
            NUMBER => self.environment(FactKind::Number),
            DIFFICULTY => self.environment(FactKind::PrevRandao),
            GASLIMIT => self.environment(FactKind::GasLimit),
            BASEFEE => self.environment(FactKind::BaseFee),
            BLOBBASEFEE => self.environment(FactKind::BlobBaseFee),
            GAS => self.environment(FactKind::GasLeft),
            SELFBALANCE => {
                let account = self.account();
                let label = self.balance(account);
                self.push(label);
            }
            BLOCKHASH => self.block_hash(),
            BALANCE | EXTCODESIZE | EXTCODEHASH => self.account_label(opcode),
            CALLDATALOAD | MLOAD => self.load(opcode),
            CALLDATACOPY | CODECOPY | RETURNDATACOPY | MCOPY => self.copy(opcode),
            EXTCODECOPY => self.copy_code(),
            MSTORE => self.store(32),
            MSTORE8 => self.store(1),
            SLOAD | TLOAD => self.read(opcode == TLOAD),
            SSTORE | TSTORE => self.write(opcode == TSTORE),
            JUMP => {
                let label = self.at(0);
                self.tracker.reach(label, reached::JUMP);
                self.pop(1);
            }
            JUMPI => self.branch(),
            LOG0..=LOG4 => self.log(usize::from(opcode - LOG0)),
            CALL | CALLCODE | DELEGATECALL | STATICCALL => self.call(opcode),
            CREATE | CREATE2 => self.create(opcode),
            RETURN | REVERT => self.end(),
            SELFDESTRUCT => {
                let label = self.at(0);
                self.tracker.reach_somebody(label);
                self.tracker.facts.take_effect();
            }
            _ => {
                let words = self.inputs();
                self.tracker.replace_operands(words, SELECTED, None);
            }
        }
    }

    fn halt(&mut self) {
        let words = self.inputs();
        let label = self.tracker.all(words);
        self.tracker.branch(label, Avoided::Error);
    }

    /// The byte after the instruction.
    fn immediate(&self) -> u8 {
        self.interpreter.bytecode.bytecode_slice().get(self.pc + 1).copied().unwrap_or_default()
    }

    /// Number of words that it takes.
    fn inputs(&self) -> usize {
        opcode::OPCODE_INFO[usize::from(self.step.opcode)].map_or(0, |info| usize::from(info.inputs()))
    }

    fn at(&mut self, depth: usize) -> Label {
        self.tracker.with(|shadow, labels| labels.plain(shadow.at(depth)))
    }

    fn shadow<T: Default>(&mut self, of: impl FnOnce(&mut ShadowFrame) -> T) -> T {
        self.tracker.with(|shadow, _| of(shadow))
    }

    fn pop(&mut self, words: usize) {
        self.shadow(|shadow| shadow.pop(words));
    }

    fn push(&mut self, label: Label) {
        self.shadow(|shadow| shadow.push(label));
    }

    fn pushed(&mut self, label: impl FnOnce(&mut Self) -> Label) {
        let label = label(self);
        self.push(label);
    }

    /// A word on the stack before the step, as a memory position. Saturates: no byte that far has a label.
    fn number(&self, depth: usize) -> usize {
        self.step.operand(depth).saturating_to()
    }

    fn account(&self) -> Address {
        self.interpreter.input.target_address()
    }

    fn top(&self) -> U256 {
        self.interpreter.stack.data().last().copied().unwrap_or_default()
    }

    fn environment(&mut self, kind: FactKind) {
        let value = self.top();
        let label = self.tracker.environment_label(kind, value);
        self.push(label);
    }

    fn hash(&mut self) {
        let places = self.places(0, 1);
        let (from, length) = (self.number(0), self.number(1));
        let hashed = self.memory(from, length);
        self.pop(2);
        let label = self.tracker.union(places, hashed);
        let label = self.tracker.raise(label, SELECTED);
        self.push(label);
    }

    fn memory(&mut self, from: usize, length: usize) -> Label {
        self.tracker.with(|shadow, labels| shadow.memory.of(from, length, labels))
    }

    /// The labels of an offset and a length, to be attached to the data they refer to.
    fn places(&mut self, offset: usize, length: usize) -> Label {
        let (offset, length) = (self.at(offset), self.at(length));
        let label = self.tracker.union(offset, length);
        self.placed(label)
    }

    /// Labels for data at a position in memory: those of the position. The frame's memory size depends on them too.
    fn placed(&mut self, label: Label) -> Label {
        self.tracker.reach(label, reached::SIZE);
        if label == NONE {
            return NONE;
        }
        let label = self.tracker.raise(label, SELECTED);
        let size = self.shadow(|shadow| shadow.memory_size);
        let size = self.tracker.union(size, label);
        self.shadow(|shadow| shadow.memory_size = size);
        label
    }

    fn block_hash(&mut self) {
        let asked = self.at(0);
        let (number, value) = (self.step.operand(0), self.top());
        let place = FactKey { kind: FactKind::BlockHash, address: None, key: number };
        let label = self.tracker.fact(place, value);
        let asked = self.tracker.raise(asked, SELECTED);
        let label = self.tracker.union(label, asked);
        self.pop(1);
        self.push(label);
    }

    fn balance(&mut self, account: Address) -> Label {
        let value = self.top();
        let label = self.tracker.account_label(FactKind::Balance, account, value);
        let sent = self.tracker.balance(account);
        self.tracker.union(label, sent)
    }

    fn account_label(&mut self, opcode: u8) {
        let named = self.at(0);
        let account = Address::from_word(B256::from(self.step.operand(0)));
        let label = match opcode {
            BALANCE => self.balance(account),
            _ => self.code(account),
        };
        let named = self.tracker.raise(named, SELECTED);
        let label = self.tracker.union(label, named);
        self.pop(1);
        self.push(label);
    }

    fn code(&mut self, account: Address) -> Label {
        let value = if self.step.opcode == EXTCODECOPY { U256::ZERO } else { self.top() };
        let deployed = self.tracker.code(account);
        match deployed {
            Some(code) => code.of(0, usize::MAX, &mut self.tracker.labels),
            None => self.tracker.account_label(FactKind::Code, account, value),
        }
    }

    fn load(&mut self, opcode: u8) {
        let place = self.at(0);
        let from = self.number(0);
        let label = if opcode == MLOAD {
            self.placed(place);
            self.memory(from, 32)
        } else {
            let input = self.shadow(|shadow| shadow.input.clone());
            input.of(from, 32, &mut self.tracker.labels)
        };
        let place = self.tracker.raise(place, SELECTED);
        let label = self.tracker.union(label, place);
        self.pop(1);
        self.push(label);
    }

    fn copy(&mut self, opcode: u8) {
        let (to, from, length) = (self.number(0), self.number(1), self.number(2));
        let to_length = self.places(0, 2);
        let from_label = self.at(1);
        let from_label = self.tracker.raise(from_label, SELECTED);
        if opcode == RETURNDATACOPY {
            self.tracker.reach(from_label, reached::SIZE);
        }
        let place = self.tracker.union(to_length, from_label);
        let source = self.shadow(|shadow| match opcode {
            CALLDATACOPY => shadow.input.clone(),
            CODECOPY => shadow.code.clone(),
            RETURNDATACOPY => shadow.returned.data.clone(),
            _ => Rc::new(shadow.memory.copy(from, length)),
        });
        let from = if opcode == MCOPY { 0 } else { from };
        self.tracker.with(|shadow, labels| {
            shadow.memory.paste(to, &source, from, length);
            shadow.memory.add(to, length, place, labels);
        });
        self.pop(3);
        self.tracker.put(source.count());
    }

    fn copy_code(&mut self) {
        let named = self.at(0);
        let account = Address::from_word(B256::from(self.step.operand(0)));
        let (to, length) = (self.number(1), self.number(3));
        let place = self.places(1, 3);
        let code = self.code(account);
        let named = self.tracker.union(named, place);
        let named = self.tracker.raise(named, SELECTED);
        let label = self.tracker.union(code, named);
        self.shadow(|shadow| shadow.memory.set(to, length, label));
        self.pop(4);
    }

    fn store(&mut self, length: usize) {
        let place = self.at(0);
        let place = self.placed(place);
        let value = self.at(1);
        let label = self.tracker.union(place, value);
        let to = self.number(0);
        self.shadow(|shadow| shadow.memory.set(to, length, label));
        self.tracker.put(usize::from(label != NONE));
        self.pop(2);
    }

    fn read(&mut self, is_transient: bool) {
        let (account, slot) = (self.account(), self.step.operand(0));
        let key = self.at(0);
        self.tracker.reach(key, reached::SLOT);
        let value = self.top();
        let label = match self.tracker.word(&Word { account, slot, is_transient }) {
            Some(label) => label,
            None if is_transient => NONE,
            None => self.tracker.fact(FactKey { kind: FactKind::Slot, address: Some(account), key: slot }, value),
        };
        let key = self.tracker.raise(key, SELECTED);
        let label = self.tracker.union(label, key);
        self.pop(1);
        self.push(label);
    }

    fn write(&mut self, is_transient: bool) {
        let (account, slot) = (self.account(), self.step.operand(0));
        if !is_transient {
            let place = FactKey { kind: FactKind::Slot, address: Some(account), key: slot };
            self.tracker.writes_later(&place, self.step.operand(1));
        }
        let (key, value) = (self.at(0), self.at(1));
        self.tracker.reach(key, reached::SLOT);
        let key = self.tracker.raise(key, SELECTED);
        let label = self.tracker.union(key, value);
        let label = self.tracker.union(label, self.tracker.decided);
        self.tracker.write(Word { account, slot, is_transient }, label);
        self.pop(2);
    }

    fn branch(&mut self) {
        let (to, condition) = (self.at(0), self.at(1));
        self.tracker.reach(to, reached::JUMP);
        if condition == NONE || self.tracker.is_settled(condition) {
            return self.pop(2);
        }
        if !self.tracker.has_branched(condition) {
            let code = self.interpreter.bytecode.bytecode_slice();
            let (goes, on) = (usize::try_from(self.step.operand(0)).unwrap_or(usize::MAX), self.pc + 1);
            let other = if self.step.operand(1).is_zero() { goes } else { on };
            let avoided = match end_of(code, other) {
                Some(end) if is_error(end) => Avoided::Error,
                Some(STOP | RETURN | SSTORE | TSTORE) => Avoided::Nothing,
                _ => Avoided::Effect,
            };
            self.tracker.branch(condition, avoided);
            self.tracker.count(16);
        } else {
            self.tracker.branch(condition, Avoided::Nothing);
        }
        self.pop(2);
    }

    fn log(&mut self, topics: usize) {
        let is_token_event = topics > 0 && TOKEN_EVENTS.contains(&B256::from(self.step.operand(2)));
        if is_token_event {
            let data = self.memory(self.number(0), self.number(1));
            let place = self.places(0, 1);
            for depth in 2..2 + topics {
                let label = self.at(depth);
                self.tracker.reach_somebody(label);
            }
            self.tracker.reach_amount(data);
            self.tracker.reach_amount(place);
            self.tracker.facts.take_effect();
        }
        self.pop(2 + topics);
    }

    fn call(&mut self, opcode: u8) {
        let has_value = matches!(opcode, CALL | CALLCODE);
        let gas = self.at(0);
        let target = self.at(1);
        let value = if has_value { self.at(2) } else { NONE };
        let first = if has_value { 3 } else { 2 };
        self.tracker.reach_somebody(target);
        if value != NONE {
            self.tracker.reach_amount(value);
        }
        // Nearly every call passes on the gas left, or most of it: that alone means nothing.
        let facts = &self.tracker.facts;
        let gas =
            self.tracker.labels.only(gas, |fact, how| facts.kind(fact) != FactKind::GasLeft || how & SELECTED != 0);
        self.tracker.reach(gas, reached::ALLOWANCE);
        let input_place = self.places(first, first + 1);
        let output_place = self.places(first + 2, first + 3);
        let (from, length) = (self.number(first), self.number(first + 1));
        let (input, success) = self.tracker.with(|shadow, labels| {
            let mut input = shadow.memory.copy(from, length);
            input.add(0, length, input_place, labels);
            let computed = labels.only(target, |_, how| how != 0);
            let hangs_on = [computed, value, gas, output_place];
            (input, hangs_on.into_iter().fold(NONE, |all, label| labels.union(all, label)))
        });
        let input_size = self.at(first + 1);
        let passes_value = match opcode {
            DELEGATECALL => self.shadow(|shadow| shadow.value),
            _ => value,
        };
        let output = (self.number(first + 2), self.number(first + 3));
        let moved = input.count();
        let opening =
            Opening { input: Rc::new(input), input_size, value: passes_value, success, output, ..Opening::default() };
        self.shadow(|shadow| {
            shadow.pop(first + 4);
            shadow.opens = opening;
        });
        self.tracker.keep(moved);
    }

    fn create(&mut self, opcode: u8) {
        let value = self.at(0);
        self.tracker.reach_amount(value);
        let place = self.places(1, 2);
        let (from, length) = (self.number(1), self.number(2));
        let salt = if opcode == CREATE2 { self.at(3) } else { NONE };
        let code = self.memory(from, length);
        let input = self.shadow(|shadow| shadow.memory.copy(from, length));
        let created = [place, salt, code].into_iter().fold(NONE, |all, label| self.tracker.union(all, label));
        let created = self.tracker.raise(created, SELECTED);
        self.tracker.reach(created, reached::TARGET);
        let moved = input.count();
        let opening =
            Opening { input: Rc::new(input), value, success: value, created, is_create: true, ..Opening::default() };
        self.shadow(|shadow| {
            shadow.pop(if opcode == CREATE2 { 4 } else { 3 });
            shadow.opens = opening;
        });
        self.tracker.keep(moved);
    }

    fn end(&mut self) {
        let place = self.places(0, 1);
        let (from, length) = (self.number(0), self.number(1));
        let size = self.at(1);
        let data = self.tracker.with(|shadow, labels| {
            let mut data = shadow.memory.copy(from, length);
            data.add(0, length, place, labels);
            data
        });
        let moved = data.count();
        self.shadow(|shadow| shadow.output = Returned { data: Rc::new(data), size });
        self.tracker.keep(moved);
    }
}

/// EIP-8024: depth of the word that DUPN and SWAPN refer to.
fn nth(immediate: u8) -> usize {
    (usize::from(immediate) + 145) % 256
}

/// EIP-8024: the two words that EXCHANGE swaps, as depths below the top.
fn pair(immediate: u8) -> (usize, usize) {
    let (first, second) = (usize::from(immediate ^ 143) / 16, usize::from(immediate ^ 143) % 16);
    if first < second { (first + 1, second + 1) } else { (second + 1, 29 - first) }
}
