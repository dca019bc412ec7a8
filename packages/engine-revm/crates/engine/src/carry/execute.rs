//! Executes a sealed block on its parent's state, and compares every execution field of its header except the state root.

use super::{
    block::SealedBlock,
    difference::{Difference, Differs, unless_same},
};
use crate::{
    evm::Evm,
    execution::{self, BlockExecution, BlockExecutionResult, ExecutionFailure, PooledTransaction, TransactionError},
    plan::OpFork,
    rejection::Fault,
    seal::{encode_sealed, withdrawals_root},
    simulate::{
        BaseState, credit_withdrawals, requests_hash,
        system_calls::{CONSOLIDATION_REQUESTS, QUEUE_SLOTS, WITHDRAWAL_REQUESTS},
    },
    state::{AccountChange, Allowance, Read, ReadError, SimulationState, Writes},
    time_slices::Stop,
};
use alloy_primitives::{Bytes, U256, keccak256, map::AddressMap};
use alloy_trie::root::ordered_trie_root_encoded;
use revm::primitives::hardfork::SpecId;
use std::sync::Arc;

/// What the block writes over its parent's state. The state's layers are the part of the block that is already executed. The result is
/// compared with every execution field of the header except the state root. A run of the block notes all missing values, which are then
/// read together. The block is run again until nothing is missing; only that run counts.
pub fn execute(block: &SealedBlock, base: &BaseState) -> Result<Writes, Differs> {
    let encoded = encoded(block)?;
    check_withdrawals(block)?;
    let earlier = block.earlier_receipts.len().min(encoded.len());
    let execution = BlockExecution {
        chain: block.chain,
        block: block.block.clone(),
        opening: earlier == 0,
        is_split: false,
        transactions: encoded[earlier..].to_vec(),
        earlier_receipts: block.earlier_receipts.clone(),
        earlier_gas_used: block.earlier_gas_used,
        earlier_blob_gas_used: block.earlier_blob_gas_used,
    };
    let transactions = execution::decoded(&execution).map_err(refused)?;
    let required = required_reads(block, &execution, &transactions);
    let newest = execution::run_until_read(base, |state| {
        state.record_missing(required.iter().copied());
        attempt(block, &execution, &transactions, state, &base.stop)
    })??;
    let mut changes: AddressMap<AccountChange> = AddressMap::default();
    for accounts in base.layers.iter().map(|layer| &layer.accounts).chain([&newest]) {
        for (address, change) in accounts {
            changes.entry(*address).or_default().overlay(change);
        }
    }
    Ok(changes.into())
}

/// For a run that finds what the requests' system calls read.
const FOR_REQUESTS: Allowance = Allowance { gas: 30_000_000, frames: 100, bytes: 1 << 16, precompile_gas: 1_000_000 };

/// What executing the block certainly reads.
fn required_reads(block: &SealedBlock, execution: &BlockExecution, transactions: &[PooledTransaction]) -> Vec<Read> {
    let mut reads = execution::required_reads(execution, transactions);
    reads.extend(block.withdrawals.iter().flat_map(|withdrawal| Read::account(withdrawal.address)));
    if asks_for_requests(block) {
        for queue in [WITHDRAWAL_REQUESTS, CONSOLIDATION_REQUESTS] {
            reads.extend(Read::account(queue));
            reads.extend((0..QUEUE_SLOTS).map(|slot| Read::Storage(queue, U256::from(slot))));
        }
    }
    reads
}

fn asks_for_requests(block: &SealedBlock) -> bool {
    let rules = &block.block.rules;
    rules.has(SpecId::PRAGUE) && rules.op.is_none()
}

fn refused(failure: ExecutionFailure) -> Differs {
    let detail = failure.to_string();
    match failure {
        ExecutionFailure::Read(error) => Differs::Read(error),
        ExecutionFailure::Rejected { error: TransactionError::NativePrecompile(_), .. } => {
            Differs::Found { difference: Difference::NativePrecompile, detail }
        }
        ExecutionFailure::Rejected { .. } => Differs::Found { difference: Difference::Transaction, detail },
    }
}

