use super::{halt, machine::Context};
use alloy_primitives::{Address, B256, U256};
use revm::{
    bytecode::opcode::OpCode,
    interpreter::{
        Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, MemoryTr, ReturnData},
    },
    primitives::hardfork::SpecId,
};

const STACK_LIMIT: i64 = 1_024;
const COLD_ACCOUNT: u64 = 2_600;
const WARM_ACCESS: u64 = 100;
const CALL_VALUE: u64 = 9_000;
const CREATE: u64 = 32_000;
const SELF_DESTRUCT: u64 = 5_000;
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
    pub fn of(interpreter: &Interpreter<EthInterpreter>, context: &Context) -> Self {
        let opcode = interpreter.bytecode.opcode();
        let stack = interpreter.stack.data();
        let mut operands = [U256::ZERO; 7];
        for (to, from) in operands.iter_mut().zip(stack.iter().rev()) {
            *to = *from;
        }
        let named = match opcode {
            0xf1 | 0xf2 | 0xf4 | 0xfa => Some(operands[1]),
            0xff => Some(operands[0]),
            _ => None,
        };
        Self {
            opcode,
            depth: stack.len(),
            operands,
            gas: interpreter.gas.remaining(),
            memory: interpreter.memory.size(),
            return_data: interpreter.return_data.buffer().len(),
            cold: named.is_some_and(|word| is_cold(context, Address::from_word(B256::from(word)))),
        }
    }

    /// geth's words where this instruction could not be paid for, or its price not be computed: it looks at the stack, then
    /// charges what is constant, then computes memory, then the rest (core/vm/interpreter.go, gas_table.go).
    pub fn out_of_gas(&self, spec: SpecId) -> String {
        let Self { opcode, depth, gas, .. } = *self;
        let wanted = halt::inputs(opcode);
        if depth < wanted {
            return halt::underflow(opcode, depth);
        }
        if depth as i64 + OpCode::info_by_op(opcode).map_or(0, |info| i64::from(info.io_diff())) > STACK_LIMIT {
            return halt::overflow(opcode, depth);
        }
        let constant = match opcode {
            0xf0 | 0xf5 => CREATE,
            0xf1 | 0xf2 | 0xf4 | 0xfa => WARM_ACCESS,
            0xff => SELF_DESTRUCT,
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
            0x3e => self.return_data_copy(end),
            0x55 if gas <= SSTORE_SENTRY => "out of gas: not enough gas for reentrancy sentry",
            0xff if self.cold && gas < SELF_DESTRUCT + COLD_ACCOUNT => "out of gas: out of gas",
            0xf0 | 0xf5 if spec.is_enabled_in(SpecId::SHANGHAI) && self.operands[2] > U256::from(MAX_INIT_CODE) => {
                return format!(
                    "out of gas: max initcode size exceeded: code size {} limit {MAX_INIT_CODE}",
                    self.operands[2]
                );
            }
            0xf1 | 0xf2 | 0xf4 | 0xfa if self.is_unaffordable_call(spec) => "out of gas: out of gas",
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
        let transfer = if self.opcode == 0xf1 && !self.operands[2].is_zero() { CALL_VALUE } else { 0 };
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
            0x20 | 0xa0..=0xa4 | 0xf3 | 0xfd => at(0, 1),
            0x37 | 0x39 | 0x3e => at(0, 2),
            0x3c => at(1, 3),
            0x51 | 0x52 => fixed(32),
            0x53 => fixed(1),
            0x5e => at(0, 2).max(at(1, 2)),
            0xf0 | 0xf5 => at(1, 2),
            0xf1 | 0xf2 => at(5, 6).max(at(3, 4)),
            0xf4 | 0xfa => at(4, 5).max(at(2, 3)),
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

fn is_cold(context: &Context, address: Address) -> bool {
    let journal = &context.journaled_state.inner;
    match journal.state.get(&address) {
        Some(account) if !account.is_cold_transaction_id(journal.transaction_id) => false,
        _ => journal.warm_addresses.is_cold(&address),
    }
}
