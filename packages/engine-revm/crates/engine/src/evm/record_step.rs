//! A step as it is written into the log, once it ran.

use super::{context::Context, last_step::LastStep, opcode_name, step_log::StepBefore};
use crate::{
    outcome::{Halt, RecordedHalt},
    state::ReadError,
};
use alloy_primitives::{Address, U256};
use revm::{
    Database,
    bytecode::opcode::{SLOAD, SSTORE},
    context::JournalTr,
    interpreter::{
        Interpreter, InterpreterAction,
        interpreter::EthInterpreter,
        interpreter_action::FrameInput,
        interpreter_types::{InputsTr, LoopControl},
    },
};
use std::fmt::Write;

/// EIP-3529.
const CLEARING_REFUND: i64 = 4_800;
/// EIP-2200: with no more than this SSTORE halts before it looks at the slot.
const SENTRY_GAS: u64 = 2_300;

/// After a step ran. `halt`: why, where it ended the frame.
/// Returns the bytes that were written down.
pub fn after(
    context: &mut Context,
    frame: &mut Interpreter<EthInterpreter>,
    step: &LastStep,
    StepBefore { pc, spilled, seen }: StepBefore,
    depth: usize,
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
    let cost = step.gas().saturating_sub(frame.gas.remaining()).saturating_sub(hidden);
    let loaded = match (step.opcode(), &halt) {
        (SLOAD, None) => frame.stack.data().last().copied().unwrap_or_default(),
        (SLOAD, Some(_)) if step.height() >= 1 => present(context, account, step.operand(0))?,
        _ => U256::ZERO,
    };
    // Beyond the sentry only what a slot costs that the call has not changed yet can't be paid.
    let unpaid_slot = match (step.opcode(), &halt) {
        (SSTORE, Some(Halt::Instruction { .. })) if step.height() >= 2 && step.gas() > SENTRY_GAS => {
            Some(original_and_present(context, account, step.operand(0))?.0)
        }
        _ => None,
    };
    let Some(log) = context.chain.recorder.as_mut().and_then(|recorder| recorder.steps.as_mut()) else { return Ok(0) };
    let mut refund = log.refund + frame.gas.refunded();
    if unpaid_slot.is_some_and(|original| !original.is_zero()) && step.operand(1).is_zero() {
        // geth counts the refund with the price, before that can't be paid.
        refund += CLEARING_REFUND;
    }
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
            let is_new_slot = unpaid_slot.is_some_and(|original| original.is_zero());
            log.bytes += (text.len() + rest.len()) as u64;
            let (at, depth) = (log.steps.len() as u64, depth as u64);
            log.halts.push(RecordedHalt { at, depth, halt, cost, is_new_slot, rest });
        }
    }
    log.steps.push(text);
    Ok((log.bytes - before) as usize)
}

/// A slot as it stands, whether or not the call could pay to look at it.
pub fn present(context: &mut Context, account: Address, slot: U256) -> Result<U256, ReadError> {
    original_and_present(context, account, slot).map(|(_, present)| present)
}

fn original_and_present(context: &mut Context, account: Address, slot: U256) -> Result<(U256, U256), ReadError> {
    let held = context.journaled_state.inner.state.get(&account);
    if let Some(value) = held.and_then(|held| held.storage.get(&slot)) {
        return Ok((value.original_value, value.present_value));
    }
    if held.is_some_and(|held| held.is_created()) {
        return Ok((U256::ZERO, U256::ZERO));
    }
    context.journaled_state.db_mut().storage(account, slot).map(|value| (value, value))
}
