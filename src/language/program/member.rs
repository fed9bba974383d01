//! One thread among those of a process, each of which executes a program of its own.
//!
//! ```text
//!   thread 0   [create endpoints]  fork  [attach] ── program ── join  [free endpoints]
//!   thread i                             [attach] ── program
//! ```
//!
//! The threads of a process call one library, so that their requests, messages, communicators and
//! buffers need different numbers there. Number `n` of thread `t` of `T` is `n * T + t`; buffers,
//! whose numbers have gaps, lie `BUFFERS` apart.

use calls::rows::{FieldMut, Fields as _};
use mpi::communicator::Communicators;
use protocols::call::{Buffer, Call, Comm, Reply, Requests};
use protocols::contract::{Handle, Next, Region, Space};

/// The communicator that the program of a thread calls `MPI_COMM_WORLD`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum World {
    /// The communicator of the processes, whose rank all threads share.
    Shared,
    /// A duplicate of it for each thread.
    Duplicated,
    /// The endpoints of all threads: the first thread of a process makes them.
    Dynamic,
    /// The endpoints of all threads, which are there from the start: each thread attaches to its own.
    Static,
}

/// The first number of a communicator that a program makes.
/// Encoding: those of every job are lower.
pub(crate) const FIRST: u16 = 8;

/// Numbers of buffers that a thread has for itself.
/// Encoding: those of its program, and 2^16 with a name.
const BUFFERS: u32 = Buffer::OWN + (1 << 16);

/// The most threads of a process that may have a program each.
pub const MOST: u16 = (u32::MAX / BUFFERS) as u16;

/// A thread, and how far it is beside its program.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Member {
    thread: u16,
    threads: u16,
    world: World,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Stage {
    /// So many steps before the program are done.
    Before(u16),
    /// The program is executed.
    Program,
    /// So many steps behind it are done.
    Behind(u16),
}

/// The number of a communicator in the library, where a program makes it as number `comm`; `None` where the
/// threads make more than there are numbers.
fn number_made(comm: Comm, (thread, threads): (u16, u16)) -> Option<Comm> {
    let made = comm.0.checked_sub(FIRST)?;
    let first = FIRST.checked_add(threads)?.checked_add(thread)?;
    made.checked_mul(threads)?.checked_add(first).map(Comm)
}

/// Whether the threads of a process can all make communicators up to number `comm`.
///
/// # Panics
///
/// Where a process has no threads.
pub fn is_numbered(comm: Comm, threads: u16) -> bool {
    number_made(comm, (threads - 1, threads)).is_some()
}

/// The communicator that is duplicate number `index` of those that a job has from the start.
pub const fn duplicate(index: u16) -> Comm {
    Comm(Communicators::REVERSED + 1 + index)
}

impl Member {
    pub(super) const fn new(thread: u16, threads: u16, world: World) -> Self {
        Self { thread, threads, world, stage: Stage::Before(0) }
    }

    /// Its number among the threads of its process.
    pub(super) const fn number(&self) -> u16 {
        self.thread
    }

    /// Whether the thread creates the others.
    pub(super) const fn forks(&self) -> bool {
        self.thread == 0 && self.threads > 1
    }

    /// The next step that is none of the program; what such a step returned is taken from `reply`.
    pub(super) fn next(&mut self, reply: &mut Option<Reply>) -> Option<Next<Call>> {
        match self.stage {
            Stage::Before(done) => {
                *reply = None;
                let next = self.before().nth(usize::from(done));
                self.stage = if next.is_some() { Stage::Before(done + 1) } else { Stage::Program };
                next
            }
            Stage::Program => None,
            Stage::Behind(done) => {
                *reply = None;
                let next = self.behind().nth(usize::from(done));
                self.stage = Stage::Behind(done + 1);
                Some(next.unwrap_or(Next::End))
            }
        }
    }

    /// The program is over: the step that follows it.
    pub(super) fn ends(&mut self) -> Next<Call> {
        self.stage = Stage::Behind(0);
        self.next(&mut None).expect("the last of all steps is the end")
    }

