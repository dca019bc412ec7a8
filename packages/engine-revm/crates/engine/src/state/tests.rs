use super::*;
use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};
use revm::{Database, primitives::KECCAK_EMPTY};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

const ALICE: Address = address!("00000000000000000000000000000000000a11ce");
const BOB: Address = address!("0000000000000000000000000000000000000b0b");

/// Returns 7 for every word and empty code, and counts reads.
#[derive(Default)]
struct Counting {
    reads: Mutex<Vec<Read>>,
    batches: AtomicUsize,
    fail_first: AtomicUsize,
}

impl StateSource for Counting {
    fn read(&self, reads: &[Read], _certain: usize) -> Result<Vec<Value>, ReadError> {
        self.batches.fetch_add(1, Ordering::SeqCst);
        self.reads.lock().unwrap().extend_from_slice(reads);
        if self.fail_first.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(ReadError::Failed);
        }
        let value = |read: &Read| match read {
            Read::Code(_) => Value::Code(Default::default()),
            _ => Value::Word(U256::from(7)),
        };
        Ok(reads.iter().map(value).collect())
    }
}

fn state_on(cache: &StateCache, key: u8, source: &Arc<Counting>) -> SimulationState {
    SimulationState::new(cache, B256::repeat_byte(key), Vec::new(), source.clone(), Arc::default())
}

#[test]
fn an_account_is_asked_for_once_and_in_one_batch() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    let account = state_on(&cache, 1, &source).basic(ALICE).unwrap().unwrap();
    assert_eq!((account.balance, account.nonce), (U256::from(7), 7));
    state_on(&cache, 1, &source).basic(ALICE).unwrap();
    assert_eq!(source.batches.load(Ordering::SeqCst), 1);
    assert_eq!(source.reads.lock().unwrap().len(), 3);
    state_on(&cache, 2, &source).basic(ALICE).unwrap();
    assert_eq!(source.batches.load(Ordering::SeqCst), 2, "another block has a state of its own");
}

#[test]
fn what_is_overridden_is_not_asked_for() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    let mut state = state_on(&cache, 1, &source);
    let change = state.change(ALICE);
    (change.balance, change.nonce, change.storage_cleared) = (Some(U256::from(1)), Some(2), true);
    state.set_code(ALICE, Default::default());
    assert_eq!(state.basic(ALICE).unwrap().unwrap().balance, U256::from(1));
    assert_eq!(state.storage(ALICE, U256::from(3)).unwrap(), U256::ZERO);
    assert_eq!(source.batches.load(Ordering::SeqCst), 0);
    state.change(BOB).balance = Some(U256::from(1));
    state.basic(BOB).unwrap();
    assert_eq!(*source.reads.lock().unwrap(), [Read::Nonce(BOB), Read::Code(BOB)]);
}

#[test]
fn layers_lie_between_the_simulation_and_the_pinned_block() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    let layer = |balance: u64, slot: Option<u64>, cleared: bool| {
        let mut layer = Layer::default();
        let storage = slot.map(|slot| (U256::from(slot), U256::from(balance))).into_iter().collect();
        let change = AccountChange {
            balance: Some(U256::from(balance)),
            storage_cleared: cleared,
            storage,
            ..Default::default()
        };
        layer.accounts.insert(ALICE, change);
        Arc::new(layer)
    };
    let layers = vec![layer(10, Some(1), false), layer(20, Some(2), true), layer(30, Some(3), false)];
    let mut state = SimulationState::new(&cache, B256::ZERO, layers, source.clone(), Arc::default());
    assert_eq!(state.basic(ALICE).unwrap().unwrap().balance, U256::from(30), "the newest counts");
    let mut slot = |slot: u64| state.storage(ALICE, U256::from(slot)).unwrap();
    assert_eq!((slot(3), slot(2)), (U256::from(30), U256::from(20)));
    assert_eq!((slot(1), slot(9)), (U256::ZERO, U256::ZERO), "cleared: nothing below counts");
    assert_eq!(state.storage(BOB, U256::from(1)).unwrap(), U256::from(7));
}

#[test]
fn a_failed_read_is_no_value() {
    let cache = StateCache::new(1 << 20);
    let source = Arc::new(Counting { fail_first: AtomicUsize::new(1), ..Counting::default() });
    let mut state = state_on(&cache, 1, &source);
    assert_eq!(state.storage(ALICE, U256::from(1)), Err(ReadError::Failed));
    assert_eq!(state.storage(ALICE, U256::from(1)), Ok(U256::from(7)));
}

