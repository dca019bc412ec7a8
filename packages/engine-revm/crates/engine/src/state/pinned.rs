//! The values of one block.

use super::{
    change::analysed,
    code_cache::CodeCache,
    history::History,
    last_seen_words::LastSeenWords,
    look_ahead::Assumption,
    predictions::{Predictions, Selector},
    read::{Cached, Read, ReadError, StateSource, Value},
    version::Position,
};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, map::DefaultHashBuilder};
use revm::bytecode::Bytecode;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

/// What was last seen on any block.
#[derive(Default)]
pub(super) struct LastSeen {
    codes: CodeCache,
    pub(super) words: LastSeenWords,
    predictions: Predictions,
}

/// The values of one block that were read, provided or carried, shared by all simulations on it. Look-ups take no lock.
pub struct PinnedState {
    pub(super) history: Arc<History>,
    pub(super) position: Position,
    /// Values read after the history dropped this position, for simulations that still use it.
    values_after_drop: OnceLock<papaya::HashMap<Read, Cached, DefaultHashBuilder>>,
    pub(super) used: AtomicU32,
    last_seen: Arc<LastSeen>,
    /// Whether values were read that no run has seen since.
    has_new_values: AtomicBool,
}

impl PinnedState {
    pub(super) fn new(history: Arc<History>, position: Position, last_seen: Arc<LastSeen>) -> Self {
        Self {
            history,
            position,
            values_after_drop: OnceLock::new(),
            used: AtomicU32::new(0),
            last_seen,
            has_new_values: AtomicBool::default(),
        }
    }

    #[inline]
    pub fn get(&self, read: &Read) -> Option<Cached> {
        let found = self.history.get(read, self.position, self.used.load(Ordering::Relaxed));
        match found {
            None => self.values_after_drop.get()?.pin().get(read).cloned(),
            found => found,
        }
    }

    /// How many of the counted last blocks changed the value, and how many are counted.
    pub fn recent_changes(&self, read: &Read) -> (u64, u64) {
        self.history.recent_changes(read)
    }

    /// A sample of the cached words, written or read. `seed` selects it.
    pub fn sample_words(&self, seed: usize, most: usize) -> Vec<(Read, U256)> {
        self.history.sample_words(self.position, seed, most)
    }

    /// What a run that looks ahead assumes for a missing value: the value last seen on any block. If never seen: no code, a high balance
    /// (so that lack of funds does not end the run), else zero.
    pub(super) fn assumption(&self, read: Read) -> Assumption {
        let LastSeen { codes, words, .. } = &*self.last_seen;
        let seen = match read {
            Read::Code(address) => codes.last_seen(address).map(|(hash, code)| Cached::Code(hash, code)),
            _ => words.last_seen(&read).map(Cached::Word),
        };
        let unseen = || match read {
            Read::Balance(_) => Cached::Word(U256::ONE << 120),
            Read::Code(_) => Cached::Code(KECCAK256_EMPTY, Bytecode::default()),
            _ => Cached::Word(U256::ZERO),
        };
        Assumption { is_seen: seen.is_some(), value: seen.unwrap_or_else(unseen) }
    }

    /// Whether values were read since the last call of this function.
    pub(super) fn take_has_new_values(&self) -> bool {
        self.has_new_values.load(Ordering::Relaxed) && self.has_new_values.swap(false, Ordering::Relaxed)
    }

    /// Notes which account a contract called.
    pub(super) fn note_callee(&self, caller: Address, selector: Selector, callee: Address) {
        self.last_seen.predictions.note_callee(&self.last_seen.codes, caller, selector, callee);
    }

    pub(super) fn is_first_run(&self, contract: Address, code: B256) -> bool {
        self.last_seen.predictions.is_first_run(contract, code)
    }

    /// The code that such a call likely reaches.
    pub(super) fn predicted_callee(&self, caller: Address, selector: Selector) -> Option<(B256, Bytecode)> {
        self.last_seen.predictions.callee(&self.last_seen.codes, caller, selector)
    }

    /// Values in the order of `reads`, from the cache or `source`.
    /// @param certain number of reads, counted from the first, that are certainly needed
    pub fn fetch(&self, reads: &[Read], certain: usize, source: &dyn StateSource) -> Result<Vec<Cached>, ReadError> {
        let found: Vec<Option<Cached>> = reads.iter().map(|read| self.get(read)).collect();
        let missing: Vec<Read> =
            reads.iter().zip(&found).filter(|(_, value)| value.is_none()).map(|(read, _)| *read).collect();
        if missing.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
        let certain = found.iter().take(certain).filter(|value| value.is_none()).count();
        let mut fetched = self.store(missing.iter().copied().zip(source.read(&missing, certain)?)).into_iter();
        found.into_iter().map(|value| value.or_else(|| fetched.next()).ok_or(ReadError::Failed)).collect()
    }

    /// Stores values that were read, and returns them in the EVM's form.
    pub fn store(&self, values: impl IntoIterator<Item = (Read, Value)>) -> Vec<Cached> {
        let values: Vec<(Read, Cached)> =
            values.into_iter().map(|(read, value)| (read, self.cached(&read, value))).collect();
        self.has_new_values.store(true, Ordering::Relaxed);
        self.last_seen.words.note(&values);
        self.store_cached(&values);
        values.into_iter().map(|(_, value)| value).collect()
    }

    pub(super) fn store_cached(&self, values: &[(Read, Cached)]) {
        if self.history.store(self.position, values, self.used.load(Ordering::Relaxed)) {
            return;
        }
        let left =
            self.values_after_drop.get_or_init(|| papaya::HashMap::with_hasher(DefaultHashBuilder::default())).pin();
        for (read, value) in values {
            left.insert(*read, value.clone());
        }
    }

    fn cached(&self, read: &Read, value: Value) -> Cached {
        let (hash, bytecode) = match (read, value) {
            (_, Value::Word(word)) => return Cached::Word(word),
            (Read::Code(address), Value::Code(code)) => self.last_seen.codes.analysed(*address, code),
            (_, Value::Code(code)) => analysed(code),
        };
        Cached::Code(hash, bytecode)
    }
}
