//! Constants in a contract's code: the slots of its own variables (except mappings and arrays), and the addresses of libraries and of
//! contracts that it was deployed with.

use crate::pushed_words::PushedWords;
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::opcode;

/// EIP-170's limit of deployed code. An override's code may be longer: the rest is ignored.
const MAX_BYTES: usize = 24_576;
/// Limit per code.
const MAX_SLOTS: usize = 32;
const MAX_ADDRESSES: usize = 32;
/// Leading zero bytes of an address, which some were mined for.
const MAX_ZERO_BYTES: usize = 7;

/// The slots that the code reads or writes by a pushed number, sorted. Stacks are followed from one JUMPDEST to the next.
pub fn constant_slots(code: &[u8]) -> Vec<U256> {
    let code = &code[..code.len().min(MAX_BYTES)];
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
    slots.truncate(MAX_SLOTS);
    slots
}

/// The addresses that the code pushes, sorted: as 20 bytes (libraries, constants), or as a word (Solidity's immutables).
pub fn constant_addresses(code: &[u8]) -> Vec<Address> {
    let code = &code[..code.len().min(MAX_BYTES)];
    let mut addresses: Vec<Address> = Vec::new();
    let mut words = PushedWords::default();
    let mut at = 0;
    while let Some(&opcode) = code.get(at) {
        at = words.step(code, at).unwrap_or(at + 1);
        if let (opcode::PUSH20 | opcode::PUSH32, Some(word)) = (opcode, words.top()) {
            addresses.extend(address_in(word));
        }
    }
    addresses.sort_unstable();
    addresses.dedup();
    addresses.truncate(MAX_ADDRESSES);
    addresses
}

/// None if the word is a number or a mask.
pub fn address_in(word: U256) -> Option<Address> {
    let address = Address::from_word(B256::from(word));
    let leading = |byte: u8| address.iter().take_while(|each| **each == byte).count();
    let is_number = leading(0) > MAX_ZERO_BYTES || leading(0xff) > 1;
    (address.into_word() == B256::from(word) && !is_number).then_some(address)
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
        assert_eq!(constant_slots(&slots).len(), MAX_SLOTS);
        assert_eq!(constant_slots(&[opcode::PUSH1; 25_000]), [] as [U256; 0]);
        let behind =
            |bytes: usize| constant_slots(&[vec![opcode::JUMPDEST; bytes], vec![opcode::PUSH0, 0x54]].concat());
        assert_eq!((behind(MAX_BYTES - 2).len(), behind(MAX_BYTES).len()), (1, 0));
    }

    #[test]
    fn finds_addresses() {
        let addresses = |code: &str| constant_addresses(&hex::decode(code).unwrap());
        let (library, immutable) =
            ("73".to_owned() + &"b2".repeat(20), "7f".to_owned() + &"00".repeat(12) + &"a1".repeat(20));
        let both = [Address::repeat_byte(0xa1), Address::repeat_byte(0xb2)];
        assert_eq!(addresses(&format!("{library}5b{immutable}{library}")), both);
        let permit2 = "000000000022d473030f116ddee9f6b43ac78ba3";
        assert_eq!(addresses(&format!("7f{}{permit2}", "00".repeat(12))), [permit2.parse::<Address>().unwrap()]);
        let mask = format!("73{}", "ff".repeat(20));
        let number = format!("7f{}0de0b6b3a7640000", "00".repeat(24));
        let word = format!("7f{}", "c3".repeat(32));
        // Bytes inside a pushed word are no instructions.
        let inside = format!("7f{}{library}", "c3".repeat(11));
        assert_eq!(addresses(&[mask, number, word, inside, "73a1".to_owned()].concat()), [] as [Address; 0]);
        let many = (0..=255).map(|byte| "73".to_owned() + &format!("{byte:02x}").repeat(20)).collect::<String>();
        assert_eq!(addresses(&many).len(), MAX_ADDRESSES);
    }
}
