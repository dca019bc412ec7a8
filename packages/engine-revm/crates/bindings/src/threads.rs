//! Work on the pool's threads, by its number. Its result is put into the mailbox.

use crate::{
    mailbox::{Kind, Mailbox},
    reader::{Answer, Reader},
};
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard},
};
use upfront_engine::{
    evm::MemoryGate,
    pool::Pool,
    primitives::B256,
    simulate::Ground,
    state::{Layer, StateCache, Stop},
};
use upfront_engine_border::{Ending, Payload, Refusal, Result};

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
    mailbox: Arc<Mailbox>,
    table: Table,
}

impl Threads {
    pub fn new(pool: Pool, cache: Arc<StateCache>, memory: MemoryGate, mailbox: Arc<Mailbox>) -> Self {
        Self { pool: Some(pool), cache, memory: Arc::new(memory), mailbox, table: Table::default() }
    }

    /// Fails where the queue is full or the pool is closed.
    pub fn start(
        &self,
        id: u32,
        key: B256,
        layers: Vec<Arc<Layer>>,
        work: impl FnOnce(&Ground) -> std::result::Result<Payload, Ending> + Send + 'static,
    ) -> Result<()> {
        let pool = self.pool.as_ref().ok_or(Refusal::Closed)?;
        let running = Running::default();
        self.table.entries().insert(id, running.clone());
        let (table, cache, mailbox) = (self.table.clone(), self.cache.clone(), self.mailbox.clone());
        let memory = self.memory.clone();
        let job = move || {
            let Running { stop, answer } = running;
            let source = Arc::new(Reader { id, mailbox: mailbox.clone(), stop: stop.clone(), answer });
            let ground = Ground { cache, key, layers, source, stop, memory };
            let result = catch_unwind(AssertUnwindSafe(|| work(&ground)));
            table.entries().remove(&id);
            match result {
                Ok(Ok(done)) => mailbox.post(Kind::Done, id, done),
                Ok(Err(Ending::Rejected(text))) => mailbox.post(Kind::Rejected, id, text),
                Ok(Err(Ending::Cancelled)) => mailbox.post(Kind::Cancelled, id, Vec::new()),
                Ok(Err(Ending::Failed)) | Err(_) => mailbox.post(Kind::Failed, id, Vec::new()),
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
