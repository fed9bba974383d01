//! Adapters that match messages: point-to-point needs no host then, packets of windows do.

use crate::common::{Script, cross, ideal, job, model};
use crate::small::Small;
use crate::windows::{Line, flush, free_window, lock_all, put, set, unlock_all, window};
use mpisim::engine::Streams;
use mpisim::hardware::profile::Profile;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Next, Process};
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::explore::{self, Budget};
use mpisim::runtime::timed::{Ending, Mark, Planted};
use mpisim::runtime::untimed::Choice;
use mpisim::units::Bytes;
use mpisim::workloads::job::Job;

const WORLD: Comm = Comm(0);
const US: u64 = 1_000_000;

fn isend(id: u32, to: u32, tag: i32, bytes: u64, mode: SendMode) -> Line {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    Next::Call(Call::Isend { request: Handle(id), to, tag, comm: WORLD, buffer, mode })
}

fn irecv_of(id: u32, from: u32, tag: i32, bytes: u64) -> Line {
    let (source, buffer) = (Peer::Rank(Rank(from)), Buffer { id, bytes });
    let tag = Some(tag);
    Next::Call(Call::Irecv { request: Handle(id), source, tag, comm: WORLD, buffer })
}

fn irecv(id: u32, from: u32, tag: i32) -> Line {
    irecv_of(id, from, tag, 4096)
}

fn wait(id: u32) -> Line {
    Next::Call(Call::Wait { request: Handle(id) })
}

/// A machine on which nothing takes time but what a test needs: a message of the adapter takes 1 us.
fn machine(matches: bool) -> Profile {
    let matches = if matches { "true" } else { "false" };
    ideal(&[
        ("hca.matching_on_nic", matches),
        ("hca.msg_rate_total", "1 Mmsg/s"),
        ("mpi.step_arrival", "100 ns"),
        ("mpi.poll_per_channel", "10 ns"),
    ])
}

fn of_two(profile: Profile, sender: Vec<Line>, receiver: Vec<Line>) -> Job<Script> {
    job(profile, vec![Script::of(sender), Script::of(receiver)])
}

const fn is_by_adapter(choice: &Choice) -> bool {
    matches!(choice, Choice::Match { .. } | Choice::Conclude { .. })
}

/// When each mark was passed, and how much adapters took.
#[track_caller]
fn told(job: Job<Script>) -> (Vec<u64>, usize) {
    let ran = cross(job).unwrap_or_else(|drift| panic!("{drift}"));
    assert_eq!(ran.outcome.ending, Ending::Finished);
    assert_eq!(ran.outcome.violations, []);
    let taken = ran.outcome.choices.iter().filter(|one| is_by_adapter(one));
    (ran.outcome.marks.iter().map(|mark| mark.at.as_ps()).collect(), taken.count())
}

/// A receiver that computes for so long beside a message that was sent after 1 us.
fn beside_computation(matches: bool, mode: SendMode, bytes: u64, compute: u64) -> (u64, usize) {
    let sender = vec![Next::Compute(US), isend(0, 1, 3, bytes, mode), wait(0)];
    let receiver =
        vec![irecv(0, 0, 3), Next::Compute(compute), Next::Mark(0), wait(0), Next::Mark(1)];
    let (marks, taken) = told(of_two(machine(matches), sender, receiver));
    (marks[1] - marks[0], taken)
}

/// The message is matched a period of the adapter after it has come, if its receiver computes then:
/// its wait finds it complete, and its core dispatches nothing.
#[test]
fn a_message_is_matched_while_its_receiver_computes() {
    let standard = SendMode::Standard;
    // Sent after 1 us, and looked at 1 us and what the wire takes later.
    let (early, taken) = beside_computation(true, standard, 8, 1_900_000);
    assert_eq!(taken, 0);
    let (late, taken) = beside_computation(true, standard, 8, 100 * US);
    assert_eq!((late, taken), (0, 1));
    let (host, taken) = beside_computation(false, standard, 8, 100 * US);
    assert_eq!(taken, 0);
    assert!(host >= 100_000 && early >= 100_000, "{host} ps, {early} ps");
}

