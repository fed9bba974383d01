//! Collectives by processes with several threads.
//!
//! With endpoints every thread takes part as a rank of its own:
//!
//! ```text
//!   thread 0   create, fork, barrier ── warm-up ── barrier ── START ── rounds ── END, join, free
//!   thread i                 barrier ── warm-up ── barrier ── START ── rounds ── END
//! ```
//!
//! Where the creation is measured, START is the first mark of every thread, and nothing warms up.
//!
//! Funnelled, only the first thread of a process calls the collective of the processes; its team
//! combines and distributes inside the process. Threads have no flags of their own
//! here: the steps inside are collectives of endpoints over `MPI_COMM_SELF`, which move the same
//! bytes through the memory that the team shares.
//!
//! ```text
//!   allreduce:  team reduces to thread 0 ──▶ allreduce of thread 0 ──▶ thread 0 broadcasts
//! ```
//!
//! Source: `endpoints` Listing 1 and Sec. 5.1. Left out: a barrier of the threads themselves, as
//! an OpenMP runtime has it, which would cost less than a message. Noticeable for short vectors.

use super::job::AnyProgram;
use super::score::{Score, Section};
use super::windowed::{Creation, endpoint};
use collectives::{Collective, Kind};
use language::collectives::messages;
use language::marks::{END, START};
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use protocols::call::{Call, Comm};
use protocols::contract::{Next, Region, Space};

/// How often a collective is called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rounds {
    /// Calls before the measured ones.
    pub warm_up: u32,
    /// Measured calls.
    pub measured: u32,
    /// Whether the measured time begins before threads and endpoints are made; then nothing warms up.
    pub creation: bool,
}

/// Buffers of the call that each thread has for itself.
/// Encoding: each thread has so many numbers.
const BUFFERS: u32 = 2;

/// The call as thread `thread` makes it: with buffers of its own, on this communicator.
fn of_thread(call: &Collective, thread: u16, comm: Comm) -> Collective {
    let own = |region: Region| match region.space {
        Space::User(id) => {
            Region { space: Space::User(id + BUFFERS * u32::from(thread)), ..region }
        }
        Space::Staging(_)
        | Space::Landing(_)
        | Space::Unexpected(_)
        | Space::Scratch(_)
        | Space::Window(_)
        | Space::Shared(_)
        | Space::Attached(_)
        | Space::Exchange(_)
        | Space::Device(_)
        | Space::DeviceStaging(_)
        | Space::Pinned(_)
        | Space::Packed(_) => region,
    };
    Collective { comm, input: own(call.input), output: own(call.output), ..call.clone() }
}

/// One process of threads that make the calls of `round` in each round.
///
/// The first thread makes the endpoints over `parent` where they are dynamic, and waits in a
/// barrier of the processes, so that none begins before the last is created.
fn process(
    threads: u16,
    (parent, creation): (Comm, Creation),
    rounds: Rounds,
    round: impl Fn(u16) -> Vec<Call>,
) -> Vec<AnyProgram> {
    let thread = |thread: u16| {
        let (first, many) = (thread == 0, threads > 1);
        let dynamic = first && creation == Creation::Dynamic;
        let mut begin: Vec<_> = rounds.creation.then_some(Next::Mark(START)).into_iter().collect();
        let mut over = vec![Next::Mark(END)];
        if dynamic {
            let (count, handle) = (threads, endpoint(0));
            begin.push(Next::Call(Call::CreateEndpoints { parent, count, first: handle }));
        }
        if first && many {
            begin.push(Next::Fork);
            over.push(Next::Join);
        }
        if creation == Creation::Static {
            begin.push(Next::Call(Call::Attach { id: thread }));
        } else if first && parent != Comm(Communicators::WORLD) {
            begin.push(Next::Call(Call::Barrier { comm: Comm(Communicators::WORLD) }));
        }
        let all_are_here = Next::Call(Call::Barrier { comm: member(creation, thread) });
        begin.push(all_are_here.clone());
        if dynamic {
            let free = |local| Next::Call(Call::FreeEndpoint { comm: endpoint(local) });
            over.extend((0..threads).map(free));
        }
        let calls: Vec<Next<Call>> = round(thread).into_iter().map(Next::Call).collect();
        let before = [
            Section::once(begin),
            Section::repeated(calls.iter().cloned(), rounds.warm_up),
            Section::repeated([all_are_here], u32::from(rounds.warm_up > 0)),
            Section::repeated([Next::Mark(START)], u32::from(!rounds.creation)),
        ];
        let measured = Section::measured(calls, rounds.measured);
        let sections = before.into_iter().chain(measured).chain([Section::once(over)]);
        AnyProgram::Score(Score::new(sections))
    };
    (0..threads).map(thread).collect()
}

