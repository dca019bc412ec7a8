//! The addon: it converts between JavaScript and `upfront-engine`, which does the work.
//!
//! JavaScript begins work under a number that it chooses. The result is returned at once or put into the mailbox with that
//! number. Text is ASCII both ways, so as Latin-1 it crosses by copying.

mod declare;
mod encode;
mod mailbox;
mod paused;
mod reader;
mod records;
mod refusal;
mod text;
mod threads;

use mailbox::{Kind, Mailbox, Message, Payload, Wake, latin1};
use napi::bindgen_prelude::{Either, Latin1String};
use napi_derive::napi;
use paused::{Paused, Simulation};
use reader::NoSource;
use records::StretchRejected;
use refusal::{Refusal, Result};
use std::{collections::HashMap, sync::Arc};
use threads::{Ending, Threads};
use upfront_engine::{
    answer, carry,
    evm::{MemoryGate, Room},
    outcome::Outcome,
    plan::Plan,
    pool::Pool,
    primitives::{B256, hex},
    rejection::Failure,
    simulate::{Simulated, simulate, simulate_reading},
    state::{Allowance, Layer, Read, SimulationState, StateCache, Stop},
    stretch::{self, StretchFailure, TransactionError},
};

/// A simulation allocates often and briefly: bench/RESULTS.md compares allocators.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// mimalloc keeps what a thread freed for a second, on each of many threads: too long for what one simulation takes at most.
fn return_freed() {
    // SAFETY: it has no precondition.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

/// What the event loop gives a simulation at most: enough for a swap. bench/RESULTS.md has what the costliest programs known make of
/// it.
const ALLOWANCE: Allowance = Allowance { gas: 300_000, frames: 20, bytes: 4_096, precompile_gas: 40_000 };
const SMALL_PLAN: usize = 8_192;
/// What a longer plan took is given back to the system at once.
const LARGE_PLAN: usize = 1 << 20;

/// As Cargo.lock pins it.
#[napi]
pub const REVM_VERSION: &str = env!("REVM_VERSION");

#[napi(object)]
pub struct NativeOptions {
    /// Of cached state, estimated.
    pub cache_bytes: f64,
    pub threads: u32,
    /// Of the EVM's memory in simulations, on all threads together.
    pub memory_bytes: f64,
    /// Simulations that wait for a thread.
    pub queue: u32,
}

#[napi]
pub struct NativeEngine {
    cache: Arc<StateCache>,
    mailbox: Arc<Mailbox>,
    layers: HashMap<u32, Arc<Layer>>,
    paused: HashMap<u32, Paused>,
    threads: Threads,
}

/// A short outcome, or what to read first, is its text alone: making a JavaScript object takes longer than writing either. None:
/// the result comes by mail.
type AtOnce = Option<Either<Latin1String, Message>>;

#[napi]
impl NativeEngine {
    /// `wake` is called, on the event loop, when the mailbox holds something.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: NativeOptions, #[napi(ts_arg_type = "() => void")] wake: Wake) -> Self {
        let cache = Arc::new(StateCache::new(options.cache_bytes as usize));
        let mailbox = Arc::new(Mailbox::new(wake));
        let pool = Pool::new(options.threads as usize, options.queue as usize);
        let memory = MemoryGate::new(options.memory_bytes as usize, return_freed);
        let threads = Threads::new(pool, cache.clone(), memory, mailbox.clone());
        Self { cache, mailbox, layers: HashMap::new(), paused: HashMap::new(), threads }
    }

    /// Empties the mailbox.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Vec<Message> {
        self.mailbox.take()
    }

    /// Bytes of cached state, estimated.
    #[napi(catch_unwind)]
    pub fn cached_bytes(&self) -> f64 {
        self.cache.bytes() as f64
    }

    /// Begins a simulation. A small one is carried out at once, and its result returned; a short outcome is its text alone. For
    /// any other, null is returned and the result comes by mail. Where a small one lacks values of the state, the reads are
    /// returned after a line `paused`: call `resume` with their values, or `cancel`.
    #[napi(catch_unwind)]
    pub fn begin(
        &mut self,
        id: u32,
        key: Latin1String,
        layers: Vec<u32>,
        plan: Latin1String,
    ) -> Result<Option<Either<Latin1String, Message>>> {
        let (key, layers) = (state_key(&key)?, self.layers(&layers)?);
        if plan.len() > SMALL_PLAN {
            let text = ascii(&plan)?.to_owned();
            let is_large = text.len() > LARGE_PLAN;
            self.start_simulation(id, key, layers, is_large, move || text::read(&text).map_err(|_| Ending::Failed))?;
            return Ok(None);
        }
        self.at_once(id, Simulation { plan: field(&plan)?, key, layers })
    }

    /// Goes on with work that lacks values of the state, and keeps them. Returns what `begin` does.
    #[napi(catch_unwind)]
    pub fn resume(&mut self, id: u32, values: Latin1String) -> Result<Option<Either<Latin1String, Message>>> {
        let Some(Paused { simulation, assumed, answer }) = self.paused.remove(&id) else {
            self.threads.answer(id, values.to_vec());
            return Ok(None);
        };
        let reads: Vec<Read> = assumed.keys().copied().collect();
        let values = reader::values(ascii(&values)?, &reads)?;
        let values = self.cache.pinned(simulation.key).keep(reads.into_iter().zip(values));
        match answer {
            Some(answer) if values.iter().eq(assumed.values()) => Ok(Some(outcome(id, answer))),
            _ => self.at_once(id, simulation),
        }
    }

    /// For each of the reads, in order: `1` where its value is not held, else `0`.
    #[napi(catch_unwind)]
    pub fn missing(&self, key: Latin1String, reads: Latin1String) -> Result<Latin1String> {
        let reads = field::<Vec<Read>>(&reads)?;
        let state = self.cache.find(state_key(&key)?);
        let lacks = |read| if state.as_ref().is_some_and(|state| state.get(read).is_some()) { b'0' } else { b'1' };
        Ok(latin1(reads.iter().map(lacks).collect()))
    }

    /// The values of the reads, in order, as far as they are held.
    #[napi(catch_unwind)]
    pub fn known(&self, key: Latin1String, reads: Latin1String) -> Result<Latin1String> {
        let reads = field::<Vec<Read>>(&reads)?;
        let state = self.cache.find(state_key(&key)?);
        let values = reads.iter().map(|read| state.as_ref().and_then(|state| state.get(read)));
        Ok(latin1(encode::known(values).into_bytes()))
    }

    /// Keeps values in the order of the reads.
    #[napi(catch_unwind)]
    pub fn provide(&self, key: Latin1String, reads: Latin1String, values: Latin1String) -> Result<()> {
        let reads = field::<Vec<Read>>(&reads)?;
        let values = reader::values(ascii(&values)?, &reads)?;
        self.cache.pinned(state_key(&key)?).keep(reads.into_iter().zip(values));
        Ok(())
    }

    /// Executes a stretch of a block under construction. The result comes by mail.
    #[napi(catch_unwind)]
    pub fn execute(&self, id: u32, key: Latin1String, layers: Vec<u32>, stretch: Latin1String) -> Result<()> {
        let stretch = field::<stretch::Stretch>(&stretch)?;
        self.threads.start(id, state_key(&key)?, self.layers(&layers)?, move |ground| {
            match stretch::execute(&stretch, ground.state(), ground.stop.clone()) {
                Ok(executed) => Ok(encode::executed(executed).into_bytes().into()),
                Err(StretchFailure::Read(error)) => Err(Failure::from(error).into()),
                Err(StretchFailure::Rejected { transaction, error }) => {
                    let rejected = StretchRejected {
                        transaction: transaction as u64,
                        message: error.to_string(),
                        native_precompile: match error {
                            TransactionError::NativePrecompile(address) => Some(address),
                            _ => None,
                        },
                    };
                    Err(Ending::Rejected(encode::written(&rejected).into_bytes()))
                }
            }
        })
    }

    /// Runs the one transaction of a stretch, so that what it reads is held.
    #[napi(catch_unwind)]
    pub fn warm(&self, id: u32, key: Latin1String, layers: Vec<u32>, stretch: Latin1String) -> Result<()> {
        let stretch = field::<stretch::Stretch>(&stretch)?;
        self.threads.start(id, state_key(&key)?, self.layers(&layers)?, move |ground| {
            match stretch.transactions.first() {
                Some(raw) => stretch::warm(&stretch, raw, ground.state(), ground.stop.clone())
                    .map(|()| Payload::default())
                    .map_err(|error| Failure::from(error).into()),
                None => Ok(Payload::default()),
            }
        })
    }

    /// Ends work that nobody waits for any more.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self, id: u32) {
        self.paused.remove(&id);
        self.threads.stop(id);
    }

    /// Keeps a layer under a number that JavaScript chooses.
    #[napi(catch_unwind)]
    pub fn add_layer(&mut self, number: u32, layer: Latin1String) -> Result<()> {
        let layer = field(&layer)?;
        self.layers.insert(number, Arc::new(layer));
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn drop_layer(&mut self, number: u32) {
        self.layers.remove(&number);
    }

    /// Reads a record and writes it again: for the test that both sides of the border agree.
    #[napi(catch_unwind)]
    pub fn echo(&self, name: String, record: Latin1String) -> Result<Latin1String> {
        let mut record = text::Tokens(ascii(&record)?);
        Ok(latin1(records::echo(&name, &mut record)?.into_bytes()))
    }

    /// Executes a sealed block on its parent's state, whose key this is; where that comes to what the header says, its state is
    /// carried. What became of it comes by mail.
    #[napi(catch_unwind)]
    pub fn carry(&self, id: u32, key: Latin1String, layers: Vec<u32>, block: Latin1String) -> Result<()> {
        let block = field::<carry::SealedBlock>(&block)?;
        self.threads.start(id, state_key(&key)?, self.layers(&layers)?, move |ground| {
            let executed = carry::execute(&block, ground);
            match carry::carry(&ground.cache, ground.key, &block, &ground.layers, executed) {
                Ok(carried) => Ok(encode::written(&carried).into_bytes().into()),
                Err(error) => Err(Failure::from(error).into()),
            }
        })
    }

    /// Whether anything is held of this state.
    #[napi(catch_unwind)]
    pub fn holds(&self, key: Latin1String) -> Result<bool> {
        Ok(self.cache.find(state_key(&key)?).is_some())
    }

    /// Drops every state; what runs keeps what it stands on.
    #[napi(catch_unwind)]
    pub fn forget(&self) {
        self.cache.forget();
    }

    /// Stops everything that runs; its threads end.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.paused.clear();
        self.threads.close();
    }
}

