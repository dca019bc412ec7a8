//! Instructions as geth's struct logger writes them (eth/tracers/logger/logger.go), as JSON.

use super::{context::Context, last_step::LastStep, opcode_name};
use crate::{
    outcome::{Halt, RecordedHalt},
    plan::StepOptions,
    state::ReadError,
};
use alloy_primitives::{Address, U256, hex, map::AddressMap};
use revm::{
    Database,
    bytecode::opcode::{SLOAD, SSTORE},
    context::JournalTr,
    interpreter::{
        Interpreter, InterpreterAction,
        interpreter::EthInterpreter,
        interpreter_action::FrameInput,
        interpreter_types::{InputsTr, Jumps, LoopControl, MemoryTr, ReturnData},
    },
};
use std::{collections::BTreeMap, fmt::Write};

/// EIP-3529.
const CLEARING_REFUND: i64 = 4_800;
/// EIP-2200: with no more than this SSTORE halts before it looks at the slot.
const SENTRY_GAS: u64 = 2_300;

/// The steps of one call.
#[derive(Debug, Default)]
pub struct StepLog {
    options: StepOptions,
    /// Of the steps' JSON, without the errors of those that halted.
    bytes: u64,
    steps: Vec<String>,
    halts: Vec<RecordedHalt>,
    /// What SLOAD and SSTORE named so far, reverted or not.
    storage: AddressMap<BTreeMap<U256, U256>>,
    /// Of the frames around the running one, and of authorizations.
    refund: i64,
}

/// A step that is about to run.
#[derive(Debug)]
pub struct StepBefore {
    pc: usize,
    /// State gas that was taken of the gas to execute with, in the frame so far.
    spilled: u64,
    /// Stack, return data and memory, as JSON.
    seen: String,
}

impl StepLog {
    pub fn new(options: StepOptions) -> Self {
        Self { options, ..Self::default() }
    }

    pub fn finish(self) -> (Vec<String>, Vec<RecordedHalt>) {
        (self.steps, self.halts)
    }

    pub fn set_refund(&mut self, refund: i64) {
        self.refund = refund;
    }

    fn is_full(&self) -> bool {
        self.options.limit != 0 && self.bytes > self.options.limit
    }

    pub fn before(&self, frame: &Interpreter<EthInterpreter>) -> Option<StepBefore> {
        if self.is_full() {
            return None;
        }
        let mut seen = String::new();
        if self.options.stack {
            seen.push_str(",\"stack\":[");
            for (index, word) in frame.stack.data().iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                let _ = write!(seen, "{comma}\"{word:#x}\"");
            }
            seen.push(']');
        }
        let returned = frame.return_data.buffer();
        if self.options.return_data && !returned.is_empty() {
            let _ = write!(seen, ",\"returnData\":\"{}\"", hex::encode_prefixed(returned));
        }
        let size = frame.memory.size();
        if self.options.memory && size > 0 {
            seen.push_str(",\"memory\":[");
            for (index, word) in frame.memory.slice(0..size).chunks(32).enumerate() {
                let comma = if index == 0 { "" } else { "," };
                let _ = write!(seen, "{comma}\"{}\"", hex::encode_prefixed(word));
            }
            seen.push(']');
        }
        Some(StepBefore { pc: frame.bytecode.pc(), spilled: frame.gas.state_gas_spilled(), seen })
    }

    /// Storage as the step shows it, with what the step names.
    fn storage(&mut self, step: &LastStep, account: Address, loaded: U256, out: &mut String) {
        let named = match step.opcode() {
            SLOAD if step.height() >= 1 => Some((step.operand(0), loaded)),
            SSTORE if step.height() >= 2 => Some((step.operand(0), step.operand(1))),
            _ => None,
        };
        let Some((slot, value)) = named.filter(|_| self.options.storage) else { return };
        let known = self.storage.entry(account).or_default();
        known.insert(slot, value);
        out.push_str(",\"storage\":{");
        for (index, (slot, value)) in known.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(out, "{comma}\"{slot:#066x}\":\"{value:#066x}\"");
        }
        out.push('}');
    }
}

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
