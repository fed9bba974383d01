//! The jobs behind the names: small programs over the library, real payload.

use std::sync::Arc;

use crate::planted::{Library, Planted};
use crate::script::Script;
use crate::subject::Start;
use crate::{MOST_OPS, Size};
use collectives::{Algorithm, Blocks, Collective, Kind};
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use mpi::operator::{Datatype, Operator, Reduction};
use mpi::rma::update::Effect;
use protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use protocols::contract::{Handle, Next, Process, Program, Region, Space};
use protocols::library::{Endpoints, Job, SharedJob};
use protocols::rendezvous::coop_load::{Held, Load, Raised, Unit};
use protocols::rendezvous::{Cooperation, Protocol, Scheme};
use protocols::rma::call::{At, Flavor, LockKind, Operation, RmaCall, Spacing, Win};
use protocols::rma::{self, Transport};
use runtime::memory::Payload;
use runtime::monitors::Violation;
use runtime::untimed::{Choice, World};
use units::Bytes;
use workloads::mutex::{self, Contender, Cycles, Pauses, contenders};

pub(super) type Subject = Start<Library, Script>;

/// Sent eagerly.
const SMALL: u64 = 8;
/// Sent by rendezvous.
const LARGE: u64 = 40;
/// Above this a message goes by rendezvous.
const EAGER: u64 = 16;
/// Bytes of a shared cell: a large message takes three, of which two are there.
const CELL: u64 = 16;
pub(super) const WORLD: Comm = Comm(Communicators::WORLD);

/// How the ranks of a job reach each other.
#[derive(Clone, Copy)]
pub(super) struct Wiring {
    /// How large messages move, inside a node and between two.
    scheme: Scheme,
    /// Most bytes that a core copies before it polls.
    chunk: Option<u64>,
    /// How COOP-load counts copies.
    load: Load,
    /// The transport of one-sided operations.
    transport: Transport,
    /// Whether all are on one node.
    together: bool,
}

pub(super) const APART: Wiring = Wiring {
    scheme: Scheme::Fixed(Protocol::RGet),
    chunk: None,
    load: Load { unit: Unit::Copy, held: Held::Outstanding, raised: Raised::WithChoice },
    transport: Transport::Messages,
    together: false,
};

/// A job of `programs[process][thread]`.
pub(super) fn job<P: Program<Library>>(
    programs: Vec<Vec<P>>,
    wiring: Wiring,
    planted: Planted,
) -> Start<Library, P> {
    let processes = u32::try_from(programs.len()).expect("few processes");
    let threads = |all: &Vec<P>| u16::try_from(all.len()).expect("few threads");
    let job = SharedJob::new(Job {
        communicators: Communicators::standard(processes),
        node_of: (0..processes).map(|process| if wiring.together { 0 } else { process }).collect(),
        threads: programs.iter().map(threads).collect(),
        endpoints: Endpoints::default(),
        rendezvous: match wiring.scheme {
            Scheme::Fixed(protocol) if protocol.crosses_nodes() => protocol,
            Scheme::Fixed(_) | Scheme::Coll | Scheme::Load | Scheme::Adaptive | Scheme::Hybrid => {
                Protocol::RGet
            }
        },
        cooperation: Cooperation {
            chunk: wiring.chunk.map(Bytes::new),
            free_cores: true,
            load: wiring.load,
            ..Cooperation::by(wiring.scheme)
        },
        eager_inter: Bytes::new(EAGER),
        eager_intra: Bytes::new(EAGER),
        header: Bytes::new(8),
        control: Bytes::new(8),
        cell: Bytes::new(CELL),
        cells: 2,
        adapters: false,
        partitioned: protocols::partitioned::Grouping::default(),
        vcis: protocols::library::Vcis::default(),
        rma: rma::Settings { transport: wiring.transport, ..rma::Settings::default() },
    });
    let job = planted.into_job(job);
    let library = |process| Library::new(job.clone(), Process(process));
    let processes = (0..processes).map(library).zip(programs).collect();
    Start::new(World::new(processes, Payload::Real))
}

