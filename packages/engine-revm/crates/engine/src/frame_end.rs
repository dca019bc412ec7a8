//! How a frame ends by its last instruction.

use crate::outcome::Halt;
use revm::{
    bytecode::opcode::OPCODE_INFO,
    interpreter::{
        InstructionResult, Interpreter, STACK_LIMIT,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, LegacyBytecode, LoopControl},
    },
};

/// Ends a frame by what its last instruction came to. revm takes an instruction's least price, which wraps where it can't be paid,
/// before it counts operands; geth counts first.
#[inline]
pub fn end(interpreter: &mut Interpreter<EthInterpreter>, ended: InstructionResult) {
    if interpreter.bytecode.action().is_some() {
        return;
    }
    let is_unpaid = ended == InstructionResult::OutOfGas && interpreter.gas.remaining() > interpreter.gas.limit();
    if is_unpaid && wrong_height(interpreter).is_some() {
        interpreter.gas.spend_all();
        interpreter.halt(InstructionResult::StackUnderflow);
    } else {
        interpreter.halt(ended);
    }
}

/// Why the last instruction can't run on the stack that is there.
pub fn wrong_height(interpreter: &Interpreter<EthInterpreter>) -> Option<Halt> {
    let info = OPCODE_INFO[usize::from(last_opcode(interpreter))]?;
    let (height, inputs) = (interpreter.stack.len(), usize::from(info.inputs()));
    if height < inputs {
        return Some(Halt::StackUnderflow { height: height as u64, inputs: inputs as u64 });
    }
    (height - inputs + usize::from(info.outputs()) > STACK_LIMIT).then_some(Halt::StackOverflow)
}

/// The last opcode that was stepped over.
pub fn last_opcode(interpreter: &Interpreter<EthInterpreter>) -> u8 {
    let code = interpreter.bytecode.bytecode_slice();
    interpreter.bytecode.pc().checked_sub(1).and_then(|at| code.get(at)).map_or(0, |byte: &u8| *byte)
}
