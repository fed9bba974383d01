//! Adapters that match messages: point-to-point needs no host then, packets of windows do.

use crate::common::{Script, cross, ideal, job, model};
use crate::windows::{Line, flush, free_window, lock_all, put, set, unlock_all, window};
use mpisim::engine::Streams;
use mpisim::hardware::profile::Profile;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Next};
use mpisim::runtime::explore::{self, Budget};
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::Choice;
use mpisim::workloads::job::Job;

const WORLD: Comm = Comm(0);
const US: u64 = 1_000_000;

fn isend(id: u32, to: u32, tag: i32, bytes: u64, mode: SendMode) -> Line {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    Next::Call(Call::Isend { request: Handle(id), to, tag, comm: WORLD, buffer, mode })
}

fn irecv(id: u32, from: u32, tag: i32) -> Line {
    let (source, buffer) = (Peer::Rank(Rank(from)), Buffer { id, bytes: 4096 });
    let tag = Some(tag);
    Next::Call(Call::Irecv { request: Handle(id), source, tag, comm: WORLD, buffer })
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

/// When each mark was passed, and how many messages adapters took.
#[track_caller]
fn told(job: Job<Script>) -> (Vec<u64>, usize) {
    let ran = cross(job).unwrap_or_else(|drift| panic!("{drift}"));
    assert_eq!(ran.outcome.ending, Ending::Finished);
    assert_eq!(ran.outcome.violations, []);
    let taken = ran.outcome.choices.iter().filter(|one| matches!(one, Choice::Match { .. }));
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
    // What answers its sender, or is too large for one packet, is the library's.
    for (mode, bytes) in [(SendMode::Synchronous, 8), (standard, 1 << 20)] {
        let sender = vec![isend(0, 1, 3, bytes, mode), wait(0)];
        let buffer = Buffer { id: 0, bytes: 1 << 20 };
        let (source, tag, comm) = (Peer::Rank(Rank(0)), Some(3), WORLD);
        let irecv = Call::Irecv { request: Handle(0), source, tag, comm, buffer };
        let receiver = vec![Next::Call(irecv), Next::Compute(100 * US), wait(0)];
        let mut job = of_two(machine(true), sender, receiver);
        job.eager_inter = Some(mpisim::units::Bytes::new(4096));
        assert_eq!(told(job).1, 0, "{mode:?}, {bytes} B");
    }
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
        job.rma.issue = mpisim::protocols::rma::Issue::Eager;
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
        let mut stream = Streams::new(seed).stream("adapters", 0);
        let mut below = |n: u64| stream.below(n);
        let mut programs = vec![Vec::new(), Vec::new()];
        for round in 0..4_u32 {
            let bytes = [0, 8, 300, 4_000][usize::try_from(below(4)).unwrap()];
            for (rank, lines) in (0..).zip(&mut programs) {
                let (peer, tag) = (1 - rank, i32::try_from(round).unwrap());
                let mut steps = vec![
                    irecv(2 * round, peer, tag),
                    isend(2 * round + 1, peer, tag, bytes, SendMode::Standard),
                ];
                if below(2) == 0 {
                    steps.reverse();
                }
                steps.insert(1, Next::Compute(below(4) * 3 * US));
                lines.extend(steps);
                lines.push(Next::Compute(below(4) * 5 * US));
                lines.extend([wait(2 * round + 1), wait(2 * round)]);
            }
        }
        let profile = model("broadwell-edr", &[("hca.matching_on_nic", "true")]);
        taken += told(job(profile, programs.into_iter().map(Script::of).collect())).1;
    }
    assert!(taken > 100, "{taken}");
}
