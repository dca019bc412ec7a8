//! Executes `eth_simulateV1` plans, and transactions of blocks (sealed or under construction), on revm, and seals the blocks.
//!
//! | module | owns |
//! |---|---|
//! | [`plan`] | what to execute, from the TypeScript planner |
//! | [`state`] | the pinned block's values, shared between requests; pre-confirmed layers; a simulation's changes |
//! | [`evm`] | revm set up for simulations: transfer logs, moved precompiles, cancellation |
//! | [`simulate`] | blocks, calls, fees, system calls: geth's rules |
//! | [`seal`] | transactions, receipts, roots and headers |
//! | `depends` | what decides a call's outcome, found while it runs |
//! | `last_step`, `frame_end` | the state before an instruction, and how it ends its frame |
//! | `code_end`, `pushed_words` | where code leads and which words it pushes, found without running it |
//! | `access_list` | block access lists (EIP-7928) |
//! | `precompile_price` | gas costs of precompiles for input that they refuse |
//! | [`answer`] | outcomes as JSON |
//! | [`op`] | OP-stack chains' additions |
//! | [`execution`] | signed transactions of a block under construction |
//! | `touched_set` | distinct accounts and slots |
//! | [`pool`], [`time_slices`] | threads, and time slices for long work |

mod access_list;
pub mod answer;
pub mod carry;
mod code_end;
mod depends;
pub mod evm;
pub mod execution;
mod frame_end;
mod last_step;
pub mod op;
pub mod outcome;
pub mod plan;
pub mod pool;
mod precompile_price;
mod pushed_words;
pub mod rejection;
pub mod seal;
pub mod simulate;
pub mod state;
pub mod time_slices;
mod touched_set;

pub use alloy_primitives as primitives;
