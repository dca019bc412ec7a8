//! Executes whole `eth_simulateV1` plans and transactions of blocks, under construction or sealed, on revm, and seals what it executed.
//!
//! | module | owns |
//! |---|---|
//! | [`plan`] | what to execute, as the TypeScript planner made it |
//! | [`state`] | the pinned block's values, shared between requests; pre-confirmed layers; what a simulation changed |
//! | [`evm`] | revm set up for simulations: logs of transfers, moved precompiles, cancellation |
//! | [`simulate`] | blocks, calls, fees, system calls: geth's rules |
//! | [`seal`] | transactions, receipts, roots and headers |
//! | `depends` | what decides a call's outcome, followed while it runs |
//! | `last_step`, `frame_end` | what an instruction finds, and how it ends its frame |
//! | `code_end`, `pushed_words` | where code leads to, and what words it pushes, without running it |
//! | `access_list` | the list of what a block accesses (EIP-7928) |
//! | `precompile_price` | what precompiled contracts cost for input that they refuse |
//! | [`answer`] | outcomes as the JSON of an answer |
//! | [`op`] | what OP-stack chains add |
//! | [`execution`] | signed transactions of a block under construction |
//! | `touched` | accounts and slots, each once |
//! | [`pool`], [`time_slices`] | threads, and how long work shares the cores |

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
mod touched;

pub use alloy_primitives as primitives;
