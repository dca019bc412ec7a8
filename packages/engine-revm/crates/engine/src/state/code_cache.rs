//! Analysed code by account, at most 8 MiB as read.

use super::change::analysed;
use alloy_primitives::{Address, B256, Bytes, map::HashMap};
use revm::bytecode::Bytecode;
use std::sync::{Mutex, MutexGuard};

/// Limit of code as read. Beyond it everything is dropped; blocks keep the code that they hold.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The code last seen at each account. It hardly ever changes, so blocks share it instead of each holding, hashing and analysing a copy.
#[derive(Default)]
pub(super) struct CodeCache(Mutex<Known>);

#[derive(Default)]
struct Known {
    by_address: HashMap<Address, (B256, Bytecode)>,
    bytes: usize,
}

impl CodeCache {
    /// The code's hash and its analysed form.
    pub(super) fn analysed(&self, address: Address, code: Bytes) -> (B256, Bytecode) {
        if code.is_empty() {
            return analysed(code);
        }
        let known = |known: &Known| {
            let (hash, bytecode) = known.by_address.get(&address)?;
            (bytecode.original_byte_slice() == code.as_ref()).then(|| (*hash, bytecode.clone()))
        };
        let shared = known(&self.known());
        shared.unwrap_or_else(|| self.add(address, code))
    }

    /// The code last seen at the account.
    pub(super) fn last_seen(&self, address: Address) -> Option<(B256, Bytecode)> {
        self.known().by_address.get(&address).cloned()
    }

    fn add(&self, address: Address, code: Bytes) -> (B256, Bytecode) {
        let length = code.len();
        let made = analysed(code);
        if length > MAX_BYTES {
            return made;
        }
        let mut known = self.known();
        if known.bytes + length > MAX_BYTES {
            *known = Known::default();
        }
        known.bytes += length;
        if let Some((_, before)) = known.by_address.insert(address, made.clone()) {
            known.bytes -= before.original_byte_slice().len();
        }
        made
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(bytecode: &Bytecode) -> *const u8 {
        bytecode.bytes_slice().as_ptr()
    }

    #[test]
    fn shares_what_is_the_same() {
        let codes = CodeCache::default();
        let (one, other) = (Address::with_last_byte(1), Address::with_last_byte(2));
        let code = || Bytes::from(vec![0x5b; 1_000]);
        let (hash, first) = codes.analysed(one, code());
        let (_, second) = codes.analysed(one, code());
        assert_eq!(code_of(&first), code_of(&second));
        assert_eq!((hash, first.clone()), analysed(code()));
        let (_, elsewhere) = codes.analysed(other, code());
        assert_ne!(code_of(&first), code_of(&elsewhere));
    }

    #[test]
    fn takes_what_changed() {
        let codes = CodeCache::default();
        let address = Address::with_last_byte(1);
        let delegation = |to: u8| Bytes::from([&[0xef, 0x01, 0x00], Address::with_last_byte(to).as_slice()].concat());
        for code in [Bytes::new(), delegation(1), delegation(2), Bytes::from(vec![0]), Bytes::new(), delegation(1)] {
            assert_eq!(codes.analysed(address, code.clone()), analysed(code));
        }
    }

    #[test]
    fn forgets_before_it_holds_too_much() {
        let codes = CodeCache::default();
        for number in 0..100 {
            codes.analysed(Address::with_last_byte(number), Bytes::from(vec![number; 1024 * 1024]));
            let known = codes.known();
            assert!(known.bytes <= MAX_BYTES);
            assert_eq!(known.bytes, known.by_address.len() * 1024 * 1024);
        }
    }
}
