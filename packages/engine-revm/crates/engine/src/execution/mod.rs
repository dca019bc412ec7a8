//! Signed transactions of a block under construction: `packages/simulation/src/engine/preconfirmation-executor.ts` in Rust.

mod block;
mod block_evm;
mod execute;
mod failure;
mod optimism;
mod prefetch;
mod receipt;
mod run_until_read;
mod transaction;

pub use crate::op::RollupReceipt;
pub use block::{BlockEnvironment, BlockExecution};
pub use execute::{BlockExecutionResult, decoded, execute, run};
pub use failure::{ExecutionFailure, TransactionError};
pub use prefetch::{prefetch, required_reads};
pub use receipt::ExecutionReceipt;
pub(crate) use run_until_read::run_until_read;
pub use transaction::{DecodeError, PooledTransaction, decode};
