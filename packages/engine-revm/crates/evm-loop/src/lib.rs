//! An interpreter loop for revm: [`run`] does what [`Interpreter::run_plain`] does, faster.
//!
//! Two thirds of what a contract executes moves words about: pushes, copies, comparisons, jumps. revm keeps the program counter,
//! gas and the height of the stack in memory and calls a function for each instruction, which waits for its own writes. Here the
//! commonest instructions are carried out in one loop with those three in registers.
//!
//! The loop carries out only what can't fail. Where an operand is missing, gas runs out or a jump leads nowhere, and for every
//! other instruction, the function of revm's table runs. So errors and all other rules have one source: revm.

mod plain;
mod word;

#[cfg(any(test, feature = "arbitrary"))]
pub mod differential;

use revm_interpreter::{
    Host, Interpreter, InterpreterAction,
    instructions::{GasTable, InstructionTable},
    interpreter::{EthInterpreter, STACK_LIMIT},
    interpreter_types::LoopControl,
};
use std::sync::atomic::AtomicBool;

/// When the loop leaves a JUMPDEST, which every loop in a program passes, to the table: its instruction may then end the frame.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// Raised, each JUMPDEST is the table's.
    pub stop: &'a AtomicBool,
    /// So is each JUMPDEST that the frame comes to with this much gas or less.
    pub floor: u64,
}

/// Runs until the frame ends or opens another. `bounds` are looked up anew after each instruction of the table. Where there are none,
/// every instruction is the table's.
pub fn run<H: Host>(
    interpreter: &mut Interpreter<EthInterpreter>,
    table: &InstructionTable<EthInterpreter, H>,
    prices: &GasTable,
    host: &mut H,
    bounds: impl Fn(&H) -> Option<Bounds<'_>>,
) -> InterpreterAction {
    // revm makes stacks with room for all words and code with a jump table. The loop relies on both, so it makes sure of them.
    let has_room = interpreter.stack.data().capacity() >= STACK_LIMIT;
    if !has_room || interpreter.bytecode.legacy_jump_table().is_none() {
        return interpreter.run_plain(table, prices, host);
    }
    let end = loop {
        if let Some(bounds) = bounds(host) {
            // SAFETY: the room was there above, and revm's instructions only push to the stack and pop from it.
            unsafe { plain::run(interpreter, bounds) };
        }
        if let Err(end) = interpreter.step(table, prices, host) {
            break end;
        }
    };
    if interpreter.bytecode.action().is_none() {
        interpreter.halt(end);
    }
    interpreter.take_next_action()
}
