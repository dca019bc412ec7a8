//! Limits and results of runs that continue past missing values.

use super::read::{Cached, Read};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Limits of a run that may not wait, its system calls included.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Gas of instructions. Checked at each JUMPDEST and slow instruction, so one pass over a contract's code may exceed it.
    pub gas: u64,
    pub frames: usize,
    /// Bytes processed by one instruction.
    pub bytes: usize,
    pub precompile_gas: u64,
}

impl Allowance {
    /// Returns false if less is left.
    #[must_use]
    pub fn spend(&mut self, gas: u64) -> bool {
        let left = self.gas.checked_sub(gas);
        self.gas = left.unwrap_or(0);
        left.is_some()
    }
}

/// Continues a run past missing values, to find what else is missing.
#[derive(Clone, Copy, Debug)]
pub struct LookAhead {
    /// Limits of the work from the first missing value on.
    pub allowance: Allowance,
    /// Deadline by `thread_time`. A run that first misses a value later waits for it, because too much work would be repeated.
    pub until: Duration,
}

/// CPU time of this thread. Unlike wall time, it stops while others have the processor.
#[cfg(unix)]
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a whole timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Constant: this build can't wait, so a deadline for looking ahead would be useless.
#[cfg(target_family = "wasm")]
pub fn thread_time() -> Duration {
    Duration::ZERO
}

#[cfg(not(any(unix, target_family = "wasm")))]
pub fn thread_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

/// The missing values of a run, with what it assumed.
pub type Assumed = BTreeMap<Read, Assumption>;

/// Everything that a run missed.
#[derive(Default)]
pub struct MissingValues {
    pub assumed: Assumed,
    /// The first missing values, which the run certainly needs; the others are guesses.
    pub first: Vec<Read>,
}

impl MissingValues {
    pub fn is_empty(&self) -> bool {
        self.assumed.is_empty()
    }

    /// What to read, and how many of the reads, counted from the first, are certainly needed.
    pub fn reads(&self) -> (Vec<Read>, usize) {
        let first: BTreeSet<Read> =
            self.first.iter().filter(|read| self.assumed.contains_key(*read)).copied().collect();
        let rest = self.assumed.keys().filter(|read| !first.contains(*read)).copied();
        (first.iter().copied().chain(rest).collect(), first.len())
    }

    /// Whether all of `reads` have the assumed values.
    pub fn is_right(&self, reads: &[Read], values: &[Cached]) -> bool {
        reads.iter().zip(values).all(|(read, value)| self.assumed.get(read).is_some_and(|taken| taken.value == *value))
    }
}

/// What is assumed for a missing value.
#[derive(Clone, Debug)]
pub struct Assumption {
    pub value: Cached,
    /// Whether some block had this value.
    pub is_seen: bool,
}

/// Other guesses for words never seen, for another run: a search takes another path with each, so what lies on either path is found at
/// once.
#[derive(Clone, Copy, Debug)]
pub struct AlternativeGuess {
    /// The bits, in turn, decide whether a contract's next word is assumed to be all ones or zero.
    pub pattern: u8,
    /// Limit of words that the run misses, in addition to those missed before.
    pub most: usize,
}

/// Bits of `AlternativeGuess::pattern`.
pub(super) const GUESS_BITS: usize = 3;

/// Limit of values that a simulation's run misses, at first.
pub const MAX_ASSUMED: usize = 1_000;
/// Limit of values that a block's run misses: about what its gas can pay for.
pub const MAX_RECORDED: usize = 16_384;
