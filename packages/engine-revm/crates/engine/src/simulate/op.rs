//! What a transaction costs on an OP-stack chain beside gas: the roll-up's fees and the DA footprint.

use crate::{
    evm::RollupCharge,
    op::{DA_FOOTPRINT_SLOT, L1_BLOCK, L1Block, OpFork, compressed_size},
    plan::Plan,
    state::{ReadError, SimulationState},
};
use alloy_primitives::{Address, B256, U256, address, keccak256};
use revm::Database;

/// L2ToL1MessagePasser: its storage root is an Isthmus header's withdrawalsRoot.
pub const MESSAGE_PASSER: Address = address!("4200000000000000000000000000000000000016");

/// The roll-up's fees for a transaction, by the current slots of L1Block.
/// @param signed its EIP-2718 bytes, or those that stand for them
pub fn rollup_charge(
    state: &mut impl Database<Error = ReadError>,
    fork: OpFork,
    signed: &[u8],
    base_fee: U256,
) -> Result<RollupCharge, ReadError> {
    let block = L1Block::read(state, fork)?;
    Ok(RollupCharge { l1_fee: block.l1_fee(signed), base_fee, operator: block.operator })
}

/// The L1 fee depends on the bytes of the signed transaction. A call is not signed, so 64 bytes that don't compress stand for `r`
/// and `s`.
pub fn as_signed(encoded: &[u8]) -> Vec<u8> {
    let r: B256 = keccak256(encoded);
    let s: B256 = keccak256(r);
    [encoded, r.as_slice(), s.as_slice()].concat()
}

/// Jovian: an estimate of the transaction's compressed bytes, times the scalar in L1Block.
pub fn da_footprint(encoded: &[u8], scalar: u64) -> u64 {
    (compressed_size(encoded) / 1_000_000).saturating_mul(scalar)
}

/// The protocol's scalar if L1Block holds none.
const DEFAULT_SCALAR: u64 = 400;

/// The scalar of a whole simulation. Overrides don't change it: like op-geth, which reads it from the attributes deposit of the
/// block before the first simulated one.
pub fn da_footprint_scalar(plan: &Plan, state: &SimulationState) -> Result<u64, ReadError> {
    match plan.da_footprint_scalar {
        Some(0) => Ok(DEFAULT_SCALAR),
        Some(scalar) => Ok(scalar),
        None => state.initial_storage(L1_BLOCK, DA_FOOTPRINT_SLOT).map(scalar_in),
    }
}

/// The scalar that the block's own attributes deposit has set.
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
