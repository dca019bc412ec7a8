//! Runs a plan past missing values, so that one round trip fetches all of them.

use super::{Simulated, simulate};
use crate::{
    evm::{FREE_BYTES, MemoryReservation, MemorySemaphore},
    outcome::Outcome,
    plan::Plan,
    rejection::Failure,
    state::{
        Allowance, Layer, LookAhead, MAX_ASSUMED, MAX_RECORDED, SimulationState, StateCache, StateSource, thread_time,
    },
    time_slices::Stop,
};
use alloy_primitives::B256;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The state that work on a thread runs on.
pub struct BaseState {
    pub cache: Arc<StateCache>,
    pub key: B256,
    pub layers: Vec<Arc<Layer>>,
    pub source: Arc<dyn StateSource>,
    pub stop: Arc<Stop>,
    pub memory: Arc<MemorySemaphore>,
    /// Memory for long records.
    pub records: Arc<MemorySemaphore>,
}

impl BaseState {
    pub fn state(&self) -> SimulationState {
        SimulationState::new(&self.cache, self.key, self.layers.clone(), self.source.clone(), self.stop.clone())
    }
}

/// CPU time for all runs of a plan except the last. Time spent waiting for values is added, up to a limit.
const TIME_AHEAD: Duration = Duration::from_millis(50);
const MAX_TIME_EARNED: Duration = Duration::from_millis(450);
/// Least time added per value read in a batch, because reading it separately would cost a round trip.
const TIME_EARNED_A_VALUE: Duration = Duration::from_micros(50);
/// Gas limit for looking ahead; at most a quarter of the plan's gas.
const MAX_GAS_AHEAD: u64 = 15_000_000;

/// A record's byte is held in its source, in the record and as text.
const COPIES: usize = 4;

/// Executes and seals all blocks of the plan, and waits for missing values. At the first missing one the run continues ahead, so that all
/// missing values are read together. The plan is run again until nothing is missing, or all assumed values were right; that run gives the
/// answer.
pub fn simulate_with_reads(plan: &Plan, base: &BaseState) -> Result<Outcome, Failure> {
    let gas = (plan.gas_budget / 4).min(MAX_GAS_AHEAD);
    let allowance = Allowance { gas, frames: 10_000, bytes: 1 << 20, precompile_gas: gas };
    let (mut left, mut earns) = (TIME_AHEAD, MAX_TIME_EARNED);
    let mut most = MAX_ASSUMED;
    let recorded = if plan.recording.is_on() { COPIES * plan.answer_bytes / 2 } else { 0 };
    loop {
        // Acquired before any other memory, and not held while waiting for values.
        let held = (recorded > FREE_BYTES).then(|| base.records.acquire(recorded, &base.stop));
        if matches!(held, Some(None)) {
            return Err(Failure::Cancelled);
        }
        let began = thread_time();
        let state = base.state().looking_ahead(LookAhead { allowance, until: began + left }).with_max_assumed(most);
        let reservation = MemoryReservation::new(base.memory.clone(), plan.gas_budget);
        let Simulated { outcome, missing } = simulate(plan, state, base.stop.clone(), reservation);
        if missing.is_empty() || matches!(outcome, Err(Failure::Cancelled)) {
            return outcome;
        }
        drop(held);
        left = left.saturating_sub(thread_time().saturating_sub(began));
        let (reads, certain) = missing.reads();
        if reads.len() >= most {
            most = (2 * most).min(MAX_RECORDED);
        }
        let asked = Instant::now();
        let values = base.cache.pinned(base.key).fetch(&reads, certain, &*base.source)?;
        let earned = asked.elapsed().max(TIME_EARNED_A_VALUE * reads.len() as u32).min(earns);
        (left, earns) = (left + earned, earns - earned);
        if outcome.is_ok() && missing.is_right(&reads, &values) {
            return outcome;
        }
    }
}
