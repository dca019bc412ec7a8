use super::{
    applied::Applied,
    block::BlockExecution,
    failure::TransactionError,
    plain_evm::{PlainEvm, plain_evm},
    transaction::PooledTransaction,
};
use crate::{access_list::AccessList, state::SimulationState};
use revm::{ExecuteEvm, context_interface::result::ResultAndState, handler::EthPrecompiles};

/// EIP-8037: execution and state gas together.
const MAX_TRANSACTION_GAS: u64 = u32::MAX as u64;

/// Executes transactions by Ethereum's rules, fully validated.
pub struct EthereumEvm {
    evm: PlainEvm<(), EthPrecompiles>,
    /// From Amsterdam on.
    access_list: Option<AccessList>,
}

impl EthereumEvm {
    pub fn new(execution: &BlockExecution, state: SimulationState, access_list: Option<AccessList>) -> Self {
        let evm = plain_evm(execution, state, (), EthPrecompiles::new(execution.block.rules.spec));
        Self { evm, access_list }
    }

    pub fn state(&mut self) -> &mut SimulationState {
        &mut self.evm.ctx.journaled_state.database
    }

    pub fn finish(self) -> (SimulationState, Option<AccessList>) {
        (self.evm.ctx.journaled_state.database, self.access_list)
    }

    pub fn apply(&mut self, transaction: &PooledTransaction) -> Result<Applied, TransactionError> {
        let asked = transaction.env.gas_limit;
        if self.access_list.is_some() && asked > MAX_TRANSACTION_GAS {
            return Err(TransactionError::GasLimit { left: MAX_TRANSACTION_GAS, asked });
        }
        let ResultAndState { result, state } = self.evm.transact(transaction.env.clone())?;
        if let Some(list) = &mut self.access_list {
            list.index += 1;
            list.note(&state);
        }
        self.state().commit(state);
        Ok(Applied::of(result))
    }
}
