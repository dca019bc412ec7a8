use super::*;
use crate::{
    outcome::{ExecutedCall, Status, TouchedList},
    plan::{
        BaseFeeParameters, BlobParameters, BlockRules, ChainRules, ParentHeader, PlannedBlock, PlannedCall, Recording,
        StateOverride,
    },
    rejection::{Rejected, Rejection, TransactionFault},
    state::{Allowance, Read, ReadError, StateCache, StateSource, Value},
};
use alloy_primitives::{Address, B256, Bytes, U256, address, bytes};
use revm::primitives::hardfork::SpecId;
use std::{sync::Mutex, thread, time::Duration};

pub(super) const ALICE: Address = address!("00000000000000000000000000000000000a11ce");
const BOB: Address = address!("0000000000000000000000000000000000000b0b");
pub(super) const PROGRAM: Address = address!("00000000000000000000000000000000000c0de0");
const ETHER: u64 = 1_000_000_000_000_000_000;

/// All accounts are empty. Stores the reads.
#[derive(Default)]
struct Nothing(Mutex<Vec<Read>>);

impl StateSource for Nothing {
    fn read(&self, reads: &[Read], _certain: usize) -> Result<Vec<Value>, ReadError> {
        self.0.lock().unwrap().extend_from_slice(reads);
        let value = |read: &Read| match read {
            Read::Code(_) => Value::Code(Bytes::new()),
            _ => Value::Word(U256::ZERO),
        };
        Ok(reads.iter().map(value).collect())
    }
}

fn rules() -> BlockRules {
    BlockRules { spec: SpecId::SHANGHAI, op: None, blob: None }
}

pub(super) fn override_of(address: Address, balance: u64, code: Bytes) -> StateOverride {
    StateOverride {
        address,
        balance: Some(U256::from(balance)),
        nonce: Some(0),
        code: Some(code),
        state: None,
        state_diff: None,
        move_precompile_to: None,
    }
}

pub(super) fn call(to: Option<Address>, value: u64, input: Bytes) -> PlannedCall {
    PlannedCall {
        tx_type: 2,
        from: ALICE,
        to,
        input,
        value: U256::from(value),
        nonce: None,
        gas: Some(1_000_000),
        gas_price: None,
        shown_gas_price: None,
        max_fee: U256::ZERO,
        max_priority_fee: U256::ZERO,
        max_blob_fee: U256::ZERO,
        access_list: Vec::new(),
        blob_hashes: None,
        authorizations: None,
        sealed: None,
    }
}

pub(super) fn plan(overrides: Vec<StateOverride>, calls: Vec<PlannedCall>) -> Plan {
    Plan {
        chain: ChainRules { chain_id: 1, deposit_contract: None },
        base: ParentHeader {
            hash: B256::repeat_byte(1),
            number: 10,
            timestamp: 100,
            gas_limit: 30_000_000,
            gas_used: 0,
            base_fee: U256::from(8),
            blob_gas_used: 0,
            excess_blob_gas: 0,
            withdrawals_root: None,
            slot_number: None,
            rules: rules(),
        },
        blocks: vec![PlannedBlock {
            number: 11,
            timestamp: 112,
            gas_limit: 30_000_000,
            fee_recipient: Address::ZERO,
            prev_randao: B256::ZERO,
            base_fee: Some(U256::ZERO),
            base_fee_parameters: BaseFeeParameters { elasticity: 2, denominator: 8, minimum: U256::ZERO },
            blob_base_fee: None,
            parent_beacon_block_root: None,
            withdrawals: Vec::new(),
            extra_data: Bytes::new(),
            rules: rules(),
            is_executed: false,
            overrides,
            calls,
        }],
        validation: false,
        list_touched: true,
        is_trial: false,
        trace_transfers: true,
        gas_budget: 50_000_000,
        da_footprint_scalar: None,
        full_transactions: false,
        answer_bytes: 64 << 20,
        recording: Recording::default(),
        probes: Vec::new(),
    }
}

