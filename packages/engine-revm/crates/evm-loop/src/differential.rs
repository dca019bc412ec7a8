//! Random programs, run by the loop and by revm's plain interpreter: nothing may differ.

use crate::{Bounds, run};
use arbitrary::{Arbitrary, Result, Unstructured};
use revm_interpreter::{
    Instruction, InstructionResult, Interpreter, SharedMemory,
    bytecode::{Bytecode, opcode::*},
    host::DummyHost,
    instructions::{gas_table_spec, instruction_table},
    interpreter::{EthInterpreter, ExtBytecode, InputsImpl, STACK_LIMIT},
    interpreter_types::{Jumps, ReturnData},
    primitives::{Bytes, U256, hardfork::SpecId},
};
use std::sync::atomic::AtomicBool;

const FORKS: [SpecId; 6] =
    [SpecId::MERGE, SpecId::SHANGHAI, SpecId::CANCUN, SpecId::PRAGUE, SpecId::OSAKA, SpecId::AMSTERDAM];

static RAISED: AtomicBool = AtomicBool::new(true);
static LOWERED: AtomicBool = AtomicBool::new(false);

/// A frame to run, and when the loop leaves a JUMPDEST to the table: here that changes nothing, so nothing may depend on it.
#[derive(Debug)]
pub struct Case {
    spec: SpecId,
    code: Bytes,
    gas: u64,
    stack: Vec<U256>,
    stopped: bool,
    floor: u64,
}

impl Case {
    /// How the frame ended, if it did not open another.
    ///
    /// # Panics
    /// If the two interpreters differ.
    pub fn check(&self) -> Option<InstructionResult> {
        let mut table = instruction_table::<EthInterpreter, DummyHost>();
        let prices = gas_table_spec(self.spec);
        // `DummyHost` has no randomness to give and panics.
        table[usize::from(DIFFICULTY)] = Instruction::unknown();
        let mut host = DummyHost::new(self.spec);
        let bounds = Bounds { stop: if self.stopped { &RAISED } else { &LOWERED }, floor: self.floor };
        let [mut ours, mut theirs] = [self.frame(), self.frame()];
        let action = run(&mut ours, &table, &prices, &mut host, |_| Some(bounds));
        let expected = theirs.run_plain(&table, &prices, &mut host);
        assert_eq!(action, expected, "{self:?}");
        assert_eq!(ours.gas, theirs.gas, "{self:?}");
        assert_eq!(ours.bytecode.pc(), theirs.bytecode.pc(), "{self:?}");
        assert_eq!(ours.stack.data(), theirs.stack.data(), "{self:?}");
        assert_eq!(*ours.memory.context_memory(), *theirs.memory.context_memory(), "{self:?}");
        assert_eq!(ours.return_data.buffer(), theirs.return_data.buffer(), "{self:?}");
        action.instruction_result()
    }

    fn frame(&self) -> Interpreter<EthInterpreter> {
        let bytecode = ExtBytecode::new(Bytecode::new_legacy(self.code.clone()));
        let memory = SharedMemory::new();
        let mut frame = Interpreter::new(memory, bytecode, InputsImpl::default(), false, self.spec, self.gas);
        for word in &self.stack {
            assert!(frame.stack.push(*word));
        }
        frame
    }
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let spec = *u.choose(&FORKS)?;
        // Enough for the longest program without a loop, or so little that it ends anywhere.
        let gas = if u.ratio(1, 3)? { u.int_in_range(0..=200)? } else { 3_000 };
        let floor = if u.ratio(1, 4)? { u.int_in_range(0..=gas)? } else { 0 };
        let height = if u.ratio(1, 8)? { STACK_LIMIT - u.int_in_range(0..=20)? } else { u.int_in_range(0..=40)? };
        let stack = (0..height).map(|_| word(u)).collect::<Result<_>>()?;
        let stopped = u.ratio(1, 8)?;
        let code = if u.ratio(1, 8)? { u.arbitrary()? } else { program(u)? };
        Ok(Self { spec, code: code.into(), gas, stack, stopped, floor })
    }
}

