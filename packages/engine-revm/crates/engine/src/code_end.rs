//! Where code leads, found without running it.

use crate::pushed_words::{PushedWords, next};
use revm::bytecode::opcode::{self, OPCODE_INFO};

/// Limit of steps along a branch.
const MAX_STEPS: usize = 96;

/// Whether the code at `from` leads to a REVERT or INVALID without a branch, as Solidity's errors do.
pub fn ends_in_error(code: &[u8], from: usize) -> bool {
    end_of(code, from).is_some_and(is_error)
}

/// Whether an instruction always fails.
pub fn is_error(opcode: u8) -> bool {
    matches!(opcode, opcode::REVERT | opcode::INVALID) || OPCODE_INFO[usize::from(opcode)].is_none()
}

/// The first instruction from `from` on that ends the frame, branches or has an outside effect; None if unknown or too far. Jumps are
/// followed if their destination was pushed on the way.
pub fn end_of(code: &[u8], from: usize) -> Option<u8> {
    let mut at = from;
    // Words are only known up to `followed`, the rest when a jump needs them: most branches have none.
    let (mut words, mut followed) = (PushedWords::default(), from);
    for _ in 0..MAX_STEPS {
        let opcode = *code.get(at)?;
        at = match opcode {
            opcode::JUMP => {
                while followed < at {
                    followed = words.step(code, followed)?;
                }
                let to = words.top().and_then(|word| usize::try_from(word).ok())?;
                words.step(code, at);
                followed = to;
                to
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
            _ => match next(code, at) {
                Some(next) => next,
                None => return Some(opcode),
            },
        };
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
