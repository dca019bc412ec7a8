//! The instructions that the loop carries out itself, with the program counter, gas and the stack's height in registers.

use crate::{
    Bounds,
    word::{BITS, holds_word, is_small, number, signed, small},
};
use revm_interpreter::{
    Interpreter,
    bytecode::opcode,
    gas::{self, BASE, HIGH, LOW, MID, VERYLOW},
    interpreter::{EthInterpreter, STACK_LIMIT},
    interpreter_types::{Jumps, RuntimeFlag},
    primitives::{U256, hardfork::SpecId},
};
use std::sync::atomic::Ordering;

const PUSH_AND_JUMP: u64 = VERYLOW + MID;
const PUSH_AND_JUMPI: u64 = VERYLOW + HIGH;

/// Carries out plain instructions up to the first that isn't.
///
/// # Safety
/// The stack has room for `STACK_LIMIT` words.
#[inline]
pub unsafe fn run(interpreter: &mut Interpreter<EthInterpreter>, bounds: Bounds<'_>) {
    let Bounds { stop, floor } = bounds;
    let Interpreter { bytecode, gas: gas_left, stack, memory, runtime_flag, .. } = interpreter;
    let has_push0 = runtime_flag.spec_id().is_enabled_in(SpecId::SHANGHAI);
    let Some(jumps) = bytecode.legacy_jump_table() else { return };
    let code = bytecode.bytes_ref().as_ptr();
    // A pointer and not an index: the compiler would keep an index and the gas together in one vector register.
    // SAFETY: the program counter is a place in the code.
    let mut next = unsafe { code.add(bytecode.pc()) };
    let mut gas = gas_left.remaining();
    let words = stack.data_mut();
    let mut height = words.len();
    let stack = words.as_mut_ptr();

    // SAFETY of every `unsafe` below:
    // - `next` points to an instruction: it starts at the interpreter's own, and moves on by the length of an instruction or to
    //   a destination in the jump table. revm pads the code, so that the operands of its last push are there and a STOP,
    //   which ends the loop, follows them.
    // - Stack words are read below `height`, where all are initialized, and written below `STACK_LIMIT`, for which there is room.
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
            grows!(VERYLOW);
            let operand: &[u8; $size] = unsafe { &*next.cast() };
            unsafe { stack.add(height - 1).write(number(operand)) };
            advances!($size);
        }};
    }
    macro_rules! copies {
        ($depth:literal) => {{
            needs!($depth);
            grows!(VERYLOW);
            unsafe { stack.add(height - 1).write(*stack.add(height - 1 - $depth)) };
        }};
    }
    macro_rules! swaps {
        ($depth:literal) => {{
            needs!($depth + 1);
            costs!(VERYLOW);
            advances!(1);
            unsafe { stack.add(height - 1).swap(stack.add(height - 1 - $depth)) };
        }};
    }

    // Carries out the JUMPDEST at the destination of a jump.
    macro_rules! arrives {
        ($to:expr) => {{
            let to: usize = $to;
            next = unsafe { code.add(to) };
            if gas <= floor || stop.load(Ordering::Relaxed) {
                break;
            }
            costs!(gas::JUMPDEST);
            advances!(1);
        }};
    }

    loop {
        match unsafe { *next } {
            opcode::ADD => binary!(VERYLOW, |a, b| a.wrapping_add(b)),
            opcode::MUL => binary!(LOW, |a, b| a.wrapping_mul(b)),
            opcode::SUB => binary!(VERYLOW, |a, b| a.wrapping_sub(b)),
            opcode::LT => binary!(VERYLOW, |a, b| U256::from(a < b)),
            opcode::GT => binary!(VERYLOW, |a, b| U256::from(a > b)),
            opcode::SLT => binary!(VERYLOW, |a, b| U256::from(signed(a) < signed(b))),
            opcode::SGT => binary!(VERYLOW, |a, b| U256::from(signed(a) > signed(b))),
            opcode::EQ => binary!(VERYLOW, |a, b| U256::from(a == b)),
            opcode::AND => binary!(VERYLOW, |a, b| a & b),
            opcode::OR => binary!(VERYLOW, |a, b| a | b),
            opcode::XOR => binary!(VERYLOW, |a, b| a ^ b),
            opcode::SHL => {
                binary!(VERYLOW, |shift, value| if shift < BITS { value << small(&shift) } else { U256::ZERO })
            }
            opcode::SHR => {
                binary!(VERYLOW, |shift, value| if shift < BITS { value >> small(&shift) } else { U256::ZERO })
            }
            opcode::ISZERO => {
                needs!(1);
                costs!(VERYLOW);
                advances!(1);
                word!(0) = U256::from(word!(0).is_zero());
            }
            opcode::NOT => {
                needs!(1);
                costs!(VERYLOW);
                advances!(1);
                word!(0) = !word!(0);
            }
            opcode::POP => {
                needs!(1);
                costs!(BASE);
                advances!(1);
                height -= 1;
            }
            opcode::MLOAD => {
                needs!(1);
                if !holds_word(&word!(0), memory.len()) {
                    break;
                }
                costs!(VERYLOW);
                advances!(1);
                word!(0) = memory.get_u256(small(&word!(0)));
            }
            opcode::MSTORE => {
                needs!(2);
                if !holds_word(&word!(0), memory.len()) {
                    break;
                }
                costs!(VERYLOW);
                advances!(1);
                memory.set_u256(small(&word!(0)), word!(1));
                height -= 2;
            }
            opcode::JUMP => {
                needs!(1);
                if !is_small(&word!(0)) || !jumps.is_valid(small(&word!(0))) {
                    break;
                }
                costs!(MID);
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
                costs!(HIGH);
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
                grows!(BASE);
                unsafe { stack.add(height - 1).write(U256::ZERO) };
            }
            opcode::PUSH1 => pushes!(1),
            opcode::PUSH2 => {
                // Nearly always the destination of the jump that follows, so both are carried out at once. An instruction
                // follows each push: the padding's STOP, if no other.
                let to = usize::from(u16::from_be_bytes(unsafe { *next.add(1).cast() }));
                match unsafe { *next.add(3) } {
                    opcode::JUMP if height < STACK_LIMIT && gas >= PUSH_AND_JUMP && jumps.is_valid(to) => {
                        gas -= PUSH_AND_JUMP;
                        arrives!(to);
                    }
                    opcode::JUMPI if (1..STACK_LIMIT).contains(&height) && gas >= PUSH_AND_JUMPI => {
                        let goes = !word!(0).is_zero();
                        if goes && !jumps.is_valid(to) {
                            break;
                        }
                        gas -= PUSH_AND_JUMPI;
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
