use super::*;
use crate::{
    evm::{Evm, PrecompileSet, SimulationContext},
    plan::BlockRules,
    state::{Read, ReadError, SimulationState, StateCache, StateSource, Value},
    time_slices::Stop,
};
use alloy_primitives::{B256, Bytes};
use revm::{
    bytecode::{Bytecode, opcode::*},
    context::{BlockEnv, CfgEnv},
    handler::instructions::InstructionProvider,
    interpreter::{Gas, InputsImpl, Interpreter, STACK_LIMIT, SharedMemory, interpreter::ExtBytecode},
    primitives::hardfork::SpecId,
};
use std::sync::Arc;

struct Unread;

impl StateSource for Unread {
    fn read(&self, _: &[Read], _: usize) -> Result<Vec<Value>, ReadError> {
        Err(ReadError::Failed)
    }
}

fn evm(stop: Arc<Stop>) -> Evm {
    let state = SimulationState::new(&StateCache::new(1 << 20), B256::ZERO, Vec::new(), Arc::new(Unread), stop.clone());
    let rules = BlockRules { spec: SpecId::OSAKA, op: None, blob: None };
    let precompiles = PrecompileSet::new(&rules, None);
    let inspector = SimulationContext { stop, ..SimulationContext::default() };
    Evm::new(state, inspector, CfgEnv::new_with_spec(rules.spec), BlockEnv::default(), precompiles)
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
        let mut evm = evm(stop);
        let instructions = evm.inner.instruction;
        let (table, prices) = (instructions.instruction_table(), instructions.gas_table());
        frame(code).run_plain(table, prices, &mut evm.inner.ctx);
        assert!(evm.inner.ctx.error.is_err());
    }
}

#[test]
fn steps_as_revm_does() {
    let mut evm = evm(Arc::default());
    let instructions = evm.inner.instruction;
    let (table, prices) = (instructions.instruction_table(), instructions.gas_table());
    let opcodes = (0..=u8::MAX).filter(|opcode| (POP..=SWAP16).contains(opcode) || *opcode == ADD);
    for (opcode, height, gas) in opcodes.flat_map(|opcode| {
        let heights = (0..20).chain([STACK_LIMIT - 1, STACK_LIMIT]);
        heights.flat_map(move |height| [0, 2, 3, 100].map(|gas| (opcode, height, gas)))
    }) {
        let ended =
            [step, |frame: &mut Interpreter<_>, table: &_, prices: &_, host: &mut _| frame.step(table, prices, host)]
                .map(|run| {
                    let mut frame = frame(&[opcode, 1, 2, 3, 4]);
                    (0..height).for_each(|word| assert!(frame.stack.push(U256::from(word))));
                    frame.gas = Gas::new(gas);
                    let result = run(&mut frame, table, prices, &mut evm.inner.ctx);
                    (result, frame.gas.remaining(), frame.bytecode.pc(), frame.stack.data().clone())
                });
        assert_eq!(ended[0], ended[1], "opcode {opcode:#x}, {height} words, {gas} gas");
    }
}
