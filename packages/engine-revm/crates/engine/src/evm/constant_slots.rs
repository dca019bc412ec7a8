//! Slots whose numbers stand in the code: a contract's own variables, but for its mappings and arrays.

use crate::pushed_words::PushedWords;
use alloy_primitives::U256;
use revm::bytecode::opcode;

/// What can be deployed (EIP-170). The code of an override may be longer: the rest is not looked at.
const MOST_BYTES: usize = 24_576;
/// Of one code.
const MOST_SLOTS: usize = 32;

/// The slots that the code reads or writes by a number that it pushed itself, in the order of their numbers. Stacks are followed from one
/// jump destination to the next.
pub fn constant_slots(code: &[u8]) -> Vec<U256> {
    let code = &code[..code.len().min(MOST_BYTES)];
    let mut slots: Vec<U256> = Vec::new();
    let mut words = PushedWords::default();
    let mut at = 0;
    while let Some(&opcode) = code.get(at) {
        match opcode {
            opcode::JUMPDEST => words.clear(),
            opcode::SLOAD | opcode::SSTORE => slots.extend(words.top()),
            _ => {}
        }
        at = words.step(code, at).unwrap_or_else(|| {
            words.clear();
            at + 1
        });
    }
    slots.sort_unstable();
    slots.dedup();
    slots.truncate(MOST_SLOTS);
    slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;

    fn of(code: &str) -> Vec<U256> {
        constant_slots(&hex::decode(code).unwrap())
    }

    #[test]
    fn finds_numbers_that_were_pushed() {
        assert_eq!(of("600654"), [U256::from(6)], "SLOAD(6)");
        assert_eq!(of("5f54600155"), [U256::ZERO, U256::ONE], "SLOAD(0), SSTORE(1, it)");
        assert_eq!(of("6007600881905450505f5f5490"), [U256::ZERO, U256::from(8)], "by DUP and SWAP");
        let pointer = "360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
        assert_eq!(of(&format!("7f{pointer}54")), [U256::from_be_slice(&hex::decode(pointer).unwrap())]);
    }

    #[test]
    fn leaves_what_is_computed_or_comes_from_elsewhere() {
        assert_eq!(of("60406000205460016002015460065b5451"), [] as [U256; 0]);
        assert_eq!(of("7f0102"), [] as [U256; 0], "cut off");
        assert_eq!(of("0c54"), [] as [U256; 0], "no instruction");
    }

    #[test]
    fn is_bounded() {
        let slots: Vec<u8> = (0..=255).flat_map(|slot| [opcode::PUSH1, slot, opcode::SLOAD]).collect();
        assert_eq!(constant_slots(&slots).len(), MOST_SLOTS);
        assert_eq!(constant_slots(&[opcode::PUSH1; 25_000]), [] as [U256; 0]);
        let behind =
            |bytes: usize| constant_slots(&[vec![opcode::JUMPDEST; bytes], vec![opcode::PUSH0, 0x54]].concat());
        assert_eq!((behind(MOST_BYTES - 2).len(), behind(MOST_BYTES).len()), (1, 0));
    }
}
