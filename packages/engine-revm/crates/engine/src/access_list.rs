//! The list of what a block accesses and changes (EIP-7928), as it runs.

use alloy_primitives::{Address, B256, Bytes, U256, hex, keccak256};
use alloy_rlp::{RlpEncodable, RlpEncodableWrapper};
use revm::state::{Account, EvmState};
use serde::{Deserialize, Deserializer, de::Error};
use std::collections::{BTreeMap, BTreeSet};

/// An account of a list as it is hashed, and as `eth_getBlockAccessList` answers it in JSON.
#[derive(Debug, Deserialize, RlpEncodable)]
#[serde(rename_all = "camelCase")]
pub struct ListedAccount {
    pub address: Address,
    pub storage_changes: Vec<ListedSlot>,
    pub storage_reads: Vec<Word>,
    pub balance_changes: Vec<ListedChange>,
    pub nonce_changes: Vec<ListedChange>,
    pub code_changes: Vec<ListedCode>,
}

#[derive(Debug, Deserialize, RlpEncodable)]
pub struct ListedSlot {
    pub key: Word,
    pub changes: Vec<ListedChange>,
}

#[derive(Debug, Deserialize, RlpEncodable)]
pub struct ListedChange {
    index: Word,
    pub value: Word,
}

#[derive(Debug, Deserialize, RlpEncodable)]
pub struct ListedCode {
    index: Word,
    pub code: Bytes,
}

/// A number. All 32 bytes of it are read at once, where they are written: alloy's way goes digit by digit.
#[derive(Clone, Copy, Debug, RlpEncodableWrapper)]
pub struct Word(pub U256);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(from)?;
        let mut bytes = [0; 32];
        match hex::decode_to_slice(text, &mut bytes) {
            Ok(()) => Ok(Self(U256::from_be_bytes(bytes))),
            Err(_) => text.parse().map(Self).map_err(D::Error::custom),
        }
    }
}

/// What the header has of a block's list.
pub fn list_hash(list: &[ListedAccount]) -> B256 {
    let mut encoded = Vec::with_capacity(512 * list.len());
    alloy_rlp::encode_list(list, &mut encoded);
    keccak256(encoded)
}

/// Accounts by address, all that belongs to one in ascending order.
#[derive(Debug, Default)]
pub struct AccessList {
    /// Of what is noted next: 0 before the block's transactions, their places from 1 on, the one after the last for what comes after.
    pub index: u64,
    accounts: BTreeMap<Address, Accesses>,
}

#[derive(Debug, Default)]
struct Accesses {
    writes: BTreeMap<U256, BTreeMap<u64, U256>>,
    reads: BTreeSet<U256>,
    balances: BTreeMap<u64, U256>,
    nonces: BTreeMap<u64, u64>,
    codes: BTreeMap<u64, Bytes>,
}

impl AccessList {
    /// What one transaction or system call has loaded and left.
    pub fn note(&mut self, changes: &EvmState) {
        for (address, account) in changes {
            self.accounts.entry(*address).or_default().note(self.index, account);
        }
    }

    /// What a withdrawal makes of a balance.
    pub fn note_balance(&mut self, address: Address, before: U256, after: U256) {
        let account = self.accounts.entry(address).or_default();
        if after != before {
            account.balances.insert(self.index, after);
        }
    }

    pub fn hash(&self) -> B256 {
        list_hash(&self.accounts.iter().map(|(address, seen)| seen.listed(*address)).collect::<Vec<_>>())
    }
}

impl Accesses {
    fn note(&mut self, index: u64, account: &Account) {
        let before = account.original_info();
        let is_gone = account.is_touched() && (account.is_selfdestructed() || account.is_empty());
        for (slot, value) in &account.storage {
            if value.is_changed() && !is_gone {
                self.writes.entry(*slot).or_default().insert(index, value.present_value());
                self.reads.remove(slot);
            } else if !self.writes.contains_key(slot) {
                self.reads.insert(*slot);
            }
        }
        let after = if is_gone { Default::default() } else { account.info.clone() };
        if after.balance != before.balance {
            self.balances.insert(index, after.balance);
        }
        if after.nonce != before.nonce {
            self.nonces.insert(index, after.nonce);
        }
        if after.code_hash != before.code_hash {
            self.codes.insert(index, after.code.map(|code| code.original_bytes()).unwrap_or_default());
        }
    }

    fn listed(&self, address: Address) -> ListedAccount {
        let changed = |(index, value): (&u64, &U256)| ListedChange { index: word(*index), value: Word(*value) };
        let slot = |(key, writes): (&U256, &BTreeMap<u64, U256>)| ListedSlot {
            key: Word(*key),
            changes: writes.iter().map(changed).collect(),
        };
        let nonce = |(index, nonce): (&u64, &u64)| ListedChange { index: word(*index), value: word(*nonce) };
        let code = |(index, code): (&u64, &Bytes)| ListedCode { index: word(*index), code: code.clone() };
        ListedAccount {
            address,
            storage_changes: self.writes.iter().map(slot).collect(),
            storage_reads: self.reads.iter().copied().map(Word).collect(),
            balance_changes: self.balances.iter().map(changed).collect(),
            nonce_changes: self.nonces.iter().map(nonce).collect(),
            code_changes: self.codes.iter().map(code).collect(),
        }
    }
}

fn word(number: u64) -> Word {
    Word(U256::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_has_the_hash_that_every_node_knows() {
        assert!(AccessList::default().hash().to_string().starts_with("0x1dcc4de8"));
    }
}