fn run_on(
    source: &Arc<Nothing>,
    plan: &Plan,
    stop: Arc<Stop>,
    allowance: Option<Allowance>,
) -> Result<Outcome, Failure> {
    let cache = StateCache::new(1 << 20);
    let state = SimulationState::new(&cache, plan.base.hash, Vec::new(), source.clone(), stop.clone());
    let state = match allowance {
        Some(allowance) => state.with_allowance(allowance),
        None => state,
    };
    simulate(plan, state, stop, MemoryReservation::default()).outcome
}

fn run(plan: &Plan) -> Result<Outcome, Failure> {
    run_on(&Arc::default(), plan, Arc::default(), None)
}

/// Every slot is 7, every balance 100 wei. Stores the batches of reads.
#[derive(Default)]
struct Sevens(Mutex<Vec<usize>>);

impl StateSource for Sevens {
    fn read(&self, reads: &[Read], _certain: usize) -> Result<Vec<Value>, ReadError> {
        self.0.lock().unwrap().push(reads.len());
        let value = |read: &Read| match read {
            Read::Code(_) => Value::Code(Bytes::new()),
            Read::Storage(..) => Value::Word(U256::from(7)),
            _ => Value::Word(U256::from(100)),
        };
        Ok(reads.iter().map(value).collect())
    }
}

fn base_on(source: Arc<Sevens>) -> BaseState {
    let cache = Arc::new(StateCache::new(1 << 20));
    BaseState {
        cache,
        key: B256::repeat_byte(1),
        layers: Vec::new(),
        source,
        stop: Arc::default(),
        memory: Arc::default(),
        records: Arc::default(),
    }
}

#[test]
fn what_a_whole_request_lacks_is_read_together() {
    let calls = (1..=50).map(|to| call(Some(Address::with_last_byte(to).create(0)), 1, Bytes::new())).collect();
    let plan = plan(Vec::new(), calls);
    let source = Arc::new(Sevens::default());
    let ahead = simulate_with_reads(&plan, &base_on(source.clone())).unwrap();
    assert_eq!(*source.0.lock().unwrap(), [3 * 51], "the sender and fifty recipients");
    let waiting =
        simulate(&plan, base_on(Arc::default()).state(), Arc::default(), MemoryReservation::default()).outcome.unwrap();
    assert_eq!(ahead.blocks[0].hash, waiting.blocks[0].hash);
}

#[test]
fn a_chain_of_reads_takes_as_many_batches_as_it_is_long() {
    // Reads four times the slot that the previous word names, beginning at 0, and returns the word: 0, 7, 7.
    let code = bytes!("5f54545454 5f52 60205ff3");
    let plan = plan(
        vec![override_of(ALICE, 0, Bytes::new()), override_of(PROGRAM, 0, code)],
        vec![call(Some(PROGRAM), 0, Bytes::new())],
    );
    let source = Arc::new(Sevens::default());
    let outcome = simulate_with_reads(&plan, &base_on(source.clone())).unwrap();
    assert_eq!(*source.0.lock().unwrap(), [1, 1]);
    assert_eq!(U256::from_be_slice(&only_call(&outcome).return_data), U256::from(7));
}

#[test]
fn how_far_is_looked_ahead_counts_from_the_first_missing_value() {
    // Reads the balances of consecutive accounts.
    let code = bytes!("5f5b8031506001016001560000");
    let overrides = vec![override_of(ALICE, 0, Bytes::new()), override_of(PROGRAM, 0, code)];
    let mut plan = plan(overrides, vec![call(Some(PROGRAM), 0, Bytes::new())]);
    (plan.gas_budget, plan.blocks[0].calls[0].gas) = (2_000_000, Some(2_000_000));
    let source = Arc::new(Sevens::default());
    simulate_with_reads(&plan, &base_on(source.clone())).unwrap();
    let batches = source.0.lock().unwrap();
    assert!(batches.len() <= 6, "a quarter of the gas each time: {batches:?}");
    assert!(batches.iter().sum::<usize>() > 3 * 700, "all that the call has gas for");
}

