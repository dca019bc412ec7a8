//! Reports frames, operands that name accounts and slots, and logs to the recorder.

use super::{context::Context, precompiles::PrecompileSet, recorder::NamedOperand};
use crate::outcome::{Frame, FrameKind};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, TxKind, keccak256};
use revm::{
    context_interface::{CreateScheme, JournalTr},
    handler::FrameResult,
    interpreter::{
        CallScheme, FrameInput, Interpreter, InterpreterAction,
        interpreter::EthInterpreter,
        interpreter_action::FrameInit,
        interpreter_types::{InputsTr, LoopControl, MemoryTr},
    },
    primitives::hardfork::SpecId,
};

/// Called before a frame is opened.
pub fn enter(context: &mut Context, init: &FrameInit, precompiles: &PrecompileSet) {
    let depth = init.depth as u64;
    let shows = context.chain.recorder.as_ref().is_some_and(|recorder| recorder.recording.frames);
    let frame = match &init.frame_input {
        FrameInput::Call(call) => {
            let (kind, from) = match call.scheme {
                CallScheme::Call => (FrameKind::Call, call.caller),
                CallScheme::CallCode => (FrameKind::CallCode, call.caller),
                CallScheme::DelegateCall => (FrameKind::DelegateCall, call.target_address),
                CallScheme::StaticCall => (FrameKind::StaticCall, call.caller),
            };
            Frame {
                input: if shows { call.input.bytes(context) } else { Bytes::new() },
                gas: call.gas_limit,
                is_precompile: precompiles.warm().contains(&call.bytecode_address),
                value: (kind != FrameKind::StaticCall).then(|| call.value.get()),
                ..Frame::new(kind, depth, from, Some(call.bytecode_address))
            }
        }
        FrameInput::Create(create) => {
            let kind = match create.scheme() {
                CreateScheme::Create2 { .. } => FrameKind::Create2,
                _ => FrameKind::Create,
            };
            let caller = create.caller();
            let address = create.created_address(nonce_of(context, caller));
            Frame {
                input: create.init_code().clone(),
                gas: create.gas_limit(),
                value: Some(create.value()),
                ..Frame::new(kind, depth, caller, Some(address))
            }
        }
        FrameInput::Empty => return,
    };
    if let Some(recorder) = &mut context.chain.recorder {
        recorder.enter(frame);
    }
}

/// Called when the transaction ended. @param ended result of its outermost frame
pub fn end(context: &mut Context, ended: &FrameResult, precompiles: &PrecompileSet) {
    if context.chain.recorder.is_none() || ended.interpreter_result().is_ok() {
        return;
    }
    let tx = &context.tx;
    let created = || tx.caller.create(nonce_of(context, tx.caller));
    let (kind, to) = match tx.kind {
        TxKind::Call(to) => (FrameKind::Call, to),
        TxKind::Create => (FrameKind::Create, created()),
    };
    let frame = Frame {
        input: tx.data.clone(),
        gas: tx.gas_limit,
        value: Some(tx.value),
        is_precompile: precompiles.warm().contains(&to),
        ..Frame::new(kind, 0, tx.caller, Some(to))
    };
    if let Some(recorder) = &mut context.chain.recorder {
        recorder.never_opened(frame, ended);
    }
}

/// Notes what an instruction named, after it ran.
pub fn note(context: &mut Context, interpreter: &mut Interpreter<EthInterpreter>, named: NamedOperand) {
    let frame = interpreter.input.target_address();
    let action = interpreter.bytecode.action();
    let failed = matches!(action, Some(InterpreterAction::Return(result)) if !result.result.is_ok());
    let created = match action {
        Some(InterpreterAction::NewFrame(FrameInput::Create(create))) => {
            Some(create.created_address(nonce_of(context, frame)))
        }
        _ => intended_address(context, interpreter, named).filter(|created| {
            // If the instruction failed, the account was accessed only if the journal has it.
            !failed || context.journaled_state.inner.state.contains_key(created)
        }),
    };
    let target = match named {
        NamedOperand::Callee(callee) if !failed => delegate_of(context, callee),
        _ => None,
    };
    let always_removes = !context.cfg.spec.is_enabled_in(SpecId::CANCUN);
    let Some(recorder) = &mut context.chain.recorder else { return };
    match named {
        NamedOperand::Slot(slot) => {
            let lookup = recorder.slot(frame, slot);
            lookup.is_accessed = true;
            lookup.is_read |= !failed;
        }
        NamedOperand::Account(address) | NamedOperand::Callee(address) | NamedOperand::Beneficiary(address) => {
            let lookup = recorder.account(address);
            lookup.is_accessed = true;
            lookup.is_read |= !failed;
        }
        NamedOperand::Creation(..) => {}
    }
    if let Some(created) = created {
        recorder.read(created);
        recorder.lookups.created.insert(created);
    }
    if let Some(target) = target {
        recorder.read(target);
    }
    if matches!(named, NamedOperand::Beneficiary(_))
        && !failed
        && (always_removes || recorder.lookups.created.contains(&frame))
    {
        recorder.lookups.removed.insert(frame);
    }
}

/// The address that a failed creation would have had: from Amsterdam on, the instruction accesses it before it may fail.
fn intended_address(
    context: &Context,
    interpreter: &Interpreter<EthInterpreter>,
    named: NamedOperand,
) -> Option<Address> {
    let NamedOperand::Creation(offset, size, salt) = named else { return None };
    if !context.cfg.spec.is_enabled_in(SpecId::AMSTERDAM) {
        return None;
    }
    let frame = interpreter.input.target_address();
    let Some(salt) = salt else { return Some(frame.create(nonce_of(context, frame))) };
    let (offset, size) = (usize::try_from(offset).unwrap_or_default(), usize::try_from(size).ok()?);
    if size > 0 && offset.checked_add(size)? > interpreter.memory.size() {
        return None;
    }
    let init_code = if size > 0 { keccak256(&*interpreter.memory.slice_len(offset, size)) } else { KECCAK256_EMPTY };
    Some(frame.create2(B256::from(salt), init_code))
}

fn nonce_of(context: &Context, address: Address) -> u64 {
    context.journaled_state.inner.state.get(&address).map_or(0, |account| account.info.nonce)
}

/// The account whose code runs for one that delegates (EIP-7702).
fn delegate_of(context: &Context, address: Address) -> Option<Address> {
    let account = context.journaled_state.inner.state.get(&address)?;
    account.info.code.as_ref()?.eip7702_address()
}

/// Called for the journal's newest log, if its frame is recorded.
pub fn log(context: &mut Context) {
    let Context { journaled_state, chain, .. } = context;
    if let (Some(recorder), Some(log)) = (&mut chain.recorder, journaled_state.logs().last()) {
        recorder.log(log);
    }
}
