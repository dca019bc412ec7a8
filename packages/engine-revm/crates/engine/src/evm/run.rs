//! The loop over a frame's instructions.
//!
//! Two thirds of what a contract executes moves words about: pushes, copies, comparisons, jumps. revm keeps program counter, gas
//! and the height of the stack in memory, and calls a function for each instruction: five to ten nanoseconds, in which it waits
//! for its own writes. Here the commonest are carried out in one loop with those three in registers.
//!
//! Only what can't go wrong is: where an operand is missing, gas runs out or a jump leads nowhere, and for every other
//! instruction, the table's own function runs, which knows what to say. So there is one place for rules and words: revm.

use super::machine::Context;
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

/// The sign of a word, in its highest limb.
const SIGN: u64 = 1 << 63;

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
            next = unsafe { next.add(1) };
            height += 1;
        };
    }
    macro_rules! binary {
        ($gas:expr, |$a:ident, $b:ident| $result:expr) => {{
            needs!(2);
            costs!($gas);
            next = unsafe { next.add(1) };
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
            next = unsafe { next.add($size) };
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
            next = unsafe { next.add(1) };
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
            next = unsafe { next.add(1) };
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
            opcode::SHL => binary!(3, |shift, value| if shift < LIMIT { value << small(&shift) } else { U256::ZERO }),
            opcode::SHR => binary!(3, |shift, value| if shift < LIMIT { value >> small(&shift) } else { U256::ZERO }),
            opcode::ISZERO => {
                needs!(1);
                costs!(3);
                next = unsafe { next.add(1) };
                word!(0) = U256::from(word!(0).is_zero());
            }
            opcode::NOT => {
                needs!(1);
                costs!(3);
                next = unsafe { next.add(1) };
                word!(0) = !word!(0);
            }
            opcode::POP => {
                needs!(1);
                costs!(2);
                next = unsafe { next.add(1) };
                height -= 1;
            }
            opcode::MLOAD => {
                needs!(1);
                if !holds_word(&word!(0), memory.len()) {
                    break;
                }
                costs!(3);
                next = unsafe { next.add(1) };
                word!(0) = memory.get_u256(small(&word!(0)));
            }
            opcode::MSTORE => {
                needs!(2);
                if !holds_word(&word!(0), memory.len()) {
                    break;
                }
                costs!(3);
                next = unsafe { next.add(1) };
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
                    next = unsafe { next.add(1) };
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
                    opcode::JUMPI if height >= 1 && height < STACK_LIMIT && gas >= 13 => {
                        let goes = !word!(0).is_zero();
                        if goes && !jumps.is_valid(to) {
                            break;
                        }
                        gas -= 13;
                        height -= 1;
                        if goes {
                            arrives!(to);
                        } else {
                            next = unsafe { next.add(4) };
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

const LIMIT: U256 = U256::from_limbs([256, 0, 0, 0]);

#[inline(always)]
fn is_small(word: &U256) -> bool {
    let [_, b, c, d] = word.as_limbs();
    b | c | d == 0
}

/// The number, where it is small.
#[inline(always)]
fn small(word: &U256) -> usize {
    word.as_limbs()[0] as usize
}

/// Whether memory of so many bytes reaches beyond the word at `offset`: else it would grow, for gas.
#[inline(always)]
fn holds_word(offset: &U256, length: usize) -> bool {
    is_small(offset) && length >= 32 && small(offset) <= length - 32
}

/// Ordered as two's complement orders the word.
#[inline(always)]
fn signed(word: U256) -> U256 {
    let [a, b, c, d] = *word.as_limbs();
    U256::from_limbs([a, b, c, d ^ SIGN])
}

/// A push's operand. Read in whole limbs: put together byte by byte, the word would be waited for.
#[inline(always)]
fn number<const SIZE: usize>(bytes: &[u8; SIZE]) -> U256 {
    let mut limbs = [0; 4];
    let mut end = SIZE;
    let mut limb = 0;
    while end >= 8 {
        limbs[limb] = be(&bytes[end - 8..end]);
        end -= 8;
        limb += 1;
    }
    if end > 0 {
        limbs[limb] = be(&bytes[..end]);
    }
    U256::from_limbs(limbs)
}

#[inline(always)]
fn be(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_be_bytes([a, b]).into(),
        [a, b, c] => u64::from(u16::from_be_bytes([a, b])) << 8 | u64::from(c),
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evm::{Machine, PrecompileSet, Watch, for_rules},
        plan::BlockRules,
        state::{Read, ReadError, SimulationState, StateCache, StateSource, Stop, Value},
    };
    use alloy_primitives::{B256, Bytes};
    use revm::{
        bytecode::Bytecode,
        context::{BlockEnv, CfgEnv},
        handler::instructions::InstructionProvider,
        interpreter::{InputsImpl, SharedMemory, interpreter::ExtBytecode},
    };
    use std::sync::Arc;

    struct Unread;

    impl StateSource for Unread {
        fn read(&self, _: &[Read]) -> Result<Vec<Value>, ReadError> {
            Err(ReadError::Failed)
        }
    }

    fn machine(spec: SpecId, stop: Arc<Stop>) -> Machine {
        let state = SimulationState::new(&StateCache::new(1 << 20), B256::ZERO, Vec::new(), Arc::new(Unread), stop.clone());
        let rules = BlockRules { spec, op: None, blob: None };
        let watch = Watch { stop, ..Watch::default() };
        Machine::new(state, watch, CfgEnv::new_with_spec(spec), BlockEnv::default(), PrecompileSet::new(for_rules(&rules), None))
    }

    fn frame(code: &[u8], spec: SpecId, gas: u64) -> Interpreter<EthInterpreter> {
        let bytecode = ExtBytecode::new(Bytecode::new_legacy(Bytes::copy_from_slice(code)));
        Interpreter::new(SharedMemory::new(), bytecode, InputsImpl::default(), false, spec, gas)
    }

    /// xorshift64*: the same programs in each run.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, bound: usize) -> usize {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
        }

        fn byte(&mut self) -> u8 {
            self.below(256) as u8
        }

        fn program(&mut self) -> Vec<u8> {
            const OTHERS: [u8; 14] = [0x00, 0x04, 0x0b, 0x1a, 0x1d, 0x20, 0x36, 0x53, 0x58, 0x59, 0x5a, 0xf3, 0xfd, 0xfe];
            let mut code = Vec::new();
            let mut destinations = vec![self.below(300)];
            for _ in 0..self.below(40) {
                code.extend([0x61, self.byte() & 1, self.byte()]);
            }
            for _ in 0..1 + self.below(120) {
                match self.below(16) {
                    0 => {
                        destinations.push(code.len());
                        code.push(opcode::JUMPDEST);
                    }
                    1..4 => {
                        let size = [1, 1, 1, 2, 3, 4, 5, 8, 16, 20, 32][self.below(11)];
                        code.push(0x5f + size);
                        // Words of all sizes, and numbers small enough to shift by and to find in memory.
                        let high = if self.below(3) == 0 { self.byte() } else { 0 };
                        code.extend((1..size).map(|_| high));
                        code.push(self.byte() % if self.below(2) == 0 { 64 } else { 255 });
                    }
                    4..6 => {
                        let to = destinations[self.below(destinations.len())] as u16;
                        let [high, low] = to.to_be_bytes();
                        let wide = self.below(4) == 0;
                        code.extend(if wide { vec![0x62, 0, high, low] } else { vec![0x61, high, low] });
                        code.push(if self.below(3) == 0 { opcode::JUMP } else { opcode::JUMPI });
                    }
                    6..8 => code.push(0x80 + self.below(16) as u8),
                    8 => code.push(0x90 + self.below(16) as u8),
                    9 => code.push(OTHERS[self.below(OTHERS.len())]),
                    10 => code.push([0x50, 0x51, 0x52, 0x5f, 0x56, 0x57][self.below(6)]),
                    _ => code.push(
                        [0x01, 0x02, 0x03, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1b, 0x1c, 0x80, 0x81][self.below(17)],
                    ),
                }
            }
            // Cut short at times, in the middle of a push.
            code.truncate(code.len() - self.below(2) * self.below(code.len().min(3)));
            code
        }
    }

    #[test]
    fn does_as_the_table_does() {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let mut ends = [0; 2];
        for spec in [SpecId::MERGE, SpecId::OSAKA] {
            let mut machine = machine(spec, Arc::default());
            let table = *machine.evm.instruction.instruction_table();
            for _ in 0..20_000 {
                let code = dice.program();
                let gas = if dice.below(3) == 0 { dice.below(200) } else { 3_000 } as u64;
                let [mut ours, mut theirs] = [frame(&code, spec, gas), frame(&code, spec, gas)];
                let action = run(&mut ours, &table, &mut machine.evm.ctx);
                let expected = theirs.run_plain(&table, &mut machine.evm.ctx);
                assert_eq!(action, expected, "{}", Bytes::from(code));
                assert_eq!(ours.gas.remaining(), theirs.gas.remaining(), "{}", Bytes::from(code));
                assert_eq!(ours.stack.data(), theirs.stack.data(), "{}", Bytes::from(code));
                assert_eq!(*ours.memory.context_memory(), *theirs.memory.context_memory(), "{}", Bytes::from(code));
                ends[usize::from(action.instruction_result().is_some_and(|result| result.is_ok()))] += 1;
            }
        }
        assert!(ends.iter().all(|&count| count > 2_000), "programs end in both ways: {ends:?}");
    }

    #[test]
    fn a_full_stack_takes_no_more() {
        for last in [vec![0x5f], vec![0x60, 1], vec![0x61, 0, 0, 0x57], vec![0x61, 0, 0, 0x56], vec![0x80], vec![0x8f]] {
            let mut code = vec![opcode::JUMPDEST];
            code.extend([0x60, 1].repeat(STACK_LIMIT));
            code.extend(&last);
            let mut machine = machine(SpecId::OSAKA, Arc::default());
            let table = *machine.evm.instruction.instruction_table();
            let [mut ours, mut theirs] = [frame(&code, SpecId::OSAKA, 100_000), frame(&code, SpecId::OSAKA, 100_000)];
            let action = run(&mut ours, &table, &mut machine.evm.ctx);
            assert_eq!(action, theirs.run_plain(&table, &mut machine.evm.ctx));
            assert_eq!(action.instruction_result(), Some(revm::interpreter::InstructionResult::StackOverflow), "{last:x?}");
        }
    }

    #[test]
    fn a_raised_stop_ends_a_loop() {
        for jump in [vec![0x5b, 0x5f, 0x56], vec![0x5b, 0x61, 0, 0, 0x56], vec![0x5b, 0x60, 1, 0x5f, 0x57]] {
            let stop = Arc::new(Stop::default());
            stop.raise();
            let mut machine = machine(SpecId::OSAKA, stop);
            let table = *machine.evm.instruction.instruction_table();
            let mut looping = frame(&jump, SpecId::OSAKA, u64::MAX);
            run(&mut looping, &table, &mut machine.evm.ctx);
            assert!(machine.evm.ctx.error.is_err());
        }
    }
}
