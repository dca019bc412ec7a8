use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that all pinned states hold together.
#[derive(Debug, Default)]
pub(super) struct Budget(AtomicUsize);

impl Budget {
    pub(super) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
