use super::{
    block::Stretch,
    reading::reading,
    transaction::{PooledTransaction, decode},
};
use crate::{
    evm::{Charge, SimulationHandler},
    op::{BASE_FEE_VAULT, FEE_SLOTS, L1_BLOCK, L1_FEE_VAULT, OPERATOR_FEE_VAULT},
    simulate::{Ground, system_calls},
    state::{Read, ReadError, SimulationState, Stop},
};
use alloy_primitives::{Address, Bytes, U256};
use revm::{context::TxEnv, interpreter::InitialAndFloorGas};
use std::sync::Arc;

/// Runs one transaction without validation, so that the state that it reads is cached. Its result is dropped.
pub fn warm(stretch: &Stretch, raw: &Bytes, ground: &Ground) -> Result<(), ReadError> {
    let Ok(transaction) = decode(raw) else { return Ok(()) };
    ground.state().prefetch(certain(stretch, transaction.from, transaction.to()))?;
    reading(ground, |state| run(stretch, &transaction, state, ground.stop.clone()))?
}

fn run(
    stretch: &Stretch,
    transaction: &PooledTransaction,
    mut state: SimulationState,
    stop: Arc<Stop>,
) -> (Result<(), ReadError>, SimulationState) {
    // Enough for any value that it sends: in its block the sender may receive it first.
    state.change(transaction.from).balance = Some(U256::MAX >> 1);
    let call = transaction.as_call();
    let handler = SimulationHandler {
        charge: &Charge::default(),
        gas: InitialAndFloorGas::default(),
        access_list: &call.access_list,
        authorizations: call.authorizations.as_deref().filter(|list| !list.is_empty()),
        outcome: None,
    };
    let mut machine = stretch.machine(state, stop);
    let tx = TxEnv { tx_type: 0, ..transaction.env.clone() };
    let ran = handler.execute(&mut machine, tx);
    let (state, _) = machine.finish();
    (ran.map(drop), state)
}

fn certain(stretch: &Stretch, from: Address, to: Option<Address>) -> Vec<Read> {
    let mut accounts = vec![from, stretch.block.fee_recipient];
    accounts.extend(to);
    let mut reads = Vec::new();
    if stretch.block.rules.op.is_some() {
        accounts.extend([L1_BLOCK, L1_FEE_VAULT, BASE_FEE_VAULT, OPERATOR_FEE_VAULT]);
        reads.extend(FEE_SLOTS.map(|slot| Read::Storage(L1_BLOCK, slot)));
    }
    if stretch.opening {
        accounts.extend([system_calls::BEACON_ROOTS, system_calls::HISTORY]);
    }
    reads.extend(
        accounts.into_iter().flat_map(|address| [Read::Balance(address), Read::Nonce(address), Read::Code(address)]),
    );
    reads
}
