//! Tracks frames as the EVM opens and ends them.

use super::{
    Tracker,
    fact::{FactKind, reached},
    labels::NONE,
    tracker::Ended,
};
use alloy_primitives::{Address, U256};
use revm::{
    handler::FrameResult,
    interpreter::{CallScheme, CallValue, FrameInput, interpreter_action::FrameInit},
    state::EvmState,
};

/// Called before a frame is opened. What it needs to begin decides too.
pub fn enter(tracker: &mut Tracker, caller: Address, state: &EvmState, init: &FrameInit) {
    let is_nobody = init.depth == 0 && caller.is_zero();
    let label = if is_nobody { tracker.environment_label(FactKind::Origin, U256::ZERO) } else { NONE };
    let (account, from, value) = match &init.frame_input {
        FrameInput::Call(call) => {
            let value = match call.value {
                CallValue::Transfer(value) if call.scheme == CallScheme::Call => value,
                _ => U256::ZERO,
            };
            if let Some(delegate) = call.known_bytecode.1.eip7702_address().or_else(|| delegate_of(state, call)) {
                let word = U256::from_be_bytes(delegate.into_word().0);
                tracker.account_label(FactKind::Code, call.bytecode_address, word);
                decide(tracker, FactKind::Code, call.bytecode_address, word, reached::TARGET);
            }
            (call.target_address, call.caller, value)
        }
        FrameInput::Create(create) => (Address::ZERO, create.caller(), create.value()),
        FrameInput::Empty => (Address::ZERO, Address::ZERO, U256::ZERO),
    };
    if !value.is_zero() {
        let held = state.get(&from).map(|account| account.info.balance);
        decide(tracker, FactKind::Balance, from, held.unwrap_or_default(), reached::GUARD);
        tracker.facts.take_effect();
        let label = tracker.with(|shadow, _| shadow.opens.value);
        tracker.transfer(from, account, label);
    }
    tracker.enter(account, label);
}

fn decide(tracker: &mut Tracker, kind: FactKind, address: Address, value: U256, by: u64) {
    let label = tracker.account_label(kind, address, value);
    let before = tracker.balance(address);
    let numbers: Vec<u32> = tracker.labels.facts(label).map(|(fact, _)| fact).collect();
    for fact in numbers {
        tracker.facts.decide(fact, by);
    }
    if kind == FactKind::Balance {
        tracker.reach(before, by);
    }
}

fn delegate_of(state: &EvmState, call: &revm::interpreter::CallInputs) -> Option<Address> {
    let account = state.get(&call.bytecode_address)?;
    account.info.code.as_ref()?.eip7702_address()
}

/// Called after a frame ended, even if it never ran.
pub fn exit(tracker: &mut Tracker, result: &FrameResult, is_precompile: bool) {
    let ended = result.interpreter_result();
    let created = match result {
        FrameResult::Create(created) => created.address,
        FrameResult::Call(_) => None,
    };
    tracker.exit(Ended { succeeded: ended.result.is_ok(), is_precompile, created, size: ended.output.len() });
}
