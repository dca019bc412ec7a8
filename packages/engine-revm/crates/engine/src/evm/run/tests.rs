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
    Machine::new(
        state,
        watch,
        CfgEnv::new_with_spec(spec),
        BlockEnv::default(),
        PrecompileSet::new(for_rules(&rules), None),
    )
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
                    [
                        0x01, 0x02, 0x03, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1b, 0x1c, 0x80,
                        0x81,
                    ][self.below(17)],
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