#[test]
fn what_is_provided_is_not_asked_for_and_counts_once() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    let provide =
        || cache.pinned(B256::repeat_byte(1)).store([(Read::Storage(ALICE, U256::ZERO), Value::Word(U256::from(3)))]);
    provide();
    let bytes = cache.bytes();
    provide();
    assert_eq!(cache.bytes(), bytes);
    assert_eq!(state_on(&cache, 1, &source).storage(ALICE, U256::ZERO), Ok(U256::from(3)));
    assert_eq!(source.batches.load(Ordering::SeqCst), 0);
}

#[test]
fn the_cache_stays_within_its_bytes_and_keeps_what_is_in_use() {
    let limit = 100_000;
    let (cache, source) = (StateCache::new(limit), Arc::new(Counting::default()));
    for block in 0..40 {
        let mut state = state_on(&cache, block, &source);
        for slot in 0..50 {
            state.storage(ALICE, U256::from(slot)).unwrap();
        }
        // Block 0 is used again and again.
        state_on(&cache, 0, &source).storage(ALICE, U256::ZERO).unwrap();
    }
    assert!(cache.bytes() <= limit + 50 * 300, "{} bytes", cache.bytes());
    let before = source.batches.load(Ordering::SeqCst);
    state_on(&cache, 0, &source).storage(ALICE, U256::from(49)).unwrap();
    assert_eq!(source.batches.load(Ordering::SeqCst), before, "the most used block is still there");
    state_on(&cache, 2, &source).storage(ALICE, U256::ZERO).unwrap();
    assert_eq!(source.batches.load(Ordering::SeqCst), before + 1, "the least recently used is not");
}

/// Separate states, as many as a gateway has that could not carry any head for hours.
#[test]
fn many_small_states_leave_the_cache_without_looking_at_each_other() {
    let limit = 20_000_000;
    let (cache, source) = (StateCache::new(limit), Arc::new(Counting::default()));
    for block in 0..100_000_u64 {
        let key = B256::from(U256::from(block));
        cache.pinned(key).fetch(&[Read::Balance(ALICE)], 1, &*source).unwrap();
    }
    assert!(cache.bytes() <= limit + 1_000, "{} bytes", cache.bytes());
}

#[test]
fn one_block_alone_stays_within_its_bytes_too() {
    let limit = 100_000;
    let (cache, source) = (StateCache::new(limit), Arc::new(Counting::default()));
    for slot in 0..5_000 {
        state_on(&cache, 1, &source).storage(ALICE, U256::from(slot)).unwrap();
        state_on(&cache, 1, &source).storage(ALICE, U256::ZERO).unwrap();
    }
    assert!(cache.bytes() <= limit + 1_000, "{} bytes", cache.bytes());
    let before = source.batches.load(Ordering::SeqCst);
    state_on(&cache, 1, &source).storage(ALICE, U256::ZERO).unwrap();
    assert_eq!(source.batches.load(Ordering::SeqCst), before, "what is always used stays");
}

const ALLOWANCE: Allowance = Allowance { gas: 0, frames: 0, bytes: 0, precompile_gas: 0 };

#[test]
fn a_run_that_may_not_wait_takes_missing_values_for_granted() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    cache.pinned(B256::repeat_byte(1)).store([(Read::Nonce(ALICE), Value::Word(U256::from(7)))]);
    let mut state = state_on(&cache, 1, &source).with_allowance(ALLOWANCE);
    let alice = state.basic(ALICE).unwrap().unwrap();
    assert_eq!((alice.nonce, alice.code_hash), (7, KECCAK_EMPTY));
    assert!(alice.balance > U256::from(u64::MAX), "no lack of funds ends the run");
    assert_eq!(state.storage(ALICE, U256::ZERO), Ok(U256::ZERO));
    assert_eq!(source.batches.load(Ordering::SeqCst), 0);
    let assumed = state.into_assumed();
    let reads: Vec<Read> = assumed.keys().copied().collect();
    assert_eq!(reads, [Read::Balance(ALICE), Read::Code(ALICE), Read::Storage(ALICE, U256::ZERO)]);
}

#[test]
fn missing_code_is_taken_for_what_the_account_was_last_seen_with() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    let code = Bytes::from_static(&[0x5f, 0x5f, 0xfd]);
    cache.pinned(B256::repeat_byte(1)).store([(Read::Code(ALICE), Value::Code(code.clone()))]);
    let state = state_on(&cache, 2, &source).with_allowance(ALLOWANCE);
    assert_eq!(state.code_hash(ALICE), Ok(keccak256(code)));
}

