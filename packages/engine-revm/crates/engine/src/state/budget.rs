use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes held by all histories together.
#[derive(Debug, Default)]
pub(super) struct Budget(AtomicUsize);

impl Budget {
    pub(super) fn change(&self, bytes: isize) {
        // Wraps around, so it also adds negative numbers.
        self.0.fetch_add(bytes as usize, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
