//! Repeats a run until every value it reads is cached.

use crate::{
    evm::accounts_named_in,
    simulate::BaseState,
    state::{Read, ReadError, SimulationState},
};

/// Limit of accounts read along with missing values because earlier values name them.
const MAX_NAMED: usize = 512;

/// Repeats the run, each time with the values that the last one noted as missing, until none is missing; only that run counts. No run waits
/// for a value. `run` returns the state.
pub fn run_until_read<T>(
    base: &BaseState,
    mut run: impl FnMut(SimulationState) -> (T, SimulationState),
) -> Result<T, ReadError> {
    let (mut named, mut left) = (Vec::new(), MAX_NAMED);
    loop {
        let state = base.state().recording_missing();
        state.add_likely_reads(named);
        let (done, state) = run(state);
        if !state.has_missing() || base.stop.is_raised() {
            return Ok(done);
        }
        let reads: Vec<Read> = state.into_assumed().into_keys().collect();
        let pinned = base.cache.pinned(base.key);
        pinned.fetch(&reads, reads.len(), &*base.source)?;
        named = accounts_named_in(&reads, &pinned, &mut left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{StateCache, StateSource, Value};
    use alloy_primitives::{Address, B256, U256};
    use revm::Database;
    use std::sync::{Arc, Mutex};

    const CONTRACT: Address = Address::repeat_byte(0xc0);
    const LIBRARY: Address = Address::repeat_byte(0xb2);
    const BEHIND: Address = Address::repeat_byte(0xa1);
    const ORACLE: Address = Address::repeat_byte(0xd3);
    const STRANGER: Address = Address::repeat_byte(0xe4);
    const SLOT: U256 = U256::from_limbs([5, 0, 0, 0]);
    const MAPPED: U256 = U256::from_limbs([5, 6, 7, 8]);

    /// The contract's code names a library, which is a proxy for `BEHIND`; its slots name an oracle and a stranger. Stores the batches.
    #[derive(Default)]
    struct Node(Mutex<Vec<Vec<Read>>>);

    impl StateSource for Node {
        fn read(&self, reads: &[Read], _certain: usize) -> Result<Vec<Value>, ReadError> {
            self.0.lock().unwrap().push(reads.to_vec());
            let value = |read: &Read| match read {
                Read::Code(CONTRACT) => Value::Code([&[0x73], LIBRARY.as_slice()].concat().into()),
                Read::Code(_) => Value::Code(Default::default()),
                Read::Storage(LIBRARY, _) => Value::Word(BEHIND.into_word().into()),
                Read::Storage(CONTRACT, SLOT) => Value::Word(ORACLE.into_word().into()),
                Read::Storage(CONTRACT, MAPPED) => Value::Word(STRANGER.into_word().into()),
                _ => Value::Word(U256::ONE),
            };
            Ok(reads.iter().map(value).collect())
        }
    }

    #[test]
    fn what_values_name_comes_with_what_is_lacking_next() {
        let node = Arc::new(Node::default());
        let base = BaseState {
            cache: Arc::new(StateCache::new(1 << 20)),
            key: B256::ZERO,
            layers: Vec::new(),
            source: node.clone(),
            stop: Arc::default(),
            memory: Arc::default(),
            records: Arc::default(),
        };
        let run = |mut state: SimulationState| {
            let slots = [SLOT, MAPPED, SLOT + U256::ONE];
            let read = state
                .basic(CONTRACT)
                .and_then(|_| slots.iter().try_for_each(|slot| state.storage(CONTRACT, *slot).map(drop)));
            (read, state)
        };
        run_until_read(&base, run).unwrap().unwrap();
        let batches = node.0.lock().unwrap();
        let [account, library, behind, last] = &batches[..] else { panic!("{batches:?}") };
        assert_eq!(*account, Read::account(CONTRACT));
        assert!(
            library.contains(&Read::Storage(CONTRACT, SLOT)) && library.contains(&Read::Code(LIBRARY)),
            "{library:?}"
        );
        assert!(behind.contains(&Read::Code(BEHIND)) && behind.contains(&Read::Code(ORACLE)), "{behind:?}");
        assert!(!last.contains(&Read::Code(STRANGER)), "{last:?}");
    }
}
