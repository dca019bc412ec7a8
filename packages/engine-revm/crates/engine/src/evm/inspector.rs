use super::{memory_gate::MemoryReservation, recorder::Recorder};
use crate::{access_list::AccessList, depends::Tracker, outcome::Halt, time_slices::Stop};
use alloy_primitives::{Address, U256};
use std::sync::Arc;

/// What a simulation needs in the EVM beside revm's own context.
#[derive(Debug, Default)]
pub struct Inspector {
    pub stop: Arc<Stop>,
    pub reservation: MemoryReservation,
    /// Gas that the running frame had when it was last entered or, where the allowance began later, at the first check after that. What
    /// the frame spends of the allowance counts from there. None while there is no allowance.
    pub run_from: Option<u64>,
    pub trace_transfers: bool,
    /// This and the next two have 256 bits; revm's own have 64 and 128.
    pub base_fee: U256,
    pub blob_base_fee: U256,
    pub gas_price: U256,
    /// One per log in the journal.
    pub log_positions: Vec<LogPosition>,
    /// Logs of the block so far, including those of reverted frames: geth's log indices count them.
    pub log_count: u64,
    /// Why the outermost frame halted, if revm's result alone doesn't say.
    pub halt: Option<Halt>,
    /// Set while a call runs that is to be recorded.
    pub recorder: Option<Box<Recorder>>,
    /// Set where what decides the calls of a plan is followed.
    pub tracker: Option<Box<Tracker>>,
    /// Accounts that only fees touched.
    pub fee_only: Vec<Address>,
    pub deepest: usize,
    /// What the block has accessed so far, from Amsterdam on.
    pub access_list: Option<AccessList>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    pub synthetic: bool,
    pub index: u64,
}

impl Inspector {
    /// Sets the place of the newest of the journal's `count` logs.
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
