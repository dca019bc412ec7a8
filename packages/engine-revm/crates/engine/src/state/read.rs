use alloy_primitives::{Address, Bytes, U256};
use std::sync::atomic::{AtomicBool, Ordering};

/// One value of the pinned block's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Read {
    Balance(Address),
    Nonce(Address),
    Code(Address),
    Storage(Address, U256),
    BlockHash(u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Word(U256),
    Code(Bytes),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The source has kept the reason.
    Failed,
    Cancelled,
    /// The value is not cached, and this thread must not wait for it.
    WouldBlock,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Failed => "a value of the state could not be read",
            Self::Cancelled => "the simulation was cancelled",
            Self::WouldBlock => "a value of the state is not cached",
        })
    }
}

impl std::error::Error for ReadError {}
impl revm::database_interface::DBErrorMarker for ReadError {}

/// Raised by whoever no longer wants the result.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads what no cache holds. Waits.
pub trait StateSource: Send + Sync {
    /// Whether whoever reads through this source may wait: for it, or for another's read of the same value.
    fn may_wait(&self) -> bool {
        true
    }

    /// Values in the order of `reads`, each of the kind that was asked for.
    fn read(&self, reads: &[Read]) -> Result<Vec<Value>, ReadError>;
}
