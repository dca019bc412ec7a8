use super::stack_fault::stack_fault;
use alloy_primitives::{Address, B256, U256};
use revm::{
    bytecode::opcode::*,
    context::JournalInner,
    context_interface::journaled_state::entry::JournalEntry,
    interpreter::{
        Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, MemoryTr, ReturnData},
    },
    primitives::hardfork::SpecId,
};

const COLD_ACCOUNT: u64 = 2_600;
const WARM_ACCESS: u64 = 100;
const CALL_VALUE: u64 = 9_000;
const CREATION: u64 = 32_000;
const SELF_DESTRUCTION: u64 = 5_000;
const SSTORE_SENTRY: u64 = 2_300;
const COPY_WORD: u64 = 3;
const MAX_INIT_CODE: u64 = 49_152;
/// From here on geth's price of memory would overflow, bytes.
const MAX_PRICED_MEMORY: u64 = 0x1f_ffff_ffe0;

/// What an instruction found.
#[derive(Clone, Copy, Debug)]
pub struct LastStep {
    pub opcode: u8,
    pub depth: usize,
    /// From the top of the stack.
    operands: [U256; 7],
    gas: u64,
    /// Bytes.
    memory: usize,
    return_data: usize,
    /// Whether the account that a call or SELFDESTRUCT names was cold.
    cold: bool,
}

impl LastStep {
    pub fn of(interpreter: &Interpreter<EthInterpreter>, journal: &JournalInner<JournalEntry>) -> Self {
        let opcode = interpreter.bytecode.opcode();
        let stack = interpreter.stack.data();
        let mut operands = [U256::ZERO; 7];
        for (to, from) in operands.iter_mut().zip(stack.iter().rev()) {
            *to = *from;
        }
        let named = match opcode {
            CALL | CALLCODE | DELEGATECALL | STATICCALL => Some(operands[1]),
            SELFDESTRUCT => Some(operands[0]),
            _ => None,
        };
        Self {
            opcode,
            depth: stack.len(),
            operands,
            gas: interpreter.gas.remaining(),
            memory: interpreter.memory.size(),
            return_data: interpreter.return_data.buffer().len(),
            cold: named.is_some_and(|word| is_cold(journal, Address::from_word(B256::from(word)))),
        }
    }

    /// geth's words where this instruction could not be paid for, or its price not be computed: it looks at the stack, then
    /// charges what is constant, then computes memory, then the rest (core/vm/interpreter.go, gas_table.go).
    pub fn out_of_gas(&self, spec: SpecId) -> String {
        let Self { opcode, depth, gas, .. } = *self;
        if let Some(fault) = stack_fault(opcode, depth) {
            return fault;
        }
        let constant = match opcode {
            CREATE | CREATE2 => CREATION,
            CALL | CALLCODE | DELEGATECALL | STATICCALL => WARM_ACCESS,
            SELFDESTRUCT => SELF_DESTRUCTION,
            _ => 0,
        };
        if gas < constant {
            return "out of gas".into();
        }
        let end = self.memory_end();
        if end > U256::from(u64::MAX) {
            return "gas uint64 overflow".into();
        }
        if end > U256::from(MAX_PRICED_MEMORY) {
            return "out of gas: gas uint64 overflow".into();
        }
        let end: u64 = end.to();
        let words = match opcode {
            RETURNDATACOPY => self.return_data_copy(end),
            SSTORE if gas <= SSTORE_SENTRY => "out of gas: not enough gas for reentrancy sentry",
            SELFDESTRUCT if self.cold && gas < SELF_DESTRUCTION + COLD_ACCOUNT => "out of gas: out of gas",
            CREATE | CREATE2
                if spec.is_enabled_in(SpecId::SHANGHAI) && self.operands[2] > U256::from(MAX_INIT_CODE) =>
            {
                return format!(
                    "out of gas: max initcode size exceeded: code size {} limit {MAX_INIT_CODE}",
                    self.operands[2]
                );
            }
            CALL | CALLCODE | DELEGATECALL | STATICCALL if self.is_unaffordable_call(spec) => "out of gas: out of gas",
            _ => "out of gas",
        };
        words.into()
    }

    /// Before Prague geth prices a call without looking whether what comes after the access can be paid.
    fn is_unaffordable_call(&self, spec: SpecId) -> bool {
        if spec.is_enabled_in(SpecId::PRAGUE) {
            return true;
        }
        let access = if self.cold { COLD_ACCOUNT } else { WARM_ACCESS };
        let transfer = if self.opcode == CALL && !self.operands[2].is_zero() { CALL_VALUE } else { 0 };
        self.gas < access + transfer
    }

    fn return_data_copy(&self, end: u64) -> &'static str {
        let [_, offset, length, ..] = self.operands;
        if offset.saturating_add(length) <= U256::from(self.return_data) {
            return "out of gas";
        }
        let length = length.saturating_to::<u64>();
        let price = u128::from(COPY_WORD) + memory_price(end) - memory_price(self.memory as u64).min(memory_price(end))
            + u128::from(COPY_WORD) * u128::from(length.div_ceil(32));
        if price > u128::from(self.gas) { "out of gas" } else { "return data out of bounds" }
    }

    /// The end of the memory that the instruction wants, bytes.
    fn memory_end(&self) -> U256 {
        let at = |offset: usize, length: usize| range_end(self.operands[offset], self.operands[length]);
        let fixed = |bytes: u64| range_end(self.operands[0], U256::from(bytes));
        match self.opcode {
            KECCAK256 | LOG0..=LOG4 | RETURN | REVERT => at(0, 1),
            CALLDATACOPY | CODECOPY | RETURNDATACOPY => at(0, 2),
            EXTCODECOPY => at(1, 3),
            MLOAD | MSTORE => fixed(32),
            MSTORE8 => fixed(1),
            MCOPY => at(0, 2).max(at(1, 2)),
            CREATE | CREATE2 => at(1, 2),
            CALL | CALLCODE => at(5, 6).max(at(3, 4)),
            DELEGATECALL | STATICCALL => at(4, 5).max(at(2, 3)),
            _ => U256::ZERO,
        }
    }
}

fn range_end(offset: U256, length: U256) -> U256 {
    if length.is_zero() { U256::ZERO } else { offset.saturating_add(length) }
}

fn memory_price(bytes: u64) -> u128 {
    let words = u128::from(bytes.div_ceil(32));
    3 * words + words * words / 512
}

fn is_cold(journal: &JournalInner<JournalEntry>, address: Address) -> bool {
    match journal.state.get(&address) {
        Some(account) if !account.is_cold_transaction_id(journal.transaction_id) => false,
        _ => journal.warm_addresses.is_cold(&address),
    }
}