/// One thread a process.
pub(super) fn single(programs: impl IntoIterator<Item = Vec<Call>>) -> Vec<Vec<Script>> {
    programs.into_iter().map(|calls| vec![Script::calls(calls)]).collect()
}

fn send(to: u32, tag: u32, id: u32, bytes: u64) -> Call {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    Call::Send { to, tag: number(tag), comm: WORLD, buffer, mode: SendMode::Standard }
}

fn isend(to: u32, tag: u32, id: u32, bytes: u64) -> Call {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    let (request, mode) = (Handle(id), SendMode::Standard);
    Call::Isend { request, to, tag: number(tag), comm: WORLD, buffer, mode }
}

fn irecv(from: u32, tag: u32, id: u32, bytes: u64) -> Call {
    let (source, buffer) = (Peer::Rank(Rank(from)), Buffer { id, bytes });
    Call::Irecv { request: Handle(id), source, tag: Some(number(tag)), comm: WORLD, buffer }
}

fn wait_all(first: u32, count: u32) -> Call {
    let requests = Requests::Range { first: Handle(first), count };
    Call::WaitAll { requests, statuses: true }
}

fn number(tag: u32) -> i32 {
    i32::try_from(tag).expect("few operations")
}

fn around(size: Size, rank: u32) -> (u32, u32) {
    ((rank + 1) % size.ranks, (rank + size.ranks - 1) % size.ranks)
}

/// Each rank begins to receive from the one before and to send to the next, and waits.
fn ring(size: Size, bytes: u64) -> Vec<Vec<Script>> {
    let rank = |me| {
        let (next, previous) = around(size, me);
        let sends = (0..size.ops).map(|op| isend(next, op, op, bytes));
        let receives = (0..size.ops).map(|op| irecv(previous, op, size.ops + op, bytes));
        receives.chain(sends).chain([wait_all(0, 2 * size.ops)]).collect()
    };
    single((0..size.ranks).map(rank))
}

fn in_a_ring(size: Size, planted: Planted, bytes: u64, wiring: Wiring) -> Subject {
    job(ring(size, bytes), wiring, planted)
}

pub(super) fn large_ring(size: Size, planted: Planted, protocol: Protocol) -> Subject {
    let scheme = Scheme::Fixed(protocol);
    let together = !protocol.crosses_nodes();
    in_a_ring(size, planted, LARGE, Wiring { scheme, together, ..APART })
}

/// The same inside a node, with or without chunks.
pub(super) fn near_ring(
    size: Size,
    planted: Planted,
    scheme: Scheme,
    chunk: Option<u64>,
) -> Subject {
    in_a_ring(size, planted, LARGE, Wiring { scheme, chunk, together: true, ..APART })
}

/// The same by COOP-load, under one way to count.
pub(super) fn counted_ring(
    size: Size,
    planted: Planted,
    load: Load,
    chunk: Option<u64>,
) -> Subject {
    let scheme = Scheme::Load;
    in_a_ring(size, planted, LARGE, Wiring { scheme, chunk, load, together: true, ..APART })
}

/// Each rank sends to the next and receives from the one before, one message after the other: it probes before it
/// receives, and tests its send before it waits.
pub(super) fn polling_ring(size: Size, planted: Planted) -> Subject {
    let rank = |me| {
        let (next, previous) = around(size, me);
        let steps = (0..size.ops).flat_map(|op| {
            let (sent, received) = (2 * op, 2 * op + 1);
            let (source, tag) = (Peer::Rank(Rank(previous)), Some(number(op)));
            [
                isend(next, op, sent, LARGE),
                Call::Iprobe { source, tag, comm: WORLD },
                irecv(previous, op, received, LARGE),
                Call::Wait { request: Handle(received) },
                Call::Test { request: Handle(sent) },
                Call::Wait { request: Handle(sent) },
            ]
        });
        steps.collect()
    };
    job(single((0..size.ranks).map(rank)), APART, planted)
}

