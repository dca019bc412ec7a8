use super::{
    budget::Budget,
    change::analysed,
    codes::Codes,
    read::{Read, ReadError, StateSource, Stop, Value},
};
use alloy_primitives::{B256, U256, map::DefaultHashBuilder, map::HashMap};
use revm::bytecode::Bytecode;
use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
    time::Duration,
};

/// A value as the EVM takes it.
#[derive(Clone, Debug)]
pub enum Cached {
    Word(U256),
    Code(B256, Bytecode),
}

struct Entry {
    value: Cached,
    used: AtomicU32,
}

/// Key, entry and the map's own bookkeeping, bytes.
const ENTRY_BYTES: usize = 224;

/// The values of one block that were ever asked for, shared by all simulations on it. Looked up without a lock; misses are
/// asked for once, however many threads miss them.
pub struct PinnedState {
    values: papaya::HashMap<Read, Entry, DefaultHashBuilder>,
    flights: Mutex<Flights>,
    bytes: AtomicUsize,
    pub(super) used: AtomicU32,
    budget: Arc<Budget>,
    codes: Arc<Codes>,
}

#[derive(Default)]
struct Flights {
    by_read: HashMap<Read, Arc<Flight>>,
    /// Left the cache: what is added from now on counts for nobody.
    detached: bool,
}

#[derive(Default)]
struct Flight {
    landed: AtomicBool,
    lock: Mutex<()>,
    signal: Condvar,
}

impl Flight {
    fn land(&self) {
        let _guard = self.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.landed.store(true, Ordering::Release);
        self.signal.notify_all();
    }

    fn wait(&self, stop: &Stop) -> Result<(), ReadError> {
        let mut guard = self.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while !self.landed.load(Ordering::Acquire) {
            if stop.is_raised() {
                return Err(ReadError::Cancelled);
            }
            let waited = self.signal.wait_timeout(guard, Duration::from_millis(5));
            guard = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        Ok(())
    }
}

impl PinnedState {
    pub(super) fn new(budget: Arc<Budget>, codes: Arc<Codes>) -> Self {
        Self {
            values: papaya::HashMap::with_hasher(DefaultHashBuilder::default()),
            flights: Mutex::default(),
            bytes: AtomicUsize::new(0),
            used: AtomicU32::new(0),
            budget,
            codes,
        }
    }

    #[inline]
    pub fn get(&self, read: &Read) -> Option<Cached> {
        let values = self.values.pin();
        let entry = values.get(read)?;
        let now = self.used.load(Ordering::Relaxed);
        if entry.used.load(Ordering::Relaxed) != now {
            entry.used.store(now, Ordering::Relaxed);
        }
        Some(entry.value.clone())
    }

    /// Values in the order of `reads`, from the cache or `source`. A read that another thread waits for is not asked again,
    /// unless it fails there: then it is this thread's own to ask.
    pub fn fetch(&self, reads: &[Read], source: &dyn StateSource, stop: &Stop) -> Result<Vec<Cached>, ReadError> {
        if !source.may_wait() {
            return reads.iter().map(|read| self.get(read).ok_or(ReadError::WouldBlock)).collect();
        }
        let mut found: Vec<Option<Cached>> = vec![None; reads.len()];
        loop {
            let mut own: Vec<Read> = Vec::new();
            let mut others: Vec<Arc<Flight>> = Vec::new();
            let flight = Arc::new(Flight::default());
            {
                let mut flights = self.flights();
                for (slot, read) in found.iter_mut().zip(reads).filter(|(slot, _)| slot.is_none()) {
                    if let Some(value) = self.get(read) {
                        *slot = Some(value);
                    } else if let Some(other) = flights.by_read.get(read) {
                        if !Arc::ptr_eq(other, &flight) {
                            others.push(other.clone());
                        }
                    } else {
                        flights.by_read.insert(*read, flight.clone());
                        own.push(*read);
                    }
                }
            }
            if !own.is_empty() {
                let landing = Landing { state: self, reads: &own, flight: &flight };
                let values = source.read(&own)?;
                let fetched: Vec<(Read, Cached)> =
                    own.iter().copied().zip(values).map(|(read, value)| (read, self.cached(&read, value))).collect();
                for (read, value) in &fetched {
                    for (slot, _) in found.iter_mut().zip(reads).filter(|(_, asked)| *asked == read) {
                        *slot = Some(value.clone());
                    }
                }
                self.insert(fetched);
                drop(landing);
            }
            for other in others {
                other.wait(stop)?;
            }
            if found.iter().all(Option::is_some) {
                return Ok(found.into_iter().flatten().collect());
            }
            if stop.is_raised() {
                return Err(ReadError::Cancelled);
            }
        }
    }

