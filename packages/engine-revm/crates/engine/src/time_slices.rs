//! Long work shares the cores in time slices, so that short work never waits behind it, however much long work there is.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// Length of a time slice.
pub const SLICE: Duration = Duration::from_millis(5);
/// Slices that work gets without waiting for a turn. The first one begins anywhere between two ticks.
const FREE_SLICES: u32 = 2;
/// How many slices longer work waits for each slice it has used: work that has used little goes first, and none waits for ever. With a low
/// value, a hundred old jobs would go before a new one.
const WAIT_PER_SLICE: u32 = 40;
/// How often waiting work checks whether it is stopped.
const CHECK_EVERY: Duration = Duration::from_millis(50);

const STOPPED: u8 = 1;
const SLICE_ENDS: u8 = 2;
/// The work checks its own time limit.
const TIMED: u8 = 4;
/// Calls between two checks of the clock, which take longer than what happens between calls.
const CALLS_A_CHECK: u32 = 256;

/// Tells work on another thread to stop or, if it shares the cores, that its slice ended.
#[derive(Debug, Default)]
pub struct Stop {
    signals: AtomicU8,
    share: Option<Share>,
    limit: Option<Limit>,
}

/// Time limit of work that no other thread can stop.
#[derive(Debug)]
struct Limit {
    until: Instant,
    asked: AtomicU32,
}

#[derive(Debug)]
struct Share {
    slices: Arc<TimeSlices>,
    used: AtomicU32,
    has_turn: AtomicBool,
}

impl Stop {
    /// For work that shares the cores.
    pub fn sharing(slices: Arc<TimeSlices>) -> Self {
        let share = Share { slices, used: AtomicU32::new(0), has_turn: AtomicBool::new(false) };
        Self { share: Some(share), ..Self::default() }
    }

    /// For work that stops by itself after this time.
    pub fn after(time: Duration) -> Self {
        let limit = Limit { until: Instant::now() + time, asked: AtomicU32::new(0) };
        Self { signals: AtomicU8::new(TIMED), limit: Some(limit), ..Self::default() }
    }

    /// Called when the result is no longer wanted.
    pub fn raise(&self) {
        self.signals.fetch_or(STOPPED, Relaxed);
    }

    pub fn is_raised(&self) -> bool {
        self.signals.load(Relaxed) & STOPPED != 0
    }

    /// Called every `SLICE` while the work runs.
    pub fn end_slice(&self) {
        self.signals.fetch_or(SLICE_ENDS, Relaxed);
    }

    /// Whether the work must stop. Called often by the work; after each slice, waits while others use the cores.
    #[inline]
    pub fn must_stop(&self) -> bool {
        self.signals.load(Relaxed) != 0 && self.check_signals()
    }

    #[cold]
    fn check_signals(&self) -> bool {
        if let Some(Limit { until, asked }) = &self.limit
            && asked.fetch_add(1, Relaxed) % CALLS_A_CHECK == CALLS_A_CHECK - 1
            && Instant::now() >= *until
        {
            self.raise();
        }
        if self.signals.fetch_and(!SLICE_ENDS, Relaxed) & SLICE_ENDS != 0
            && let Some(Share { slices, used, has_turn }) = &self.share
        {
            let used = used.fetch_add(1, Relaxed) + 1;
            if used > FREE_SLICES {
                has_turn.store(slices.acquire(used, has_turn.load(Relaxed), self), Relaxed);
                self.begin_slice();
            }
        }
        self.is_raised()
    }

    /// A slice that ended during the wait does not count.
    fn begin_slice(&self) {
        self.signals.fetch_and(!SLICE_ENDS, Relaxed);
    }

    /// Gives the turn away while the work waits for something else.
    pub fn while_waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.leave();
        let done = wait();
        self.begin_slice();
        done
    }

    /// Called when the work ends, to give the turn away.
    pub fn leave(&self) {
        if let Some(Share { slices, has_turn, .. }) = &self.share
            && has_turn.swap(false, Relaxed)
        {
            slices.release(&mut slices.turns());
        }
    }
}

/// The turns of long work: as many at once as there are cores. Work with a turn waits for nothing else: see `Stop::while_waiting`.
#[derive(Debug)]
pub struct TimeSlices {
    began: Instant,
    turns: Mutex<Turns>,
}

#[derive(Debug)]
struct Turns {
    free: usize,
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    /// The lowest rank goes first.
    rank: Duration,
    thread: Thread,
}

