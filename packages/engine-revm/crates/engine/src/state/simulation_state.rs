//! The state that one simulation reads and changes, and what it does about missing values.

use super::{
    cache::StateCache,
    change::{AccountChange, Layer, analysed},
    look_ahead::{
        Allowance, AlternativeGuess, Assumed, Assumption, GUESS_BITS, LookAhead, MAX_ASSUMED, MAX_RECORDED,
        MissingValues, thread_time,
    },
    pinned::PinnedState,
    predictions::Selector,
    read::{Cached, Read, ReadError, StateSource},
};
use crate::{outcome::TouchedList, time_slices::Stop, touched_set::TouchedSet};
use alloy_primitives::{
    Address, B256, Bytes, U256,
    map::{AddressMap, HashMap},
};
use revm::{
    bytecode::Bytecode,
    database_interface::Database,
    state::{AccountInfo, EvmState},
};
use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

/// Unseen slots of one contract that are assumed to be zero.
const ZERO_SLOTS: usize = 8;
/// Limit of contracts whose code a run scans when they first run it.
const MAX_FIRST_RUNS: usize = 1_000;

/// How a missing value is handled.
#[derive(Clone, Copy)]
enum Missing {
    /// The run waits for it.
    Awaited,
    LookedAhead(LookAhead),
    /// It is noted, and the read fails.
    Recorded,
}

/// A run with other guesses.
struct AlternativeRun {
    guess: AlternativeGuess,
    words: HashMap<Read, U256>,
    /// Words that it may still ask for.
    left: usize,
}

impl AlternativeRun {
    /// @param count how many of the contract's words were assumed so far
    fn word(&mut self, read: Read, count: &mut usize) -> U256 {
        *self.words.entry(read).or_insert_with(|| {
            let is_set = self.guess.pattern >> (*count % GUESS_BITS) & 1 == 1;
            *count += 1;
            if is_set { U256::MAX } else { U256::ZERO }
        })
    }
}

/// The state that one simulation sees: its own changes over pre-confirmed layers over the pinned block.
pub struct SimulationState {
    changes: AddressMap<AccountChange>,
    /// Hashes of simulated blocks and their base.
    hashes: HashMap<u64, B256>,
    /// Oldest first.
    layers: Vec<Arc<Layer>>,
    pinned: Arc<PinnedState>,
    source: Arc<dyn StateSource>,
    stop: Arc<Stop>,
    missing: Missing,
    /// Limit of values that a look ahead may miss.
    most_assumed: usize,
    /// Set while missing values are assumed.
    allowance: Cell<Option<Allowance>>,
    /// Whether a value was assumed that no block is known to have had.
    past_unseen: Cell<bool>,
    /// Whether such a value was a word of storage.
    guesses_storage: Cell<bool>,
    /// An account whose balance, nonce and code don't count as such.
    exempt_sender: Option<Address>,
    /// Whether the run continued past a failure.
    is_forced: bool,
    assumed: RefCell<Assumed>,
    /// The first missing values, which the run certainly needs; the others are guesses.
    first: RefCell<Vec<Read>>,
    /// Number of unseen slots assumed, per contract.
    unseen_slots: RefCell<AddressMap<usize>>,
    alternative: RefCell<Option<AlternativeRun>>,
    /// Whether calls are noted.
    notes_callees: bool,
    /// How many contracts' code may still be scanned for what it will read. No gas pays for that.
    first_runs_left: Cell<usize>,
    /// Read along with missing values.
    likely_reads: RefCell<Vec<Read>>,
    /// What was read, if listed.
    reads: Option<RefCell<TouchedSet>>,
    /// Whether code may be a delegation (EIP-7702). Before Prague it runs as it is.
    delegations: bool,
}

impl SimulationState {
    pub fn new(
        cache: &StateCache,
        key: B256,
        layers: Vec<Arc<Layer>>,
        source: Arc<dyn StateSource>,
        stop: Arc<Stop>,
    ) -> Self {
        let pinned = cache.pinned(key);
        let notes_callees = pinned.take_has_new_values();
        Self {
            changes: AddressMap::default(),
            hashes: HashMap::default(),
            layers,
            pinned,
            source,
            stop,
            missing: Missing::Awaited,
            most_assumed: MAX_ASSUMED,
            allowance: Cell::default(),
            past_unseen: Cell::default(),
            guesses_storage: Cell::default(),
            exempt_sender: None,
            is_forced: false,
            unseen_slots: RefCell::default(),
            alternative: RefCell::default(),
            assumed: RefCell::default(),
            first: RefCell::default(),
            notes_callees,
            first_runs_left: Cell::new(MAX_FIRST_RUNS),
            likely_reads: RefCell::default(),
            reads: None,
            delegations: true,
        }
    }

