//! Threads that share a process: locks, turns of polling, fork and join, and what they cost.

use crate::common::{Script, at, finished, ideal, job, model, run};
use mpisim::hardware::profile::Profile;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Next};
use mpisim::runtime::account::{Account, Part};
use mpisim::runtime::timed::{Ending, LockOrder, Outcome};
use mpisim::units::TimeDelta;
use mpisim::workloads::job::Job;

fn isend(request: u32, to: u32, tag: i32) -> Next<Call> {
    Next::Call(Call::Isend {
        request: Handle(request),
        to: Peer::Rank(Rank(to)),
        tag,
        comm: Comm::default(),
        buffer: Buffer { id: request, bytes: 0 },
        mode: SendMode::Standard,
    })
}

fn recv(source: u32, tag: i32) -> Next<Call> {
    Next::Call(Call::Recv {
        source: Peer::Rank(Rank(source)),
        tag: Some(tag),
        comm: Comm::default(),
        buffer: Buffer { id: 1_000 + tag.unsigned_abs(), bytes: 0 },
    })
}

fn wait_all(first: u32, count: u32) -> Next<Call> {
    Next::Call(Call::WaitAll {
        requests: Requests::Range { first: Handle(first), count },
        statuses: false,
    })
}

/// `threads` threads of process 0 send `count` messages each to a process of one other node, whose
/// threads receive them.
fn senders(profile: Profile, threads: u16, count: u32, order: LockOrder) -> Job<Script> {
    let mut programs = Vec::new();
    for thread in 0..u32::from(threads) {
        let first = thread * count;
        let sends = (first..first + count).map(|i| isend(i, 1, i32::try_from(i).unwrap()));
        programs.push(Script::new(sends.chain([wait_all(first, count)])));
    }
    for thread in 0..u32::from(threads) {
        let tags = (thread * count..(thread + 1) * count).map(|i| i32::try_from(i).unwrap());
        programs.push(Script::new(tags.map(|tag| recv(0, tag))));
    }
    let mut job = job(profile, programs);
    (job.threads, job.mpi.lock) = (threads, order);
    job
}

fn sum(accounts: &[Account]) -> Account {
    let mut sum = Account::default();
    for account in accounts {
        sum += *account;
    }
    sum
}

/// A machine on which only the library's own code and its lock take time.
fn lock_bound(step: &str) -> Profile {
    ideal(&[
        ("mpi.step_send", step),
        ("mpi.lock_uncontended", "50 ns"),
        ("mpi.lock_handoff_same_socket", "300 ns"),
        ("coh.line_same_socket", "200 ns"),
    ])
}

#[test]
fn two_senders_under_one_lock_take_turns_in_closed_form() {
    // Each call: 1 us inside. Alone, a thread pays the uncontended lock each time; two threads hand
    // it over each time, and the other's hold lies between.
    let (count, us) = (10, 1_000_000);
    let one = finished(run(senders(lock_bound("1 us"), 1, count, LockOrder::Fair)));
    let alone = sum(&one.accounts[..1]);
    assert_eq!(alone.of(Part::Lock).as_ps(), 0, "one thread takes no lock");
    assert_eq!(alone.of(Part::Library).as_ps(), u64::from(count) * us);

    let two = finished(run(senders(lock_bound("1 us"), 2, count, LockOrder::Fair)));
    let [first, second] = [two.accounts[0], two.accounts[1]];
    let sends = 2 * u64::from(count);
    // The first grant is uncontended, all others are handed over; then come two waits.
    let held = (first.held + second.held).as_ps();
    assert!(held >= sends * us + 50_000 + (sends - 1) * 300_000, "{held}");
    assert_eq!(first.taken + second.taken, sends + 2);
    // Wait and hold together are all the time of a thread that does nothing else.
    for account in [first, second] {
        let inside = account.of(Part::Lock) + account.of(Part::Library);
        assert_eq!(inside, account.total(), "{account:?}");
        let overlap = account.total() - account.of(Part::Lock) - account.of(Part::Library);
        assert_eq!(overlap, TimeDelta::ZERO);
    }
    // The lock is never free while somebody sends: the last send ends when all holds have passed.
    let until = first.total().max(second.total()).as_ps();
    assert_eq!(until, held, "one hold after the other, from the start to the end");
}

#[test]
fn more_threads_send_no_faster_than_the_lock_allows() {
    let time = |threads: u16| {
        let outcome = finished(run(senders(
            lock_bound("1 us"),
            threads,
            100 / u32::from(threads),
            LockOrder::Fair,
        )));
        outcome.accounts[..usize::from(threads)].iter().map(Account::total).max().unwrap().as_ps()
    };
    let (one, two, four) = (time(1), time(2), time(4));
    assert!(two > one && four > one, "handing over costs: {one} {two} {four}");
    assert!(four < two + two / 10, "and the hold does not depend on who waits: {two} {four}");
}

