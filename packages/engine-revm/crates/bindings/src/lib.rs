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
use paused::{PausedSimulations, Simulation};
use reader::CachedOnly;
use std::{collections::HashMap, sync::Arc};
use threads::Threads;
use upfront_engine::{
    answer,
    evm::Allowance,
    outcome::Outcome,
    plan::Plan,
    primitives::{B256, hex},
    rejection::{Failure, Rejection},
    simulate::simulate,
    state::{Layer, ReadError, SimulationState, StateCache, Stop},
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
    paused: PausedSimulations,
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
        Self { cache, mailbox, layers: HashMap::new(), paused: PausedSimulations::default(), threads }
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

    /// Simulates. What comes of it is returned where it takes next to no time, a short outcome as its text alone; else (null)
    /// it comes by mail. Where all that stands in the way are reads, they are returned after a line `paused`, and after the
    /// simulations that asked for some of them before: once those went on or ended, it goes on with `resume`, or ends with
    /// `cancel`. `written`: as the JSON of an answer.
    #[napi(catch_unwind)]
    pub fn simulate(
        &mut self,
        id: u32,
        key: Latin1String,
        layers: Vec<u32>,
        plan: Latin1String,
        written: bool,
    ) -> Result<Option<Either<Latin1String, Message>>> {
        let is_small = plan.len() <= SMALL_PLAN;
        let plan = field(&plan)?;
        let simulation = Simulation { plan, key: state_key(&key)?, layers: self.layers(&layers)?, written };
        if !is_small {
            return self.start_simulation(id, simulation);
        }
        match self.at_once(id, &simulation) {
            Err(Failure::Missing(reads)) => {
                Ok(Some(Either::A(latin1(self.paused.add(id, simulation, reads).into_bytes()))))
            }
            Err(_) => self.start_simulation(id, simulation),
            Ok(answer) => Ok(Some(answer)),
        }
    }

    /// Goes on with a simulation that lacked state: `values` in the order of the reads that it returned, which are kept.
    #[napi(catch_unwind)]
    pub fn resume(&mut self, id: u32, values: Latin1String) -> Result<Option<Either<Latin1String, Message>>> {
        let (simulation, reads) = self.paused.take(id).ok_or_else(|| Error::from_reason("an unknown simulation"))?;
        let values = reader::values(ascii(&values)?, &reads).map_err(malformed)?;
        self.cache.pinned(simulation.key).provide(reads.into_iter().zip(values));
        match self.at_once(id, &simulation) {
            Err(_) => self.start_simulation(id, simulation),
            Ok(answer) => Ok(Some(answer)),
        }
    }

    /// Executes a stretch of a block under construction; what comes of it comes by mail.
    #[napi(catch_unwind)]
    pub fn execute(&self, id: u32, key: Latin1String, layers: Vec<u32>, stretch: Latin1String) -> Result<()> {
        let stretch = field::<stretch::Stretch>(&stretch)?;
        self.threads.start(id, state_key(&key)?, self.layers(&layers)?, move |state, stop| {
            match stretch::execute(&stretch, state, stop) {
                Ok(executed) => Ok(encode::executed(executed).into_bytes().into()),
                Err(StretchFailure::Read(error)) => Err(error.into()),
                Err(StretchFailure::Rejected { transaction, error }) => {
                    let message = error.to_string();
                    Err(Failure::Rejected(Rejection { code: 0, message, block: 0, call: Some(transaction) }))
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
                Some(raw) => {
                    stretch::warm(&stretch, raw, state, stop).map(|()| Payload::default()).map_err(Failure::from)
                }
                None => Ok(Payload::default()),
            }
        })
    }

    /// What was read for `id`, in the order in which it was asked.
    #[napi(catch_unwind)]
    pub fn answer(&self, id: u32, values: Latin1String) {
        self.threads.answer(id, Ok(values.to_vec()));
    }

    #[napi(catch_unwind)]
    pub fn answer_failed(&self, id: u32) {
        self.threads.answer(id, Err(ReadError::Failed));
    }

    #[napi(catch_unwind)]
    pub fn cancel(&mut self, id: u32) {
        self.paused.take(id);
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

    /// Stops everything that runs; its threads end.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.paused = PausedSimulations::default();
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
        let Simulation { plan, key, layers, written } = simulation;
        let stop = Arc::new(Stop::default());
        let state = SimulationState::new(&self.cache, *key, layers.clone(), Arc::new(CachedOnly), stop.clone());
        match simulate(plan, state, stop, Some(ALLOWANCE)) {
            Ok(outcome) => {
                let payload = encode(plan, &outcome, *written);
                Ok(match payload.json {
                    None => Either::A(latin1(payload.text)),
                    Some(_) => Either::B(Message::new(Kind::Done, id, payload)),
                })
            }
            Err(Failure::Rejected(rejection)) => {
                Ok(Either::B(Message::new(Kind::Rejected, id, encode::written(&rejection).into_bytes())))
            }
            Err(failure) => Err(failure),
        }
    }

    fn start_simulation(&self, id: u32, simulation: Simulation) -> Result<AtOnce> {
        let Simulation { plan, key, layers, written } = simulation;
        self.threads.start(id, key, layers, move |state, stop| {
            simulate(&plan, state, stop, None).map(|outcome| encode(&plan, &outcome, written))
        })?;
        Ok(None)
    }
}

fn encode(plan: &Plan, outcome: &Outcome, written: bool) -> Payload {
    if written {
        encode::answer(answer::write(plan, outcome), outcome)
    } else {
        encode::outcome(outcome).into_bytes().into()
    }
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
