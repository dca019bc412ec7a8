//! Lets a thread wait for values of state while JavaScript reads them.

use crate::mailbox::{Kind, Mailbox};
use std::{
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};
use upfront_engine::{
    state::{Read, ReadError, StateSource, Value},
    time_slices::Stop,
};
use upfront_engine_border::{lacking, values};

/// Requests reads from JavaScript for the work with number `id`.
pub struct Reader {
    pub id: u32,
    pub mailbox: Arc<Mailbox>,
    pub stop: Arc<Stop>,
    pub answer: Arc<Answer>,
}

/// Where JavaScript delivers the values. Work runs on one thread, so it has one read at a time.
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
            // A raised stop notifies the signal too. The time limit covers a stop raised just before this wait.
            let waited = stop.while_waiting(|| self.signal.wait_timeout(slot, Duration::from_millis(50)));
            slot = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }

    pub fn wake(&self) {
        self.signal.notify_all();
    }
}

impl StateSource for Reader {
    fn read(&self, reads: &[Read], certain: usize) -> Result<Vec<Value>, ReadError> {
        self.mailbox.post(Kind::Read, self.id, lacking(reads, certain).into_bytes());
        let given = self.answer.wait(&self.stop)?;
        let text = std::str::from_utf8(&given).map_err(|_| ReadError::Failed)?;
        values(text, reads).map_err(|_| ReadError::Failed)
    }
}
