//! Adds a step to the log, after it ran.

use super::{
    context::Context,
    halt::step_error,
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

/// Called after a step ran. `taken`: gas; `halt`: the reason if it ended the frame.
/// Returns the bytes recorded.
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
        // geth charges the gas passed to a creation while it runs, after the step's cost is known.
        Some(InterpreterAction::NewFrame(FrameInput::Create(create))) => create.gas_limit(),
        _ => 0,
    };
    // Nor does geth show state gas (EIP-8037) taken from execution gas, or returned: then more gas is left than before.
    let spilled = frame.gas.state_gas_spilled().wrapping_sub(before.spilled);
    let cost = taken.wrapping_sub(created).wrapping_sub(spilled);
    let loaded = match (step.opcode, &halt) {
        (SLOAD, None) => frame.stack.data().last().copied().unwrap_or_default(),
        (SLOAD, Some(_)) if step.height >= 1 => present(context, account, step.operand(0))?,
        _ => U256::ZERO,
    };
    let error = halt.and_then(|halt| step_error(&halt, step.opcode));
    let after = StepAfter { cost, depth, error, account, loaded, refund: frame.gas.refunded() };
    let log = context.chain.recorder.as_mut().and_then(|recorder| recorder.steps.as_mut());
    Ok(log.map_or(0, |log| log.add(step, before, &after)))
}

/// A slot's current value, even if the call could not pay for the access.
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
