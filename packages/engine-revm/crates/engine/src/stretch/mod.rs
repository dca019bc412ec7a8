//! Signed transactions of a block under construction: `packages/simulation/src/engine/preconfirmation-executor.ts` in Rust.

mod block;
mod ethereum;
mod execute;
mod optimism;
mod receipt;
mod transaction;
mod warm;

pub use block::{BlockEnvironment, Stretch};
pub use execute::{ExecutedStretch, StretchFailure, execute};
pub use receipt::StretchReceipt;
pub use transaction::{DecodeFault, PooledTransaction, decode};
pub use warm::warm;
