//! The addon: what JavaScript says goes to `upfront-engine-border`, and what takes long to threads of our own.
//!
//! JavaScript begins work under a number that it chooses. The result is returned at once or put into the mailbox with that
//! number. Text is ASCII both ways, so as Latin-1 it crosses by copying.

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
use upfront_engine_border::{AtOnce, Desk, Ending, Field, Payload, Refusal, Simulation, Tokens, Work, read};

/// A simulation allocates often and briefly: testing/bench/RESULTS.md compares allocators.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the event loop gives a simulation at most: enough for a swap. testing/bench/RESULTS.md has what the costliest programs known make of
/// it.
const ALLOWANCE: Allowance = Allowance { gas: 300_000, frames: 20, bytes: 4_096, precompile_gas: 40_000 };
const SMALL_PLAN: usize = 8_192;
/// Kinds of work that following the chain needs: nobody who asks much holds it up.
const FOLLOWING: [&str; 2] = ["carry", "lay"];

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
    desk: Desk,
    mailbox: Arc<Mailbox>,
    threads: Threads,
    /// Plans of which more is to come.
    arriving: HashMap<u32, Vec<Latin1String>>,
}

/// A short outcome, or what to read first, is its text alone: making a JavaScript object takes longer than writing either. None:
/// the result comes by mail.
type Said = Option<Either<Latin1String, Message>>;

type Result<T> = std::result::Result<T, napi::Error<Refusal>>;

#[napi]
impl NativeEngine {
    /// `wake` is called, on the event loop, when the mailbox was empty and holds something.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: NativeOptions, #[napi(ts_arg_type = "() => void")] wake: Wake) -> Self {
        let desk = Desk::new(options.cache_bytes as usize, ALLOWANCE);
        let mailbox = Arc::new(Mailbox::new(wake));
        let pool = Pool::new(options.threads as usize, options.queue as usize);
        let threads = Threads::new(pool, desk.cache.clone(), options.memory_bytes as usize, mailbox.clone());
        Self { desk, mailbox, threads, arriving: HashMap::new() }
    }

    /// The oldest message in the mailbox.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Option<Message> {
        self.mailbox.take()
    }

    /// Keeps a piece of a plan that is too long to cross at once, or a block's access list, for the `begin` or `start` that comes next with this
    /// number: a plan's last piece is `begin`'s. `cancel` drops them.
    #[napi(catch_unwind)]
    pub fn append(&mut self, id: u32, piece: Latin1String) -> Result<()> {
        self.arriving.entry(id).or_default().push(piece);
        Ok(())
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
        let mut pieces = self.arriving.remove(&id).unwrap_or_default();
        if plan.len() > SMALL_PLAN || !pieces.is_empty() {
            pieces.push(plan);
            self.start_with("simulate".to_owned(), id, &key, &layers, pieces, None)?;
            return Ok(None);
        }
        let (key, layers) = (key_of(&key)?, self.layers(&layers)?);
        let said = self.desk.begin(id, Simulation { plan: field(&plan)?, key, layers });
        self.said(id, said)
    }

    /// Goes on with work that lacks values of the state, and keeps them. Returns what `begin` does.
    #[napi(catch_unwind)]
    pub fn resume(&mut self, id: u32, values: Latin1String) -> Result<Option<Either<Latin1String, Message>>> {
        match self.desk.resume(id, ascii(&values)?).map_err(refused)? {
            Some(said) => self.said(id, said),
            None => {
                self.threads.answer(id, values.to_vec());
                Ok(None)
            }
        }
    }

    /// For each of the reads, in order: `1` where its value is not held, else `0`.
    #[napi(catch_unwind)]
    pub fn missing(&self, key: Latin1String, reads: Latin1String) -> Result<Latin1String> {
        Ok(latin1(self.desk.missing(key_of(&key)?, &field::<Vec<_>>(&reads)?)))
    }

    /// The values of the reads, in order, as far as they are held.
    #[napi(catch_unwind)]
    pub fn known(&self, key: Latin1String, reads: Latin1String) -> Result<Latin1String> {
        Ok(latin1(self.desk.known(key_of(&key)?, &field::<Vec<_>>(&reads)?)))
    }

    /// Keeps values in the order of the reads.
    #[napi(catch_unwind)]
    pub fn provide(&self, key: Latin1String, reads: Latin1String, values: Latin1String) -> Result<()> {
        self.desk.provide(key_of(&key)?, field(&reads)?, ascii(&values)?).map_err(refused)
    }

    /// Begins work of a kind that `Work` has (crates/border/src/work.rs), on the state with this key under layers. What comes of it
    /// comes by mail.
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

    /// Ends work that nobody waits for any more.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self, id: u32) {
        self.arriving.remove(&id);
        self.desk.cancel(id);
        self.threads.stop(id);
    }

    /// Keeps a layer under a number that JavaScript chooses.
    #[napi(catch_unwind)]
    pub fn add_layer(&mut self, number: u32, layer: Latin1String) -> Result<()> {
        self.desk.add_layer(number, field(&layer)?);
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn drop_layer(&mut self, number: u32) {
        self.desk.drop_layer(number);
    }

    /// Reads a record and writes it again: for the test that both sides of the border agree.
    #[napi(catch_unwind)]
    pub fn echo(&self, name: String, record: Latin1String) -> Result<Latin1String> {
        Desk::echo(&name, Tokens(ascii(&record)?)).map(latin1).map_err(refused)
    }

    /// Whether anything is held of this state.
    #[napi(catch_unwind)]
    pub fn holds(&self, key: Latin1String) -> Result<bool> {
        Ok(self.desk.holds(key_of(&key)?))
    }

    /// Drops every state; what runs keeps what it stands on.
    #[napi(catch_unwind)]
    pub fn forget(&self) {
        self.desk.cache.forget();
    }

    /// Stops everything that runs; its threads end.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.arriving.clear();
        self.desk.clear();
        self.threads.close();
    }
}

impl NativeEngine {
    fn layers(&self, numbers: &[u32]) -> Result<Vec<Arc<Layer>>> {
        self.desk.layers(numbers).map_err(refused)
    }

    fn said(&self, id: u32, said: AtOnce) -> Result<Said> {
        Ok(Some(match said {
            AtOnce::Done(Payload { text, json: None }) => Either::A(latin1(text)),
            AtOnce::Done(payload) => Either::B(Message::new(Kind::Done, id, payload)),
            AtOnce::Paused(lacking) => Either::A(latin1(lacking)),
            AtOnce::Rejected(text) => Either::B(Message::new(Kind::Rejected, id, text)),
            AtOnce::TooMuch(Simulation { plan, key, layers }) => {
                let work = Work::Simulate(plan);
                self.threads.start(id, key, layers, true, move |base| work.perform(base)).map_err(refused)?;
                return Ok(None);
            }
        }))
    }

    /// The text is joined and read on the thread: for a long one that takes milliseconds.
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
            let work = Work::read(&kind, &mut Tokens(std::str::from_utf8(&text).unwrap_or_default()), list.as_deref());
            work.map_err(|_| Ending::Failed)?.perform(base)
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
