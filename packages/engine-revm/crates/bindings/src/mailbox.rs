//! Messages from native threads to JavaScript, taken one by one.

use napi::{
    Status,
    bindgen_prelude::{Buffer, Latin1String},
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use napi_derive::napi;
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard},
};
use upfront_engine_border::Payload;

/// Weak: does not keep the process alive.
pub type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

#[napi(string_enum = "lowercase")]
#[derive(Clone, Copy)]
pub enum Kind {
    /// The work's result.
    Done,
    /// The request is invalid.
    Rejected,
    /// Reads to make before the work can go on.
    Read,
    Cancelled,
    /// A fault of the engine.
    Failed,
}

#[napi(object, object_from_js = false)]
pub struct Message {
    pub kind: Kind,
    /// The number of the work that it belongs to.
    pub id: u32,
    pub payload: Latin1String,
    /// A long rest of the payload, in a buffer that the garbage collector neither copies nor moves.
    pub json: Option<Buffer>,
}

impl Message {
    pub fn new(kind: Kind, id: u32, payload: impl Into<Payload>) -> Self {
        let Payload { text, json } = payload.into();
        Self { kind, id, payload: latin1(text), json: json.map(Buffer::from) }
    }
}

pub fn latin1(text: Vec<u8>) -> Latin1String {
    String::from_utf8(text).unwrap_or_default().into()
}

pub struct Mailbox {
    wake: Wake,
    messages: Mutex<VecDeque<(Kind, u32, Payload)>>,
}

impl Mailbox {
    pub fn new(wake: Wake) -> Self {
        Self { wake, messages: Mutex::default() }
    }

    pub fn post(&self, kind: Kind, id: u32, payload: impl Into<Payload>) {
        let first = {
            let mut messages = self.messages();
            messages.push_back((kind, id, payload.into()));
            messages.len() == 1
        };
        if first {
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    pub fn take(&self) -> Option<Message> {
        let (kind, id, payload) = self.messages().pop_front()?;
        Some(Message::new(kind, id, payload))
    }

    fn messages(&self) -> MutexGuard<'_, VecDeque<(Kind, u32, Payload)>> {
        self.messages.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