    /// How many of the counted last blocks changed the value, and how many are counted.
    pub fn recent_changes(&self, read: &Read) -> (u64, u64) {
        self.pinned.recent_changes(read)
    }

    /// Nothing is waited for: missing values are assumed, within this allowance.
    pub fn with_allowance(self, allowance: Allowance) -> Self {
        self.allowance.set(Some(allowance));
        self
    }

    /// Lists reads there from now on, or nowhere. Returns the previous list.
    pub fn swap_reads(&mut self, reads: Option<RefCell<TouchedSet>>) -> Option<RefCell<TouchedSet>> {
        std::mem::replace(&mut self.reads, reads)
    }

    /// The accounts (each as a whole) and slots that were read, from whatever source; None if not listed.
    pub fn read_list(&self) -> Option<TouchedList> {
        self.reads.as_ref().map(|reads| reads.borrow().list())
    }

    #[inline]
    fn list(&self, address: Address, slot: Option<U256>) {
        let Some(reads) = &self.reads else { return };
        match slot {
            Some(slot) => reads.borrow_mut().slot(address, slot),
            None => reads.borrow_mut().account(address),
        }
    }

    /// From the first missing value on, nothing is waited for.
    pub fn looking_ahead(mut self, look_ahead: LookAhead) -> Self {
        self.missing = Missing::LookedAhead(look_ahead);
        self
    }

    /// Sets the limit of values that a look ahead may miss.
    pub fn with_max_assumed(mut self, most: usize) -> Self {
        self.most_assumed = most;
        self
    }

    /// Nothing is waited for: a read of a missing value is noted and fails with `ReadError::Missing`.
    pub fn recording_missing(mut self) -> Self {
        self.missing = Missing::Recorded;
        self
    }

    /// Whether calls are noted, for later runs that look ahead.
    #[inline]
    pub fn notes_callees(&self) -> bool {
        self.notes_callees
    }

    /// Notes a call, if the callee's code is known.
    pub fn note_callee(&self, caller: Address, selector: Selector, callee: Address) {
        if !self.is_unseen(&Read::Code(callee)) {
            self.pinned.note_callee(caller, selector, callee);
        }
    }

    /// Whether the contract was never known to run this code. True at most `MAX_FIRST_RUNS` times per run.
    pub fn is_first_run(&self, contract: Address, code: B256) -> bool {
        let left = self.first_runs_left.get();
        let is_first = left > 0 && self.pinned.is_first_run(contract, code);
        if is_first {
            self.first_runs_left.set(left - 1);
        }
        is_first
    }

    /// Reads these along with other missing values: they are likely needed.
    pub fn add_likely_reads(&self, reads: impl IntoIterator<Item = Read>) {
        let missing = reads.into_iter().filter(|read| self.is_missing(read));
        self.likely_reads.borrow_mut().extend(missing);
    }

    /// The code that such a call likely reaches.
    pub fn guess_callee(&self, caller: Address, selector: Selector) -> Option<(B256, Bytecode)> {
        self.pinned.predicted_callee(caller, selector).filter(|(_, code)| !code.is_eip7702())
    }

    /// Assumes missing values from now on, within this allowance; None ends that.
    pub fn set_allowance(&mut self, allowance: Option<Allowance>) {
        self.allowance.set(allowance);
        self.past_unseen.set(false);
        self.guesses_storage.set(false);
        self.unseen_slots.get_mut().clear();
        *self.alternative.get_mut() = None;
    }

    /// Sets guesses for unseen words, until the allowance is next set.
    pub fn set_alternative(&mut self, guess: AlternativeGuess) {
        *self.alternative.get_mut() = Some(AlternativeRun { left: guess.most, guess, words: HashMap::default() });
    }

    /// Whether an unseen word of storage was assumed since the allowance was set.
    pub fn guesses_storage(&self) -> bool {
        self.guesses_storage.get()
    }

    /// Notes those of the reads that no changes, layers or cached values determine.
    pub fn record_missing(&self, reads: impl IntoIterator<Item = Read>) {
        let reads: Vec<Read> = reads.into_iter().filter(|read| self.is_missing(read)).collect();
        self.record_first(&reads);
        for read in reads {
            let _ = self.assume(read);
        }
    }

    /// Whether any value was missing so far.
    pub fn has_missing(&self) -> bool {
        !self.assumed.borrow().is_empty()
    }

