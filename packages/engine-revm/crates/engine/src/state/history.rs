//! The values of consecutive states, in one map.
//!
//! Each state has a position; later states have higher ones, whatever their block numbers. A step leads from one position to the next and
//! contains the changes. So a value that no step changed since it was read is valid at all positions. A state on a new branch is one more
//! step: it reverts the changes since its parent, and writes what its block wrote.
//!
//! The map has the newest version of each value. The previous version is kept by the step that displaced it, and dropped with that step
//! without another look-up.

use super::{
    change::AccountChange,
    read::{Cached, Read},
    recent_writes::RecentWrites,
    version::{Entry, Position, Version},
};
use alloy_primitives::{
    Address, U256,
    map::{AddressMap, AddressSet, DefaultHashBuilder, HashMap},
};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Why a state was not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCarried {
    /// The parent's state is no longer cached.
    Parent,
    /// A value read at a block differs from the one carried to it.
    ConflictingValue(Read),
}

/// What a block wrote.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    /// Each read occurs once.
    pub values: Vec<(Read, Cached)>,
    /// Accounts whose other slots become zero.
    pub cleared: AddressSet,
}

impl From<AddressMap<AccountChange>> for Writes {
    fn from(changes: AddressMap<AccountChange>) -> Self {
        let mut writes = Self::default();
        for (address, change) in changes {
            let words =
                [(Read::Balance(address), change.balance), (Read::Nonce(address), change.nonce.map(U256::from))];
            let words = words.into_iter().filter_map(|(read, value)| Some((read, value?)));
            let slots = change.storage.into_iter().map(|(slot, value)| (Read::Storage(address, slot), value));
            writes.values.extend(words.chain(slots).map(|(read, value)| (read, Cached::Word(value))));
            writes.values.extend(change.code.map(|(hash, code)| (Read::Code(address), Cached::Code(hash, code))));
            if change.storage_cleared {
                writes.cleared.insert(address);
            }
        }
        writes
    }
}

/// Number of steps kept, so that a reorganisation finds its parent and running simulations can continue.
const MAX_STEPS: usize = 64;
/// Changes made per lock: this bounds how long other writers wait.
const CHUNK: usize = 64;
/// Bytes of a key in a step.
const KEY_BYTES: usize = 64;

/// Limit of entries that a sample skips.
const MAX_SKIPPED: usize = 4_096;

type Map = papaya::HashMap<Read, Entry, DefaultHashBuilder>;
type Entries<'a> = papaya::HashMapRef<'a, Read, Entry, DefaultHashBuilder, papaya::LocalGuard<'a>>;

pub(super) struct History {
    values: Map,
    window: RwLock<Window>,
    /// Held during a whole step.
    stepping: Mutex<()>,
}

/// The positions kept, and the changes between them. A missing entry means that none of these steps changed the value.
#[derive(Default)]
struct Window {
    /// The oldest position kept.
    floor: Position,
    /// Oldest first; the first leads to `floor + 1`.
    steps: VecDeque<Step>,
    /// Positions after the floor at which any slot of the account may have changed, sorted.
    cleared: AddressMap<Vec<Position>>,
    /// Number of slot entries per account.
    slots: AddressMap<usize>,
    /// Estimated size of all entries and steps.
    bytes: usize,
    /// Estimated size of the steps.
    step_bytes: usize,
    /// No longer in the cache: its bytes are not counted.
    detached: bool,
    /// A value that was read after steps had been made and differs from the cached one.
    conflict: Option<Read>,
    recent: RecentWrites,
    /// Bytes of all histories in the cache together.
    all_bytes: Arc<AtomicUsize>,
}

struct Step {
    /// The position on whose state its block was executed.
    parent: Position,
    /// What its block wrote, even if unchanged.
    written: Arc<[Read]>,
    cleared: Vec<Address>,
    /// What differs from the previous position, and accounts any slot of which may differ.
    changed: Arc<[Read]>,
    marked: AddressSet,
    /// Versions valid up to it.
    displaced: Vec<Version>,
    bytes: usize,
}

impl Step {
    /// Size of the keys that it keeps.
    fn key_bytes(&self) -> usize {
        let own = if Arc::ptr_eq(&self.written, &self.changed) { 0 } else { self.written.len() };
        (self.changed.len() + own) * KEY_BYTES
    }
}