#[test]
fn a_long_record_waits_until_others_are_done() {
    let mut plan = plan(Vec::new(), vec![call(Some(ALICE), 0, Bytes::new())]);
    plan.recording.state = true;
    let base = base_on(Arc::default());
    let other = base.records.acquire(usize::MAX, &Stop::default());
    base.stop.raise();
    assert!(matches!(simulate_with_reads(&plan, &base), Err(Failure::Cancelled)), "stopped while it waits");
    let base = BaseState { stop: Arc::default(), ..base };
    plan.answer_bytes = 1 << 18;
    assert!(simulate_with_reads(&plan, &base).is_ok(), "a short one waits for nobody");
    drop(other);
    plan.answer_bytes = 64 << 20;
    assert!(simulate_with_reads(&plan, &base).is_ok());
}

#[test]
fn an_endless_look_ahead_ends() {
    // An endless loop if slot 0 is zero.
    let code = bytes!("5b5f5415 5f57 00");
    let plan = plan(
        vec![override_of(ALICE, 0, Bytes::new()), override_of(PROGRAM, 0, code)],
        vec![PlannedCall { gas: None, ..call(Some(PROGRAM), 0, Bytes::new()) }],
    );
    let outcome = simulate_with_reads(&plan, &base_on(Arc::default())).unwrap();
    assert_eq!(only_call(&outcome).status, Status::Success);
}

pub(super) fn only_call(outcome: &Outcome) -> &ExecutedCall {
    &outcome.blocks[0].calls[0]
}

#[test]
fn a_transfer_moves_value_and_leaves_a_log_that_no_receipt_has() {
    let outcome =
        run(&plan(vec![override_of(ALICE, 5, Bytes::new())], vec![call(Some(BOB), 5, Bytes::new())])).unwrap();
    let done = only_call(&outcome);
    assert_eq!((done.status.clone(), done.gas_used), (Status::Success, 21_000));
    assert!(done.logs[0].synthetic && done.logs[0].topics[2] == BOB.into_word());
    assert!(outcome.blocks[0].header.logs_bloom.is_zero());
    assert_eq!((outcome.touched_accounts, outcome.touched_slots), (2, 0));
    let mut accounts = vec![ALICE, BOB];
    accounts.sort_unstable();
    assert_eq!(outcome.touched_list, Some(TouchedList { accounts, slots: Vec::new() }));
}

#[test]
fn a_reverted_frame_takes_its_transfers_along() {
    // Sends 1 wei to 0x0b0b.., then reverts.
    let send = bytes!("5f5f5f5f6001610b0b5af1");
    let reverting: Bytes = [send.as_ref(), &[0x5f, 0x5f, 0xfd]].concat().into();
    // Calls the reverting program, then makes a transfer itself.
    let caller = address!("00000000000000000000000000000000000ca11e");
    let code: Bytes = [&bytes!("5f5f5f5f5f620c0de05af1")[..], &send].concat().into();
    let overrides =
        vec![override_of(ALICE, 0, Bytes::new()), override_of(PROGRAM, 10, reverting), override_of(caller, 10, code)];
    let outcome = run(&plan(overrides, vec![call(Some(caller), 0, Bytes::new())])).unwrap();
    let logs = &only_call(&outcome).logs;
    assert_eq!(logs.len(), 1);
    assert_eq!(logs[0].topics[1], caller.into_word());
    assert_eq!(logs[0].index, 1, "the reverted transfer has used an index");
}

#[test]
fn what_overrides_replace_is_not_read() {
    let many = (0..1_000u64)
        .map(|at| override_of(Address::left_padding_from(&(0x5000_0000 + at).to_be_bytes()), at, Bytes::new()));
    let overrides = many.chain([override_of(ALICE, 5, Bytes::new()), override_of(BOB, 0, Bytes::new())]).collect();
    let source = Arc::new(Nothing::default());
    run_on(&source, &plan(overrides, vec![call(Some(BOB), 5, Bytes::new())]), Arc::default(), None).unwrap();
    assert_eq!(*source.0.lock().unwrap(), []);
}

#[test]
fn a_fault_names_its_place() {
    let failure =
        run(&plan(vec![override_of(ALICE, 4, Bytes::new())], vec![call(Some(BOB), 5, Bytes::new())])).unwrap_err();
    let fault = TransactionFault::InsufficientFunds { have: U256::from(4), want: U256::from(5) };
    let rejection = Rejection::Transaction { from: ALICE, gas: 1_000_000, fault };
    let rejection = Rejected { rejection, block: 0, call: Some(0) };
    assert_eq!(failure, Failure::Rejected(Box::new(rejection)));
}