/// Rank 0 makes `calls`; the others send it messages, small and large in turn.
fn to_rank_0(size: Size, planted: Planted, calls: Vec<Call>) -> Subject {
    let sends = (0..size.ops).map(|op| isend(0, 1, op, in_turn(op)));
    let sender: Vec<Call> = sends.chain([wait_all(0, size.ops)]).collect();
    let senders = vec![sender; size.ranks as usize - 1];
    job(single([calls].into_iter().chain(senders)), APART, planted)
}

pub(super) fn to_wildcards(size: Size, planted: Planted) -> Subject {
    let receive = |id| {
        let buffer = Buffer { id, bytes: LARGE };
        Call::Recv { source: Peer::Any, tag: None, comm: WORLD, buffer }
    };
    to_rank_0(size, planted, (0..(size.ranks - 1) * size.ops).map(receive).collect())
}

/// Rank 0 probes all messages, and receives the last one first.
pub(super) fn probed(size: Size, planted: Planted) -> Subject {
    let all = (size.ranks - 1) * size.ops;
    let probe =
        |id| Call::Mprobe { message: Handle(id), source: Peer::Any, tag: None, comm: WORLD };
    let receive =
        |id| Call::Mrecv { message: Handle(id), buffer: Buffer { id: all - 1 - id, bytes: LARGE } };
    let calls = (0..all).map(probe).chain((0..all).rev().map(receive));
    to_rank_0(size, planted, calls.collect())
}

/// Each process creates endpoints and frees them, the last first.
pub(super) fn freed_endpoints(size: Size, planted: Planted) -> Subject {
    const FIRST: u16 = 8;
    let count = u16::try_from(size.ops).expect("few operations");
    let create = Call::CreateEndpoints { parent: WORLD, count, first: Comm(FIRST) };
    let frees = (0..count).rev().map(|local| Call::FreeEndpoint { comm: Comm(FIRST + local) });
    let calls: Vec<Call> = [create].into_iter().chain(frees).collect();
    job(single(vec![calls; size.ranks as usize]), APART, planted)
}

/// Each looks into its channels before each send: it hears of the next one's offer, or not yet.
pub(super) fn offered_ring(
    size: Size,
    planted: Planted,
    chunk: Option<u64>,
    together: bool,
) -> Subject {
    let rank = |me| {
        let (next, previous) = around(size, me);
        let look = Call::Iprobe { source: Peer::Any, tag: Some(number(MOST_OPS)), comm: WORLD };
        let receives = (0..size.ops).map(|op| irecv(previous, op, size.ops + op, LARGE));
        let sends = (0..size.ops).flat_map(|op| [look.clone(), isend(next, op, op, LARGE)]);
        receives.chain(sends).chain([wait_all(0, 2 * size.ops)]).collect()
    };
    let scheme = Scheme::Fixed(Protocol::Rtr);
    job(single((0..size.ranks).map(rank)), Wiring { scheme, chunk, together, ..APART }, planted)
}

/// Small and large messages in turn.
const fn in_turn(op: u32) -> u64 {
    if op.is_multiple_of(2) { SMALL } else { LARGE }
}

pub(super) fn threads(size: Size, planted: Planted) -> Subject {
    let sender = |thread| {
        let first = thread * size.ops;
        Script::calls((0..size.ops).map(|op| send(1, thread, first + op, in_turn(op))).collect())
    };
    let receiver = |thread| {
        let receives = (0..size.ops).map(|op| Call::Recv {
            source: Peer::Rank(Rank(0)),
            tag: Some(number(thread)),
            comm: WORLD,
            buffer: Buffer { id: thread * size.ops + op, bytes: LARGE },
        });
        Script::calls(receives.collect())
    };
    let programs =
        vec![(0..size.ranks).map(sender).collect(), (0..size.ranks).map(receiver).collect()];
    job(programs, APART, planted)
}

/// Bytes of one element, and of one block.
const ELEMENT: u64 = 8;
const INPUT: Space = Space::User(0);
const OUTPUT: Space = Space::User(1);

