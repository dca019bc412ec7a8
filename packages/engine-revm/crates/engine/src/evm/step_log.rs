//! Instructions as geth's struct logger writes them (eth/tracers/logger/logger.go), as JSON.

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
    /// What stands between the brackets of a JSON array.
    json: String,
    /// Of the steps, without the commas between them.
    bytes: u64,
    /// What SLOAD and SSTORE named so far, reverted or not.
    storage: AddressMap<BTreeMap<U256, U256>>,
    /// Of the frames around the running one, and of authorizations.
    pub refund: i64,
}

/// A step that is about to run.
#[derive(Debug)]
pub struct StepBefore {
    pub pc: usize,
    /// State gas that was taken of the gas to execute with, in the frame so far.
    pub spilled: u64,
    /// Stack, return data and memory, as JSON.
    pub seen: String,
}

/// What came of it.
#[derive(Debug)]
pub struct StepAfter {
    pub cost: u64,
    /// Of its frame; 1: the outermost.
    pub depth: usize,
    /// What geth found before it ran.
    pub error: Option<Cow<'static, str>>,
    pub account: Address,
    /// What SLOAD found.
    pub loaded: U256,
    /// Of its frame.
    pub refund: i64,
}

impl StepLog {
    pub fn new(options: StepOptions) -> Self {
        Self { options, ..Self::default() }
    }

    pub fn finish(self) -> Bytes {
        self.json.into_bytes().into()
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

    /// Adds a step. Returns the bytes that it takes.
    pub fn add(&mut self, step: &LastStep, before: &StepBefore, after: &StepAfter) -> usize {
        if !self.json.is_empty() {
            self.json.push(',');
        }
        let start = self.json.len();
        let StepAfter { cost, depth, ref error, account, loaded, refund } = *after;
        let (pc, name, gas) = (before.pc, opcode_name::of(step.opcode()), step.gas());
        let refund = self.refund + refund;
        // Writing to a string does not fail.
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

    /// Storage as the step shows it, with what the step names.
    fn storage(&mut self, step: &LastStep, account: Address, loaded: U256) {
        let named = match step.opcode() {
            SLOAD if step.height() >= 1 => Some((step.operand(0), loaded)),
            SSTORE if step.height() >= 2 => Some((step.operand(0), step.operand(1))),
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