#[test]
fn an_endless_loop_is_stopped_in_time() {
    let mut endless = call(Some(PROGRAM), 0, Bytes::new());
    endless.gas = None;
    let mut plan = plan(vec![override_of(PROGRAM, 0, bytes!("5b5f56"))], vec![endless]);
    (plan.gas_budget, plan.blocks[0].gas_limit) = (u64::MAX, u64::MAX);
    let stop = Arc::new(Stop::default());
    let running = {
        let stop = stop.clone();
        thread::spawn(move || run_on(&Arc::default(), &plan, stop, None).map(drop))
    };
    thread::sleep(Duration::from_millis(50));
    assert!(!running.is_finished());
    stop.raise();
    assert_eq!(running.join().unwrap(), Err(Failure::Cancelled));
}

#[test]
fn the_callers_thread_gives_up_on_what_takes_long_or_has_to_wait() {
    let allowance = Some(Allowance { gas: 100_000, frames: 24, bytes: 4_096, precompile_gas: 20_000 });
    let calling = |code: Bytes, times: usize| {
        let calls = (0..times).map(|_| call(Some(PROGRAM), 0, Bytes::new())).collect();
        let plan = plan(vec![override_of(ALICE, 0, Bytes::new()), override_of(PROGRAM, 0, code)], calls);
        run_on(&Arc::default(), &plan, Arc::default(), allowance).map(drop)
    };
    let giving_up = |code: Bytes| calling(code, 1);
    assert_eq!(giving_up(bytes!("00")), Ok(()));
    assert_eq!(giving_up(bytes!("5b5f56")), Err(Failure::TooMuch), "a loop");
    assert_eq!(giving_up(bytes!("620fffff5f20")), Err(Failure::TooMuch), "a hash of a megabyte");
    assert_eq!(giving_up(bytes!("5f5f5f5f620c0de05af4")), Err(Failure::TooMuch), "recursion");
    assert_eq!(giving_up(bytes!("5f5f6201ffff5f5f60085af1")), Err(Failure::TooMuch), "a costly precompile");
    assert_eq!(giving_up(bytes!("620400005ff3")), Err(Failure::TooMuch), "256 KiB returned");
    assert_eq!(
        giving_up([bytes!("5f19").as_ref(), &bytes!("80800a50").repeat(5_000)].concat().into()),
        Err(Failure::TooMuch),
        "powers"
    );
    // 6,000 gas each, for the product of the point at infinity.
    let products = |times| bytes!("5f5f5f5f600761ffff fa50").repeat(times).into();
    assert_eq!(giving_up(products(3)), Ok(()));
    assert_eq!(giving_up(products(4)), Err(Failure::TooMuch), "many precompiles that are not costly each");
    // 38,000 gas each.
    let hashes: Bytes = [bytes!("610fff5f2050").repeat(48), bytes!("00").to_vec()].concat().into();
    assert_eq!(calling(hashes.clone(), 2), Ok(()));
    assert_eq!(calling(hashes, 3), Err(Failure::TooMuch), "many calls that are not long each");
}

#[test]
fn fees_are_paid_where_they_are_named() {
    let mut priced = call(Some(BOB), 0, Bytes::new());
    (priced.max_fee, priced.max_priority_fee, priced.gas) = (U256::from(10), U256::from(2), Some(21_000));
    // Returns the balance of the fee recipient, then of the sender.
    let code = bytes!("4131 5f52 620a11ce31 602052 60405ff3");
    let mut plan = plan(
        vec![override_of(ALICE, ETHER, Bytes::new()), override_of(PROGRAM, 0, code)],
        vec![priced, call(Some(PROGRAM), 0, Bytes::new())],
    );
    plan.blocks[0].base_fee = Some(U256::from(8));
    plan.blocks[0].fee_recipient = BOB;
    let outcome = run(&plan).unwrap();
    let read = &outcome.blocks[0].calls[1].return_data;
    assert_eq!(U256::from_be_slice(&read[..32]), U256::from(2 * 21_000));
    assert_eq!(U256::from_be_slice(&read[32..]), U256::from(ETHER - 10 * 21_000));
}

