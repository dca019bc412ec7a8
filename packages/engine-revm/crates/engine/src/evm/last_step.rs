use crate::outcome::{FoundByStep, HaltedStep};
use alloy_primitives::{Address, B256, U256};
use revm::{
    bytecode::opcode::*,
    context::JournalInner,
    context_interface::journaled_state::entry::JournalEntry,
    interpreter::{
        Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{InputsTr, Jumps, MemoryTr, ReturnData},
    },
    primitives::hardfork::SpecId,
};

/// Operands that are kept.
const MOST_OPERANDS: usize = 7;
/// With more gas left, no price of an instruction that names a slot, or only looks at an account, is too high.
const AMPLE_GAS: u64 = 1_000_000;

/// What an instruction found.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastStep {
    opcode: u8,
    height: usize,
    /// The top of the stack is the last of them.
    operands: [U256; MOST_OPERANDS],
    gas: u64,
    /// Bytes.
    memory: usize,
    return_data: usize,
    /// Whether the account or slot that it names was cold, where it may be that it can't be paid.
    is_cold: bool,
}

impl LastStep {
    /// Takes over what the next instruction finds.
    pub fn update(&mut self, interpreter: &Interpreter<EthInterpreter>, journal: &JournalInner<JournalEntry>) {
        let stack = interpreter.stack.data();
        match stack.last_chunk() {
            Some(top) => self.operands = *top,
            None => self.operands[MOST_OPERANDS - stack.len()..].copy_from_slice(stack),
        }
        self.opcode = interpreter.bytecode.opcode();
        self.height = stack.len();
        self.gas = interpreter.gas.remaining();
        self.memory = interpreter.memory.size();
        self.return_data = interpreter.return_data.buffer().len();
        self.is_cold = self.finds_cold(interpreter, journal);
    }

    fn finds_cold(&self, interpreter: &Interpreter<EthInterpreter>, journal: &JournalInner<JournalEntry>) -> bool {
        let account = |word: U256| is_cold(journal, Address::from_word(B256::from(word)));
        let is_ample = self.gas > AMPLE_GAS;
        match self.opcode {
            BALANCE | EXTCODESIZE | EXTCODEHASH | SLOAD | SSTORE if is_ample => false,
            CALL | CALLCODE | DELEGATECALL | STATICCALL => account(self.operand(1)),
            SELFDESTRUCT | BALANCE | EXTCODESIZE | EXTCODECOPY | EXTCODEHASH => account(self.operand(0)),
            SLOAD | SSTORE => is_slot_cold(journal, interpreter.input.target_address(), self.operand(0)),
            _ => false,
        }
    }

    pub fn opcode(&self) -> u8 {
        self.opcode
    }

    /// Words on the stack.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The word at this place below the top of the stack, which is 0; there are seven.
    pub fn operand(&self, at: usize) -> U256 {
        if at < self.height { self.operands[MOST_OPERANDS - 1 - at] } else { U256::ZERO }
    }

    /// Gas left before it.
    pub fn gas(&self) -> u64 {
        self.gas
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.memory
    }

    pub fn halted(&self, fork: SpecId) -> HaltedStep {
        let found = FoundByStep {
            operands: self.operands.iter().rev().take(self.height).copied().collect(),
            gas: Some(self.gas),
            memory: self.memory as u64,
            return_data: self.return_data as u64,
            is_cold: self.is_cold,
        };
        HaltedStep { fork, opcode: self.opcode, height: self.height as u64, found: Some(found) }
    }
}

fn is_slot_cold(journal: &JournalInner<JournalEntry>, address: Address, slot: U256) -> bool {
    let held = journal.state.get(&address).and_then(|account| account.storage.get(&slot));
    match held {
        Some(value) if !value.is_cold_transaction_id(journal.transaction_id) => false,
        _ => !journal.warm_addresses.is_storage_warm(&address, &slot),
    }
}

fn is_cold(journal: &JournalInner<JournalEntry>, address: Address) -> bool {
    match journal.state.get(&address) {
        Some(account) if !account.is_cold_transaction_id(journal.transaction_id) => false,
        _ => journal.warm_addresses.is_cold(&address),
    }
}
