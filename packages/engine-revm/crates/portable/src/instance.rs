use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use upfront_engine::{
    carry::{self, Carried, Differs},
    evm::MemorySemaphore,
    primitives::B256,
    simulate::BaseState,
    state::{Allowance, Layer, Read, ReadError, StateSource, Value, Writes},
    time_slices::Stop,
};
use upfront_engine_border::{
    Engine, Payload, REVM_VERSION, Refusal, Result, Simulation, Step, TextReader, Work, WorkError, encode_reads,
    written,
};

/// What a simulation may use on the event loop. Hashing and precompiles take three to ten times as long as natively, and memory is touched
/// for the first time more often.
const ALLOWANCE: Allowance = Allowance { gas: 300_000, frames: 20, bytes: 4_096, precompile_gas: 6_000 };
const CACHE_BYTES: usize = 64 << 20;

/// The kind of an answer. Same order as `KINDS` in src/portable/instance.ts.
#[derive(Clone, Copy)]
pub enum AnswerKind {
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
    engine: Engine,
}

impl Default for Instance {
    fn default() -> Self {
        Self { engine: Engine::new(CACHE_BYTES, ALLOWANCE) }
    }
}

type Answer = (AnswerKind, Payload);

impl Instance {
    pub fn answer(&mut self, question: &str) -> Answer {
        self.understand(&mut TextReader(question)).unwrap_or_else(|refusal| {
            (AnswerKind::Refused, format!("{}\n{refusal}", refusal.as_ref()).into_bytes().into())
        })
    }

    fn understand(&mut self, t: &mut TextReader<'_>) -> Result<Answer> {
        let done = |text: Vec<u8>| Ok((AnswerKind::Done, text.into()));
        let nothing = || Ok((AnswerKind::Done, Payload::default()));
        match t.word()? {
            "configure" => self.engine = Engine::new(t.read()?, ALLOWANCE),
            "version" => return done(REVM_VERSION.into()),
            "begin" => {
                let (id, key, layers) = (t.read()?, t.read()?, self.layers(t)?);
                let simulation = Simulation { plan: t.read()?, key, layers };
                return Ok(answer_of(self.engine.begin(id, simulation)));
            }
            "resume" => {
                let id = t.read()?;
                return Ok(match self.engine.resume(id, t.0)? {
                    Some(step) => answer_of(step),
                    None => (AnswerKind::Later, Payload::default()),
                });
            }
            "cancel" => self.engine.cancel(t.read()?),
            "missing" => return done(self.engine.missing(t.read()?, &t.read::<Vec<_>>()?)),
            "known" => return done(self.engine.known(t.read()?, &t.read::<Vec<_>>()?)),
            "provide" => {
                let (key, reads) = (t.read()?, t.read()?);
                self.engine.provide(key, reads, t.0)?;
            }
            "layer" => self.engine.add_layer(t.read()?, t.read()?),
            "drop" => self.engine.drop_layer(t.read()?),
            "holds" => return done(vec![if self.engine.holds(t.read()?) { b'1' } else { b'0' }]),
            "clear" => self.engine.cache.clear(),
            "echo" => return done(Engine::echo(t.word()?, TextReader(t.0))?),
            "perform" => return self.perform(t),
            "carried" => {
                let (key, hash, number) = (t.read()?, t.read()?, t.read()?);
                let carried = carry::carry(&self.engine.cache, key, (hash, number), Ok(t.read()?));
                return Ok(match carried {
                    Ok(carried) => (AnswerKind::Done, written(&carried).into_bytes().into()),
                    Err(_) => (AnswerKind::Failed, Payload::default()),
                });
            }
            _ => return Err(Refusal::Malformed("an unknown question")),
        }
        nothing()
    }

    fn layers(&self, t: &mut TextReader<'_>) -> Result<Vec<Arc<Layer>>> {
        self.engine.layers(&t.read::<Vec<u32>>()?)
    }

    /// Runs work of any size until it needs values or has taken the given milliseconds; 0 for no limit.
    fn perform(&self, t: &mut TextReader<'_>) -> Result<Answer> {
        let limit: u64 = t.read()?;
        let kind = t.word()?;
        let (key, layers) = (t.read()?, self.layers(t)?);
        let work = Work::read(kind, t, None)?;
        let pending = Arc::new(PendingReads::default());
        let base = BaseState {
            cache: self.engine.cache.clone(),
            key,
            layers,
            source: pending.clone(),
            stop: Arc::new(if limit == 0 { Stop::default() } else { Stop::after(Duration::from_millis(limit)) }),
            memory: Arc::new(MemorySemaphore::default()),
            records: Arc::default(),
        };
        let done = match work {
            Work::Carry(block) => changed((block.hash, block.block.number), carry::execute(&block, &base)),
            Work::CarryListed(block, list) => changed((block.hash, block.number), carry::listed(&block, list)),
            work => work.perform(&base).map(|payload| (AnswerKind::Done, payload)),
        };
        if let Some(reads) = pending.take() {
            return Ok((AnswerKind::Read, reads.into_bytes().into()));
        }
        Ok(match done {
            Ok(answer) => answer,
            Err(WorkError::Rejected(why)) => (AnswerKind::Rejected, why.into()),
            // Only the time limit stops it.
            Err(WorkError::Cancelled) => (AnswerKind::Later, Payload::default()),
            Err(WorkError::Failed) => (AnswerKind::Failed, Payload::default()),
        })
    }
}

fn answer_of(step: Step) -> Answer {
    match step {
        Step::Done(payload) => (AnswerKind::Done, payload),
        Step::Rejected(why) => (AnswerKind::Rejected, why.into()),
        Step::Paused(reads) => (AnswerKind::Read, reads.into()),
        Step::TooMuch(_) => (AnswerKind::Later, Payload::default()),
    }
}

/// A block's changes, for an instance that has its parent's state.
fn changed(
    (hash, number): (B256, u64),
    writes: std::result::Result<Writes, Differs>,
) -> std::result::Result<Answer, WorkError> {
    match writes {
        Ok(writes) => {
            let mut text = written(&hash);
            text.push_str(&written(&number));
            text.push_str(&written(&writes));
            Ok((AnswerKind::Changed, text.into_bytes().into()))
        }
        Err(Differs::Found { difference, detail }) => {
            Ok((AnswerKind::Done, written(&Carried::Differs { difference, detail }).into_bytes().into()))
        }
        Err(Differs::Read(_)) => Err(WorkError::Failed),
    }
}

/// Notes the reads instead of waiting for them.
#[derive(Default)]
struct PendingReads(Mutex<Option<String>>);

impl PendingReads {
    fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl StateSource for PendingReads {
    fn read(&self, reads: &[Read], certain: usize) -> std::result::Result<Vec<Value>, ReadError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| encode_reads(reads, certain));
        Err(ReadError::Failed)
    }
}
