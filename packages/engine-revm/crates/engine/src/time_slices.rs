//! Long work shares the cores slice by slice, so that short work never waits behind it, however much of it there is.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// How long work runs until it is told that its slice ends.
pub const SLICE: Duration = Duration::from_millis(5);
/// Slices that work has without a turn. The first one begins anywhere between two ticks.
const FREE_SLICES: u32 = 2;
/// Who used one slice more waits so many slices longer: work that has used little goes first, and none waits for ever. With few of them a
/// hundred that began long ago would go before one that begins.
const WAIT_PER_SLICE: u32 = 40;
/// How often one that waits looks whether it is stopped.
const LOOK_EVERY: Duration = Duration::from_millis(50);

const STOPPED: u8 = 1;
const SLICE_ENDS: u8 = 2;
/// It looks at the clock by itself.
const TIMED: u8 = 4;
/// How often it is asked between two looks at the clock, which take longer than what it is asked between.
const ASKED_A_LOOK: u32 = 256;

/// Tells work on another thread to stop or, where it shares the cores, that its slice ends.
#[derive(Debug, Default)]
pub struct Stop {
    signals: AtomicU8,
    share: Option<Share>,
    limit: Option<Limit>,
}

/// Of work that no other thread can stop.
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
    /// Of work that shares the cores.
    pub fn sharing(slices: Arc<TimeSlices>) -> Self {
        let share = Share { slices, used: AtomicU32::new(0), has_turn: AtomicBool::new(false) };
        Self { share: Some(share), ..Self::default() }
    }

    /// Of work that stops by itself once it has taken this long.
    pub fn after(time: Duration) -> Self {
        let limit = Limit { until: Instant::now() + time, asked: AtomicU32::new(0) };
        Self { signals: AtomicU8::new(TIMED), limit: Some(limit), ..Self::default() }
    }

    /// Called by whoever no longer wants the result.
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

    /// Whether the work is to stop. It calls this often; after each slice this waits while the cores are others'.
    #[inline]
    pub fn ends_work(&self) -> bool {
        self.signals.load(Relaxed) != 0 && self.heed()
    }

    #[cold]
    fn heed(&self) -> bool {
        if let Some(Limit { until, asked }) = &self.limit
            && asked.fetch_add(1, Relaxed) % ASKED_A_LOOK == ASKED_A_LOOK - 1
            && Instant::now() >= *until
        {
            self.raise();
        }
        if self.signals.fetch_and(!SLICE_ENDS, Relaxed) & SLICE_ENDS != 0
            && let Some(Share { slices, used, has_turn }) = &self.share
        {
            let used = used.fetch_add(1, Relaxed) + 1;
            if used > FREE_SLICES {
                has_turn.store(slices.take(used, has_turn.load(Relaxed), self), Relaxed);
                self.begin_slice();
            }
        }
        self.is_raised()
    }

    /// What ended while the work waited was no slice of its own.
    fn begin_slice(&self) {
        self.signals.fetch_and(!SLICE_ENDS, Relaxed);
    }

    /// Has the work wait for something else than its turn, which is another's meanwhile.
    pub fn while_waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.leave();
        let done = wait();
        self.begin_slice();
        done
    }

    /// Called when the work ends: the turn is another's.
    pub fn leave(&self) {
        if let Some(Share { slices, has_turn, .. }) = &self.share
            && has_turn.swap(false, Relaxed)
        {
            slices.give(&mut slices.turns());
        }
    }
}

/// The turns of long work: as many at once as there are cores. Whoever has one waits for nothing else: see `Stop::while_waiting`.
#[derive(Debug)]
pub struct TimeSlices {
    began: Instant,
    turns: Mutex<Turns>,
}

#[derive(Debug)]
struct Turns {
    free: usize,
    waiting: Vec<Waiting>,
    last: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    /// The lowest goes first.
    rank: Duration,
    thread: Thread,
}

impl TimeSlices {
    pub fn new(cores: usize) -> Self {
        Self { began: Instant::now(), turns: Mutex::new(Turns { free: cores.max(1), waiting: Vec::new(), last: 0 }) }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits for a turn. Who has one keeps it while nobody goes first. False where it was stopped before.
    fn take(&self, used: u32, has_turn: bool, stop: &Stop) -> bool {
        let rank = self.began.elapsed() + SLICE * (WAIT_PER_SLICE * used);
        let mut turns = self.turns();
        if has_turn {
            if turns.waiting.iter().all(|waiting| waiting.rank > rank) {
                return true;
            }
            self.give(&mut turns);
        }
        if turns.free > 0 {
            turns.free -= 1;
            return true;
        }
        turns.last += 1;
        let ticket = turns.last;
        turns.waiting.push(Waiting { ticket, rank, thread: thread::current() });
        drop(turns);
        loop {
            thread::park_timeout(LOOK_EVERY);
            let mut turns = self.turns();
            let Some(mine) = turns.waiting.iter().position(|waiting| waiting.ticket == ticket) else { return true };
            if stop.is_raised() {
                turns.waiting.swap_remove(mine);
                return false;
            }
        }
    }

    /// To whoever goes first of those that wait.
    fn give(&self, turns: &mut Turns) {
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

    /// Work that has used so many slices asks for its turn, on a thread; tells whether it is to stop.
    fn asks(slices: &Arc<TimeSlices>, used: u32) -> (Arc<Stop>, Receiver<bool>) {
        let waiting = slices.turns().waiting.len();
        let stop = Arc::new(Stop::sharing(slices.clone()));
        stop.share.as_ref().unwrap().used.store(used, Relaxed);
        stop.end_slice();
        let (tell, told) = channel();
        let asking = stop.clone();
        thread::spawn(move || tell.send(asking.ends_work()));
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
            assert!(!stop.ends_work());
            stop.end_slice();
            assert!(!stop.ends_work());
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
        assert!(!busy.ends_work() && has_turn(&busy));
        let (_, next_told) = asks(&slices, FREE_SLICES);
        busy.share.as_ref().unwrap().used.store(2_000, Relaxed);
        busy.end_slice();
        let waits = thread::spawn(move || busy.ends_work());
        assert_eq!(next_told.recv(), Ok(false));
        slices.give(&mut slices.turns());
        assert_eq!(long_told.recv(), Ok(false));
        slices.give(&mut slices.turns());
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
        let asked = |stop: &Stop| (0..ASKED_A_LOOK).map(|_| stop.ends_work()).collect::<Vec<_>>();
        let ends = asked(&Stop::after(Duration::ZERO));
        assert_eq!(ends.iter().position(|ends| *ends), Some(ASKED_A_LOOK as usize - 1));
        assert!(!asked(&Stop::after(Duration::from_secs(3_600))).contains(&true));
    }

    #[test]
    fn work_that_shares_nothing_only_stops() {
        let stop = Stop::default();
        for _ in 0..10 {
            stop.end_slice();
            assert!(!stop.ends_work());
        }
        stop.raise();
        assert!(stop.ends_work() && stop.ends_work());
    }
}
