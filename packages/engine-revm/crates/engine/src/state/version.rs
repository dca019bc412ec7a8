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
        let mut newest: Option<Version> = None;
        for (from, value) in versions.into_iter().rev() {
            newest = Some(Version { from, value, older: newest.map(Arc::new) });
        }
        newest.map(|newest| Self { newest, used: AtomicU32::new(used) })
    }

    /// Whether no step since `floor` changed it.
    pub(super) fn is_unchanged(&self, floor: Position) -> bool {
        self.newest.older.is_none() && self.newest.from <= floor
    }

    pub(super) fn bytes(&self) -> usize {
        let mut bytes = ENTRY_BYTES + code_bytes(&self.newest.value);
        let mut older = self.newest.older.as_deref();
        while let Some(version) = older {
            bytes += Version::bytes_of(&version.value);
            older = version.older.as_deref();
        }
        bytes
    }
}

fn code_bytes(value: &Option<Cached>) -> usize {
    match value {
        Some(Cached::Code(_, code)) => code.len() + code.len() / 8 + 160,
        _ => 0,
    }
}
