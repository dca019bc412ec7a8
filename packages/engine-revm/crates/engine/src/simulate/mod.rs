//! geth's rules of `eth_simulateV1` (internal/ethapi/simulate.go, core/state_transition.go), and those of OP-stack chains.

mod block;
mod call;
mod effects;
mod fees;
mod gas_pool;
mod op;
mod overrides;
mod probe;
mod record;
mod requests;
mod run_ahead;
pub(crate) mod system_calls;
mod validity;
mod withdrawals;

#[cfg(test)]
mod forced_run_tests;
#[cfg(test)]
mod tests;

use crate::{
    evm::{Evm, MemoryReservation, PrecompileSet, SimulationContext},
    outcome::Outcome,
    plan::Plan,
    rejection::Failure,
    state::{MissingValues, SimulationState},
    time_slices::Stop,
    touched_set::TouchedSet,
};
use revm::context::{BlockEnv, CfgEnv};
use std::{cell::RefCell, sync::Arc};

pub(crate) use fees::{blob_gas, blob_price};
pub(crate) use gas_pool::GasPool;
pub(crate) use op::{current_da_footprint_scalar, da_footprint};
pub(crate) use requests::hash as requests_hash;
pub use run_ahead::{BaseState, simulate_with_reads};
pub(crate) use withdrawals::credit as credit_withdrawals;

/// The result of a plan's run.
pub struct Simulated {
    pub outcome: Result<Outcome, Failure>,
    /// If not empty, the outcome is valid only if the missing values are as assumed.
    pub missing: MissingValues,
}

/// Executes and seals all blocks of the plan on `state`, which determines whether missing values are waited for.
pub fn simulate(plan: &Plan, mut state: SimulationState, stop: Arc<Stop>, reservation: MemoryReservation) -> Simulated {
    state.set_block_hash(plan.base.number, plan.base.hash);
    if plan.is_trial {
        state.swap_reads(Some(RefCell::default()));
    }
    let inspector =
        SimulationContext { stop, reservation, trace_transfers: plan.trace_transfers, ..SimulationContext::default() };
    let precompiles = PrecompileSet::new(&plan.base.rules, None);
    let mut evm =
        Evm::new(state, inspector, CfgEnv::new_with_spec(plan.base.rules.spec), BlockEnv::default(), precompiles);
    let outcome = run(plan, &mut evm);
    let (state, _) = evm.finish();
    let outcome = outcome.and_then(|outcome| if state.is_forced() { Err(Failure::Forced) } else { Ok(outcome) });
    let outcome = outcome.map(|outcome| Outcome { read_list: state.read_list(), ..outcome });
    Simulated { outcome, missing: state.into_missing() }
}

fn run(plan: &Plan, evm: &mut Evm) -> Result<Outcome, Failure> {
    let mut progress = Progress {
        parent: plan.base.clone(),
        gas_budget: plan.gas_budget,
        // As hex: two characters per byte.
        output_left: plan.answer_bytes / 2,
        touched: TouchedSet::default(),
        message_passer_written: false,
    };
    let mut blocks = Vec::with_capacity(plan.blocks.len());
    for index in 0..plan.blocks.len() {
        blocks.push(block::execute(plan, index, evm, &mut progress)?);
    }
    let touched = progress.touched;
    Ok(Outcome {
        blocks,
        touched_accounts: touched.accounts(),
        touched_slots: touched.slots(),
        touched_list: plan.list_touched.then(|| touched.list()),
        read_list: None,
    })
}

/// What one block passes on to the next.
struct Progress {
    parent: crate::plan::ParentHeader,
    gas_budget: u64,
    /// Remaining bytes of return data and logs.
    output_left: usize,
    touched: TouchedSet,
    message_passer_written: bool,
}
