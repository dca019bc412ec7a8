//! The list of what a block accesses and changes (EIP-7928), as it runs.

use alloy_eip7928::{
    AccountChanges, BalanceChange, BlockAccessIndex, CodeChange, NonceChange, SlotChanges, StorageChange,
    compute_block_access_list_hash,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use revm::state::{Account, EvmState};
use std::collections::{BTreeMap, BTreeSet};

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
        compute_block_access_list_hash(
            &self.accounts.iter().map(|(address, seen)| seen.encodable(*address)).collect::<Vec<_>>(),
        )
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

    fn encodable(&self, address: Address) -> AccountChanges {
        let at = BlockAccessIndex;
        let slot = |(slot, writes): (&U256, &BTreeMap<u64, U256>)| SlotChanges {
            slot: *slot,
            changes: writes.iter().map(|(index, value)| StorageChange::new(at(*index), *value)).collect(),
        };
        AccountChanges {
            address,
            storage_changes: self.writes.iter().map(slot).collect(),
            storage_reads: self.reads.iter().copied().collect(),
            balance_changes: self
                .balances
                .iter()
                .map(|(index, value)| BalanceChange::new(at(*index), *value))
                .collect(),
            nonce_changes: self.nonces.iter().map(|(index, value)| NonceChange::new(at(*index), *value)).collect(),
            code_changes: self.codes.iter().map(|(index, code)| CodeChange::new(at(*index), code.clone())).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_has_the_hash_that_every_node_knows() {
        assert!(AccessList::default().hash().to_string().starts_with("0x1dcc4de8"));
    }
}
