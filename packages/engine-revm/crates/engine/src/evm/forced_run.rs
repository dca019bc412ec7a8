//! Forced execution. A run with a missing value would often end soon, because zero is no contract's code, no pair's reserve, no unlocked
//! pool. To find what else is missing, it goes on where it would fail. Only the names of what it reads are used, never its result.

use super::{
    constants::{address_in, constant_addresses, constant_slots},
    context::Context,
};
use crate::{
    code_end::ends_in_error,
    state::{Cached, PinnedState, Read, Selector},
};
use alloy_primitives::{Bytes, U256, map::AddressSet, uint};
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
/// The assumed output of a call: `true`, or a non-zero amount.
const RETURNED_WORDS: usize = 32;
/// Slots where a proxy stores the address of its code or beacon (EIP-1967; older ones use their first slot). What it calls is then read a
/// round earlier.
const POINTERS: [U256; 3] = [
    uint!(0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc_U256),
    uint!(0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50_U256),
    U256::ZERO,
];

/// The result of a call to an account with unknown code, which is assumed to be a contract. If it is known what code such calls usually
/// reach, that code runs.
pub fn unknown_callee(context: &mut Context, call: &mut CallInputs) -> Option<FrameResult> {
    let selector = selector_of(context, call);
    let state = &mut context.journaled_state.database;
    let is_taken_for_none = call.known_bytecode.1.is_empty() && state.is_unseen(&Read::Code(call.bytecode_address));
    let selector = selector.filter(|_| is_taken_for_none)?;
    state.force();
    state.record_missing(POINTERS.map(|slot| Read::Storage(call.target_address, slot)));
    if let Some(code) = state.guess_callee(call.caller, selector) {
        call.known_bytecode = code;
        return None;
    }
    static ONES: LazyLock<Bytes> = LazyLock::new(|| U256::ONE.to_be_bytes::<32>().repeat(RETURNED_WORDS).into());
    let result = InterpreterResult::new(InstructionResult::Return, ONES.clone(), Gas::new(call.gas_limit));
    Some(FrameResult::Call(CallOutcome::new(result, call.return_memory_offset.clone())))
}

/// Notes a call, for later runs that look ahead. If the contract's code was just read, all its state is missing: its variables are read
/// along with the other missing values.
pub fn note_callee(context: &Context, call: &CallInputs) {
    let (hash, code) = &call.known_bytecode;
    if code.is_empty() {
        return;
    }
    let state = &context.journaled_state.database;
    if state.is_first_run(call.target_address, *hash) {
        let slots = constant_slots(code.original_byte_slice());
        state.add_likely_reads(slots.into_iter().map(|slot| Read::Storage(call.target_address, slot)));
    }
    if let Some(selector) = selector_of(context, call) {
        state.note_callee(call.caller, selector, call.bytecode_address);
    }
}

/// Slots of a contract's own variables are below; those of mappings and arrays are spread over all words.
const OWN_VARIABLES: U256 = U256::from_limbs([0, 1, 0, 0]);

/// Accounts named by values just read: a code's libraries and constants, the implementation in a proxy's slot, and addresses in a
/// contract's own variables. A run would reach some of them rounds later.
/// @param left limit of accounts that may still be named
pub fn accounts_named_in(reads: &[Read], state: &PinnedState, left: &mut usize) -> Vec<Read> {
    let mut named = AddressSet::default();
    for read in reads {
        match (read, state.get(read)) {
            (Read::Code(_), Some(Cached::Code(_, code))) => {
                named.extend(constant_addresses(code.original_byte_slice()))
            }
            (Read::Storage(_, slot), Some(Cached::Word(word))) if *slot < OWN_VARIABLES || POINTERS.contains(slot) => {
                named.extend(address_in(word));
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

/// A JUMPI that avoids a branch leading only to an error, if the other branch does more.
pub fn jump_if(mut step: InstructionContext<'_, Context, EthInterpreter>) -> InstructionExecResult {
    if step.host.journaled_state.database.is_past_unseen() {
        avoid_error(&mut step);
    }
    control::jumpi(step)
}

#[cold]
fn avoid_error(step: &mut InstructionContext<'_, Context, EthInterpreter>) {
    let code = step.interpreter.bytecode.bytecode_slice();
    let on = step.interpreter.bytecode.pc();
    let words = step.interpreter.stack.data();
    let [.., condition, target] = words[..] else { return };
    let to = usize::try_from(target).unwrap_or(usize::MAX);
    let goes = !condition.is_zero();
    let (next, other) = if goes { (to, on) } else { (on, to) };
    if ends_in_error(code, next) && !ends_in_error(code, other) {
        step.host.journaled_state.database.force();
        let height = words.len();
        step.interpreter.stack.data_mut()[height - 2] = U256::from(!goes);
    }
}
