//! Carries state over sealed blocks, by executing them or by their access lists, and compares with their headers:
//! `packages/simulation/src/engine/block-carrier.ts` in Rust.

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