    /// Whether the value is missing and was never seen on any block.
    pub fn is_unseen(&self, read: &Read) -> bool {
        self.assumed.borrow().get(read).is_some_and(|assumption| !assumption.is_seen)
    }

    /// Whether the run continues past an unseen value. It would seldom get far, so it may be forced.
    #[inline]
    pub fn is_past_unseen(&self) -> bool {
        self.past_unseen.get()
    }

    /// Sets the account whose own values hardly affect what runs: the sender, unless it sends value.
    pub fn set_exempt_sender(&mut self, account: Option<Address>) {
        self.exempt_sender = account;
    }

    /// Marks the run's result as invalid, whatever the missing values are.
    pub fn force(&mut self) {
        self.is_forced = true;
    }

    pub fn is_forced(&self) -> bool {
        self.is_forced
    }

    #[inline]
    pub fn allowance(&self) -> Option<Allowance> {
        self.allowance.get()
    }

    #[inline]
    pub fn allowance_mut(&mut self) -> Option<&mut Allowance> {
        self.allowance.get_mut().as_mut()
    }

    /// The missing values, with the first ones. Includes the likely reads if the run gave no answer.
    pub fn into_missing(self) -> MissingValues {
        let first = self.first.take();
        MissingValues { assumed: self.into_assumed(), first }
    }

    pub fn into_assumed(self) -> Assumed {
        let mut assumed = self.assumed.take();
        let may_be_answer = !self.is_forced && !matches!(self.missing, Missing::Recorded);
        if assumed.is_empty() || may_be_answer {
            return assumed;
        }
        let left = self.most_assumed().saturating_sub(assumed.len());
        for read in self.likely_reads.take().into_iter().take(left) {
            assumed.entry(read).or_insert_with(|| self.pinned.assumption(read));
        }
        assumed
    }

    pub fn set_delegations(&mut self, active: bool) {
        self.delegations = active;
    }

    pub fn set_block_hash(&mut self, number: u64, hash: B256) {
        self.hashes.insert(number, hash);
    }

    /// The account's changes, created if needed.
    pub fn change(&mut self, address: Address) -> &mut AccountChange {
        self.changes.entry(address).or_default()
    }

    /// Whether an override or a transaction changed it.
    pub fn has_changed(&self, address: Address) -> bool {
        self.changes.contains_key(&address)
    }

    /// Slots set by overrides or transactions.
    pub fn changed_storage(&self, address: Address) -> impl Iterator<Item = (U256, U256)> {
        self.changes
            .get(&address)
            .into_iter()
            .flat_map(|change| change.storage.iter().map(|(slot, value)| (*slot, *value)))
    }

    /// Restores the account's earlier changes, `before`.
    pub fn restore(&mut self, address: Address, before: Option<AccountChange>) {
        match before {
            Some(before) => self.changes.insert(address, before),
            None => self.changes.remove(&address),
        };
    }

    /// Moves the changes so far to a new layer, and returns it.
    pub fn split(&mut self) -> Arc<Layer> {
        let layer = Arc::new(Layer { accounts: self.take_changes() });
        self.layers.push(layer.clone());
        layer
    }

    pub fn take_changes(&mut self) -> AddressMap<AccountChange> {
        std::mem::take(&mut self.changes)
    }

    pub fn set_code(&mut self, address: Address, code: Bytes) {
        self.change(address).code = Some(analysed(code));
    }

    /// The hash of the account's code; of empty code if it has none.
    pub fn code_hash(&self, address: Address) -> Result<B256, ReadError> {
        self.list(address, None);
        if let Some((hash, _)) = self.changes_above(address).find_map(|change| change.code.as_ref()) {
            return Ok(*hash);
        }
        match self.read(Read::Code(address))? {
            Cached::Code(hash, _) => Ok(hash),
            Cached::Word(_) => Err(ReadError::Failed),
        }
    }

    /// Reads all missing values of `reads` at once, or notes them if nothing is waited for. Values determined by changes or layers are left
    /// out.
    pub fn prefetch(&self, mut reads: Vec<Read>) -> Result<(), ReadError> {
        if self.allowance.get().is_some() {
            self.record_missing(reads);
            return Ok(());
        }
        reads.retain(|read| self.is_missing(read));
        reads.sort_unstable();
        reads.dedup();
        if reads.is_empty() {
            return Ok(());
        }
        self.pinned.fetch(&reads, reads.len(), &*self.source).map(drop)
    }

