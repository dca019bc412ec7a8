//! Predicts which code a contract never seen runs, from calls by the same code.

use super::{code_cache::CodeCache, last_seen_words::RecentMap};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY};
use revm::bytecode::Bytecode;
use std::sync::{Mutex, PoisonError};

/// The first bytes of a call's input: the function.
pub type Selector = [u8; 4];

/// Limits per generation. Two are kept: some 1 MB of callees.
const MAX_CALLEES: usize = 4 * 1024;
const MAX_RAN: usize = 16 * 1024;

/// What unseen contracts are likely to be: like others that the same code calls with the same function.
/// Guides runs that look ahead; never part of an answer.
#[derive(Default)]
pub(super) struct Predictions {
    /// Callees, by the caller's code.
    callees: Mutex<RecentMap<(B256, Selector), Address>>,
    /// Contracts that ran a code.
    ran: Mutex<RecentMap<(Address, B256), ()>>,
}

impl Predictions {
    pub(super) fn note_callee(&self, codes: &CodeCache, caller: Address, selector: Selector, callee: Address) {
        let mut callees = self.callees.lock().unwrap_or_else(PoisonError::into_inner);
        for code in [hash_of(codes, caller), B256::ZERO] {
            callees.insert((code, selector), callee, MAX_CALLEES);
        }
    }

    /// The code that such a call reaches: learnt from callers with the same code, else from any caller.
    pub(super) fn callee(&self, codes: &CodeCache, caller: Address, selector: Selector) -> Option<(B256, Bytecode)> {
        let callees = self.callees.lock().unwrap_or_else(PoisonError::into_inner);
        let known = [hash_of(codes, caller), B256::ZERO].map(|code| callees.get(&(code, selector)).copied());
        known.into_iter().flatten().find_map(|callee| codes.last_seen(callee))
    }

    /// Notes that the contract runs the code. Returns true if it did not before.
    pub(super) fn is_first_run(&self, contract: Address, code: B256) -> bool {
        let mut ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = ran.get(&(contract, code)).is_none();
        if is_first {
            ran.insert((contract, code), (), MAX_RAN);
        }
        is_first
    }
}

fn hash_of(codes: &CodeCache, address: Address) -> B256 {
    codes.last_seen(address).map_or(KECCAK256_EMPTY, |(hash, _)| hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::Bytes;

    const SWAP: Selector = [1, 2, 3, 4];

    fn address(number: u8) -> Address {
        Address::with_last_byte(number)
    }

    fn codes() -> CodeCache {
        let codes = CodeCache::default();
        for (contract, code) in [(1, 0xa), (2, 0xa), (3, 0xb), (4, 0xc)] {
            codes.analysed(address(contract), Bytes::from(vec![code]));
        }
        codes
    }

    #[test]
    fn tells_a_callee_of_the_same_code_first_and_else_of_any() {
        let (predictions, codes) = (Predictions::default(), codes());
        assert_eq!(predictions.callee(&codes, address(1), SWAP), None);
        predictions.note_callee(&codes, address(1), SWAP, address(3));
        predictions.note_callee(&codes, address(9), SWAP, address(4));
        assert_eq!(
            predictions.callee(&codes, address(2), SWAP),
            codes.last_seen(address(3)),
            "a caller with the same code"
        );
        assert_eq!(predictions.callee(&codes, address(3), SWAP), codes.last_seen(address(4)), "the last of any");
        assert_eq!(predictions.callee(&codes, address(1), [0; 4]), None);
    }

    #[test]
    fn knows_a_first_run() {
        let predictions = Predictions::default();
        let runs = [(1, 1), (1, 1), (1, 2), (2, 1), (2, 1)];
        let first =
            runs.map(|(contract, code)| predictions.is_first_run(address(contract), B256::with_last_byte(code)));
        assert_eq!(first, [true, false, true, true, false]);
    }
}