/// One run of the block. Returns the state too, for the values that it assumed.
fn attempt(
    block: &SealedBlock,
    execution: &BlockExecution,
    transactions: &[PooledTransaction],
    state: SimulationState,
    stop: &Arc<Stop>,
) -> (Result<AddressMap<AccountChange>, Differs>, SimulationState) {
    let (executed, state) = execution::run(execution, transactions.to_vec(), state, stop);
    let mut evm = execution.evm(state, stop.clone());
    let closed = executed.map_err(refused).and_then(|mut executed| {
        evm.inner.ctx.chain.access_list = executed.access_list.take();
        if !evm.state().has_missing() {
            compare(block, &executed)?;
        }
        close(block, &executed, &mut evm)
    });
    let (mut state, _) = evm.finish();
    (closed.map(|()| state.take_changes()), state)
}

fn compare(block: &SealedBlock, executed: &BlockExecutionResult) -> Result<(), Differs> {
    unless_same(Difference::GasUsed, executed.gas_used, block.gas_used)?;
    unless_same(Difference::ReceiptsRoot, executed.receipts_root, block.receipts_root)?;
    unless_same(Difference::LogsBloom, executed.logs_bloom, block.logs_bloom)?;
    match block.blob_gas_used {
        Some(blob_gas_used) => unless_same(Difference::BlobGasUsed, executed.blob_gas_used, blob_gas_used),
        None => Ok(()),
    }
}

/// The transactions' bytes, verified by the hashes that the node gave and by the header's root.
pub fn encoded(block: &SealedBlock) -> Result<Vec<Bytes>, Differs> {
    let mut encoded = Vec::with_capacity(block.transactions.len());
    for (index, transaction) in block.transactions.iter().enumerate() {
        let bytes = encode_sealed(transaction).filter(|bytes| keccak256(bytes) == transaction.hash);
        let wrong = || Differs::Found {
            difference: Difference::TransactionHash,
            detail: format!("transaction {index} of type {:#x} is not {}", transaction.tx_type, transaction.hash),
        };
        encoded.push(Bytes::from(bytes.ok_or_else(wrong)?));
    }
    let root = ordered_trie_root_encoded(&encoded);
    unless_same(Difference::TransactionsRoot, root, block.transactions_root)?;
    Ok(encoded)
}

/// From Isthmus on, the header has the message passer's storage root instead.
fn check_withdrawals(block: &SealedBlock) -> Result<(), Differs> {
    let rules = &block.block.rules;
    let root = withdrawals_root(&block.withdrawals);
    let claimed = match block.withdrawals_root {
        Some(claimed) if rules.has(SpecId::SHANGHAI) && !rules.has_op(OpFork::Isthmus) => claimed,
        _ => alloy_trie::EMPTY_ROOT_HASH,
    };
    unless_same(Difference::WithdrawalsRoot, root, claimed)
}

/// Runs what follows the transactions: withdrawals, and the requests' system calls.
fn close(block: &SealedBlock, executed: &BlockExecutionResult, evm: &mut Evm) -> Result<(), Differs> {
    evm.set_access_index(block.transactions.len() as u64 + 1);
    credit_withdrawals(evm, &block.withdrawals)?;
    if asks_for_requests(block) {
        let logs = || executed.receipts.iter().flat_map(|receipt| &receipt.logs);
        let mut hash = requests_hash(evm, block.chain.deposit_contract, logs());
        if matches!(hash, Err(Fault::Read(ReadError::Missing))) {
            evm.state().set_allowance(Some(FOR_REQUESTS));
            hash = requests_hash(evm, block.chain.deposit_contract, logs());
            evm.state().set_allowance(None);
        }
        let hash = hash.map_err(|fault| match fault {
            Fault::Read(error) => Differs::Read(error),
            refused => Differs::Found { difference: Difference::RequestsHash, detail: refused.to_string() },
        })?;
        unless_same(Difference::RequestsHash, hash, block.requests_hash.unwrap_or_default())?;
    }
    if let Some(list) = evm.inner.ctx.chain.access_list.take() {
        let claimed = block.block_access_list_hash.unwrap_or_default();
        unless_same(Difference::BlockAccessListHash, list.hash(), claimed)?;
    }
    Ok(())
}
