//! Sources of values, nearest first: the simulation's changes, pre-confirmed layers, the pinned block.

mod budget;
mod cache;
mod change;
mod codes;
mod history;
mod look_ahead;
mod pinned;
mod read;
mod recent_writes;
mod simulation_state;
mod usual;
mod version;
mod words;

#[cfg(test)]
mod carried_tests;
#[cfg(test)]
mod tests;

pub use cache::StateCache;
pub use change::{AccountChange, Code, Layer, analysed};
pub use history::{NotCarried, Writes};
pub use look_ahead::{Allowance, Assumed, Assumption, Lean, LookAhead, MAX_ASSUMED, MAX_NOTED, Missed, thread_time};
pub use pinned::PinnedState;
pub use read::{Cached, Read, ReadError, StateSource, Value};
pub use simulation_state::SimulationState;
pub use usual::Selector;