    fn fetch(&self, reads: &[Read]) -> Result<Vec<Cached>, ReadError> {
        if self.stop.is_raised() {
            return Err(ReadError::Cancelled);
        }
        if self.allowance.get().is_none() {
            match self.missing {
                Missing::LookedAhead(ahead) if thread_time() < ahead.until => self.allowance.set(Some(ahead.allowance)),
                Missing::Recorded => {
                    self.record_first(reads);
                    for read in reads {
                        self.assume(*read)?;
                    }
                    return Err(ReadError::Missing);
                }
                _ => return self.pinned.fetch(reads, reads.len(), &*self.source),
            }
        }
        self.record_first(reads);
        reads.iter().map(|read| self.assume(*read)).collect()
    }

    fn record_first(&self, reads: &[Read]) {
        if !self.has_missing() {
            *self.first.borrow_mut() = reads.to_vec();
        }
    }

    fn most_assumed(&self) -> usize {
        if let Missing::Recorded = self.missing { MAX_RECORDED } else { self.most_assumed }
    }

    fn assume(&self, read: Read) -> Result<Cached, ReadError> {
        let mut assumed = self.assumed.borrow_mut();
        if assumed.len() >= self.most_assumed() {
            return Err(ReadError::TooMuch);
        }
        let mut alternative = self.alternative.borrow_mut();
        if let (Some(alternative), Read::Storage(..)) = (alternative.as_mut(), read)
            && !assumed.contains_key(&read)
        {
            alternative.left = alternative.left.checked_sub(1).ok_or(ReadError::TooMuch)?;
        }
        let assumption = assumed.entry(read).or_insert_with(|| self.assumption(read, alternative.is_some()));
        let is_exempt = matches!(read, Read::Balance(account) | Read::Nonce(account) | Read::Code(account) if Some(account) == self.exempt_sender);
        if !assumption.is_seen && !is_exempt && self.allowance.get().is_some() {
            self.past_unseen.set(true);
            self.guesses_storage.set(self.guesses_storage.get() || matches!(read, Read::Storage(..)));
        }
        Ok(match (alternative.as_mut(), read) {
            (Some(alternative), Read::Storage(address, _)) if !assumption.is_seen => {
                Cached::Word(alternative.word(read, self.unseen_slots.borrow_mut().entry(address).or_default()))
            }
            _ => assumption.value.clone(),
        })
    }

    /// A contract's first unseen slots are assumed to be zero, then every other one is one, so that a loop up to a zero or a non-zero slot
    /// ends.
    fn assumption(&self, read: Read, is_alternative: bool) -> Assumption {
        let mut assumption = self.pinned.assumption(read);
        if let (false, false, Read::Storage(address, _)) = (is_alternative, assumption.is_seen, read) {
            let mut unseen = self.unseen_slots.borrow_mut();
            let count = unseen.entry(address).or_default();
            *count += 1;
            if assumption.value == Cached::Word(U256::ZERO) && *count > ZERO_SLOTS && count.is_multiple_of(2) {
                assumption.value = Cached::Word(U256::ONE);
            }
        }
        assumption
    }

    /// Whether no changes, layers or cached values determine it.
    fn is_missing(&self, read: &Read) -> bool {
        !self.is_changed_above(read) && self.pinned.get(read).is_none()
    }

    fn is_changed_above(&self, read: &Read) -> bool {
        let known = |change: &AccountChange| match read {
            Read::Balance(_) => change.balance.is_some(),
            Read::Nonce(_) => change.nonce.is_some(),
            Read::Code(_) => change.code.is_some(),
            Read::Storage(_, slot) => change.storage_cleared || change.storage.contains_key(slot),
            Read::BlockHash(_) => false,
        };
        match read {
            Read::BlockHash(number) => self.hashes.contains_key(number),
            Read::Balance(address) | Read::Nonce(address) | Read::Code(address) | Read::Storage(address, _) => {
                self.changes_above(*address).any(known)
            }
        }
    }

    /// A slot before the simulation's changes.
    pub fn initial_storage(&self, address: Address, slot: U256) -> Result<U256, ReadError> {
        self.list(address, Some(slot));
        let mut layers = self.layers.iter().rev().filter_map(|layer| layer.accounts.get(&address));
        match layers.find_map(|change| change.slot(&slot)) {
            Some(value) => Ok(value),
            None => self.word(Read::Storage(address, slot)),
        }
    }

    /// The account's changes above the pinned block, nearest first.
    fn changes_above(&self, address: Address) -> impl Iterator<Item = &AccountChange> {
        self.changes
            .get(&address)
            .into_iter()
            .chain(self.layers.iter().rev().filter_map(move |layer| layer.accounts.get(&address)))
    }