/// One thread of process 0 sends with work in between; the others wait for messages that come late.
fn with_idle_pollers(order: LockOrder, idle: u16) -> Outcome {
    let count = 50;
    let work = Next::Compute(2_000_000);
    let sends = (0..count).flat_map(|i| [work.clone(), isend(i, 1, 0)]);
    let last = (1..=i32::from(idle)).map(|tag| isend(100 + tag.unsigned_abs(), 1, 100 + tag));
    let busy = [Next::Mark(0)].into_iter().chain(sends).chain([Next::Mark(1), wait_all(0, count)]);
    let mut programs = vec![Script::new(busy.chain(last).chain([wait_all(101, u32::from(idle))]))];
    programs.extend((1..=i32::from(idle)).map(|tag| Script::new([recv(1, tag)])));
    let mut answers: Vec<Next<Call>> = (0..count).map(|_| recv(0, 0)).collect();
    for tag in 1..=i32::from(idle) {
        answers.extend([recv(0, 100 + tag), isend(200 + tag.unsigned_abs(), 0, tag)]);
    }
    answers.push(wait_all(201, u32::from(idle)));
    programs.push(Script::new(answers));
    programs.extend((0..idle).map(|_| Script::new([])));
    let mut job = job(model("knc-qdr", &[]), programs);
    (job.threads, job.mpi.lock) = (idle + 1, order);
    finished(run(job))
}

#[test]
fn idle_pollers_keep_a_sender_out() {
    let time = |order, idle| {
        let outcome = with_idle_pollers(order, idle);
        at(&outcome, 0, 1) - at(&outcome, 0, 0)
    };
    for order in [LockOrder::Fair, LockOrder::Unfair] {
        let alone = time(order, 0);
        let (one, three) = (time(order, 1), time(order, 3));
        assert!(alone < one, "{order:?}: a turn of polling stands before a send: {alone} {one}");
        assert!(one < three, "{order:?}: three stand longer: {one} {three}");
    }
}

#[test]
fn fair_and_unfair_locks_differ() {
    let wait = |order| {
        let outcome = finished(run(senders(model("knc-qdr", &[]), 4, 50, order)));
        let taken = outcome.accounts[..4].iter().map(|account| account.taken).collect::<Vec<_>>();
        (outcome.end, taken)
    };
    assert_ne!(wait(LockOrder::Fair), wait(LockOrder::Unfair));
}

#[test]
fn threads_are_created_one_after_the_other_and_joined() {
    let costs = [("os.thread_create", "100 us"), ("os.thread_join", "10 us")];
    let work = |us: u64| Next::Compute(us * 1_000_000);
    let first = Script::new([Next::Mark(0), Next::Fork, Next::Mark(1), Next::Join, Next::Mark(2)]);
    let others = [30, 500, 20].map(|us| Script::new([Next::Mark(3), work(us), Next::Mark(4)]));
    let mut programs = vec![first];
    programs.extend(others);
    let mut job = job(ideal(&costs), programs);
    (job.threads, job.nodes) = (4, 1);
    let outcome = finished(run(job));
    let of = |thread: u16, number: u32| {
        let mut marks = outcome.marks.iter();
        let mark = marks.find(|mark| mark.thread.0 == thread && mark.number == number);
        mark.unwrap().at.as_ps() / 1_000_000
    };
    assert_eq!([of(0, 0), of(0, 1)], [0, 300], "the creator pays for three threads");
    assert_eq!([of(1, 3), of(2, 3), of(3, 3)], [100, 200, 300], "each begins when it is created");
    assert_eq!(of(2, 4), 700);
    assert_eq!(of(0, 2), 730, "the last ends at 700 us, then three are joined");
}

#[test]
fn a_deadlock_of_pollers_under_a_lock_is_found() {
    for order in [LockOrder::Fair, LockOrder::Unfair] {
        let programs = vec![
            Script::new([recv(1, 0)]),
            Script::new([recv(1, 1)]),
            Script::new([recv(0, 0)]),
            Script::new([]),
        ];
        let mut job = job(model("knc-qdr", &[]), programs);
        (job.threads, job.mpi.lock) = (2, order);
        let outcome = run(job);
        let Ending::Deadlock(found) = outcome.ending else { panic!("{:?}", outcome.ending) };
        let words = found.to_string();
        assert!(words.contains("MPI_Recv"), "{words}");
        assert!(words.contains("process 0, thread 1"), "{words}");
    }
}
