use super::block::BlockExecution;
use crate::state::SimulationState;
use revm::{
    context::{BlockEnv, CfgEnv, Evm, FrameStack, Journal, JournalTr, LocalContext, TxEnv},
    handler::{EthFrame, instructions::EthInstructions},
    interpreter::interpreter::EthInterpreter,
};

/// @template C the chain's own context
pub type PlainContext<C> =
    revm::Context<BlockEnv, TxEnv, CfgEnv, SimulationState, Journal<SimulationState>, C, LocalContext>;

/// revm with Ethereum's unmodified instructions.
pub type PlainEvm<C, P> =
    Evm<PlainContext<C>, (), EthInstructions<EthInterpreter, PlainContext<C>>, P, EthFrame<EthInterpreter>>;

/// An EVM for the block's transactions.
pub fn plain_evm<C, P>(execution: &BlockExecution, state: SimulationState, chain: C, precompiles: P) -> PlainEvm<C, P> {
    let spec = execution.block.rules.spec;
    let mut journal = Journal::new(state);
    journal.set_spec_id(spec);
    let context = PlainContext {
        block: execution.block_env(),
        tx: TxEnv::default(),
        cfg: execution.cfg(),
        journaled_state: journal,
        chain,
        local: LocalContext::default(),
        error: Ok(()),
    };
    Evm {
        ctx: context,
        inspector: (),
        instruction: EthInstructions::new_mainnet_with_spec(spec),
        precompiles,
        frame_stack: FrameStack::new_prealloc(8),
    }
}
