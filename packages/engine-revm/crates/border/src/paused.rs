//! Simulations that lack state and have no thread: JavaScript reads it.

use crate::payload::Payload;
use std::sync::Arc;
use upfront_engine::{
    plan::Plan,
    primitives::B256,
    state::{Layer, Missed, Read},
};

/// A simulation as it was asked for.
pub struct Simulation {
    pub plan: Plan,
    pub key: B256,
    pub layers: Vec<Arc<Layer>>,
}

pub struct Paused {
    pub simulation: Simulation,
    /// What it lacks.
    pub reads: Vec<Read>,
    pub missed: Missed,
    /// The answer where all that it missed is what it was taken for.
    pub answer: Option<Payload>,
}
