//! geth's checks before it runs a message (core/state_transition.go: preCheck, buyGas, execute), in its order.

use super::fees::blob_gas;
use crate::{
    evm::RollupCharge,
    plan::{Fees, PlannedCall},
    rejection::{Rejection, TransactionFault as Fault},
};
use alloy_primitives::{B256, U256};
use revm::{interpreter::InitialAndFloorGas, primitives::hardfork::SpecId};
use std::cmp::Ordering;

const MAX_BLOBS_PER_TRANSACTION: usize = 6;
const VERSIONED_HASH_KZG: u8 = 1;

/// Everything that determines whether a call is a valid transaction in its block.
pub struct TransactionCheck<'a> {
    pub call: &'a PlannedCall,
    pub spec: SpecId,
    pub validation: bool,
    pub nonce: u64,
    pub gas: u64,
    pub gas_price: U256,
    pub base_fee: U256,
    pub blob_base_fee: U256,
    pub sender_nonce: u64,
    pub sender_balance: U256,
    pub rollup: Option<&'a RollupCharge>,
    pub initial: InitialAndFloorGas,
    /// Limit of init code in bytes.
    pub init_code_limit: usize,
}

impl TransactionCheck<'_> {
    /// What the sender pays before execution.
    ///
    /// # Errors
    /// The first rule that the call breaks.
    pub fn check(&self) -> Result<U256, Rejection> {
        self.checked().map_err(|fault| Rejection::Transaction { from: self.call.from, gas: self.gas, fault })
    }

    fn checked(&self) -> Result<U256, Fault> {
        self.nonce()?;
        self.prices()?;
        self.blobs()?;
        self.authorizations()?;
        self.init_code()?;
        let upfront = self.funds()?;
        self.intrinsic_gas()?;
        let left = self.sender_balance.wrapping_sub(upfront);
        if left < self.call.value { Err(Fault::InsufficientFundsForTransfer) } else { Ok(upfront) }
    }

    fn nonce(&self) -> Result<(), Fault> {
        let (nonce, expected) = (self.nonce, self.sender_nonce);
        match nonce.cmp(&expected) {
            _ if !self.validation => Ok(()),
            Ordering::Greater => Err(Fault::NonceTooHigh { nonce, expected }),
            Ordering::Less => Err(Fault::NonceTooLow { nonce, expected }),
            Ordering::Equal if nonce == u64::MAX => Err(Fault::NonceHasMaxValue { nonce }),
            Ordering::Equal => Ok(()),
        }
    }

    fn prices(&self) -> Result<(), Fault> {
        let Fees { cap, tip } = self.call.fees();
        let base_fee = self.base_fee;
        if !self.validation && cap.is_zero() && tip.is_zero() {
            Ok(())
        } else if cap < tip {
            Err(Fault::TipAboveFeeCap { tip, cap })
        } else if cap < base_fee {
            Err(Fault::FeeCapBelowBaseFee { cap, base_fee })
        } else {
            Ok(())
        }
    }

    fn blobs(&self) -> Result<(), Fault> {
        let Some(hashes) = &self.call.blob_hashes else { return Ok(()) };
        if !self.spec.is_enabled_in(SpecId::CANCUN) {
            return Err(Fault::BlobsUnsupported);
        }
        if self.call.to.is_none() {
            return Err(Fault::BlobsOfCreation);
        }
        if hashes.is_empty() {
            return Err(Fault::NoBlobHashes);
        }
        if self.spec.is_enabled_in(SpecId::OSAKA) && hashes.len() > MAX_BLOBS_PER_TRANSACTION {
            return Err(Fault::TooManyBlobs);
        }
        if let Some(index) = hashes.iter().position(|hash: &B256| hash[0] != VERSIONED_HASH_KZG) {
            return Err(Fault::BlobHashVersion { index });
        }
        let (cap, blob_base_fee) = (self.call.max_blob_fee, self.blob_base_fee);
        let unpriced = !self.validation && cap.is_zero();
        if !unpriced && cap < blob_base_fee { Err(Fault::BlobFeeCapTooLow { cap, blob_base_fee }) } else { Ok(()) }
    }

    fn authorizations(&self) -> Result<(), Fault> {
        let Some(list) = &self.call.authorizations else { return Ok(()) };
        if !self.spec.is_enabled_in(SpecId::PRAGUE) {
            Err(Fault::SetCodeUnsupported)
        } else if self.call.to.is_none() {
            Err(Fault::SetCodeOfCreation)
        } else if list.is_empty() {
            Err(Fault::NoAuthorizations)
        } else {
            Ok(())
        }
    }

    fn init_code(&self) -> Result<(), Fault> {
        let size = self.call.input.len();
        if self.call.to.is_none() && self.spec.is_enabled_in(SpecId::SHANGHAI) && size > self.init_code_limit {
            return Err(Fault::InitCodeTooLarge { size, limit: self.init_code_limit });
        }
        Ok(())
    }

    fn funds(&self) -> Result<U256, Fault> {
        let gas = U256::from(self.gas);
        let blob_gas = U256::from(blob_gas(self.call.blob_count()));
        let rollup =
            self.rollup.map_or(U256::ZERO, |rollup| rollup.l1_fee.saturating_add(rollup.operator.of(self.gas)));
        let upfront = sum([gas.checked_mul(self.gas_price), blob_gas.checked_mul(self.blob_base_fee), Some(rollup)]);
        let want = sum([
            gas.checked_mul(self.call.fees().cap),
            Some(self.call.value),
            blob_gas.checked_mul(self.call.max_blob_fee),
            Some(rollup),
        ]);
        let (Some(upfront), Some(want)) = (upfront, want) else { return Err(Fault::PriceOverflow) };
        let have = self.sender_balance;
        if have < want { Err(Fault::InsufficientFunds { have, want }) } else { Ok(upfront) }
    }

    fn intrinsic_gas(&self) -> Result<(), Fault> {
        let (intrinsic, floor) = (self.initial.initial_total_gas(), self.initial.floor_gas());
        if self.gas < intrinsic {
            Err(Fault::IntrinsicGas { want: intrinsic })
        } else if self.gas < floor {
            Err(Fault::FloorGas { want: floor })
        } else {
            Ok(())
        }
    }
}

fn sum<const N: usize>(parts: [Option<U256>; N]) -> Option<U256> {
    parts.into_iter().try_fold(U256::ZERO, |total, part| total.checked_add(part?))
}
