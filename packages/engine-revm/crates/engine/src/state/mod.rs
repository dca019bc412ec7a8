//! Sources of values, nearest first: the simulation's changes, pre-confirmed layers, the pinned block.

mod cache;
mod change;
mod code_cache;
mod history;
mod last_seen_words;
mod look_ahead;
mod pinned;
mod predictions;
mod read;
mod recent_writes;
mod simulation_state;
mod version;

#[cfg(test)]
mod carried_tests;
#[cfg(test)]
mod tests;

pub use cache::StateCache;
pub use change::{AccountChange, Code, Layer, analysed};
pub use history::{NotCarried, Writes};
pub use look_ahead::{
    Allowance, AlternativeGuess, Assumed, Assumption, LookAhead, MAX_ASSUMED, MAX_RECORDED, MissingValues, thread_time,
};
pub use pinned::PinnedState;
pub use predictions::Selector;
pub use read::{Cached, Read, ReadError, StateSource, Value};
pub use simulation_state::SimulationState;
