//! A step as it is written into the log, once it ran.

use super::{
    context::Context,
    halt::found_before,
    step_log::{StepAfter, StepBefore},
};
use crate::{last_step::LastStep, outcome::Halt, state::ReadError};
use alloy_primitives::{Address, U256};
use revm::{
    Database,
    bytecode::opcode::SLOAD,
    context::JournalTr,
    interpreter::{
        Interpreter, InterpreterAction,
        interpreter::EthInterpreter,
        interpreter_action::FrameInput,
        interpreter_types::{InputsTr, LoopControl},
    },
};

/// After a step ran. `taken`: gas; `halt`: why, where it ended the frame.
/// Returns the bytes that were written down.
pub fn after(
    context: &mut Context,
    frame: &mut Interpreter<EthInterpreter>,
    step: &LastStep,
    before: &StepBefore,
    depth: usize,
    taken: u64,
    halt: Option<Halt>,
) -> Result<usize, ReadError> {
    let account = frame.input.target_address();
    let created = match frame.bytecode.action() {
        // geth takes what it passes on to a creation as it runs, once the price is known.
        Some(InterpreterAction::NewFrame(FrameInput::Create(create))) => create.gas_limit(),
        _ => 0,
    };
    // Nor does it show what state takes of the gas to execute with (EIP-8037), or gives back: then more is left than before.
    let spilled = frame.gas.state_gas_spilled().wrapping_sub(before.spilled);
    let cost = taken.wrapping_sub(created).wrapping_sub(spilled);
    let loaded = match (step.opcode(), &halt) {
        (SLOAD, None) => frame.stack.data().last().copied().unwrap_or_default(),
        (SLOAD, Some(_)) if step.height() >= 1 => present(context, account, step.operand(0))?,
        _ => U256::ZERO,
    };
    let error = halt.and_then(|halt| found_before(&halt, step.opcode()));
    let after = StepAfter { cost, depth, error, account, loaded, refund: frame.gas.refunded() };
    let log = context.chain.recorder.as_mut().and_then(|recorder| recorder.steps.as_mut());
    Ok(log.map_or(0, |log| log.add(step, before, &after)))
}

/// A slot as it stands, whether or not the call could pay to look at it.
pub fn present(context: &mut Context, account: Address, slot: U256) -> Result<U256, ReadError> {
    let held = context.journaled_state.inner.state.get(&account);
    if let Some(value) = held.and_then(|held| held.storage.get(&slot)) {
        return Ok(value.present_value);
    }
    if held.is_some_and(|held| held.is_created()) {
        return Ok(U256::ZERO);
    }
    context.journaled_state.db_mut().storage(account, slot)
}
