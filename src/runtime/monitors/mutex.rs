//! Locks that programs make for themselves: who is inside, and in which order.
//!
//! | id | law |
//! |---|---|
//! | X1 | at most one holder |
//! | X2 | a rank that queued behind another enters when that one has left |
//! | X3 | at the end the lock is free, and every rank that queued or waited has entered |
//! | X8 | a rank that waits is overtaken no more often than the lock promises |
//!
//! A rank is overtaken when another one enters that was let in while it waited: by a rank that left
//! after it had said so.

use std::collections::BTreeMap;

use super::law::{Monitor, Violation};
use mpi::observation::{LockId, Observation};
use protocols::contract::Process;

const X1: &str = "a lock has at most one holder";
const X2: &str = "a lock is entered in the order of its queue";
const X3: &str = "at the end a lock is free, and everybody who queued has entered";
const X8: &str = "a rank that waits for a lock is overtaken no more often than the lock promises";

/// The monitor of all locks of a run.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Mutexes {
    locks: BTreeMap<LockId, State>,
    /// Entries that had to wait for another holder.
    pub contended: u64,
    /// The most times that a rank was overtaken while it waited once.
    pub overtaken: u32,
}

#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct State {
    holder: Option<u32>,
    /// Rank that left last.
    last: Option<u32>,
    /// Ranks that queued, each with its predecessor.
    queued: BTreeMap<u32, Option<u32>>,
    /// How often a rank has left.
    exits: u64,
    /// Ranks that wait without a queue.
    waiting: BTreeMap<u32, Wait>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Wait {
    /// [`State::exits`] when it began.
    since: u64,
    /// The most that the lock promises.
    most: Option<u32>,
    overtaken: u32,
}

impl Monitor for Mutexes {
    fn observe(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        match *fact {
            Observation::LockQueued { lock, behind } => {
                self.contended += u64::from(behind.is_some());
                self.locks.entry(lock).or_default().queued.insert(process.0, behind);
            }
            Observation::LockWaits { lock, most } => {
                let state = self.locks.entry(lock).or_default();
                let wait = Wait { since: state.exits, most, overtaken: 0 };
                state.waiting.entry(process.0).or_insert(wait);
            }
            Observation::LockEntered { lock } => {
                let state = self.locks.entry(lock).or_default();
                state.enter(lock, process.0, found);
                self.overtaken = self.overtaken.max(state.overtake(lock, process.0, found));
            }
            Observation::LockLeft { lock } => {
                let state = self.locks.entry(lock).or_default();
                if state.holder == Some(process.0) {
                    state.holder = None;
                }
                state.last = Some(process.0);
                state.exits += 1;
            }
            Observation::Sent { .. }
            | Observation::Posted { .. }
            | Observation::Arrived { .. }
            | Observation::Matched { .. }
            | Observation::Moved { .. }
            | Observation::Cancelled { .. }
            | Observation::Received { .. }
            | Observation::SendComplete { .. }
            | Observation::Group(_)
            | Observation::Failed(_)
            | Observation::Window(..) => {}
        }
    }

    fn end(&mut self, _: u64, found: &mut Vec<Violation>) {
        for (lock, state) in &self.locks {
            if let Some(holder) = state.holder {
                found.push(broken("X3", X3, *lock, format!("rank {holder} still holds it")));
            }
            for rank in state.queued.keys().chain(state.waiting.keys()) {
                found.push(broken("X3", X3, *lock, format!("rank {rank} never entered")));
            }
        }
    }
}

impl Mutexes {
    /// Which locks keep a rank asking since `victim` died, in words: what that holds or queues for, or
    /// else what concerns the rank itself, where the victim may have come before it could tell.
    pub fn standing_between(&self, victim: u32, rank: u32) -> Vec<String> {
        let known = self.standing_of(victim);
        if !known.is_empty() {
            return known;
        }
        let words = |(lock, state): (&LockId, &State)| {
            let stands = state.concerns(rank)?;
            Some(format!(
                "process {rank} {stands} lock {}, and process {victim} died without telling whether \
                 it holds it or queues for it",
                lock.0
            ))
        };
        self.locks.iter().filter_map(words).collect()
    }

    /// Which locks a rank holds or queues for, in words.
    fn standing_of(&self, rank: u32) -> Vec<String> {
        let words = |(lock, state): (&LockId, &State)| {
            if state.holder == Some(rank) {
                Some(format!("process {rank} holds lock {}", lock.0))
            } else {
                let queues = state.queued.contains_key(&rank);
                queues.then(|| format!("process {rank} is in the queue of lock {}", lock.0))
            }
        };
        self.locks.iter().filter_map(words).collect()
    }
}

