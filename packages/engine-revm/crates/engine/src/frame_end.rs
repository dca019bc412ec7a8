//! How a frame's last instruction ends it.

use crate::outcome::Halt;
use revm::{
    bytecode::opcode::{DUPN, EXCHANGE, OPCODE_INFO, SWAPN},
    interpreter::{
        InstructionResult, Interpreter, STACK_LIMIT,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, LegacyBytecode, LoopControl},
    },
};

/// Ends a frame by the result of its last instruction. revm charges an instruction's constant cost (wrapping around if it can't be paid)
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

/// The stack underflow or overflow of the last instruction, if any.
pub fn wrong_height(interpreter: &Interpreter<EthInterpreter>) -> Option<Halt> {
    let opcode = last_opcode(interpreter);
    let info = OPCODE_INFO[usize::from(opcode)]?;
    let (height, taken) = (interpreter.stack.len(), usize::from(info.inputs()));
    let inputs = match opcode {
        DUPN => 1,
        SWAPN | EXCHANGE => 2,
        _ => taken,
    };
    if height < inputs {
        return Some(Halt::StackUnderflow { height: height as u64, inputs: inputs as u64 });
    }
    (height - taken + usize::from(info.outputs()) > STACK_LIMIT).then_some(Halt::StackOverflow)
}

/// The byte after the last instruction.
pub fn operand(interpreter: &Interpreter<EthInterpreter>) -> u8 {
    interpreter.bytecode.bytecode_slice().get(interpreter.bytecode.pc()).copied().unwrap_or_default()
}

/// The stack underflow if the last instruction takes a word by its immediate byte (EIP-8024) and the stack lacks it.
pub fn missing_word(interpreter: &Interpreter<EthInterpreter>) -> Option<Halt> {
    let byte = operand(interpreter);
    let (single, row, column) = (byte.wrapping_add(145), (byte ^ 143) / 16, (byte ^ 143) % 16);
    let inputs = match last_opcode(interpreter) {
        DUPN => single,
        SWAPN => single + 1,
        EXCHANGE if row < column => column + 2,
        EXCHANGE => 30 - row,
        _ => return None,
    };
    Some(Halt::StackUnderflow { height: interpreter.stack.len() as u64, inputs: inputs.into() })
}

/// The last opcode stepped over.
pub fn last_opcode(interpreter: &Interpreter<EthInterpreter>) -> u8 {
    let code = interpreter.bytecode.bytecode_slice();
    interpreter.bytecode.pc().checked_sub(1).and_then(|at| code.get(at)).map_or(0, |byte: &u8| *byte)
}
