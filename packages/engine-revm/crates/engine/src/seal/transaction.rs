use crate::plan::{Authorization, PlannedCall};
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::{Encodable, Header};

/// The transaction made of a call. Like geth's, its signature is zeros.
pub struct UnsignedTransaction<'a> {
    pub call: &'a PlannedCall,
    pub chain_id: u64,
    pub nonce: u64,
    pub gas: u64,
}

/// EIP-2718 bytes.
pub fn encode_transaction(transaction: &UnsignedTransaction<'_>) -> Vec<u8> {
    let mut fields = Fields(Vec::with_capacity(160 + transaction.call.input.len()));
    let UnsignedTransaction { call, chain_id, nonce, gas } = *transaction;
    let tx_type = call.tx_type;
    if tx_type > 0 {
        fields.put(&chain_id);
    }
    fields.put(&nonce);
    match tx_type {
        0 | 1 => fields.put(&call.gas_price.unwrap_or_default()),
        _ => {
            fields.put(&call.max_priority_fee);
            fields.put(&call.max_fee);
        }
    }
    fields.put(&gas);
    fields.to(call.to);
    fields.put(&call.value);
    fields.put(&call.input);
    if tx_type > 0 {
        fields.access_list(&call.access_list);
    }
    if tx_type == 3 {
        fields.put(&call.max_blob_fee);
        fields.hashes(call.blob_hashes.as_deref().unwrap_or_default());
    }
    if tx_type == 4 {
        fields.authorizations(call.authorizations.as_deref().unwrap_or_default());
    }
    // v, r, s
    fields.0.extend_from_slice(&[0x80; 3]);
    fields.finish((tx_type > 0).then_some(tx_type))
}

/// A transaction's fields as consecutive RLP items.
pub(super) struct Fields(pub(super) Vec<u8>);

impl Fields {
    pub(super) fn put(&mut self, value: &impl Encodable) {
        value.encode(&mut self.0);
    }

    pub(super) fn to(&mut self, to: Option<Address>) {
        match to {
            Some(address) => self.put(&address),
            None => self.put(&Bytes::new()),
        }
    }

    fn list(&mut self, items: impl FnOnce(&mut Self)) {
        let mut inner = Self(Vec::new());
        items(&mut inner);
        Header { list: true, payload_length: inner.0.len() }.encode(&mut self.0);
        self.0.extend_from_slice(&inner.0);
    }

    pub(super) fn hashes(&mut self, hashes: &[B256]) {
        self.list(|list| hashes.iter().for_each(|hash| list.put(hash)));
    }

    pub(super) fn access_list(&mut self, entries: &[(Address, Vec<B256>)]) {
        self.list(|list| {
            for (address, slots) in entries {
                list.list(|entry| {
                    entry.put(address);
                    entry.hashes(slots);
                });
            }
        });
    }

    pub(super) fn authorizations(&mut self, authorizations: &[Authorization]) {
        self.list(|list| {
            for authorization in authorizations {
                list.list(|entry| {
                    entry.put(&authorization.chain_id);
                    entry.put(&authorization.address);
                    entry.put(&authorization.nonce);
                    entry.put(&U256::from(authorization.y_parity));
                    entry.put(&authorization.r);
                    entry.put(&authorization.s);
                });
            }
        });
    }

    pub(super) fn finish(self, tx_type: Option<u8>) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len() + 10);
        out.extend(tx_type);
        Header { list: true, payload_length: self.0.len() }.encode(&mut out);
        out.extend_from_slice(&self.0);
        out
    }
}
