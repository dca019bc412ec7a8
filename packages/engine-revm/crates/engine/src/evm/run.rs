//! The loop over a frame's instructions.
//!
//! Two thirds of what a contract executes moves words about: pushes, copies, comparisons, jumps. revm keeps program counter, gas
//! and the height of the stack in memory, and calls a function for each instruction: five to ten nanoseconds, in which it waits
//! for its own writes. Here the commonest are carried out in one loop with those three in registers.
//!
//! Only what can't go wrong is: where an operand is missing, gas runs out or a jump leads nowhere, and for every other
//! instruction, the table's own function runs, which knows what to say. So there is one place for rules and words: revm.

use super::{
    context::Context,
    word::{BITS, holds_word, is_small, number, signed, small},
};
use alloy_primitives::U256;
use revm::{
    bytecode::opcode,
    interpreter::{
        Interpreter, InterpreterAction,
        instructions::InstructionTable,
        interpreter::{EthInterpreter, STACK_LIMIT},
        interpreter_types::{Jumps, LoopControl},
    },
    primitives::hardfork::SpecId,
};

/// Runs until the frame ends or opens another.
pub fn run(
    interpreter: &mut Interpreter<EthInterpreter>,
    table: &InstructionTable<EthInterpreter, Context>,
    context: &mut Context,
) -> InterpreterAction {
    // The spare room that plain instructions count on is there from the start; asked for, not trusted.
    let roomy = interpreter.stack.data().capacity() >= STACK_LIMIT;
    if !roomy || interpreter.bytecode.legacy_jump_table().is_none() {
        return interpreter.run_plain(table, context);
    }
    while interpreter.bytecode.is_not_end() {
        plain(interpreter, context);
        interpreter.step(table, context);
    }
    interpreter.take_next_action()
}

