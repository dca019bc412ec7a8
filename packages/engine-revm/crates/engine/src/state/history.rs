//! The values of states that follow one another, in one map.
//!
//! Each state has a position; a later one is higher, whatever its block's number. Between two positions lies a step: what changes from
//! the one state to the other. So a value that no step changed since it was read holds for all positions, and a state on a new
//! branch is one more step: it changes back what the steps since its parent changed, and writes what its block wrote.

use super::{
    budget::Budget,
    read::{Cached, Read},
    recent_writes::RecentWrites,
    version::{Entry, Position},
};
use alloy_primitives::{
    Address, U256,
    map::{AddressMap, AddressSet, DefaultHashBuilder, HashMap},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

/// Why a state was not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCarried {
    /// Its parent's is no longer held.
    Parent,
    /// What was read at a block is not what was carried to it.
    Disputed(Read),
}

/// What a block wrote.
#[derive(Debug, Default)]
pub(super) struct Writes {
    /// Each is known, and there once.
    pub values: Vec<(Read, Option<Cached>)>,
    /// Accounts whose other slots are zero from now on.
    pub cleared: AddressSet,
}

/// Steps that are kept, so that a reorganisation finds its parent and simulations go on where they began.
const MOST_STEPS: usize = 64;
/// Changes made in one go: whoever keeps what was read waits for no more than these.
const CHUNK: usize = 64;
/// A key in a step, bytes.
const KEY_BYTES: usize = 64;

/// Entries that a sample passes by.
const MOST_SKIPPED: usize = 4_096;

type Map = papaya::HashMap<Read, Entry, DefaultHashBuilder>;

pub(super) struct History {
    values: Map,
    window: Mutex<Window>,
    /// Held for the whole of a step.
    stepping: Mutex<()>,
    budget: Arc<Budget>,
}

/// Positions that are kept, and what changed between them. An entry is absent only where none of these steps changed its value.
#[derive(Default)]
struct Window {
    /// The oldest position.
    floor: Position,
    /// Oldest first: the first leads to `floor + 1`.
    steps: VecDeque<Step>,
    /// Positions after the floor at which any slot of the account may have changed, ascending.
    cleared: AddressMap<Vec<Position>>,
    /// Entries of slots by account.
    slots: AddressMap<usize>,
    /// Of all entries and steps, estimated.
    bytes: usize,
    /// Of what the steps keep.
    step_bytes: usize,
    /// Left the cache: its bytes count for nobody.
    detached: bool,
    /// What was read once steps had been made, and is not what was held already.
    disputed: Option<Read>,
    recent: RecentWrites,
}

struct Step {
    /// The position of the state that its block was executed on.
    parent: Position,
    /// What its block wrote, whatever it was before.
    written: Arc<[Read]>,
    cleared: Vec<Address>,
    /// What differs from the position before, and accounts any slot of which may.
    changed: Arc<[Read]>,
    marked: Vec<Address>,
    bytes: usize,
}

impl Step {
    /// Of the keys that it keeps.
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

