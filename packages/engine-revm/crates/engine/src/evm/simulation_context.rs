use super::{memory_semaphore::MemoryReservation, recorder::Recorder};
use crate::{access_list::AccessList, depends::Tracker, outcome::Halt, time_slices::Stop};
use alloy_primitives::{Address, U256};
use std::sync::Arc;

/// A simulation's data in the EVM, in addition to revm's context.
#[derive(Debug, Default)]
pub struct SimulationContext {
    pub stop: Arc<Stop>,
    pub reservation: MemoryReservation,
    /// Gas of the running frame when it was last entered or, if the allowance began later, at the first check after that. The frame's use
    /// of the allowance is counted from there. None while there is no allowance.
    pub run_from: Option<u64>,
    pub trace_transfers: bool,
    /// This and the next two fields have 256 bits; revm's have 64 and 128.
    pub base_fee: U256,
    pub blob_base_fee: U256,
    pub gas_price: U256,
    /// One for each log in the journal.
    pub log_positions: Vec<LogPosition>,
    /// Number of logs in the block so far, including those of reverted frames, as geth's log indices count.
    pub log_count: u64,
    /// Why the outermost frame halted, if revm's result does not tell.
    pub halt: Option<Halt>,
    /// Set while a recorded call runs.
    pub recorder: Option<Box<Recorder>>,
    /// Set if the facts that decide the plan's calls are followed.
    pub tracker: Option<Box<Tracker>>,
    /// Accounts touched only by fees.
    pub fee_only: Vec<Address>,
    pub deepest: usize,
    /// What the block accessed so far, from Amsterdam on.
    pub access_list: Option<AccessList>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    pub synthetic: bool,
    pub index: u64,
}

impl SimulationContext {
    /// Sets the position of the newest of the journal's `count` logs.
    pub fn set_log_position(&mut self, count: usize, place: LogPosition) {
        self.log_positions.truncate(count.saturating_sub(1));
        self.log_positions.push(place);
    }

    pub fn next_index(&mut self) -> u64 {
        let index = self.log_count;
        self.log_count += 1;
        index
    }
}