/// All ranks call one collective `size.ops` times; the result must be that of its definition.
pub(super) fn collective(size: Size, planted: Planted, algorithm: Algorithm) -> Subject {
    let call = call_of(algorithm, size.ranks);
    let calls = vec![Call::Collective(Arc::new(call)); size.ops as usize];
    let start = job(single(vec![calls; size.ranks as usize]), APART, planted);
    let mut world = start.world().clone();
    for rank in 0..size.ranks {
        let bytes: Vec<u8> =
            (0..size.ranks).flat_map(|block| element(rank, block).to_le_bytes()).collect();
        // A broadcast sends from where the others receive.
        let space = if algorithm.kind() == Kind::Bcast { OUTPUT } else { INPUT };
        let has_some = algorithm.kind() != Kind::Bcast || rank == root(size.ranks).0;
        if has_some {
            world.store(Process(rank), Region::new(space, bytes.len() as u64), &bytes);
        }
    }
    let (kind, ranks) = (algorithm.kind(), size.ranks);
    start.over(world).judged(move |world| wrong_result(world, kind, ranks))
}

/// Not rank 0, where there is another.
const fn root(ranks: u32) -> Rank {
    Rank(ranks - 1)
}

/// The element that rank `rank` contributes to block `block`.
fn element(rank: u32, block: u32) -> i64 {
    i64::from(rank * 100 + block + 1)
}

fn call_of(algorithm: Algorithm, ranks: u32) -> Collective {
    let all = u64::from(ranks) * ELEMENT;
    let [input, output] = [INPUT, OUTPUT].map(|space| Region::new(space, all));
    let [one_in, one_out] = [input, output].map(|region| region.part(0, ELEMENT));
    let (root, blocks) = (root(ranks), Blocks::Equal(ELEMENT));
    let sum = Reduction::new(Operator::Sum, Datatype::Int64).expect("a sum of whole numbers");
    let call = match algorithm.kind() {
        Kind::Barrier => Collective::barrier(WORLD),
        Kind::Bcast => Collective::bcast(WORLD, root, output),
        Kind::Scatter => Collective::scatter(WORLD, root, input, blocks, one_out),
        Kind::Gather => Collective::gather(WORLD, root, one_in, output, blocks),
        Kind::Allgather => Collective::allgather(WORLD, one_in, output, blocks),
        Kind::Reduce => Collective::reduce(WORLD, root, input, output, sum),
        Kind::Allreduce => Collective::allreduce(WORLD, input, output, sum),
        Kind::ReduceScatter => {
            let blocks = Blocks::packed(&vec![ELEMENT; ranks as usize]);
            Collective::reduce_scatter(WORLD, input, one_out, blocks, sum)
        }
        Kind::ReduceScatterBlock => Collective::reduce_scatter(WORLD, input, one_out, blocks, sum),
        Kind::Alltoall => Collective::alltoall(WORLD, (input, blocks.clone()), (output, blocks)),
        Kind::Scan => Collective::scan(WORLD, input, output, sum),
        Kind::Exscan => Collective::exscan(WORLD, input, output, sum),
    };
    call.by(algorithm).expect("blocks are equal and sums commute: every algorithm fits")
}

/// The result of MPI in each block of the output of `rank`; `None` where that is not defined.
fn result(kind: Kind, ranks: u32, rank: u32) -> Option<Vec<i64>> {
    let root = root(ranks).0;
    let sum = |ranks: std::ops::Range<u32>, block: u32| ranks.map(|one| element(one, block)).sum();
    let row = |of: &dyn Fn(u32) -> i64| (0..ranks).map(of).collect();
    match kind {
        Kind::Barrier => None,
        Kind::Bcast => Some(row(&|block| element(root, block))),
        Kind::Scatter => Some(vec![element(root, rank)]),
        Kind::Gather => (rank == root).then(|| row(&|from| element(from, 0))),
        Kind::Allgather => Some(row(&|from| element(from, 0))),
        Kind::Reduce => (rank == root).then(|| row(&|block| sum(0..ranks, block))),
        Kind::Allreduce => Some(row(&|block| sum(0..ranks, block))),
        Kind::ReduceScatter | Kind::ReduceScatterBlock => Some(vec![sum(0..ranks, rank)]),
        Kind::Alltoall => Some(row(&|from| element(from, rank))),
        Kind::Scan => Some(row(&|block| sum(0..rank + 1, block))),
        Kind::Exscan => (rank > 0).then(|| row(&|block| sum(0..rank, block))),
    }
}

