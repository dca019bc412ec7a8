//! A semaphore over bytes of EVM memory. A simulation needs a permit once its frames have more than 1 MiB.

use crate::time_slices::Stop;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
    thread::{self, Thread},
    time::Duration,
};

/// Memory that every simulation gets without waiting.
pub const FREE_BYTES: usize = 1 << 20;
/// EIP-150 allows at most this many frames.
const MAX_FRAMES: u64 = 1_024;
/// Memory of one frame in addition to the EVM's: the stack, code that it creates, revm's own.
const FRAME_BYTES: usize = 64 * 1024;
/// How often a waiting simulation checks whether it is stopped.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// Bounds the EVM memory of simulations on all threads. A simulation that needs much waits its turn, in order of arrival, and holds the
/// most that its gas can pay for until it ends. So no holder ever waits for another.
#[derive(Debug)]
pub struct MemorySemaphore {
    bytes: usize,
    /// Called on the thread of a simulation that held memory, after freeing it and before the next one's turn.
    return_freed: fn(),
    turns: Mutex<Turns>,
}

#[derive(Debug, Default)]
struct Turns {
    taken: usize,
    waiting: VecDeque<Thread>,
}

impl Turns {
    /// Wakes the first waiter to check for its turn.
    fn wake_first(&self) {
        if let Some(thread) = self.waiting.front() {
            thread.unpark();
        }
    }
}

impl Default for MemorySemaphore {
    fn default() -> Self {
        Self::new(usize::MAX, || ())
    }
}

impl MemorySemaphore {
    /// `return_freed` returns this thread's freed memory from the allocator to the system.
    pub fn new(bytes: usize, return_freed: fn()) -> Self {
        Self { bytes, return_freed, turns: Mutex::default() }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until the bytes are free. Returns false if stopped before.
    fn wait_for(&self, bytes: usize, stop: &Stop) -> bool {
        let mut turns = self.turns();
        let me = thread::current().id();
        turns.waiting.push_back(thread::current());
        loop {
            let is_first = turns.waiting.front().is_some_and(|thread| thread.id() == me);
            let fits = is_first && bytes <= self.bytes - turns.taken;
            if fits || stop.is_raised() {
                turns.waiting.retain(|thread| thread.id() != me);
                turns.taken += if fits { bytes } else { 0 };
                turns.wake_first();
                return fits;
            }
            drop(turns);
            stop.while_waiting(|| thread::park_timeout(CHECK_EVERY));
            turns = self.turns();
        }
    }

    fn release(&self, bytes: usize) {
        let mut turns = self.turns();
        turns.taken -= bytes;
        turns.wake_first();
    }

    /// Waits until the bytes are free, at most all of them, and holds them. Returns None if stopped before.
    pub fn acquire(self: &Arc<Self>, bytes: usize, stop: &Stop) -> Option<MemoryPermit> {
        let bytes = bytes.min(self.bytes);
        self.wait_for(bytes, stop).then(|| MemoryPermit { semaphore: self.clone(), bytes })
    }
}

/// Bytes held of a semaphore.
#[derive(Debug)]
pub struct MemoryPermit {
    semaphore: Arc<MemorySemaphore>,
    bytes: usize,
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        (self.semaphore.return_freed)();
        self.semaphore.release(self.bytes);
    }
}

/// The bytes that one simulation holds of the semaphore. Without a semaphore it may hold any number.
#[derive(Debug, Default)]
pub struct MemoryReservation {
    semaphore: Option<Arc<MemorySemaphore>>,
    most: usize,
    held: Option<MemoryPermit>,
}

impl MemoryReservation {
    /// `gas`: the most that one of its calls can have.
    pub fn new(semaphore: Arc<MemorySemaphore>, gas: u64) -> Self {
        Self { semaphore: Some(semaphore), most: most_memory(gas), held: None }
    }

    /// Called before a frame opens, with the memory of the frames above it in bytes. Returns false if stopped while waiting.
    pub fn admits(&mut self, bytes: usize, stop: &Stop) -> bool {
        if bytes <= FREE_BYTES || self.held.is_some() {
            return true;
        }
        let Some(semaphore) = &self.semaphore else { return true };
        self.held = semaphore.acquire(self.most, stop);
        self.held.is_some()
    }
}

/// The most bytes of memory that frames can use at once with this gas. w words cost 3w + w²/512 gas, so it is most if all frames use the
/// same. Doubled, because a growing buffer is copied.
fn most_memory(gas: u64) -> usize {
    let each = (gas / MAX_FRAMES) as f64;
    let words = 256.0 * ((9.0 + each / 128.0).sqrt() - 3.0);
    MAX_FRAMES as usize * (2 * 32 * words as usize + FRAME_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::{
            atomic::{AtomicUsize, Ordering::Relaxed},
            mpsc,
        },
        thread,
    };

    fn reservation(semaphore: &Arc<MemorySemaphore>) -> MemoryReservation {
        MemoryReservation::new(semaphore.clone(), u64::from(u32::MAX))
    }

    #[test]
    fn equal_frames_pay_all_of_the_gas() {
        let words = (most_memory(50_000_000) / MAX_FRAMES as usize - FRAME_BYTES) as u64 / 64;
        let cost = |words: u64| MAX_FRAMES * (3 * words + words * words / 512);
        assert!(cost(words) <= 50_000_000 && cost(words + 2) > 50_000_000);
    }

    #[test]
    fn little_memory_asks_nobody_and_much_takes_turns() {
        let semaphore = Arc::new(MemorySemaphore::new(FREE_BYTES, || ()));
        let (stop, mut first) = (Stop::default(), reservation(&semaphore));
        assert!(first.admits(FREE_BYTES + 1, &stop));
        assert!(reservation(&semaphore).admits(FREE_BYTES, &stop));
        let (tell, told) = mpsc::channel();
        let waiting = semaphore.clone();
        let second = thread::spawn(move || {
            let mut second = reservation(&waiting);
            assert!(second.admits(FREE_BYTES + 1, &Stop::default()));
            tell.send(waiting.turns().taken).unwrap();
        });
        while semaphore.turns().waiting.is_empty() {
            thread::yield_now();
        }
        assert!(told.try_recv().is_err());
        drop(first);
        assert_eq!(told.recv(), Ok(FREE_BYTES));
        second.join().unwrap();
        assert_eq!(semaphore.turns().taken, 0);
    }

    #[test]
    fn freed_memory_is_returned_by_whoever_took_much() {
        static RETURNED: AtomicUsize = AtomicUsize::new(0);
        let semaphore = Arc::new(MemorySemaphore::new(FREE_BYTES, || {
            RETURNED.fetch_add(1, Relaxed);
        }));
        for (bytes, returned) in [(FREE_BYTES, 0), (FREE_BYTES + 1, 1)] {
            assert!(reservation(&semaphore).admits(bytes, &Stop::default()));
            assert_eq!(RETURNED.load(Relaxed), returned);
        }
    }

    #[test]
    fn who_is_stopped_waits_no_longer_and_lets_the_next_one_by() {
        let semaphore = Arc::new(MemorySemaphore::new(FREE_BYTES, || ()));
        let (stop, mut first) = (Stop::default(), reservation(&semaphore));
        assert!(first.admits(FREE_BYTES + 1, &stop));
        stop.raise();
        assert!(!reservation(&semaphore).admits(FREE_BYTES + 1, &stop));
        assert!(semaphore.turns().waiting.is_empty());
        assert_eq!(semaphore.turns().taken, FREE_BYTES);
    }
}
