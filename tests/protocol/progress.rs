//! Progress threads under every order of events: the rank computes, its agent handles what arrives, or
//! not yet, and the rank's next call finds it done, half done, or still to come.

use crate::common::{cross, ideal, job, model};
use crate::small::{AssistedWorld, Small, WORLD, all, irecv, isend, recv, send, wait_all};
use mpisim::protocols::call::{Call, Outcome, Reply};
use mpisim::protocols::contract::{Handle, Next, Process, Thread};
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::monitors::Violation;
use mpisim::runtime::timed::{Ending, LockOrder};
use mpisim::units::Bytes;
use mpisim::workloads::job::{Flow, ping_pong, windowed};

const FAR: [Protocol; 3] = [Protocol::RPut, Protocol::RGet, Protocol::RPutImmediate];
const NEAR: [Scheme; 8] = [
    Scheme::Fixed(Protocol::RPut),
    Scheme::Fixed(Protocol::RGet),
    Scheme::Fixed(Protocol::CoopP2p),
    Scheme::Fixed(Protocol::CoopHca),
    Scheme::Coll,
    Scheme::Load,
    Scheme::Adaptive,
    Scheme::Hybrid,
];

/// What the first thread of a process received: sizes, in the order of its calls.
fn received(world: &AssistedWorld, process: u32) -> Vec<u64> {
    let program = world.program(Process(process), Thread(0)).program();
    let replies = program.expect("the rank's own thread").replies.iter();
    let outcomes = replies.flat_map(|reply| match reply {
        Reply::Outcome(outcome) | Reply::Tested(Some(outcome)) => vec![*outcome],
        Reply::All(outcomes) => outcomes.to_vec(),
        Reply::Done
        | Reply::Any { .. }
        | Reply::Tested(None)
        | Reply::AllTested(_)
        | Reply::AnyTested(_)
        | Reply::Some(_)
        | Reply::Probed(_)
        | Reply::Compared(_)
        | Reply::Flag(_)
        | Reply::Part(..)
        | Reply::Numbers(_) => vec![],
    });
    let sizes = outcomes.filter_map(|outcome| match outcome {
        Outcome::Received(status) => Some(status.count),
        Outcome::Truncated(_) | Outcome::Sent | Outcome::Cancelled => None,
    });
    sizes.collect()
}

/// Every order ends well, and process 1 has received messages of these sizes, each once.
#[track_caller]
fn check_clean(small: &Small, expected: &'static [u64]) -> Survey {
    let judge = |world: &AssistedWorld| {
        let mut sizes = received(world, 1);
        sizes.sort_unstable();
        let (statement, objects) = ("each message is received once", Vec::new());
        let broken = Violation { id: "end", statement, objects, detail: format!("{sizes:?}") };
        (sizes != expected).then_some(broken)
    };
    let budget = Budget { reduce: true, ..Budget::default() };
    let survey = explore::judged(&small.assisted(|job| job), budget, judge);
    assert!(survey.is_clean(), "{:?}, {:?}: {survey:#?}", small.near, small.rendezvous);
    survey
}

/// Begin, compute, wait; the same without the computation; or a computation and a blocking call.
fn ways(begin: Call, blocking: Call, request: u32) -> [Vec<Next<Call>>; 3] {
    let work = Next::Compute(1);
    let wait = Next::Call(wait_all(request, 1));
    [
        vec![Next::Call(begin.clone()), work.clone(), wait.clone()],
        vec![Next::Call(begin), wait],
        vec![work, Next::Call(blocking)],
    ]
}

fn pairs(bytes: u64) -> Vec<Vec<Vec<Vec<Next<Call>>>>> {
    let senders = ways(isend(WORLD, 0, 1, 1, bytes), send(WORLD, 1, 1, bytes), 0);
    let receive = recv(WORLD, Some(0), Some(1), 1, bytes);
    let receivers = ways(irecv(WORLD, Some(0), Some(1), 1), receive, 1);
    let with = |sender: &Vec<Next<Call>>| {
        let sender = sender.clone();
        receivers.clone().map(|receiver| vec![vec![sender.clone()], vec![receiver]])
    };
    senders.iter().flat_map(with).collect()
}

