//! Base fee (EIP-1559) and blob gas (EIP-4844, 7691, 7918).

use crate::plan::{BaseFeeParameters, BlobParameters, BlockRules, OpFork, ParentHeader};
use alloy_primitives::U256;
use revm::primitives::hardfork::SpecId;

const GAS_PER_BLOB: u64 = 131_072;
const BLOB_BASE_COST: u64 = 8_192;

/// The base fee after `parent`. On an OP-stack chain from Jovian on, the DA footprint counts as gas used.
pub fn next_base_fee(parent: &ParentHeader, parameters: &BaseFeeParameters) -> U256 {
    let base = parent.base_fee;
    let footprint = if parent.rules.has_op(OpFork::Jovian) { parent.blob_gas_used } else { 0 };
    let used = parent.gas_used.max(footprint);
    let target = parent.gas_limit / parameters.elasticity.max(1);
    let change = |distance: u64| {
        base.saturating_mul(U256::from(distance)) / U256::from(target) / U256::from(parameters.denominator.max(1))
    };
    let next = if target == 0 || used == target {
        base
    } else if used > target {
        base.saturating_add(change(used - target).max(U256::from(1)))
    } else {
        base.saturating_sub(change(target - used))
    };
    next.max(parameters.minimum)
}

/// Excess blob gas of a block with these rules after `parent`.
pub fn next_excess_blob_gas(rules: &BlockRules, parent: &ParentHeader) -> u64 {
    let Some(blob) = rules.blob else { return 0 };
    if !parent.rules.has(SpecId::CANCUN) {
        return 0;
    }
    let excess = parent.excess_blob_gas.saturating_add(parent.blob_gas_used);
    let target = blob.target.saturating_mul(GAS_PER_BLOB);
    if excess < target {
        return 0;
    }
    if rules.has(SpecId::OSAKA) && blob.max > 0 {
        let reserve = U256::from(BLOB_BASE_COST).saturating_mul(parent.base_fee);
        let price = U256::from(GAS_PER_BLOB).saturating_mul(blob_price(&blob, parent.excess_blob_gas));
        if reserve > price {
            return parent.excess_blob_gas + parent.blob_gas_used * blob.max.saturating_sub(blob.target) / blob.max;
        }
    }
    excess - target
}

/// Wei per blob gas: e^(excess / fraction), by EIP-4844's series.
pub fn blob_price(blob: &BlobParameters, excess: u64) -> U256 {
    let fraction = U256::from(blob.update_fraction.max(1));
    let excess = U256::from(excess);
    let mut sum = U256::ZERO;
    let mut term = fraction;
    let mut step = U256::from(1);
    while !term.is_zero() {
        sum = sum.saturating_add(term);
        let Some(product) = term.checked_mul(excess) else { return U256::MAX };
        term = product / (fraction * step);
        step += U256::from(1);
    }
    sum / fraction
}

pub fn blob_gas(blobs: u64) -> u64 {
    blobs * GAS_PER_BLOB
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRAGUE: BlobParameters = BlobParameters { target: 6, max: 9, update_fraction: 5_007_716 };

    const ETHEREUM: BaseFeeParameters = BaseFeeParameters { elasticity: 2, denominator: 8, minimum: U256::ZERO };

    fn parent(gas_used: u64, excess: u64, blobs: u64, base_fee: u64) -> ParentHeader {
        ParentHeader {
            hash: Default::default(),
            number: 1,
            timestamp: 12,
            gas_limit: 30_000_000,
            gas_used,
            base_fee: U256::from(base_fee),
            blob_gas_used: blobs * GAS_PER_BLOB,
            excess_blob_gas: excess,
            withdrawals_root: None,
            slot_number: None,
            rules: BlockRules { spec: SpecId::OSAKA, op: None, blob: Some(PRAGUE) },
        }
    }

    #[test]
    fn a_full_parent_raises_the_base_fee_by_an_eighth_and_an_empty_one_lowers_it() {
        let next = |parent: &ParentHeader| next_base_fee(parent, &ETHEREUM);
        assert_eq!(next(&parent(30_000_000, 0, 0, 1_000)), U256::from(1_125));
        assert_eq!(next(&parent(0, 0, 0, 1_000)), U256::from(875));
        assert_eq!(next(&parent(15_000_000, 0, 0, 1_000)), U256::from(1_000));
        assert_eq!(next(&parent(30_000_000, 0, 0, 1)), U256::from(2), "at least one wei");
    }

    #[test]
    fn on_an_op_stack_chain_the_footprint_counts_and_a_minimum_holds_the_fee_up() {
        let parameters = BaseFeeParameters { elasticity: 6, denominator: 25, minimum: U256::from(900) };
        let mut parent = parent(21_000, 0, 0, 1_000);
        parent.blob_gas_used = 10_000_000;
        assert_eq!(next_base_fee(&parent, &parameters), U256::from(961), "no OP chain: gas alone");
        parent.rules.op = Some(OpFork::Jovian);
        assert_eq!(next_base_fee(&parent, &parameters), U256::from(1_040));
        parent.base_fee = U256::from(100);
        assert_eq!(next_base_fee(&parent, &parameters), U256::from(900));
    }

    #[test]
    fn blob_price_is_one_without_excess_and_grows_by_e_per_fraction() {
        assert_eq!(blob_price(&PRAGUE, 0), U256::from(1));
        assert_eq!(blob_price(&PRAGUE, 10 * 5_007_716), U256::from(22_026));
        assert_eq!(blob_price(&BlobParameters { update_fraction: 1, ..PRAGUE }, u64::MAX), U256::MAX);
    }

    #[test]
    fn a_high_base_fee_keeps_blob_gas_from_falling_below_the_reserve() {
        let rules = BlockRules { spec: SpecId::OSAKA, op: None, blob: Some(PRAGUE) };
        let prague = BlockRules { spec: SpecId::PRAGUE, ..rules };
        let parent = parent(0, 10 * GAS_PER_BLOB, 3, 1_000_000_000);
        assert_eq!(next_excess_blob_gas(&prague, &parent), 7 * GAS_PER_BLOB);
        assert_eq!(next_excess_blob_gas(&rules, &parent), 11 * GAS_PER_BLOB);
    }
}
