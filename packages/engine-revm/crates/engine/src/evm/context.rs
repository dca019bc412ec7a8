use super::simulation_context::SimulationContext;
use crate::state::SimulationState;
use revm::context::{BlockEnv, CfgEnv, Journal, LocalContext, TxEnv};

/// What instructions work on, apart from their frame.
pub type Context =
    revm::Context<BlockEnv, TxEnv, CfgEnv, SimulationState, Journal<SimulationState>, SimulationContext, LocalContext>;
