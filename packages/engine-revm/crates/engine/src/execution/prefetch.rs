//! Runs single transactions without validation, to find what they read.

use super::{
    block::BlockExecution,
    run_until_read::run_until_read,
    transaction::{PooledTransaction, decode},
};
use crate::{
    evm::{Charge, SimulationHandler},
    op::{BASE_FEE_VAULT, FEE_SLOTS, L1_BLOCK, L1_FEE_VAULT, OPERATOR_FEE_VAULT},
    simulate::{BaseState, system_calls},
    state::{Allowance, Read, ReadError, SimulationState},
    time_slices::Stop,
};
use alloy_primitives::{Bytes, U256};
use revm::{
    context::TxEnv,
    interpreter::InitialAndFloorGas,
    primitives::{TxKind, hardfork::SpecId},
};
use std::sync::Arc;

/// Runs one transaction without validation, to cache the state that it reads. The result is discarded.
pub fn prefetch(execution: &BlockExecution, raw: &Bytes, base: &BaseState) -> Result<(), ReadError> {
    let Ok(transaction) = decode(raw) else { return Ok(()) };
    let required = required_reads(execution, std::slice::from_ref(&transaction));
    let tried = run_until_read(base, |mut state| {
        state.record_missing(required.iter().copied());
        state.set_allowance(Some(Allowance { gas: transaction.env.gas_limit, ..PER_TRANSACTION }));
        dry_run(execution, &transaction, state, base.stop.clone())
    })?;
    match tried {
        // Everything read before the limit is cached.
        Err(ReadError::TooMuch) => Ok(()),
        tried => tried,
    }
}

/// Limits for trying a transaction out, in addition to its own gas limit.
pub(super) const PER_TRANSACTION: Allowance =
    Allowance { gas: 30_000_000, frames: 10_000, bytes: 1 << 20, precompile_gas: 10_000_000 };

/// Runs one transaction without validation, and leaves the state unchanged.
pub(super) fn dry_run(
    execution: &BlockExecution,
    transaction: &PooledTransaction,
    mut state: SimulationState,
    stop: Arc<Stop>,
) -> (Result<(), ReadError>, SimulationState) {
    let from = transaction.from;
    let before = state.has_changed(from).then(|| state.change(from).clone());
    // Enough for any value that it sends: in its block, the sender may receive it first.
    state.change(from).balance = Some(U256::MAX >> 1);
    if transaction.deposit.is_none() {
        state.change(from).nonce = Some(transaction.env.nonce);
    }
    let handler = SimulationHandler { charge: &Charge::default(), gas: InitialAndFloorGas::default(), outcome: None };
    let mut evm = execution.evm(state, stop);
    let tx = TxEnv { tx_type: 0, ..transaction.env.clone() };
    let ran = handler.execute(&mut evm, tx);
    let (mut state, _) = evm.finish();
    state.restore(from, before);
    (ran.map(drop), state)
}

/// What executing these transactions certainly reads.
pub fn required_reads(execution: &BlockExecution, transactions: &[PooledTransaction]) -> Vec<Read> {
    let block = &execution.block;
    let mut accounts = vec![block.fee_recipient];
    let mut reads = Vec::new();
    for transaction in transactions {
        accounts.push(transaction.from);
        match transaction.env.kind {
            TxKind::Call(to) => accounts.push(to),
            TxKind::Create => accounts.push(transaction.from.create(transaction.env.nonce)),
        }
    }
    if block.rules.op.is_some() {
        accounts.extend([L1_BLOCK, L1_FEE_VAULT, BASE_FEE_VAULT, OPERATOR_FEE_VAULT]);
        reads.extend(FEE_SLOTS.map(|slot| Read::Storage(L1_BLOCK, slot)));
    }
    if execution.opening {
        accounts.extend(block.rules.has(SpecId::CANCUN).then_some(system_calls::BEACON_ROOTS));
        accounts.extend(block.rules.has(SpecId::PRAGUE).then_some(system_calls::HISTORY));
    }
    reads.extend(accounts.into_iter().flat_map(Read::account));
    reads
}
