use super::transaction::DecodeError;
use crate::state::ReadError;
use alloy_primitives::Address;
use revm::context_interface::result::EVMError;
use std::fmt::Display;

/// Why transactions could not be executed.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionFailure {
    /// The transaction with this index is invalid at this point of the block.
    #[error("transaction {transaction}: {error}")]
    Rejected { transaction: usize, error: TransactionError },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why a transaction could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum TransactionError {
    #[error(transparent)]
    Undecodable(#[from] DecodeError),
    #[error("gas limit reached: {left} left, {asked} asked")]
    GasLimit { left: u64, asked: u64 },
    #[error("blob gas limit reached: {0}")]
    BlobGasLimit(u64),
    #[error("a deposit on a chain that has none")]
    Deposit,
    #[error("a blob transaction on a chain that takes none")]
    Blob,
    /// A call reaches code native to the chain's nodes (Base's B20).
    #[error("{0:#x} is a native precompile of this chain (B20), which is not simulated")]
    NativePrecompile(Address),
    /// revm's message.
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl ExecutionFailure {
    pub(super) fn of(transaction: usize, error: TransactionError) -> Self {
        match error {
            TransactionError::Read(error) => Self::Read(error),
            error => Self::Rejected { transaction, error },
        }
    }
}

impl<INVALID: Display> From<EVMError<ReadError, INVALID>> for TransactionError {
    fn from(error: EVMError<ReadError, INVALID>) -> Self {
        match error {
            EVMError::Database(ReadError::NativeCode(address)) => Self::NativePrecompile(address),
            EVMError::Database(error) => Self::Read(error),
            error => Self::Invalid(error.to_string()),
        }
    }
}
