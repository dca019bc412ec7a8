//! Work on the pool's threads, by number. Results are sent through the mailbox.

use crate::{
    mailbox::{Kind, Mailbox},
    reader::Reader,
};
use std::{
    collections::HashMap,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Sender, channel},
    },
    thread::{self, Thread},
    time::Duration,
};
use upfront_engine::{
    evm::MemorySemaphore,
    pool::Pool,
    primitives::B256,
    simulate::BaseState,
    state::{Layer, StateCache, thread_time},
    time_slices::{SLICE, Stop, TimeSlices},
};
use upfront_engine_border::{Payload, Refusal, Result, WorkError};

/// CPU time after which work may have used much memory: the freed memory is then returned to the system.
const LONG: Duration = Duration::from_millis(10);

/// mimalloc keeps a thread's freed memory for a second, which is too long with many threads that may each use much.
fn return_freed() {
    // SAFETY: it has no precondition.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

struct Running {
    stop: Arc<Stop>,
    /// To the work's `Reader`.
    values: Sender<Vec<u8>>,
}

impl Running {
    /// Also wakes the work if it waits for values.
    fn stop(&self) {
        self.stop.raise();
        let _ = self.values.send(Vec::new());
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
    /// None once closed.
    pool: Option<Pool>,
    cache: Arc<StateCache>,
    memory: Arc<MemorySemaphore>,
    records: Arc<MemorySemaphore>,
    mailbox: Arc<Mailbox>,
    slices: Arc<TimeSlices>,
    table: Table,
    /// None if the system gives no thread; then work does not take turns.
    clock: Option<Clock>,
}

/// Ends the time slices of running work. Sleeps if nothing has run for a while.
struct Clock {
    thread: Thread,
    sleeps: Arc<AtomicBool>,
}

/// Idle ticks before the clock sleeps: waking it for each short simulation would cost more than its ticks.
const IDLE_TICKS: u32 = 200;
const ASLEEP: Duration = Duration::from_secs(1);

impl Clock {
    fn start(table: &Table) -> std::io::Result<Self> {
        let (entries, sleeps) = (Arc::downgrade(&table.0), Arc::new(AtomicBool::new(false)));
        let asleep = sleeps.clone();
        let tick = move || {
            let mut idle = 0;
            while let Some(table) = entries.upgrade().map(Table) {
                let running = table.entries();
                running.values().for_each(|running| running.stop.end_slice());
                idle = if running.is_empty() { idle + 1 } else { 0 };
                // Set under the lock, so work that starts next sees it.
                asleep.store(idle >= IDLE_TICKS, Relaxed);
                drop(running);
                drop(table);
                // Ends with the table, asleep or not.
                if idle >= IDLE_TICKS { thread::park_timeout(ASLEEP) } else { thread::sleep(SLICE) }
            }
        };
        let thread = thread::Builder::new().name("evm-slices".into()).spawn(tick)?.thread().clone();
        Ok(Self { thread, sleeps })
    }

    /// Called after work is added to the table.
    fn wake(&self) {
        if self.sleeps.swap(false, Relaxed) {
            self.thread.unpark();
        }
    }
}

impl Threads {
    /// @param memory_bytes limit of EVM memory over all threads; half as much again is for records
    pub fn new(pool: Pool, cache: Arc<StateCache>, memory_bytes: usize, mailbox: Arc<Mailbox>) -> Self {
        let semaphore = |bytes| Arc::new(MemorySemaphore::new(bytes, return_freed));
        let (memory, records) = (semaphore(memory_bytes), semaphore(memory_bytes / 2));
        let table = Table::default();
        let clock = Clock::start(&table).ok();
        let slices = Arc::new(TimeSlices::new(thread::available_parallelism().map_or(1, NonZero::get)));
        Self { pool: Some(pool), cache, memory, records, mailbox, slices, table, clock }
    }

    /// Fails if the queue is full or the pool is closed.
    /// @param shares whether the work shares the cores once it is long
    pub fn start(
        &self,
        id: u32,
        key: B256,
        layers: Vec<Arc<Layer>>,
        shares: bool,
        work: impl FnOnce(&BaseState) -> std::result::Result<Payload, WorkError> + Send + 'static,
    ) -> Result<()> {
        let pool = self.pool.as_ref().ok_or(Refusal::Closed)?;
        let stop = Arc::new(if shares { Stop::sharing(self.slices.clone()) } else { Stop::default() });
        let (values, received) = channel();
        self.table.entries().insert(id, Running { stop: stop.clone(), values });
        self.clock.as_ref().inspect(|clock| clock.wake());
        let (table, cache, mailbox) = (self.table.clone(), self.cache.clone(), self.mailbox.clone());
        let (memory, records) = (self.memory.clone(), self.records.clone());
        let job = move || {
            let values = Mutex::new(received);
            let source = Arc::new(Reader { id, mailbox: mailbox.clone(), stop: stop.clone(), values });
            let base = BaseState { cache, key, layers, source, stop, memory, records };
            let began = thread_time();
            let result = catch_unwind(AssertUnwindSafe(|| work(&base)));
            base.stop.leave();
            drop(base);
            table.entries().remove(&id);
            match result {
                Ok(Ok(done)) => mailbox.post(Kind::Done, id, done),
                Ok(Err(WorkError::Rejected(text))) => mailbox.post(Kind::Rejected, id, text),
                Ok(Err(WorkError::Cancelled)) => mailbox.post(Kind::Cancelled, id, Vec::new()),
                Ok(Err(WorkError::Failed)) | Err(_) => mailbox.post(Kind::Failed, id, Vec::new()),
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

    /// Delivers values to the work that waits for them.
    pub fn answer(&self, id: u32, values: Vec<u8>) {
        if let Some(running) = self.table.entries().get(&id) {
            // Fails if the work has just ended.
            let _ = running.values.send(values);
        }
    }

    pub fn stop(&self, id: u32) {
        if let Some(running) = self.table.entries().get(&id) {
            running.stop();
        }
    }

    /// Stops all work and ends the threads.
    pub fn close(&mut self) {
        self.pool = None;
        self.table.entries().values().for_each(Running::stop);
    }
}
