//! Simulations without a thread that lack state: JavaScript reads it and resumes them.

use crate::payload::Payload;
use std::sync::Arc;
use upfront_engine::{
    plan::Plan,
    primitives::B256,
    state::{Layer, Missed, Read},
};

/// A simulation as it was requested.
pub struct Simulation {
    pub plan: Plan,
    pub key: B256,
    pub layers: Vec<Arc<Layer>>,
}

pub struct Paused {
    pub simulation: Simulation,
    /// The missing reads.
    pub reads: Vec<Read>,
    pub missed: Missed,
    /// The answer, valid if all missing values are what the run assumed.
    pub answer: Option<Payload>,
}
