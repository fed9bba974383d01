//! How far a job is, for those who watch it: the time of the simulation, and the calls of its ranks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// How far a job is.
#[derive(Debug)]
pub struct Live {
    /// Simulated picoseconds.
    time: AtomicU64,
    /// By rank.
    calls: Box<[AtomicU64]>,
}

/// The job that was started last, while it is there.
static LAST: Mutex<Weak<Live>> = Mutex::new(Weak::new());

impl Live {
    /// A job of so many ranks begins.
    pub fn begin(ranks: u32) -> Arc<Self> {
        let calls = (0..ranks).map(|_| AtomicU64::new(0)).collect();
        let live = Arc::new(Self { time: AtomicU64::new(0), calls });
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&live);
        live
    }

    /// A rank goes on at this time.
    pub fn goes_on_at(&self, ps: u64) {
        self.time.fetch_max(ps, Ordering::Relaxed);
    }

    /// A rank calls MPI.
    pub fn calls(&self, rank: u32) {
        self.calls[rank as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn look(&self) -> Look {
        let calls = self.calls.iter().map(|calls| calls.load(Ordering::Relaxed));
        let slowest = (0..).zip(calls.clone()).min_by_key(|&(_, calls)| calls);
        Look { ps: self.time.load(Ordering::Relaxed), calls: calls.sum(), slowest }
    }
}

/// How far the job is now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Look {
    /// Simulated picoseconds.
    pub ps: u64,
    /// Calls of MPI of all ranks.
    pub calls: u64,
    /// The rank that has called least, and how often.
    pub slowest: Option<(u32, u64)>,
}

/// How far the job is that was started last; `None` where it is over.
pub fn look() -> Option<Look> {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
    last.map(|live| live.look())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_rank_has_called_least() {
        let live = Live::begin(3);
        for rank in [0, 1, 2, 0, 2] {
            live.calls(rank);
        }
        live.goes_on_at(700);
        live.goes_on_at(500);
        assert_eq!(live.look(), Look { ps: 700, calls: 5, slowest: Some((1, 1)) });
    }
}
