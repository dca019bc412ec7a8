//! Lets a thread wait for values of state while JavaScript reads them.

use crate::mailbox::{Kind, Mailbox};
use std::sync::{
    Arc, Mutex, PoisonError,
    mpsc::{Receiver, RecvError},
};
use upfront_engine::{
    state::{Read, ReadError, StateSource, Value},
    time_slices::Stop,
};
use upfront_engine_border::{encode_reads, values};

/// Requests reads from JavaScript for the work with number `id`.
pub struct Reader {
    pub id: u32,
    pub mailbox: Arc<Mailbox>,
    pub stop: Arc<Stop>,
    /// Receives the values, and anything when the work is stopped. Work runs on one thread, so it has one read at a time.
    pub values: Mutex<Receiver<Vec<u8>>>,
}

impl Reader {
    fn receive(&self) -> Result<Vec<u8>, RecvError> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).recv()
    }
}

impl StateSource for Reader {
    fn read(&self, reads: &[Read], certain: usize) -> Result<Vec<Value>, ReadError> {
        self.mailbox.post(Kind::Read, self.id, encode_reads(reads, certain).into_bytes());
        let given = self.stop.while_waiting(|| self.receive());
        if self.stop.is_raised() {
            return Err(ReadError::Cancelled);
        }
        let given = given.map_err(|_| ReadError::Failed)?;
        let text = std::str::from_utf8(&given).map_err(|_| ReadError::Failed)?;
        values(text, reads).map_err(|_| ReadError::Failed)
    }
}
