use alloy_primitives::U256;
use revm::interpreter::{
    Interpreter,
    interpreter::EthInterpreter,
    interpreter_types::{Jumps, MemoryTr},
};

/// Number of operands stored.
const MAX_OPERANDS: usize = 7;

/// The state before an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastStep {
    pub opcode: u8,
    /// Number of words on the stack.
    pub height: usize,
    /// The last of them is the top of the stack.
    operands: [U256; MAX_OPERANDS],
    /// Gas left.
    pub gas: u64,
    /// Length of the memory in bytes.
    pub memory: usize,
}

impl LastStep {
    /// Stores the state before the next instruction.
    pub fn update(&mut self, interpreter: &Interpreter<EthInterpreter>) {
        let stack = interpreter.stack.data();
        match stack.last_chunk() {
            Some(top) => self.operands = *top,
            None => self.operands[MAX_OPERANDS - stack.len()..].copy_from_slice(stack),
        }
        self.opcode = interpreter.bytecode.opcode();
        self.height = stack.len();
        self.gas = interpreter.gas.remaining();
        self.memory = interpreter.memory.size();
    }

    /// The word at this depth below the top, from 0 to 6.
    pub fn operand(&self, at: usize) -> U256 {
        if at < self.height { self.operands[MAX_OPERANDS - 1 - at] } else { U256::ZERO }
    }
}
