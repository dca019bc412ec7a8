//! Writes instructions as JSON in the format of geth's struct logger (eth/tracers/logger/logger.go).

use super::opcode_name;
use crate::{last_step::LastStep, plan::StepOptions};
use alloy_primitives::{Address, Bytes, U256, hex, map::AddressMap};
use revm::{
    bytecode::opcode::{SLOAD, SSTORE},
    interpreter::{
        Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, MemoryTr, ReturnData},
    },
};
use std::{borrow::Cow, collections::BTreeMap, fmt::Write};

/// The steps of one call.
#[derive(Debug, Default)]
pub struct StepLog {
    options: StepOptions,
    /// The elements of a JSON array, without brackets.
    json: String,
    /// Length of the steps, without commas.
    bytes: u64,
    /// Slots that SLOAD and SSTORE named so far, reverted or not.
    storage: AddressMap<BTreeMap<U256, U256>>,
    /// Refund of the frames around the running one, and of authorizations.
    pub refund: i64,
}

/// The state before a step.
#[derive(Debug)]
pub struct StepBefore {
    pub pc: usize,
    /// State gas taken from execution gas in the frame so far.
    pub spilled: u64,
    /// Stack, return data and memory, as JSON.
    pub seen: String,
}

/// The result of a step.
#[derive(Debug)]
pub struct StepAfter {
    pub cost: u64,
    /// The frame's depth; 1 for the outermost.
    pub depth: usize,
    /// The error that geth finds before it runs.
    pub error: Option<Cow<'static, str>>,
    pub account: Address,
    /// The value that SLOAD loaded.
    pub loaded: U256,
    /// The frame's refund.
    pub refund: i64,
}

impl StepLog {
    pub fn new(options: StepOptions) -> Self {
        Self { options, ..Self::default() }
    }

    pub fn finish(self) -> Bytes {
        self.json.into_bytes().into()
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

    /// Adds a step. Returns its length in bytes.
    pub fn add(&mut self, step: &LastStep, before: &StepBefore, after: &StepAfter) -> usize {
        if !self.json.is_empty() {
            self.json.push(',');
        }
        let start = self.json.len();
        let StepAfter { cost, depth, ref error, account, loaded, refund } = *after;
        let (pc, name, gas) = (before.pc, opcode_name::of(step.opcode), step.gas);
        let refund = self.refund + refund;
        // Writing to a string never fails.
        let _ = write!(self.json, "{{\"pc\":{pc},\"op\":\"{name}\",\"gas\":{gas},\"gasCost\":{cost},\"depth\":{depth}");
        if let Some(error) = error {
            let _ = write!(self.json, ",\"error\":\"{error}\"");
        }
        self.json.push_str(&before.seen);
        self.storage(step, account, loaded);
        if refund != 0 {
            let _ = write!(self.json, ",\"refund\":{refund}");
        }
        self.json.push('}');
        let bytes = self.json.len() - start;
        self.bytes += bytes as u64;
        bytes
    }

    /// Adds the storage shown with the step, including the slot that it names.
    fn storage(&mut self, step: &LastStep, account: Address, loaded: U256) {
        let named = match step.opcode {
            SLOAD if step.height >= 1 => Some((step.operand(0), loaded)),
            SSTORE if step.height >= 2 => Some((step.operand(0), step.operand(1))),
            _ => None,
        };
        let Some((slot, value)) = named.filter(|_| self.options.storage) else { return };
        let Self { storage, json: out, .. } = self;
        let known = storage.entry(account).or_default();
        known.insert(slot, value);
        out.push_str(",\"storage\":{");
        for (index, (slot, value)) in known.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(out, "{comma}\"{slot:#066x}\":\"{value:#066x}\"");
        }
        out.push('}');
    }
}
