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

/// What an instruction found.
#[derive(Clone, Copy, Debug)]
pub struct LastStep {
    opcode: u8,
    height: usize,
    /// From the top of the stack.
    operands: [U256; 7],
    gas: u64,
    /// Bytes.
    memory: usize,
    return_data: usize,
    /// Whether the account or slot that it names was cold.
    is_cold: bool,
}

impl LastStep {
    pub fn of(interpreter: &Interpreter<EthInterpreter>, journal: &JournalInner<JournalEntry>) -> Self {
        let opcode = interpreter.bytecode.opcode();
        let stack = interpreter.stack.data();
        let mut operands = [U256::ZERO; 7];
        for (to, from) in operands.iter_mut().zip(stack.iter().rev()) {
            *to = *from;
        }
        let account = |word: U256| is_cold(journal, Address::from_word(B256::from(word)));
        let is_cold = match opcode {
            CALL | CALLCODE | DELEGATECALL | STATICCALL => account(operands[1]),
            SELFDESTRUCT | BALANCE | EXTCODESIZE | EXTCODECOPY | EXTCODEHASH => account(operands[0]),
            SLOAD | SSTORE => is_slot_cold(journal, interpreter.input.target_address(), operands[0]),
            _ => false,
        };
        Self {
            opcode,
            height: stack.len(),
            operands,
            gas: interpreter.gas.remaining(),
            memory: interpreter.memory.size(),
            return_data: interpreter.return_data.buffer().len(),
            is_cold,
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
        self.operands[at]
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
            operands: self.operands.iter().take(self.height).copied().collect(),
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
