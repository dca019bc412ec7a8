//! An OP-stack transaction's costs in addition to gas: roll-up fees and DA footprint.

use crate::{
    op::{DA_FOOTPRINT_SLOT, L1_BLOCK, compressed_size},
    plan::Plan,
    state::{ReadError, SimulationState},
};
use alloy_primitives::{Address, B256, U256, address, keccak256};
use revm::Database;

/// L2ToL1MessagePasser. Its storage root is the `withdrawalsRoot` of headers since Isthmus.
pub const MESSAGE_PASSER: Address = address!("4200000000000000000000000000000000000016");

/// Appends a dummy signature, because the L1 fee depends on the signed bytes: 64 incompressible bytes for `r` and `s`.
pub fn as_signed(encoded: &[u8]) -> Vec<u8> {
    let r: B256 = keccak256(encoded);
    let s: B256 = keccak256(r);
    [encoded, r.as_slice(), s.as_slice()].concat()
}

/// Jovian: the estimated compressed size times L1Block's scalar.
pub fn da_footprint(encoded: &[u8], scalar: u64) -> u64 {
    (compressed_size(encoded) / 1_000_000).saturating_mul(scalar)
}

/// The protocol's default if L1Block has no scalar.
const DEFAULT_SCALAR: u64 = 400;

/// The scalar for a whole simulation. Overrides don't change it: op-geth reads it from the attributes deposit of the block before the first
/// simulated one.
pub fn da_footprint_scalar(plan: &Plan, state: &SimulationState) -> Result<u64, ReadError> {
    match plan.da_footprint_scalar {
        Some(0) => Ok(DEFAULT_SCALAR),
        Some(scalar) => Ok(scalar),
        None => state.initial_storage(L1_BLOCK, DA_FOOTPRINT_SLOT).map(scalar_in),
    }
}

/// The scalar that the block's own attributes deposit set.
pub fn current_da_footprint_scalar(state: &mut SimulationState) -> Result<u64, ReadError> {
    state.storage(L1_BLOCK, DA_FOOTPRINT_SLOT).map(scalar_in)
}

fn scalar_in(slot: U256) -> u64 {
    let bytes = slot.to_be_bytes::<32>();
    match u16::from_be_bytes([bytes[18], bytes[19]]) {
        0 => DEFAULT_SCALAR,
        scalar => scalar.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_transaction_has_the_least_footprint() {
        assert_eq!(da_footprint(&[0; 40], 312), 31_200);
    }
}
