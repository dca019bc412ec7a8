use super::read::{Cached, Read};
use alloy_primitives::{U256, map::HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Words of one generation. Two are kept, some 8 MB.
const MOST_WORDS: usize = 32 * 1024;

/// The words that were read last, on any block. On a new one most of them are the same, so they are what a missing word is taken
/// for where a run looks ahead.
#[derive(Default)]
pub(super) struct Words(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<Read, U256>,
    old: HashMap<Read, U256>,
}

impl Words {
    pub(super) fn note(&self, values: &[(Read, Cached)]) {
        let mut words = self.generations();
        for (read, value) in values {
            let Cached::Word(word) = value else { continue };
            if words.young.len() >= MOST_WORDS {
                words.old = std::mem::take(&mut words.young);
            }
            words.young.insert(*read, *word);
        }
    }

    pub(super) fn last_seen(&self, read: &Read) -> Option<U256> {
        let words = self.generations();
        words.young.get(read).or_else(|| words.old.get(read)).copied()
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
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
        let words = Words::default();
        words.note(&[word(1), (Read::BlockHash(1), Cached::Word(U256::from(7)))]);
        assert_eq!(words.last_seen(&Read::BlockHash(1)), Some(U256::from(7)));
        for number in 2..3 * MOST_WORDS {
            words.note(&[word(number)]);
        }
        assert_eq!(words.last_seen(&Read::BlockHash(1)), None);
        let newest = 3 * MOST_WORDS - 1;
        assert_eq!(words.last_seen(&Read::BlockHash(newest as u64)), Some(U256::from(newest)));
        let words = words.generations();
        assert!(words.young.len() + words.old.len() <= 2 * MOST_WORDS);
    }
}
