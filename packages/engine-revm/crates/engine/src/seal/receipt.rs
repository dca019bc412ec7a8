use crate::{
    outcome::{ExecutedCall, ExecutedLog, Status},
    plan::PlannedCall,
};
use alloy_primitives::{B256, Bloom, BloomInput};
use alloy_rlp::{Encodable, Header};
use alloy_trie::root::ordered_trie_root_encoded;

/// The roots of a block's transactions and receipts, and its bloom filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    pub transactions: B256,
    pub receipts: B256,
    pub bloom: Bloom,
}

pub fn roots(planned: &[PlannedCall], calls: &[ExecutedCall], encoded: &[Vec<u8>]) -> Roots {
    let mut bloom = Bloom::ZERO;
    let mut cumulative = 0u64;
    let receipts: Vec<Vec<u8>> = planned
        .iter()
        .zip(calls)
        .map(|(planned, call)| {
            cumulative += call.gas_used;
            let succeeded = call.status == Status::Success;
            let (receipt, own_bloom) = encode_receipt_fields(planned.tx_type, succeeded, cumulative, &call.logs, &[]);
            bloom |= own_bloom;
            receipt
        })
        .collect();
    Roots { transactions: ordered_trie_root_encoded(encoded), receipts: ordered_trie_root_encoded(&receipts), bloom }
}

/// A receipt's EIP-2718 bytes and bloom filter, both without synthetic logs. `tail`: the additional fields of a deposit's receipt.
pub fn encode_receipt_fields(
    tx_type: u8,
    succeeded: bool,
    cumulative_gas: u64,
    logs: &[ExecutedLog],
    tail: &[u64],
) -> (Vec<u8>, Bloom) {
    let mut bloom = Bloom::ZERO;
    let mut encoded_logs = Vec::new();
    for log in logs.iter().filter(|log| !log.synthetic) {
        bloom.accrue(BloomInput::Raw(log.address.as_slice()));
        for topic in &log.topics {
            bloom.accrue(BloomInput::Raw(topic.as_slice()));
        }
        let payload_length = log.address.length() + log.topics.length() + log.data.length();
        Header { list: true, payload_length }.encode(&mut encoded_logs);
        log.address.encode(&mut encoded_logs);
        log.topics.encode(&mut encoded_logs);
        log.data.encode(&mut encoded_logs);
    }
    let logs_header = Header { list: true, payload_length: encoded_logs.len() };
    let tail_length: usize = tail.iter().map(Encodable::length).sum();
    let payload_length = succeeded.length()
        + cumulative_gas.length()
        + bloom.length()
        + logs_header.length()
        + encoded_logs.len()
        + tail_length;
    let mut out = Vec::with_capacity(payload_length + 8);
    out.extend((tx_type > 0).then_some(tx_type));
    Header { list: true, payload_length }.encode(&mut out);
    succeeded.encode(&mut out);
    cumulative_gas.encode(&mut out);
    bloom.encode(&mut out);
    logs_header.encode(&mut out);
    out.extend_from_slice(&encoded_logs);
    tail.iter().for_each(|value| value.encode(&mut out));
    (out, bloom)
}