    fn before(&self) -> impl Iterator<Item = Next<Call>> {
        let (first, dynamic) = (self.thread == 0, self.world == World::Dynamic);
        let (parent, count) = (Comm(Communicators::WORLD), self.threads);
        let create = Call::CreateEndpoints { parent, count, first: Comm(FIRST) };
        let create = (first && dynamic).then_some(Next::Call(create));
        let fork = self.forks().then_some(Next::Fork);
        let attach = Next::Call(Call::Attach { id: self.thread });
        let attach = (self.world == World::Static).then_some(attach);
        [create, fork, attach].into_iter().flatten()
    }

    fn behind(&self) -> impl Iterator<Item = Next<Call>> {
        let join = self.forks().then_some(Next::Join);
        let frees = self.thread == 0 && self.world == World::Dynamic;
        let made = if frees { self.threads } else { 0 };
        let free = |thread| Next::Call(Call::FreeEndpoint { comm: Comm(FIRST + thread) });
        join.into_iter().chain((0..made).map(free))
    }
}

/// The numbers of a thread in the library of its process.
impl Member {
    /// The step of the program with the numbers that the library knows.
    pub(super) fn numbered(&self, next: Next<Call>) -> Next<Call> {
        match next {
            Next::Call(mut call) => {
                self.number_call(&mut call);
                Next::Call(call)
            }
            Next::Load(region) => Next::Load(self.region(region)),
            Next::Store(region, bits) => Next::Store(self.region(region), bits),
            next @ (Next::Compute(_)
            | Next::Mark(_)
            | Next::Fork
            | Next::Join
            | Next::Take(_)
            | Next::Clock
            | Next::Copy(..)
            | Next::Offload(..)
            | Next::Tell(_)
            | Next::End) => next,
        }
    }

    fn spread(&self, number: u32) -> u32 {
        number * u32::from(self.threads) + u32::from(self.thread)
    }

    fn handle(&self, handle: &mut Handle) {
        handle.0 = self.spread(handle.0);
    }

    fn handles(&self, requests: &mut Requests) {
        let all = (0..requests.len()).map(|index| Handle(self.spread(requests.at(index).0)));
        *requests = Requests::List(all.collect());
    }

    fn buffer(&self, id: u32) -> u32 {
        id + BUFFERS * u32::from(self.thread)
    }

    fn region(&self, region: Region) -> Region {
        let Space::User(id) = region.space else { return region };
        Region { space: Space::User(self.buffer(id)), ..region }
    }

    fn comm(&self, comm: &mut Comm) {
        if comm.0 >= FIRST {
            let made = number_made(*comm, (self.thread, self.threads));
            *comm = made.expect("the numbers were counted when the program was read");
        } else if comm.0 == Communicators::WORLD {
            *comm = match self.world {
                World::Shared | World::Static => *comm,
                World::Duplicated => duplicate(self.thread),
                World::Dynamic => Comm(FIRST + self.thread),
            };
        }
    }

    fn number_call(&self, call: &mut Call) {
        // Windows and buffers in GPU memory keep the numbers of the program.
        if let Call::Rma(_) | Call::Device(_) = call {
            return;
        }
        if let Call::OfPartitions { request, thread, .. } = call {
            let of = thread.take().unwrap_or(self.thread);
            request.0 = request.0 * u32::from(self.threads) + u32::from(of);
            return;
        }
        call.fields_mut(&mut |field| match field {
            FieldMut::Over(comm) | FieldMut::Other(comm) | FieldMut::Makes(comm) => self.comm(comm),
            FieldMut::Opens(handle) | FieldMut::Of(handle) | FieldMut::Message(handle) => {
                self.handle(handle);
            }
            FieldMut::OfAll(requests) => self.handles(requests),
            FieldMut::Reads(buffer) | FieldMut::Fills(buffer) => {
                buffer.id = self.buffer(buffer.id);
            }
            FieldMut::Input(region) | FieldMut::Output(region) => *region = self.region(*region),
            FieldMut::Window(_)
            | FieldMut::To(_)
            | FieldMut::From(_)
            | FieldMut::Tag(_)
            | FieldMut::AnyTag(_) => {}
        });
    }
}
