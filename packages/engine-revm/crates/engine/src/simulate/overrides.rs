//! State overrides of a block.

use crate::{
    evm::{Moved, PrecompileSet, for_rules},
    plan::{BlockRules, StateOverride},
    rejection::{Fault, Rejection},
    state::SimulationState,
};
use alloy_primitives::{Address, map::AddressSet};

/// Applies a block's overrides (geth: override.go). Returns the block's precompiles.
pub fn apply(
    state: &mut SimulationState,
    rules: &BlockRules,
    overrides: &[StateOverride],
) -> Result<PrecompileSet, Fault> {
    let active = for_rules(rules);
    let mut moved: Option<Moved> = None;
    let overridden: AddressSet = if overrides.iter().any(|entry| entry.move_precompile_to.is_some()) {
        overrides.iter().map(|entry| entry.address).collect()
    } else {
        AddressSet::default()
    };
    let mut taken: Vec<Address> = Vec::new();
    for entry in overrides {
        if taken.contains(&entry.address) {
            return Err(Rejection::TakenByPrecompile { address: entry.address }.into());
        }
        let precompile = match &moved {
            Some(moved) => moved.get(&entry.address),
            None => active.get(&entry.address),
        }
        .cloned();
        if let Some(to) = entry.move_precompile_to {
            let Some(precompile) = &precompile else {
                return Err(Rejection::NotPrecompile { address: entry.address }.into());
            };
            if overridden.contains(&to) {
                return Err(Rejection::AlreadyOverridden { address: to }.into());
            }
            moved.get_or_insert_with(|| active.inner().clone()).insert(to, precompile.clone());
            taken.push(to);
        }
        if precompile.is_some() {
            moved.get_or_insert_with(|| active.inner().clone()).remove(&entry.address);
        }
        change(state, entry);
    }
    Ok(PrecompileSet::new(rules, moved))
}

fn change(state: &mut SimulationState, entry: &StateOverride) {
    if let Some(code) = &entry.code {
        state.set_code(entry.address, code.clone());
    }
    let change = state.change(entry.address);
    change.exists |= entry.nonce.is_some()
        || entry.code.is_some()
        || entry.balance.is_some()
        || entry.state.is_some()
        || entry.state_diff.is_some();
    change.nonce = entry.nonce.or(change.nonce);
    change.balance = entry.balance.or(change.balance);
    if let Some(slots) = &entry.state {
        change.storage_cleared = true;
        change.storage = slots.iter().copied().collect();
    }
    if let Some(slots) = &entry.state_diff {
        change.storage.extend(slots.iter().copied());
    }
}
