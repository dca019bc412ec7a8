//! Decodes a block's transactions from EIP-2718 bytes.

use crate::{op::DEPOSIT_TYPE, seal::Deposit};
use alloy_consensus::{Transaction, TxEnvelope, transaction::SignerRecoverable};
use alloy_eips::eip2718::{Decodable2718, Eip2718Error};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, keccak256};
use alloy_rlp::{Decodable, Header};
use revm::{context::TxEnv, context_interface::either::Either};

/// Why bytes are no valid transaction.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("no transaction: {0}")]
    Transaction(#[from] Eip2718Error),
    #[error("no transaction: bytes are left over")]
    LeftOver,
    #[error("no deposit: {0}")]
    Deposit(#[from] alloy_rlp::Error),
    #[error("invalid signature")]
    Signature,
}

/// A block's transaction: signed, or an OP-stack deposit.
#[derive(Clone, Debug)]
pub struct PooledTransaction {
    pub hash: B256,
    pub from: Address,
    /// A deposit has no nonce: its sender's is set when it is executed.
    pub env: TxEnv,
    pub deposit: Option<Deposit>,
    pub raw: Bytes,
}

impl PooledTransaction {
    pub fn tx_type(&self) -> u8 {
        if self.deposit.is_some() { DEPOSIT_TYPE } else { self.env.tx_type }
    }

    pub fn to(&self) -> Option<Address> {
        self.env.kind.to().copied()
    }
}

/// Decodes EIP-2718 bytes and recovers the sender.
pub fn decode(raw: &Bytes) -> Result<PooledTransaction, DecodeError> {
    if raw.first() == Some(&DEPOSIT_TYPE) {
        return Ok(decode_deposit(raw)?);
    }
    let mut rest = raw.as_ref();
    let tx = TxEnvelope::decode_2718(&mut rest)?;
    if !rest.is_empty() {
        return Err(DecodeError::LeftOver);
    }
    let from = tx.recover_signer().map_err(|_| DecodeError::Signature)?;
    let env = TxEnv {
        tx_type: tx.tx_type() as u8,
        caller: from,
        gas_limit: tx.gas_limit(),
        gas_price: tx.max_fee_per_gas(),
        kind: tx.kind(),
        value: tx.value(),
        data: tx.input().clone(),
        nonce: tx.nonce(),
        chain_id: tx.chain_id(),
        access_list: tx.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: tx.max_priority_fee_per_gas(),
        blob_hashes: tx.blob_versioned_hashes().unwrap_or_default().to_vec(),
        max_fee_per_blob_gas: tx.max_fee_per_blob_gas().unwrap_or_default(),
        authorization_list: tx.authorization_list().unwrap_or_default().iter().cloned().map(Either::Left).collect(),
    };
    Ok(PooledTransaction { hash: keccak256(raw), from, env, deposit: None, raw: raw.clone() })
}

/// https://specs.optimism.io/protocol/deposits.html
fn decode_deposit(raw: &Bytes) -> alloy_rlp::Result<PooledTransaction> {
    let rest = &mut &raw[1..];
    let header = Header::decode(rest)?;
    if !header.list || header.payload_length != rest.len() {
        return Err(alloy_rlp::Error::Custom("not one list"));
    }
    let source_hash = B256::decode(rest)?;
    let from = Address::decode(rest)?;
    let kind = TxKind::decode(rest)?;
    let mint = u128::decode(rest)?;
    let value = U256::decode(rest)?;
    let gas_limit = u64::decode(rest)?;
    let is_system_transaction = bool::decode(rest)?;
    let data = Bytes::decode(rest)?;
    if !rest.is_empty() || source_hash.is_zero() {
        return Err(alloy_rlp::Error::Custom("not a deposit's fields"));
    }
    let env = TxEnv {
        caller: from,
        gas_limit,
        gas_price: 0,
        kind,
        value,
        data,
        nonce: 0,
        chain_id: None,
        ..TxEnv::default()
    };
    let deposit = Deposit { source_hash, from, mint: U256::from(mint), is_system_transaction };
    Ok(PooledTransaction { hash: keccak256(raw), from, env, deposit: Some(deposit), raw: raw.clone() })
}
