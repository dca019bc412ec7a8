//! What code comes to, without running it.

use revm::bytecode::opcode::{self, OPCODE_INFO};

/// How far a branch is looked along.
const MOST_STEPS: usize = 96;

/// Whether the code from here on leads to a REVERT or INVALID, without a branch, as Solidity's errors do.
pub fn ends_in_error(code: &[u8], from: usize) -> bool {
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
