//! Signed transactions of a block under construction: `packages/simulation/src/engine/preconfirmation-executor.ts` in Rust.

mod block;
mod block_evm;
mod execute;
mod failure;
mod optimism;
mod receipt;
mod run_until_read;
mod transaction;
mod warm;

pub use crate::op::RollupReceipt;
pub use block::{BlockEnvironment, BlockExecution};
pub use execute::{BlockExecutionResult, decoded, execute, run};
pub use failure::{ExecutionFailure, TransactionError};
pub use receipt::ExecutionReceipt;
pub(crate) use run_until_read::run_until_read;
pub use transaction::{DecodeError, PooledTransaction, decode};
pub use warm::{required_reads, warm};
