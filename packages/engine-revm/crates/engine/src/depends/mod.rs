//! Finds, while a call runs, what decides its outcome. Each word carries the facts (values of state, block and transaction) that it was
//! derived from. A fact decides if such a word reaches a branch, a jump, a callee, a slot's number or an amount.
//!
//! Work and memory are limited (`MAX_WORK`, `MAX_KEPT`). Beyond the limits nothing is followed, and the record is marked as partial.

mod fact;
mod frame;
mod instruction;
mod labels;
mod shadow;
mod spans;
mod tracker;

pub use fact::{DecidingFact, Dependencies, FactKind};
pub use frame::{enter, exit};
pub use instruction::{Before, note, run};
pub use tracker::Tracker;