/// A message that both sides wait for after computations of 100 us, the sender's begun first: what
/// their waits take, and how much adapters took.
#[track_caller]
fn between_computations(
    matches: bool,
    protocol: Protocol,
    mode: SendMode,
    (sent, room): (u64, u64),
) -> ([u64; 2], usize) {
    let computes = || [Next::Compute(100 * US), Next::Mark(0), wait(0), Next::Mark(1)];
    let sender = [Next::Compute(US), isend(0, 1, 3, sent, mode)].into_iter().chain(computes());
    let receiver = [irecv_of(0, 0, 3, room)].into_iter().chain(computes());
    let mut job = of_two(machine(matches), sender.collect(), receiver.collect());
    (job.mpi.eager_inter, job.mpi.rendezvous) = (Some(Bytes::new(4096)), protocol);
    let ran = cross(job).unwrap_or_else(|drift| panic!("{drift}"));
    assert_eq!((&ran.outcome.ending, &ran.outcome.violations[..]), (&Ending::Finished, &[][..]));
    let at = |process, number| {
        let of = |mark: &&Mark| (mark.process, mark.number) == (Process(process), number);
        ran.outcome.marks.iter().find(of).unwrap().at.as_ps()
    };
    let taken = ran.outcome.choices.iter().filter(|one| is_by_adapter(one)).count();
    ([0, 1].map(|process| at(process, 1) - at(process, 0)), taken)
}

/// Neither side needs a core: the receiver's adapter answers or reads, the sender's takes the answer.
/// Of a large message three things are taken: RTS, the end of the read, FIN.
#[test]
fn synchronous_and_large_messages_end_while_both_sides_compute() {
    let (standard, synchronous) = (SendMode::Standard, SendMode::Synchronous);
    for (mode, bytes, takes) in
        [(synchronous, 8, 2), (standard, 10_000, 3), (synchronous, 10_000, 3)]
    {
        let (waits, taken) = between_computations(true, Protocol::RGet, mode, (bytes, bytes));
        assert_eq!((waits, taken), ([0, 0], takes), "{mode:?}, {bytes} B");
        let (waits, taken) = between_computations(false, Protocol::RGet, mode, (bytes, bytes));
        assert_eq!(taken, 0);
        assert!(waits.iter().all(|&wait| wait > 0), "{mode:?}, {bytes} B: {waits:?}");
    }
    // A receive that is too short takes what fits.
    let short = between_computations(true, Protocol::RGet, standard, (10_000, 5_000));
    assert_eq!(short, ([0, 0], 3));
    // Where the sender writes, an adapter cannot: the host says where to, and tells the end.
    for protocol in [Protocol::RPut, Protocol::RPutImmediate, Protocol::Rtr] {
        let (waits, taken) = between_computations(true, protocol, standard, (10_000, 10_000));
        assert_eq!(taken, 0, "{protocol:?}");
        assert!(waits.iter().all(|&wait| wait > 0), "{protocol:?}: {waits:?}");
    }
}

/// What adapters send of their own crosses no bus on its way out: of RTS, request, answer and FIN, the
/// RTS crosses both, the answer and the FIN one each, and the request none.
#[test]
fn the_request_and_the_fin_of_an_adapter_cross_no_bus() {
    let fin_comes = |changes: &[(&str, &str)]| {
        let sender = vec![isend(0, 1, 3, 10_000, SendMode::Standard), wait(0), Next::Mark(0)];
        let receiver = vec![irecv_of(0, 0, 3, 10_000), Next::Compute(1_000 * US), wait(0)];
        let profile = ideal(&[&[("hca.matching_on_nic", "true")], changes].concat());
        let mut job = of_two(profile, sender, receiver);
        (job.mpi.eager_inter, job.mpi.rendezvous) = (Some(Bytes::new(4096)), Protocol::RGet);
        told(job).0[0]
    };
    let found = fin_comes(&[]);
    assert_eq!(fin_comes(&[("link.base_latency", "2 us")]) - found, 4 * US);
    assert_eq!(fin_comes(&[("pcie.mmio_write", "1 us")]) - found, 4 * US);
    // Every step of the receiver's library is the adapter's.
    assert_eq!(fin_comes(&[("mpi.step_arrival", "9 us"), ("mpi.step_completion", "0 ns")]), found);
}

/// A message that came before its receive: the host posts the receive and begins, the adapter ends it.
#[test]
fn a_receive_that_comes_late_is_begun_by_the_host() {
    let sender = vec![isend(0, 1, 3, 10_000, SendMode::Standard), Next::Compute(200 * US), wait(0)];
    let receiver = vec![
        Next::Compute(50 * US),
        irecv_of(0, 0, 3, 10_000),
        Next::Compute(50 * US),
        Next::Mark(0),
        wait(0),
        Next::Mark(1),
    ];
    let mut job = of_two(machine(true), sender, receiver);
    (job.mpi.eager_inter, job.mpi.rendezvous) = (Some(Bytes::new(4096)), Protocol::RGet);
    let (marks, taken) = told(job);
    // The RTS, which waits in the adapter, the end of the read, and FIN.
    assert_eq!((marks[1] - marks[0], taken), (0, 3));
}

