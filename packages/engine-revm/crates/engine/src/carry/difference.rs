use crate::state::ReadError;
use std::fmt::Display;

/// What does not come out as the header says, or why executing can't tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    TransactionHash,
    TransactionsRoot,
    WithdrawalsRoot,
    /// The block's rules refuse a transaction.
    Transaction,
    /// A transaction reaches code that the chain's nodes have of their own (Base's B20).
    NativePrecompile,
    GasUsed,
    ReceiptsRoot,
    LogsBloom,
    RequestsHash,
    BlockAccessListHash,
    BlobGasUsed,
    /// The parent's state is no longer held.
    Parent,
    /// What was read at a block is not what was carried to it.
    Disputed,
}

/// Why executing a block does not confirm it.
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
