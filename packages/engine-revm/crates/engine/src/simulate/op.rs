//! OP-stack rules: base fee from the parent's extra data, roll-up fees, DA footprint.

use super::fees::next_base_fee;
use crate::{
    evm::{OperatorFee, RollupCharge},
    plan::{ChainRules, ParentHeader},
    state::ReadError,
};
use alloy_primitives::{B256, U256, keccak256};
use op_revm::{L1BlockInfo, OpSpecId, estimate_tx_compressed_size};
use revm::Database;

/// EIP-1559 parameters as a header carries them from Holocene on, with Jovian's minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseFeeParameters {
    elasticity: u64,
    denominator: u64,
    minimum: U256,
}

impl BaseFeeParameters {
    /// Those that the block after `parent` is priced by.
    pub fn of_parent(chain: &ChainRules, parent: &ParentHeader) -> Option<Self> {
        let configured = chain.op_base_fee?;
        let denominator =
            if parent.rules.has_op(OpSpecId::CANYON) { configured.denominator_canyon } else { configured.denominator };
        let fallback = Self { elasticity: configured.elasticity, denominator, minimum: U256::ZERO };
        if !parent.rules.has_op(OpSpecId::HOLOCENE) {
            return Some(fallback);
        }
        let extra = &parent.extra_data;
        let word = |from: usize, to: usize| extra.get(from..to).map(|bytes| U256::from_be_slice(bytes)).unwrap_or_default();
        let (denominator, elasticity): (u64, u64) = (word(1, 5).to(), word(5, 9).to());
        let minimum = if extra.first() == Some(&1) { word(9, 17) } else { U256::ZERO };
        Some(match (denominator, elasticity) {
            (0, _) | (_, 0) => Self { minimum, ..fallback },
            _ => Self { elasticity, denominator, minimum },
        })
    }

    pub fn next_base_fee(&self, parent: &ParentHeader) -> U256 {
        let metered = if parent.rules.has_op(OpSpecId::JOVIAN) {
            parent.gas_used.max(parent.blob_gas_used)
        } else {
            parent.gas_used
        };
        next_base_fee(parent, metered, self.elasticity, self.denominator).max(self.minimum)
    }
}

/// What the roll-up asks for a transaction, by L1Block's slots as they stand.
pub fn rollup_charge(
    state: &mut impl Database<Error = ReadError>,
    op: OpSpecId,
    number: u64,
    encoded: &[u8],
    base_fee: U256,
) -> Result<RollupCharge, ReadError> {
    let mut info = L1BlockInfo::try_fetch(state, U256::from(number), op)?;
    let l1_fee = info.calculate_tx_l1_cost(&as_signed(encoded), op);
    let operator = OperatorFee {
        scalar: info.operator_fee_scalar.unwrap_or_default(),
        constant: info.operator_fee_constant.unwrap_or_default(),
        jovian: op.is_enabled_in(OpSpecId::JOVIAN),
    };
    Ok(RollupCharge { l1_fee, base_fee, operator })
}

/// A call is not signed, but the L1 fee depends on the signed bytes: 64 bytes that do not compress stand for `r` and `s`.
fn as_signed(encoded: &[u8]) -> Vec<u8> {
    let r: B256 = keccak256(encoded);
    let s: B256 = keccak256(r);
    [encoded, r.as_slice(), s.as_slice()].concat()
}

/// Jovian: bytes that the transaction takes of the L1's data, by estimate, times the scalar that L1Block holds.
pub fn da_footprint(encoded: &[u8], scalar: u64) -> u64 {
    (estimate_tx_compressed_size(encoded) / 1_000_000).saturating_mul(scalar)
}

pub fn da_footprint_scalar(state: &mut impl Database<Error = ReadError>) -> Result<u64, ReadError> {
    match L1BlockInfo::fetch_da_footprint_gas_scalar(state)? {
        // The protocol's default where L1Block has none.
        0 => Ok(400),
        scalar => Ok(scalar.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BlockRules, OpBaseFee};
    use alloy_primitives::{Bytes, bytes};
    use revm::primitives::hardfork::SpecId;

    fn parent(op: OpSpecId, extra_data: Bytes) -> ParentHeader {
        ParentHeader {
            hash: B256::ZERO,
            number: 30,
            timestamp: 60,
            gas_limit: 40_000_000,
            gas_used: 21_000,
            base_fee: U256::from(2_000_000_000u64),
            blob_gas_used: 10_000_000,
            excess_blob_gas: 0,
            withdrawals_root: None,
            extra_data,
            rules: BlockRules { spec: SpecId::PRAGUE, op: Some(op), blob: None },
        }
    }

    fn chain() -> ChainRules {
        let op_base_fee = Some(OpBaseFee { elasticity: 6, denominator: 50, denominator_canyon: 250 });
        ChainRules { chain_id: 10, deposit_contract: None, op_base_fee }
    }

    #[test]
    fn parameters_come_from_the_parents_extra_data() {
        let jovian = parent(OpSpecId::JOVIAN, bytes!("0100000019000000060000000077359400"));
        let parameters = BaseFeeParameters::of_parent(&chain(), &jovian).expect("an OP chain");
        assert_eq!(parameters, BaseFeeParameters { elasticity: 6, denominator: 25, minimum: U256::from(2_000_000_000u64) });
        assert_eq!(parameters.next_base_fee(&jovian), U256::from(2_040_000_000u64), "the footprint counts as gas");
        let holocene = parent(OpSpecId::HOLOCENE, bytes!("000000000000000000"));
        let parameters = BaseFeeParameters::of_parent(&chain(), &holocene).expect("an OP chain");
        assert_eq!(parameters, BaseFeeParameters { elasticity: 6, denominator: 250, minimum: U256::ZERO });
    }

    #[test]
    fn the_minimum_holds_the_base_fee_up() {
        let mut jovian = parent(OpSpecId::JOVIAN, bytes!("0100000019000000060000000077359400"));
        jovian.blob_gas_used = 0;
        let parameters = BaseFeeParameters::of_parent(&chain(), &jovian).expect("an OP chain");
        assert_eq!(parameters.next_base_fee(&jovian), U256::from(2_000_000_000u64));
    }

    #[test]
    fn a_small_transaction_has_the_least_footprint() {
        assert_eq!(da_footprint(&[0; 40], 312), 31_200);
    }
}
