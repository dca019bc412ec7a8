//! Work that is done at once, on the caller's thread, which never waits.

use crate::{
    encode,
    payload::Payload,
    refusal::{Refusal, Result},
    text::TextReader,
    values::values,
    work::answered,
};
use std::{collections::HashMap, sync::Arc};
use upfront_engine::{
    evm::MemoryReservation,
    plan::Plan,
    primitives::B256,
    rejection::Failure,
    simulate::{Simulated, simulate},
    state::{Allowance, Layer, MissingValues, Read, ReadError, SimulationState, StateCache, StateSource, Value},
    time_slices::Stop,
};

/// A simulation as it was requested.
pub struct Simulation {
    pub plan: Plan,
    pub key: B256,
    pub layers: Vec<Arc<Layer>>,
}

/// A simulation that lacks state: JavaScript reads it and resumes it.
struct Paused {
    simulation: Simulation,
    reads: Vec<Read>,
    missing: MissingValues,
    /// The answer, valid if all missing values are what the run assumed.
    answer: Option<Payload>,
}

/// Cached states, layers by the numbers that JavaScript chose, and simulations that wait for values.
pub struct Engine {
    pub cache: Arc<StateCache>,
    /// What a simulation may use on the caller's thread.
    allowance: Allowance,
    layers: HashMap<u32, Arc<Layer>>,
    paused: HashMap<u32, Paused>,
}

/// Extra frames in a plan's allowance per probe, and the number of probes that count.
const FRAMES_OF_PROBE: usize = 2;
const MAX_PROBES: usize = 16;

/// `TooMuch` is large, but returned only once per request.
#[expect(clippy::large_enum_variant)]
pub enum Step {
    Done(Payload),
    /// The reason, as text.
    Rejected(Vec<u8>),
    /// The missing reads, after a line `paused`: call `resume` with their values, or `cancel`.
    Paused(Vec<u8>),
    /// The simulation has to run on a thread.
    TooMuch(Simulation),
}

impl Engine {
    /// @param cache_bytes limit of cached state, estimated
    pub fn new(cache_bytes: usize, allowance: Allowance) -> Self {
        let cache = Arc::new(StateCache::new(cache_bytes));
        Self { cache, allowance, layers: HashMap::new(), paused: HashMap::new() }
    }

    /// Runs a small simulation.
    pub fn begin(&mut self, id: u32, simulation: Simulation) -> Step {
        // Recording instructions takes many times as long as running them.
        if simulation.plan.recording.steps.is_some() {
            return Step::TooMuch(simulation);
        }
        let Simulation { plan, key, layers } = &simulation;
        let stop = Arc::new(Stop::default());
        let state = SimulationState::new(&self.cache, *key, layers.clone(), Arc::new(NoSource), stop.clone());
        let frames = self.allowance.frames + FRAMES_OF_PROBE * plan.probes.len().min(MAX_PROBES);
        let state = state.with_allowance(Allowance { frames, ..self.allowance });
        let Simulated { outcome, missing } = simulate(plan, state, stop, MemoryReservation::default());
        match outcome.and_then(|outcome| answered(plan, &outcome)) {
            Err(Failure::TooMuch | Failure::Unread | Failure::Cancelled) => Step::TooMuch(simulation),
            result if !missing.is_empty() => {
                let (reads, certain) = missing.reads();
                let encoded = encode::paused(&reads, certain);
                self.paused.insert(id, Paused { simulation, reads, missing, answer: result.ok() });
                Step::Paused(encoded.into_bytes())
            }
            Ok(answer) => Step::Done(answer),
            Err(Failure::Rejected(rejected)) => Step::Rejected(encode::rejected(Some(*rejected))),
            // A run without assumed values is never forced.
            Err(Failure::TooLong | Failure::Forced) => Step::Rejected(encode::rejected(None)),
        }
    }

    /// Resumes a simulation with the values it waits for, and caches them. None if no simulation here has this number.
    pub fn resume(&mut self, id: u32, given: &str) -> Result<Option<Step>> {
        let Some(Paused { simulation, reads, missing, answer }) = self.paused.remove(&id) else { return Ok(None) };
        let given = values(given, &reads)?;
        let given = self.cache.pinned(simulation.key).store(reads.iter().copied().zip(given));
        Ok(Some(match answer {
            Some(answer) if missing.is_right(&reads, &given) => Step::Done(answer),
            _ => self.begin(id, simulation),
        }))
    }

    /// Drops a simulation that waits for values.
    pub fn cancel(&mut self, id: u32) {
        self.paused.remove(&id);
    }

    /// For each read, in order: `1` if its value is not cached, else `0`.
    pub fn missing(&self, key: B256, reads: &[Read]) -> Vec<u8> {
        let state = self.cache.find(key);
        let is_missing = |read| if state.as_ref().is_some_and(|state| state.get(read).is_some()) { b'0' } else { b'1' };
        reads.iter().map(is_missing).collect()
    }

    /// The cached values of the reads, in order.
    pub fn known(&self, key: B256, reads: &[Read]) -> Vec<u8> {
        let state = self.cache.find(key);
        let values = reads.iter().map(|read| state.as_ref().and_then(|state| state.get(read)));
        encode::known(values).into_bytes()
    }

    /// Caches values, in the order of the reads.
    pub fn provide(&self, key: B256, reads: Vec<Read>, given: &str) -> Result<()> {
        let given = values(given, &reads)?;
        self.cache.pinned(key).store(reads.into_iter().zip(given));
        Ok(())
    }

    pub fn add_layer(&mut self, number: u32, layer: Layer) {
        self.layers.insert(number, Arc::new(layer));
    }

    pub fn drop_layer(&mut self, number: u32) {
        self.layers.remove(&number);
    }

    pub fn layers(&self, numbers: &[u32]) -> Result<Vec<Arc<Layer>>> {
        numbers.iter().map(|number| self.layers.get(number).cloned().ok_or(Refusal::UnknownLayer)).collect()
    }

    /// Whether any value of this state is cached.
    pub fn holds(&self, key: B256) -> bool {
        self.cache.find(key).is_some()
    }

    /// Drops all simulations that wait for values.
    pub fn clear(&mut self) {
        self.paused.clear();
    }

    /// Decodes and encodes a record, for the test that both sides of the border agree.
    pub fn echo(name: &str, mut record: TextReader<'_>) -> Result<Vec<u8>> {
        Ok(crate::records::echo(name, &mut record)?.into_bytes())
    }
}

struct NoSource;

impl StateSource for NoSource {
    fn read(&self, _reads: &[Read], _certain: usize) -> std::result::Result<Vec<Value>, ReadError> {
        Err(ReadError::Failed)
    }
}
