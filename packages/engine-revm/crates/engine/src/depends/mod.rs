//! What decides a call's outcome, found while it runs: each word carries the facts (values of state, of the block and of the
//! transaction) that it was made of. A fact decides where such a word reaches a branch, a jump, a callee, a slot's number or an amount.
//!
//! Bounded: steps and pieces of what is followed are counted (`MOST_WORK`, `MOST_KEPT`), and what is more is not followed; the record
//! then says that it is partial.

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
