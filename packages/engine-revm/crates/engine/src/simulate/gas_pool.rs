//! The gas that a block has left for its transactions.

use revm::{context_interface::result::ResultGas, primitives::hardfork::SpecId};

/// EIP-7825.
const TRANSACTION_GAS: u64 = 1 << 24;

/// The gas that transactions took from a block. From Amsterdam on (EIP-8037), execution and state gas are each bounded by the whole limit,
/// before refunds (EIP-7778).
#[derive(Clone, Copy, Debug)]
pub struct GasPool {
    limit: u64,
    is_split: bool,
    /// Sum of the receipts' gas used.
    used: u64,
    execution: u64,
    state: u64,
}

impl GasPool {
    /// `used`: sum of the earlier receipts' gas used.
    pub fn new(limit: u64, spec: SpecId, used: u64) -> Self {
        Self { limit, is_split: spec.is_enabled_in(SpecId::AMSTERDAM), used, execution: 0, state: 0 }
    }

    /// The highest gas limit of another transaction. Unless `capped`, all of it may be execution gas.
    pub fn available(&self, capped: bool) -> u64 {
        if !self.is_split {
            return self.limit.saturating_sub(self.used);
        }
        let (execution, state) = (self.limit - self.execution.min(self.limit), self.limit - self.state.min(self.limit));
        if capped && execution >= TRANSACTION_GAS { state } else { execution.min(state) }
    }

    pub fn charge(&mut self, gas: &ResultGas) {
        self.used += gas.tx_gas_used();
        self.execution += gas.block_regular_gas_used();
        self.state += gas.block_state_gas_used();
    }

    /// Sum of the receipts' gas used.
    pub fn cumulative(&self) -> u64 {
        self.used
    }

    /// Gas used as in the block's header.
    pub fn used(&self) -> u64 {
        if self.is_split { self.execution.max(self.state) } else { self.used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gas(spent: u64, state: u64, refunded: u64) -> ResultGas {
        ResultGas::default().with_total_gas_spent(spent).with_state_gas_spent(state).with_refunded(refunded)
    }

    #[test]
    fn before_amsterdam_refunds_are_there_again() {
        let mut pool = GasPool::new(30_000_000, SpecId::OSAKA, 0);
        pool.charge(&gas(100_000, 0, 20_000));
        assert_eq!((pool.used(), pool.available(true)), (80_000, 29_920_000));
    }

    #[test]
    fn from_amsterdam_on_the_larger_pool_counts_and_the_smaller_rest_bounds() {
        let mut pool = GasPool::new(30_000_000, SpecId::AMSTERDAM, 0);
        pool.charge(&gas(14_000_000, 1_000_000, 1_000_000));
        assert_eq!((pool.used(), pool.cumulative()), (13_000_000, 13_000_000));
        assert_eq!(pool.available(true), 29_000_000, "17M are left to execute, more than one transaction may");
        assert_eq!(pool.available(false), 17_000_000);
        pool.charge(&gas(500_000, 0, 0));
        assert_eq!(pool.available(true), 16_500_000);
    }
}
