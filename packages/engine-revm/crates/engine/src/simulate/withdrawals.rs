use crate::{evm::Evm, plan::Withdrawal, state::ReadError};
use revm::Database;

/// EIP-4895.
pub fn credit(evm: &mut Evm, withdrawals: &[Withdrawal]) -> Result<(), ReadError> {
    for withdrawal in withdrawals {
        let Withdrawal { address, .. } = withdrawal;
        let balance = evm.state().basic(*address)?.unwrap_or_default().balance;
        let credited = balance.wrapping_add(withdrawal.amount_wei());
        if let Some(list) = &mut evm.inner.ctx.chain.access_list {
            list.add_balance(*address, balance, credited);
        }
        if credited != balance {
            evm.state().change(*address).balance = Some(credited);
        }
    }
    Ok(())
}
