use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use upfront_engine::{
    carry::{self, Carried, Differs},
    evm::MemoryGate,
    primitives::B256,
    simulate::BaseState,
    state::{Allowance, Layer, Read, ReadError, StateSource, Value, Writes},
    time_slices::Stop,
};
use upfront_engine_border::{
    AtOnce, Desk, Ending, Payload, Refusal, Result, Simulation, Tokens, Work, lacking, written,
};

/// What a simulation may use on the event loop. Hashing and precompiles take three to ten times as long as natively, and memory is touched
/// for the first time more often.
const ALLOWANCE: Allowance = Allowance { gas: 300_000, frames: 20, bytes: 4_096, precompile_gas: 6_000 };
const CACHE_BYTES: usize = 64 << 20;

/// The kind of an answer. Same order as `KINDS` in src/portable/instance.ts.
#[derive(Clone, Copy)]
pub enum Said {
    Done,
    /// The request is invalid; the reason.
    Rejected,
    /// The reads to make first.
    Read,
    /// It needs a worker or, on one, more time than it was given.
    Later,
    /// The changes of a block, for `carried`.
    Changed,
    /// The question is malformed: a code and, on the next line, a message.
    Refused,
    /// A fault of the engine.
    Failed,
}

pub struct Instance {
    desk: Desk,
}

impl Default for Instance {
    fn default() -> Self {
        Self { desk: Desk::new(CACHE_BYTES, ALLOWANCE) }
    }
}

type Answer = (Said, Payload);

impl Instance {
    pub fn answer(&mut self, question: &str) -> Answer {
        self.understand(&mut Tokens(question))
            .unwrap_or_else(|refusal| (Said::Refused, format!("{}\n{refusal}", refusal.as_ref()).into_bytes().into()))
    }

    fn understand(&mut self, t: &mut Tokens<'_>) -> Result<Answer> {
        let done = |text: Vec<u8>| Ok((Said::Done, text.into()));
        let nothing = || Ok((Said::Done, Payload::default()));
        match t.word()? {
            "configure" => self.desk = Desk::new(t.read()?, ALLOWANCE),
            "version" => return done(env!("REVM_VERSION").into()),
            "begin" => {
                let (id, key, layers) = (t.read()?, t.read()?, self.layers(t)?);
                let simulation = Simulation { plan: t.read()?, key, layers };
                return Ok(said(self.desk.begin(id, simulation)));
            }
            "resume" => {
                let id = t.read()?;
                return Ok(match self.desk.resume(id, t.0)? {
                    Some(at_once) => said(at_once),
                    None => (Said::Later, Payload::default()),
                });
            }
            "cancel" => self.desk.cancel(t.read()?),
            "missing" => return done(self.desk.missing(t.read()?, &t.read::<Vec<_>>()?)),
            "known" => return done(self.desk.known(t.read()?, &t.read::<Vec<_>>()?)),
            "provide" => {
                let (key, reads) = (t.read()?, t.read()?);
                self.desk.provide(key, reads, t.0)?;
            }
            "layer" => self.desk.add_layer(t.read()?, t.read()?),
            "drop" => self.desk.drop_layer(t.read()?),
            "holds" => return done(vec![if self.desk.holds(t.read()?) { b'1' } else { b'0' }]),
            "forget" => self.desk.cache.forget(),
            "echo" => return done(Desk::echo(t.word()?, Tokens(t.0))?),
            "perform" => return self.perform(t),
            "carried" => {
                let (key, hash, number) = (t.read()?, t.read()?, t.read()?);
                let carried = carry::carry(&self.desk.cache, key, (hash, number), Ok(t.read()?));
                return Ok(match carried {
                    Ok(carried) => (Said::Done, written(&carried).into_bytes().into()),
                    Err(_) => (Said::Failed, Payload::default()),
                });
            }
            _ => return Err(Refusal::Malformed("an unknown question")),
        }
        nothing()
    }

    fn layers(&self, t: &mut Tokens<'_>) -> Result<Vec<Arc<Layer>>> {
        self.desk.layers(&t.read::<Vec<u32>>()?)
    }

    /// Runs work of any size until it needs values or has taken the given milliseconds; 0 for no limit.
    fn perform(&self, t: &mut Tokens<'_>) -> Result<Answer> {
        let limit: u64 = t.read()?;
        let kind = t.word()?;
        let (key, layers) = (t.read()?, self.layers(t)?);
        let work = Work::read(kind, t, None)?;
        let lacking = Arc::new(Lacking::default());
        let base = BaseState {
            cache: self.desk.cache.clone(),
            key,
            layers,
            source: lacking.clone(),
            stop: Arc::new(if limit == 0 { Stop::default() } else { Stop::after(Duration::from_millis(limit)) }),
            memory: Arc::new(MemoryGate::default()),
            records: Arc::default(),
        };
        let done = match work {
            Work::Carry(block) => changed((block.hash, block.block.number), carry::execute(&block, &base)),
            Work::Lay(block, list) => changed((block.hash, block.number), carry::listed(&block, list)),
            work => work.perform(&base).map(|payload| (Said::Done, payload)),
        };
        if let Some(reads) = lacking.take() {
            return Ok((Said::Read, reads.into_bytes().into()));
        }
        Ok(match done {
            Ok(answer) => answer,
            Err(Ending::Rejected(why)) => (Said::Rejected, why.into()),
            // Only the time limit stops it.
            Err(Ending::Cancelled) => (Said::Later, Payload::default()),
            Err(Ending::Failed) => (Said::Failed, Payload::default()),
        })
    }
}

fn said(at_once: AtOnce) -> Answer {
    match at_once {
        AtOnce::Done(payload) => (Said::Done, payload),
        AtOnce::Rejected(why) => (Said::Rejected, why.into()),
        AtOnce::Paused(reads) => (Said::Read, reads.into()),
        AtOnce::TooMuch(_) => (Said::Later, Payload::default()),
    }
}

/// A block's changes, for an instance that has its parent's state.
fn changed(
    (hash, number): (B256, u64),
    writes: std::result::Result<Writes, Differs>,
) -> std::result::Result<Answer, Ending> {
    match writes {
        Ok(writes) => {
            let mut text = written(&hash);
            text.push_str(&written(&number));
            text.push_str(&written(&writes));
            Ok((Said::Changed, text.into_bytes().into()))
        }
        Err(Differs::Found { difference, detail }) => {
            Ok((Said::Done, written(&Carried::Differs { difference, detail }).into_bytes().into()))
        }
        Err(Differs::Read(_)) => Err(Ending::Failed),
    }
}

/// Notes the reads instead of waiting for them.
#[derive(Default)]
struct Lacking(Mutex<Option<String>>);

impl Lacking {
    fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl StateSource for Lacking {
    fn read(&self, reads: &[Read], certain: usize) -> std::result::Result<Vec<Value>, ReadError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| lacking(reads, certain));
        Err(ReadError::Failed)
    }
}
