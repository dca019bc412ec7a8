//! Signed transactions of a block under construction: `packages/simulation/src/engine/preconfirmation-executor.ts` in Rust.

mod applied;
mod block;
mod ethereum;
mod execute;
mod failure;
mod optimism;
mod reading;
mod receipt;
mod transaction;
mod warm;

pub use crate::op::RollupReceipt;
pub use block::{BlockEnvironment, Stretch};
pub use execute::{ExecutedStretch, decoded, execute, run};
pub use failure::{StretchFailure, TransactionError};
pub(crate) use reading::reading;
pub use receipt::StretchReceipt;
pub use transaction::{DecodeError, PooledTransaction, decode};
pub use warm::{certain, warm};
