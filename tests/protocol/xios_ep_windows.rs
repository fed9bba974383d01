//! Windows of endpoints: every operation through the window of its thread, in both worlds.

#![allow(clippy::wildcard_enum_match_arm, reason = "a few calls of many")]

use crate::common::{Script, ideal, job, model};
use crate::layouts::{self, World};
use crate::windows::{
    EXCLUSIVE, Line, NO_OP, REPLACE, SHARED, WIN, WORD, accumulate, complete, fence, fetch, flush,
    free_window, get, lock, lock_all, operate, post, put, rma, set, start, store, sum, swap_if,
    unlock, unlock_all, wait_window, window_of, words,
};
use mpisim::hardware::profile::Profile;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Call, Comm, CommCall, Reply};
use mpisim::protocols::contract::{Handle, Next, Process, Program, Region, Space, Thread};
use mpisim::protocols::rma::call::{Flavor, Operation, RmaCall, Win};
use mpisim::runtime::explore::{self, Budget, Final, Survey, compare, replay};
use mpisim::runtime::memory::Memories;
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed;
use mpisim::workloads::job::Job;
use mpisim::workloads::xios_ep::Rules;
use mpisim::xios_ep::library::{EpCall, EpReply, SharedReply, Waiting};

/// Words of the server's memory that belong to one client.
const OWN: u64 = 6;

fn initial(client: u32) -> [u64; 6] {
    [0, 1_000, 2_000, 3_000, 4_000, 5_000].map(|value| value + u64::from(client))
}

/// What the operations of a client leave in its words.
fn left_by(client: u32) -> [u64; 6] {
    let e = u64::from(client);
    [100 + e, 1_010 + 2 * e, 2_003 + e, 7 + e, 50 + e, 5_000 + e]
}

/// Buffers of a client, and what comes back into them.
fn fetched(client: u32) -> [(u32, u64); 4] {
    let old = initial(client);
    [(4, old[2]), (6, old[3]), (8, old[4]), (9, old[5])]
}

/// The operands of a client.
fn operands(client: u32) -> Vec<Line> {
    let e = u64::from(client);
    vec![
        set(1, 0, 100 + e),
        set(2, 0, 10 + e),
        set(3, 0, 3),
        set(5, 0, 7 + e),
        set(7, 0, initial(client)[4]),
        set(7, 1, 50 + e),
    ]
}

/// One of each kind, on the client's own words: put, accumulate, get-accumulate, fetch-and-op,
/// compare-and-swap, get.
fn operations(client: u32, server: u32) -> Vec<Line> {
    let at = |word: u64| u64::from(client) * OWN + word;
    vec![
        put(server, at(0), 1),
        accumulate(server, at(1), 1, sum(), 2),
        fetch(server, at(2), sum(), 3, 4),
        fetch(server, at(3), REPLACE, 5, 6),
        swap_if(server, at(4), 7, 8),
        get(server, at(5), 1, 9),
    ]
}

/// How a client and the server synchronise.
#[derive(Clone, Copy, Debug)]
enum Epoch {
    Shared,
    Exclusive,
    All,
    Fence,
    Post,
}

const EPOCHS: [Epoch; 5] = [Epoch::Shared, Epoch::Exclusive, Epoch::All, Epoch::Fence, Epoch::Post];

impl Epoch {
    fn of_client(self, client: u32, server: u32) -> Vec<Line> {
        let (before, after) = match self {
            Self::Shared => (lock(server, SHARED), unlock(server)),
            Self::Exclusive => (lock(server, EXCLUSIVE), unlock(server)),
            Self::All => (lock_all(), unlock_all()),
            Self::Fence => (fence(), fence()),
            Self::Post => (start(&[server]), complete()),
        };
        let all = operands(client).into_iter().chain([before]);
        all.chain(operations(client, server)).chain([after]).collect()
    }

    fn of_server(self, clients: u32) -> Vec<Line> {
        match self {
            Self::Shared | Self::Exclusive | Self::All => Vec::new(),
            Self::Fence => vec![fence(), fence()],
            Self::Post => vec![post(&(0..clients).collect::<Vec<_>>()), wait_window()],
        }
    }
}

fn create(comm: Comm, bytes: u64) -> Line {
    let flavor = Flavor::Create;
    rma(RmaCall::Create { win: WIN, comm, flavor, memory: 0, bytes, unit: WORD })
}

/// Endpoint `rank` of `clients` clients and a server whose master comes after them.
fn program(epoch: Epoch, comm: Comm, rank: u32, clients: u32) -> Vec<Line> {
    let bytes = u64::from(clients) * OWN * WORD;
    let mut lines = Vec::new();
    if rank == clients {
        let values = (0..clients).flat_map(initial);
        lines.extend((0..).zip(values).map(|(index, value)| store(index, value)));
        lines.push(create(comm, bytes));
        lines.extend(epoch.of_server(clients));
    } else {
        // Clients show a word each, which nobody touches.
        lines.push(create(comm, WORD));
        lines.extend(epoch.of_client(rank, clients));
    }
    lines.push(free_window());
    lines
}

