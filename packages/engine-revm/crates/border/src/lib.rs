//! The text protocol between JavaScript and the engine, and the work behind it. The addon and the WebAssembly module share it; they differ
//! in how text crosses and which side waits.
//!
//! Text is ASCII both ways.

mod declare;
mod encode;
mod engine;
mod payload;
mod records;
mod refusal;
mod text;
mod values;
mod work;

/// The version pinned in Cargo.lock.
pub const REVM_VERSION: &str = env!("REVM_VERSION");

pub use encode::{encode_reads, written};
pub use engine::{Engine, Simulation, Step};
pub use payload::Payload;
pub use refusal::{Refusal, Result};
pub use text::{Decoded, Field, Malformed, TextReader, TextWriter, read};
pub use values::values;
pub use work::{Work, WorkError};
