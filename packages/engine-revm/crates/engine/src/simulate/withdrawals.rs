use crate::{
    plan::Withdrawal,
    state::{ReadError, SimulationState},
};
use alloy_primitives::U256;
use revm::Database;

/// EIP-4895. Amounts are in Gwei.
pub fn credit(state: &mut SimulationState, withdrawals: &[Withdrawal]) -> Result<(), ReadError> {
    for withdrawal in withdrawals.iter().filter(|withdrawal| withdrawal.amount > 0) {
        let account = state.basic(withdrawal.address)?.unwrap_or_default();
        let amount = U256::from(withdrawal.amount) * U256::from(1_000_000_000u64);
        state.change(withdrawal.address).balance = Some(account.balance.wrapping_add(amount));
    }
    Ok(())
}