fn word_of(memories: &Memories, process: u32, memory: u32, index: u64) -> u64 {
    let region = Region { space: Space::Window(memory), offset: index * WORD, len: WORD };
    memories.load(Process(process), region)
}

/// What the server's memory must hold, and what must have come back.
#[track_caller]
fn check(memories: &Memories, counts: &[u32], width: u32, what: &str) {
    let server = u32::try_from(counts.len() - 1).unwrap();
    let clients = (0..).zip(counts).take(counts.len() - 1);
    let places =
        clients.flat_map(|(process, &threads)| (0..threads).map(move |t| (process, t, threads)));
    for (client, (process, thread, threads)) in (0..).zip(places) {
        let words =
            (0..OWN).map(|word| word_of(memories, server, 0, u64::from(client) * OWN + word));
        assert_eq!(words.collect::<Vec<_>>(), left_by(client), "{what}, client {client}");
        let threads = if width == 0 { threads } else { width };
        for (id, value) in fetched(client) {
            let region = Region::new(Space::User(id * threads + thread), WORD);
            let came = memories.load(Process(process), region);
            assert_eq!(came, value, "{what}, client {client}, buffer {id}");
        }
    }
}

/// claim: xep-win-mode
/// claim: xep-win-loop
/// claim: xep-win-ops
///
/// The document's example (two and three threads, and a server) through random orders of events.
#[test]
fn the_example_ends_with_the_same_bytes_in_every_order() {
    for epoch in EPOCHS {
        let programs = (0..6).map(|rank| layouts::Script::of(program(epoch, Comm(0), rank, 5)));
        let world = layouts::world_from(&[2, 3, 1], programs, |job| job);
        for seed in 0..40 {
            let mut world = world.clone();
            let walk = explore::walk(&mut world, 8, seed, 50_000);
            assert_eq!(walk.outcome, untimed::Outcome::Finished, "{epoch:?}, {seed}");
            assert_eq!(walk.violations, [], "{epoch:?}, {seed}");
            check(world.memories(), &[2, 3, 1], 0, &format!("{epoch:?}, {seed}"));
        }
    }
}

/// The same example out of 3 x 3 endpoints: those that are not in it have nothing to do.
fn timed(profile: Profile, nodes: u32, epoch: Epoch) -> Job<Script> {
    let lines = |rank: u32| {
        let (process, thread) = (rank / 3, rank % 3);
        let place = match (process, thread) {
            (0, 0..2) => Some(thread),
            (1, _) => Some(2 + thread),
            (2, 0) => Some(5),
            _ => None,
        };
        let color = place.map(|_| 0);
        let split = CommCall::Split { comm: Comm(0), color, key: 0, new: Comm(1) };
        let split = Next::Call(Call::Communicators(split));
        let work = place.map(|place| program(epoch, Comm(1), place, 5));
        Script::new([split].into_iter().chain(work.into_iter().flatten()))
    };
    let mut job = job(profile, (0..9).map(lines).collect());
    (job.threads, job.nodes) = (3, nodes);
    job
}

/// The timed run gives these bytes, is one of the untimed world's, and the monitors are silent.
#[test]
fn the_example_is_timed_and_crosses_the_bridge() {
    for epoch in EPOCHS {
        for (name, nodes) in [("ideal", 3), ("broadwell-edr", 3), ("knc-qdr", 1)] {
            let what = format!("{epoch:?} on {nodes} nodes of {name}");
            let profile = if name == "ideal" {
                ideal(&[("mpi.poll_per_channel", "10 ns")])
            } else {
                model(name, &[])
            };
            let job = timed(profile, nodes, epoch);
            let rules = Rules { waiting: Waiting::Serving, ..Rules::default() };
            let mut world = job.untimed_over_xios_ep(rules).unwrap();
            let ran = job.timed_over_xios_ep(rules).unwrap().run();
            assert_eq!(ran.outcome.ending, Ending::Finished, "{what}");
            assert_eq!(ran.outcome.violations, [], "{what}");
            check(&ran.memories, &[2, 3, 1], 3, &what);
            replay(&mut world, &ran.outcome.choices).unwrap_or_else(|drift| panic!("{drift}"));
            let programs = ran.programs.chunks(3).map(|programs| programs.iter().collect());
            let last = Final {
                processes: ran.machines.iter().zip(programs).collect(),
                memories: &ran.memories,
                ended: true,
            };
            let compared = compare(&world, &ran.outcome.choices, &last);
            compared.unwrap_or_else(|drift| panic!("{what}: {drift}"));
        }
    }
}

