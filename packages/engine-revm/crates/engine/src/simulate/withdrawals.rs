use crate::{evm::Evm, plan::Withdrawal, state::ReadError};
use alloy_primitives::U256;
use revm::Database;

/// EIP-4895. Amounts are in gwei.
pub fn credit(evm: &mut Evm, withdrawals: &[Withdrawal]) -> Result<(), ReadError> {
    for Withdrawal { address, amount, .. } in withdrawals {
        let balance = evm.state().basic(*address)?.unwrap_or_default().balance;
        let credited = balance.wrapping_add(U256::from(*amount) * U256::from(1_000_000_000u64));
        if let Some(list) = &mut evm.inner.ctx.chain.access_list {
            list.note_balance(*address, balance, credited);
        }
        if credited != balance {
            evm.state().change(*address).balance = Some(credited);
        }
    }
    Ok(())
}