/// An adapter cannot pin: who posts the receive does.
#[test]
fn a_receive_of_a_large_message_is_pinned_when_it_is_posted() {
    let posting = |matches: bool, room: u64| {
        let receiver = vec![Next::Mark(0), irecv_of(0, 0, 3, room), Next::Mark(1), wait(0)];
        let sender = vec![isend(0, 1, 3, room, SendMode::Standard), wait(0)];
        let matches = if matches { "true" } else { "false" };
        let profile = ideal(&[("hca.matching_on_nic", matches), ("hca.mem_reg_base", "7 us")]);
        let mut job = of_two(profile, sender, receiver);
        (job.mpi.eager_inter, job.mpi.rendezvous) = (Some(Bytes::new(4096)), Protocol::RGet);
        let (marks, _) = told(job);
        marks[1] - marks[0]
    };
    assert_eq!(posting(true, 10_000), 7 * US);
    assert_eq!((posting(true, 4096), posting(false, 10_000)), (0, 0));
}

/// While all threads of a process compute, nobody holds its locks: its adapter matches. While one is
/// inside the library, its polls do.
#[test]
fn an_adapter_matches_for_several_threads() {
    let run = |computes: bool| {
        let (marks, taken) = told(two_threads(computes));
        (marks[1] - marks[0], taken)
    };
    // RTS and the end of the read, by the adapter.
    assert_eq!(run(true), (0, 2));
    // By the polls of the second thread: a wait for its lock is left.
    let (lock, taken) = run(false);
    assert!(taken == 0 && lock < US, "{taken} by the adapter, {lock} ps");
    // An adapter that comes before the polls of the second thread makes a run that the rules refuse.
    let mut planted = two_threads(false);
    planted.profile = ideal(&[("hca.matching_on_nic", "true"), ("mpi.poll_per_channel", "900 ns")]);
    planted.planted = Some(Planted::AdapterBesidePolls);
    let drift = cross(planted).map(drop).expect_err("it drifts").to_string();
    assert!(drift.contains("the adapter has nothing to take"), "{drift}");
}

/// A large message to the first of two threads, which computes; the second computes as well, or waits
/// for a small message that comes later.
fn two_threads(computes: bool) -> Job<Script> {
    let small = || isend(1, 1, 9, 8, SendMode::Standard);
    let sender = vec![
        Next::Compute(US),
        isend(0, 1, 3, 10_000, SendMode::Standard),
        wait(0),
        Next::Compute(200 * US),
        small(),
        wait(1),
    ];
    let mut first = vec![
        irecv_of(0, 0, 3, 10_000),
        Next::Compute(100 * US),
        Next::Mark(0),
        wait(0),
        Next::Mark(1),
    ];
    let hears = [irecv(2, 0, 9), wait(2)];
    let mut second = vec![Next::Compute(150 * US)];
    if computes {
        first.extend(hears);
    } else {
        second = hears.into();
    }
    let programs = [sender, vec![], first, second].map(Script::of);
    let mut job = job(machine(true), programs.into());
    (job.threads, job.nodes, job.mpi.rendezvous) = (2, 2, Protocol::RGet);
    job.mpi.eager_inter = Some(Bytes::new(4096));
    job
}

/// `rma` Sec. 3.2: the handler of a put runs when its target looks into the library, whoever matches
/// messages. A message behind it waits with it, one before it does not.
#[test]
fn a_put_waits_for_the_host() {
    let run = |matches: bool, message_first: bool| {
        let message = [isend(0, 1, 3, 8, SendMode::Standard), wait(0)];
        let epoch = [set(1, 0, 7), lock_all(), put(1, 0, 1), flush(1), Next::Mark(0), unlock_all()];
        let mut sender = vec![window(1), Next::Compute(10 * US)];
        if message_first {
            sender.extend(message.into_iter().chain(epoch));
        } else {
            // The put is on its way before the message is sent.
            let [a, b, c, flushes, mark, over] = epoch;
            let [sends, waits] = message;
            sender.extend([a, b, c, sends, flushes, waits, mark, over]);
        }
        sender.push(free_window());
        let receiver = vec![
            window(1),
            irecv(0, 0, 3),
            Next::Compute(1_000 * US),
            Next::Mark(1),
            wait(0),
            free_window(),
        ];
        let mut job = of_two(machine(matches), sender, receiver);
        job.mpi.rma.issue = mpisim::protocols::rma::Issue::Eager;
        let ran = cross(job).unwrap_or_else(|drift| panic!("{drift}"));
        assert_eq!(
            (&ran.outcome.ending, &ran.outcome.violations[..]),
            (&Ending::Finished, &[][..])
        );
        let at = |number| {
            let mark = ran.outcome.marks.iter().find(|mark| mark.number == number);
            mark.unwrap().at
        };
        let taken = ran.outcome.choices.iter().filter(|one| matches!(one, Choice::Match { .. }));
        (at(0) > at(1), taken.count())
    };
    assert_eq!(run(false, true), (true, 0));
    assert_eq!(run(true, true), (true, 1));
    assert_eq!(run(true, false), (true, 0));
}

