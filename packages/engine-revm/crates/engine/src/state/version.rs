use super::read::Cached;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

pub(super) type Position = u32;

/// A value from one position on, up to the next version's. Unknown where no one has read it there.
#[derive(Clone, Debug)]
struct Version {
    from: Position,
    value: Option<Cached>,
    older: Option<Arc<Version>>,
}

/// The versions of one value, never changed once made.
pub(super) struct Entry {
    newest: Version,
    /// The newest of those before the ones that `newest` leads to. They go together, when no position is left at which one holds: taking
    /// versions off the end of a list would make all others anew.
    before: Option<Arc<Version>>,
    /// Where the oldest begins that `newest` leads to.
    turn: Position,
    /// When it was last asked for, by the cache's clock.
    pub used: AtomicU32,
    /// Estimated.
    pub bytes: usize,
    bytes_before: usize,
}

/// Key, entry and the map's own bookkeeping; a version that is not the newest.
const ENTRY_BYTES: usize = 240;
const VERSION_BYTES: usize = 96;

impl Version {
    #[inline]
    fn at(&self, position: Position) -> Option<&Self> {
        let mut version = self;
        while version.from > position {
            version = version.older.as_deref()?;
        }
        Some(version)
    }

    /// Of a version that is not the newest.
    fn bytes(&self) -> usize {
        VERSION_BYTES + code_bytes(&self.value)
    }

    fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |version| version.older.as_deref())
    }
}

impl Entry {
    /// @param versions newest first
    pub(super) fn of(versions: Vec<(Position, Option<Cached>)>, used: u32) -> Option<Self> {
        let mut entry: Option<Self> = None;
        for (from, value) in versions.into_iter().rev() {
            entry = Some(Self::stepped(entry.as_ref(), from, value, used));
        }
        entry
    }

    /// The entry with a value that holds from this position on, in place of one that did already.
    pub(super) fn stepped(before: Option<&Self>, from: Position, value: Option<Cached>, used: u32) -> Self {
        let mut entry = Self::alone(from, value, used);
        let Some(Self { newest, before, turn, bytes, bytes_before, .. }) = before else { return entry };
        let older = bytes - ENTRY_BYTES - code_bytes(&newest.value);
        entry.bytes += older;
        if newest.from == from {
            entry.newest.older.clone_from(&newest.older);
        } else {
            entry.newest.older = Some(Arc::new(newest.clone()));
            entry.bytes += newest.bytes();
        }
        (entry.before, entry.turn, entry.bytes_before) = (before.clone(), *turn, *bytes_before);
        entry
    }

    fn alone(from: Position, value: Option<Cached>, used: u32) -> Self {
        let bytes = ENTRY_BYTES + code_bytes(&value);
        let newest = Version { from, value, older: None };
        Self { newest, before: None, turn: from, used: AtomicU32::new(used), bytes, bytes_before: 0 }
    }

    /// What is known from the version on that holds at this position.
    #[inline]
    pub(super) fn at(&self, position: Position) -> Option<&Cached> {
        let version = match self.newest.at(position) {
            Some(version) => version,
            None => self.before.as_deref()?.at(position)?,
        };
        version.value.as_ref()
    }

    /// Newest first.
    pub(super) fn list(&self) -> Vec<(Position, Option<Cached>)> {
        let versions = self.newest.all().chain(self.before.iter().flat_map(|before| before.all()));
        versions.map(|version| (version.from, version.value.clone())).collect()
    }

    /// Bytes that the newest version takes once it is not that any more.
    pub(super) fn kept_bytes(&self) -> usize {
        self.newest.bytes()
    }

    /// What is left once the positions below `floor` are gone, where that differs: nothing, where nothing is known.
    pub(super) fn cut(&self, floor: Position) -> Option<Option<Self>> {
        let Version { from, value, older } = &self.newest;
        let used = self.used.load(Ordering::Relaxed);
        if *from <= floor {
            let is_cut = value.is_none() || !self.is_unchanged(floor);
            return is_cut.then(|| value.is_some().then(|| Self::alone(*from, value.clone(), used)));
        }
        if self.turn > floor {
            return None;
        }
        let mut left = Self::alone(*from, value.clone(), used);
        left.bytes_before = self.bytes - left.bytes - self.bytes_before;
        left.bytes += left.bytes_before;
        left.before.clone_from(older);
        Some(Some(left))
    }

    /// Whether no step since `floor` changed it.
    pub(super) fn is_unchanged(&self, floor: Position) -> bool {
        self.newest.older.is_none() && self.before.is_none() && self.newest.from <= floor
    }
}

fn code_bytes(value: &Option<Cached>) -> usize {
    match value {
        Some(Cached::Code(_, code)) => code.len() + code.len() / 8 + 160,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::U256;

    const KEPT: Position = 64;

    #[test]
    fn a_value_that_every_step_writes_is_cut_seldom_and_in_time() {
        let mut entry = Entry::of(vec![(0, None)], 0).unwrap();
        let mut cuts = 0;
        for step in 1..=1_000 {
            entry = Entry::stepped(Some(&entry), step, Some(Cached::Word(U256::from(step))), 0);
            let floor = step.saturating_sub(KEPT);
            if floor > 0
                && let Some(left) = entry.cut(floor)
            {
                entry = left.unwrap();
                cuts += 1;
            }
            let versions = entry.list().len();
            assert!(versions <= 2 * KEPT as usize + 2);
            assert_eq!(entry.bytes, ENTRY_BYTES + (versions - 1) * VERSION_BYTES);
            for position in floor.max(1)..=step {
                assert_eq!(entry.at(position), Some(&Cached::Word(U256::from(position))));
            }
        }
        assert!((10..=20).contains(&cuts), "{cuts}");
        let last = entry.cut(1_000).unwrap().unwrap();
        assert_eq!((last.list().len(), last.bytes), (1, ENTRY_BYTES), "nothing but the newest is left");
        assert!(last.cut(1_001).is_none() && Entry::of(vec![(5, None)], 0).unwrap().cut(5).unwrap().is_none());
    }
}