impl Window {
    fn newest(&self) -> Position {
        self.floor + self.steps.len() as Position
    }

    fn step_to(&self, position: Position) -> Option<&Step> {
        self.steps.get(position.checked_sub(self.floor + 1)? as usize)
    }

    fn step_to_mut(&mut self, position: Position) -> Option<&mut Step> {
        self.steps.get_mut(position.checked_sub(self.floor + 1)? as usize)
    }

    /// The previous version, if a position where it is valid is kept.
    fn before(&self, version: &Version) -> Option<&Version> {
        self.step_to(version.from)?.displaced.get(version.before? as usize)
    }

    /// The value at this position, searched from the given version backwards.
    fn at<'a>(&'a self, mut version: &'a Version, at: Position) -> Option<&'a Cached> {
        while version.from > at {
            version = self.before(version)?;
        }
        version.value.as_ref()
    }

    /// Stores the version displaced by the step to this position in that step. @returns its index, if the step is still kept
    fn displace(&mut self, to: Position, version: Version) -> Option<u32> {
        let step = self.step_to_mut(to)?;
        let place = step.displaced.len() as u32;
        let bytes = version.bytes();
        step.displaced.push(version);
        self.count_step(to, bytes);
        Some(place)
    }

    /// Adds to the size of a step.
    fn count_step(&mut self, to: Position, bytes: usize) {
        let Some(step) = self.step_to_mut(to) else { return };
        step.bytes += bytes;
        self.step_bytes += bytes;
        self.count(bytes as isize);
    }

    /// Drops the oldest position, with the versions valid only there.
    fn forget_oldest(&mut self) {
        let Some(step) = self.steps.pop_front() else { return };
        self.floor += 1;
        self.step_bytes -= step.bytes;
        self.count(-(step.bytes as isize));
        for address in &step.marked {
            if let Some(positions) = self.cleared.get_mut(address) {
                positions.retain(|position| *position > self.floor);
                if positions.is_empty() {
                    self.cleared.remove(address);
                }
            }
        }
    }

    fn count(&mut self, bytes: isize) {
        self.bytes = self.bytes.saturating_add_signed(bytes);
        if !self.detached {
            // Wraps around, so it also adds negative numbers.
            self.all_bytes.fetch_add(bytes as usize, Ordering::Relaxed);
        }
    }

    /// What may differ between the newest state and the one at this position: values, and accounts any slot of which may. Found from the
    /// blocks' writes back to the common ancestor; if that is no longer kept, everything that changed since.
    fn differing_since(&self, position: Position) -> (Vec<Read>, AddressSet) {
        let (mut one, mut other) = (self.newest(), position);
        let (mut written, mut cleared) = (Vec::new(), AddressSet::default());
        while one != other {
            let later = if one > other { &mut one } else { &mut other };
            let Some(step) = self.step_to(*later) else {
                let since = || self.steps.iter().skip((position - self.floor) as usize);
                let changed = since().flat_map(|step| step.changed.iter()).copied().collect();
                return (changed, since().flat_map(|step| &step.marked).copied().collect());
            };
            *later = step.parent;
            written.extend_from_slice(&step.written);
            cleared.extend(&step.cleared);
        }
        (written, cleared)
    }

