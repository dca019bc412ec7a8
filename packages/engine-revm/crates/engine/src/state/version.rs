use super::read::Cached;
use std::sync::{Arc, atomic::AtomicU32};

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
        let older = before.and_then(|Self { newest, bytes: before, .. }| {
            let replaces = newest.from == from;
            let (kept, dropped) = if replaces { (0, code_bytes(&newest.value)) } else { (VERSION_BYTES, 0) };
            bytes += before - ENTRY_BYTES + kept - dropped;
            if replaces { newest.older.clone() } else { Some(Arc::new(newest.clone())) }
        });
        Self { newest: Version { from, value, older }, used: AtomicU32::new(used), bytes }
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
