//! Threads that share a process, and long queues: whole runs against what must come out exactly.

use crate::common::{finished, ideal, job};
use mpisim::mpi::envelope::Rank;
use mpisim::runtime::account::{Account, Part};
use mpisim::runtime::timed::{Mark, Outcome};
use mpisim::units::{Time, TimeDelta};
use mpisim::workloads::backlog::{Backlog, Queue, Side};
use mpisim::workloads::job::{AnyProgram, duplicate};
use mpisim::workloads::metric::brackets;
use mpisim::workloads::ping_pong::PingPong;
use mpisim::workloads::windowed::{Direction, END, START, Share, Windowed};

const ROUNDS: u32 = 4;
const CREATE: &str = "20 us";
const JOIN: &str = "3 us";

#[track_caller]
fn mark(outcome: &Outcome, process: u32, thread: u16, number: u32) -> Mark {
    let is_it =
        |mark: &&Mark| (mark.process.0, mark.thread.0, mark.number) == (process, thread, number);
    *outcome.marks.iter().find(is_it).expect("the thread marks this moment")
}

#[track_caller]
fn rounds_of(outcome: &Outcome, process: u32, thread: u16) -> Account {
    let at = |number| mark(outcome, process, thread, number).account;
    at(END) - at(START)
}

/// Entries that both ranks of a ping-pong inspect in a round, rank 1 with a long queue.
fn inspected(queue: Queue, length: u32) -> [u64; 2] {
    let rank = |me: u32| {
        let side = if me == 1 { Side::Holds } else { Side::Feeds };
        let peer = Rank(1 - me);
        let program = PingPong::new(peer, me == 0, 8, 1, ROUNDS);
        AnyProgram::PingPong(program.with_backlog(Backlog::new(queue, side, length, peer, 8)))
    };
    let ran = job(ideal(&[]), vec![rank(0), rank(1)]).run().expect("it fits the machine");
    let longest = ran.machines[1].longest();
    let found = match queue {
        Queue::Expected => longest.posted,
        Queue::Unexpected => longest.unexpected,
    };
    assert!(found as u64 >= u64::from(length), "the queue was {found} long, of {length}");
    let outcome = finished(ran.outcome);
    let of = |(start, end): (&Mark, &Mark)| {
        (start.process.0, (end.account - start.account).entries / u64::from(ROUNDS))
    };
    let mut both: Vec<(u32, u64)> = brackets(&outcome).map(of).collect();
    both.sort_unstable();
    [both[0].1, both[1].1]
}

#[test]
fn a_message_inspects_all_of_the_queue_and_its_match() {
    for queue in [Queue::Expected, Queue::Unexpected] {
        for length in [0, 1, 2, 5, 17, 300] {
            let [leader, holder] = inspected(queue, length);
            assert_eq!(holder, u64::from(length) + 1, "{queue:?} {length}");
            assert_eq!(leader, 1, "the other rank has no long queue");
        }
    }
}

/// A sender and a receiver of `threads` threads each, on two nodes.
fn pair(threads: u16, share: fn(u16) -> Share, queue: Option<(Queue, u32)>) -> Outcome {
    let rank = |me: u32, direction, side| {
        let peer = Rank(1 - me);
        (0..threads).map(move |thread| {
            let program = Windowed::new(peer, direction, 8, 16, 1, ROUNDS);
            let program = program.of_threads(threads, share(thread));
            AnyProgram::Windowed(match queue.filter(|_| thread == 0) {
                Some((queue, length)) => {
                    program.with_backlog(Backlog::new(queue, side, length, peer, 8))
                }
                None => program,
            })
        })
    };
    let sends = rank(0, Direction::Sends, Side::Feeds);
    let receives = rank(1, Direction::Receives, Side::Holds);
    let profile = ideal(&[("os.thread_create", CREATE), ("os.thread_join", JOIN)]);
    let mut job = job(profile, sends.chain(receives).collect());
    job.threads = threads;
    job.duplicates = threads;
    finished(job.run().expect("it fits the machine").outcome)
}

/// Creating and joining threads lies between the marks of the first one.
///
/// claim: ep-cfg-threads
#[test]
fn threads_are_created_and_joined_in_the_timed_region() {
    let [create, join] = [CREATE, JOIN].map(|text| text.parse::<TimeDelta>().expect("a time"));
    for threads in [2, 4] {
        let outcome = pair(threads, Share::tagged, None);
        for process in [0, 1] {
            let start = mark(&outcome, process, 0, START).at;
            for thread in 1..threads {
                let born = mark(&outcome, process, thread, START).at;
                assert_eq!(born.since(start), create * u64::from(thread));
            }
            let born = u64::from(threads - 1);
            let outside = rounds_of(&outcome, process, 0).of(Part::Outside);
            assert_eq!(outside, create * born + join * born);
            let others = (1..threads).map(|thread| mark(&outcome, process, thread, END).at);
            let last = others.max().unwrap_or(Time::ZERO);
            assert!(mark(&outcome, process, 0, END).at >= last + join * born);
        }
    }
}

#[test]
fn a_thread_that_is_alone_takes_no_lock_and_creates_nobody() {
    let outcome = pair(1, Share::tagged, None);
    for process in [0, 1] {
        let account = rounds_of(&outcome, process, 0);
        assert_eq!(account.taken, 0);
        assert_eq!(account.of(Part::Outside), TimeDelta::ZERO);
    }
}

/// Contexts instead of tags: neither another channel nor another queue.
#[test]
fn duplicated_communicators_change_no_moment() {
    let on_duplicates = |thread| Share::on(thread, duplicate(thread));
    for threads in [1, 2, 3] {
        let (tagged, duplicated) =
            (pair(threads, Share::tagged, None), pair(threads, on_duplicates, None));
        assert_eq!(tagged.marks, duplicated.marks, "{threads} threads");
    }
}

#[test]
fn threads_walk_past_what_stands_in_the_queue_of_their_process() {
    for queue in [Queue::Expected, Queue::Unexpected] {
        let inspected = |length| {
            let outcome = pair(2, Share::tagged, Some((queue, length)));
            (0..2).map(|thread| rounds_of(&outcome, 1, thread).entries).sum::<u64>()
        };
        // 16 messages a round and thread; with more entries the threads may interleave otherwise.
        let messages = 2 * 16 * u64::from(ROUNDS);
        let (few, many) = (inspected(10), inspected(210));
        let grown = many - few;
        assert!(grown >= 200 * messages * 9 / 10, "{queue:?}: {grown}");
        assert!(grown <= 200 * messages * 11 / 10, "{queue:?}: {grown}");
    }
}
