use crate::state::ReadError;
use std::fmt::Display;

/// What differs from the header, or why execution was not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    TransactionHash,
    TransactionsRoot,
    WithdrawalsRoot,
    /// The block's rules refuse a transaction.
    Transaction,
    /// A transaction reaches code that is native to the chain's nodes (Base's B20).
    NativePrecompile,
    GasUsed,
    ReceiptsRoot,
    LogsBloom,
    RequestsHash,
    BlockAccessListHash,
    BlobGasUsed,
    /// The parent's state is no longer cached.
    Parent,
    /// A value read at a block differs from the one carried to it.
    ConflictingValue,
}

/// Why executing a block did not confirm it.
#[derive(Debug, thiserror::Error)]
pub enum Differs {
    #[error("{difference:?}: {detail}")]
    Found { difference: Difference, detail: String },
    #[error(transparent)]
    Read(#[from] ReadError),
}

pub(super) fn unless_same<T: PartialEq + Display>(difference: Difference, ours: T, theirs: T) -> Result<(), Differs> {
    if ours == theirs {
        return Ok(());
    }
    Err(Differs::Found { difference, detail: format!("{ours}, in the header {theirs}") })
}
