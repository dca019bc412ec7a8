use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes held by all histories together.
#[derive(Debug, Default)]
pub(super) struct Budget(AtomicUsize);

impl Budget {
    pub(super) fn change(&self, bytes: isize) {
        if bytes < 0 {
            self.remove(bytes.unsigned_abs());
        } else {
            self.0.fetch_add(bytes.unsigned_abs(), Ordering::Relaxed);
        }
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
