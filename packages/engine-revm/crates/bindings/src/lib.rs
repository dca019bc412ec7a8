//! The addon: passes requests from JavaScript to `upfront-engine-border`, and long work to its own threads.
//!
//! JavaScript starts work under a number of its choice. The result is returned at once or sent through the mailbox with that number. Text
//! is ASCII both ways, so it crosses as Latin-1 by a plain copy.

mod mailbox;
mod reader;
mod threads;

use mailbox::{Kind, Mailbox, Message, Wake, latin1};
use napi::bindgen_prelude::{Either, Latin1String};
use napi_derive::napi;
use std::{collections::HashMap, sync::Arc};
use threads::Threads;
use upfront_engine::{
    pool::Pool,
    primitives::{B256, hex},
    state::{Allowance, Layer},
};
use upfront_engine_border::{Engine, Field, Payload, Refusal, Simulation, Step, TextReader, Work, WorkError, read};

/// Simulations make many short-lived allocations: testing/bench/RESULTS.md compares allocators.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a simulation may use on the event loop: enough for a swap. testing/bench/RESULTS.md has the time of the costliest known programs.
const ALLOWANCE: Allowance = Allowance { gas: 300_000, frames: 20, bytes: 4_096, precompile_gas: 40_000 };
const SMALL_PLAN: usize = 8_192;
/// Kinds of work that following the chain needs, which other load must not delay.
const FOLLOWING: [&str; 2] = ["carry", "carryListed"];

#[napi]
pub const REVM_VERSION: &str = upfront_engine_border::REVM_VERSION;

#[napi(object)]
pub struct NativeOptions {
    /// Limit of cached state, estimated.
    pub cache_bytes: f64,
    pub threads: u32,
    /// Limit of EVM memory in simulations, over all threads.
    pub memory_bytes: f64,
    /// Limit of simulations waiting for a thread.
    pub queue: u32,
}

#[napi]
pub struct NativeEngine {
    engine: Engine,
    mailbox: Arc<Mailbox>,
    threads: Threads,
    /// Pieces of plans that are not complete yet.
    arriving: HashMap<u32, Vec<Latin1String>>,
}

/// A short outcome, or the reads to make, is returned as text: creating a JavaScript object would take longer than writing it. None if the
/// result is sent through the mailbox.
type Returned = Option<Either<Latin1String, Message>>;

type Result<T> = std::result::Result<T, napi::Error<Refusal>>;

#[napi]
impl NativeEngine {
    /// `wake` is called on the event loop when a message arrives in the empty mailbox.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: NativeOptions, #[napi(ts_arg_type = "() => void")] wake: Wake) -> Self {
        let engine = Engine::new(options.cache_bytes as usize, ALLOWANCE);
        let mailbox = Arc::new(Mailbox::new(wake));
        let pool = Pool::new(options.threads as usize, options.queue as usize);
        let threads = Threads::new(pool, engine.cache.clone(), options.memory_bytes as usize, mailbox.clone());
        Self { engine, mailbox, threads, arriving: HashMap::new() }
    }

    /// Takes the oldest message from the mailbox.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Option<Message> {
        self.mailbox.take()
    }

    /// Stores a piece of a plan too long to cross at once, or a block's access list, for the next `begin` or `start` with this number. The
    /// plan's last piece is passed to `begin`. `cancel` drops the pieces.
    #[napi(catch_unwind)]
    pub fn append(&mut self, id: u32, piece: Latin1String) -> Result<()> {
        self.arriving.entry(id).or_default().push(piece);
        Ok(())
    }

    /// Begins a simulation. A small one runs at once, and its result is returned, as text alone if it is short. Otherwise null is returned
    /// and the result is sent through the mailbox. If a small one needs values of state, the reads are returned after a line `paused`: call
    /// `resume` with their values, or `cancel`.
    #[napi(catch_unwind)]
    pub fn begin(
        &mut self,
        id: u32,
        key: Latin1String,
        layers: Vec<u32>,
        plan: Latin1String,
    ) -> Result<Option<Either<Latin1String, Message>>> {
        let mut pieces = self.arriving.remove(&id).unwrap_or_default();
        if plan.len() > SMALL_PLAN || !pieces.is_empty() {
            pieces.push(plan);
            self.start_with("simulate".to_owned(), id, &key, &layers, pieces, None)?;
            return Ok(None);
        }
        let (key, layers) = (key_of(&key)?, self.layers(&layers)?);
        let step = self.engine.begin(id, Simulation { plan: field(&plan)?, key, layers });
        self.returned(id, step)
    }

    /// Resumes work with the values it needs, and caches them. Returns what `begin` does.
    #[napi(catch_unwind)]
    pub fn resume(&mut self, id: u32, values: Latin1String) -> Result<Option<Either<Latin1String, Message>>> {
        match self.engine.resume(id, ascii(&values)?).map_err(refused)? {
            Some(step) => self.returned(id, step),
            None => {
                self.threads.answer(id, values.to_vec());
                Ok(None)
            }
        }
    }

    /// For each read, in order: `1` if its value is not cached, else `0`.
    #[napi(catch_unwind)]
    pub fn missing(&self, key: Latin1String, reads: Latin1String) -> Result<Latin1String> {
        Ok(latin1(self.engine.missing(key_of(&key)?, &field::<Vec<_>>(&reads)?)))
    }

    /// The cached values of the reads, in order.
    #[napi(catch_unwind)]
    pub fn known(&self, key: Latin1String, reads: Latin1String) -> Result<Latin1String> {
        Ok(latin1(self.engine.known(key_of(&key)?, &field::<Vec<_>>(&reads)?)))
    }

    /// Caches values, in the order of the reads.
    #[napi(catch_unwind)]
    pub fn provide(&self, key: Latin1String, reads: Latin1String, values: Latin1String) -> Result<()> {
        self.engine.provide(key_of(&key)?, field(&reads)?, ascii(&values)?).map_err(refused)
    }

    /// Begins work of a kind in `Work` (crates/border/src/work.rs), on the state with this key under layers. The result is sent through the
    /// mailbox.
    #[napi(catch_unwind)]
    pub fn start(
        &mut self,
        id: u32,
        kind: String,
        key: Latin1String,
        layers: Vec<u32>,
        text: Latin1String,
    ) -> Result<()> {
        let list = self.arriving.remove(&id).and_then(|mut pieces| pieces.pop());
        self.start_with(kind, id, &key, &layers, vec![text], list)
    }

    /// Cancels work whose result is no longer wanted.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self, id: u32) {
        self.arriving.remove(&id);
        self.engine.cancel(id);
        self.threads.stop(id);
    }

    /// Stores a layer under a number chosen by JavaScript.
    #[napi(catch_unwind)]
    pub fn add_layer(&mut self, number: u32, layer: Latin1String) -> Result<()> {
        self.engine.add_layer(number, field(&layer)?);
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn drop_layer(&mut self, number: u32) {
        self.engine.drop_layer(number);
    }

    /// Decodes and encodes a record, for the test that both sides of the border agree.
    #[napi(catch_unwind)]
    pub fn echo(&self, name: String, record: Latin1String) -> Result<Latin1String> {
        Engine::echo(&name, TextReader(ascii(&record)?)).map(latin1).map_err(refused)
    }

    /// Whether any value of this state is cached.
    #[napi(catch_unwind)]
    pub fn holds(&self, key: Latin1String) -> Result<bool> {
        Ok(self.engine.holds(key_of(&key)?))
    }

    /// Drops every state. Running work keeps the state it uses.
    #[napi(catch_unwind)]
    pub fn clear_cache(&self) {
        self.engine.cache.clear();
    }

    /// Stops all work and ends the threads.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.arriving.clear();
        self.engine.clear();
        self.threads.close();
    }
}

