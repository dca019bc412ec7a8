//! Threads of our own: an EVM thread may wait for JavaScript, so there are more of them than cores, and never libuv's.

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

type Job = Box<dyn FnOnce() + Send>;

/// EVM frames are not on the native stack, but a simulation's own calls are shallow: this is ample.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// Threads made as they are needed, up to a bound; jobs beyond them wait in a bounded queue.
pub struct Pool {
    jobs: Sender<Job>,
    queue: Receiver<Job>,
    /// Threads that wait for a job, less the jobs that wait for a thread.
    idle: Arc<AtomicUsize>,
    threads: AtomicUsize,
    most: usize,
}

/// All threads work and the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl Pool {
    pub fn new(threads: usize, queue: usize) -> Self {
        let (jobs, receiver) = bounded(queue);
        Self { jobs, queue: receiver, idle: Arc::default(), threads: AtomicUsize::new(0), most: threads.max(1) }
    }

    /// Runs `job` on a thread of the pool. A panic ends the job, not the thread.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) -> Result<(), Full> {
        let taken = self.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, |idle| idle.checked_sub(1));
        if taken.is_err() {
            self.grow();
        }
        match self.jobs.try_send(Box::new(job)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Err(Full),
        }
    }

    fn grow(&self) {
        let more = |threads: usize| (threads < self.most).then_some(threads + 1);
        let Ok(number) = self.threads.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) else { return };
        let (queue, idle) = (self.queue.clone(), self.idle.clone());
        let work = move || {
            yield_to_the_event_loop();
            while let Ok(job) = queue.recv() {
                // A job hands its own panic on; what escapes it must not end the thread.
                let _ = catch_unwind(AssertUnwindSafe(job));
                if queue.is_empty() {
                    idle.fetch_add(1, Ordering::AcqRel);
                }
            }
        };
        let started = thread::Builder::new().name(format!("evm-{number}")).stack_size(STACK_BYTES).spawn(work);
        if started.is_err() {
            self.threads.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// On Linux priority is a thread's own: where cores are few, the thread that serves everybody goes first.
#[cfg(target_os = "linux")]
fn yield_to_the_event_loop() {
    // SAFETY: plain system calls without pointers.
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
