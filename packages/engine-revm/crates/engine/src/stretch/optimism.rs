use super::{applied::Applied, block::Stretch, failure::TransactionError, transaction::PooledTransaction};
use crate::{plan::OpFork, state::SimulationState};
use op_revm::{L1BlockInfo, OpEvm, OpTransaction, api::default_ctx::OpContext};
use revm::{
    ExecuteEvm,
    context::{Journal, JournalTr, LocalContext, TxEnv},
    context_interface::result::ResultAndState,
    handler::{EthPrecompiles, instructions::EthInstructions},
    interpreter::interpreter::EthInterpreter,
};

type Context = OpContext<SimulationState>;

/// Executes transactions by the OP stack's rules, with full validation of all but deposits, which have none.
pub struct OptimismEvm(OpEvm<Context, (), EthInstructions<EthInterpreter, Context>, EthPrecompiles>);

impl OptimismEvm {
    pub fn new(stretch: &Stretch, fork: OpFork, state: SimulationState) -> Self {
        let (op, spec) = (fork.spec(), fork.spec().into_eth_spec());
        let mut journal = Journal::new(state);
        journal.set_spec_id(spec);
        let context = OpContext {
            block: stretch.block_env(),
            tx: OpTransaction::default(),
            cfg: stretch.cfg(op),
            journaled_state: journal,
            chain: L1BlockInfo::default(),
            local: LocalContext::default(),
            error: Ok(()),
        };
        // revm keeps these as long as the rules of Ethereum are these.
        let precompiles = EthPrecompiles { precompiles: fork.precompiles(), spec };
        Self(OpEvm::new(context, ()).with_precompiles(precompiles))
    }

    pub fn state(&mut self) -> &mut SimulationState {
        &mut self.0.0.ctx.journaled_state.database
    }

    pub fn into_state(self) -> SimulationState {
        self.0.0.ctx.journaled_state.database
    }

    pub fn apply(&mut self, transaction: &PooledTransaction) -> Result<Applied, TransactionError> {
        let tx: OpTransaction<TxEnv> = OpTransaction {
            base: transaction.env.clone(),
            enveloped_tx: Some(transaction.raw.clone()),
            deposit: transaction.deposit.clone().unwrap_or_default(),
        };
        let ResultAndState { result, state } = self.0.transact(tx)?;
        self.state().commit(state);
        Ok(Applied::of(result))
    }
}
