//! The addon: conversion alone. What it does is in `upfront-engine`.
//!
//! JavaScript submits a simulation by a number of its own choosing; what comes of it lies in the mailbox under that number.
//! Messages: `r` a read to make, `d` done, `x` rejected, `u` unread (the source knows why), `c` cancelled, `p` panicked.

mod decode;
mod encode;
mod mailbox;
mod reader;
mod tokens;

use mailbox::{Mailbox, Wake};
use napi::{Error, Result};
use napi_derive::napi;
use reader::{Answer, CachedOnly, Reader};
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};
use upfront_engine::{
    evm::Allowance,
    plan::Plan,
    pool::Pool,
    primitives::B256,
    rejection::{Failure, Rejection},
    simulate::simulate,
    state::{Layer, ReadError, SimulationState, StateCache, Stop},
    stretch::{self, StretchFailure},
};

/// What the event loop gives a simulation at most: enough for a swap (a tenth of a millisecond), and made to hurt 3 ms
/// (hashes of 4 KB over and over; measured with the dearest programs known).
const ALLOWANCE: Allowance = Allowance { gas: 300_000, frames: 20, bytes: 4_096, precompile_gas: 40_000 };
const SMALL_PLAN: usize = 8_192;

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
    /// Absent once closed.
    pool: Option<Pool>,
    mailbox: Arc<Mailbox>,
    layers: HashMap<u32, Arc<Layer>>,
    running: Arc<Mutex<HashMap<u32, Running>>>,
}

#[derive(Clone)]
struct Running {
    stop: Arc<Stop>,
    answer: Arc<Answer>,
}

#[napi]
impl NativeEngine {
    /// `wake` is called, on the event loop, when the mailbox holds something.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: NativeOptions, #[napi(ts_arg_type = "() => void")] wake: Wake) -> Self {
        Self {
            cache: Arc::new(StateCache::new(options.cache_bytes as usize)),
            pool: Some(Pool::new(options.threads as usize, options.queue as usize)),
            mailbox: Arc::new(Mailbox::new(wake)),
            layers: HashMap::new(),
            running: Arc::default(),
        }
    }

    /// What is in the mailbox: the oldest bundle of it, where it is much.
    #[napi(catch_unwind)]
    pub fn take(&self) -> String {
        self.mailbox.take()
    }

    /// Bytes of cached state, estimated.
    #[napi(catch_unwind)]
    pub fn cached_bytes(&self) -> f64 {
        self.cache.bytes() as f64
    }

    /// Simulates. The outcome is returned where it takes next to no time; else (null) it comes by mail.
    #[napi(catch_unwind)]
    pub fn simulate(&self, id: u32, key: String, layers: Vec<u32>, plan: String) -> Result<Option<String>> {
        let key = state_key(&key)?;
        let layers = self.layers(&layers)?;
        let small = plan.len() <= SMALL_PLAN;
        let plan = decode::plan(&plan).map_err(malformed)?;
        if small {
            if let Some(done) = self.at_once(&plan, key, layers.clone()) {
                return Ok(Some(done));
            }
        }
        self.start(id, key, layers, move |state, stop| {
            simulate(&plan, state, stop, None).map(|outcome| encode::outcome(&outcome))
        })?;
        Ok(None)
    }

    /// Executes a stretch of a block under construction; what comes of it comes by mail.
    #[napi(catch_unwind)]
    pub fn execute(&self, id: u32, key: String, layers: Vec<u32>, stretch: String) -> Result<()> {
        let stretch = decode::stretch(&stretch).map_err(malformed)?;
        self.start(id, state_key(&key)?, self.layers(&layers)?, move |state, stop| {
            match stretch::execute(&stretch, state, stop) {
                Ok(executed) => Ok(encode::executed(&executed)),
                Err(StretchFailure::Read(error)) => Err(error.into()),
                Err(StretchFailure::Rejected { transaction, message }) => {
                    Err(Failure::Rejected(Rejection { code: 0, message, block: 0, call: Some(transaction) }))
                }
            }
        })
    }

    /// Runs the one transaction of a stretch for the sake of what it reads.
    #[napi(catch_unwind)]
    pub fn warm(&self, id: u32, key: String, layers: Vec<u32>, stretch: String) -> Result<()> {
        let stretch = decode::stretch(&stretch).map_err(malformed)?;
        self.start(id, state_key(&key)?, self.layers(&layers)?, move |state, stop| {
            match stretch.transactions.first() {
                Some(raw) => stretch::warm(&stretch, raw, state, stop).map(|()| String::new()).map_err(Failure::from),
                None => Ok(String::new()),
            }
        })
    }

    /// What was read for `id`, in the order in which it was asked.
    #[napi(catch_unwind)]
    pub fn answer(&self, id: u32, values: String) {
        if let Some(running) = self.find(id) {
            running.answer.put(Ok(values));
        }
    }

    #[napi(catch_unwind)]
    pub fn answer_failed(&self, id: u32) {
        if let Some(running) = self.find(id) {
            running.answer.put(Err(ReadError::Failed));
        }
    }

    #[napi(catch_unwind)]
    pub fn cancel(&self, id: u32) {
        if let Some(running) = self.find(id) {
            running.stop.raise();
            running.answer.wake();
        }
    }

    /// Keeps a layer under a number of JavaScript's choosing.
    #[napi(catch_unwind)]
    pub fn add_layer(&mut self, number: u32, layer: String) -> Result<()> {
        let layer = decode::layer(&layer).map_err(malformed)?;
        self.layers.insert(number, Arc::new(layer));
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn drop_layer(&mut self, number: u32) {
        self.layers.remove(&number);
    }

    /// Stops everything that runs; its threads end.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.pool = None;
        for running in self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).values() {
            running.stop.raise();
            running.answer.wake();
        }
    }
}

