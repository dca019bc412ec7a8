//! Records, for tracers, what a call does while it runs. Used only if the plan asks for it.

use super::{
    halt,
    step_log::StepLog,
    uses::{OpenUses, SharedUses},
};
use crate::{
    last_step::LastStep,
    outcome::{Frame, FrameKind, FrameLog, Halt},
    plan::Recording,
};
use alloy_primitives::{
    Address, B256, Bytes, Log, U256,
    map::{AddressMap, AddressSet, HashMap},
};
use revm::{bytecode::opcode::*, handler::FrameResult, interpreter::InstructionResult};

/// Bytes counted for a frame or log in addition to its data: about what it takes in memory and as JSON.
const FRAME_BYTES: usize = 256;
const LOG_BYTES: usize = 256;
const LOOKUP_BYTES: usize = 128;
/// geth's `memoryPadLimit`, bytes.
pub const MAX_PADDING: usize = 1 << 20;

#[derive(Debug)]
pub struct Recorder {
    pub recording: Recording,
    /// Bytes that may still be recorded.
    left: usize,
    /// The limit was exceeded: the record is useless.
    pub overflowed: bool,
    frames: Vec<Frame>,
    /// Open frames, outermost first.
    open: Vec<OpenFrame>,
    /// Why the last precompile call failed.
    pub precompile_halt: Option<Halt>,
    pub lookups: Lookups,
    /// Set if instructions are recorded.
    pub steps: Option<StepLog>,
    /// The refund of authorizations.
    pub refund: i64,
    shared_uses: SharedUses,
}

#[derive(Debug, Default)]
struct OpenFrame {
    /// Index in `frames`; None if the frame exceeded the limit.
    index: Option<usize>,
    /// Number of frames that it opened so far.
    children: u64,
    /// Its gas refund when it was last left.
    refund: i64,
    uses: Option<Box<OpenUses>>,
}

/// Accounts and slots named by instructions, as geth's tracers count them.
#[derive(Debug, Default)]
pub struct Lookups {
    pub accounts: AddressMap<Lookup>,
    pub slots: HashMap<(Address, U256), Lookup>,
    /// Addresses of created accounts.
    pub created: AddressSet,
    /// Accounts that SELFDESTRUCT removes, even if reverted, as geth's prestateTracer counts.
    pub removed: AddressSet,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Lookup {
    /// Named by an instruction whose access was paid, or by the transaction: shown by geth's prestateTracer.
    pub is_read: bool,
    /// Accessed (EIP-2929) by any instruction, paid or not: listed in geth's access lists.
    pub is_accessed: bool,
}

/// What the next instruction will name.
#[derive(Clone, Copy, Debug)]
pub enum NamedOperand {
    Slot(U256),
    Account(Address),
    Callee(Address),
    Beneficiary(Address),
    /// Its operands: the init code's offset and size, and CREATE2's salt.
    Creation(U256, U256, Option<U256>),
}

impl NamedOperand {
    pub fn of(step: &LastStep) -> Option<Self> {
        let height = step.height;
        let address = |at: usize| Address::from_word(B256::from(step.operand(at)));
        match step.opcode {
            SLOAD | SSTORE if height >= 1 => Some(Self::Slot(step.operand(0))),
            EXTCODECOPY | EXTCODEHASH | EXTCODESIZE | BALANCE if height >= 1 => Some(Self::Account(address(0))),
            SELFDESTRUCT if height >= 1 => Some(Self::Beneficiary(address(0))),
            CALL | CALLCODE | DELEGATECALL | STATICCALL if height >= 5 => Some(Self::Callee(address(1))),
            // geth's prestateTracer does not read init code that far beyond the memory.
            CREATE2 if step.operand(1).saturating_add(step.operand(2)) > U256::from(step.memory + MAX_PADDING) => None,
            opcode @ (CREATE | CREATE2) => {
                let salt = (opcode == CREATE2).then(|| step.operand(3));
                Some(Self::Creation(step.operand(1), step.operand(2), salt))
            }
            _ => None,
        }
    }
}

impl Recorder {
    /// `left`: bytes that it may record.
    pub fn new(recording: Recording, left: usize) -> Self {
        Self {
            recording,
            left,
            overflowed: false,
            frames: Vec::new(),
            open: Vec::new(),
            precompile_halt: None,
            lookups: Lookups::default(),
            steps: recording.steps.map(StepLog::new),
            refund: 0,
            shared_uses: SharedUses::default(),
        }
    }

    pub fn watches_uses(&self) -> bool {
        self.recording.uses && !self.overflowed
    }

    /// Uses of the innermost frame.
    pub fn open_uses(&self) -> Option<&OpenUses> {
        self.open.last()?.uses.as_deref()
    }

    /// Uses of the innermost frame, and of the call.
    pub fn uses_mut(&mut self) -> Option<(&mut OpenUses, &mut SharedUses)> {
        Some((self.open.last_mut()?.uses.as_deref_mut()?, &mut self.shared_uses))
    }

    pub fn take_preimages(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.shared_uses.preimages).into_iter().collect()
    }

    /// Called when the innermost frame continues.
    pub fn start_run(&mut self) {
        let outer = self.open.len().saturating_sub(1);
        let refund = self.refund + self.open[..outer].iter().map(|frame| frame.refund).sum::<i64>();
        if let Some(steps) = &mut self.steps {
            steps.refund = refund;
        }
    }

