//! Simulations that lack state and have no thread: JavaScript reads it.

use std::sync::Arc;
use upfront_engine::{
    plan::Plan,
    primitives::B256,
    state::{Layer, Read},
};

/// A simulation as it was asked for.
pub struct Simulation {
    pub plan: Plan,
    pub key: B256,
    pub layers: Vec<Arc<Layer>>,
}

pub struct Paused {
    pub simulation: Simulation,
    pub reads: Vec<Read>,
}
