use super::read::Cached;
use std::sync::atomic::AtomicU32;

pub(super) type Position = u32;

/// A value from one position up to the next version's. None if nobody has read it there.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub from: Position,
    pub value: Option<Cached>,
    /// Index of the previous version among those displaced by the step to `from`.
    pub before: Option<u32>,
}

/// A value's newest version.
pub(super) struct Entry {
    pub newest: Version,
    /// When it was last used, by the cache's clock.
    pub used: AtomicU32,
}

/// Estimated bytes: key, entry and the map's overhead; and of a version that is not the newest.
const ENTRY_BYTES: usize = 240;
const VERSION_BYTES: usize = 96;

impl Version {
    /// Size of a version that is not the newest.
    pub(super) fn bytes(&self) -> usize {
        VERSION_BYTES + self.code_bytes()
    }

    fn code_bytes(&self) -> usize {
        match &self.value {
            Some(Cached::Code(_, code)) => code.len() + code.len() / 8 + 160,
            _ => 0,
        }
    }
}

impl Entry {
    pub(super) fn new(newest: Version, used: u32) -> Self {
        Self { newest, used: AtomicU32::new(used) }
    }

    pub(super) fn bytes(&self) -> usize {
        ENTRY_BYTES + self.newest.code_bytes()
    }
}
