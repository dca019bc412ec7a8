//! The text protocol between JavaScript and the engine, and the work behind it. The addon and the WebAssembly module share it; they differ
//! in how text crosses and which side waits.
//!
//! Text is ASCII both ways.

mod declare;
mod desk;
mod encode;
mod paused;
mod payload;
mod records;
mod refusal;
mod text;
mod values;
mod work;

pub use desk::{AtOnce, Desk};
pub use encode::{lacking, written};
pub use paused::Simulation;
pub use payload::Payload;
pub use refusal::{Refusal, Result};
pub use text::{Decoded, Field, Lines, Malformed, Tokens, read};
pub use values::values;
pub use work::{Ending, Work};