    /// Positions at which the value may have changed without an entry.
    fn boundaries(&self, read: &Read) -> &[Position] {
        match read {
            Read::Storage(address, _) => self.cleared.get(address).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    fn mark_cleared(&mut self, address: Address, at: Position) {
        let positions = self.cleared.entry(address).or_default();
        if positions.last() != Some(&at) {
            positions.push(at);
        }
    }
}

impl History {
    pub(super) fn new(all_bytes: Arc<AtomicUsize>) -> Self {
        let values = Map::with_hasher(DefaultHashBuilder::default());
        let window = RwLock::new(Window { all_bytes, ..Window::default() });
        Self { values, window, stepping: Mutex::default() }
    }

    #[inline]
    pub(super) fn get(&self, read: &Read, at: Position, now: u32) -> Option<Cached> {
        let values = self.values.pin();
        let entry = values.get(read)?;
        if entry.used.load(Ordering::Relaxed) != now {
            entry.used.store(now, Ordering::Relaxed);
        }
        self.value(entry, at)
    }

    /// Takes a lock only if the value changed after the position.
    #[inline]
    fn value(&self, entry: &Entry, at: Position) -> Option<Cached> {
        match &entry.newest {
            Version { from, value, .. } if *from <= at => value.clone(),
            newest => self.window().at(newest, at).cloned(),
        }
    }

    /// All known values at this position.
    pub(super) fn values_at(&self, at: Position) -> Vec<(Read, Cached)> {
        let values = self.values.pin();
        values.iter().filter_map(|(read, entry)| Some((*read, self.value(entry, at)?))).collect()
    }

    /// A sample of the words known at this position, written or read.
    /// @param seed selects the sample
    pub(super) fn sample_words(&self, at: Position, seed: usize, most: usize) -> Vec<(Read, U256)> {
        let values = self.values.pin();
        let from = seed % values.len().clamp(1, MAX_SKIPPED);
        let words = values.iter().skip(from).take(MAX_SKIPPED).filter_map(|(read, entry)| {
            match (read, self.value(entry, at)?) {
                (Read::BlockHash(_), _) | (_, Cached::Code(..)) => None,
                (_, Cached::Word(word)) => Some((*read, word)),
            }
        });
        words.take(most).collect()
    }

    /// How many of the counted last blocks wrote the value, and how many are counted.
    pub(super) fn recent_changes(&self, read: &Read) -> (u64, u64) {
        self.window().recent.of(read)
    }

    pub(super) fn floor(&self) -> Position {
        self.window().floor
    }

    pub(super) fn has_steps(&self) -> bool {
        !self.window().steps.is_empty()
    }

    /// Stores values read at this position. Returns false if the position is no longer kept.
    pub(super) fn store(&self, at: Position, values: &[(Read, Cached)], now: u32) -> bool {
        let mut window = self.window_mut();
        if at < window.floor {
            return false;
        }
        let held = self.values.pin();
        for (read, value) in values {
            store_read(&mut window, &held, at, read, value, now);
        }
        true
    }

    /// Adds the state made by `writes` on the one at `parent`. Returns its position.
    pub(super) fn step(&self, parent: Position, writes: Writes, now: u32) -> Result<Position, NotCarried> {
        let _stepping = self.stepping.lock().unwrap_or_else(PoisonError::into_inner);
        let written: Arc<[Read]> = writes.values.iter().map(|(read, _)| *read).collect();
        let (to, undone, restored, scanned) = {
            let mut window = self.window_mut();
            if let Some(read) = window.conflict {
                return Err(NotCarried::ConflictingValue(read));
            }
            if parent < window.floor {
                return Err(NotCarried::Parent);
            }
            let to = window.newest() + 1;
            let before = window.recent.bytes();
            window.recent.add(parent, to, &written);
            let grown = window.recent.bytes() as isize - before as isize;
            window.count(grown);
            let (undone, restored) = window.differing_since(parent);
            let marked: AddressSet = writes.cleared.union(&restored).copied().collect();
            for address in &marked {
                window.mark_cleared(*address, to);
            }
            let scanned = marked.iter().any(|address| window.slots.contains_key(address));
            window.steps.push_back(Step {
                parent,
                written: written.clone(),
                cleared: writes.cleared.iter().copied().collect(),
                changed: written.clone(),
                marked,
                displaced: Vec::new(),
                bytes: 0,
            });
            (to, undone, restored, scanned)
        };
        let changes = self.changes(parent, writes.cleared, &restored, &undone, scanned, writes.values);
        for chunk in changes.chunks(CHUNK) {
            let (mut window, held) = (self.window_mut(), self.values.pin());
            // Look-ups are independent, unlike the changes below, so their memory accesses overlap.
            let before: Vec<Option<&Entry>> = chunk.iter().map(|(read, _)| held.get(read)).collect();
            for ((read, value), before) in chunk.iter().zip(before) {
                write_value(&mut window, &held, to, (read, value), before, now);
            }
        }
        let mut window = self.window_mut();
        if let Some(step) = window.step_to_mut(to) {
            if changes.len() != written.len() {
                step.changed = changes.into_iter().map(|(read, _)| read).collect();
            }
            let bytes = step.key_bytes();
            window.count_step(to, bytes);
        }
        while window.steps.len() > MAX_STEPS {
            window.forget_oldest();
        }
        Ok(to)
    }

    /// The differences from the newest state. A value is None if the parent's is unknown.
    fn changes(
        &self,
        parent: Position,
        cleared: AddressSet,
        restored: &AddressSet,
        undone: &[Read],
        scanned: bool,
        written: Vec<(Read, Cached)>,
    ) -> Vec<(Read, Option<Cached>)> {
        let written = written.into_iter().map(|(read, value)| (read, Some(value)));
        if undone.is_empty() && !scanned {
            return written.collect();
        }
        let held = self.values.pin();
        let before = |entry: &Entry| self.value(entry, parent);
        let mut changes: HashMap<Read, Option<Cached>> = HashMap::default();
        changes.extend(undone.iter().map(|read| (*read, held.get(read).and_then(before))));
        if scanned {
            for (read, entry) in &held {
                let Read::Storage(address, _) = read else { continue };
                if cleared.contains(address) {
                    changes.insert(*read, Some(Cached::Word(U256::ZERO)));
                } else if restored.contains(address) {
                    changes.insert(*read, before(entry));
                }
            }
        } else {
            let slot_of = |read: &Read| matches!(read, Read::Storage(address, _) if cleared.contains(address));
            for (_, value) in changes.iter_mut().filter(|(read, _)| slot_of(read)) {
                *value = Some(Cached::Word(U256::ZERO));
            }
        }
        changes.extend(written);
        changes.into_iter().collect()
    }

    /// Removes this history from the cache's accounting: it is freed with the last simulation that uses it.
    pub(super) fn detach(&self) {
        let mut window = self.window_mut();
        if !window.detached {
            window.detached = true;
            window.all_bytes.fetch_sub(window.bytes, Ordering::Relaxed);
        }
    }

    /// Frees memory: drops old positions until steps take at most `most_step_bytes`, and the least recently used half of the values that no
    /// step changed.
    pub(super) fn shrink(&self, most_step_bytes: usize, now: u32) {
        let mut window = self.window_mut();
        while window.step_bytes > most_step_bytes {
            window.forget_oldest();
        }
        let floor = window.floor;
        let values = self.values.pin();
        let age = |entry: &Entry| now.wrapping_sub(entry.used.load(Ordering::Relaxed));
        let mut ages: Vec<u32> = values.values().filter(|entry| entry.newest.from <= floor).map(age).collect();
        if ages.is_empty() {
            return;
        }
        let middle = ages.len() / 2;
        let median = *ages.select_nth_unstable(middle).1;
        let mut left = ages.len().div_ceil(2);
        let mut dropped = Vec::with_capacity(middle + 1);
        for (read, entry) in values.iter().filter(|(_, entry)| entry.newest.from <= floor) {
            if age(entry) < median || (age(entry) == median && left > 0) {
                left = left.saturating_sub(1);
            } else {
                dropped.push(*read);
            }
        }
        for read in dropped {
            set_entry(&mut window, &values, &read, None);
        }
    }

    fn window(&self) -> RwLockReadGuard<'_, Window> {
        self.window.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn window_mut(&self) -> RwLockWriteGuard<'_, Window> {
        self.window.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn store_read(window: &mut Window, held: &Entries<'_>, at: Position, read: &Read, value: &Cached, now: u32) {
    let (mut version, mut place) = (held.get(read).map(|entry| &entry.newest), VersionLocation::Newest);
    let mut later = None;
    while let Some(passed) = version.filter(|version| version.from > at) {
        later = Some((passed.clone(), place));
        version = window.before(passed);
        place = VersionLocation::Displaced(passed.from, passed.before);
    }
    if let Some(version) = version {
        match &version.value {
            Some(known) if known != value && !window.steps.is_empty() => window.conflict = Some(*read),
            Some(_) => {}
            None => {
                let version = Version { value: Some(value.clone()), ..version.clone() };
                replace(window, held, read, place, version, now);
            }
        }
        return;
    }
    let boundaries = window.boundaries(read);
    let since = boundaries.iter().rev().find(|boundary| **boundary <= at).copied().unwrap_or(window.floor);
    let until = later.as_ref().map_or(Position::MAX, |(version, _)| version.from);
    let between = boundaries.iter().filter(|boundary| **boundary > at && **boundary < until);
    let mut version = Version { from: since, value: Some(value.clone()), before: None };
    for from in between.copied().collect::<Vec<_>>() {
        version = Version { from, value: None, before: window.displace(from, version) };
    }
    match later {
        None => set_entry(window, held, read, Some(Entry::new(version, now))),
        Some((later, place)) => {
            let before = window.displace(later.from, version);
            replace(window, held, read, place, Version { before, ..later }, now);
        }
    }
}

/// Replaces a version by one at the same position.
fn replace(window: &mut Window, held: &Entries<'_>, read: &Read, place: VersionLocation, version: Version, now: u32) {
    let VersionLocation::Displaced(to, place) = place else {
        return set_entry(window, held, read, Some(Entry::new(version, now)));
    };
    let step = window.step_to_mut(to);
    let Some(held) = step.zip(place).and_then(|(step, place)| step.displaced.get_mut(place as usize)) else {
        return;
    };
    let grown = version.bytes().saturating_sub(held.bytes());
    *held = version;
    window.count_step(to, grown);
}

fn write_value(
    window: &mut Window,
    held: &Entries<'_>,
    to: Position,
    (read, value): (&Read, &Option<Cached>),
    before: Option<&Entry>,
    now: u32,
) {
    let (before, used) = match before {
        None => (None, now),
        Some(Entry { newest, used }) => {
            let before = if newest.from == to { newest.before } else { window.displace(to, newest.clone()) };
            (before, used.load(Ordering::Relaxed))
        }
    };
    set_entry(window, held, read, Some(Entry::new(Version { from: to, value: value.clone(), before }, used)));
}

/// Replaces or removes an entry.
fn set_entry(window: &mut Window, held: &Entries<'_>, read: &Read, entry: Option<Entry>) {
    let after = entry.as_ref().map_or(0, Entry::bytes);
    let before = match entry {
        Some(entry) => held.insert(*read, entry),
        None => held.remove(read),
    };
    let before = before.map_or(0, Entry::bytes);
    if let Read::Storage(address, _) = read {
        match (before, after) {
            (0, 1..) => *window.slots.entry(*address).or_default() += 1,
            (1.., 0) => {
                if let Some(count) = window.slots.get_mut(address) {
                    *count -= 1;
                    if *count == 0 {
                        window.slots.remove(address);
                    }
                }
            }
            _ => {}
        }
    }
    window.count(after as isize - before as isize);
}

/// Where a version is.
enum VersionLocation {
    Newest,
    /// Among the versions displaced by the step to this position.
    Displaced(Position, Option<u32>),
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: u64 = 20;

    fn written(account: u8) -> Writes {
        let reads = (0..WRITTEN).map(|slot| Read::Storage(Address::with_last_byte(account), U256::from(slot)));
        let values = reads.map(|read| (read, Cached::Word(U256::from(account)))).collect();
        Writes { values, cleared: AddressSet::default() }
    }

    #[test]
    fn a_sibling_changes_back_what_the_one_before_it_wrote_and_no_more() {
        let history = History::new(Arc::default());
        let parent = history.step(0, written(0), 0).unwrap();
        for account in 1..=40 {
            let position = history.step(parent, written(account), 0).unwrap();
            let changed = history.window().step_to(position).unwrap().changed.len() as u64;
            assert_eq!(changed, if account == 1 { WRITTEN } else { 2 * WRITTEN });
        }
    }

    #[test]
    fn what_every_step_writes_is_kept_once_for_each_position() {
        let history = History::new(Arc::default());
        let read = Read::Balance(Address::ZERO);
        let word = |number: u32| Cached::Word(U256::from(number));
        for step in 1..=1_000 {
            let writes = Writes { values: vec![(read, word(step))], cleared: AddressSet::default() };
            assert_eq!(history.step(step - 1, writes, 0), Ok(step));
            let window = history.window();
            let kept: usize = window.steps.iter().map(|step| step.displaced.len()).sum();
            assert_eq!(kept, window.steps.len() - usize::from(window.floor == 0));
            let floor = window.floor;
            drop(window);
            assert!((floor.max(1)..=step).all(|position| history.get(&read, position, 0) == Some(word(position))));
            assert!(floor == 0 || history.get(&read, floor - 1, 0).is_none());
        }
    }
}
