use crate::{
    simulate::Ground,
    state::{Allowance, LookAhead, Read, ReadError, SimulationState, thread_time},
};
use std::time::Duration;

/// Runs that look ahead: after them, each missing value is waited for alone.
const MOST_RUNS_AHEAD: usize = 8;
/// CPU time of the runs that look ahead together.
const MOST_TIME_AHEAD: Duration = Duration::from_millis(500);
/// For system calls in a run that looks ahead. The block's gas limit bounds its transactions.
const ALLOWANCE: Allowance = Allowance { gas: 30_000_000, frames: 10_000, bytes: 1 << 20, precompile_gas: 30_000_000 };

/// Runs again and again, each time with the values that the last run missed, until a run misses none: that one counts.
/// `run` hands the state back.
pub fn reading<T>(
    ground: &Ground,
    mut run: impl FnMut(SimulationState) -> (T, SimulationState),
) -> Result<T, ReadError> {
    let until = thread_time() + MOST_TIME_AHEAD;
    for _ in 0..MOST_RUNS_AHEAD {
        let state = ground.state().looking_ahead(LookAhead { allowance: ALLOWANCE, until });
        let (done, state) = run(state);
        let reads: Vec<Read> = state.into_assumed().into_keys().collect();
        if reads.is_empty() || ground.stop.is_raised() {
            return Ok(done);
        }
        ground.cache.pinned(ground.key).fetch(&reads, &*ground.source)?;
    }
    Ok(run(ground.state()).0)
}