impl NativeEngine {
    fn layers(&self, numbers: &[u32]) -> Result<Vec<Arc<Layer>>> {
        numbers
            .iter()
            .map(|number| self.layers.get(number).cloned().ok_or_else(|| Refusal::UnknownLayer.into()))
            .collect()
    }

    /// Carries a small simulation out on the caller's thread. What is more than small is started on one of ours.
    fn at_once(&mut self, id: u32, simulation: Simulation) -> Result<AtOnce> {
        let Simulation { plan, key, layers } = &simulation;
        let stop = Arc::new(Stop::default());
        let state = SimulationState::new(&self.cache, *key, layers.clone(), Arc::new(NoSource), stop.clone());
        let Simulated { outcome: result, assumed } = simulate(plan, state.within(ALLOWANCE), stop, Room::default());
        let result = result.and_then(|outcome| written(plan, &outcome));
        let at_once = match result {
            Err(Failure::TooMuch | Failure::Unread | Failure::Cancelled) => {
                let Simulation { plan, key, layers } = simulation;
                self.start_simulation(id, key, layers, false, || Ok(plan))?;
                return Ok(None);
            }
            result if !assumed.is_empty() => {
                let lacking = encode::paused(assumed.keys());
                self.paused.insert(id, Paused { simulation, assumed, answer: result.ok() });
                Either::A(latin1(lacking.into_bytes()))
            }
            Ok(answer) => outcome(id, answer),
            Err(Failure::Rejected(rejected)) => {
                Either::B(Message::new(Kind::Rejected, id, encode::rejected(Some(*rejected))))
            }
            Err(Failure::TooLong) => Either::B(Message::new(Kind::Rejected, id, encode::rejected(None))),
        };
        Ok(Some(at_once))
    }