impl State {
    /// Relation of a rank to the lock, as a verb.
    fn concerns(&self, rank: u32) -> Option<&'static str> {
        if self.holder == Some(rank) {
            Some("holds")
        } else if self.queued.contains_key(&rank) || self.waiting.contains_key(&rank) {
            Some("waits for")
        } else {
            (self.holder.is_none() && self.last == Some(rank)).then_some("lets others into")
        }
    }

    fn enter(&mut self, lock: LockId, rank: u32, found: &mut Vec<Violation>) {
        if let Some(holder) = self.holder {
            let detail = format!("rank {rank} enters while rank {holder} is inside");
            found.push(broken("X1", X1, lock, detail));
        }
        if let Some(Some(behind)) = self.queued.remove(&rank)
            && self.last != Some(behind)
        {
            let last = self.last.map_or_else(|| "nobody".to_owned(), |last| format!("rank {last}"));
            let detail = format!("rank {rank} queued behind rank {behind}, and {last} left last");
            found.push(broken("X2", X2, lock, detail));
        }
        self.holder = Some(rank);
    }

    /// `rank` enters before those who wait: the most that one of them was overtaken by now.
    fn overtake(&mut self, lock: LockId, rank: u32, found: &mut Vec<Violation>) -> u32 {
        self.waiting.remove(&rank);
        let exits = self.exits;
        let mut worst = 0;
        for (waits, wait) in self.waiting.iter_mut().filter(|(_, wait)| exits > wait.since) {
            wait.overtaken += 1;
            worst = worst.max(wait.overtaken);
            if wait.most.is_some_and(|most| wait.overtaken > most) {
                let times = wait.overtaken;
                let detail =
                    format!("rank {rank} enters, and rank {waits} is overtaken {times} times");
                found.push(broken("X8", X8, lock, detail));
            }
        }
        worst
    }
}

fn broken(id: &'static str, statement: &'static str, lock: LockId, detail: String) -> Violation {
    Violation { id, statement, objects: vec![format!("lock {}", lock.0)], detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: LockId = LockId(0);

    fn told(facts: &[(u32, Observation)]) -> Vec<&'static str> {
        let (mut monitor, mut found) = (Mutexes::default(), Vec::new());
        for (process, fact) in facts {
            monitor.observe(Process(*process), fact, &mut found);
        }
        monitor.end(0, &mut found);
        found.iter().map(|violation| violation.id).collect()
    }

    const fn queued(behind: Option<u32>) -> Observation {
        Observation::LockQueued { lock: LOCK, behind }
    }

    const ENTERED: Observation = Observation::LockEntered { lock: LOCK };
    const LEFT: Observation = Observation::LockLeft { lock: LOCK };

    #[test]
    fn one_after_the_other_in_the_order_of_the_queue_is_clean() {
        let facts = [
            (0, queued(None)),
            (2, queued(Some(0))),
            (0, ENTERED),
            (1, queued(Some(2))),
            (0, LEFT),
            (2, ENTERED),
            (2, LEFT),
            (1, ENTERED),
            (1, LEFT),
        ];
        assert!(told(&facts).is_empty());
    }

    const fn waits(most: Option<u32>) -> Observation {
        Observation::LockWaits { lock: LOCK, most }
    }

    #[test]
    fn who_was_let_in_before_does_not_overtake_and_who_is_let_in_later_does() {
        let facts = |most| {
            vec![
                (0, ENTERED),
                (0, LEFT),
                (2, waits(most)),
                // Rank 0 let it in before rank 2 waited.
                (1, ENTERED),
                (1, LEFT),
                (3, ENTERED),
                (3, LEFT),
                (2, ENTERED),
                (2, LEFT),
            ]
        };
        assert!(told(&facts(Some(1))).is_empty() && told(&facts(None)).is_empty());
        assert_eq!(told(&facts(Some(0))), ["X8"]);
        let mut monitor = Mutexes::default();
        for (process, fact) in facts(None) {
            monitor.observe(Process(process), &fact, &mut Vec::new());
        }
        assert_eq!(monitor.overtaken, 1);
        assert_eq!(told(&[(0, waits(None))]), ["X3"]);
    }

    #[test]
    fn a_victim_that_told_nothing_is_named_with_the_lock_of_who_asks() {
        let between = |facts: &[(u32, Observation)]| {
            let mut monitor = Mutexes::default();
            for (process, fact) in facts {
                monitor.observe(Process(*process), fact, &mut Vec::new());
            }
            monitor.standing_between(1, 0)
        };
        assert!(between(&[]).is_empty() && between(&[(2, ENTERED)]).is_empty());
        assert_eq!(between(&[(0, waits(None)), (1, ENTERED)]), ["process 1 holds lock 0"]);
        let untold = [
            (vec![(0, waits(None))], "process 0 waits for lock 0, and process 1 died"),
            (vec![(0, queued(Some(1)))], "process 0 waits for lock 0, and process 1 died"),
            (vec![(0, ENTERED)], "process 0 holds lock 0, and process 1 died without telling"),
            (vec![(0, ENTERED), (0, LEFT)], "process 0 lets others into lock 0, and process 1"),
        ];
        for (facts, words) in untold {
            let told = between(&facts);
            assert!(told.len() == 1 && told[0].starts_with(words), "{told:?}");
        }
    }

    #[test]
    fn two_inside_a_wrong_order_and_a_holder_at_the_end_are_found() {
        assert_eq!(told(&[(0, ENTERED), (1, ENTERED), (0, LEFT), (1, LEFT)]), ["X1"]);
        let overtaken = [
            (0, queued(None)),
            (0, ENTERED),
            (1, queued(Some(0))),
            (2, queued(Some(1))),
            (0, LEFT),
            (2, ENTERED),
            (2, LEFT),
            (1, ENTERED),
            (1, LEFT),
        ];
        assert_eq!(told(&overtaken), ["X2", "X2"]);
        assert_eq!(told(&[(0, ENTERED)]), ["X3"]);
        assert_eq!(told(&[(0, queued(None))]), ["X3"]);
    }
}
