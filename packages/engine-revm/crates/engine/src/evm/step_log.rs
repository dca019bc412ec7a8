//! Instructions as geth's struct logger writes them (eth/tracers/logger/logger.go), as JSON.

use crate::{last_step::LastStep, outcome::RecordedHalt, plan::StepOptions};
use alloy_primitives::{Address, U256, hex, map::AddressMap};
use revm::{
    bytecode::opcode::{SLOAD, SSTORE},
    interpreter::{
        Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, MemoryTr, ReturnData},
    },
};
use std::{collections::BTreeMap, fmt::Write};

/// The steps of one call.
#[derive(Debug, Default)]
pub struct StepLog {
    options: StepOptions,
    /// Of the steps' JSON, without the errors of those that halted.
    pub bytes: u64,
    pub steps: Vec<String>,
    pub halts: Vec<RecordedHalt>,
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
    pub fn storage(&mut self, step: &LastStep, account: Address, loaded: U256, out: &mut String) {
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
