//! The pace of a queue pair against arithmetic on the machine `ideal`: rate and window of a controller
//! take effect, and its hooks get the moments of messages and acknowledgements.

use std::cell::RefCell;

use mpisim::hardware::pace::{Controller, Pace};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, SendMode};
use mpisim::protocols::contract::Next;
use mpisim::runtime::timed::Outcome;
use mpisim::units::{Bandwidth, Time};

use crate::common::{Script, finished, ideal, job, run};

const US: u64 = 1_000_000;
/// A packet of one MTU: a core copies it at 10 GB/s before it is posted.
const BYTES: u64 = 4_096;
/// A message of one MTU, from the doorbell until it is in the memory of its receiver: see
/// `closed_forms.rs`.
const ARRIVES: u64 = (256 + 72) + 1 + 10_000 + 80 * BYTES + US + 80 * 256 + (256 + 64);
/// An acknowledgement takes the wires' latency.
const BACK: u64 = US;

/// Process 0 sends so many messages of one MTU, one after the other.
fn messages(count: usize, pace: Pace) -> Outcome {
    let (comm, tag, buffer) = (Comm::default(), 0, Buffer { id: 0, bytes: BYTES });
    let to = Peer::Rank(Rank(1));
    let send = Next::Call(Call::Send { to, tag, comm, buffer, mode: SendMode::Standard });
    let source = Peer::Rank(Rank(0));
    let recv = Next::Call(Call::Recv { source, tag: Some(tag), comm, buffer });
    let programs = [send, recv].map(|step| Script::of(vec![step; count]));
    let mut job = job(ideal(&[]), programs.into());
    job.pace = pace;
    finished(run(job))
}

/// Time between the last two messages, in picoseconds.
fn interval(pace: Pace) -> u64 {
    let end = |count| messages(count, pace).end.as_ps();
    end(9) - end(8)
}

/// Leaves out every hook.
#[derive(Debug)]
struct Idle;

impl Controller for Idle {}

#[test]
fn a_controller_without_hooks_changes_no_time() {
    let idle = Pace::of(|| Box::new(Idle));
    assert_eq!(messages(9, idle).end, messages(9, Pace::NONE).end);
    assert_eq!(interval(idle), interval(Pace::NONE));
}

/// A hundredth of the rate of the link.
#[derive(Debug)]
struct Slow;

impl Controller for Slow {
    fn rate(&self) -> Option<Bandwidth> {
        Some(Bandwidth::from_mb_per_s(125))
    }
}

#[test]
fn a_rate_spaces_messages_by_their_bytes() {
    assert_eq!(interval(Pace::of(|| Box::new(Slow))), 8_000 * BYTES);
}

/// As many bytes under way as two messages have.
#[derive(Debug)]
struct Two;

impl Controller for Two {
    fn window(&self) -> Option<u64> {
        Some(2 * BYTES)
    }
}

/// Less than one message.
#[derive(Debug)]
struct One;

impl Controller for One {
    fn window(&self) -> Option<u64> {
        Some(1)
    }
}

#[test]
fn a_window_holds_messages_until_acknowledgements_come() {
    assert_eq!(interval(Pace::of(|| Box::new(One))), ARRIVES + BACK, "one at a time");
    let two = Pace::of(|| Box::new(Two));
    let pair = messages(10, two).end.as_ps() - messages(8, two).end.as_ps();
    assert_eq!(pair, ARRIVES + BACK, "two in that time");
}

thread_local! {
    /// Moments and bytes that a controller got: of messages sent, then of those acknowledged.
    static SEEN: RefCell<[Vec<(Time, u64)>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Keeps what its hooks get.
#[derive(Debug)]
struct Witness;

impl Controller for Witness {
    fn sent(&mut self, now: Time, bytes: u64) {
        SEEN.with_borrow_mut(|seen| seen[0].push((now, bytes)));
    }

    fn acknowledged(&mut self, now: Time, bytes: u64) {
        SEEN.with_borrow_mut(|seen| seen[1].push((now, bytes)));
    }
}

#[test]
fn a_controller_is_informed_of_each_message_and_of_its_acknowledgement() {
    messages(3, Pace::of(|| Box::new(Witness)));
    let [sent, acknowledged] = SEEN.take();
    assert_eq!((sent.len(), acknowledged.len()), (3, 3));
    for ((begun, bytes), (known, acknowledged)) in sent.into_iter().zip(acknowledged) {
        assert_eq!((bytes, acknowledged), (BYTES, BYTES));
        assert_eq!(known.since(begun).as_ps(), ARRIVES + BACK);
    }
}
