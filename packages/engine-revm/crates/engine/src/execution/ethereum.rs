use super::{applied::Applied, block::BlockExecution, failure::TransactionError, transaction::PooledTransaction};
use crate::{access_list::AccessList, state::SimulationState};
use revm::{
    ExecuteEvm,
    context::{BlockEnv, CfgEnv, Evm, FrameStack, Journal, JournalTr, LocalContext, TxEnv},
    context_interface::result::ResultAndState,
    handler::{EthFrame, EthPrecompiles, instructions::EthInstructions},
    interpreter::interpreter::EthInterpreter,
};

/// EIP-8037: to execute and for state together.
const MOST_TRANSACTION_GAS: u64 = u32::MAX as u64;

type Context = revm::Context<BlockEnv, TxEnv, CfgEnv, SimulationState, Journal<SimulationState>, (), LocalContext>;

type Inner = Evm<Context, (), EthInstructions<EthInterpreter, Context>, EthPrecompiles, EthFrame<EthInterpreter>>;

/// Executes transactions by Ethereum's rules, with full validation.
pub struct EthereumEvm {
    evm: Inner,
    /// From Amsterdam on.
    access_list: Option<AccessList>,
}

impl EthereumEvm {
    pub fn new(execution: &BlockExecution, state: SimulationState, access_list: Option<AccessList>) -> Self {
        let spec = execution.block.rules.spec;
        let mut journal = Journal::new(state);
        journal.set_spec_id(spec);
        let context = Context {
            block: execution.block_env(),
            tx: TxEnv::default(),
            cfg: execution.cfg(),
            journaled_state: journal,
            chain: (),
            local: LocalContext::default(),
            error: Ok(()),
        };
        let evm = Evm {
            ctx: context,
            inspector: (),
            instruction: EthInstructions::new_mainnet_with_spec(spec),
            precompiles: EthPrecompiles::new(spec),
            frame_stack: FrameStack::new(),
        };
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
        if self.access_list.is_some() && asked > MOST_TRANSACTION_GAS {
            return Err(TransactionError::GasLimit { left: MOST_TRANSACTION_GAS, asked });
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
