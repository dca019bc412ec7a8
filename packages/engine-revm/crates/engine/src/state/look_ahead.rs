use super::{pinned::Cached, read::Read};
use std::{collections::BTreeMap, time::Instant};

/// The most work that a run does which may not wait, its system calls included.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// For instructions. Checked at each JUMPDEST and slow instruction, so one pass over a contract's code may exceed it.
    pub gas: u64,
    pub frames: usize,
    /// For one instruction.
    pub bytes: usize,
    pub precompile_gas: u64,
}

impl Allowance {
    /// False if less is left.
    #[must_use]
    pub fn spend(&mut self, gas: u64) -> bool {
        let left = self.gas.checked_sub(gas);
        self.gas = left.unwrap_or(0);
        left.is_some()
    }
}

/// Running on where a value is missing, to find what else is.
#[derive(Clone, Copy, Debug)]
pub struct LookAhead {
    /// For the work from the first missing value on.
    pub allowance: Allowance,
    /// The run waits for a value that it misses later than this: what was done until then is too much to do again.
    pub until: Instant,
}

/// Missing values that a run took for granted, with what it took them for.
pub type Assumed = BTreeMap<Read, Cached>;

/// Values that one run misses at most.
pub(super) const MOST_ASSUMED: usize = 1_000;
