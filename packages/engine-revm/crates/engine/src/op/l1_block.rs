//! The roll-up's fees by L1Block's parameters: https://specs.optimism.io/protocol/exec-engine.html#l1-cost-fees-l1-fee-vault

use super::{OpFork, compressed_size};
use crate::state::ReadError;
use alloy_primitives::{Address, U256, address};
use revm::Database;

/// The predeploy that each block's attributes deposit writes to.
pub const L1_BLOCK: Address = address!("4200000000000000000000000000000000000015");

const BASE_FEE: U256 = slot(1);
/// Ecotone: scalars of four bytes each, from bytes 16 and 20.
const SCALARS: U256 = slot(3);
const OVERHEAD: U256 = slot(5);
const SCALAR: U256 = slot(6);
const BLOB_BASE_FEE: U256 = slot(7);
/// Isthmus: the operator fee scalar in four bytes from byte 20, its constant in the last eight.
const OPERATOR: U256 = slot(8);
/// Jovian: bytes 18 and 19.
pub const DA_FOOTPRINT_SLOT: U256 = OPERATOR;

/// The slots that fees are computed from, since Ecotone.
pub const FEE_SLOTS: [U256; 4] = [BASE_FEE, SCALARS, BLOB_BASE_FEE, OPERATOR];

const MILLION: U256 = slot(1_000_000);
/// Gas of a non-zero byte, and of a zero byte.
const BYTE_GAS: u64 = 16;
const ZERO_BYTE_GAS: u64 = 4;

const fn slot(number: u64) -> U256 {
    U256::from_limbs([number, 0, 0, 0])
}

/// Fee parameters for one block's transactions.
#[derive(Clone, Copy, Debug)]
pub struct L1Block {
    fork: OpFork,
    base_fee: U256,
    scalar: U256,
    blob_base_fee: U256,
    blob_scalar: U256,
    /// Before Ecotone, and in its first block, which has no scalars yet: added to the gas of a transaction's bytes.
    overhead: Option<U256>,
    pub operator: OperatorFee,
}

/// `gas * scalar (* 100 from Jovian, / 10^6 before) + constant`.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperatorFee {
    pub scalar: U256,
    pub constant: U256,
    pub jovian: bool,
}

/// op-geth's receipt fields on fees. The optional ones exist from Ecotone, Isthmus and Jovian on.
#[derive(Clone, Debug, Default)]
pub struct RollupReceipt {
    pub l1_gas_price: U256,
    pub l1_gas_used: U256,
    pub l1_fee: U256,
    pub l1_base_fee_scalar: Option<U256>,
    pub l1_blob_base_fee: Option<U256>,
    pub l1_blob_base_fee_scalar: Option<U256>,
    /// Absent, like the constant, if both are zero.
    pub operator_fee_scalar: Option<U256>,
    pub operator_fee_constant: Option<U256>,
    pub da_footprint_gas_scalar: Option<u64>,
}

impl OperatorFee {
    pub fn of(&self, gas: u64) -> U256 {
        let product = U256::from(gas).saturating_mul(self.scalar);
        let variable = if self.jovian { product.saturating_mul(U256::from(100)) } else { product / MILLION };
        variable.saturating_add(self.constant)
    }
}

impl L1Block {
    /// Reads the parameters from the current slots.
    pub fn read(state: &mut impl Database<Error = ReadError>, fork: OpFork) -> Result<Self, ReadError> {
        let mut block = Self {
            fork,
            base_fee: state.storage(L1_BLOCK, BASE_FEE)?,
            scalar: U256::ZERO,
            blob_base_fee: U256::ZERO,
            blob_scalar: U256::ZERO,
            overhead: None,
            operator: OperatorFee::default(),
        };
        if fork >= OpFork::Ecotone {
            block.blob_base_fee = state.storage(L1_BLOCK, BLOB_BASE_FEE)?;
            let scalars = state.storage(L1_BLOCK, SCALARS)?.to_be_bytes::<32>();
            block.scalar = U256::from_be_slice(&scalars[16..20]);
            block.blob_scalar = U256::from_be_slice(&scalars[20..24]);
            if block.scalar.is_zero() && block.blob_scalar.is_zero() {
                block.overhead = Some(state.storage(L1_BLOCK, OVERHEAD)?);
            }
        } else {
            block.scalar = state.storage(L1_BLOCK, SCALAR)?;
            block.overhead = Some(state.storage(L1_BLOCK, OVERHEAD)?);
        }
        if fork >= OpFork::Isthmus {
            let operator = state.storage(L1_BLOCK, OPERATOR)?.to_be_bytes::<32>();
            block.operator = OperatorFee {
                scalar: U256::from_be_slice(&operator[20..24]),
                constant: U256::from_be_slice(&operator[24..32]),
                jovian: fork >= OpFork::Jovian,
            };
        }
        Ok(block)
    }

