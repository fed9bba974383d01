//! A linked list in a dynamic window, to which all ranks append in turn.
//!
//! ```text
//!   element k is made by rank k mod P, in memory of its own that it attaches for it
//!   stands at an element of rank - 1:  next ◀─ (rank, address) of the new one, goes there
//!   else reads next:                   null: lets the library work, reads again · else goes there
//! ```
//!
//! The idioms differ only in the epoch around an access. The first element is there before any rank
//! begins, and all know where: the broadcast of its address is not measured. An element is
//! attached by itself, as the document's listing allocates it: attaching in blocks would save calls,
//! and no message.
//!
//! A rank that reads its own element sends nothing and waits for nothing: without a call that makes
//! progress between two looks no rank could ever append to it. The authors' public code probes there,
//! as often as there are fruitless looks, doubling; the document does not tell.
//!
//! Source: `rma` Sec. 5.4, Fig. 8 and 9.

mod check;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub use self::check::{disorder, first_disorder};
use super::job::AnyProgram;
use super::kind::{Kind, Reading};
use super::metric::{Measured, MetricSpec, TIME, marks, to_f64};
use super::one_sided::{PER_NODE, PER_NODE_PATH, PROCESSES, Task, one_sided};
use form::fields::POSITIVE;
use form::typed::{Object as _, default, required};
pub use language::marks::{END, START};
use mpi::operator::Datatype;
use mpi::rma::update::Effect;
use protocols::call::{Call, Comm, Peer, Reply};
use protocols::contract::{Machine, Next, Program, Region, Space};
use protocols::rma::Transport;
use protocols::rma::call::{self, At, Flavor, LockKind, Operation, RmaCall, Win};
use runtime::memory::Memories;
use runtime::monitors::Violation;

/// Mark of a rank of which no other rank asks anything any more.
/// Encoding: number of a mark.
pub const SERVED: u32 = 2;

const WINDOW: Win = Win(0);
/// Bytes of a rank, and of an address.
/// Encoding: numbers of 64 bits.
const WORD: u64 = 8;
/// Bytes of an element.
/// Encoding: its owner, and rank and address of the next one.
const ELEMENT: u64 = 3 * WORD;
const NEXT: u64 = WORD;
/// Bytes of a pointer.
/// Encoding: a rank and an address.
const POINTER: u64 = 2 * WORD;
/// The rank of a null pointer.
const NULL: u64 = u64::MAX;

/// The pointer to the new element.
const NEW: Region = Region::new(Space::User(0), POINTER);
/// The pointer that was read.
const FOUND: Region = Region::new(Space::User(1), POINTER);

form::words! {
    /// The epoch around each access.
    pub enum Idiom {
        /// MPI-2: an exclusive lock for each put and get
        Exclusive = "exclusive",
        /// MPI-3: a shared lock for each accumulate
        Shared = "shared",
        /// MPI-3: one lock of all, and a flush after each accumulate
        LockAll = "lock_all",
    }
}

form::words! {
    /// How often the library works after a fruitless look.
    pub enum Probes {
        /// one
        One = "one",
        /// twice as many each time, at most as many as processes
        Doubling = "doubling",
    }
}

form::words! {
    /// The unit of a number of elements.
    pub enum ElementCount {
        /// the list gets so many
        Total = "total",
        /// each process makes so many
        PerProcess = "per_process",
    }
}

form::object! {
    /// All processes append to one list in a dynamic window, in turn.
    pub struct LinkedListForm {
        /// The epoch around each access.
        idiom: Idiom = required(&Idiom::SHAPE, "\"lock_all\""),
        processes: u32 = PROCESSES,
        processes_per_node: u32 = PER_NODE,
        /// Elements of the list.
        elements: u32 = required(&POSITIVE, "1000"),
        /// What `elements` counts.
        count: ElementCount = default(&ElementCount::SHAPE, "total"),
        /// Probes between two looks at a pointer that is null: the library works meanwhile.
        probes: Probes = default(&Probes::SHAPE, "one"),
    }
}

const ELEMENT_TIME: MetricSpec = MetricSpec::time("element_time").titled("Mean time of an element");
const PACKETS: MetricSpec = MetricSpec::number("packets_per_element", "")
    .titled("Packets of all processes for each element");
const READS: MetricSpec =
    MetricSpec::number("reads_per_element", "").titled("Reads of a pointer for each element");

