//! revm, set up for simulations.

mod bend;
mod constants;
mod context;
mod frames;
mod halt;
mod handler;
mod inspector;
mod instance;
mod instructions;
mod memory_gate;
mod opcode_name;
mod precompiles;
mod record_frame;
mod record_step;
mod record_uses;
mod recorder;
mod step_log;
mod uses;
mod wrapping;

pub use bend::named_by;
pub use context::Context;
pub use frames::FrameStore;
pub use handler::{CallOutcome, Charge, RollupCharge, SimulationHandler};
pub use inspector::{Inspector, LogPosition};
pub use instance::Evm;
pub use memory_gate::{FREE_BYTES, MemoryGate, MemoryReservation};
pub use precompiles::{Moved, PrecompileSet, for_rules};
pub use recorder::{Lookups, Recorder};
