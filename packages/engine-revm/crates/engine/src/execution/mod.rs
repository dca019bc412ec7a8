//! Signed transactions of a block under construction: `packages/simulation/src/engine/preconfirmation-executor.ts` in Rust.

mod applied;
mod block;
mod ethereum;
mod execute;
mod failure;
mod optimism;
mod plain_evm;
mod reading;
mod receipt;
mod transaction;
mod warm;

pub use crate::op::RollupReceipt;
pub use block::{BlockEnvironment, BlockExecution};
pub use execute::{BlockExecutionResult, decoded, execute, run};
pub use failure::{ExecutionFailure, TransactionError};
pub(crate) use reading::reading;
pub use receipt::ExecutionReceipt;
pub use transaction::{DecodeError, PooledTransaction, decode};
pub use warm::{certain, warm};
