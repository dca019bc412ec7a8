//! Why a simulation gives no outcome. TypeScript has the messages (packages/simulation/src/present/present-rejection.ts).

use crate::{outcome::Halt, state::ReadError};
use alloy_primitives::{Address, U256};
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// The request is invalid.
    #[error(transparent)]
    Rejected(#[from] Box<Rejected>),
    #[error("the answer is longer than the plan allows")]
    TooLong,
    #[error("state could not be read")]
    Unread,
    #[error("cancelled")]
    Cancelled,
    /// The run exceeded its `Allowance`.
    #[error("more work than the run may do")]
    TooMuch,
    /// The run continued past a failure, to find what else is missing.
    #[error("forced")]
    Forced,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("block {block}, call {call:?}: {rejection:?}")]
pub struct Rejected {
    pub rejection: Rejection,
    pub block: usize,
    /// Absent if the block itself or its overrides are at fault.
    pub call: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// A call that is no valid transaction; `gas` is its limit.
    Transaction {
        from: Address,
        gas: u64,
        fault: TransactionFault,
    },
    /// A call that asks for more gas than the block has left.
    BlockGasLimit {
        left: u64,
        asked: u64,
    },
    /// An override of an address that an earlier override moved a precompile to.
    TakenByPrecompile {
        address: Address,
    },
    NotPrecompile {
        address: Address,
    },
    /// A precompile moved onto another override.
    AlreadyOverridden {
        address: Address,
    },
    /// A call reaches code native to the chain's nodes (Base's B20).
    NativePrecompile {
        address: Address,
    },
    /// Length of a deposit event's data (EIP-6110), which is malformed.
    DepositLength {
        length: usize,
    },
    /// The system call failed; without `halt` it reverted.
    RequestQueue {
        queue: RequestQueue,
        halt: Option<Halt>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestQueue {
    Withdrawal,
    Consolidation,
    BuilderDeposit,
    BuilderExit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionFault {
    NonceTooHigh {
        nonce: u64,
        expected: u64,
    },
    NonceTooLow {
        nonce: u64,
        expected: u64,
    },
    NonceHasMaxValue {
        nonce: u64,
    },
    TipAboveFeeCap {
        tip: U256,
        cap: U256,
    },
    FeeCapBelowBaseFee {
        cap: U256,
        base_fee: U256,
    },
    BlobsUnsupported,
    BlobsOfCreation,
    NoBlobHashes,
    TooManyBlobs,
    BlobHashVersion {
        index: usize,
    },
    BlobFeeCapTooLow {
        cap: U256,
        blob_base_fee: U256,
    },
    SetCodeUnsupported,
    SetCodeOfCreation,
    NoAuthorizations,
    InitCodeTooLarge {
        size: usize,
        limit: usize,
    },
    /// Price and value exceed 256 bits.
    PriceOverflow,
    InsufficientFunds {
        have: U256,
        want: U256,
    },
    InsufficientFundsForTransfer,
    IntrinsicGas {
        want: u64,
    },
    FloorGas {
        want: u64,
    },
}

/// Why a call or block can't be executed, before its position is known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("{0:?}")]
    Rejected(Rejection),
    #[error("more return data and logs than the plan allows")]
    TooLong,
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Fault {
    pub fn at(self, block: usize, call: Option<usize>) -> Failure {
        match self {
            Self::Rejected(rejection) => Box::new(Rejected { rejection, block, call }).into(),
            Self::TooLong => Failure::TooLong,
            Self::Read(ReadError::NativeCode(address)) => {
                Box::new(Rejected { rejection: Rejection::NativePrecompile { address }, block, call }).into()
            }
            Self::Read(error) => error.into(),
        }
    }
}

impl From<Rejection> for Fault {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Failed | ReadError::Missing | ReadError::NativeCode(_) => Self::Unread,
            ReadError::Cancelled => Self::Cancelled,
            ReadError::TooMuch => Self::TooMuch,
        }
    }
}