/// The one-sided calls that an endpoint of the example makes of MPI.
fn of_mpi(endpoint: u32, lines: Vec<Line>) -> Vec<RmaCall> {
    let job = layouts::endpoint_job(&[2, 3, 1], |job| job);
    let mut thread = job.thread(Rank(endpoint), layouts::Script::of(lines));
    let (mut made, mut reply) = (Vec::new(), None);
    loop {
        match thread.next(reply.take()) {
            Next::Call(EpCall::Mpi(Call::Rma(call))) => {
                made.push((*call).clone());
                reply = Some(EpReply::Mpi(Reply::Done));
            }
            Next::Call(_) => reply = Some(EpReply::Shared(SharedReply::Met(Box::default()))),
            Next::End => return made,
            Next::Compute(_) | Next::Store(..) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// claim: xep-win-route
/// claim: xep-win-N
/// claim: xep-win-ex-ep4
/// claim: xep-win-ex-null
///
/// Endpoint 4 is thread 2 of process 1: window C, process 2. Process 0 has no thread 2: its master
/// shows nothing to window C, and fences and frees it. The server makes three windows of one memory.
#[test]
fn each_thread_has_a_window_of_the_server() {
    let lines = |rank| program(Epoch::Fence, Comm(0), rank, 5);
    let creates = |rank: u32| {
        let made = of_mpi(rank, lines(rank)).into_iter().filter_map(|call| match call {
            RmaCall::Create { win, memory, bytes, .. } => Some((win, memory, bytes)),
            _ => None,
        });
        made.collect::<Vec<_>>()
    };
    let [a, b, c] = [Win(0), Win(1), Win(2)];
    assert_eq!(creates(0), [(a, 0, WORD), (c, 0, 0)]);
    assert_eq!(creates(1), [(b, 1, WORD)]);
    assert_eq!(
        [creates(2), creates(3), creates(4)].concat(),
        [(a, 0, WORD), (b, 1, WORD), (c, 2, WORD)]
    );
    let whole = 5 * OWN * WORD;
    assert_eq!(creates(5), [(a, 0, whole), (b, 0, whole), (c, 0, whole)]);
    let others = |rank: u32| {
        let made = of_mpi(rank, lines(rank)).into_iter();
        made.filter(|call| !matches!(call, RmaCall::Create { .. })).collect::<Vec<_>>()
    };
    let operates = |call: &RmaCall| match call {
        RmaCall::Operate { win, target, .. } => Some((*win, *target)),
        _ => None,
    };
    let by_4: Vec<_> = others(4).iter().filter_map(operates).collect();
    assert_eq!(by_4, [(c, Some(2)); 6]);
    let named = |rank| -> Vec<(&'static str, Win)> {
        let calls = others(rank).into_iter().filter(|call| operates(call).is_none());
        calls.map(|call| (call.name(), call.win())).collect()
    };
    let (fence, free) = ("MPI_Win_fence", "MPI_Win_free");
    assert_eq!(named(1), [(fence, b), (fence, b), (free, b)]);
    assert_eq!(named(0), [fence, fence, free].map(|name| [(name, a), (name, c)]).concat());
    assert_eq!(
        named(5),
        [fence, fence, free].map(|name| [(name, a), (name, b), (name, c)]).concat()
    );
}

/// Two clients of one process and a server; what `of` does of a client follows the creation.
fn small(counts: &[u16], of: impl Fn(u32) -> Vec<Line>, server: Vec<Line>) -> World {
    let clients: u16 = counts[..counts.len() - 1].iter().sum();
    let opened = |lines: Vec<Line>| {
        let lines = [window_of(Flavor::Create, 2)].into_iter().chain(lines);
        layouts::Script::of(lines.chain([free_window()]))
    };
    let mut scripts: Vec<_> = (0..clients.into()).map(|rank| opened(of(rank))).collect();
    scripts.push(opened(server));
    scripts.resize(layouts::size(counts) as usize, opened(Vec::new()));
    layouts::world_from(counts, scripts, |job| job)
}

#[track_caller]
#[expect(clippy::print_stdout, reason = "sizes for a reader, with --nocapture")]
fn explored(what: &str, world: &World, words: [u64; 2]) -> Survey {
    let judge = |end: &World| {
        let held = [0, 1].map(|index| word_of(end.memories(), 1, 0, index));
        (held != words).then(|| mpisim::runtime::monitors::Violation {
            id: "end",
            statement: "what the test demands of an end",
            objects: Vec::new(),
            detail: format!("{held:?} instead of {words:?}"),
        })
    };
    let survey = explore::judged(world, Budget { states: 2_000_000, reduce: true }, judge);
    println!("{what}: {} states, {} ends", survey.states, survey.finals);
    survey
}

/// Every order of events: a client process with two threads, and a server of one or two endpoints.
#[test]
fn both_threads_reach_the_server_in_every_order() {
    for counts in [&[2, 1][..], &[2, 2]] {
        let server = u32::from(counts[0]);
        let by_lock = |rank: u32| {
            let word = u64::from(rank);
            vec![
                set(1, 0, 5 + word),
                lock(server, if rank == 0 { EXCLUSIVE } else { SHARED }),
                if rank == 0 {
                    put(server, word, 1)
                } else {
                    accumulate(server, word, 1, REPLACE, 1)
                },
                unlock(server),
            ]
        };
        let survey = explored("locks", &small(counts, by_lock, Vec::new()), [5, 6]);
        assert!(survey.is_clean(), "{counts:?}: {survey:#?}");
    }
}

/// Two endpoints write one word, each by its window, one after the other for either window alone:
/// locks of two windows do not exclude each other, and neither do accumulates of both. Between two
/// processes that have one window it is in order.
#[test]
fn two_windows_of_one_memory_keep_nobody_apart() {
    let writes = |update: bool| {
        move |rank: u32| {
            let write = if update { accumulate(2, 0, 1, sum(), 1) } else { put(2, 0, 1) };
            let kind = if update { SHARED } else { EXCLUSIVE };
            vec![set(1, 0, 5 + u64::from(rank)), lock(2, kind), write, unlock(2)]
        }
    };
    for update in [false, true] {
        let apart = |counts: &[u16]| {
            let world = small(counts, writes(update), Vec::new());
            let survey = explore::exhaustive(&world, Budget { states: 300_000, reduce: true });
            let found: Vec<_> = survey.violations.iter().map(|(law, _)| law.to_string()).collect();
            found
        };
        let found = apart(&[2, 1]);
        assert!(found.iter().any(|law| law.contains("R2") && law.contains("windows")), "{found:?}");
        assert_eq!(apart(&[1, 1, 1]), [""; 0], "{update}");
    }
}

/// An operation with a request is complete when that is waited for.
#[test]
fn requests_of_operations_are_waited_for() {
    let of = |rank: u32| {
        let does = Operation::Put { origin: Region::new(Space::User(1), WORD) };
        vec![
            set(1, 0, 5 + u64::from(rank)),
            lock_all(),
            operate(2, words(rank.into(), 1), does, Some(3)),
            Next::Call(Call::Wait { request: Handle(3) }),
            flush(2),
            fetch(2, rank.into(), NO_OP, 1, 4),
            flush(2),
            unlock_all(),
        ]
    };
    let world = small(&[2, 1], of, Vec::new());
    for seed in 0..100 {
        let mut world = world.clone();
        let walk = explore::walk(&mut world, 9, seed, 20_000);
        assert_eq!((walk.outcome, walk.violations), (untimed::Outcome::Finished, vec![]));
        assert_eq!([0, 1].map(|index| word_of(world.memories(), 1, 0, index)), [5, 6]);
        assert_eq!(world.program(Process(0), Thread(1)).program().replies.len(), 9);
    }
}

/// What the library says of a call after the window was made.
fn refused(rank: u32, line: &Line) -> String {
    let of = |client: u32| if client == rank { vec![line.clone()] } else { Vec::new() };
    let mut world = small(&[2, 1], of, if rank == 2 { vec![line.clone()] } else { Vec::new() });
    let walk = explore::walk(&mut world, 10, 0, 20_000);
    let untimed::Outcome::Faulted(fault) = walk.outcome else { panic!("{:?}", walk.outcome) };
    fault.to_string()
}

/// claim: xep-win-mode
#[test]
fn what_has_no_window_is_refused_in_words() {
    let test = rma(RmaCall::Test { win: WIN });
    let other = rma(RmaCall::Sync { win: Win(3) });
    let again = window_of(Flavor::Create, 1);
    let allocated = RmaCall::Create {
        win: Win(1),
        comm: Comm(0),
        flavor: Flavor::Allocate,
        memory: 0,
        bytes: 8,
        unit: 1,
    };
    for (rank, line, words) in [
        (0, put(1, 0, 1), "MPI_Put: endpoints 0 and 1 are both clients"),
        (1, lock(0, SHARED), "MPI_Win_lock: endpoints 1 and 0 are both clients"),
        (2, put(2, 0, 1), "the server accesses itself"),
        (0, put(3, 0, 1), "there is no endpoint 3 of 3"),
        (0, put(2, 0, 1), "MPI_Put"),
        (0, test, "MPI_Win_test: the endpoint library does not offer it"),
        (0, other, "the endpoint has no window 3"),
        (0, again, "window 0 exists already"),
        (0, rma(allocated), "makes windows of memory that is there"),
    ] {
        let error = refused(rank, &line);
        assert!(error.contains(words), "{error}");
    }
}
