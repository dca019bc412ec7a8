use super::{applied::Applied, block::Stretch, failure::TransactionError, transaction::PooledTransaction};
use crate::state::SimulationState;
use revm::{
    ExecuteEvm,
    context::{BlockEnv, CfgEnv, Evm, FrameStack, Journal, JournalTr, LocalContext, TxEnv},
    context_interface::result::ResultAndState,
    handler::{EthFrame, EthPrecompiles, instructions::EthInstructions},
    interpreter::interpreter::EthInterpreter,
};

type Context = revm::Context<BlockEnv, TxEnv, CfgEnv, SimulationState, Journal<SimulationState>, (), LocalContext>;

/// Executes transactions by Ethereum's rules, with full validation.
pub struct EthereumEvm(
    Evm<Context, (), EthInstructions<EthInterpreter, Context>, EthPrecompiles, EthFrame<EthInterpreter>>,
);

impl EthereumEvm {
    pub fn new(stretch: &Stretch, state: SimulationState) -> Self {
        let spec = stretch.block.rules.spec;
        let mut journal = Journal::new(state);
        journal.set_spec_id(spec);
        let context = Context {
            block: stretch.block_env(),
            tx: TxEnv::default(),
            cfg: stretch.cfg(),
            journaled_state: journal,
            chain: (),
            local: LocalContext::default(),
            error: Ok(()),
        };
        Self(Evm {
            ctx: context,
            inspector: (),
            instruction: EthInstructions::new_mainnet_with_spec(spec),
            precompiles: EthPrecompiles::new(spec),
            frame_stack: FrameStack::new(),
        })
    }

    pub fn state(&mut self) -> &mut SimulationState {
        &mut self.0.ctx.journaled_state.database
    }

    pub fn into_state(self) -> SimulationState {
        self.0.ctx.journaled_state.database
    }

    pub fn apply(&mut self, transaction: &PooledTransaction) -> Result<Applied, TransactionError> {
        let ResultAndState { result, state } = self.0.transact(transaction.env.clone())?;
        self.state().commit(state);
        Ok(Applied::of(result))
    }
}