#[test]
fn a_missing_word_is_taken_for_what_it_was_last_seen_as_on_any_block() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    let slot = Read::Storage(ALICE, U256::from(1));
    let seen = [(slot, Value::Word(U256::from(9))), (Read::Balance(ALICE), Value::Word(U256::from(5)))];
    cache.pinned(B256::repeat_byte(1)).store(seen);
    let mut state = state_on(&cache, 2, &source).with_allowance(ALLOWANCE);
    assert_eq!(state.storage(ALICE, U256::from(1)), Ok(U256::from(9)));
    assert_eq!(state.basic(ALICE).unwrap().unwrap().balance, U256::from(5));
    let assumed = state.into_assumed();
    let nine = Cached::Word(U256::from(9));
    assert_eq!(assumed.get(&slot).map(|assumption| &assumption.value), Some(&nine), "it is to be read all the same");
}

#[test]
fn a_run_looks_ahead_from_its_first_missing_value_on_while_it_has_the_time() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    let until = |until: Duration| state_on(&cache, 1, &source).looking_ahead(LookAhead { allowance: ALLOWANCE, until });
    let mut late = until(Duration::ZERO);
    assert!(late.storage(ALICE, U256::from(1)).is_ok() && late.allowance().is_none());
    assert_eq!(source.batches.load(Ordering::SeqCst), 1, "too late: the value is waited for");
    let mut early = until(Duration::MAX);
    assert!(early.storage(ALICE, U256::from(1)).is_ok() && early.allowance().is_none(), "nothing is missing yet");
    assert!(early.storage(ALICE, U256::from(2)).is_ok() && early.allowance().is_some());
    assert_eq!(source.batches.load(Ordering::SeqCst), 1);
    assert_eq!(early.into_assumed().len(), 1);
}

#[test]
fn a_run_that_waits_for_nothing_notes_all_that_its_reads_lack() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    let mut state = state_on(&cache, 1, &source).recording_missing();
    let slot = U256::from(1);
    state.change(ALICE).storage.insert(slot, U256::from(5));
    assert_eq!((state.storage(ALICE, slot), state.has_missing()), (Ok(U256::from(5)), false));
    assert_eq!(state.initial_storage(ALICE, slot), Err(ReadError::Missing), "what lies below the change");
    assert_eq!(state.basic(BOB).map(drop), Err(ReadError::Missing));
    state.record_missing([Read::Nonce(BOB), Read::Storage(ALICE, slot), Read::Storage(BOB, slot)]);
    assert_eq!(source.batches.load(Ordering::SeqCst), 0);
    let noted: Vec<Read> = state.into_assumed().into_keys().collect();
    let [balance, nonce, code] = Read::account(BOB);
    assert_eq!(noted, [balance, nonce, code, Read::Storage(BOB, slot), Read::Storage(ALICE, slot)]);
}

#[test]
fn a_run_that_leans_takes_words_for_all_ones_and_zero_in_turn_and_asks_for_few() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    let mut state = state_on(&cache, 1, &source).recording_missing();
    let allowance = Allowance { gas: 1_000, frames: 10, bytes: 1_000, precompile_gas: 0 };
    state.set_allowance(Some(allowance));
    assert_eq!((state.storage(ALICE, U256::from(1)), state.guesses_storage()), (Ok(U256::ZERO), true));
    state.set_allowance(Some(allowance));
    state.set_alternative(AlternativeGuess { pattern: 0b101, most: 2 });
    let mut words = |slots: [u64; 4]| slots.map(|slot| state.storage(ALICE, U256::from(slot)).unwrap());
    let expected = [U256::MAX, U256::ZERO, U256::MAX, U256::ZERO];
    assert_eq!(words([1, 2, 3, 2]), expected, "the first one was asked for before");
    assert_eq!(state.storage(ALICE, U256::from(4)), Err(ReadError::TooMuch));
    let noted: Vec<Read> = state.into_assumed().into_keys().collect();
    assert_eq!(noted, [1, 2, 3].map(|slot| Read::Storage(ALICE, U256::from(slot))));
}

#[test]
fn a_run_looks_at_the_code_of_so_many_contracts_and_leaves_the_rest_to_the_next() {
    let (cache, source) = (StateCache::new(1 << 20), Arc::new(Counting::default()));
    let first_runs = || {
        let state = state_on(&cache, 1, &source);
        let contracts = (0..1_500_u64).map(|number| Address::left_padding_from(&number.to_be_bytes()));
        contracts.filter(|contract| state.is_first_run(*contract, KECCAK_EMPTY)).count()
    };
    assert_eq!([first_runs(), first_runs(), first_runs()], [1_000, 500, 0]);
}
