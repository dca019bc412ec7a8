//! What geth says of a stack that holds too little or too much for an instruction.

use revm::{bytecode::opcode::OpCode, interpreter::interpreter::STACK_LIMIT};

/// Words that the instruction takes from the stack.
pub fn inputs(opcode: u8) -> usize {
    OpCode::info_by_op(opcode).map_or(0, |info| usize::from(info.inputs()))
}

/// Words by which the stack is higher after the instruction.
fn growth(opcode: u8) -> i64 {
    OpCode::info_by_op(opcode).map_or(0, |info| info.io_diff().into())
}

pub fn underflow(opcode: u8, depth: usize) -> String {
    format!("stack underflow ({depth} <=> {})", inputs(opcode))
}

pub fn overflow(opcode: u8, depth: usize) -> String {
    format!("stack limit reached {depth} ({})", STACK_LIMIT as i64 - growth(opcode))
}

/// None where a stack of `depth` words serves the instruction.
pub fn stack_fault(opcode: u8, depth: usize) -> Option<String> {
    if depth < inputs(opcode) {
        Some(underflow(opcode, depth))
    } else if depth as i64 + growth(opcode) > STACK_LIMIT as i64 {
        Some(overflow(opcode, depth))
    } else {
        None
    }
}
