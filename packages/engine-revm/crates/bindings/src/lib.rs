//! The addon: conversion alone. What it does is in `upfront-engine`.
//!
//! JavaScript submits a simulation by a number of its own choosing; what comes of it lies in the mailbox under that number.
//! Text is ASCII both ways: as Latin-1 it crosses by copying.

mod encode;
mod mailbox;
mod paused;
mod reader;
mod records;
mod text;
mod threads;

use mailbox::{Kind, Mailbox, Message, Payload, Wake, latin1};
use napi::{
    Error, Result,
    bindgen_prelude::{Either, Latin1String},
};
use napi_derive::napi;
use paused::{Paused, Simulation};
use reader::CachedOnly;
use records::StretchRejected;
use std::{collections::HashMap, sync::Arc};
use threads::{Ending, Threads};
use upfront_engine::{
    answer, carry,
    evm::Allowance,
    outcome::Outcome,
    plan::Plan,
    primitives::{B256, hex},
    rejection::Failure,
    simulate::simulate,
    state::{Layer, Read, SimulationState, StateCache, Stop},
    stretch::{self, StretchFailure},
};

/// A simulation allocates two hundred times; with glibc's allocator that is a tenth of its CPU.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the event loop gives a simulation at most: enough for a swap (a tenth of a millisecond), and made to hurt 3 ms
/// (hashes of 4 KB over and over; measured with the dearest programs known).
const ALLOWANCE: Allowance = Allowance { gas: 300_000, frames: 20, bytes: 4_096, precompile_gas: 40_000 };
const SMALL_PLAN: usize = 8_192;

/// As Cargo.lock pins it.
#[napi]
pub const REVM_VERSION: &str = env!("REVM_VERSION");

#[napi(object)]
pub struct NativeOptions {
    /// Of cached state, estimated.
    pub cache_bytes: f64,
    pub threads: u32,
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

/// A short outcome, or what to read first, as its text alone: an object of JavaScript takes longer to make than both take to
/// write. None: what comes of it comes by mail.
type AtOnce = Option<Either<Latin1String, Message>>;

#[napi]
impl NativeEngine {
    /// `wake` is called, on the event loop, when the mailbox holds something.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: NativeOptions, #[napi(ts_arg_type = "() => void")] wake: Wake) -> Self {
        let cache = Arc::new(StateCache::new(options.cache_bytes as usize));
        let mailbox = Arc::new(Mailbox::new(wake));
        let threads = Threads::new(options.threads as usize, options.queue as usize, cache.clone(), mailbox.clone());
        Self { cache, mailbox, layers: HashMap::new(), paused: HashMap::new(), threads }
    }

