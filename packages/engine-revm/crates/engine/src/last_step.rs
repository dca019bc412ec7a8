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
    opcode: u8,
    height: usize,
    /// The last of them is the top of the stack.
    operands: [U256; MAX_OPERANDS],
    gas: u64,
    /// Length in bytes.
    memory: usize,
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

    pub fn opcode(&self) -> u8 {
        self.opcode
    }

    /// Number of words on the stack.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The word at this depth below the top, from 0 to 6.
    pub fn operand(&self, at: usize) -> U256 {
        if at < self.height { self.operands[MAX_OPERANDS - 1 - at] } else { U256::ZERO }
    }

    /// Gas left before the instruction.
    pub fn gas(&self) -> u64 {
        self.gas
    }

    /// Length of the memory in bytes.
    pub fn memory(&self) -> usize {
        self.memory
    }
}
