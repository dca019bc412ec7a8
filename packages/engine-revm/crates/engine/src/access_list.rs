//! Builds a block's access list (EIP-7928) while the block runs.

use alloy_eips::eip7928::{BlockAccessIndex, compute_block_access_list_hash};
use alloy_primitives::{Address, B256, U256};
use revm::state::{EvmState, bal::Bal};

#[derive(Debug, Default)]
pub struct AccessList {
    /// The index of what is added next: 0 before the block's transactions, then their positions from 1 on, and one more after the last.
    pub index: u64,
    accesses: Bal,
}

impl AccessList {
    /// Adds what one transaction or system call has loaded and changed.
    pub fn add(&mut self, changes: &EvmState) {
        for (address, account) in changes {
            self.accesses.update_account(BlockAccessIndex::new(self.index), *address, account);
        }
    }

    /// Adds the balance before and after a withdrawal.
    pub fn add_balance(&mut self, address: Address, before: U256, after: U256) {
        let account = self.accesses.accounts.entry(address).or_default();
        account.balance_update(BlockAccessIndex::new(self.index), &before, after);
    }

    pub fn hash(self) -> B256 {
        compute_block_access_list_hash(&self.accesses.into_alloy_bal())
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
