use alloy_primitives::{Address, B256, Bytes, U256};
use revm::bytecode::Bytecode;
use std::hash::{Hash, Hasher};

/// One value of the pinned block's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    Balance(Address),
    Nonce(Address),
    Code(Address),
    Storage(Address, U256),
    BlockHash(u64),
}

impl Hash for Read {
    /// Hashes in one write: the derived implementation would write each field and each array's length.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut bytes = [0; 53];
        let address = match self {
            Self::Balance(address) => address,
            Self::Nonce(address) => {
                bytes[0] = 1;
                address
            }
            Self::Code(address) => {
                bytes[0] = 2;
                address
            }
            Self::Storage(address, slot) => {
                bytes[0] = 3;
                bytes[21..].copy_from_slice(slot.as_le_slice());
                address
            }
            Self::BlockHash(number) => return state.write_u64(*number),
        };
        bytes[1..21].copy_from_slice(address.as_slice());
        state.write(&bytes);
    }
}

impl Read {
    /// All parts of an account except its storage.
    pub fn account(address: Address) -> [Self; 3] {
        [Self::Balance(address), Self::Nonce(address), Self::Code(address)]
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Word(U256),
    Code(Bytes),
}

/// A value in the EVM's form.
#[derive(Clone, Debug)]
pub enum Cached {
    Word(U256),
    Code(B256, Bytecode),
}

impl PartialEq for Cached {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Word(one), Self::Word(other)) => one == other,
            (Self::Code(one, _), Self::Code(other, _)) => one == other,
            _ => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The source has stored the reason.
    #[error("a value of the state could not be read")]
    Failed,
    #[error("the simulation was cancelled")]
    Cancelled,
    /// Nothing is waited for: the missing value is noted.
    #[error("a value of the state is missing")]
    Missing,
    /// The run exceeded its `Allowance`.
    #[error("more work than the run may do")]
    TooMuch,
    /// The chain's nodes run native code in place of this account's.
    #[error("{0:#x} runs native code of the chain")]
    NativeCode(Address),
}

impl revm::database_interface::DBErrorMarker for ReadError {}

/// Reads values that are not cached. May wait.
pub trait StateSource: Send + Sync {
    /// Values in the order of `reads`, each of its read's kind. The first `certain` are certainly needed, the others are guesses.
    fn read(&self, reads: &[Read], certain: usize) -> Result<Vec<Value>, ReadError>;
}
