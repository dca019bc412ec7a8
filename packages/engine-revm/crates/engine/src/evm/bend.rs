//! Bent runs. Where a value is missing that nothing is known of, a run would soon end: zero is no contract's code, no pair's
//! reserve, no unlocked pool. So that it finds what else is missing, it goes on where it would fail. Nothing that comes of it is used
//! but the names of what it reads.

use super::{
    constants::{constant_addresses, constant_slots},
    context::Context,
};
use crate::{
    code_end::ends_in_error,
    state::{Cached, PinnedState, Read, Selector, SimulationState},
};
use alloy_primitives::{Address, B256, Bytes, U256, map::AddressSet, uint};
use revm::{
    handler::FrameResult,
    interpreter::{
        CallInputs, CallOutcome, Gas, InstructionContext, InstructionExecResult, InstructionResult, InterpreterResult,
        instructions::control,
        interpreter::EthInterpreter,
        interpreter_types::{Jumps, LegacyBytecode},
    },
};
use std::sync::LazyLock;

/// A call's arguments begin with a selector.
const SELECTOR: usize = 4;
/// What a call is taken to return: `true`, or an amount that is not zero, whatever is asked for.
const RETURNED_WORDS: usize = 32;
/// Where a proxy keeps the address of its code or of its beacon (EIP-1967; older ones have it in their first slot): what it calls is read
/// a round earlier.
const POINTERS: [U256; 3] = [
    uint!(0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc_U256),
    uint!(0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50_U256),
    U256::ZERO,
];

/// The result of a call to an account whose code nothing is known of: it is taken for a contract. It runs the code that such calls
/// usually find, where that is known.
pub fn unknown_callee(context: &mut Context, call: &mut CallInputs) -> Option<FrameResult> {
    let selector = selector_of(context, call);
    let state = &mut context.journaled_state.database;
    let is_taken_for_none = call.known_bytecode.1.is_empty() && state.is_unseen(&Read::Code(call.bytecode_address));
    let selector = selector.filter(|_| is_taken_for_none)?;
    state.bend();
    state.note(POINTERS.map(|slot| Read::Storage(call.target_address, slot)));
    if let Some(code) = state.guess_callee(call.caller, selector, call.bytecode_address) {
        call.known_bytecode = code;
        return None;
    }
    let outcome = CallOutcome::new(success(Gas::new(call.gas_limit)), call.return_memory_offset.clone());
    Some(FrameResult::Call(outcome))
}

/// Has a call noted, for runs that look ahead later. Of a contract whose code was just read all is missing: its variables are read along
/// with what else is.
pub fn note_callee(context: &Context, call: &CallInputs) {
    let (hash, code) = &call.known_bytecode;
    if code.is_empty() {
        return;
    }
    let state = &context.journaled_state.database;
    if state.is_first_run(call.target_address, *hash) {
        let slots = constant_slots(code.original_byte_slice());
        state.hope_for(slots.into_iter().map(|slot| Read::Storage(call.target_address, slot)));
    }
    if let Some(selector) = selector_of(context, call) {
        state.note_callee(call.caller, selector, call.bytecode_address);
    }
}

/// What values that were just read name: a code its libraries and what it was deployed with, a proxy's slot the code that it runs. A run
/// would come to some of it rounds later.
/// @param left accounts that may still be named
pub fn named_by(reads: &[Read], state: &PinnedState, left: &mut usize) -> Vec<Read> {
    let mut named = AddressSet::default();
    for read in reads {
        match (read, state.get(read)) {
            (Read::Code(_), Some(Cached::Code(_, code))) => {
                named.extend(constant_addresses(code.original_byte_slice()))
            }
            (Read::Storage(_, slot), Some(Cached::Word(word))) if POINTERS[..2].contains(slot) && !word.is_zero() => {
                named.insert(Address::from_word(B256::from(word)));
            }
            _ => {}
        }
    }
    named.retain(|address| state.get(&Read::Code(*address)).is_none());
    let most = *left;
    *left = most.saturating_sub(named.len());
    let account = |address| Read::account(address).into_iter().chain([Read::Storage(address, POINTERS[0])]);
    named.into_iter().take(most).flat_map(account).collect()
}

fn selector_of(context: &Context, call: &CallInputs) -> Option<Selector> {
    if call.input.len() < SELECTOR {
        return None;
    }
    call.input.as_bytes(context).first_chunk().copied()
}

/// Takes a call that failed for one that succeeded.
pub fn succeed(state: &mut SimulationState, result: &mut FrameResult) {
    let FrameResult::Call(CallOutcome { result, .. }) = result else { return };
    if !state.is_blind() || result.result.is_ok() {
        return;
    }
    state.bend();
    *result = success(Gas::new(result.gas.limit()));
}

fn success(gas: Gas) -> InterpreterResult {
    static ONES: LazyLock<Bytes> = LazyLock::new(|| U256::ONE.to_be_bytes::<32>().repeat(RETURNED_WORDS).into());
    InterpreterResult::new(InstructionResult::Return, ONES.clone(), gas)
}

/// JUMPI that does not go where nothing but an error follows, if nothing but an error is avoided.
pub fn jump_if(step: InstructionContext<'_, Context, EthInterpreter>) -> InstructionExecResult {
    let state = &mut step.host.journaled_state.database;
    if state.is_blind() {
        let code = step.interpreter.bytecode.bytecode_slice();
        let on = step.interpreter.bytecode.pc();
        let words = step.interpreter.stack.data();
        if let [.., condition, target] = words[..] {
            let to = usize::try_from(target).unwrap_or(usize::MAX);
            let goes = !condition.is_zero();
            let (next, other) = if goes { (to, on) } else { (on, to) };
            if ends_in_error(code, next) && !ends_in_error(code, other) {
                state.bend();
                let height = words.len();
                step.interpreter.stack.data_mut()[height - 2] = U256::from(!goes);
            }
        }
    }
    control::jumpi(step)
}