/// Carries out plain instructions up to the first that isn't.
#[inline]
fn plain(interpreter: &mut Interpreter<EthInterpreter>, context: &Context) {
    let stop = &context.chain.stop;
    // Below so much gas, the caller's own thread has done enough.
    let floor = context.chain.allowance.map_or(0, |allowance| context.chain.run_from.saturating_sub(allowance.gas));
    let has_push0 = context.cfg.spec.is_enabled_in(SpecId::SHANGHAI);
    let Interpreter { bytecode, gas: gas_left, stack, memory, .. } = interpreter;
    let Some(jumps) = bytecode.legacy_jump_table() else { return };
    let code = bytecode.bytes_ref().as_ptr();
    // SAFETY: a place in the code. A pointer, as two numbers the compiler would keep in one vector register.
    let mut next = unsafe { code.add(bytecode.pc()) };
    let mut gas = gas_left.remaining();
    let words = stack.data_mut();
    let mut height = words.len();
    let stack = words.as_mut_ptr();

    // SAFETY of what follows: `next` is the place of an instruction, as it starts with the interpreter's own, moves on by an
    // instruction's length or to what the jump table calls a destination; code is padded such that its last instruction is
    // STOP, which ends the loop, and operands of pushes are there. Stack places are looked at below `height` and written
    // below `STACK_LIMIT`, for which `run` has found room; what lies below `height` is initialized.
    macro_rules! word {
        ($from_top:expr) => {
            *unsafe { &mut *stack.add(height - 1 - $from_top) }
        };
    }
    macro_rules! advances {
        ($by:expr) => {
            next = unsafe { next.add($by) };
        };
    }
    macro_rules! costs {
        ($gas:expr) => {
            if gas < $gas {
                break;
            }
            gas -= $gas;
        };
    }
    macro_rules! needs {
        ($words:expr) => {
            if height < $words {
                break;
            }
        };
    }
    macro_rules! grows {
        ($gas:expr) => {
            if height >= STACK_LIMIT {
                break;
            }
            costs!($gas);
            advances!(1);
            height += 1;
        };
    }
    macro_rules! binary {
        ($gas:expr, |$a:ident, $b:ident| $result:expr) => {{
            needs!(2);
            costs!($gas);
            advances!(1);
            let ($a, $b) = (word!(0), word!(1));
            height -= 1;
            word!(0) = $result;
        }};
    }
    macro_rules! pushes {
        ($size:literal) => {{
            grows!(3);
            let operand: &[u8; $size] = unsafe { &*next.cast() };
            unsafe { stack.add(height - 1).write(number(operand)) };
            advances!($size);
        }};
    }
    macro_rules! copies {
        ($depth:literal) => {{
            needs!($depth);
            grows!(3);
            unsafe { stack.add(height - 1).write(*stack.add(height - 1 - $depth)) };
        }};
    }
    macro_rules! swaps {
        ($depth:literal) => {{
            needs!($depth + 1);
            costs!(3);
            advances!(1);
            unsafe { stack.add(height - 1).swap(stack.add(height - 1 - $depth)) };
        }};
    }

    // Carries out the JUMPDEST that stands where a jump goes.
    macro_rules! arrives {
        ($to:expr) => {{
            let to: usize = $to;
            next = unsafe { code.add(to) };
            if gas <= floor || stop.is_raised() {
                break;
            }
            costs!(1);
            advances!(1);
        }};
    }

    loop {
        match unsafe { *next } {
            opcode::ADD => binary!(3, |a, b| a.wrapping_add(b)),
            opcode::MUL => binary!(5, |a, b| a.wrapping_mul(b)),
            opcode::SUB => binary!(3, |a, b| a.wrapping_sub(b)),
            opcode::LT => binary!(3, |a, b| U256::from(a < b)),
            opcode::GT => binary!(3, |a, b| U256::from(a > b)),
            opcode::SLT => binary!(3, |a, b| U256::from(signed(a) < signed(b))),
            opcode::SGT => binary!(3, |a, b| U256::from(signed(a) > signed(b))),
            opcode::EQ => binary!(3, |a, b| U256::from(a == b)),
            opcode::AND => binary!(3, |a, b| a & b),
            opcode::OR => binary!(3, |a, b| a | b),
            opcode::XOR => binary!(3, |a, b| a ^ b),
            opcode::SHL => binary!(3, |shift, value| if shift < BITS { value << small(&shift) } else { U256::ZERO }),
            opcode::SHR => binary!(3, |shift, value| if shift < BITS { value >> small(&shift) } else { U256::ZERO }),
            opcode::ISZERO => {
                needs!(1);
                costs!(3);
                advances!(1);
                word!(0) = U256::from(word!(0).is_zero());
            }
            opcode::NOT => {
                needs!(1);
                costs!(3);
                advances!(1);
                word!(0) = !word!(0);
            }
            opcode::POP => {
                needs!(1);
                costs!(2);
                advances!(1);
                height -= 1;
            }
            opcode::MLOAD => {
                needs!(1);
                if !holds_word(&word!(0), memory.len()) {
                    break;
                }
                costs!(3);
                advances!(1);
                word!(0) = memory.get_u256(small(&word!(0)));
            }
            opcode::MSTORE => {
                needs!(2);
                if !holds_word(&word!(0), memory.len()) {
                    break;
                }
                costs!(3);
                advances!(1);
                memory.set_u256(small(&word!(0)), word!(1));
                height -= 2;
            }
            opcode::JUMP => {
                needs!(1);
                if !is_small(&word!(0)) || !jumps.is_valid(small(&word!(0))) {
                    break;
                }
                costs!(8);
                let to = small(&word!(0));
                height -= 1;
                arrives!(to);
            }
            opcode::JUMPI => {
                needs!(2);
                let goes = !word!(1).is_zero();
                if goes && (!is_small(&word!(0)) || !jumps.is_valid(small(&word!(0)))) {
                    break;
                }
                costs!(10);
                let to = small(&word!(0));
                height -= 2;
                if goes {
                    arrives!(to);
                } else {
                    advances!(1);
                }
            }
            opcode::JUMPDEST => arrives!(unsafe { next.offset_from_unsigned(code) }),
            opcode::PUSH0 => {
                if !has_push0 {
                    break;
                }
                grows!(2);
                unsafe { stack.add(height - 1).write(U256::ZERO) };
            }
            opcode::PUSH1 => pushes!(1),
            opcode::PUSH2 => {
                // Nearly always where the jump that follows goes. There is an instruction after each push: the padding's, at least.
                let to = usize::from(u16::from_be_bytes(unsafe { *next.add(1).cast() }));
                match unsafe { *next.add(3) } {
                    opcode::JUMP if height < STACK_LIMIT && gas >= 11 && jumps.is_valid(to) => {
                        gas -= 11;
                        arrives!(to);
                    }
                    opcode::JUMPI if (1..STACK_LIMIT).contains(&height) && gas >= 13 => {
                        let goes = !word!(0).is_zero();
                        if goes && !jumps.is_valid(to) {
                            break;
                        }
                        gas -= 13;
                        height -= 1;
                        if goes {
                            arrives!(to);
                        } else {
                            advances!(4);
                        }
                    }
                    _ => pushes!(2),
                }
            }
            opcode::PUSH3 => pushes!(3),
            opcode::PUSH4 => pushes!(4),
            opcode::PUSH8 => pushes!(8),
            opcode::PUSH16 => pushes!(16),
            opcode::PUSH20 => pushes!(20),
            opcode::PUSH32 => pushes!(32),
            opcode::DUP1 => copies!(1),
            opcode::DUP2 => copies!(2),
            opcode::DUP3 => copies!(3),
            opcode::DUP4 => copies!(4),
            opcode::DUP5 => copies!(5),
            opcode::DUP6 => copies!(6),
            opcode::DUP7 => copies!(7),
            opcode::DUP8 => copies!(8),
            opcode::DUP9 => copies!(9),
            opcode::DUP10 => copies!(10),
            opcode::DUP11 => copies!(11),
            opcode::DUP12 => copies!(12),
            opcode::DUP13 => copies!(13),
            opcode::DUP14 => copies!(14),
            opcode::DUP15 => copies!(15),
            opcode::DUP16 => copies!(16),
            opcode::SWAP1 => swaps!(1),
            opcode::SWAP2 => swaps!(2),
            opcode::SWAP3 => swaps!(3),
            opcode::SWAP4 => swaps!(4),
            opcode::SWAP5 => swaps!(5),
            opcode::SWAP6 => swaps!(6),
            opcode::SWAP7 => swaps!(7),
            opcode::SWAP8 => swaps!(8),
            opcode::SWAP9 => swaps!(9),
            opcode::SWAP10 => swaps!(10),
            opcode::SWAP11 => swaps!(11),
            opcode::SWAP12 => swaps!(12),
            opcode::SWAP13 => swaps!(13),
            opcode::SWAP14 => swaps!(14),
            opcode::SWAP15 => swaps!(15),
            opcode::SWAP16 => swaps!(16),
            _ => break,
        }
    }

    gas_left.set_remaining(gas);
    // SAFETY: words up to `height` are initialized, and there is room for them.
    unsafe { words.set_len(height) };
    // SAFETY: both in the code.
    bytecode.absolute_jump(unsafe { next.offset_from_unsigned(code) });
}

#[cfg(test)]
mod tests;
