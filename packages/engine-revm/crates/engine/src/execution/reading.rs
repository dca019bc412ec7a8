use crate::{
    simulate::BaseState,
    state::{Read, ReadError, SimulationState},
};

/// Runs again and again, each time with the values that the last run noted as missing, until a run misses none: that one counts. Each
/// run waits for no value. `run` hands the state back.
pub fn reading<T>(
    base: &BaseState,
    mut run: impl FnMut(SimulationState) -> (T, SimulationState),
) -> Result<T, ReadError> {
    loop {
        let (done, state) = run(base.state().noting());
        if !state.lacks() || base.stop.is_raised() {
            return Ok(done);
        }
        let reads: Vec<Read> = state.into_assumed().into_keys().collect();
        base.cache.pinned(base.key).fetch(&reads, reads.len(), &*base.source)?;
    }
}
