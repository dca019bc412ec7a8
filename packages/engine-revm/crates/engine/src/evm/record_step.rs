//! A step as it is written into the log, once it ran.

use super::{context::Context, opcode_name, step_log::StepBefore};
use crate::{
    last_step::LastStep,
    outcome::{Halt, RecordedHalt},
    state::ReadError,
};
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
use std::fmt::Write;

/// After a step ran. `taken`: gas; `halt`: why, where it ended the frame.
/// Returns the bytes that were written down.
pub fn after(
    context: &mut Context,
    frame: &mut Interpreter<EthInterpreter>,
    step: &LastStep,
    StepBefore { pc, spilled, seen }: StepBefore,
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
    // Nor does it show what state takes of the gas to execute with (EIP-8037).
    let hidden = created + frame.gas.state_gas_spilled().saturating_sub(spilled);
    let cost = taken.saturating_sub(hidden);
    let loaded = match (step.opcode(), &halt) {
        (SLOAD, None) => frame.stack.data().last().copied().unwrap_or_default(),
        (SLOAD, Some(_)) if step.height() >= 1 => present(context, account, step.operand(0))?,
        _ => U256::ZERO,
    };
    let Some(log) = context.chain.recorder.as_mut().and_then(|recorder| recorder.steps.as_mut()) else { return Ok(0) };
    let refund = log.refund + frame.gas.refunded();
    let mut rest = seen;
    log.storage(step, account, loaded, &mut rest);
    if refund != 0 {
        let _ = write!(rest, ",\"refund\":{refund}");
    }
    rest.push('}');
    let (name, gas) = (opcode_name::of(step.opcode()), step.gas());
    let mut text = format!("{{\"pc\":{pc},\"op\":\"{name}\",\"gas\":{gas}");
    let before = log.bytes;
    match halt {
        None => {
            let _ = write!(text, ",\"gasCost\":{cost},\"depth\":{depth}{rest}");
            log.bytes += text.len() as u64;
        }
        Some(halt) => {
            log.bytes += (text.len() + rest.len()) as u64;
            let (at, depth) = (log.steps.len() as u64, depth as u64);
            log.halts.push(RecordedHalt { at, depth, halt, cost, rest });
        }
    }
    log.steps.push(text);
    Ok((log.bytes - before) as usize)
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
