//! Work on the pool's threads, by its number. Its result is put into the mailbox.

use crate::{
    mailbox::{Kind, Mailbox},
    reader::{Answer, Reader},
};
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use upfront_engine::{
    evm::MemoryGate,
    pool::Pool,
    primitives::B256,
    simulate::BaseState,
    state::{Layer, StateCache, Stop, thread_time},
};
use upfront_engine_border::{Ending, Payload, Refusal, Result};

/// CPU time of work that may have taken much memory: what it freed is given back to the system.
const LONG: Duration = Duration::from_millis(10);

/// mimalloc keeps what a thread freed for a second, on each of many threads: too long for what one simulation takes at most.
fn return_freed() {
    // SAFETY: it has no precondition.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

#[derive(Clone, Default)]
struct Running {
    stop: Arc<Stop>,
    answer: Arc<Answer>,
}

impl Running {
    fn stop(&self) {
        self.stop.raise();
        self.answer.wake();
    }
}

#[derive(Clone, Default)]
struct Table(Arc<Mutex<HashMap<u32, Running>>>);

impl Table {
    fn entries(&self) -> MutexGuard<'_, HashMap<u32, Running>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

pub struct Threads {
    /// Absent once closed.
    pool: Option<Pool>,
    cache: Arc<StateCache>,
    memory: Arc<MemoryGate>,
    records: Arc<MemoryGate>,
    mailbox: Arc<Mailbox>,
    table: Table,
}

impl Threads {
    /// @param memory_bytes of the EVM's memory on all threads together; half as much is for records
    pub fn new(pool: Pool, cache: Arc<StateCache>, memory_bytes: usize, mailbox: Arc<Mailbox>) -> Self {
        let gate = |bytes| Arc::new(MemoryGate::new(bytes, return_freed));
        let (memory, records) = (gate(memory_bytes), gate(memory_bytes / 2));
        Self { pool: Some(pool), cache, memory, records, mailbox, table: Table::default() }
    }

    /// Fails where the queue is full or the pool is closed.
    pub fn start(
        &self,
        id: u32,
        key: B256,
        layers: Vec<Arc<Layer>>,
        work: impl FnOnce(&BaseState) -> std::result::Result<Payload, Ending> + Send + 'static,
    ) -> Result<()> {
        let pool = self.pool.as_ref().ok_or(Refusal::Closed)?;
        let running = Running::default();
        self.table.entries().insert(id, running.clone());
        let (table, cache, mailbox) = (self.table.clone(), self.cache.clone(), self.mailbox.clone());
        let (memory, records) = (self.memory.clone(), self.records.clone());
        let job = move || {
            let Running { stop, answer } = running;
            let source = Arc::new(Reader { id, mailbox: mailbox.clone(), stop: stop.clone(), answer });
            let base = BaseState { cache, key, layers, source, stop, memory, records };
            let began = thread_time();
            let result = catch_unwind(AssertUnwindSafe(|| work(&base)));
            drop(base);
            table.entries().remove(&id);
            match result {
                Ok(Ok(done)) => mailbox.post(Kind::Done, id, done),
                Ok(Err(Ending::Rejected(text))) => mailbox.post(Kind::Rejected, id, text),
                Ok(Err(Ending::Cancelled)) => mailbox.post(Kind::Cancelled, id, Vec::new()),
                Ok(Err(Ending::Failed)) | Err(_) => mailbox.post(Kind::Failed, id, Vec::new()),
            }
            if thread_time() - began >= LONG {
                return_freed();
            }
        };
        pool.run(job).map_err(|_| {
            self.table.entries().remove(&id);
            Refusal::Full
        })
    }

    /// Gives the values to the work that waits for them.
    pub fn answer(&self, id: u32, values: Vec<u8>) {
        if let Some(running) = self.table.entries().get(&id) {
            running.answer.put(values);
        }
    }

    pub fn stop(&self, id: u32) {
        if let Some(running) = self.table.entries().get(&id) {
            running.stop();
        }
    }

    /// Stops everything; the threads end.
    pub fn close(&mut self) {
        self.pool = None;
        self.table.entries().values().for_each(Running::stop);
    }
}
