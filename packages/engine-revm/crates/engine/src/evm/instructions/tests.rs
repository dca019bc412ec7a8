use super::*;
use crate::{
    evm::{Machine, PrecompileSet, Watch},
    plan::BlockRules,
    state::{Read, ReadError, SimulationState, StateCache, StateSource, Stop, Value},
};
use alloy_primitives::{B256, Bytes};
use revm::{
    bytecode::{Bytecode, opcode::*},
    context::{BlockEnv, CfgEnv},
    handler::instructions::InstructionProvider,
    interpreter::{InputsImpl, Interpreter, SharedMemory, interpreter::ExtBytecode},
    primitives::hardfork::SpecId,
};
use std::sync::Arc;

struct Unread;

impl StateSource for Unread {
    fn read(&self, _: &[Read]) -> Result<Vec<Value>, ReadError> {
        Err(ReadError::Failed)
    }
}

fn machine(stop: Arc<Stop>) -> Machine {
    let state = SimulationState::new(&StateCache::new(1 << 20), B256::ZERO, Vec::new(), Arc::new(Unread), stop.clone());
    let rules = BlockRules { spec: SpecId::OSAKA, op: None, blob: None };
    let precompiles = PrecompileSet::new(&rules, None);
    let watch = Watch { stop, ..Watch::default() };
    Machine::new(state, watch, CfgEnv::new_with_spec(rules.spec), BlockEnv::default(), precompiles)
}

fn frame(code: &[u8]) -> Interpreter<EthInterpreter> {
    let bytecode = ExtBytecode::new(Bytecode::new_legacy(Bytes::copy_from_slice(code)));
    Interpreter::new(SharedMemory::new(), bytecode, InputsImpl::default(), false, SpecId::OSAKA, u64::MAX)
}

#[test]
fn a_raised_stop_ends_a_loop() {
    let loops: [&[u8]; 3] =
        [&[JUMPDEST, PUSH0, JUMP], &[JUMPDEST, PUSH2, 0, 0, JUMP], &[JUMPDEST, PUSH1, 1, PUSH0, JUMPI]];
    for code in loops {
        let stop = Arc::new(Stop::default());
        stop.raise();
        let mut machine = machine(stop);
        let instructions = machine.evm.instruction;
        let (table, prices) = (instructions.instruction_table(), instructions.gas_table());
        frame(code).run_plain(table, prices, &mut machine.evm.ctx);
        assert!(machine.evm.ctx.error.is_err());
    }
}
