//! What native threads have to say to JavaScript: everything that gathered since it last looked, in one crossing.

use napi::{
    Status,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use std::sync::Mutex;

/// Weak: it does not keep the process alive.
pub type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

pub struct Mailbox {
    wake: Wake,
    messages: Mutex<String>,
}

impl Mailbox {
    pub fn new(wake: Wake) -> Self {
        Self { wake, messages: Mutex::default() }
    }

    /// `kind` is one letter; `id` says whom it concerns.
    pub fn post(&self, kind: char, id: u32, payload: &str) {
        let first = {
            let mut messages = self.messages.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let first = messages.is_empty();
            messages.push_str(&format!("{kind}\n{id}\n{}\n", payload.len()));
            messages.push_str(payload);
            first
        };
        if first {
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    pub fn take(&self) -> String {
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}