    /// Keeps values that were read without a miss here.
    pub fn provide(&self, values: impl IntoIterator<Item = (Read, Value)>) {
        self.insert(values.into_iter().map(|(read, value)| (read, self.cached(&read, value))).collect());
    }

    fn cached(&self, read: &Read, value: Value) -> Cached {
        let (hash, bytecode) = match (read, value) {
            (_, Value::Word(word)) => return Cached::Word(word),
            (Read::Code(address), Value::Code(code)) => self.codes.analysed(*address, code),
            (_, Value::Code(code)) => analysed(code),
        };
        Cached::Code(hash, bytecode)
    }

    fn insert(&self, fetched: Vec<(Read, Cached)>) {
        let now = self.used.load(Ordering::Relaxed);
        let mut added = 0;
        {
            let flights = self.flights();
            let values = self.values.pin();
            for (read, value) in fetched {
                added += size_of_value(&value);
                values.insert(read, Entry { value, used: AtomicU32::new(now) });
            }
            self.bytes.fetch_add(added, Ordering::Relaxed);
            if !flights.detached {
                self.budget.add(added);
            }
        }
    }

    /// Takes this state out of the cache's account: what it holds goes when its last simulation ends.
    pub(super) fn detach(&self) {
        let mut flights = self.flights();
        flights.detached = true;
        self.budget.remove(self.bytes.load(Ordering::Relaxed));
    }

    /// Drops the half of the entries that was not used for longest.
    pub(super) fn drop_least_used(&self) {
        let _flights = self.flights();
        let values = self.values.pin();
        let now = self.used.load(Ordering::Relaxed);
        let mut ages: Vec<u32> =
            values.values().map(|entry| now.wrapping_sub(entry.used.load(Ordering::Relaxed))).collect();
        if ages.is_empty() {
            return;
        }
        let middle = ages.len() / 2;
        let median = *ages.select_nth_unstable(middle).1;
        let mut removed = 0;
        let mut left = ages.len().div_ceil(2);
        values.retain(|_, entry| {
            let age = now.wrapping_sub(entry.used.load(Ordering::Relaxed));
            let keep = age < median || (age == median && left > 0);
            if keep {
                left = left.saturating_sub(1);
            } else {
                removed += size_of_value(&entry.value);
            }
            keep
        });
        self.bytes.fetch_sub(removed, Ordering::Relaxed);
        self.budget.remove(removed);
    }

    fn flights(&self) -> MutexGuard<'_, Flights> {
        self.flights.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Ends the flight however the read ended.
struct Landing<'a> {
    state: &'a PinnedState,
    reads: &'a [Read],
    flight: &'a Arc<Flight>,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        let mut flights = self.state.flights();
        for read in self.reads {
            flights.by_read.remove(read);
        }
        drop(flights);
        self.flight.land();
    }
}

fn size_of_value(value: &Cached) -> usize {
    ENTRY_BYTES
        + match value {
            Cached::Word(_) => 0,
            Cached::Code(_, code) => code.len() + code.len() / 8 + 160,
        }
}