    fn read(&self, read: Read) -> Result<Cached, ReadError> {
        if let Some(value) = self.pinned.get(&read) {
            return Ok(value);
        }
        self.fetch(&[read])?.pop().ok_or(ReadError::Failed)
    }

    fn word(&self, read: Read) -> Result<U256, ReadError> {
        match self.read(read)? {
            Cached::Word(word) => Ok(word),
            Cached::Code(..) => Err(ReadError::Failed),
        }
    }

    fn account(&self, address: Address) -> Result<Option<AccountInfo>, ReadError> {
        self.list(address, None);
        let (mut balance, mut nonce, mut code, mut exists) = (None, None, None, false);
        for change in self.changes_above(address) {
            balance = balance.or(change.balance);
            nonce = nonce.or(change.nonce);
            if code.is_none() {
                code.clone_from(&change.code);
            }
            exists |= change.exists;
        }
        let wanted = [
            (balance.is_none(), Read::Balance(address)),
            (nonce.is_none(), Read::Nonce(address)),
            (code.is_none(), Read::Code(address)),
        ];
        let mut missing = [Read::Balance(address); 3];
        let mut count = 0;
        for (_, read) in wanted.iter().filter(|(wanted, _)| *wanted) {
            match self.pinned.get(read) {
                Some(value) => take(*read, value, &mut balance, &mut nonce, &mut code),
                None => {
                    missing[count] = *read;
                    count += 1;
                }
            }
        }
        if count > 0 {
            let values = self.fetch(&missing[..count])?;
            for (read, value) in missing[..count].iter().zip(values) {
                take(*read, value, &mut balance, &mut nonce, &mut code);
            }
        }
        let (Some(balance), Some(nonce), Some((code_hash, mut code))) = (balance, nonce, code) else {
            return Err(ReadError::Failed);
        };
        if !self.delegations && code.is_eip7702() {
            code = Bytecode::new_legacy(code.original_bytes());
        }
        if !exists && balance.is_zero() && nonce == 0 && code.is_empty() {
            return Ok(None);
        }
        Ok(Some(AccountInfo { balance, nonce, code_hash, code: Some(code), ..AccountInfo::default() }))
    }

    /// Commits a transaction's changes.
    pub fn commit(&mut self, state: EvmState) {
        for (address, account) in state {
            if !account.is_touched() {
                continue;
            }
            if account.is_selfdestructed() || account.is_empty() {
                if !account.is_loaded_as_not_existing() || self.changes.contains_key(&address) {
                    self.changes.insert(address, AccountChange::destroyed());
                }
                continue;
            }
            let (created, before) = (account.is_created(), account.original_info());
            let change = self.changes.entry(address).or_default();
            // Storage set by overrides is kept.
            change.storage_cleared |= created;
            let now = account.info;
            if created || now.balance != before.balance {
                change.balance = Some(now.balance);
            }
            if created || now.nonce != before.nonce {
                change.nonce = Some(now.nonce);
            }
            if created || now.code_hash != before.code_hash {
                change.code = Some((now.code_hash, now.code.unwrap_or_default()));
            }
            for (slot, value) in account.storage {
                if value.is_changed() {
                    change.storage.insert(slot, value.present_value);
                }
            }
        }
    }
}

fn take(
    read: Read,
    value: Cached,
    balance: &mut Option<U256>,
    nonce: &mut Option<u64>,
    code: &mut Option<(B256, Bytecode)>,
) {
    match (read, value) {
        (Read::Balance(_), Cached::Word(word)) => *balance = Some(word),
        (Read::Nonce(_), Cached::Word(word)) => *nonce = Some(word.saturating_to()),
        (Read::Code(_), Cached::Code(hash, bytecode)) => *code = Some((hash, bytecode)),
        _ => {}
    }
}

impl Database for SimulationState {
    type Error = ReadError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ReadError> {
        self.account(address)
    }

    /// Never called: accounts are loaded with their code.
    fn code_by_hash(&mut self, _code_hash: B256) -> Result<Bytecode, ReadError> {
        Err(ReadError::Failed)
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, ReadError> {
        self.list(address, Some(slot));
        match self.changes_above(address).find_map(|change| change.slot(&slot)) {
            Some(value) => Ok(value),
            None => self.word(Read::Storage(address, slot)),
        }
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ReadError> {
        match self.hashes.get(&number) {
            Some(hash) => Ok(*hash),
            None => self.word(Read::BlockHash(number)).map(B256::from),
        }
    }
}
