//! A block's hash and its size in bytes.

use crate::plan::Withdrawal;
use alloy_consensus::Header;
use alloy_primitives::{B256, U256, keccak256};
use alloy_rlp::Encodable;

/// A block without its header.
pub struct Body<'a> {
    /// EIP-2718 bytes.
    pub transactions: &'a [Vec<u8>],
    /// From Shanghai on.
    pub withdrawals: Option<&'a [Withdrawal]>,
}

/// The block's hash and the length of its RLP. The base fee is passed separately, because `header` has only 64 bits for it.
pub fn seal(header: &Header, base_fee: U256, body: Body<'_>) -> (B256, usize) {
    let encoded = encode_header(header, base_fee);
    let transactions: usize = body
        .transactions
        .iter()
        // In a block's RLP, a typed transaction is a byte string, a legacy one a list.
        .map(|bytes| {
            if bytes[0] < 0x80 {
                alloy_rlp::Header { list: false, payload_length: bytes.len() }.length_with_payload()
            } else {
                bytes.len()
            }
        })
        .sum();
    let mut payload = encoded.len() + list_length(transactions) + list_length(0);
    if let Some(withdrawals) = body.withdrawals {
        payload += list_length(withdrawals.iter().map(Encodable::length).sum());
    }
    (keccak256(&encoded), list_length(payload))
}

fn list_length(payload_length: usize) -> usize {
    alloy_rlp::Header { list: true, payload_length }.length_with_payload()
}

fn list(payload: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 9);
    alloy_rlp::Header { list: true, payload_length: payload.len() }.encode(&mut out);
    out.extend_from_slice(&payload);
    out
}

fn encode_header(header: &Header, base_fee: U256) -> Vec<u8> {
    let mut out = Vec::with_capacity(700);
    header.parent_hash.encode(&mut out);
    header.ommers_hash.encode(&mut out);
    header.beneficiary.encode(&mut out);
    header.state_root.encode(&mut out);
    header.transactions_root.encode(&mut out);
    header.receipts_root.encode(&mut out);
    header.logs_bloom.encode(&mut out);
    header.difficulty.encode(&mut out);
    header.number.encode(&mut out);
    header.gas_limit.encode(&mut out);
    header.gas_used.encode(&mut out);
    header.timestamp.encode(&mut out);
    header.extra_data.encode(&mut out);
    header.mix_hash.encode(&mut out);
    header.nonce.encode(&mut out);
    base_fee.encode(&mut out);
    if let Some(root) = header.withdrawals_root {
        root.encode(&mut out);
    }
    if let (Some(used), Some(excess)) = (header.blob_gas_used, header.excess_blob_gas) {
        used.encode(&mut out);
        excess.encode(&mut out);
    }
    if let Some(root) = header.parent_beacon_block_root {
        root.encode(&mut out);
    }
    if let Some(hash) = header.requests_hash {
        hash.encode(&mut out);
    }
    if let Some(hash) = header.block_access_list_hash {
        hash.encode(&mut out);
    }
    if let Some(slot) = header.slot_number {
        slot.encode(&mut out);
    }
    list(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_a_header_as_alloy_does() {
        let header = Header {
            base_fee_per_gas: Some(7),
            withdrawals_root: Some(B256::repeat_byte(1)),
            blob_gas_used: Some(131_072),
            excess_blob_gas: Some(0),
            parent_beacon_block_root: Some(B256::repeat_byte(2)),
            requests_hash: Some(B256::repeat_byte(3)),
            block_access_list_hash: Some(B256::repeat_byte(4)),
            slot_number: Some(5),
            number: 300,
            ..Header::default()
        };
        let (hash, size) = seal(&header, U256::from(7), Body { transactions: &[], withdrawals: Some(&[]) });
        assert_eq!(hash, header.hash_slow());
        assert_eq!(size, header.length() + 3 + 3);
    }

    #[test]
    fn hashes_a_header_without_later_fields() {
        let header = Header { base_fee_per_gas: Some(7), ..Header::default() };
        let (hash, _) = seal(&header, U256::from(7), Body { transactions: &[], withdrawals: None });
        assert_eq!(hash, header.hash_slow());
    }
}