impl NativeEngine {
    fn layers(&self, numbers: &[u32]) -> Result<Vec<Arc<Layer>>> {
        self.engine.layers(numbers).map_err(refused)
    }

    fn returned(&self, id: u32, step: Step) -> Result<Returned> {
        Ok(Some(match step {
            Step::Done(Payload { text, json: None }) => Either::A(latin1(text)),
            Step::Done(payload) => Either::B(Message::new(Kind::Done, id, payload)),
            Step::Paused(reads) => Either::A(latin1(reads)),
            Step::Rejected(text) => Either::B(Message::new(Kind::Rejected, id, text)),
            Step::TooMuch(Simulation { plan, key, layers }) => {
                let work = Work::Simulate(plan);
                self.threads.start(id, key, layers, true, move |base| work.perform(base)).map_err(refused)?;
                return Ok(None);
            }
        }))
    }

    /// The text is joined and parsed on the thread, because that takes milliseconds for a long one.
    fn start_with(
        &self,
        kind: String,
        id: u32,
        key: &Latin1String,
        layers: &[u32],
        mut pieces: Vec<Latin1String>,
        list: Option<Latin1String>,
    ) -> Result<()> {
        let shares = !FOLLOWING.contains(&&*kind);
        let work = move |base: &_| {
            let joined =
                |pieces: &[Latin1String]| latin1(pieces.iter().map(|piece| &piece[..]).collect::<Vec<_>>().concat());
            let text = if pieces.len() == 1 { pieces.remove(0) } else { joined(&pieces) };
            drop(pieces);
            let work =
                Work::read(&kind, &mut TextReader(std::str::from_utf8(&text).unwrap_or_default()), list.as_deref());
            work.map_err(|_| WorkError::Failed)?.perform(base)
        };
        self.threads.start(id, key_of(key)?, self.layers(layers)?, shares, work).map_err(refused)
    }
}

fn key_of(key: &Latin1String) -> Result<B256> {
    hex::FromHex::from_hex(ascii(key)?).map_err(|_| refused(Refusal::Malformed("not a state's key")))
}

fn field<T: Field>(text: &Latin1String) -> Result<T> {
    read(ascii(text)?).map_err(|malformed| refused(malformed.into()))
}

fn ascii(text: &Latin1String) -> Result<&str> {
    std::str::from_utf8(text).map_err(|_| refused(Refusal::Malformed("not ASCII")))
}

fn refused(refusal: Refusal) -> napi::Error<Refusal> {
    napi::Error::new(refusal, refusal.to_string())
}