impl TimeSlices {
    pub fn new(cores: usize) -> Self {
        Self { began: Instant::now(), turns: Mutex::new(Turns { free: cores.max(1), waiting: Vec::new() }) }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits for a turn. Work that has one keeps it unless other work goes first. Returns false if stopped before.
    fn acquire(&self, used: u32, has_turn: bool, stop: &Stop) -> bool {
        let rank = self.began.elapsed() + SLICE * (WAIT_PER_SLICE * used);
        let mut turns = self.turns();
        if has_turn {
            if turns.waiting.iter().all(|waiting| waiting.rank > rank) {
                return true;
            }
            self.release(&mut turns);
        }
        if turns.free > 0 {
            turns.free -= 1;
            return true;
        }
        let me = thread::current().id();
        turns.waiting.push(Waiting { rank, thread: thread::current() });
        drop(turns);
        loop {
            thread::park_timeout(CHECK_EVERY);
            let mut turns = self.turns();
            let Some(mine) = turns.waiting.iter().position(|waiting| waiting.thread.id() == me) else { return true };
            if stop.is_raised() {
                turns.waiting.swap_remove(mine);
                return false;
            }
        }
    }

    /// Gives a turn to the first in rank, or frees it.
    fn release(&self, turns: &mut Turns) {
        let first = turns.waiting.iter().enumerate().min_by_key(|(_, waiting)| waiting.rank);
        match first.map(|(at, _)| at) {
            Some(at) => turns.waiting.swap_remove(at).thread.unpark(),
            None => turns.free += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    fn has_turn(stop: &Stop) -> bool {
        stop.share.as_ref().unwrap().has_turn.load(Relaxed)
    }

    /// Work with so many used slices asks for its turn on a thread, and reports whether it must stop.
    fn asks(slices: &Arc<TimeSlices>, used: u32) -> (Arc<Stop>, Receiver<bool>) {
        let waiting = slices.turns().waiting.len();
        let stop = Arc::new(Stop::sharing(slices.clone()));
        stop.share.as_ref().unwrap().used.store(used, Relaxed);
        stop.end_slice();
        let (tell, told) = channel();
        let asking = stop.clone();
        thread::spawn(move || tell.send(asking.must_stop()));
        while slices.turns().waiting.len() == waiting {
            thread::yield_now();
        }
        (stop, told)
    }

    /// Work that has the only turn.
    fn busy() -> (Arc<TimeSlices>, Stop) {
        let slices = Arc::new(TimeSlices::new(1));
        let stop = Stop::sharing(slices.clone());
        for slice in 0..=FREE_SLICES {
            assert!(!has_turn(&stop), "{slice}");
            assert!(!stop.must_stop());
            stop.end_slice();
            assert!(!stop.must_stop());
        }
        assert!(has_turn(&stop));
        (slices, stop)
    }

    #[test]
    fn who_used_least_goes_first() {
        let (slices, busy) = busy();
        let (long, long_told) = asks(&slices, 1_000);
        let (short, short_told) = asks(&slices, 10);
        busy.leave();
        assert_eq!(short_told.recv(), Ok(false));
        assert!(has_turn(&short) && !has_turn(&long) && !has_turn(&busy));
        short.leave();
        assert_eq!(long_told.recv(), Ok(false));
        long.leave();
        assert_eq!(slices.turns().free, 1);
    }

    #[test]
    fn a_turn_goes_on_while_all_that_wait_used_more_and_no_longer() {
        let (slices, busy) = busy();
        let (_, long_told) = asks(&slices, 1_000);
        busy.end_slice();
        assert!(!busy.must_stop() && has_turn(&busy));
        let (_, next_told) = asks(&slices, FREE_SLICES);
        busy.share.as_ref().unwrap().used.store(2_000, Relaxed);
        busy.end_slice();
        let waits = thread::spawn(move || busy.must_stop());
        assert_eq!(next_told.recv(), Ok(false));
        slices.release(&mut slices.turns());
        assert_eq!(long_told.recv(), Ok(false));
        slices.release(&mut slices.turns());
        assert!(!waits.join().unwrap());
    }

    #[test]
    fn time_spent_waiting_ends_no_slice() {
        let (slices, busy) = busy();
        let (waited, told) = asks(&slices, FREE_SLICES);
        waited.end_slice();
        busy.leave();
        assert_eq!(told.recv(), Ok(false));
        assert_eq!(waited.signals.load(Relaxed), 0);
        waited.while_waiting(|| waited.end_slice());
        assert!(!has_turn(&waited) && waited.signals.load(Relaxed) == 0);
    }

    #[test]
    fn who_is_stopped_waits_no_longer() {
        let (slices, _busy) = busy();
        let (stop, told) = asks(&slices, FREE_SLICES);
        stop.raise();
        assert_eq!(told.recv(), Ok(true));
        assert!(!has_turn(&stop) && slices.turns().waiting.is_empty());
    }

    #[test]
    fn work_with_a_limit_stops_by_itself() {
        let asked = |stop: &Stop| (0..CALLS_A_CHECK).map(|_| stop.must_stop()).collect::<Vec<_>>();
        let ends = asked(&Stop::after(Duration::ZERO));
        assert_eq!(ends.iter().position(|ends| *ends), Some(CALLS_A_CHECK as usize - 1));
        assert!(!asked(&Stop::after(Duration::from_secs(3_600))).contains(&true));
    }

    #[test]
    fn work_that_shares_nothing_only_stops() {
        let stop = Stop::default();
        for _ in 0..10 {
            stop.end_slice();
            assert!(!stop.must_stop());
        }
        stop.raise();
        assert!(stop.must_stop() && stop.must_stop());
    }
}