    /// Called when the innermost frame opens another, or ends.
    pub fn end_run(&mut self, refund: i64) {
        if let Some(frame) = self.open.last_mut() {
            frame.refund = refund;
        }
    }

    /// Whether it must be called for each instruction.
    pub fn watches_steps(&self) -> bool {
        self.recording.state || self.recording.uses || self.recording.steps.is_some()
    }

    /// Accounts whose balances are shown: both sides of each frame that sends native currency.
    pub fn paid(&self) -> AddressSet {
        let sends = |frame: &&Frame| self.recording.balances && frame.value.is_some_and(|value| !value.is_zero());
        self.frames.iter().filter(sends).flat_map(|frame| [Some(frame.from), frame.to]).flatten().collect()
    }

    /// The frames in the order in which they began, the steps, and the remaining bytes.
    pub fn finish(self) -> (Vec<Frame>, Bytes, usize) {
        (self.frames, self.steps.map(StepLog::finish).unwrap_or_default(), self.left)
    }

    pub fn take(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.overflowed = true,
        }
        !self.overflowed
    }

    pub fn enter(&mut self, frame: Frame) {
        let kept = (self.recording.frames || self.recording.effects) && self.take(FRAME_BYTES + frame.input.len());
        if let Some(parent) = self.open.last_mut() {
            parent.children += 1;
        }
        self.open.push(OpenFrame {
            index: kept.then_some(self.frames.len()),
            uses: (kept && self.recording.uses).then(Box::default),
            ..OpenFrame::default()
        });
        if kept {
            self.frames.push(frame);
        }
    }

    /// Called when a frame that ran ended. `halt`: the reason if it neither returned nor reverted.
    pub fn exit(&mut self, result: &FrameResult, halt: Option<Halt>) {
        let Some(OpenFrame { index: Some(index), uses, .. }) = self.open.pop() else { return };
        self.frames[index].uses = uses.map(|uses| uses.finish());
        let ended = result.interpreter_result();
        let is_lost = !ended.result.is_ok_or_revert();
        if !is_lost && self.recording.frames && !self.take(ended.output.len()) {
            return;
        }
        let frame = &mut self.frames[index];
        frame.reverted = ended.result == InstructionResult::Revert;
        let mut gas = ended.gas;
        if frame.reverted {
            // Its state gas goes back to the caller (EIP-8037).
            gas.rollback_state_gas();
        }
        frame.gas_used = if is_lost { frame.gas } else { frame.gas - gas.remaining().min(frame.gas) };
        frame.halt = halt.or_else(|| {
            let failed = !ended.result.is_ok() && !frame.reverted;
            failed.then(|| halt::of_result(ended.result))
        });
        if frame.halt.is_none() {
            frame.output = ended.output.clone();
        }
    }

    /// Called when a frame ended without running, or in a precompile.
    pub fn exit_at_once(&mut self, result: &FrameResult) {
        let halt = self.precompile_halt.take();
        // revm has no distinct result for a creator with the maximum nonce.
        let was_refused = matches!(result, FrameResult::Create(created)
            if created.address.is_none() && created.result.result.is_ok());
        self.exit(result, if was_refused { Some(Halt::NonceOverflow) } else { halt });
    }

    /// Records the outermost frame of a transaction that could not pay its intrinsic costs (EIP-2780) and was never opened.
    pub fn never_opened(&mut self, frame: Frame, result: &FrameResult) {
        if self.frames.is_empty() && self.open.is_empty() {
            self.enter(frame);
            self.exit(result, Some(Halt::OutOfGas));
        }
    }

    pub fn log(&mut self, log: &Log) {
        let Some(&OpenFrame { index: Some(index), children: position, .. }) = self.open.last() else { return };
        if !self.recording.frames || !self.take(LOG_BYTES + log.data.data.len()) {
            return;
        }
        self.frames[index].logs.push(FrameLog {
            position,
            address: log.address,
            topics: log.data.topics().to_vec(),
            data: log.data.data.clone(),
        });
    }

    pub fn self_destruct(&mut self, from: Address, to: Address, balance: U256) {
        let depth = self.open.len() as u64;
        self.enter(Frame { value: Some(balance), ..Frame::new(FrameKind::SelfDestruct, depth, from, Some(to)) });
        if let Some(OpenFrame { index: Some(index), uses, .. }) = self.open.pop() {
            self.frames[index].uses = uses.map(|uses| uses.finish());
        }
    }

    pub fn account(&mut self, address: Address) -> &mut Lookup {
        if !self.lookups.accounts.contains_key(&address) {
            self.take(LOOKUP_BYTES);
        }
        self.lookups.accounts.entry(address).or_default()
    }

    pub fn slot(&mut self, address: Address, slot: U256) -> &mut Lookup {
        if !self.lookups.slots.contains_key(&(address, slot)) {
            self.take(LOOKUP_BYTES);
        }
        self.lookups.slots.entry((address, slot)).or_default()
    }

    /// Notes an account that the transaction itself names.
    pub fn read(&mut self, address: Address) {
        self.account(address).is_read = true;
    }
}

impl Frame {
    pub fn new(kind: FrameKind, depth: u64, from: Address, to: Option<Address>) -> Self {
        Self {
            kind,
            depth,
            from,
            to,
            input: Bytes::new(),
            output: Bytes::new(),
            gas: 0,
            gas_used: 0,
            value: None,
            reverted: false,
            halt: None,
            is_precompile: false,
            logs: Vec::new(),
            uses: None,
        }
    }
}
