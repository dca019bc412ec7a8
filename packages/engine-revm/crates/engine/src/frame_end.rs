//! How a frame ends by its last instruction.

use crate::outcome::Halt;
use revm::{
    bytecode::opcode::{DUPN, EXCHANGE, OPCODE_INFO, SWAPN},
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

/// That the stack lacks the word that the byte after the last instruction names (EIP-8024), where that is one which names words.
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

/// The last opcode that was stepped over.
pub fn last_opcode(interpreter: &Interpreter<EthInterpreter>) -> u8 {
    let code = interpreter.bytecode.bytecode_slice();
    interpreter.bytecode.pc().checked_sub(1).and_then(|at| code.get(at)).map_or(0, |byte: &u8| *byte)
}
