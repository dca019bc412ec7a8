//! Values of state that a thread waits for while JavaScript reads them.

use crate::{
    encode,
    mailbox::{Kind, Mailbox},
    text::{Decoded, Tokens},
};
use std::{
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};
use upfront_engine::state::{Read, ReadError, StateSource, Stop, Value};

/// Has JavaScript read for the work with number `id`.
pub struct Reader {
    pub id: u32,
    pub mailbox: Arc<Mailbox>,
    pub stop: Arc<Stop>,
    pub answer: Arc<Answer>,
}

/// Where JavaScript puts the values. Work has one thread, so it makes one read at a time.
#[derive(Default)]
pub struct Answer {
    slot: Mutex<Option<Vec<u8>>>,
    signal: Condvar,
}

impl Answer {
    pub fn put(&self, values: Vec<u8>) {
        *self.slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(values);
        self.signal.notify_all();
    }

    fn wait(&self, stop: &Stop) -> Result<Vec<u8>, ReadError> {
        let mut slot = self.slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            if stop.is_raised() {
                return Err(ReadError::Cancelled);
            }
            if let Some(values) = slot.take() {
                return Ok(values);
            }
            // Raising the stop signals too. The time limit is for a stop that was raised just before this wait.
            let waited = self.signal.wait_timeout(slot, Duration::from_millis(50));
            slot = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }

    pub fn wake(&self) {
        self.signal.notify_all();
    }
}

impl StateSource for Reader {
    fn read(&self, reads: &[Read]) -> Result<Vec<Value>, ReadError> {
        self.mailbox.post(Kind::Read, self.id, encode::written(&reads.to_vec()).into_bytes());
        let values = self.answer.wait(&self.stop)?;
        let text = std::str::from_utf8(&values).map_err(|_| ReadError::Failed)?;
        self::values(text, reads).map_err(|_| ReadError::Failed)
    }
}

/// Values in the order and of the kinds of `reads`.
pub fn values(text: &str, reads: &[Read]) -> Decoded<Vec<Value>> {
    let mut t = Tokens(text);
    let value = |read: &Read| match read {
        Read::Code(_) => t.read().map(Value::Code),
        _ => t.read().map(Value::Word),
    };
    reads.iter().map(value).collect()
}

/// For the caller's thread, which never waits.
pub struct NoSource;

impl StateSource for NoSource {
    fn read(&self, _reads: &[Read]) -> Result<Vec<Value>, ReadError> {
        Err(ReadError::Failed)
    }
}
