//! geth's rules of `eth_simulateV1` (internal/ethapi/simulate.go, core/state_transition.go), and those of OP-stack chains.

mod block;
mod call;
mod fees;
mod op;
mod overrides;
mod requests;
pub(crate) mod system_calls;
mod touched;
mod validity;
mod withdrawals;

#[cfg(test)]
mod tests;

use crate::{
    evm::{Allowance, Machine, PrecompileSet, Watch},
    outcome::Outcome,
    plan::Plan,
    rejection::Failure,
    state::{SimulationState, Stop},
};
use revm::context::{BlockEnv, CfgEnv};
use std::sync::Arc;

pub(crate) use fees::{blob_gas, blob_price};
pub(crate) use op::{current_da_footprint_scalar, da_footprint};
pub(crate) use requests::hash as requests_hash;
use touched::Touched;
pub(crate) use withdrawals::credit as credit_withdrawals;

/// Executes and seals all blocks of the plan. With an `allowance` it neither waits nor works long: it gives up
/// where a value is not cached (`Failure::Missing`) or a call needs more (`Failure::TooMuch`).
pub fn simulate(
    plan: &Plan,
    mut state: SimulationState,
    stop: Arc<Stop>,
    allowance: Option<Allowance>,
) -> Result<Outcome, Failure> {
    state.set_block_hash(plan.base.number, plan.base.hash);
    let watch = Watch { stop, allowance, trace_transfers: plan.trace_transfers, ..Watch::default() };
    let precompiles = PrecompileSet::new(&plan.base.rules, None);
    let mut machine =
        Machine::new(state, watch, CfgEnv::new_with_spec(plan.base.rules.spec), BlockEnv::default(), precompiles);
    let outcome = run(plan, &mut machine);
    let (mut state, _) = machine.finish();
    match outcome {
        Err(Failure::TooMuch) => Err(match state.take_missed() {
            missed if missed.is_empty() => Failure::TooMuch,
            missed => Failure::Missing(missed),
        }),
        outcome => outcome,
    }
}

fn run(plan: &Plan, machine: &mut Machine) -> Result<Outcome, Failure> {
    let mut progress = Progress {
        parent: plan.base.clone(),
        gas_budget: plan.gas_budget,
        // As hex, two characters a byte.
        output_left: plan.answer_bytes / 2,
        touched: Touched::default(),
        message_passer_written: false,
    };
    let mut blocks = Vec::with_capacity(plan.blocks.len());
    for index in 0..plan.blocks.len() {
        blocks.push(block::execute(plan, index, machine, &mut progress)?);
    }
    Ok(Outcome { blocks, touched_accounts: progress.touched.accounts(), touched_slots: progress.touched.slots() })
}

/// What one block leaves to the next.
struct Progress {
    parent: crate::plan::ParentHeader,
    gas_budget: u64,
    /// Bytes of return data and logs.
    output_left: usize,
    touched: Touched,
    message_passer_written: bool,
}
