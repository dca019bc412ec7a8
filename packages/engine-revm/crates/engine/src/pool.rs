//! A thread pool for the EVM. Its threads may wait while JavaScript reads state, so there are more of them than cores, and libuv's pool is
//! not used.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
};

type Job = Box<dyn FnOnce() + Send>;

/// EVM frames are not on the native stack, so a simulation needs little of it.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// Starts threads on demand, up to a limit. Further jobs wait in a bounded queue. The thread that became idle last works first: its caches
/// are warm, and a light load needs few threads.
pub struct Pool {
    state: Arc<Mutex<PoolState>>,
    most: usize,
    queue: usize,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<SyncSender<Job>>,
    waiting: VecDeque<Job>,
    threads: usize,
    closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all threads work and the queue is full")]
pub struct Full;

impl Pool {
    pub fn new(threads: usize, queue: usize) -> Self {
        Self { state: Arc::default(), most: threads.max(1), queue }
    }

    /// Runs `job` on a thread of the pool. A panic ends only the job.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) -> Result<(), Full> {
        let job: Job = Box::new(job);
        let mut state = lock(&self.state);
        if let Some(thread) = state.idle.pop() {
            // An idle thread's channel is empty and has room for one job.
            return thread.try_send(job).map_err(|_| Full);
        }
        if state.threads < self.most && self.start_thread().is_ok() {
            state.threads += 1;
        } else if state.waiting.len() >= self.queue || state.threads == 0 {
            return Err(Full);
        }
        state.waiting.push_back(job);
        Ok(())
    }

    fn start_thread(&self) -> std::io::Result<()> {
        let state = self.state.clone();
        let work = move || {
            yield_to_the_event_loop();
            let (me, jobs) = sync_channel(1);
            loop {
                let next = {
                    let mut state = lock(&state);
                    let next = state.waiting.pop_front();
                    if next.is_none() {
                        if state.closed {
                            return;
                        }
                        state.idle.push(me.clone());
                    }
                    next
                };
                let Some(job) = next.or_else(|| jobs.recv().ok()) else { return };
                // Jobs report their own panics. One that does not must not end the thread.
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        };
        thread::Builder::new().name("evm".into()).stack_size(STACK_BYTES).spawn(work).map(drop)
    }
}

/// Threads end when they have no more jobs.
impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.closed = true;
        for thread in state.idle.drain(..) {
            let _ = thread.try_send(Box::new(|| ()));
        }
    }
}

fn lock(state: &Mutex<PoolState>) -> MutexGuard<'_, PoolState> {
    state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Lowers this thread's priority (per thread on Linux), so that the event loop goes first if cores are scarce.
#[cfg(target_os = "linux")]
fn yield_to_the_event_loop() {
    // SAFETY: neither system call takes a pointer.
    unsafe {
        let thread = libc::syscall(libc::SYS_gettid) as libc::id_t;
        libc::setpriority(libc::PRIO_PROCESS, thread, 5);
    }
}

#[cfg(not(target_os = "linux"))]
fn yield_to_the_event_loop() {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, time::Duration};

    #[test]
    fn runs_jobs_and_survives_a_panic() {
        let pool = Pool::new(1, 8);
        let (tell, told) = mpsc::channel();
        pool.run(|| panic!("a job that fails")).unwrap();
        pool.run(move || tell.send(7).unwrap()).unwrap();
        assert_eq!(told.recv_timeout(Duration::from_secs(5)), Ok(7));
    }

    #[test]
    fn refuses_what_the_queue_can_not_hold() {
        let pool = Pool::new(1, 1);
        let (release, gate) = mpsc::channel::<()>();
        let (tell, started) = mpsc::channel();
        pool.run(move || {
            tell.send(()).unwrap();
            let _ = gate.recv();
        })
        .unwrap();
        started.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(pool.run(|| ()), Ok(()));
        assert_eq!(pool.run(|| ()), Err(Full));
        drop(release);
    }

    #[test]
    fn a_waiting_job_does_not_hold_up_others() {
        let pool = Pool::new(4, 8);
        let (release, gate) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        pool.run(move || {
            let _ = gate.recv();
        })
        .unwrap();
        for number in 0..3 {
            let tell = tell.clone();
            pool.run(move || tell.send(number).unwrap()).unwrap();
        }
        for _ in 0..3 {
            told.recv_timeout(Duration::from_secs(5)).unwrap();
        }
        drop(release);
    }
}
