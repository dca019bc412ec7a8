//! What JavaScript and the engine say to each other, as text, and what is done for it: the same for the addon and for WebAssembly,
//! which only differ in how the text crosses and in who waits.
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
