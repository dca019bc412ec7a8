//! Executes consecutive transactions of a block within its limits of gas and blob gas.

use super::{
    block::BlockExecution,
    block_evm::BlockEvm,
    failure::{ExecutionFailure, TransactionError},
    prefetch::{PER_TRANSACTION, dry_run, required_reads},
    receipt::{ExecutionReceipt, bloom_of},
    run_until_read::run_until_read,
    transaction::{PooledTransaction, decode},
};
use crate::{
    access_list::AccessList,
    op::RollupReceipt,
    outcome::ExecutedLog,
    plan::OpFork,
    simulate::{BaseState, GasPool, blob_gas, current_da_footprint_scalar, da_footprint},
    state::{Allowance, AlternativeGuess, Layer, ReadError, SimulationState},
    time_slices::Stop,
};
use alloy_primitives::{Address, B256, Bloom, Bytes, Log};
use alloy_trie::root::ordered_trie_root_encoded;
use revm::{Database, primitives::hardfork::SpecId};
use std::sync::Arc;

#[derive(Debug)]
pub struct BlockExecutionResult {
    /// The changes, oldest first: one layer or, if split, one for the opening system calls and one per transaction.
    pub layers: Vec<Arc<Layer>>,
    pub transactions: Vec<PooledTransaction>,
    pub receipts: Vec<ExecutionReceipt>,
    /// This and the following fields are of the whole block so far.
    pub gas_used: u64,
    pub blob_gas_used: u64,
    pub receipts_root: B256,
    pub logs_bloom: Bloom,
    /// Of the block so far, from Amsterdam on.
    pub access_list: Option<AccessList>,
}

/// Executes the transactions in order, fully validated.
pub fn execute(execution: &BlockExecution, base: &BaseState) -> Result<BlockExecutionResult, ExecutionFailure> {
    let transactions = decoded(execution)?;
    let required = required_reads(execution, &transactions);
    run_until_read(base, |state| {
        state.record_missing(required.iter().copied());
        let (executed, mut state) = run(execution, transactions.clone(), state, &base.stop);
        let executed = executed.map(|mut executed| {
            if !execution.is_split {
                executed.layers.push(state.split());
            }
            executed
        });
        (executed, state)
    })?
}

/// Decodes the transactions to execute.
pub fn decoded(execution: &BlockExecution) -> Result<Vec<PooledTransaction>, ExecutionFailure> {
    let decode = |(index, raw)| decode(raw).map_err(|error| ExecutionFailure::of(index, error.into()));
    execution.transactions.iter().enumerate().map(decode).collect()
}

/// Like `execute`, but leaves the changes in the state, unless the execution is split, so that the block can continue. If the state notes
/// missing values, a transaction that lacks some is tried out, to note all that it lacks, and then left out.
pub fn run(
    execution: &BlockExecution,
    transactions: Vec<PooledTransaction>,
    mut state: SimulationState,
    stop: &Arc<Stop>,
) -> (Result<BlockExecutionResult, ExecutionFailure>, SimulationState) {
    let mut access_list = execution.new_access_list();
    let mut layers = Vec::new();
    if execution.opening {
        let mut evm = execution.evm(state, stop.clone());
        let opened = execution.open(&mut evm);
        let inspector;
        (state, inspector) = evm.finish();
        access_list = inspector.access_list;
        match opened {
            Ok(()) | Err(ReadError::Missing) => {}
            Err(error) => return (Err(error.into()), state),
        }
        if execution.is_split {
            layers.push(state.split());
        }
    }
    state.set_block_hash(execution.block.number.saturating_sub(1), execution.block.parent_hash);
    state.set_delegations(execution.block.rules.has(SpecId::PRAGUE));
    let mut evm = BlockEvm::new(execution, state, access_list);
    let mut transactions = transactions;
    let mut progress = Progress {
        pool: GasPool::new(execution.block.gas_limit, execution.block.rules.spec, execution.earlier_gas_used),
        blob_gas_used: execution.earlier_blob_gas_used,
        scalar: None,
    };
    let mut receipts = Vec::with_capacity(transactions.len());
    let mut gas_left = execution.block.gas_limit;
    for (index, transaction) in transactions.iter_mut().enumerate() {
        if stop.must_stop() {
            return (Err(ReadError::Cancelled.into()), evm.finish().0);
        }
        let error = match apply(execution, &mut evm, transaction, &mut progress) {
            Ok(receipt) => {
                receipts.push(receipt);
                if execution.is_split {
                    layers.push(evm.state().split());
                }
                continue;
            }
            Err(error) => error,
        };
        if !evm.state().has_missing() || matches!(error, TransactionError::Read(ReadError::Cancelled)) {
            return (Err(ExecutionFailure::of(index, error)), evm.finish().0);
        }
        let (mut state, access_list) = evm.finish();
        let gas = transaction.env.gas_limit.min(gas_left);
        let allowance = Some(Allowance { gas, ..PER_TRANSACTION });
        let mut patterns = GUESS_PATTERNS.as_slice();
        state.set_allowance(allowance);
        (_, state) = dry_run(execution, transaction, state, stop.clone());
        while let ([pattern, rest @ ..], true) = (patterns, state.guesses_storage()) {
            patterns = rest;
            state.set_allowance(allowance);
            state.set_alternative(AlternativeGuess { pattern: *pattern, most: MAX_GUESSED_WORDS });
            (_, state) = dry_run(execution, transaction, state, stop.clone());
        }
        let left = state.allowance().map_or(0, |allowance| allowance.gas);
        gas_left = gas_left.saturating_sub(gas - left);
        state.set_allowance(None);
        evm = BlockEvm::new(execution, state, access_list);
    }
    let (receipts_root, logs_bloom) = seal(execution, &receipts);
    let (state, access_list) = evm.finish();
    let executed = BlockExecutionResult {
        layers,
        transactions,
        receipts,
        gas_used: progress.pool.used(),
        blob_gas_used: progress.blob_gas_used,
        receipts_root,
        logs_bloom,
        access_list,
    };
    (Ok(executed), state)
}

