use crate::{op::RollupReceipt, outcome::ExecutedLog, seal::encode_receipt_fields};
use alloy_primitives::{Address, Bloom, Bytes};
use alloy_rlp::{Decodable, Header};

#[derive(Clone, Debug)]
pub struct ExecutionReceipt {
    pub tx_type: u8,
    pub succeeded: bool,
    pub cumulative_gas_used: u64,
    pub gas_used: u64,
    pub effective_gas_price: u128,
    pub logs: Vec<ExecutedLog>,
    pub contract_address: Option<Address>,
    pub blob_gas_used: Option<u64>,
    /// For a signed transaction on an OP-stack chain.
    pub rollup: Option<RollupReceipt>,
    /// EIP-2718 bytes.
    pub encoded: Bytes,
    pub bloom: Bloom,
}

/// From Canyon on, a deposit's receipt contains its sender's nonce and this version.
const DEPOSIT_RECEIPT_VERSION: u64 = 1;

impl ExecutionReceipt {
    /// Computes `encoded` and `bloom` from the other fields.
    pub fn sealed(mut self, deposit_nonce: Option<u64>) -> Self {
        let tail: Vec<u64> = deposit_nonce.map_or_else(Vec::new, |nonce| vec![nonce, DEPOSIT_RECEIPT_VERSION]);
        let (encoded, bloom) =
            encode_receipt_fields(self.tx_type, self.succeeded, self.cumulative_gas_used, &self.logs, &tail);
        (self.encoded, self.bloom) = (encoded.into(), bloom);
        self
    }
}

/// The bloom filter of an encoded receipt.
pub fn bloom_of(encoded: &Bytes) -> alloy_rlp::Result<Bloom> {
    let typed = encoded.first().is_some_and(|first| *first < 0xc0);
    let rest = &mut &encoded[usize::from(typed)..];
    Header::decode(rest)?;
    bool::decode(rest)?;
    u64::decode(rest)?;
    Bloom::decode(rest)
}
