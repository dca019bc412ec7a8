//! What native threads have to say to JavaScript: what gathered since it last looked, in one crossing.

use napi::{
    Status,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard},
};

/// Weak: it does not keep the process alive.
pub type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// Messages are joined up to this size: several large ones would be longer than a string of JavaScript may be.
const BUNDLE_BYTES: usize = 1 << 20;

pub struct Mailbox {
    wake: Wake,
    bundles: Mutex<VecDeque<String>>,
}

impl Mailbox {
    pub fn new(wake: Wake) -> Self {
        Self { wake, bundles: Mutex::default() }
    }

    /// `kind` is one letter; `id` says whom it concerns.
    pub fn post(&self, kind: char, id: u32, payload: &str) {
        let message = format!("{kind}\n{id}\n{}\n", payload.len());
        let first = {
            let mut bundles = self.bundles();
            let first = bundles.is_empty();
            match bundles.back_mut() {
                Some(last) if last.len() + payload.len() <= BUNDLE_BYTES => {
                    last.push_str(&message);
                    last.push_str(payload);
                }
                _ => bundles.push_back(message + payload),
            }
            first
        };
        if first {
            self.wake();
        }
    }

    /// The oldest bundle; wakes JavaScript again where there are more.
    pub fn take(&self) -> String {
        let mut bundles = self.bundles();
        let oldest = bundles.pop_front().unwrap_or_default();
        if !bundles.is_empty() {
            self.wake();
        }
        oldest
    }

    fn wake(&self) {
        self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }

    fn bundles(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.bundles.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
