//! Simulations that lacked state and have no thread: JavaScript reads it.

use crate::encode;
use std::sync::Arc;
use upfront_engine::{
    plan::Plan,
    primitives::{B256, map::HashMap},
    state::{Layer, Read},
};

/// A simulation as it was asked for.
pub struct Simulation {
    pub plan: Plan,
    pub key: B256,
    pub layers: Vec<Arc<Layer>>,
    pub written: bool,
}

struct Paused {
    simulation: Simulation,
    /// What it lacks and no other one asked for before it.
    reads: Vec<Read>,
}

#[derive(Default)]
pub struct PausedSimulations {
    by_id: HashMap<u32, Paused>,
    /// By state and read: who asks. Nobody else asks for the same meanwhile.
    askers: HashMap<(B256, Read), u32>,
}

impl PausedSimulations {
    /// What it has to wait for: others that ask for some of it, and the reads that nobody asked for before.
    pub fn add(&mut self, id: u32, simulation: Simulation, missing: Vec<Read>) -> String {
        let mut others: Vec<u32> = Vec::new();
        let mut reads = Vec::with_capacity(missing.len());
        for read in missing {
            let asker = *self.askers.entry((simulation.key, read)).or_insert(id);
            if asker == id {
                reads.push(read);
            } else if !others.contains(&asker) {
                others.push(asker);
            }
        }
        let asked = encode::paused(&others, &reads);
        self.by_id.insert(id, Paused { simulation, reads });
        asked
    }

    /// The simulation and the reads that it asked for.
    pub fn take(&mut self, id: u32) -> Option<(Simulation, Vec<Read>)> {
        let Paused { simulation, reads } = self.by_id.remove(&id)?;
        for read in &reads {
            self.askers.remove(&(simulation.key, *read));
        }
        Some((simulation, reads))
    }
}
