use alloy_primitives::U256;
use revm::interpreter::{
    Interpreter,
    interpreter::EthInterpreter,
    interpreter_types::{Jumps, MemoryTr},
};

/// Operands that are kept.
const MOST_OPERANDS: usize = 7;

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
}

impl LastStep {
    /// Takes over what the next instruction finds.
    pub fn update(&mut self, interpreter: &Interpreter<EthInterpreter>) {
        let stack = interpreter.stack.data();
        match stack.last_chunk() {
            Some(top) => self.operands = *top,
            None => self.operands[MOST_OPERANDS - stack.len()..].copy_from_slice(stack),
        }
        self.opcode = interpreter.bytecode.opcode();
        self.height = stack.len();
        self.gas = interpreter.gas.remaining();
        self.memory = interpreter.memory.size();
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
}
