use super::transaction::Fields;
use crate::{op::DEPOSIT_TYPE, plan::Authorization};
use alloy_primitives::{Address, B256, Bytes, U256};

/// A transaction in JSON-RPC's fields. Fields that its type lacks are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedTransaction {
    pub tx_type: u8,
    /// From JSON-RPC; proves the fields.
    pub hash: B256,
    pub chain_id: Option<U256>,
    pub nonce: u64,
    pub gas: u64,
    pub gas_price: Option<U256>,
    pub max_fee: Option<U256>,
    pub max_priority_fee: Option<U256>,
    pub max_blob_fee: Option<U256>,
    pub to: Option<Address>,
    pub value: U256,
    pub input: Bytes,
    pub access_list: Vec<(Address, Vec<B256>)>,
    pub blob_hashes: Vec<B256>,
    pub authorizations: Vec<Authorization>,
    /// `v` of a legacy transaction, else the y parity.
    pub v: U256,
    pub r: U256,
    pub s: U256,
    pub deposit: Option<Deposit>,
}

/// https://specs.optimism.io/protocol/deposits.html
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deposit {
    pub source_hash: B256,
    pub from: Address,
    pub mint: U256,
    pub is_system_transaction: bool,
}

/// EIP-2718 bytes; None for an unknown type.
pub fn encode_sealed(tx: &SealedTransaction) -> Option<Vec<u8>> {
    let mut fields = Fields(Vec::with_capacity(200 + tx.input.len()));
    match (tx.tx_type, &tx.deposit) {
        (DEPOSIT_TYPE, Some(deposit)) => {
            fields.put(&deposit.source_hash);
            fields.put(&deposit.from);
            fields.to(tx.to);
            fields.put(&deposit.mint);
            fields.put(&tx.value);
            fields.put(&tx.gas);
            fields.put(&deposit.is_system_transaction);
            fields.put(&tx.input);
            return Some(fields.finish(Some(DEPOSIT_TYPE)));
        }
        (0..=4, None) => {}
        _ => return None,
    }
    let is_typed = tx.tx_type > 0;
    if is_typed {
        fields.put(&tx.chain_id.unwrap_or_default());
    }
    fields.put(&tx.nonce);
    if tx.tx_type < 2 {
        fields.put(&tx.gas_price.unwrap_or_default());
    } else {
        fields.put(&tx.max_priority_fee.unwrap_or_default());
        fields.put(&tx.max_fee.unwrap_or_default());
    }
    fields.put(&tx.gas);
    fields.to(tx.to);
    fields.put(&tx.value);
    fields.put(&tx.input);
    if is_typed {
        fields.access_list(&tx.access_list);
    }
    if tx.tx_type == 3 {
        fields.put(&tx.max_blob_fee.unwrap_or_default());
        fields.hashes(&tx.blob_hashes);
    }
    if tx.tx_type == 4 {
        fields.authorizations(&tx.authorizations);
    }
    fields.put(&tx.v);
    fields.put(&tx.r);
    fields.put(&tx.s);
    Some(fields.finish(is_typed.then_some(tx.tx_type)))
}
