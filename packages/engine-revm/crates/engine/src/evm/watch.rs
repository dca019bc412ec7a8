use super::last_step::LastStep;
use crate::{outcome::Halt, state::Stop};
use alloy_primitives::{Address, U256};
use std::sync::Arc;

/// What the EVM carries along for a simulation, beside revm's own context.
#[derive(Debug, Default)]
pub struct Watch {
    pub stop: Arc<Stop>,
    /// Work that the caller's own thread may still do; absent on a thread of the pool.
    pub allowance: Option<Allowance>,
    /// Gas left to the frame that runs when it was last entered; kept where there is an allowance.
    pub run_from: u64,
    pub trace_transfers: bool,
    /// 256 bits each, where revm has 64 and 128.
    pub base_fee: U256,
    pub blob_base_fee: U256,
    pub gas_price: U256,
    /// One for each log in the journal.
    pub places: Vec<LogPlace>,
    /// Logs of the block so far, those of reverted frames too: geth numbers logs by it.
    pub log_count: u64,
    /// Why the outermost frame halted, where revm's reason alone does not say.
    pub halt: Option<Halt>,
    /// Set to run once more and find out what the halting instruction found.
    pub keep_last_step: bool,
    pub last_step: Option<LastStep>,
    /// Accounts that fees alone touched.
    pub fee_only: Vec<Address>,
    pub deepest: usize,
}

/// The caller's thread serves everybody: it gives so much for a whole simulation, its system calls included, and no more.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Of instructions. What runs between two looks at it is at most a contract's length of cheap ones.
    pub gas: u64,
    pub frames: usize,
    /// Of one instruction.
    pub bytes: usize,
    pub precompile_gas: u64,
}

impl Allowance {
    /// False where that is more than is left.
    #[must_use]
    pub fn spend(&mut self, gas: u64) -> bool {
        let left = self.gas.checked_sub(gas);
        self.gas = left.unwrap_or(0);
        left.is_some()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPlace {
    pub synthetic: bool,
    pub index: u64,
}

impl Watch {
    /// Numbers the newest of the journal's `count` logs.
    pub fn place_log(&mut self, count: usize, place: LogPlace) {
        self.places.truncate(count.saturating_sub(1));
        self.places.push(place);
    }

    pub fn next_index(&mut self) -> u64 {
        let index = self.log_count;
        self.log_count += 1;
        index
    }
}
