//! What native threads have to say to JavaScript: what gathered since it last looked, in one crossing.

use napi::{
    Status,
    bindgen_prelude::Latin1String,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use napi_derive::napi;
use std::sync::{Mutex, MutexGuard};

/// Weak: it does not keep the process alive.
pub type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

#[napi(string_enum = "lowercase")]
#[derive(Clone, Copy)]
pub enum Kind {
    /// The outcome.
    Done,
    /// The request is at fault.
    Rejected,
    /// Reads to make.
    Read,
    /// State could not be read: who reads knows why.
    Unread,
    Cancelled,
    Panicked,
}

#[napi(object, object_from_js = false)]
pub struct Message {
    pub kind: Kind,
    /// Whom it concerns.
    pub id: u32,
    pub payload: Latin1String,
}

impl Message {
    pub fn new(kind: Kind, id: u32, payload: Vec<u8>) -> Self {
        // Always ASCII: nothing else is written (`tokens::Lines`, `upfront_engine::answer`).
        Self { kind, id, payload: String::from_utf8(payload).unwrap_or_default().into() }
    }
}

pub struct Mailbox {
    wake: Wake,
    messages: Mutex<Vec<Message>>,
}

impl Mailbox {
    pub fn new(wake: Wake) -> Self {
        Self { wake, messages: Mutex::default() }
    }

    pub fn post(&self, kind: Kind, id: u32, payload: Vec<u8>) {
        let first = {
            let mut messages = self.messages();
            messages.push(Message::new(kind, id, payload));
            messages.len() == 1
        };
        if first {
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.messages())
    }

    fn messages(&self) -> MutexGuard<'_, Vec<Message>> {
        self.messages.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
