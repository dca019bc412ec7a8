use super::{
    budget::Budget,
    change::analysed,
    codes::Codes,
    read::{Read, ReadError, StateSource, Value},
};
use alloy_primitives::{B256, U256, map::DefaultHashBuilder};
use revm::bytecode::Bytecode;
use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicUsize, Ordering},
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

/// The values of one block that were read or provided, shared by all simulations on it. Looked up without a lock.
pub struct PinnedState {
    values: papaya::HashMap<Read, Entry, DefaultHashBuilder>,
    /// Left the cache: what is added from now on counts for nobody. Held while bytes are counted.
    detached: Mutex<bool>,
    bytes: AtomicUsize,
    pub(super) used: AtomicU32,
    budget: Arc<Budget>,
    codes: Arc<Codes>,
}

impl PinnedState {
    pub(super) fn new(budget: Arc<Budget>, codes: Arc<Codes>) -> Self {
        Self {
            values: papaya::HashMap::with_hasher(DefaultHashBuilder::default()),
            detached: Mutex::default(),
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

    /// Values in the order of `reads`, from the cache or `source`.
    pub fn fetch(&self, reads: &[Read], source: &dyn StateSource) -> Result<Vec<Cached>, ReadError> {
        let found: Vec<Option<Cached>> = reads.iter().map(|read| self.get(read)).collect();
        let missing: Vec<Read> =
            reads.iter().zip(&found).filter(|(_, value)| value.is_none()).map(|(read, _)| *read).collect();
        if missing.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
        let mut fetched = self.keep(missing.iter().copied().zip(source.read(&missing)?)).into_iter();
        found.into_iter().map(|value| value.or_else(|| fetched.next()).ok_or(ReadError::Failed)).collect()
    }

    /// Keeps values that were read, and hands them back as the EVM takes them.
    pub fn keep(&self, values: impl IntoIterator<Item = (Read, Value)>) -> Vec<Cached> {
        let values: Vec<(Read, Cached)> =
            values.into_iter().map(|(read, value)| (read, self.cached(&read, value))).collect();
        let now = self.used.load(Ordering::Relaxed);
        let detached = self.detached();
        let held = self.values.pin();
        let mut added = 0;
        for (read, value) in &values {
            let new = held.insert(*read, Entry { value: value.clone(), used: AtomicU32::new(now) }).is_none();
            if new {
                added += size_of_value(value);
            }
        }
        self.bytes.fetch_add(added, Ordering::Relaxed);
        if !*detached {
            self.budget.add(added);
        }
        drop(detached);
        values.into_iter().map(|(_, value)| value).collect()
    }

    fn cached(&self, read: &Read, value: Value) -> Cached {
        let (hash, bytecode) = match (read, value) {
            (_, Value::Word(word)) => return Cached::Word(word),
            (Read::Code(address), Value::Code(code)) => self.codes.analysed(*address, code),
            (_, Value::Code(code)) => analysed(code),
        };
        Cached::Code(hash, bytecode)
    }

    /// Takes this state out of the cache's account: what it holds goes when its last simulation ends.
    pub(super) fn detach(&self) {
        let mut detached = self.detached();
        *detached = true;
        self.budget.remove(self.bytes.load(Ordering::Relaxed));
    }

    /// Drops the half of the entries that was not used for longest.
    pub(super) fn drop_least_used(&self) {
        let _detached = self.detached();
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

    fn detached(&self) -> MutexGuard<'_, bool> {
        self.detached.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn size_of_value(value: &Cached) -> usize {
    ENTRY_BYTES
        + match value {
            Cached::Word(_) => 0,
            Cached::Code(_, code) => code.len() + code.len() / 8 + 160,
        }
}
