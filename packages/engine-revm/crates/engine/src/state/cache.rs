use super::{budget::Budget, codes::Codes, pinned::PinnedState};
use alloy_primitives::{B256, map::HashMap};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

/// Pinned states by block hash, bounded by bytes: whole blocks leave first, the least recently used before others; within
/// the last one the entries that were not used for longest.
pub struct StateCache {
    states: Mutex<HashMap<B256, Arc<PinnedState>>>,
    budget: Arc<Budget>,
    codes: Arc<Codes>,
    clock: AtomicU32,
    limit: usize,
}

impl StateCache {
    /// `limit` in bytes, estimated.
    pub fn new(limit: usize) -> Self {
        Self {
            states: Mutex::default(),
            budget: Arc::default(),
            codes: Arc::default(),
            clock: AtomicU32::new(0),
            limit,
        }
    }

    pub fn bytes(&self) -> usize {
        self.budget.bytes()
    }

    /// The state of the block with this hash, made if need be and marked as used now.
    pub fn pinned(&self, key: B256) -> Arc<PinnedState> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut states = self.states.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if self.bytes() > self.limit {
            self.make_room(&mut states, key);
        }
        let new = || Arc::new(PinnedState::new(self.budget.clone(), self.codes.clone()));
        let state = states.entry(key).or_insert_with(new).clone();
        state.used.store(now, Ordering::Relaxed);
        state
    }

    /// The state of the block with this hash, where there is one; it does not count as used.
    pub fn find(&self, key: B256) -> Option<Arc<PinnedState>> {
        self.states.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&key).cloned()
    }

    fn make_room(&self, states: &mut HashMap<B256, Arc<PinnedState>>, wanted: B256) {
        let now = self.clock.load(Ordering::Relaxed);
        while self.bytes() > self.limit {
            let oldest = states
                .iter()
                .filter(|(key, _)| **key != wanted)
                .max_by_key(|(_, state)| now.wrapping_sub(state.used.load(Ordering::Relaxed)))
                .map(|(key, _)| *key);
            match oldest {
                Some(key) => {
                    if let Some(state) = states.remove(&key) {
                        state.detach();
                    }
                }
                None => {
                    if let Some(state) = states.get(&wanted) {
                        state.drop_least_used();
                    }
                    return;
                }
            }
        }
    }
}