    /// What may differ between the newest state and the one at this position, and accounts any slot of which may: what the blocks wrote
    /// that lead to one of them and not to the other; all that changed since, where the state that both come from is no longer kept.
    fn apart(&self, position: Position) -> (Vec<Read>, AddressSet) {
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

    /// Positions at which the value may have changed without an entry that says so.
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
    pub(super) fn new(budget: Arc<Budget>) -> Self {
        let values = Map::with_hasher(DefaultHashBuilder::default());
        Self { values, window: Mutex::default(), stepping: Mutex::default(), budget }
    }

    #[inline]
    pub(super) fn get(&self, read: &Read, at: Position, now: u32) -> Option<Cached> {
        let values = self.values.pin();
        let entry = values.get(read)?;
        if entry.used.load(Ordering::Relaxed) != now {
            entry.used.store(now, Ordering::Relaxed);
        }
        entry.at(at).cloned()
    }

    /// All that is known of the state at this position.
    pub(super) fn known(&self, at: Position) -> Vec<(Read, Cached)> {
        let values = self.values.pin();
        values.iter().filter_map(|(read, entry)| Some((*read, entry.at(at)?.clone()))).collect()
    }

    /// Some of the words that are known at this position, whichever block wrote or read them.
    /// @param seed another one finds others
    pub(super) fn some_words(&self, at: Position, seed: usize, most: usize) -> Vec<(Read, U256)> {
        let values = self.values.pin();
        let from = seed % values.len().clamp(1, MOST_SKIPPED);
        let words =
            values.iter().skip(from).take(MOST_SKIPPED).filter_map(|(read, entry)| match (read, entry.at(at)?) {
                (Read::BlockHash(_), _) | (_, Cached::Code(..)) => None,
                (_, Cached::Word(word)) => Some((*read, *word)),
            });
        words.take(most).collect()
    }

    /// How many of the last blocks wrote the value, and how many those are.
    pub(super) fn recent_changes(&self, read: &Read) -> (u64, u64) {
        self.window().recent.of(read)
    }

    pub(super) fn floor(&self) -> Position {
        self.window().floor
    }

    pub(super) fn has_steps(&self) -> bool {
        !self.window().steps.is_empty()
    }

    /// Keeps values that were read at this position. False where the position is no longer kept.
    pub(super) fn keep(&self, at: Position, values: &[(Read, Cached)], now: u32) -> bool {
        let mut window = self.window();
        if at < window.floor {
            return false;
        }
        for (read, value) in values {
            self.keep_one(&mut window, at, read, value, now);
        }
        true
    }

    fn keep_one(&self, window: &mut Window, at: Position, read: &Read, value: &Cached, now: u32) {
        let held = self.values.pin();
        let mut versions = match held.get(read) {
            None => Vec::new(),
            Some(entry) => entry.list(),
        };
        match versions.iter_mut().find(|(from, _)| *from <= at) {
            Some((_, Some(known))) => {
                if known != value && !window.steps.is_empty() {
                    window.disputed = Some(*read);
                }
                return;
            }
            Some((_, unknown)) => *unknown = Some(value.clone()),
            None => {
                let oldest = versions.last().map_or(Position::MAX, |(from, _)| *from);
                let boundaries = window.boundaries(read);
                let between = boundaries.iter().rev().filter(|boundary| **boundary > at && **boundary < oldest);
                versions.extend(between.map(|boundary| (*boundary, None)));
                let since = boundaries.iter().rev().find(|boundary| **boundary <= at);
                versions.push((since.copied().unwrap_or(window.floor), Some(value.clone())));
            }
        }
        self.put(window, read, Entry::of(versions, now));
    }

    /// The position of the state that `writes` make of the one at `parent`.
    pub(super) fn step(&self, parent: Position, writes: Writes, now: u32) -> Result<Position, NotCarried> {
        let _stepping = self.stepping.lock().unwrap_or_else(PoisonError::into_inner);
        let (to, undone, restored, scanned) = {
            let mut window = self.window();
            if let Some(read) = window.disputed {
                return Err(NotCarried::Disputed(read));
            }
            if parent < window.floor {
                return Err(NotCarried::Parent);
            }
            let to = window.newest() + 1;
            let before = window.recent.bytes();
            window.recent.add(parent, to, writes.values.iter().map(|(read, _)| read));
            let grown = window.recent.bytes() as isize - before as isize;
            self.count(&mut window, grown);
            let (undone, restored) = window.apart(parent);
            for address in writes.cleared.iter().chain(&restored) {
                window.mark_cleared(*address, to);
            }
            let scanned = writes.cleared.iter().chain(&restored).any(|address| window.slots.contains_key(address));
            (to, undone, restored, scanned)
        };
        let cleared: Vec<Address> = writes.cleared.iter().copied().collect();
        let written: Arc<[Read]> = writes.values.iter().map(|(read, _)| *read).collect();
        let changes = self.changes(parent, writes.cleared.clone(), &restored, &undone, scanned, writes.values);
        let mut bytes = 0;
        for chunk in changes.chunks(CHUNK) {
            let mut window = self.window();
            for (read, value) in chunk {
                bytes += self.change(&mut window, to, read, value, now);
            }
        }
        let marked = writes.cleared.into_iter().chain(restored).collect();
        let changed = if changes.len() == written.len() {
            written.clone()
        } else {
            changes.into_iter().map(|(read, _)| read).collect()
        };
        let mut step = Step { parent, written, cleared, changed, marked, bytes };
        step.bytes += step.key_bytes();
        let mut window = self.window();
        self.count(&mut window, step.key_bytes() as isize);
        window.step_bytes += step.bytes;
        window.steps.push_back(step);
        while window.steps.len() > MOST_STEPS {
            self.forget_oldest(&mut window);
        }
        Ok(to)
    }

    /// What differs from the newest state. A value is unknown where it is not known of the parent.
    fn changes(
        &self,
        parent: Position,
        cleared: AddressSet,
        restored: &AddressSet,
        undone: &[Read],
        scanned: bool,
        written: Vec<(Read, Option<Cached>)>,
    ) -> Vec<(Read, Option<Cached>)> {
        if undone.is_empty() && !scanned {
            return written;
        }
        let held = self.values.pin();
        let before = |entry: &Entry| entry.at(parent).cloned();
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

    /// Bytes that the step keeps of it.
    fn change(&self, window: &mut Window, to: Position, read: &Read, value: &Option<Cached>, now: u32) -> usize {
        let held = self.values.pin();
        let before = held.get(read);
        let used = before.map_or(now, |entry| entry.used.load(Ordering::Relaxed));
        let kept = before.map_or(0, Entry::kept_bytes);
        self.put(window, read, Some(Entry::stepped(before, to, value.clone(), used)));
        kept
    }

    /// Drops the oldest position: what held there and nowhere else goes.
    fn forget_oldest(&self, window: &mut Window) {
        let Some(step) = window.steps.pop_front() else { return };
        window.floor += 1;
        let floor = window.floor;
        window.step_bytes -= step.bytes;
        self.count(window, -(step.key_bytes() as isize));
        for address in &step.marked {
            if let Some(positions) = window.cleared.get_mut(address) {
                positions.retain(|position| *position > floor);
                if positions.is_empty() {
                    window.cleared.remove(address);
                }
            }
        }
        let held = self.values.pin();
        for read in step.changed.iter() {
            if let Some(left) = held.get(read).and_then(|entry| entry.cut(floor)) {
                self.put(window, read, left);
            }
        }
    }

    /// Takes this history out of the cache's account: what it holds goes with the last simulation that stands on it.
    pub(super) fn detach(&self) {
        let mut window = self.window();
        if !window.detached {
            window.detached = true;
            self.budget.remove(window.bytes);
        }
    }

    /// Makes room: old positions go where they take more than `most_step_bytes`, and of the values that no step changed the half that
    /// was not used for longest.
    pub(super) fn shrink(&self, most_step_bytes: usize, now: u32) {
        let mut window = self.window();
        while window.step_bytes > most_step_bytes {
            self.forget_oldest(&mut window);
        }
        let floor = window.floor;
        let values = self.values.pin();
        let age = |entry: &Entry| now.wrapping_sub(entry.used.load(Ordering::Relaxed));
        let mut ages: Vec<u32> = values.values().filter(|entry| entry.is_unchanged(floor)).map(age).collect();
        if ages.is_empty() {
            return;
        }
        let middle = ages.len() / 2;
        let median = *ages.select_nth_unstable(middle).1;
        let mut left = ages.len().div_ceil(2);
        let mut dropped = Vec::with_capacity(middle + 1);
        for (read, entry) in values.iter().filter(|(_, entry)| entry.is_unchanged(floor)) {
            if age(entry) < median || (age(entry) == median && left > 0) {
                left = left.saturating_sub(1);
            } else {
                dropped.push(*read);
            }
        }
        for read in dropped {
            self.put(&mut window, &read, None);
        }
    }

    /// Replaces an entry by this one, or by none.
    fn put(&self, window: &mut Window, read: &Read, entry: Option<Entry>) {
        let held = self.values.pin();
        let after = entry.as_ref().map_or(0, |entry| entry.bytes);
        let before = match entry {
            Some(entry) => held.insert(*read, entry),
            None => held.remove(read),
        };
        let before = before.map_or(0, |entry| entry.bytes);
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
        self.count(window, after as isize - before as isize);
    }

    fn count(&self, window: &mut Window, bytes: isize) {
        window.bytes = window.bytes.saturating_add_signed(bytes);
        if !window.detached {
            self.budget.change(bytes);
        }
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: u64 = 20;

    fn written(account: u8) -> Writes {
        let reads = (0..WRITTEN).map(|slot| Read::Storage(Address::with_last_byte(account), U256::from(slot)));
        let values = reads.map(|read| (read, Some(Cached::Word(U256::from(account))))).collect();
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
}
