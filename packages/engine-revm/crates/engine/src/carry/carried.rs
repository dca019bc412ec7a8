use super::difference::{Difference, Differs};
use crate::state::{AccountChange, Layer, NotCarried, Read, ReadError, StateCache};
use alloy_primitives::{B256, U256, map::AddressMap};
use std::{mem, sync::Arc};

/// What became of carrying a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    Carried { written: u64, sample: Vec<Sampled> },
    Differs { difference: Difference, detail: String },
}

/// A word that a block wrote, or that was carried to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    pub read: Read,
    pub value: U256,
}

/// Words that one block wrote, and as many others, that an audit may look at.
const SAMPLED: usize = 16;

/// Carries the state of block `parent` over to the one with this hash and number.
/// @param layers what had been executed of the block before, on the parent's state
/// @param changed what it changes beside
pub fn carry(
    cache: &StateCache,
    parent: B256,
    (hash, number): (B256, u64),
    layers: &[Arc<Layer>],
    changed: Result<AddressMap<AccountChange>, Differs>,
) -> Result<Carried, ReadError> {
    let mut newest = match changed {
        Ok(changes) => changes,
        Err(Differs::Found { difference, detail }) => return Ok(Carried::Differs { difference, detail }),
        Err(Differs::Read(error)) => return Err(error),
    };
    let mut changes: AddressMap<AccountChange> = AddressMap::default();
    if layers.is_empty() {
        changes = mem::take(&mut newest);
    }
    for accounts in layers.iter().map(|layer| &layer.accounts).chain([&newest]) {
        for (address, change) in accounts {
            changes.entry(*address).or_default().overlay(change);
        }
    }
    let differs = |difference, detail: String| Ok(Carried::Differs { difference, detail });
    match cache.carry(parent, hash, &changes, number.saturating_sub(1)) {
        Ok(written) => {
            let mut sample = sample(&changes);
            if let Some(state) = cache.find(hash) {
                let held =
                    state.some_words(u64::from_be_bytes(*hash.last_chunk().unwrap_or(&[0; 8])) as usize, SAMPLED);
                sample.extend(held.into_iter().map(|(read, value)| Sampled { read, value }));
            }
            Ok(Carried::Carried { written: written as u64, sample })
        }
        Err(NotCarried::Parent) => differs(Difference::Parent, "the parent's state is no longer held".to_owned()),
        Err(NotCarried::Disputed(read)) => differs(Difference::Disputed, format!("{read:?}")),
    }
}

/// Some of the words, spread over all.
fn sample(changes: &AddressMap<AccountChange>) -> Vec<Sampled> {
    let words = || {
        changes.iter().flat_map(|(address, change)| {
            let balance = change.balance.map(|value| Sampled { read: Read::Balance(*address), value });
            let nonce = change.nonce.map(|nonce| Sampled { read: Read::Nonce(*address), value: U256::from(nonce) });
            let slots = change.storage.iter();
            let slots = slots.map(|(slot, value)| Sampled { read: Read::Storage(*address, *slot), value: *value });
            balance.into_iter().chain(nonce).chain(slots)
        })
    };
    let each = words().count().div_ceil(SAMPLED).max(1);
    words().step_by(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::Address;

    #[test]
    fn samples_a_few_words_of_many() {
        let mut changes: AddressMap<AccountChange> = AddressMap::default();
        assert_eq!(sample(&changes), []);
        for number in 0..100 {
            let storage = (0..10).map(|slot| (U256::from(slot), U256::from(slot))).collect();
            let change = AccountChange { storage, nonce: Some(1), ..AccountChange::default() };
            changes.insert(Address::with_last_byte(number), change);
        }
        let sampled = sample(&changes);
        assert!(sampled.len() > 10 && sampled.len() <= SAMPLED, "{}", sampled.len());
    }
}