fn wrong_result(world: &World<Library, Script>, kind: Kind, ranks: u32) -> Option<Violation> {
    (0..ranks).find_map(|rank| {
        let expected: Vec<u8> =
            result(kind, ranks, rank)?.into_iter().flat_map(i64::to_le_bytes).collect();
        let region = Region::new(OUTPUT, expected.len() as u64);
        let found = world.memories().bytes(Process(rank), region);
        let detail = || format!("{found:?} instead of {expected:?}");
        (found != expected).then(|| Violation {
            id: "C1",
            statement: "the result of a collective is that of its definition",
            objects: vec![format!("rank {rank}")],
            detail: detail(),
        })
    })
}

/// All ranks take one mutex so many times; others may come while it is held.
pub(super) fn mutex(
    size: Size,
    planted: Planted,
    algorithm: mutex::Algorithm,
    transport: Transport,
) -> Start<Library, Contender> {
    let asked = Cycles {
        cycles: size.ops,
        inside: 0,
        outside: 0,
        marks: false,
        lingers: true,
        no_check: transport == Transport::Rdma,
        shared: false,
        pauses: Pauses::default(),
    };
    let ranks = contenders(algorithm, size.ranks, asked).into_iter().map(|one| vec![one]);
    let start = job(ranks.collect(), Wiring { transport, ..APART }, planted);
    let begun = until_all_touch(start.world().clone());
    start.over(begun)
}

/// The state in which every program is about to touch its window for the first time: what comes
/// before, the making of the window and a barrier, is done in one order.
fn until_all_touch<P: Program<Library>>(mut world: World<Library, P>) -> World<Library, P> {
    let before = |choice: &Choice| !matches!(choice, Choice::Touch { .. });
    while let Some(choice) = world.choices().into_iter().find(before) {
        world.apply(choice).expect("the world offered this choice");
    }
    world
}

/// All ranks add one to the word of rank 0 so many times.
pub(super) fn shared_window(size: Size, planted: Planted) -> Subject {
    let (win, flavor) = (Win(0), Flavor::Shared(Spacing::Contiguous));
    let rma = |call| Next::Call(Call::Rma(Arc::new(call)));
    let create =
        RmaCall::Create { win, comm: WORLD, flavor, memory: 0, bytes: ELEMENT, unit: ELEMENT };
    let sum = Reduction::new(Operator::Sum, Datatype::Int64).expect("a sum of whole numbers");
    let given = Region::new(INPUT, ELEMENT);
    let (target, at) = (Some(0), At::contiguous(0, ELEMENT));
    let (update, origin) = (Effect::Reduce(sum), Some(given));
    let does = Operation::Update { update, origin, result: None };
    let round = [
        RmaCall::Lock { win, target: 0, kind: LockKind::Shared, no_check: false },
        RmaCall::Operate { win, target, at, does, request: None },
        RmaCall::Unlock { win, target: 0 },
    ];
    let rounds = (0..size.ops).flat_map(|_| round.clone());
    let calls = [create].into_iter().chain(rounds).chain([RmaCall::Free { win }]);
    let steps: Vec<_> = [Next::Store(given, 1)].into_iter().chain(calls.map(rma)).collect();
    let programs = (0..size.ranks).map(|_| vec![Script::new(steps.clone())]).collect();
    let expected = u64::from(size.ranks * size.ops);
    let subject = job(programs, Wiring { together: true, ..APART }, planted);
    subject.judged(move |world| wrong_sum(world, expected))
}

fn wrong_sum(world: &World<Library, Script>, expected: u64) -> Option<Violation> {
    let first = Region::new(Space::Shared(0), ELEMENT);
    let found = world.memories().load(Process(0), first);
    (found != expected).then(|| Violation {
        id: "R3",
        statement: "accumulates are atomic for each element",
        objects: vec!["the first word of the window".to_owned()],
        detail: format!("{found} instead of {expected}"),
    })
}
