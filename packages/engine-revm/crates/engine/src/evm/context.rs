use super::watch::Watch;
use crate::state::SimulationState;
use revm::context::{BlockEnv, CfgEnv, Journal, LocalContext, TxEnv};

/// What an instruction sees beside its frame.
pub type Context =
    revm::Context<BlockEnv, TxEnv, CfgEnv, SimulationState, Journal<SimulationState>, Watch, LocalContext>;