/// One list, and all processes append to it.
pub static KIND: Kind = Kind {
    name: "linked_list",
    fields: LinkedListForm::FIELDS,
    about: LinkedListForm::ABOUT,
    metrics: &[ELEMENT_TIME, PACKETS, READS, TIME],
    account: &[],
    processes: PER_NODE_PATH,
    read: |reading| {
        let form = LinkedListForm::read(reading.node);
        let each = if form.count == ElementCount::PerProcess { form.processes } else { 1 };
        let elements = form.elements.saturating_mul(each);
        let list = List { idiom: form.idiom, elements, probes: form.probes, counts: true };
        Some(one_sided((form.processes, form.processes_per_node), list))
    },
};

impl Task for List {
    fn kind() -> &'static Kind {
        &KIND
    }

    fn needs_bytes(&self) -> bool {
        true
    }

    fn check(&self, _: u32, reading: &mut Reading<'_>) {
        if reading.rma.transport == Transport::Rdma {
            reading.refuse(
                "mpi.rma.transport",
                "a list by RDMA alone",
                "a pointer is a rank and an address, no single integer: `messages` or `mixed` is needed",
            );
        }
    }

    fn programs(&self, processes: u32) -> Vec<AnyProgram> {
        let appenders = appenders(processes, *self).into_iter();
        appenders.map(|one| AnyProgram::List(Box::new(one))).collect()
    }

    fn broken(&self, processes: u32, memories: &Memories) -> Option<Violation> {
        disorder(memories, processes, self.elements)
    }

    fn measure(&self, _: u32, run: &mut Measured<'_>) {
        let elements = f64::from(self.elements);
        let packets =
            |number| marks(run.outcome, number).map(|mark| mark.account.packets).sum::<u64>();
        let looks = |program: &AnyProgram| {
            if let AnyProgram::List(appender) = program { Some(appender.looks()) } else { None }
        };
        let served = to_f64(packets(SERVED) - packets(START));
        let looks = to_f64(run.programs.iter().filter_map(looks).sum());
        run.add(ELEMENT_TIME, run.elapsed.as_us_f64() / elements);
        run.add(PACKETS, served / elements);
        run.add(READS, looks / elements);
    }
}

/// The values of the workload.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct List {
    /// The epoch around each access.
    pub idiom: Idiom,
    /// Elements in all.
    pub elements: u32,
    /// The pause of a rank after a fruitless look.
    pub probes: Probes,
    /// Whether looks are counted; in every order of them a count would never end.
    pub counts: bool,
}

/// Where an element lies.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Pointer {
    rank: u32,
    address: u64,
}

/// A rank that appends.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Appender {
    rank: u32,
    size: u32,
    list: List,
    stage: Stage,
    /// The steps before the next decision.
    steps: VecDeque<Next<Call>>,
    /// Elements of its own.
    made: u32,
    stands_at: Pointer,
    /// The words that the last two loads read.
    words: [u64; 2],
    /// Probes after the next fruitless look.
    probes: u32,
    looks: Tally,
}

/// A count that decides nothing: states that differ in it alone have the same future.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Tally(u64);

impl Hash for Tally {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Stage {
    Begin,
    Make,
    Walk,
    Found,
    Over,
}

impl Appender {
    /// Rank `rank` of `size`.
    pub const fn new(rank: u32, size: u32, list: List) -> Self {
        Self {
            rank,
            size,
            list,
            stage: Stage::Begin,
            steps: VecDeque::new(),
            made: 0,
            stands_at: Pointer { rank: 0, address: call::address(0, 0) },
            words: [0; 2],
            probes: 1,
            looks: Tally(0),
        }
    }

    /// How often it has read a pointer; 0 where looks are not counted.
    pub const fn looks(&self) -> u64 {
        self.looks.0
    }

    fn call(&mut self, call: Call) {
        self.steps.push_back(Next::Call(call));
    }

    fn rma(&mut self, call: RmaCall) {
        self.call(Call::Rma(Arc::new(call)));
    }

    /// Decides what is done next.
    fn decide(&mut self) {
        self.stage = match self.stage {
            Stage::Begin => {
                self.begin();
                Stage::Make
            }
            Stage::Make if self.number(self.made) >= u64::from(self.list.elements) => {
                self.end();
                Stage::Over
            }
            Stage::Make => {
                self.make();
                Stage::Walk
            }
            Stage::Walk if self.stands_at.rank == self.left() => {
                self.append();
                Stage::Make
            }
            Stage::Walk => {
                self.look();
                Stage::Found
            }
            Stage::Found => {
                self.found();
                Stage::Walk
            }
            Stage::Over => {
                self.steps.push_back(Next::End);
                Stage::Over
            }
        };
    }

    /// The place in the list of the own element number `own`.
    fn number(&self, own: u32) -> u64 {
        u64::from(own) * u64::from(self.size) + u64::from(self.rank)
    }

    /// The rank whose elements come before this one's.
    const fn left(&self) -> u32 {
        (self.rank + self.size - 1) % self.size
    }

