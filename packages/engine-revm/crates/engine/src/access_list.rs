//! Builds a block's access list (EIP-7928) while the block runs.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::Encodable;
use revm::state::{Account, EvmState};
use std::collections::{BTreeMap, BTreeSet};

/// Begins an RLP list. @returns its position, for `end_list`
pub fn begin_list(rlp: &mut Vec<u8>) -> usize {
    rlp.push(0);
    rlp.len()
}

/// Ends the list begun at `from`: inserts its length, which moves the content if it takes more than one byte.
pub fn end_list(rlp: &mut Vec<u8>, from: usize) {
    let length = rlp.len() - from;
    if length < 56 {
        rlp[from - 1] = 0xc0 + length as u8;
        return;
    }
    let bytes = length.to_be_bytes();
    let bytes = &bytes[length.leading_zeros() as usize / 8..];
    rlp[from - 1] = 0xf7 + bytes.len() as u8;
    rlp.extend_from_slice(bytes);
    rlp[from..].rotate_right(bytes.len());
}

/// Accounts by address, with sorted content.
#[derive(Debug, Default)]
pub struct AccessList {
    /// The index of what is noted next: 0 before the block's transactions, then their positions from 1 on, and one more after the last.
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
    /// Notes what one transaction or system call has loaded and changed.
    pub fn note(&mut self, changes: &EvmState) {
        for (address, account) in changes {
            self.accounts.entry(*address).or_default().note(self.index, account);
        }
    }

    /// Notes the balance before and after a withdrawal.
    pub fn note_balance(&mut self, address: Address, before: U256, after: U256) {
        let account = self.accounts.entry(address).or_default();
        if after != before {
            account.balances.insert(self.index, after);
        }
    }

    pub fn hash(&self) -> B256 {
        let mut rlp = Vec::new();
        list(&mut rlp, &self.accounts, |rlp, (address, seen)| seen.write(*address, rlp));
        keccak256(rlp)
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

    fn write(&self, address: Address, rlp: &mut Vec<u8>) {
        let account = begin_list(rlp);
        address.encode(rlp);
        list(rlp, &self.writes, |rlp, (slot, values)| {
            let written = begin_list(rlp);
            slot.encode(rlp);
            changes(rlp, values);
            end_list(rlp, written);
        });
        list(rlp, &self.reads, |rlp, slot| slot.encode(rlp));
        changes(rlp, &self.balances);
        changes(rlp, &self.nonces);
        changes(rlp, &self.codes);
        end_list(rlp, account);
    }
}

fn list<T>(rlp: &mut Vec<u8>, items: impl IntoIterator<Item = T>, write: impl Fn(&mut Vec<u8>, T)) {
    let from = begin_list(rlp);
    items.into_iter().for_each(|item| write(rlp, item));
    end_list(rlp, from);
}

fn changes(rlp: &mut Vec<u8>, values: &BTreeMap<u64, impl Encodable>) {
    list(rlp, values, |rlp, (index, value)| {
        let change = begin_list(rlp);
        index.encode(rlp);
        value.encode(rlp);
        end_list(rlp, change);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_has_the_hash_that_every_node_knows() {
        assert!(AccessList::default().hash().to_string().starts_with("0x1dcc4de8"));
    }
}
