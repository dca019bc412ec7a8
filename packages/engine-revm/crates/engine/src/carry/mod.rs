//! Sealed blocks, executed again and compared with their headers, so that state can be carried over them:
//! `packages/simulation/src/engine/block-carrier.ts` in Rust.

mod block;
mod carried;
mod execute;

pub use crate::seal::{Deposit, SealedTransaction};
pub use block::SealedBlock;
pub use carried::{Carried, Difference, Sampled, carry};
pub use execute::{Differs, execute};
