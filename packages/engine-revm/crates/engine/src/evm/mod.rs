//! revm, set up for simulations.

mod constants;
mod context;
mod forced_run;
mod frames;
mod halt;
mod handler;
mod instance;
mod instructions;
mod memory_semaphore;
mod opcode_name;
mod precompiles;
mod record_frame;
mod record_step;
mod record_uses;
mod recorder;
mod simulation_context;
mod step_log;
mod uses;
mod wrapping;

pub use context::Context;
pub use forced_run::accounts_named_in;
pub use frames::FrameStore;
pub use handler::{CallOutcome, Charge, RollupCharge, SimulationHandler};
pub use instance::Evm;
pub use memory_semaphore::{FREE_BYTES, MemoryReservation, MemorySemaphore};
pub use precompiles::{Moved, PrecompileSet, for_rules};
pub use recorder::{Lookups, Recorder};
pub use simulation_context::{LogPosition, SimulationContext};