    fn begin(&mut self) {
        let (win, comm, flavor) = (WINDOW, Comm::default(), Flavor::Dynamic);
        self.rma(RmaCall::Create { win, comm, flavor, memory: 0, bytes: 0, unit: 1 });
        if self.list.idiom == Idiom::LockAll {
            self.rma(RmaCall::LockAll { win, no_check: false });
        }
        if self.rank == 0 {
            self.make();
            self.made = 1;
        }
        self.call(Call::Barrier { comm });
        self.steps.push_back(Next::Mark(START));
    }

    /// Makes the next own element: whole, before others can reach it.
    fn make(&mut self) {
        let memory = self.made;
        let word = |offset| Region { space: Space::Window(memory), offset, len: WORD };
        let me = u64::from(self.rank);
        self.steps.push_back(Next::Store(word(0), me));
        self.steps.push_back(Next::Store(word(NEXT), NULL));
        self.rma(RmaCall::Attach { win: WINDOW, memory, bytes: ELEMENT });
        self.steps.push_back(Next::Store(NEW.part(0, WORD), me));
        self.steps.push_back(Next::Store(NEW.part(WORD, WORD), call::address(memory, 0)));
    }

    /// Links the new element behind the one that this rank stands at, and goes there.
    fn append(&mut self) {
        let update = Effect::Replace(Datatype::Int64);
        self.access(match self.list.idiom {
            Idiom::Exclusive => Operation::Put { origin: NEW },
            Idiom::Shared | Idiom::LockAll => {
                Operation::Update { update, origin: Some(NEW), result: None }
            }
        });
        self.stands_at = Pointer { rank: self.rank, address: call::address(self.made, 0) };
        self.made += 1;
    }

    /// Reads where the next element is.
    fn look(&mut self) {
        let update = Effect::NoOp(Datatype::Int64);
        self.access(match self.list.idiom {
            Idiom::Exclusive => Operation::Get { into: FOUND },
            Idiom::Shared | Idiom::LockAll => {
                Operation::Update { update, origin: None, result: Some(FOUND) }
            }
        });
        self.steps.push_back(Next::Load(FOUND.part(0, WORD)));
        self.steps.push_back(Next::Load(FOUND.part(WORD, WORD)));
        self.looks.0 += u64::from(self.list.counts);
    }

    /// One access to the pointer of the element that this rank stands at, complete when it is over.
    fn access(&mut self, does: Operation) {
        let (win, Pointer { rank: target, address }) = (WINDOW, self.stands_at);
        let kind = match self.list.idiom {
            Idiom::Exclusive => Some(LockKind::Exclusive),
            Idiom::Shared => Some(LockKind::Shared),
            Idiom::LockAll => None,
        };
        if let Some(kind) = kind {
            self.rma(RmaCall::Lock { win, target, kind, no_check: false });
        }
        let at = At::contiguous(address + NEXT, POINTER);
        self.rma(RmaCall::Operate { win, target: Some(target), at, does, request: None });
        self.rma(match kind {
            Some(_) => RmaCall::Unlock { win, target },
            None => RmaCall::Flush { win, target, local: false },
        });
    }

    /// A pointer was read.
    fn found(&mut self) {
        let [rank, address] = self.words;
        if rank == NULL {
            for _ in 0..self.probes {
                let (source, tag, comm) = (Peer::Any, None, Comm::default());
                self.call(Call::Iprobe { source, tag, comm });
            }
        } else {
            let rank = u32::try_from(rank).expect("a rank was written there");
            self.stands_at = Pointer { rank, address };
        }
        if self.list.probes == Probes::Doubling {
            let more = (2 * self.probes).min(self.size);
            self.probes = if rank == NULL { more } else { (self.probes / 2).max(1) };
        }
    }

    fn end(&mut self) {
        self.steps.push_back(Next::Mark(END));
        // Who is done still answers: it waits inside the library for the others.
        self.call(Call::Barrier { comm: Comm::default() });
        self.steps.push_back(Next::Mark(SERVED));
        if self.list.idiom == Idiom::LockAll {
            self.rma(RmaCall::UnlockAll { win: WINDOW });
        }
        self.rma(RmaCall::Free { win: WINDOW });
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Appender {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        loop {
            if let Some(step) = self.steps.pop_front() {
                return step;
            }
            self.decide();
        }
    }

    fn loaded(&mut self, value: u64) {
        self.words = [self.words[1], value];
    }
}

/// All ranks that append to one list.
pub fn appenders(size: u32, list: List) -> Vec<Appender> {
    (0..size).map(|rank| Appender::new(rank, size, list)).collect()
}