    /// Wei for a transaction, other than a deposit, with these EIP-2718 bytes.
    pub fn l1_fee(&self, encoded: &[u8]) -> U256 {
        self.fee_of(self.size(encoded))
    }

    /// Millionths of a byte from Fjord on, gas before it.
    fn size(&self, encoded: &[u8]) -> U256 {
        U256::from(if self.fork >= OpFork::Fjord { compressed_size(encoded) } else { data_gas(encoded, self.fork) })
    }

    fn fee_of(&self, size: U256) -> U256 {
        let calldata = self.base_fee.saturating_mul(U256::from(BYTE_GAS)).saturating_mul(self.scalar);
        let blobs = self.blob_base_fee.saturating_mul(self.blob_scalar);
        let price = calldata.saturating_add(blobs);
        if self.fork >= OpFork::Fjord {
            return size.saturating_mul(price) / MILLION / MILLION;
        }
        match self.overhead {
            Some(overhead) => {
                size.saturating_add(overhead).saturating_mul(self.base_fee).saturating_mul(self.scalar) / MILLION
            }
            None => price.saturating_mul(size) / (MILLION * U256::from(BYTE_GAS)),
        }
    }

    /// The receipt's fields for a transaction, other than a deposit, with these EIP-2718 bytes.
    pub fn receipt(&self, encoded: &[u8]) -> RollupReceipt {
        let of_ecotone = |value| self.overhead.is_none().then_some(value);
        let has_operator = !(self.operator.scalar.is_zero() && self.operator.constant.is_zero());
        let size = self.size(encoded);
        let l1_gas_used = if self.fork >= OpFork::Fjord {
            size.saturating_mul(U256::from(BYTE_GAS)) / MILLION
        } else {
            size.saturating_add(self.overhead.unwrap_or_default())
        };
        RollupReceipt {
            l1_gas_price: self.base_fee,
            l1_gas_used,
            l1_fee: self.fee_of(size),
            l1_base_fee_scalar: of_ecotone(self.scalar),
            l1_blob_base_fee: of_ecotone(self.blob_base_fee),
            l1_blob_base_fee_scalar: of_ecotone(self.blob_scalar),
            operator_fee_scalar: has_operator.then_some(self.operator.scalar),
            operator_fee_constant: has_operator.then_some(self.operator.constant),
            da_footprint_gas_scalar: None,
        }
    }
}

/// Before Fjord. Before Regolith, 68 bytes were added for a signature.
fn data_gas(encoded: &[u8], fork: OpFork) -> u64 {
    let bytes: u64 = encoded.iter().map(|byte| if *byte == 0 { ZERO_BYTE_GAS } else { BYTE_GAS }).sum();
    bytes + if fork < OpFork::Regolith { 68 * BYTE_GAS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(fork: OpFork) -> L1Block {
        L1Block {
            fork,
            base_fee: U256::from(1_000),
            scalar: U256::from(1_000),
            blob_base_fee: U256::from(1_000),
            blob_scalar: U256::from(1_000),
            overhead: (fork < OpFork::Ecotone).then_some(U256::from(1_000)),
            operator: OperatorFee::default(),
        }
    }

    /// Three formulas, calculated by hand for the bytes FA CA DE.
    #[test]
    fn l1_fee_by_fork() {
        let fee = |fork| block(fork).l1_fee(&[0xfa, 0xca, 0xde]);
        assert_eq!(fee(OpFork::Bedrock), U256::from(48 + 68 * 16 + 1_000));
        assert_eq!(fee(OpFork::Regolith), U256::from(48 + 1_000));
        assert_eq!(fee(OpFork::Ecotone), U256::from(17 * 3));
        assert_eq!(fee(OpFork::Fjord), U256::from(17 * 100));
    }

    #[test]
    fn zero_bytes_cost_a_quarter_before_fjord() {
        assert_eq!(data_gas(&[0xfa, 0, 0xca, 0, 0xde], OpFork::Regolith), 3 * 16 + 2 * 4);
    }

    #[test]
    fn operator_fee_by_fork() {
        let fee = |jovian| OperatorFee { scalar: U256::from(2_000_000), constant: U256::from(7), jovian }.of(1_000);
        assert_eq!(fee(false), U256::from(2_007));
        assert_eq!(fee(true), U256::from(200_000_000_007u64));
    }
}
