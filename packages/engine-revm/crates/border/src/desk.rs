//! What is done at once, on the caller's thread, which never waits.

use crate::{
    encode,
    paused::{Paused, Simulation},
    payload::Payload,
    refusal::{Refusal, Result},
    text::Tokens,
    values::values,
    work::answered,
};
use std::{collections::HashMap, sync::Arc};
use upfront_engine::{
    evm::MemoryReservation,
    primitives::B256,
    rejection::Failure,
    simulate::{Simulated, simulate},
    state::{Allowance, Layer, Read, ReadError, SimulationState, StateCache, StateSource, Value},
    time_slices::Stop,
};

/// What is held of blocks' states, layers by the numbers that JavaScript chose, and the simulations that wait for values.
pub struct Desk {
    pub cache: Arc<StateCache>,
    /// What a simulation may take of the caller's thread.
    allowance: Allowance,
    layers: HashMap<u32, Arc<Layer>>,
    paused: HashMap<u32, Paused>,
}

/// Frames that a plan has beside its allowance for each question to a contract, of which there are so many at most.
const FRAMES_OF_PROBE: usize = 2;
const MOST_PROBES: usize = 16;

/// `TooMuch` is large, and returned once a request.
#[expect(clippy::large_enum_variant)]
pub enum AtOnce {
    Done(Payload),
    /// Why, as text.
    Rejected(Vec<u8>),
    /// The reads that it lacks, after a line `paused`: call `resume` with their values, or `cancel`.
    Paused(Vec<u8>),
    /// It takes a thread.
    TooMuch(Simulation),
}

impl Desk {
    /// @param cache_bytes of cached state, estimated
    pub fn new(cache_bytes: usize, allowance: Allowance) -> Self {
        let cache = Arc::new(StateCache::new(cache_bytes));
        Self { cache, allowance, layers: HashMap::new(), paused: HashMap::new() }
    }

    /// Carries out a small simulation.
    pub fn begin(&mut self, id: u32, simulation: Simulation) -> AtOnce {
        // Writing instructions down takes many times what running them does.
        if simulation.plan.recording.steps.is_some() {
            return AtOnce::TooMuch(simulation);
        }
        let Simulation { plan, key, layers } = &simulation;
        let stop = Arc::new(Stop::default());
        let state = SimulationState::new(&self.cache, *key, layers.clone(), Arc::new(NoSource), stop.clone());
        let frames = self.allowance.frames + FRAMES_OF_PROBE * plan.probes.len().min(MOST_PROBES);
        let state = state.within(Allowance { frames, ..self.allowance });
        let Simulated { outcome, missed } = simulate(plan, state, stop, MemoryReservation::default());
        match outcome.and_then(|outcome| answered(plan, &outcome)) {
            Err(Failure::TooMuch | Failure::Unread | Failure::Cancelled) => AtOnce::TooMuch(simulation),
            result if !missed.is_empty() => {
                let (reads, certain) = missed.reads();
                let lacking = encode::paused(&reads, certain);
                self.paused.insert(id, Paused { simulation, reads, missed, answer: result.ok() });
                AtOnce::Paused(lacking.into_bytes())
            }
            Ok(answer) => AtOnce::Done(answer),
            Err(Failure::Rejected(rejected)) => AtOnce::Rejected(encode::rejected(Some(*rejected))),
            // Nothing is bent where nothing is assumed.
            Err(Failure::TooLong | Failure::Bent) => AtOnce::Rejected(encode::rejected(None)),
        }
    }

    /// Goes on with a simulation that waits for these values, and keeps them. None: no simulation here has this number.
    pub fn resume(&mut self, id: u32, given: &str) -> Result<Option<AtOnce>> {
        let Some(Paused { simulation, reads, missed, answer }) = self.paused.remove(&id) else { return Ok(None) };
        let given = values(given, &reads)?;
        let given = self.cache.pinned(simulation.key).keep(reads.iter().copied().zip(given));
        Ok(Some(match answer {
            Some(answer) if missed.is_right(&reads, &given) => AtOnce::Done(answer),
            _ => self.begin(id, simulation),
        }))
    }

    /// Ends a simulation that waits for values.
    pub fn cancel(&mut self, id: u32) {
        self.paused.remove(&id);
    }

    /// For each of the reads, in order: `1` where its value is not held, else `0`.
    pub fn missing(&self, key: B256, reads: &[Read]) -> Vec<u8> {
        let state = self.cache.find(key);
        let lacks = |read| if state.as_ref().is_some_and(|state| state.get(read).is_some()) { b'0' } else { b'1' };
        reads.iter().map(lacks).collect()
    }

    /// The values of the reads, in order, as far as they are held.
    pub fn known(&self, key: B256, reads: &[Read]) -> Vec<u8> {
        let state = self.cache.find(key);
        let values = reads.iter().map(|read| state.as_ref().and_then(|state| state.get(read)));
        encode::known(values).into_bytes()
    }

    /// Keeps values in the order of the reads.
    pub fn provide(&self, key: B256, reads: Vec<Read>, given: &str) -> Result<()> {
        let given = values(given, &reads)?;
        self.cache.pinned(key).keep(reads.into_iter().zip(given));
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

    /// Whether anything is held of this state.
    pub fn holds(&self, key: B256) -> bool {
        self.cache.find(key).is_some()
    }

    /// Ends all that waits for values.
    pub fn clear(&mut self) {
        self.paused.clear();
    }

    /// Reads a record and writes it again: for the test that both sides of the border agree.
    pub fn echo(name: &str, mut record: Tokens<'_>) -> Result<Vec<u8>> {
        Ok(crate::records::echo(name, &mut record)?.into_bytes())
    }
}

struct NoSource;

impl StateSource for NoSource {
    fn read(&self, _reads: &[Read], _certain: usize) -> std::result::Result<Vec<Value>, ReadError> {
        Err(ReadError::Failed)
    }
}
