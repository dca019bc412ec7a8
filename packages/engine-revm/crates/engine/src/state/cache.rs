//! States by block hash, within a limit in bytes.

use super::{
    history::{History, NotCarried, Writes},
    pinned::{LastSeen, PinnedState},
    read::{Cached, Read},
};
use alloy_primitives::{
    B256,
    map::{HashMap, HashSet},
};
use std::{
    cmp::Reverse,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
};

type States = HashMap<B256, Arc<PinnedState>>;

/// Pinned states by block hash, with a limit in bytes. States carried from one another share a history. Whole histories are evicted first,
/// the least recently used before others; within the last history, its oldest states and least recently used values.
pub struct StateCache {
    states: Mutex<States>,
    /// Bytes of all histories together, estimated.
    bytes: Arc<AtomicUsize>,
    last_seen: Arc<LastSeen>,
    clock: AtomicU32,
    limit: usize,
    /// Held while a state is carried.
    carrying: Mutex<()>,
}

impl StateCache {
    /// `limit` in bytes, estimated.
    pub fn new(limit: usize) -> Self {
        Self {
            states: Mutex::default(),
            bytes: Arc::default(),
            last_seen: Arc::default(),
            clock: AtomicU32::new(0),
            limit,
            carrying: Mutex::default(),
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The state of the block with this hash, created if needed and marked as used.
    pub fn pinned(&self, key: B256) -> Arc<PinnedState> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut states = self.states();
        if self.bytes() > self.limit {
            self.evict(&mut states, key);
        }
        let new = || Arc::new(PinnedState::new(Arc::new(History::new(self.bytes.clone())), 0, self.last_seen.clone()));
        let state = states.entry(key).or_insert_with(new).clone();
        state.used.store(now, Ordering::Relaxed);
        state
    }

    /// The state of the block with this hash, if it exists. Does not mark it as used.
    pub fn find(&self, key: B256) -> Option<Arc<PinnedState>> {
        self.states().get(&key).cloned()
    }

    /// Makes the state of block `key` from its parent's and the block's writes. Values already read at it are kept.
    /// @returns number of values written
    pub fn carry(&self, parent: B256, key: B256, mut writes: Writes, parent_number: u64) -> Result<usize, NotCarried> {
        let _carrying = self.carrying.lock().unwrap_or_else(PoisonError::into_inner);
        let below = self.find(parent).ok_or(NotCarried::Parent)?;
        let read = self.find(key);
        // It was carried before, or other states were carried from it.
        if let Some(state) = &read
            && (Arc::ptr_eq(&state.history, &below.history) || state.history.has_steps())
        {
            return Ok(0);
        }
        let hashes = [(parent_number, parent), (parent_number + 1, key)];
        writes.values.extend(hashes.map(|(number, hash)| (Read::BlockHash(number), Cached::Word(hash.into()))));
        let written = writes.values.len();
        let now = self.clock.load(Ordering::Relaxed);
        let position = below.history.step(below.position, writes, now)?;
        let state = Arc::new(PinnedState::new(below.history.clone(), position, self.last_seen.clone()));
        state.used.store(now, Ordering::Relaxed);
        if let Some(read) = &read {
            let known = read.history.values_at(read.position);
            let contradicted = known.iter().find(|(read, value)| state.get(read).is_some_and(|held| held != *value));
            if let Some((read, _)) = contradicted {
                return Err(NotCarried::ConflictingValue(*read));
            }
            state.store_cached(&known);
        }
        let mut states = self.states();
        if let Some(before) = states.insert(key, state.clone()) {
            before.history.detach();
            // Values read there since the check above.
            state.store_cached(&before.history.values_at(before.position));
        }
        let floor = state.history.floor();
        states.retain(|_, each| each.position >= floor || !Arc::ptr_eq(&each.history, &state.history));
        // In advance, so that requests seldom have to.
        if self.bytes() > self.limit - self.limit / 8 {
            self.evict(&mut states, key);
        }
        Ok(written)
    }

    /// Drops every state. Running simulations keep theirs.
    pub fn clear(&self) {
        for (_, state) in self.states().drain() {
            state.history.detach();
        }
    }

    /// Takes time in proportion to the states, so it frees more than is needed at once.
    fn evict(&self, states: &mut States, wanted: B256) {
        let limit = self.limit - self.limit / 8;
        let now = self.clock.load(Ordering::Relaxed);
        let kept = states.get(&wanted).map(|state| state.history.clone());
        // A history's age is that of its last used state.
        let mut ages: HashMap<*const History, (Arc<History>, u32)> = HashMap::default();
        for state in states.values() {
            let age = now.wrapping_sub(state.used.load(Ordering::Relaxed));
            let new = || (state.history.clone(), age);
            let (_, youngest) = ages.entry(Arc::as_ptr(&state.history)).or_insert_with(new);
            *youngest = age.min(*youngest);
        }
        if let Some(kept) = &kept {
            ages.remove(&Arc::as_ptr(kept));
        }
        let mut oldest: Vec<_> = ages.into_values().collect();
        oldest.sort_unstable_by_key(|(_, age)| Reverse(*age));
        let mut dropped: HashSet<*const History> = HashSet::default();
        for (history, _) in oldest {
            if self.bytes() <= limit {
                break;
            }
            history.detach();
            dropped.insert(Arc::as_ptr(&history));
        }
        states.retain(|_, state| !dropped.contains(&Arc::as_ptr(&state.history)));
        if let Some(kept) = kept
            && self.bytes() > limit
        {
            kept.shrink(limit / 4, now);
            let floor = kept.floor();
            states.retain(|_, state| state.position >= floor);
        }
    }

    fn states(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
