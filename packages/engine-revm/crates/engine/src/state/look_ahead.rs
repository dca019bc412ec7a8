use super::read::{Cached, Read};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

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
    /// On the clock of `thread_time`: the run waits for a value that it misses later. What was done until then is too much to
    /// do again.
    pub until: Duration,
}

/// CPU time that this thread has used: unlike the time of day, it does not pass while others have the processor.
#[cfg(unix)]
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a whole timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// None passes: what can't wait has nothing to gain from looking ahead no longer.
#[cfg(target_family = "wasm")]
pub fn thread_time() -> Duration {
    Duration::ZERO
}

#[cfg(not(any(unix, target_family = "wasm")))]
pub fn thread_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

/// Missing values that a run took for granted, with what it took them for.
pub type Assumed = BTreeMap<Read, Assumption>;

/// All that a run missed.
#[derive(Default)]
pub struct Missed {
    pub assumed: Assumed,
    /// What it missed first: it needs that in any case. That it needs the rest is guessed.
    pub first: Vec<Read>,
}

impl Missed {
    pub fn is_empty(&self) -> bool {
        self.assumed.is_empty()
    }

    /// What to read, and how many of it, at its beginning, are needed in any case.
    pub fn reads(&self) -> (Vec<Read>, usize) {
        let first: BTreeSet<Read> =
            self.first.iter().filter(|read| self.assumed.contains_key(*read)).copied().collect();
        let rest = self.assumed.keys().filter(|read| !first.contains(*read)).copied();
        (first.iter().copied().chain(rest).collect(), first.len())
    }

    /// Whether all of `reads` turned out to be what the run took it for.
    pub fn is_right(&self, reads: &[Read], values: &[Cached]) -> bool {
        reads.iter().zip(values).all(|(read, value)| self.assumed.get(read).is_some_and(|taken| taken.value == *value))
    }
}

/// What a missing value is taken for.
#[derive(Clone, Debug)]
pub struct Assumption {
    pub value: Cached,
    /// Whether it had this value on some block.
    pub is_seen: bool,
}

/// Other guesses at words that nothing is known of, for one more run: a search goes another way with each, and what is behind either way
/// is found at once.
#[derive(Clone, Copy, Debug)]
pub struct Lean {
    /// Bit by bit in turn, each contract's words are taken for all ones or for zero.
    pub pattern: u8,
    /// Words that the run misses at most, beside those that others missed.
    pub most: usize,
}

/// Bits of `Lean::pattern`.
pub(super) const LEANS: usize = 3;

/// Values that a run of a simulation misses at most, where those before it missed fewer.
pub const MOST_ASSUMED: usize = 1_000;
/// Values that a run of a block misses at most: what its gas pays for.
pub const MOST_NOTED: usize = 16_384;
