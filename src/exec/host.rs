//! What the host gives to the processes of a job: one core with the simulator, and the same addresses in every run.

use std::sync::atomic::{AtomicUsize, Ordering};

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::sys::personality::{self, Persona};
use nix::unistd::{Pid, gettid};

use super::watch::note_once;

/// This thread and the processes that it starts run on one core, as long as it lives.
///
/// A call switches from the process to the simulator and back. On one core that takes some microseconds; where a core
/// that sleeps must be woken for it, ten times as many.
#[derive(Debug)]
pub struct OneCore {
    thread: Pid,
    before: CpuSet,
}

const IS_SLOWER: &str = "the system does not let the simulator choose its core (`sched_setaffinity`): calls of MPI take \
                         some ten times as long; results are the same";
const IS_OTHERWISE: &str = "the system does not let the simulator start processes with equal addresses (`personality`, \
                            which the profile of a container may forbid): a program whose order follows addresses may \
                            do something else in each run";

/// Jobs that have taken a core: those that run side by side take different ones.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

impl OneCore {
    /// Takes a core; `None` where the system gives none, and everything runs where it did, slower: a note says so.
    pub fn take() -> Option<Self> {
        let taken = Self::taken();
        if taken.is_none() {
            note_once(IS_SLOWER);
        }
        taken
    }

    fn taken() -> Option<Self> {
        let thread = gettid();
        let before = sched_getaffinity(thread).ok()?;
        let all: Vec<usize> =
            (0..CpuSet::count()).filter(|core| before.is_set(*core) == Ok(true)).collect();
        let here = sched_getcpu().ok()?;
        let here = all.iter().position(|core| *core == here)?;
        let taken = TAKEN.fetch_add(1, Ordering::Relaxed);
        let mut one = CpuSet::new();
        one.set(all[(here + taken) % all.len()]).ok()?;
        sched_setaffinity(thread, &one).ok()?;
        Some(Self { thread, before })
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        // The thread may have ended, and then it needs no cores.
        let _ = sched_setaffinity(self.thread, &self.before);
    }
}

/// Starts a process whose addresses are not random: a program whose order follows addresses does the same in every
/// run. Where the system does not allow that, they are random, and a note says so.
pub fn with_equal_addresses<T>(start: impl FnOnce() -> T) -> T {
    let before = equal_addresses().ok();
    if before.is_none() {
        note_once(IS_OTHERWISE);
    }
    let started = start();
    if let Some(before) = before {
        // It was this thread's a moment ago.
        let _ = personality::set(before);
    }
    started
}

fn equal_addresses() -> Result<Persona, Errno> {
    let before = personality::get()?;
    personality::set(before | Persona::ADDR_NO_RANDOMIZE)
}