    /// What is in the mailbox.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Vec<Message> {
        self.mailbox.take()
    }

    /// Bytes of cached state, estimated.
    #[napi(catch_unwind)]
    pub fn cached_bytes(&self) -> f64 {
        self.cache.bytes() as f64
    }

    /// Begins a simulation. What comes of it is returned where it takes next to no time, a short outcome as its text alone; else
    /// (null) it comes by mail. Where it lacks values of state, the reads are returned after a line `paused`: it goes on with
    /// `resume`, or ends with `cancel`.
    #[napi(catch_unwind)]
    pub fn begin(
        &mut self,
        id: u32,
        key: Latin1String,
        layers: Vec<u32>,
        plan: Latin1String,
    ) -> Result<Option<Either<Latin1String, Message>>> {
        let is_small = plan.len() <= SMALL_PLAN;
        let plan = field(&plan)?;
        let simulation = Simulation { plan, key: state_key(&key)?, layers: self.layers(&layers)? };
        if !is_small {
            return self.start_simulation(id, simulation);
        }
        match self.at_once(id, &simulation) {
            Err(Failure::Missing(reads)) => {
                let lacking = encode::paused(&reads);
                self.paused.insert(id, Paused { simulation, reads });
                Ok(Some(Either::A(latin1(lacking.into_bytes()))))
            }
            Err(_) => self.start_simulation(id, simulation),
            Ok(answer) => Ok(Some(answer)),
        }
    }

    /// Goes on with work that lacks state: `values` in the order of its reads, which are kept. What comes of it is returned or
    /// comes by mail.
    #[napi(catch_unwind)]
    pub fn resume(&mut self, id: u32, values: Latin1String) -> Result<Option<Either<Latin1String, Message>>> {
        let Some(Paused { simulation, reads }) = self.paused.remove(&id) else {
            self.threads.answer(id, values.to_vec());
            return Ok(None);
        };
        let values = reader::values(ascii(&values)?, &reads).map_err(malformed)?;
        self.cache.pinned(simulation.key).keep(reads.into_iter().zip(values));
        match self.at_once(id, &simulation) {
            Err(_) => self.start_simulation(id, simulation),
            Ok(answer) => Ok(Some(answer)),
        }
    }

    /// Which of the reads have no value here, in order: `1` where it lacks, else `0`.
    #[napi(catch_unwind)]
    pub fn missing(&self, key: Latin1String, reads: Latin1String) -> Result<Latin1String> {
        let reads = field::<Vec<Read>>(&reads)?;
        let state = self.cache.find(state_key(&key)?);
        let lacks = |read| if state.as_ref().is_some_and(|state| state.get(read).is_some()) { b'0' } else { b'1' };
        Ok(latin1(reads.iter().map(lacks).collect()))
    }

    /// What is held of the reads, in order.
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
        let values = reader::values(ascii(&values)?, &reads).map_err(malformed)?;
        self.cache.pinned(state_key(&key)?).keep(reads.into_iter().zip(values));
        Ok(())
    }

    /// Executes a stretch of a block under construction; what comes of it comes by mail.
    #[napi(catch_unwind)]
    pub fn execute(&self, id: u32, key: Latin1String, layers: Vec<u32>, stretch: Latin1String) -> Result<()> {
        let stretch = field::<stretch::Stretch>(&stretch)?;
        self.threads.start(id, state_key(&key)?, self.layers(&layers)?, move |state, stop| {
            match stretch::execute(&stretch, state, stop) {
                Ok(executed) => Ok(encode::executed(executed).into_bytes().into()),
                Err(StretchFailure::Read(error)) => Err(Failure::from(error).into()),
                Err(StretchFailure::Rejected { transaction, error }) => {
                    let rejected = StretchRejected { transaction: transaction as u64, message: error.to_string() };
                    Err(Ending::Rejected(encode::written(&rejected).into_bytes()))
                }
            }
        })
    }

    /// Runs the one transaction of a stretch for the sake of what it reads.
    #[napi(catch_unwind)]
    pub fn warm(&self, id: u32, key: Latin1String, layers: Vec<u32>, stretch: Latin1String) -> Result<()> {
        let stretch = field::<stretch::Stretch>(&stretch)?;
        self.threads.start(id, state_key(&key)?, self.layers(&layers)?, move |state, stop| {
            match stretch.transactions.first() {
                Some(raw) => stretch::warm(&stretch, raw, state, stop)
                    .map(|()| Payload::default())
                    .map_err(|error| Failure::from(error).into()),
                None => Ok(Payload::default()),
            }
        })
    }

    /// Ends work: nobody wants it any more, or what it lacks can't be read.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self, id: u32) {
        self.paused.remove(&id);
        self.threads.stop(id);
    }

    /// Keeps a layer under a number of JavaScript's choosing.
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

    /// Reads a record of the border and writes it again: for the test that both sides agree.
    #[napi(catch_unwind)]
    pub fn echo(&self, name: String, record: Latin1String) -> Result<Latin1String> {
        let mut record = text::Tokens(ascii(&record)?);
        Ok(latin1(records::echo(&name, &mut record).map_err(malformed)?.into_bytes()))
    }

    /// Executes a sealed block on its parent's state, whose key this is; where that comes to what the header says, its state is
    /// carried. What became of it comes by mail.
    #[napi(catch_unwind)]
    pub fn carry(&self, id: u32, key: Latin1String, layers: Vec<u32>, block: Latin1String) -> Result<()> {
        let block = field::<carry::SealedBlock>(&block)?;
        let (key, layers, cache) = (state_key(&key)?, self.layers(&layers)?, self.cache.clone());
        let below = layers.clone();
        self.threads.start(id, key, layers, move |state, stop| {
            let executed = carry::execute(&block, state, &stop);
            match carry::carry(&cache, key, &block, &below, executed) {
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
            .map(|number| self.layers.get(number).cloned().ok_or_else(|| Error::from_reason("an unknown layer")))
            .collect()
    }

    /// On the caller's thread: only what is cached and small. Fails with whatever stands in the way.
    fn at_once(&self, id: u32, simulation: &Simulation) -> std::result::Result<Either<Latin1String, Message>, Failure> {
        let Simulation { plan, key, layers } = simulation;
        let stop = Arc::new(Stop::default());
        let state = SimulationState::new(&self.cache, *key, layers.clone(), Arc::new(CachedOnly), stop.clone());
        match simulate(plan, state, stop, Some(ALLOWANCE)).and_then(|outcome| written(plan, &outcome)) {
            Ok(payload) => Ok(match payload.json {
                None => Either::A(latin1(payload.text)),
                Some(_) => Either::B(Message::new(Kind::Done, id, payload)),
            }),
            Err(Failure::Rejected(rejected)) => {
                Ok(Either::B(Message::new(Kind::Rejected, id, encode::rejected(Some(*rejected)))))
            }
            Err(Failure::TooLong) => Ok(Either::B(Message::new(Kind::Rejected, id, encode::rejected(None)))),
            Err(failure) => Err(failure),
        }
    }

    fn start_simulation(&self, id: u32, simulation: Simulation) -> Result<AtOnce> {
        let Simulation { plan, key, layers } = simulation;
        self.threads.start(id, key, layers, move |state, stop| {
            simulate(&plan, state, stop, None).and_then(|outcome| written(&plan, &outcome)).map_err(Ending::from)
        })?;
        Ok(None)
    }
}

fn written(plan: &Plan, outcome: &Outcome) -> std::result::Result<Payload, Failure> {
    answer::write(plan, outcome).map(|answer| encode::answer(answer, outcome))
}

fn state_key(key: &Latin1String) -> Result<B256> {
    hex::FromHex::from_hex(ascii(key)?).map_err(|_| malformed(text::Malformed("not a state's key")))
}

fn field<T: text::Field>(text: &Latin1String) -> Result<T> {
    text::read(ascii(text)?).map_err(malformed)
}

fn ascii(text: &Latin1String) -> Result<&str> {
    std::str::from_utf8(text).map_err(|_| malformed(text::Malformed("not ASCII")))
}

fn malformed(malformed: text::Malformed) -> Error {
    Error::from_reason(format!("malformed: {}", malformed.0))
}