/// A large message and a synchronous one each way, and two threads that receive.
#[test]
fn every_order_of_large_messages_ends_well_with_adapters() {
    let calls = |peer: u32| {
        vec![irecv_of(0, peer, 0, 40), isend(1, peer, 0, 40, SendMode::Standard), wait(0), wait(1)]
    };
    let (small, large) = ((8, SendMode::Synchronous), (40, SendMode::Standard));
    let one_way = |(bytes, mode)| {
        let sender = vec![isend(0, 1, 0, bytes, mode), wait(0)];
        vec![vec![sender], vec![vec![irecv_of(0, 0, 0, 32), wait(0)]]]
    };
    let sender = vec![
        isend(0, 1, 0, 40, SendMode::Standard),
        isend(1, 1, 1, 8, SendMode::Synchronous),
        wait(0),
        wait(1),
    ];
    let thread = |tag| vec![irecv_of(tag, 0, i32::try_from(tag).unwrap(), 40), wait(tag)];
    let worlds = [
        one_way(small),
        one_way(large),
        vec![vec![calls(1)], vec![calls(0)]],
        vec![vec![sender], vec![thread(0), thread(1)]],
    ];
    for steps in worlds {
        let survey = |adapters| {
            let world = Small { adapters, ..Small::threads(steps.clone()) }.world();
            let survey = explore::exhaustive(&world, Budget::default());
            assert!(survey.is_clean(), "{survey:#?}");
            survey.states
        };
        let (without, with) = (survey(false), survey(true));
        assert!(with > without, "{with} states, {without} without adapters");
    }
}

/// Two messages each way, in every order of events: one is received, one is looked for first.
#[test]
fn every_order_ends_well_with_adapters() {
    let rank = |peer: u32| {
        let probe = Call::Iprobe { source: Peer::Rank(Rank(peer)), tag: Some(1), comm: WORLD };
        vec![
            irecv(0, peer, 0),
            isend(2, peer, 0, 8, SendMode::Standard),
            isend(3, peer, 1, 8, SendMode::Standard),
            Next::Call(probe),
            irecv(1, peer, 1),
            Next::Call(Call::WaitAll {
                requests: Requests::List((0..4).map(Handle).collect()),
                statuses: true,
            }),
        ]
    };
    let survey = |matches| {
        let world = of_two(machine(matches), rank(1), rank(0)).untimed().unwrap();
        let survey = explore::exhaustive(&world, Budget::default());
        assert!(survey.is_clean(), "{survey:#?}");
        survey.states
    };
    let (without, with) = (survey(false), survey(true));
    assert!(with > without, "{with} states, {without} without adapters");
}

/// Random exchanges between computations: the untimed world takes every timed run, and the monitors
/// compare every byte.
#[test]
fn random_exchanges_cross_the_bridge() {
    let mut taken = 0;
    for seed in 0..60 {
        let (threads, programs) = random_programs(seed);
        let mut job = job(
            model("broadwell-edr", &[("hca.matching_on_nic", "true")]),
            programs.into_iter().map(Script::of).collect(),
        );
        (job.threads, job.nodes, job.mpi.rendezvous) = (threads, 2, Protocol::RGet);
        job.mpi.eager_inter = Some(Bytes::new(1000));
        taken += told(job).1;
    }
    assert!(taken > 100, "{taken}");
}

/// Two processes of one or two threads, each of which exchanges with that of its number.
fn random_programs(seed: u64) -> (u16, Vec<Vec<Line>>) {
    let mut stream = Streams::new(seed).stream("adapters", 0);
    let mut below = |n: u64| stream.below(n);
    let threads = 1 + u16::try_from(below(2)).unwrap();
    let mut programs = vec![Vec::new(); usize::from(2 * threads)];
    for round in 0..4_u32 {
        for thread in 0..threads {
            let bytes = [0, 8, 300, 4_000][usize::try_from(below(4)).unwrap()];
            let mode =
                [SendMode::Standard, SendMode::Synchronous][usize::try_from(below(2)).unwrap()];
            for rank in 0..2_u32 {
                let lines =
                    &mut programs[rank as usize * usize::from(threads) + usize::from(thread)];
                let peer = 1 - rank;
                let name = 4 * round + 2 * u32::from(thread);
                let tag = i32::try_from(name).unwrap();
                let mut steps =
                    vec![irecv(name, peer, tag), isend(name + 1, peer, tag, bytes, mode)];
                if below(2) == 0 {
                    steps.reverse();
                }
                steps.insert(1, Next::Compute(below(4) * 3 * US));
                lines.extend(steps);
                lines.push(Next::Compute(below(4) * 5 * US));
                lines.extend([wait(name + 1), wait(name)]);
            }
        }
    }
    (threads, programs)
}
