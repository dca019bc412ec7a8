//! Words last read on any block, at most 2 * 32,768.

use super::read::{Cached, Read};
use alloy_primitives::{U256, map::HashMap};
use std::{
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Limit of words per generation. Two are kept: some 8 MB.
const MAX_WORDS: usize = 32 * 1024;

/// The words last read on any block. Most are the same on a new block, so a run that looks ahead assumes them for missing words.
#[derive(Default)]
pub(super) struct LastSeenWords(Mutex<RecentMap<Read, U256>>);

/// A map of recent entries in two generations: when the young one is full, it replaces the old one.
pub(super) struct RecentMap<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for RecentMap<K, V> {
    fn default() -> Self {
        Self { young: HashMap::default(), old: HashMap::default() }
    }
}

impl<K: Eq + Hash, V> RecentMap<K, V> {
    /// @param most limit of the young generation
    pub(super) fn insert(&mut self, key: K, value: V, most: usize) {
        if self.young.len() >= most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }
}

impl LastSeenWords {
    pub(super) fn note(&self, values: &[(Read, Cached)]) {
        let mut words = self.generations();
        for (read, value) in values {
            let Cached::Word(word) = value else { continue };
            words.insert(*read, *word, MAX_WORDS);
        }
    }

    pub(super) fn last_seen(&self, read: &Read) -> Option<U256> {
        self.generations().get(read).copied()
    }

    fn generations(&self) -> MutexGuard<'_, RecentMap<Read, U256>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(number: usize) -> (Read, Cached) {
        (Read::BlockHash(number as u64), Cached::Word(U256::from(number)))
    }

    #[test]
    fn keeps_the_newest_and_forgets_the_oldest() {
        let words = LastSeenWords::default();
        words.note(&[word(1), (Read::BlockHash(1), Cached::Word(U256::from(7)))]);
        assert_eq!(words.last_seen(&Read::BlockHash(1)), Some(U256::from(7)));
        for number in 2..3 * MAX_WORDS {
            words.note(&[word(number)]);
        }
        assert_eq!(words.last_seen(&Read::BlockHash(1)), None);
        let newest = 3 * MAX_WORDS - 1;
        assert_eq!(words.last_seen(&Read::BlockHash(newest as u64)), Some(U256::from(newest)));
        let words = words.generations();
        assert!(words.young.len() + words.old.len() <= 2 * MAX_WORDS);
    }
}
