use super::{block::SealedBlock, carried::Difference};
use crate::{
    rejection::Fault,
    seal::{encode_sealed, withdrawals_root},
    simulate::{credit_withdrawals, requests_hash},
    state::{AccountChange, ReadError, SimulationState, Stop},
    stretch::{self, ExecutedStretch, Stretch, StretchFailure},
};
use alloy_primitives::{Bytes, keccak256, map::AddressMap};
use alloy_trie::root::ordered_trie_root_with_encoder;
use op_revm::OpSpecId;
use revm::primitives::hardfork::SpecId;
use std::{fmt::Display, sync::Arc};

/// Why executing a block does not confirm it.
#[derive(Debug, thiserror::Error)]
pub enum Differs {
    #[error("{difference:?}: {detail}")]
    Found { difference: Difference, detail: String },
    #[error(transparent)]
    Read(#[from] ReadError),
}

fn unless_same<T: PartialEq + Display>(difference: Difference, ours: T, theirs: T) -> Result<(), Differs> {
    if ours == theirs {
        return Ok(());
    }
    Err(Differs::Found { difference, detail: format!("{ours}, in the header {theirs}") })
}

/// What the block changes of its parent's state, beside what lies on that already. Every part of the header that tells of its execution,
/// but for the state root, is compared with what came of it here.
pub fn execute(
    block: &SealedBlock,
    state: SimulationState,
    stop: &Arc<Stop>,
) -> Result<AddressMap<AccountChange>, Differs> {
    let transactions = encoded(block)?;
    check_withdrawals(block)?;
    let earlier = block.earlier_receipts.len().min(transactions.len());
    let stretch = Stretch {
        chain: block.chain,
        block: block.block.clone(),
        opening: earlier == 0,
        transactions: transactions[earlier..].to_vec(),
        earlier_receipts: block.earlier_receipts.clone(),
        earlier_gas_used: block.earlier_gas_used,
        earlier_blob_gas_used: block.earlier_blob_gas_used,
    };
    let (executed, state) = stretch::run(&stretch, state, stop.clone()).map_err(|failure| match failure {
        StretchFailure::Read(error) => Differs::Read(error),
        rejected => Differs::Found { difference: Difference::Transaction, detail: rejected.to_string() },
    })?;
    unless_same(Difference::GasUsed, executed.gas_used, block.gas_used)?;
    unless_same(Difference::ReceiptsRoot, executed.receipts_root, block.receipts_root)?;
    unless_same(Difference::LogsBloom, executed.logs_bloom, block.logs_bloom)?;
    if let Some(blob_gas_used) = block.blob_gas_used {
        unless_same(Difference::BlobGasUsed, executed.blob_gas_used, blob_gas_used)?;
    }
    close(block, &stretch, &executed, state, stop)
}

/// The transactions' bytes. They are the block's: their hashes are those that the node says, and their root is the header's.
fn encoded(block: &SealedBlock) -> Result<Vec<Bytes>, Differs> {
    let mut encoded = Vec::with_capacity(block.transactions.len());
    for (index, transaction) in block.transactions.iter().enumerate() {
        let bytes = encode_sealed(transaction).filter(|bytes| keccak256(bytes) == transaction.hash);
        let wrong = || Differs::Found {
            difference: Difference::TransactionHash,
            detail: format!("transaction {index} of type {:#x} is not {}", transaction.tx_type, transaction.hash),
        };
        encoded.push(Bytes::from(bytes.ok_or_else(wrong)?));
    }
    let root = ordered_trie_root_with_encoder(&encoded, |bytes, out| out.extend_from_slice(bytes));
    unless_same(Difference::TransactionsRoot, root, block.transactions_root)?;
    Ok(encoded)
}

/// From Isthmus on, the header's root is that of the message passer's storage.
fn check_withdrawals(block: &SealedBlock) -> Result<(), Differs> {
    let rules = &block.block.rules;
    let root = withdrawals_root(&block.withdrawals);
    let claimed = match block.withdrawals_root {
        Some(claimed) if rules.has(SpecId::SHANGHAI) && !rules.has_op(OpSpecId::ISTHMUS) => claimed,
        _ => alloy_trie::EMPTY_ROOT_HASH,
    };
    unless_same(Difference::WithdrawalsRoot, root, claimed)
}

/// What comes after the transactions: the requests' system calls, and withdrawals.
fn close(
    block: &SealedBlock,
    stretch: &Stretch,
    executed: &ExecutedStretch,
    state: SimulationState,
    stop: &Arc<Stop>,
) -> Result<AddressMap<AccountChange>, Differs> {
    let rules = &block.block.rules;
    let mut machine = stretch.machine(state, stop.clone());
    if rules.has(SpecId::PRAGUE) && rules.op.is_none() {
        let logs = executed.receipts.iter().flat_map(|receipt| &receipt.logs);
        let hash = requests_hash(&mut machine, block.chain.deposit_contract, logs).map_err(|fault| match fault {
            Fault::Read(error) => Differs::Read(error),
            refused => Differs::Found { difference: Difference::RequestsHash, detail: refused.to_string() },
        })?;
        unless_same(Difference::RequestsHash, hash, block.requests_hash.unwrap_or_default())?;
    }
    credit_withdrawals(machine.state(), &block.withdrawals)?;
    let (state, _) = machine.finish();
    Ok(state.into_changes())
}
