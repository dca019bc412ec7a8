use super::read::Cached;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

pub(super) type Position = u32;

/// A value from one position on, up to the next version's. Unknown where no one has read it there.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub from: Position,
    pub value: Option<Cached>,
    older: Option<Arc<Version>>,
}

/// The versions of one value, never changed once made.
pub(super) struct Entry {
    pub newest: Version,
    /// When it was last asked for, by the cache's clock.
    pub used: AtomicU32,
    /// Estimated.
    pub bytes: usize,
    versions: u32,
    /// Steps that changed it and were forgotten since the list was last cut.
    forgotten: AtomicU32,
}

/// Key, entry and the map's own bookkeeping; a version that is not the newest.
const ENTRY_BYTES: usize = 224;
const VERSION_BYTES: usize = 96;

impl Version {
    /// The version that holds at this position.
    #[inline]
    pub(super) fn at(&self, position: Position) -> Option<&Self> {
        let mut version = self;
        while version.from > position {
            version = version.older.as_deref()?;
        }
        Some(version)
    }

    /// Newest first.
    pub(super) fn list(&self) -> Vec<(Position, Option<Cached>)> {
        let versions = std::iter::successors(Some(self), |version| version.older.as_deref());
        versions.map(|version| (version.from, version.value.clone())).collect()
    }

    /// Bytes of a version that is not the newest.
    pub(super) fn bytes_of(value: &Option<Cached>) -> usize {
        VERSION_BYTES + code_bytes(value)
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
        let mut bytes = ENTRY_BYTES + code_bytes(&value);
        let (mut versions, mut forgotten) = (1, 0);
        let older = before.and_then(|Self { newest, bytes: before, .. }| {
            let replaces = newest.from == from;
            let (kept, dropped) = if replaces { (0, code_bytes(&newest.value)) } else { (VERSION_BYTES, 0) };
            bytes += before - ENTRY_BYTES + kept - dropped;
            if replaces { newest.older.clone() } else { Some(Arc::new(newest.clone())) }
        });
        if let Some(before) = before {
            versions = before.versions + u32::from(before.newest.from != from);
            forgotten = before.forgotten.load(Ordering::Relaxed);
        }
        let (used, forgotten) = (AtomicU32::new(used), AtomicU32::new(forgotten));
        Self { newest: Version { from, value, older }, used, bytes, versions, forgotten }
    }

    /// Whether its list is to be cut, now that one more of the steps that changed it is forgotten. Cutting makes all that is left anew: so
    /// it waits until as many versions are over as are left, or only the newest is left.
    pub(super) fn forgets(&self, floor: Position) -> bool {
        if self.newest.from <= floor {
            return self.newest.older.is_some() || self.newest.value.is_none();
        }
        let forgotten = self.forgotten.fetch_add(1, Ordering::Relaxed) + 1;
        forgotten * 2 >= self.versions
    }

    /// Whether no step since `floor` changed it.
    pub(super) fn is_unchanged(&self, floor: Position) -> bool {
        self.newest.older.is_none() && self.newest.from <= floor
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
            if floor > 0 && entry.forgets(floor) {
                let mut versions = entry.newest.list();
                versions.retain(|(from, _)| *from >= floor);
                entry = Entry::of(versions, 0).unwrap();
                cuts += 1;
            }
            assert!(entry.newest.list().len() <= 2 * KEPT as usize + 2);
            assert!(entry.newest.at(floor).is_some());
        }
        assert!((10..=20).contains(&cuts), "{cuts}");
        assert!(entry.forgets(1_000), "nothing but the newest is left");
    }
}
