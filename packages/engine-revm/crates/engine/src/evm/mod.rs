//! revm, set up for simulations.

mod bend;
mod constant_slots;
mod context;
mod frames;
mod halt;
mod handler;
mod instructions;
mod machine;
mod memory_gate;
mod opcode_name;
mod precompiles;
mod record_frame;
mod record_step;
mod record_uses;
mod recorder;
mod step_log;
mod uses;
mod watch;
mod wrapping;

pub use context::Context;
pub use frames::FrameStore;
pub use handler::{CallOutcome, Charge, RollupCharge, SimulationHandler};
pub use machine::Machine;
pub use memory_gate::{FREE_BYTES, MemoryGate, Room};
pub use precompiles::{Moved, PrecompileSet, for_rules};
pub use recorder::{Lookups, Recorder};
pub use watch::{LogPlace, Watch};
