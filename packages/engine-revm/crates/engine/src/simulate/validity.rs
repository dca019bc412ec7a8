//! What geth checks before it runs a message (core/state_transition.go: preCheck, buyGas, execute), in its order and words.

use super::fees::blob_gas;
use crate::{
    evm::RollupCharge,
    plan::PlannedCall,
    rejection::{Fault, code},
};
use alloy_primitives::{B256, U256};
use revm::{interpreter::InitialAndFloorGas, primitives::hardfork::SpecId};

const MAX_INIT_CODE: usize = 49_152;
const MAX_BLOBS_PER_TRANSACTION: usize = 6;
const VERSIONED_HASH_KZG: u8 = 1;

/// All that decides whether a call is a valid transaction here.
pub struct Candidate<'a> {
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
}

impl Candidate<'_> {
    /// What the sender pays before execution.
    /// # Errors
    /// The first rule that the call breaks.
    pub fn check(&self) -> Result<U256, Fault> {
        self.nonce()?;
        self.prices()?;
        self.blobs()?;
        self.authorizations()?;
        self.init_code()?;
        let upfront = self.funds()?;
        self.intrinsic_gas()?;
        let left = self.sender_balance.wrapping_sub(upfront);
        if left < self.call.value {
            return Err(self.fault(
                code::INSUFFICIENT_FUNDS,
                format!("insufficient funds for transfer: address {}", self.call.from),
            ));
        }
        Ok(upfront)
    }

    fn fault(&self, code: i32, words: String) -> Fault {
        Fault::new(code, format!("err: {words} (supplied gas {})", self.gas))
    }

    fn nonce(&self) -> Result<(), Fault> {
        if !self.validation {
            return Ok(());
        }
        let (tx, state, from) = (self.nonce, self.sender_nonce, self.call.from);
        if state < tx {
            Err(self.fault(code::NONCE_TOO_HIGH, format!("nonce too high: address {from}, tx: {tx} state: {state}")))
        } else if state > tx {
            Err(self.fault(code::NONCE_TOO_LOW, format!("nonce too low: address {from}, tx: {tx} state: {state}")))
        } else if state == u64::MAX {
            Err(self.fault(code::INTERNAL_ERROR, format!("nonce has max value: address {from}, nonce: {state}")))
        } else {
            Ok(())
        }
    }

    fn prices(&self) -> Result<(), Fault> {
        let fees = self.call.fees();
        let from = self.call.from;
        if !self.validation && fees.cap.is_zero() && fees.tip.is_zero() {
            return Ok(());
        }
        if fees.cap < fees.tip {
            let words = format!(
                "max priority fee per gas higher than max fee per gas: address {from}, maxPriorityFeePerGas: {}, maxFeePerGas: {}",
                fees.tip, fees.cap
            );
            return Err(self.fault(code::INVALID_PARAMS, words));
        }
        if fees.cap < self.base_fee {
            let words = format!(
                "max fee per gas less than block base fee: address {from}, maxFeePerGas: {}, baseFee: {}",
                fees.cap, self.base_fee
            );
            return Err(self.fault(code::BASE_FEE_TOO_LOW, words));
        }
        Ok(())
    }

    fn blobs(&self) -> Result<(), Fault> {
        let Some(hashes) = &self.call.blob_hashes else { return Ok(()) };
        let from = self.call.from;
        if !self.spec.is_enabled_in(SpecId::CANCUN) {
            let words = format!("transaction type not supported: blob tx (sender {from})");
            return Err(self.fault(code::INTERNAL_ERROR, words));
        }
        if self.call.to.is_none() {
            return Err(self.fault(code::INTERNAL_ERROR, "blob transaction of type create".into()));
        }
        if hashes.is_empty() {
            return Err(self.fault(code::INTERNAL_ERROR, "blob transaction missing blob hashes".into()));
        }
        if self.spec.is_enabled_in(SpecId::OSAKA) && hashes.len() > MAX_BLOBS_PER_TRANSACTION {
            return Err(self.fault(code::INTERNAL_ERROR, "blob transaction has too many blobs".into()));
        }
        if let Some(at) = hashes.iter().position(|hash: &B256| hash[0] != VERSIONED_HASH_KZG) {
            return Err(self.fault(code::INTERNAL_ERROR, format!("blob {at} has invalid hash version")));
        }
        let unpriced = !self.validation && self.call.max_blob_fee.is_zero();
        if !unpriced && self.call.max_blob_fee < self.blob_base_fee {
            let words = format!(
                "max fee per blob gas less than block blob gas fee: address {from} blobGasFeeCap: {}, blobBaseFee: {}",
                self.call.max_blob_fee, self.blob_base_fee
            );
            return Err(self.fault(code::INTERNAL_ERROR, words));
        }
        Ok(())
    }

    fn authorizations(&self) -> Result<(), Fault> {
        let Some(list) = &self.call.authorizations else { return Ok(()) };
        let from = self.call.from;
        let words = if !self.spec.is_enabled_in(SpecId::PRAGUE) {
            format!("transaction type not supported: setcode tx (sender {from})")
        } else if self.call.to.is_none() {
            format!("EIP-7702 transaction cannot be used to create contract (sender {from})")
        } else if list.is_empty() {
            format!("EIP-7702 transaction with empty auth list (sender {from})")
        } else {
            return Ok(());
        };
        Err(self.fault(code::INTERNAL_ERROR, words))
    }

    fn init_code(&self) -> Result<(), Fault> {
        let size = self.call.input.len();
        if self.call.to.is_none() && self.spec.is_enabled_in(SpecId::SHANGHAI) && size > MAX_INIT_CODE {
            let words = format!("max initcode size exceeded: code size {size} limit {MAX_INIT_CODE}");
            return Err(self.fault(code::INIT_CODE_TOO_LARGE, words));
        }
        Ok(())
    }

    fn funds(&self) -> Result<U256, Fault> {
        let gas = U256::from(self.gas);
        let blob_gas = U256::from(blob_gas(self.call.blob_count()));
        let rollup =
            self.rollup.map_or(U256::ZERO, |rollup| rollup.l1_fee.saturating_add(rollup.operator.of(self.gas)));
        let upfront = sum([gas.checked_mul(self.gas_price), blob_gas.checked_mul(self.blob_base_fee), Some(rollup)]);
        let wanted = sum([
            gas.checked_mul(self.call.fees().cap),
            Some(self.call.value),
            blob_gas.checked_mul(self.call.max_blob_fee),
            Some(rollup),
        ]);
        let from = self.call.from;
        let (Some(upfront), Some(wanted)) = (upfront, wanted) else {
            let words =
                format!("insufficient funds for gas * price + value: address {from} required balance exceeds 256 bits");
            return Err(self.fault(code::INSUFFICIENT_FUNDS, words));
        };
        if self.sender_balance < wanted {
            let words = format!(
                "insufficient funds for gas * price + value: address {from} have {} want {wanted}",
                self.sender_balance
            );
            return Err(self.fault(code::INSUFFICIENT_FUNDS, words));
        }
        Ok(upfront)
    }

    fn intrinsic_gas(&self) -> Result<(), Fault> {
        let InitialAndFloorGas { initial_total_gas: intrinsic, floor_gas: floor, .. } = self.initial;
        if self.gas < intrinsic {
            return Err(
                self.fault(code::INTRINSIC_GAS, format!("intrinsic gas too low: have {}, want {intrinsic}", self.gas))
            );
        }
        if self.gas < floor {
            let words = format!("insufficient gas for floor data gas cost: have {}, want {floor}", self.gas);
            return Err(self.fault(code::INTERNAL_ERROR, words));
        }
        Ok(())
    }
}

fn sum<const N: usize>(parts: [Option<U256>; N]) -> Option<U256> {
    parts.into_iter().try_fold(U256::ZERO, |total, part| total.checked_add(part?))
}