    /// `plan` is made on the thread: reading a long one takes milliseconds.
    fn start_simulation(
        &self,
        id: u32,
        key: B256,
        layers: Vec<Arc<Layer>>,
        is_large: bool,
        plan: impl FnOnce() -> std::result::Result<Plan, Ending> + Send + 'static,
    ) -> Result<()> {
        self.threads.start(id, key, layers, move |ground| {
            let plan = plan()?;
            let simulated = simulate_reading(&plan, ground).and_then(|outcome| written(&plan, &outcome));
            drop(plan);
            if is_large {
                return_freed();
            }
            simulated.map_err(Ending::from)
        })
    }
}

fn outcome(id: u32, payload: Payload) -> Either<Latin1String, Message> {
    match payload.json {
        None => Either::A(latin1(payload.text)),
        Some(_) => Either::B(Message::new(Kind::Done, id, payload)),
    }
}

fn written(plan: &Plan, outcome: &Outcome) -> std::result::Result<Payload, Failure> {
    answer::write(plan, outcome).map(|answer| encode::answer(answer, outcome))
}

fn state_key(key: &Latin1String) -> Result<B256> {
    hex::FromHex::from_hex(ascii(key)?).map_err(|_| Refusal::Malformed("not a state's key").into())
}

fn field<T: text::Field>(text: &Latin1String) -> Result<T> {
    Ok(text::read(ascii(text)?)?)
}

fn ascii(text: &Latin1String) -> Result<&str> {
    std::str::from_utf8(text).map_err(|_| Refusal::Malformed("not ASCII").into())
}