/// Guesses for unseen words, tried if zero leaves something open: all ones, and two alternating patterns.
const GUESS_PATTERNS: [u8; 3] = [0b111, 0b010, 0b101];
/// Limit of new words that each guess may ask for.
const MAX_GUESSED_WORDS: usize = 16;

struct Progress {
    pool: GasPool,
    blob_gas_used: u64,
    /// For the DA footprint. Read when first needed, after the block's attributes deposit has set it.
    scalar: Option<u64>,
}

fn apply(
    execution: &BlockExecution,
    evm: &mut BlockEvm,
    transaction: &mut PooledTransaction,
    progress: &mut Progress,
) -> Result<ExecutionReceipt, TransactionError> {
    let block = &execution.block;
    let left = progress.pool.available(true);
    if transaction.env.gas_limit > left {
        return Err(TransactionError::GasLimit { left, asked: transaction.env.gas_limit });
    }
    let blob_gas_used = blob_gas_used(execution, evm, transaction, progress)?;
    let most = most_blob_gas(execution);
    if progress.blob_gas_used.saturating_add(blob_gas_used.unwrap_or_default()) > most {
        return Err(TransactionError::BlobGasLimit(most));
    }
    let deposit_nonce = match &transaction.deposit {
        Some(_) if block.rules.op.is_none() => return Err(TransactionError::Deposit),
        Some(_) => {
            let nonce = evm.state().basic(transaction.from)?.map_or(0, |account| account.nonce);
            transaction.env.nonce = nonce;
            Some(nonce)
        }
        None if block.rules.op.is_some() && transaction.env.tx_type == 3 => {
            return Err(TransactionError::Blob);
        }
        None => None,
    };
    let applied = evm.apply(transaction)?;
    progress.pool.charge(&applied.gas);
    progress.blob_gas_used += blob_gas_used.unwrap_or_default();
    let receipt = ExecutionReceipt {
        tx_type: transaction.tx_type(),
        succeeded: applied.succeeded,
        cumulative_gas_used: progress.pool.cumulative(),
        gas_used: applied.gas.tx_gas_used(),
        effective_gas_price: effective_gas_price(transaction, block.base_fee),
        logs: applied.logs.into_iter().map(plain).collect(),
        contract_address: created(transaction),
        blob_gas_used,
        rollup: applied.rollup.map(|rollup| RollupReceipt { da_footprint_gas_scalar: progress.scalar, ..rollup }),
        encoded: Bytes::new(),
        bloom: Bloom::ZERO,
    };
    Ok(receipt.sealed(deposit_nonce.filter(|_| block.rules.has_op(OpFork::Canyon))))
}

/// A transaction's blob gas; on an OP-stack chain from Jovian on, its DA footprint.
fn blob_gas_used(
    execution: &BlockExecution,
    evm: &mut BlockEvm,
    transaction: &PooledTransaction,
    progress: &mut Progress,
) -> Result<Option<u64>, ReadError> {
    let rules = &execution.block.rules;
    if rules.op.is_none() {
        return Ok((transaction.env.tx_type == 3).then(|| blob_gas(transaction.env.blob_hashes.len() as u64)));
    }
    if !rules.has_op(OpFork::Jovian) || transaction.deposit.is_some() {
        return Ok(None);
    }
    let scalar = match progress.scalar {
        Some(scalar) => scalar,
        None => *progress.scalar.insert(current_da_footprint_scalar(evm.state())?),
    };
    Ok(Some(da_footprint(&transaction.raw, scalar)))
}

fn most_blob_gas(execution: &BlockExecution) -> u64 {
    match execution.block.rules.blob {
        Some(blob) => blob_gas(blob.max),
        // From Jovian on, the gas limit also bounds the footprint.
        None => execution.block.gas_limit,
    }
}

fn effective_gas_price(transaction: &PooledTransaction, base_fee: u64) -> u128 {
    let env = &transaction.env;
    match (&transaction.deposit, env.gas_priority_fee) {
        (Some(_), _) => 0,
        (None, Some(tip)) => env.gas_price.min(tip.saturating_add(base_fee.into())),
        (None, None) => env.gas_price,
    }
}

fn created(transaction: &PooledTransaction) -> Option<Address> {
    transaction.env.kind.is_create().then(|| transaction.from.create(transaction.env.nonce))
}

fn plain(log: Log) -> ExecutedLog {
    let (topics, data) = log.data.split();
    ExecutedLog { address: log.address, topics, data, synthetic: false, index: 0 }
}

fn seal(execution: &BlockExecution, receipts: &[ExecutionReceipt]) -> (B256, Bloom) {
    let mut bloom = Bloom::ZERO;
    for earlier in &execution.earlier_receipts {
        bloom |= bloom_of(earlier).unwrap_or_default();
    }
    for receipt in receipts {
        bloom |= receipt.bloom;
    }
    let all: Vec<&[u8]> = execution
        .earlier_receipts
        .iter()
        .map(|encoded| encoded.as_ref())
        .chain(receipts.iter().map(|receipt| receipt.encoded.as_ref()))
        .collect();
    (ordered_trie_root_encoded(&all), bloom)
}