/// The EIPs' code, and the same with an extra byte that never runs: the known code is skipped, the other is run.
fn with_code(contract: Address, code: &Bytes, known: bool, state: Option<Vec<(U256, U256)>>) -> StateOverride {
    let mut code = code.to_vec();
    if !known {
        code.push(0);
    }
    StateOverride { state, ..override_of(contract, 0, code.into()) }
}

fn prague(mut plan: Plan) -> Plan {
    let rules = BlockRules {
        spec: SpecId::PRAGUE,
        op: None,
        blob: Some(BlobParameters { target: 6, max: 9, update_fraction: 5_007_716 }),
    };
    plan.base.rules = rules;
    plan.blocks[0].rules = rules;
    plan.blocks[0].parent_beacon_block_root = Some(B256::repeat_byte(7));
    plan
}

#[test]
fn known_system_contracts_keep_what_their_code_would() {
    use super::system_calls::{BEACON_ROOTS, HISTORY};
    let word = |value: u64| Bytes::from(U256::from(value).to_be_bytes::<32>());
    let outputs = |known: bool| {
        let contracts = vec![
            with_code(BEACON_ROOTS, &alloy_eips::eip4788::BEACON_ROOTS_CODE, known, None),
            with_code(HISTORY, &alloy_eips::eip2935::HISTORY_STORAGE_CODE, known, None),
        ];
        let calls = vec![call(Some(BEACON_ROOTS), 0, word(112)), call(Some(HISTORY), 0, word(10))];
        let outcome = run(&prague(plan(contracts, calls))).unwrap();
        outcome.blocks[0].calls.iter().map(|call| call.return_data.clone()).collect::<Vec<_>>()
    };
    let expected = vec![Bytes::from(B256::repeat_byte(7)), Bytes::from(B256::repeat_byte(1))];
    assert_eq!(outputs(true), expected);
    assert_eq!(outputs(false), expected);
}

#[test]
fn known_request_queues_give_what_their_code_would() {
    use super::system_calls::{CONSOLIDATION_REQUESTS, WITHDRAWAL_REQUESTS};
    let queues = [
        (WITHDRAWAL_REQUESTS, &alloy_eips::eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_CODE),
        (CONSOLIDATION_REQUESTS, &alloy_eips::eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_CODE),
    ];
    // At rest; with an excess; with one request whose words are all 9.
    let one_request = (4..8).map(|slot| (U256::from(slot), U256::from(9))).chain([(U256::from(3), U256::from(1))]);
    for slots in [vec![], vec![(U256::ZERO, U256::from(5))], one_request.collect::<Vec<_>>()] {
        // Called without input, the contracts return the fee, which depends on the excess.
        let block = |known: bool| {
            let contracts = queues.map(|(contract, code)| with_code(contract, code, known, Some(slots.clone())));
            let mut plan = prague(plan(contracts.to_vec(), Vec::new()));
            let mut second = plan.blocks[0].clone();
            second.number += 1;
            second.timestamp += 12;
            second.overrides = Vec::new();
            second.calls = queues.map(|(contract, _)| call(Some(contract), 0, Bytes::new())).to_vec();
            plan.blocks.push(second);
            let outcome = run(&plan).unwrap();
            let fees: Vec<Bytes> = outcome.blocks[1].calls.iter().map(|call| call.return_data.clone()).collect();
            (outcome.blocks[0].header.requests_hash, fees)
        };
        assert_eq!(block(true), block(false), "{slots:?}");
    }
}

/// As in geth, which checks only an account's code and nonce.
#[test]
fn a_creation_finds_the_storage_that_an_override_has_set() {
    let mut filled = override_of(ALICE.create(0), 0, Bytes::new());
    (filled.nonce, filled.code) = (None, None);
    filled.state_diff = Some(vec![(U256::ZERO, U256::from(42))]);
    // Deploys the content of slot 0.
    let creation = call(None, 0, bytes!("5f545f5260205ff3"));
    let outcome = run(&plan(vec![filled], vec![creation])).unwrap();
    let created = &outcome.blocks[0].calls[0];
    assert_eq!(created.status, Status::Success);
    assert_eq!(created.return_data.as_ref(), B256::from(U256::from(42)).as_slice());
}
