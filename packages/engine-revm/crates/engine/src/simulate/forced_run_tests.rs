//! What forced runs find: `evm/forced_run.rs`.

use super::{
    BaseState, Plan, simulate_with_reads,
    tests::{ALICE, PROGRAM, call, only_call, override_of, plan},
};
use crate::{
    outcome::{Outcome, Status},
    plan::PlannedCall,
    state::{Read, ReadError, StateCache, StateSource, Value},
};
use alloy_primitives::{Address, B256, Bytes, U256, bytes, hex};
use std::sync::{Arc, Mutex};

/// Accounts with code; every slot is 7, every balance zero. Stores the batches of reads.
struct Contracts {
    codes: Vec<(Address, Bytes)>,
    batches: Mutex<Vec<Vec<Read>>>,
}

impl StateSource for Contracts {
    fn read(&self, reads: &[Read], _certain: usize) -> Result<Vec<Value>, ReadError> {
        self.batches.lock().unwrap().push(reads.to_vec());
        let code = |of: &Address| self.codes.iter().find(|(at, _)| at == of).map(|(_, code)| code.clone());
        let value = |read: &Read| match read {
            Read::Code(address) => Value::Code(code(address).unwrap_or_default()),
            Read::Storage(..) => Value::Word(U256::from(7)),
            _ => Value::Word(U256::ZERO),
        };
        Ok(reads.iter().map(value).collect())
    }
}

/// The batches that a call to `PROGRAM` with this code takes, and its outcome.
fn run(code: Bytes, codes: Vec<(Address, Bytes)>) -> (Vec<Vec<Read>>, Outcome) {
    let overrides = vec![override_of(ALICE, 0, Bytes::new()), override_of(PROGRAM, 0, code)];
    run_plan(plan(overrides, vec![call(Some(PROGRAM), 0, Bytes::new())]), codes)
}

fn run_plan(plan: Plan, codes: Vec<(Address, Bytes)>) -> (Vec<Vec<Read>>, Outcome) {
    let source = Arc::new(Contracts { codes, batches: Mutex::default() });
    let base = BaseState {
        cache: Arc::new(StateCache::new(1 << 20)),
        key: B256::repeat_byte(1),
        layers: Vec::new(),
        source: source.clone(),
        stop: Arc::default(),
        memory: Arc::default(),
        records: Arc::default(),
    };
    let outcome = simulate_with_reads(&plan, &base).unwrap();
    let batches = source.batches.lock().unwrap().clone();
    (batches, outcome)
}

fn slots(batch: &[Read], of: Address) -> Vec<U256> {
    let slot = |read: &Read| match read {
        Read::Storage(at, slot) if *at == of => Some(*slot),
        _ => None,
    };
    batch.iter().filter_map(slot).collect()
}

/// Code that calls each contract with a selector, and reverts unless it returns a non-zero word.
fn asking(contracts: &[Address]) -> Bytes {
    let mut code = Vec::new();
    for contract in contracts {
        code.extend(bytes!("60205f60045f5f73"));
        code.extend(contract);
        code.extend(bytes!("5af1505f51"));
        let [high, low] = (code.len() as u16 + 7).to_be_bytes();
        code.extend([0x61, high, low, 0x57]);
        code.extend(bytes!("5f5ffd5b"));
    }
    code.into()
}

#[test]
fn an_unknown_contract_does_not_hide_the_next() {
    let (one, other) = (Address::repeat_byte(0xa1), Address::repeat_byte(0xb2));
    let returns_seven = bytes!("60075f5260205ff3");
    let (batches, outcome) = run(asking(&[one, other]), vec![(one, returns_seven.clone()), (other, returns_seven)]);
    assert_eq!(only_call(&outcome).status, Status::Success);
    let [batch] = &batches[..] else { panic!("{batches:?}") };
    for contract in [one, other] {
        assert!(batch.contains(&Read::Code(contract)));
        assert!(slots(batch, contract).contains(&U256::ZERO), "a proxy's code");
    }
}

#[test]
fn a_guard_on_an_unknown_value_does_not_hide_what_comes_after() {
    // require(slot 0 != 0); returns slot 1.
    let (batches, outcome) = run(bytes!("5f54 6007 57 5ffe 5b 600154 5f52 60205ff3"), Vec::new());
    assert_eq!(batches.iter().map(|batch| slots(batch, PROGRAM)).collect::<Vec<_>>(), [[U256::ZERO, U256::ONE]]);
    assert_eq!(U256::from_be_slice(&only_call(&outcome).return_data), U256::from(7));
}

#[test]
fn an_unknown_sender_without_value_bends_nothing() {
    // require(false); returns slot 1.
    let program = override_of(PROGRAM, 0, bytes!("5f 6006 57 5ffe 5b 600154 5f52 60205ff3"));
    let unknown = PlannedCall { from: Address::repeat_byte(0xc3), ..call(Some(PROGRAM), 0, Bytes::new()) };
    let (batches, outcome) = run_plan(plan(vec![program], vec![unknown]), Vec::new());
    let [batch] = &batches[..] else { panic!("{batches:?}") };
    assert_eq!(slots(batch, PROGRAM), [] as [U256; 0], "what comes after is not asked for");
    assert!(matches!(only_call(&outcome).status, Status::Halt { .. }));
}

#[test]
fn what_a_value_turns_out_to_be_decides() {
    // require(slot 0 == 0), which is true for the assumed value.
    let (batches, outcome) = run(bytes!("5f54 15 6008 57 5ffe 5b 600154 5f52 60205ff3"), Vec::new());
    assert_eq!(batches.len(), 1);
    assert!(matches!(only_call(&outcome).status, Status::Halt { .. }));
    // Reverts unless an account without code returns something.
    let (_, outcome) = run(asking(&[Address::repeat_byte(0xa1)]), Vec::new());
    assert_eq!(only_call(&outcome).status, Status::Revert);
}

#[test]
fn a_loop_over_unknown_slots_ends() {
    // Searches for the first non-zero slot.
    let (batches, outcome) = run(bytes!("5f 5b 80 54 600d 57 6001 01 6001 56 5b 5f52 60205ff3"), Vec::new());
    let [batch] = &batches[..] else { panic!("{batches:?}") };
    assert_eq!(slots(batch, PROGRAM).len(), 10);
    assert_eq!(hex::encode(&only_call(&outcome).return_data), "00".repeat(32));
}
