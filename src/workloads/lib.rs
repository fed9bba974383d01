//! Workloads: programs of calls, produced lazily, and what a scenario says of them.
//!
//! | begin with | to |
//! |---|---|
//! | [`KINDS`] | find a kind of workload by the scenario's word for it |
//! | [`kind`] | see what a kind says of itself: form, checks, programs, metrics |
//! | [`job`] | put machine, library and programs together, for either runtime |
//!
//! This file is the registry: a new kind has a module and a line of [`KINDS`] here.

pub mod agent;
mod any_program;
pub mod application;
pub mod assumption;
pub mod backlog;
pub mod bandwidth;
pub mod collective;
pub mod comd;
pub mod draws;
pub mod epochs;
pub mod exec;
pub mod fields;
pub mod gpu;
pub mod graph500;
pub mod grid;
pub mod halo;
pub mod import;
pub mod incast;
pub mod job;
pub mod kind;
pub mod linked_list;
pub mod message_rate;
pub mod metric;
pub mod minighost;
pub mod mpi_form;
pub mod mutex;
pub mod one_sided;
pub mod pack;
pub mod packing;
pub mod partitioned_rate;
pub mod ping_pong;
pub mod program;
pub mod put_rate;
pub mod ranks;
pub mod score;
pub mod sendrecv_ring;
pub mod stencil;
pub mod team;
pub mod tiles;
pub mod trace;
pub mod truncation;
pub mod window_growth;
pub mod windowed;
pub mod xios_ep;

use any_program::programs;
use form::shape::{Shape, Variant, joined};
use kind::Kind;
use protocols::call::{Call, Reply};
use protocols::contract::{CallSite, Machine, Next, Program};
use protocols::process_memory::ProcessMemory;

/// Every kind of workload, in the order in which the reference lists them.
pub static KINDS: [&Kind; OWN.len() + import::KINDS.len() + LAST.len()] =
    joined(&joined::<_, { OWN.len() + import::KINDS.len() }>(&OWN, &import::KINDS), &LAST);

const OWN: [&Kind; 22] = [
    &ping_pong::KIND,
    &bandwidth::ONE_WAY,
    &bandwidth::BOTH_WAYS,
    &message_rate::KIND,
    &incast::KIND,
    &collective::BLOCKING,
    &collective::NONBLOCKING,
    &tiles::KIND,
    &pack::ALONE,
    &pack::BESIDE,
    &gpu::ping_pong::KIND,
    &gpu::stencil::KIND,
    &stencil::KIND,
    &sendrecv_ring::KIND,
    &graph500::KIND,
    &comd::KIND,
    &minighost::KIND,
    &mutex::KIND,
    &linked_list::KIND,
    &epochs::KIND,
    &put_rate::KIND,
    &window_growth::KIND,
];

const LAST: [&Kind; 2] = [&exec::KIND, &program::KIND];

/// The kind of a name.
pub fn kind_named(name: &str) -> Option<&'static Kind> {
    KINDS.into_iter().find(|kind| kind.name == name)
}

static VARIANTS: [Variant; KINDS.len()] = {
    let mut variants = [KINDS[0].variant(); KINDS.len()];
    let mut at = 1;
    while at < KINDS.len() {
        variants[at] = KINDS[at].variant();
        at += 1;
    }
    variants
};

/// The form of `workload`: the kind says which keys it has.
pub static WORKLOAD: Shape = Shape::Tagged { tag: "kind", variants: &VARIANTS };

impl AnyProgram {
    /// Why the job of real programs, which this one is of, is over before its end.
    pub fn failure(&self) -> Option<::exec::job::Failure> {
        if let Self::Real(program) = self { program.job().failure() } else { None }
    }

    /// The function that a real program is in, and its line.
    pub fn site(&self) -> Option<CallSite> {
        if let Self::Real(program) = self { program.site() } else { None }
    }

    /// Whether it is a rank of a real program.
    pub const fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// Tells the user, once, what a real program does that MPI leaves undefined.
    pub fn remark(what: &str) {
        ::exec::watch::note_once(what);
    }

    /// The calls and messages of the processes of its job, in short, where it is one of real
    /// programs.
    pub fn calls_of_processes(&self) -> Option<Vec<u8>> {
        if let Self::Real(program) = self { Some(program.job().digest()) } else { None }
    }
}

programs! {
    /// A rank of a ping-pong.
    PingPong(ping_pong::PingPong),
    /// A rank of a pair that exchanges windows.
    Windowed(windowed::Windowed),
    /// A rank that calls one collective again and again.
    Collective(collective::Repeated),
    /// A rank whose calls the scenario lists.
    Program(Box<::language::program::ProgramStream>),
    /// A rank of a schedule.
    Goal(Box<import::goal::calls::Player>),
    /// A thread whose calls a workload lists.
    Score(score::Score),
    /// A rank that contends for a mutex.
    Mutex(Box<mutex::Contender>),
    /// A rank that appends to a list in a window.
    List(Box<linked_list::Appender>),
    /// The rank that epochs are made towards.
    Host(Box<epochs::Host>),
    /// A rank whose window grows.
    Growth(Box<window_growth::Grower>),
    /// A process that runs a real program.
    Real(::exec::program::RealProgram),
    /// A rank of a breadth-first search by pairs.
    Search(Box<graph500::searcher::Searcher>),
    /// A rank of a breadth-first search over replicated bitmaps.
    Replica(Box<graph500::replica::Replica>),
}
