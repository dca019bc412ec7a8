//! Counts what calls touched.

use crate::outcome::TouchedList;
use alloy_primitives::{
    Address, B256, U256,
    map::{AddressSet, HashSet},
};

/// Distinct accounts and slots that calls touched, for metering.
#[derive(Debug, Default)]
pub struct TouchedSet {
    accounts: AddressSet,
    slots: HashSet<(Address, U256)>,
}

impl TouchedSet {
    pub fn account(&mut self, address: Address) {
        self.accounts.insert(address);
    }

    pub fn slot(&mut self, address: Address, slot: U256) {
        self.slots.insert((address, slot));
    }

    pub fn accounts(&self) -> usize {
        self.accounts.len()
    }

    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    pub fn list(&self) -> TouchedList {
        let mut accounts: Vec<Address> = self.accounts.iter().copied().collect();
        accounts.sort_unstable();
        let mut slots: Vec<(Address, B256)> =
            self.slots.iter().map(|(address, slot)| (*address, B256::from(*slot))).collect();
        slots.sort_unstable();
        TouchedList { accounts, slots }
    }
}