#[test]
fn one_message_between_nodes_is_right_in_every_order() {
    let mut states = 0;
    for rendezvous in FAR {
        for (bytes, sizes) in [(8, &[8_u64]), (40, &[40])] {
            for steps in pairs(bytes) {
                let small = Small { rendezvous, ..Small::threads(steps) };
                states += check_clean(&small, sizes).states;
            }
        }
    }
    assert!(states > 1_000, "{states} states");
}

#[test]
fn one_message_inside_a_node_is_right_in_every_order() {
    // Chunks and counters are work that each thread has begun for itself.
    let mut states = 0;
    for scheme in NEAR {
        for chunk in [None, Some(16)] {
            let (chunk, page) = (chunk.map(Bytes::new), Bytes::new(1));
            let near = Cooperation { chunk, page, free_cores: true, ..Cooperation::by(scheme) };
            for steps in pairs(40) {
                let small = Small { near: Some(near.clone()), ..Small::threads(steps) };
                states += check_clean(&small, &[40]).states;
            }
        }
    }
    assert!(states > 5_000, "{states} states");
}

#[test]
fn a_rank_that_tests_finds_its_message_once() {
    for rendezvous in FAR {
        let sender = all([send(WORLD, 1, 1, 40), send(WORLD, 1, 2, 8)]);
        let test = Next::Call(Call::Test { request: Handle(1) });
        let first = Next::Call(irecv(WORLD, Some(0), Some(1), 1));
        // The second message is behind the first: once it is here, the test may still be early.
        let second = Next::Call(recv(WORLD, Some(0), Some(2), 2, 8));
        let receiver = vec![first, second, test];
        let small = Small { rendezvous, ..Small::threads(vec![vec![sender], vec![receiver]]) };
        let survey = explore::judged(
            &small.assisted(|job| job),
            Budget { reduce: true, ..Budget::default() },
            |world| {
                let sizes = received(world, 1);
                let (statement, objects) = ("a test gives a message once", Vec::new());
                let detail = format!("{sizes:?}");
                let once = [vec![8], vec![8, 40]].contains(&sizes);
                (!once).then_some(Violation { id: "end", statement, objects, detail })
            },
        );
        assert!(survey.faults.is_empty() && survey.dead == 0, "{survey:#?}");
        let other: Vec<_> =
            survey.violations.iter().filter(|(broken, _)| broken.id != "S4").collect();
        assert!(other.is_empty(), "{other:#?}");
    }
}

/// A timed run with progress threads is one that the untimed world could make.
#[test]
fn runs_with_agents_cross_the_bridge() {
    for name in ["ideal", "broadwell-edr"] {
        for bytes in [8, 300_000] {
            for lock in [LockOrder::Fair, LockOrder::Unfair] {
                for nodes in [1, 2] {
                    let mut one = job(model(name, &[]), ping_pong(bytes, 1, 3)).assisted();
                    (one.mpi.lock, one.nodes) = (lock, nodes);
                    let ran = cross(one).expect("the untimed world accepts the run");
                    assert_eq!(ran.outcome.ending, Ending::Finished);
                    assert_eq!(ran.outcome.violations, []);
                }
                let windows = windowed(1, Flow::BothInOne, bytes, 2, 0, 2);
                let mut many = job(model(name, &[]), windows).assisted();
                many.mpi.lock = lock;
                let ran = cross(many).expect("the untimed world accepts the run");
                assert_eq!(
                    (ran.outcome.ending, ran.outcome.violations),
                    (Ending::Finished, vec![])
                );
            }
        }
    }
    for scheme in NEAR {
        let mut near = job(ideal(&[]), windowed(1, Flow::OneWay, 300_000, 2, 0, 2)).assisted();
        let chunk = Some(Bytes::kib(64));
        (near.nodes, near.mpi.cooperation) = (1, Cooperation { chunk, ..Cooperation::by(scheme) });
        let ran = cross(near).expect("the untimed world accepts the run");
        assert_eq!(
            (ran.outcome.ending, ran.outcome.violations),
            (Ending::Finished, vec![]),
            "{scheme:?}"
        );
    }
}
