//! Sealed blocks, executed again or taken from their access lists, and compared with their headers, so that state can be carried over
//! them: `packages/simulation/src/engine/block-carrier.ts` in Rust.

mod block;
mod carried;
mod difference;
mod execute;
mod listed;

pub use crate::seal::{Deposit, SealedTransaction};
pub use block::SealedBlock;
pub use carried::{Carried, Sampled, carry};
pub use difference::{Difference, Differs};
pub use execute::{encoded, execute};
pub use listed::{ListedBlock, listed};
