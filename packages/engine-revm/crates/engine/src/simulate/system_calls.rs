//! The protocol's calls before and after a block's transactions.

use crate::{
    evm::Evm,
    outcome::Halt,
    rejection::{Fault, Rejection, RequestQueue},
    state::ReadError,
};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY as KECCAK_EMPTY, U256, address, b256};
use revm::{
    Database,
    context::{JournalTr, TxEnv},
    context_interface::result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction},
    handler::{EthFrame, Handler, MainnetHandler, SystemCallTx},
    interpreter::interpreter::EthInterpreter,
};

/// EIP-4788
pub const BEACON_ROOTS: Address = address!("000F3df6D732807Ef1319fB7B8bB8522d0Beac02");
/// EIP-2935
pub const HISTORY: Address = address!("0000F90827F1C53a10cb7A02335B175320002935");
/// EIP-7002
pub const WITHDRAWAL_REQUESTS: Address = address!("00000961Ef480Eb55e80D19ad83579A64c007002");
/// EIP-8282
pub const BUILDER_DEPOSITS: Address = address!("0000bFF46984e3725691FA540a8C7589300D8282");
pub const BUILDER_EXITS: Address = address!("000064D678505AD48F8CCB093BC65613800E8282");
/// EIP-7251
pub const CONSOLIDATION_REQUESTS: Address = address!("0000BBdDc7CE488642fb579F8B00f3a590007251");

type Error = EVMError<ReadError, InvalidTransaction>;

// Nearly every chain has the EIPs' own code at these addresses. Its effect is known, so the slots are written without running it: running
// all four contracts takes as long as sealing a small block. Any other code is run.
const BEACON_ROOTS_CODE: B256 = b256!("f57acd40259872606d76197ef052f3d35588dadf919ee1f0e3cb9b62d3f4b02c");
const HISTORY_CODE: B256 = b256!("6e49e66782037c0555897870e29fa5e552daf4719552131a0abce779daec0a5d");
const WITHDRAWAL_REQUESTS_CODE: B256 = b256!("0345a365d2f4c5975b9f1599abe0a2ee76b7a3a731bc68781bd04c84e4858f50");
const CONSOLIDATION_REQUESTS_CODE: B256 = b256!("78c6cb5202685228bbcbfb992b1c4e116c7ec5ef11e25b8e92716cfc628ddd60");

/// Slots of both ring buffers.
const RING_LENGTH: u64 = 8_191;
/// Excess, count, head and tail of a request queue.
pub const QUEUE_SLOTS: u64 = 4;

/// EIP-4788: stores the timestamp and the root. As specified, a failing call is ignored.
pub fn store_beacon_root(evm: &mut Evm, timestamp: u64, root: B256) -> Result<(), ReadError> {
    let slot = timestamp % RING_LENGTH;
    let words = [(slot, U256::from(timestamp)), (slot + RING_LENGTH, root.into())];
    store(evm, BEACON_ROOTS, BEACON_ROOTS_CODE, root, &words)
}

/// EIP-2935: stores the hash of the parent of block `number`. As specified, a failing call is ignored.
pub fn store_parent_hash(evm: &mut Evm, number: u64, parent: B256) -> Result<(), ReadError> {
    store(evm, HISTORY, HISTORY_CODE, parent, &[(number.wrapping_sub(1) % RING_LENGTH, parent.into())])
}

/// Calls a contract with `word`. If it has the `known` code, `words` (slots and values) are written instead.
fn store(evm: &mut Evm, contract: Address, known: B256, word: B256, words: &[(u64, U256)]) -> Result<(), ReadError> {
    let code = evm.state().code_hash(contract)?;
    if has_to_run(evm, contract) || ![known, KECCAK_EMPTY].contains(&code) {
        call(evm, contract, word.into())?;
    } else if code == known {
        let change = evm.state().change(contract);
        change.storage.extend(words.iter().map(|(slot, value)| (U256::from(*slot), *value)));
    }
    Ok(())
}

/// The requests in a queue (EIP-7685).
pub fn dequeue(evm: &mut Evm, contract: Address, queue: RequestQueue) -> Result<Bytes, Fault> {
    // geth refuses a block without the contract. Development chains such as anvil lack it, and simulations must work there.
    let code = evm.state().code_hash(contract)?;
    let is_known = is_known_queue(contract, code) && !has_to_run(evm, contract);
    if code == KECCAK_EMPTY || (is_known && is_queue_at_rest(evm, contract)?) {
        return Ok(Bytes::new());
    }
    match call(evm, contract, Bytes::new())? {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        ExecutionResult::Revert { .. } => Err(Rejection::RequestQueue { queue, halt: None }.into()),
        ExecutionResult::Halt { .. } => {
            let halt = evm.inner.ctx.chain.halt.take().unwrap_or(Halt::OutOfGas);
            Err(Rejection::RequestQueue { queue, halt: Some(halt) }.into())
        }
    }
}

/// Whether the code must run: for a block with an access list, which includes the call's accesses, and for a precompile moved here.
fn has_to_run(evm: &Evm, contract: Address) -> bool {
    evm.inner.ctx.chain.access_list.is_some() || evm.inner.precompiles.get(&contract).is_some()
}

fn is_known_queue(contract: Address, code: B256) -> bool {
    (contract == WITHDRAWAL_REQUESTS && code == WITHDRAWAL_REQUESTS_CODE)
        || (contract == CONSOLIDATION_REQUESTS && code == CONSOLIDATION_REQUESTS_CODE)
}

/// Whether the queue is empty, with no count and no excess. Dequeuing then returns nothing and changes nothing.
fn is_queue_at_rest(evm: &mut Evm, contract: Address) -> Result<bool, ReadError> {
    for slot in 0..QUEUE_SLOTS {
        if !evm.state().storage(contract, U256::from(slot))?.is_zero() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn call(evm: &mut Evm, contract: Address, input: Bytes) -> Result<ExecutionResult<HaltReason>, ReadError> {
    evm.inner.ctx.tx = TxEnv::new_system_tx_with_caller(revm::handler::SYSTEM_ADDRESS, contract, input);
    evm.inner.ctx.chain.gas_price = Default::default();
    let result = MainnetHandler::<Evm, Error, EthFrame<EthInterpreter>>::default().run_system_call(evm);
    let changes = evm.inner.ctx.journaled_state.finalize();
    match result {
        Ok(result) => {
            evm.commit(changes);
            Ok(result)
        }
        Err(EVMError::Database(error)) => Err(error),
        Err(_) => Err(ReadError::Failed),
    }
}