/// A word of any size: often a place in the program or in memory, or a number to shift by.
fn word(u: &mut Unstructured<'_>) -> Result<U256> {
    Ok(match u.int_in_range(0..=7)? {
        0 => U256::from_be_bytes(u.arbitrary::<[u8; 32]>()?),
        1 => U256::MAX - U256::from(u.arbitrary::<u8>()?),
        2 => U256::from(u.arbitrary::<u64>()?),
        _ => U256::from(u.int_in_range(0..=300)?),
    })
}

/// Instructions that the loop leaves to the table, between those that it carries out.
const OTHERS: [u8; 16] = [
    STOP,
    DIV,
    SIGNEXTEND,
    BYTE,
    SAR,
    CLZ,
    KECCAK256,
    CALLDATASIZE,
    MSTORE8,
    PC,
    MSIZE,
    GAS,
    MCOPY,
    RETURN,
    REVERT,
    INVALID,
];
const PLAIN: [u8; 20] =
    [ADD, MUL, SUB, LT, GT, SLT, SGT, EQ, ISZERO, AND, OR, XOR, NOT, SHL, SHR, POP, MLOAD, MSTORE, DUP1, SWAP1];
const PUSHES: [u8; 10] = [PUSH1, PUSH2, PUSH3, PUSH4, PUSH5, PUSH8, PUSH16, PUSH20, PUSH31, PUSH32];

/// Instructions that mostly find what they need, and jumps that mostly arrive.
fn program(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut code = Vec::new();
    let mut destinations = vec![u.int_in_range(0..=300)?];
    for _ in 0..u.int_in_range(1..=120)? {
        match u.int_in_range(0..=15)? {
            0 | 1 => {
                destinations.push(code.len());
                code.push(JUMPDEST);
            }
            2..=4 => {
                let push = *u.choose(&PUSHES)?;
                let bytes = word(u)?.to_be_bytes::<32>();
                code.push(push);
                code.extend_from_slice(&bytes[usize::from(PUSH32 - push)..]);
            }
            5 | 6 => {
                let [high, low] = (*u.choose(&destinations)? as u16).to_be_bytes();
                code.extend_from_slice(if u.ratio(1, 4)? { &[PUSH3, 0] } else { &[PUSH2] });
                code.extend_from_slice(&[high, low, if u.ratio(1, 3)? { JUMP } else { JUMPI }]);
            }
            7 | 8 => code.push(DUP1 + u.int_in_range(0..=15)?),
            9 => code.push(SWAP1 + u.int_in_range(0..=15)?),
            10 => code.push(*u.choose(&OTHERS)?),
            11 => code.push(*u.choose(&[PUSH0, JUMP, JUMPI])?),
            _ => code.push(*u.choose(&PLAIN)?),
        }
    }
    // At times it ends in the middle of a push.
    if u.ratio(1, 2)? {
        code.truncate(code.len() - u.int_in_range(0..=2.min(code.len()))?);
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::HashMap, env, iter::repeat_with};

    fn setting(name: &str, default: u64) -> u64 {
        env::var(name).map_or(default, |text| text.parse().expect(name))
    }

    /// The long form of this test: `EVM_LOOP_CASES=100000000 EVM_LOOP_SEED=2 cargo test --release -p upfront-evm-loop`.
    #[test]
    fn does_as_revm_does() {
        let cases = setting("EVM_LOOP_CASES", 40_000);
        let mut seed = setting("EVM_LOOP_SEED", 1).max(1);
        // xorshift64*: the same programs for the same seed.
        let mut bytes = repeat_with(|| {
            seed ^= seed >> 12;
            seed ^= seed << 25;
            seed ^= seed >> 27;
            seed.wrapping_mul(0x2545_f491_4f6c_dd1d).to_be_bytes()
        });
        let mut ends = HashMap::<_, u64>::new();
        for _ in 0..cases {
            let data: Vec<u8> = bytes.by_ref().take(256).flatten().collect();
            let case = Case::arbitrary(&mut Unstructured::new(&data)).unwrap();
            *ends.entry(case.check()).or_default() += 1;
        }
        for end in [
            InstructionResult::Stop,
            InstructionResult::Return,
            InstructionResult::OutOfGas,
            InstructionResult::StackUnderflow,
            InstructionResult::StackOverflow,
            InstructionResult::InvalidJump,
        ] {
            let count = ends.get(&Some(end)).copied().unwrap_or_default();
            assert!(count > cases / 200, "too few programs end with {end:?}: {ends:?}");
        }
    }
}
