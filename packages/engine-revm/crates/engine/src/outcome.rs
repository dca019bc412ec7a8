//! What a simulation comes to: `packages/simulation/src/engine/engine.ts` in Rust.

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256};

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub blocks: Vec<ExecutedBlock>,
    pub touched_accounts: usize,
    pub touched_slots: usize,
}

#[derive(Clone, Debug)]
pub struct ExecutedBlock {
    /// Its base fee is apart: it may take 256 bits.
    pub header: Header,
    pub base_fee: U256,
    pub hash: B256,
    /// Of the RLP-encoded block, bytes.
    pub size: usize,
    pub calls: Vec<ExecutedCall>,
}

#[derive(Clone, Debug)]
pub struct ExecutedCall {
    pub tx_hash: B256,
    pub nonce: u64,
    pub gas: u64,
    pub gas_used: u64,
    pub max_used_gas: u64,
    pub status: Status,
    pub return_data: Bytes,
    pub logs: Vec<ExecutedLog>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Success,
    Revert,
    /// In geth's words.
    Halt(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutedLog {
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: Bytes,
    /// Made for a transfer of native currency: in the answer, but in no receipt.
    pub synthetic: bool,
    /// As geth counts: every log of the block so far, those of reverted frames too.
    pub index: u64,
}
