//! Bent runs. Where a value is missing that nothing is known of, a run would soon end: zero is no contract's code, no pair's
//! reserve, no unlocked pool. So that it finds what else is missing, it goes on where it would fail. Nothing that comes of it is used
//! but the names of what it reads.

use super::context::Context;
use crate::state::{Read, SimulationState};
use alloy_primitives::{Bytes, U256, uint};
use revm::{
    bytecode::opcode::{self, OPCODE_INFO},
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
/// How far a branch is looked along.
const MOST_STEPS: usize = 96;

/// The result of a call to an account whose code nothing is known of: it is taken for a contract.
pub fn unknown_callee(state: &mut SimulationState, call: &CallInputs) -> Option<FrameResult> {
    let is_taken_for_none = call.known_bytecode.1.is_empty() && state.is_unseen(&Read::Code(call.bytecode_address));
    if !is_taken_for_none || call.input.len() < SELECTOR {
        return None;
    }
    state.bend();
    state.note(POINTERS.map(|slot| Read::Storage(call.target_address, slot)));
    let outcome = CallOutcome::new(success(Gas::new(call.gas_limit)), call.return_memory_offset.clone());
    Some(FrameResult::Call(outcome))
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

/// Whether the code from here on leads to a REVERT or INVALID, without a branch, as Solidity's errors do.
fn ends_in_error(code: &[u8], from: usize) -> bool {
    end_of(code, from).is_some_and(is_error)
}

/// Whether an instruction does nothing but fail.
pub fn is_error(opcode: u8) -> bool {
    matches!(opcode, opcode::REVERT | opcode::INVALID) || OPCODE_INFO[usize::from(opcode)].is_none()
}

/// The first instruction from here on that ends the frame, branches, or does what others see; none where it is not known, or far. Jumps
/// are followed where their destination was pushed on the way.
pub fn end_of(code: &[u8], from: usize) -> Option<u8> {
    let mut at = from;
    // Destinations that were pushed; other words are none.
    let mut stack: Vec<Option<usize>> = Vec::new();
    for _ in 0..MOST_STEPS {
        let opcode = *code.get(at)?;
        at += 1;
        match opcode {
            opcode::JUMP => match stack.pop().flatten() {
                Some(to) => at = to,
                None => return None,
            },
            opcode::PUSH1..=opcode::PUSH32 => {
                let size = usize::from(opcode - opcode::PUSH1) + 1;
                let operand = code.get(at..at + size)?;
                stack
                    .push((size <= 4).then(|| operand.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))));
                at += size;
            }
            opcode::DUP1..=opcode::DUP16 => {
                let depth = usize::from(opcode - opcode::DUP1);
                stack.push(stack.iter().rev().nth(depth).copied().flatten());
            }
            opcode::SWAP1..=opcode::SWAP16 => {
                let depth = usize::from(opcode - opcode::SWAP1) + 1;
                while stack.len() <= depth {
                    stack.insert(0, None);
                }
                let top = stack.len() - 1;
                stack.swap(top, top - depth);
            }
            opcode::STOP
            | opcode::RETURN
            | opcode::REVERT
            | opcode::INVALID
            | opcode::SELFDESTRUCT
            | opcode::JUMPI
            | opcode::SSTORE
            | opcode::TSTORE
            | opcode::LOG0..=opcode::LOG4
            | opcode::CREATE..=opcode::DELEGATECALL
            | opcode::CREATE2
            | opcode::STATICCALL => return Some(opcode),
            _ => {
                let Some(info) = OPCODE_INFO[usize::from(opcode)] else { return Some(opcode) };
                for _ in 0..info.inputs() {
                    stack.pop();
                }
                stack.extend((0..info.outputs()).map(|_| None));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;

    fn leads_to_error(code: &str) -> bool {
        ends_in_error(&hex::decode(code).unwrap(), 0)
    }

    #[test]
    fn follows_an_error_to_its_end() {
        assert!(leads_to_error("5f80fd"), "revert(0, 0)");
        assert!(leads_to_error("fe"), "INVALID");
        assert!(leads_to_error("600456005b5f5ffd"), "a jump to it");
        assert!(leads_to_error("6007600b5600005b5f80fd5b56"), "a function that returns to it");
        assert!(leads_to_error("0c"), "no instruction");
    }

    #[test]
    fn anything_else_may_go_on() {
        assert!(!leads_to_error("00"), "STOP");
        assert!(!leads_to_error("5f5ff3"), "RETURN");
        assert!(!leads_to_error("5f5f555f80fd"), "SSTORE first");
        assert!(!leads_to_error("56"), "a jump that is not known");
        assert!(!leads_to_error("5f600457005b5f80fd"), "a branch");
        assert!(!leads_to_error(&"5b".repeat(200)), "too long");
        assert!(!leads_to_error("60005b600256"), "a loop");
    }
}