impl NativeEngine {
    fn find(&self, id: u32) -> Option<Running> {
        self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&id).cloned()
    }

    fn layers(&self, numbers: &[u32]) -> Result<Vec<Arc<Layer>>> {
        numbers
            .iter()
            .map(|number| self.layers.get(number).cloned().ok_or_else(|| Error::from_reason("an unknown layer")))
            .collect()
    }

    /// On the caller's thread: only what is cached and small.
    fn at_once(&self, plan: &Plan, key: B256, layers: Vec<Arc<Layer>>) -> Option<String> {
        let stop = Arc::new(Stop::default());
        let state = SimulationState::new(&self.cache, key, layers, Arc::new(CachedOnly), stop.clone());
        match simulate(plan, state, stop, Some(ALLOWANCE)) {
            Ok(outcome) => Some(format!("d{}", encode::outcome(&outcome))),
            Err(Failure::Rejected(rejection)) => Some(format!("x{}", encode::rejection(&rejection))),
            Err(Failure::TooMuch | Failure::Unread | Failure::Cancelled) => None,
        }
    }

    /// On a thread of the pool.
    fn start(
        &self,
        id: u32,
        key: B256,
        layers: Vec<Arc<Layer>>,
        work: impl FnOnce(SimulationState, Arc<Stop>) -> std::result::Result<String, Failure> + Send + 'static,
    ) -> Result<()> {
        let running = Running { stop: Arc::default(), answer: Arc::default() };
        let table = self.running.clone();
        table.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(id, running.clone());
        let (cache, mailbox) = (self.cache.clone(), self.mailbox.clone());
        let job = {
            let table = table.clone();
            move || {
                let Running { stop, answer } = running;
                let reader = Reader { id, mailbox: mailbox.clone(), stop: stop.clone(), answer };
                let run = || {
                    let state = SimulationState::new(&cache, key, layers, Arc::new(reader), stop.clone());
                    work(state, stop)
                };
                let result = catch_unwind(AssertUnwindSafe(run));
                table.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&id);
                match result {
                    Ok(Ok(done)) => mailbox.post('d', id, &done),
                    Ok(Err(Failure::Rejected(rejection))) => mailbox.post('x', id, &encode::rejection(&rejection)),
                    Ok(Err(Failure::Unread | Failure::TooMuch)) => mailbox.post('u', id, ""),
                    Ok(Err(Failure::Cancelled)) => mailbox.post('c', id, ""),
                    Err(_) => mailbox.post('p', id, ""),
                }
            }
        };
        let pool = self.pool.as_ref().ok_or_else(|| Error::from_reason("closed"))?;
        pool.run(job).map_err(|_| {
            table.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&id);
            Error::from_reason("full")
        })
    }
}

fn state_key(key: &str) -> Result<B256> {
    tokens::hash(key).map_err(malformed)
}

fn malformed(malformed: tokens::Malformed) -> Error {
    Error::from_reason(format!("malformed: {}", malformed.0))
}
