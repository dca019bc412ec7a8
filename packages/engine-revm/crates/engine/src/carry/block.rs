use crate::{
    execution::BlockEnvironment,
    plan::{ChainRules, Withdrawal},
    seal::SealedTransaction,
};
use alloy_primitives::{B256, Bloom, Bytes};

/// A sealed block, and the results that its header demands.
#[derive(Clone, Debug)]
pub struct SealedBlock {
    pub chain: ChainRules,
    pub hash: B256,
    pub block: BlockEnvironment,
    pub transactions: Vec<SealedTransaction>,
    /// Receipts, as EIP-2718 bytes, of the first transactions, which are already executed.
    pub earlier_receipts: Vec<Bytes>,
    pub earlier_gas_used: u64,
    pub earlier_blob_gas_used: u64,
    pub withdrawals: Vec<Withdrawal>,
    pub gas_used: u64,
    pub transactions_root: B256,
    pub receipts_root: B256,
    pub logs_bloom: Bloom,
    pub withdrawals_root: Option<B256>,
    pub requests_hash: Option<B256>,
    pub block_access_list_hash: Option<B256>,
    pub blob_gas_used: Option<u64>,
}