/// The communicator in which a thread has a rank of its own.
const fn member(creation: Creation, thread: u16) -> Comm {
    match creation {
        Creation::Dynamic => endpoint(thread),
        Creation::Static => Comm(Communicators::WORLD),
    }
}

fn collective(call: Collective) -> Call {
    Call::Collective(call.into())
}

/// `processes` processes whose threads each make `call` as an endpoint.
///
/// Ranks go by process, then by thread; the units of the call are units of these ranks.
pub fn by_endpoints(
    call: &Collective,
    processes: u32,
    threads: u16,
    creation: Creation,
    rounds: Rounds,
) -> Vec<AnyProgram> {
    let round = |thread| vec![collective(of_thread(call, thread, member(creation, thread)))];
    let world = Comm(Communicators::WORLD);
    repeat(process(threads, (world, creation), rounds, round), processes)
}

/// `processes` processes of which only the first thread makes `call`; `None` where the operation
/// has no such version.
///
/// Each thread has a part: in the end every thread has the result, or the first thread of the root.
pub fn funnelled(
    call: &Collective,
    processes: u32,
    threads: u16,
    rounds: Rounds,
) -> Option<Vec<AnyProgram>> {
    if !has_funnelled(call.kind) {
        return None;
    }
    let own = (Comm(Communicators::SELF), Creation::Dynamic);
    let round = |thread| {
        let [before, after] = inside(call, thread, threads);
        let outside = (thread == 0).then(|| of_process(call, threads));
        before.into_iter().chain(outside).chain(after).map(collective).collect()
    };
    Some(repeat(process(threads, own, rounds, round), processes))
}

/// Whether there is a funnelled version of an operation.
pub const fn has_funnelled(kind: Kind) -> bool {
    matches!(kind, Kind::Barrier | Kind::Bcast | Kind::Reduce | Kind::Allreduce)
}

/// The buffer in which the team has combined its parts.
fn combined(call: &Collective, threads: u16) -> Region {
    Region { space: Space::User(BUFFERS * u32::from(threads)), ..call.input }
}

/// The call of the first thread, for all of its team.
fn of_process(call: &Collective, threads: u16) -> Collective {
    let combines = call.kind.reduces() && threads > 1;
    let input = if combines { combined(call, threads) } else { call.input };
    Collective { input, ..call.clone() }
}

/// The collectives of a thread with its team before and after the first one's call.
fn inside(call: &Collective, thread: u16, threads: u16) -> [Option<Collective>; 2] {
    if threads == 1 {
        return [None, None];
    }
    let comm = endpoint(thread);
    let own = of_thread(call, thread, comm);
    let reduce = || {
        let into = combined(call, threads);
        let reduction = call.reduction.expect("a reduction has an operator");
        Some(Collective::reduce(comm, Rank(0), own.input, into, reduction))
    };
    let bcast = || Some(Collective::bcast(comm, Rank(0), own.output));
    let barrier = || Some(Collective::barrier(comm));
    match call.kind {
        Kind::Allreduce => [reduce(), bcast()],
        Kind::Reduce => [reduce(), None],
        Kind::Bcast => [None, bcast()],
        Kind::Barrier
        | Kind::Scatter
        | Kind::Gather
        | Kind::Allgather
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock
        | Kind::Alltoall
        | Kind::Scan
        | Kind::Exscan => [barrier(), barrier()],
    }
}

fn repeat(process: Vec<AnyProgram>, processes: u32) -> Vec<AnyProgram> {
    let all = process.len() * processes as usize;
    process.into_iter().cycle().take(all).collect()
}

/// Messages of one round of [`funnelled`], inside processes and between them.
pub fn funnelled_messages(call: &Collective, processes: u32, threads: u16) -> u64 {
    let parts = inside(call, 0, threads).into_iter().flatten();
    let inside: u64 = parts.map(|part| messages(&part, u32::from(threads))).sum();
    messages(call, processes) + u64::from(processes) * inside
}
