//! One collective again and again, as the collective benchmarks of OSU measure it.
//!
//! Marks 0 and 1 of every rank bracket the timed calls; between the warm-up and them all ranks meet in a
//! barrier, as in the Intel MPI Benchmarks. The calls follow each other without a barrier in
//! between: a rank that is early in one call may already be in the next. With a computation beside it,
//! a call only begins the collective; the rank computes, tests it where the scenario says so, and waits.

use std::sync::Arc;

use super::assumption::Assumption;
use super::fields::{ROUNDS, Rounds, WARMUP};
use super::job::AnyProgram;
use super::kind::{Kind, Processes, Reading, Workload};
use super::metric::{LATENCY, MESSAGE_RATE, Measured, MetricSpec, TIME};
use super::ranks::{Addressing, Ranks};
use super::team;
use super::windowed::Creation;
use super::xios_ep;
use ::collectives::{Collective, Kind as Operation};
use form::codes;
use form::fields::{LONG, SIZE, time};
use form::json::Node;
use form::shape::{Field, Shape, joined};
use form::typed::{Object as _, default, optional, required};
use form::workload_field;
use language::collectives::{self, Chosen, messages};
use language::statements::form::collectives::{OPERATOR, OVER, TYPE};
use protocols::call::{Call, Comm, Reply};
use protocols::contract::{Handle, Machine, Next, Program};
use units::{Bytes, TimeDelta};

pub use language::marks::{END, START};
use language::marks::{HALFWAY, is_halfway};

/// The program of any rank.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Repeated {
    call: Arc<Collective>,
    warm_up: u32,
    rounds: u32,
    done: u32,
    beside: Option<Beside>,
    /// Whether the measured time begins before the first barrier.
    creation: bool,
    state: State,
}

form::object! {
    /// All processes call one collective operation again and again; latency is the time of one call.
    /// Threads take part as endpoints; those that share a rank combine among themselves first, and
    /// one of them calls.
    pub struct CollectiveForm {
        /// What is measured.
        operation: String = required(&OPERATION, "\"allreduce\""),
        /// The algorithm; without one, that of `mpi.collectives`.
        algorithm: Option<String> = optional(&Shape::Name),
        /// Which ranks combine first.
        over: Option<String> = default(&OVER, "as `mpi.collectives.over` says"),
        /// Processes of each node; all of them take part, and each of their threads where it can.
        ranks_per_node: u32 = required(&Shape::Count { min: 1, max: 65_536 }, "16"),
        /// Bytes of the message or vector; of the block of each rank where there are blocks.
        size: Bytes = default(&SIZE, "0 B"),
        /// The type of the elements.
        element as "type": String = default(&TYPE, "int32"),
        /// What two elements become.
        operator: String = default(&OPERATOR, "sum"),
        rounds: Rounds = ROUNDS,
        warmup: u32 = WARMUP,
        /// Whether the measured time begins before threads and endpoints are made, without a warm-up.
        measures_creation: bool = default(&Shape::Flag, "false"),
    }
}

form::object! {
    /// All processes begin one collective operation (MPI_Iallreduce and so on), compute, and wait for
    /// it, again and again; latency is the time of all that, exposed what it is beyond the computation.
    pub struct BesideForm {
        /// Computation between the beginning of a call and the wait for its end.
        compute: TimeDelta = required(&time(0, LONG), "\"1 ms\""),
        /// Calls of MPI_Test in the computation, which part it into equal pieces.
        tests: u32 = default(&Shape::Count { min: 0, max: 1_000_000 }, "0"),
    }
}

static OPERATION: Shape = Shape::Word(&[
    ("barrier", "MPI_Barrier"),
    ("bcast", "MPI_Bcast"),
    ("scatter", "MPI_Scatter"),
    ("gather", "MPI_Gather"),
    ("allgather", "MPI_Allgather"),
    ("reduce", "MPI_Reduce"),
    ("allreduce", "MPI_Allreduce"),
    ("reduce_scatter_block", "MPI_Reduce_scatter_block"),
    ("alltoall", "MPI_Alltoall"),
    ("scan", "MPI_Scan"),
    ("exscan", "MPI_Exscan"),
]);

const EXPOSED: MetricSpec =
    MetricSpec::time("exposed").titled("Time of a call beyond the computation beside it");

/// One blocking operation.
pub static BLOCKING: Kind = Kind {
    name: "collective",
    fields: CollectiveForm::FIELDS,
    about: CollectiveForm::ABOUT,
    metrics: &[LATENCY, MESSAGE_RATE, TIME],
    account: &[],
    processes: workload_field!(CollectiveForm, ranks_per_node),
    read: |reading| Some(measured(reading, None)),
};

static NONBLOCKING_FIELDS: [Field; CollectiveForm::FIELDS.len() + BesideForm::FIELDS.len()] =
    joined(CollectiveForm::FIELDS, BesideForm::FIELDS);

/// One nonblocking operation, and a computation beside it.
pub static NONBLOCKING: Kind = Kind {
    name: "nonblocking_collective",
    fields: &NONBLOCKING_FIELDS,
    about: BesideForm::ABOUT,
    metrics: &[EXPOSED, LATENCY, TIME],
    read: |reading| {
        let BesideForm { compute, tests } = BesideForm::read(reading.node);
        if reading.threads > 1 {
            let threads = reading.threads;
            let found =
                format!("collectives that are only begun, by processes of {threads} threads");
            let allowed = "one thread calls in each process; a progress thread may stand beside it";
            reading.refuse("workload.kind", found, allowed);
        }
        Some(measured(reading, Some(Beside { compute, tests })))
    },
    ..BLOCKING
};

/// All ranks call one operation again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCollective {
    /// The values of the scenario.
    pub form: CollectiveForm,
    /// The call.
    pub chosen: Chosen,
    /// Processes of a node.
    pub ranks_per_node: u32,
    /// Measured calls.
    pub rounds: u32,
    /// The computation of a rank while the operation is under way; `None`: it waits inside.
    pub beside: Option<Beside>,
}

fn measured(reading: &mut Reading<'_>, beside: Option<Beside>) -> Arc<dyn Workload> {
    let form = CollectiveForm::read(reading.node);
    let ranks_per_node = form.ranks_per_node.saturating_mul(u32::from(reading.separate));
    let processes = ranks_per_node.saturating_mul(reading.nodes);
    let ranks = processes.saturating_mul(u32::from(reading.each));
    let kind = Operation::ALL.into_iter().find(|kind| kind.name() == form.operation);
    let kind = kind.expect("the tree was checked against its shape");
    let reduction = collectives::reduction(reading.diagnostics, reading.node, "workload");
    let datatype = reduction.datatype();
    if kind.reduces() && !form.size.as_u64().is_multiple_of(datatype.width()) {
        let found = format!("{} are no whole number of elements", form.size);
        let allowed = format!("an element of `{}` has {} B", datatype.name(), datatype.width());
        reading.refuse(workload_field!(CollectiveForm, size), found, allowed);
    }
    let call = collectives::measured(kind, form.size.as_u64(), ranks, reduction);
    let node: &Node = reading.node;
    let chosen = reading.choices.choose(reading.diagnostics, node, "workload", call);
    let rounds = form.rounds.of(form.size);
    if form.measures_creation && form.warmup > 0 {
        let found = "a warm-up before the measured time";
        let allowed = "the measured time begins with the creation: leave `workload.warmup` out";
        reading.refuse("workload.warmup", found, allowed);
    }
    Arc::new(MeasuredCollective { form, chosen, ranks_per_node, rounds, beside })
}

impl MeasuredCollective {
    /// The threads of all processes; `None` where a process is one rank of one thread.
    fn teams(&self, ranks: &Ranks, call: &Arc<Collective>) -> Option<Vec<AnyProgram>> {
        let (processes, threads) = (ranks.placement.processes, ranks.threads);
        let (warm_up, creation) = (self.form.warmup, self.form.measures_creation);
        let rounds = team::Rounds { warm_up, measured: self.rounds, creation };
        match ranks.addressing {
            Addressing::Endpoints(own) => {
                let creation = if own.at_start { Creation::Static } else { Creation::Dynamic };
                Some(team::by_endpoints(call, processes, threads, creation, rounds))
            }
            Addressing::EndpointLibrary => {
                // Each thread is a rank like any other, and none is created.
                let rank = Repeated::new(call.clone(), rounds.warm_up, rounds.measured)
                    .measured_from_creation(creation);
                let threads = processes as usize * usize::from(threads);
                Some(vec![AnyProgram::Collective(rank); threads])
            }
            Addressing::Process | Addressing::Duplicated | Addressing::Partitioned
                if threads == 1 =>
            {
                None
            }
            Addressing::Process | Addressing::Duplicated | Addressing::Partitioned => {
                let teams = team::funnelled(call, processes, threads, rounds);
                Some(teams.expect("the plan was checked for it"))
            }
        }
    }
}

impl Workload for MeasuredCollective {
    fn kind(&self) -> &'static Kind {
        if self.beside.is_some() { &NONBLOCKING } else { &BLOCKING }
    }

    fn check_addressing(&self, reading: &mut Reading<'_>) {
        reading.refuse_partitioned();
        if self.beside.is_some() {
            reading.refuse_endpoints();
            reading.refuse_endpoint_library("it has no collectives that are only begun");
        } else if self.chosen.may_go_in_steps() {
            reading.refuse_endpoint_library("its collectives have their processes for units");
        }
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        let per_node = self.ranks_per_node;
        // Each process may have so many ranks.
        let ranks = per_node.saturating_mul(u32::from(reading.each));
        reading.on_each_node(ranks, BLOCKING.processes)?;
        Some(Processes::new(reading.on_each_node(per_node, BLOCKING.processes)?, per_node))
    }

    /// Threads without a rank of their own combine inside their process, where the operation can.
    fn check_threads(&self, reading: &mut Reading<'_>) {
        let (kind, threads) = (self.chosen.call.kind, reading.threads);
        let (found, allowed) = match reading.addressing {
            Addressing::Duplicated if threads > 1 => (
                "threads with a communicator each cannot meet in one operation".to_owned(),
                "`endpoints`, `multiplexed`, `process` or `separate` is needed",
            ),
            Addressing::Process if threads > 1 && !team::has_funnelled(kind) => (
                format!("threads that share a rank are to combine in `{}`", kind.name()),
                "`barrier`, `bcast`, `reduce` and `allreduce` can; others need endpoints",
            ),
            Addressing::Process
            | Addressing::Duplicated
            | Addressing::Partitioned
            | Addressing::Endpoints(_)
            | Addressing::EndpointLibrary => return,
        };
        let one = reading.error(&codes::CONTRADICTION, "ranks.addressing", found, allowed);
        let threads = reading.place("ranks.threads_per_process");
        reading.diagnostics.push(one.related(threads, "the threads are given here"));
    }

    fn collectives(&self) -> Vec<&Chosen> {
        vec![&self.chosen]
    }

    /// The traffic of the slowest algorithm through one rank.
    fn traffic(&self, processes: u32, threads: u16) -> Option<(Bytes, u128)> {
        let calls = u128::from(self.rounds) + u128::from(self.form.warmup);
        Some((self.form.size, calls * 2 * u128::from(processes) * u128::from(threads)))
    }

    /// The segments of an algorithm that has some.
    fn assumptions(&self) -> Vec<Assumption> {
        let call = &self.chosen.call;
        if !call.algorithm.has_segments() {
            return Vec::new();
        }
        let why = "libraries choose by message and ranks; no document states what it took";
        let segment = Bytes::new(call.segment).to_string();
        let range = ("1 KiB", "128 KiB");
        let path = if call.kind == Operation::Reduce {
            "mpi.collectives.reduce_segment"
        } else {
            "mpi.collectives.bcast_segment"
        };
        vec![Assumption::estimate(path, segment, range, why)]
    }

    fn combines_threads(&self, ranks: &Ranks) -> bool {
        ranks.addressing == Addressing::Process && ranks.threads > 1
    }

    fn programs(&self, ranks: &Ranks) -> Vec<AnyProgram> {
        let call = Arc::new(ranks.placed(&self.chosen));
        self.teams(ranks, &call).unwrap_or_else(|| {
            let rank = Repeated::new(call, self.form.warmup, self.rounds)
                .beside(self.beside)
                .measured_from_creation(self.form.measures_creation);
            vec![AnyProgram::Collective(rank); ranks.placement.processes as usize]
        })
    }

    fn messages(&self, ranks: &Ranks) -> u64 {
        let (call, processes) = (ranks.placed(&self.chosen), ranks.placement.processes);
        let each = match ranks.addressing {
            Addressing::Process if ranks.threads > 1 => {
                team::funnelled_messages(&call, processes, ranks.threads)
            }
            Addressing::EndpointLibrary => xios_ep::messages(&call, processes, ranks.threads),
            Addressing::Process
            | Addressing::Duplicated
            | Addressing::Partitioned
            | Addressing::Endpoints(_) => {
                messages(&call, processes * u32::from(ranks.of_a_process()))
            }
        };
        each * u64::from(self.rounds)
    }

    fn measure(&self, run: &mut Measured<'_>) {
        let each = run.elapsed.as_s_f64() / f64::from(self.rounds) * 1e6;
        if let Some(beside) = self.beside {
            run.add(EXPOSED, each - beside.compute.as_us_f64());
        }
        run.add(LATENCY, each);
        if self.beside.is_none() {
            run.message_rate(self.messages(&run.ranks));
        }
    }

    fn senders(&self, ranks: &Ranks) -> u64 {
        u64::from(self.ranks_per_node) * u64::from(ranks.threads)
    }
}

/// The computation of a rank between the start of a collective and the wait for its end.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Beside {
    /// All of its computation.
    pub compute: TimeDelta,
    /// Calls of `MPI_Test`, which part the computation into equal pieces.
    pub tests: u32,
}

/// The request of a nonblocking collective.
const REQUEST: Handle = Handle(0);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum State {
    /// The measured time begins.
    Creation,
    /// All are there before any begins.
    Barrier,
    /// A round may begin.
    Round,
    /// A half of the timed rounds is over, or the middle one.
    Halfway,
    /// All ranks have warmed up.
    Met,
    /// The timed rounds have started.
    Started,
    /// The collective of the round was started: a piece of the computation is next, after so many tests.
    Begun(u32),
    /// A piece of the computation is over, the one after so many tests.
    Computed(u32),
    /// The collective ended in this test: what is left is computed at once.
    Ended(u32),
    /// Nothing is left.
    Over,
}

impl Repeated {
    /// A rank that makes a call `warm_up` times, and then `rounds` times that are measured.
    pub const fn new(call: Arc<Collective>, warm_up: u32, rounds: u32) -> Self {
        Self {
            call,
            warm_up,
            rounds,
            done: 0,
            beside: None,
            creation: false,
            state: State::Barrier,
        }
    }

    /// The same, where each call only begins and the rank does something beside it.
    pub fn beside(self, beside: Option<Beside>) -> Self {
        Self { beside, ..self }
    }

    /// The same, where `creation` says whether the measured time begins before the first barrier.
    pub fn measured_from_creation(self, creation: bool) -> Self {
        let state = if creation { State::Creation } else { self.state };
        Self { creation, state, ..self }
    }

    /// The same without the barrier before the first call.
    pub fn at_once(self) -> Self {
        Self { state: State::Round, ..self }
    }

    fn call(&mut self) -> Next<Call> {
        self.done += 1;
        let call = Arc::clone(&self.call);
        if self.beside.is_some() {
            self.state = State::Begun(0);
            return Next::Call(Call::Icollective { request: REQUEST, call });
        }
        self.state = self.after_round();
        Next::Call(Call::Collective(call))
    }

    /// The state behind the round that was started last.
    fn after_round(&self) -> State {
        let measured = self.done.saturating_sub(self.warm_up);
        if is_halfway(measured, self.rounds) { State::Halfway } else { State::Round }
    }

    /// The piece of the computation after so many tests: the first ones are longer where they cannot
    /// all be equal.
    fn piece(&self, tested: u32) -> u64 {
        let Beside { compute, tests } = self.beside.expect("only such calls have pieces");
        let (pieces, whole) = (u64::from(tests) + 1, compute.as_ps());
        whole / pieces + u64::from(u64::from(tested) < whole % pieces)
    }

    /// How many tests a call has.
    fn tests(&self) -> u32 {
        self.beside.map_or(0, |beside| beside.tests)
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Repeated {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        if let (Some(Reply::Tested(Some(_))), State::Begun(tested)) = (reply, self.state) {
            self.state = State::Ended(tested);
        }
        match self.state {
            State::Creation => {
                self.state = State::Barrier;
                Next::Mark(START)
            }
            State::Barrier => {
                self.state = State::Round;
                Next::Call(Call::Barrier { comm: Comm::default() })
            }
            State::Round if self.done == self.warm_up + self.rounds => {
                self.state = State::Over;
                Next::Mark(END)
            }
            State::Round if self.done == self.warm_up && self.warm_up > 0 => {
                self.state = State::Met;
                Next::Call(Call::Barrier { comm: Comm::default() })
            }
            State::Round | State::Met if self.done == self.warm_up && !self.creation => {
                self.state = State::Started;
                Next::Mark(START)
            }
            State::Halfway => {
                self.state = State::Round;
                Next::Mark(HALFWAY)
            }
            State::Round | State::Met | State::Started => self.call(),
            State::Begun(tested) => {
                self.state = State::Computed(tested);
                Next::Compute(self.piece(tested))
            }
            State::Computed(tested) if tested < self.tests() => {
                self.state = State::Begun(tested + 1);
                Next::Call(Call::Test { request: REQUEST })
            }
            State::Computed(_) => {
                self.state = self.after_round();
                Next::Call(Call::Wait { request: REQUEST })
            }
            State::Ended(tested) => {
                let left = (tested..=self.tests()).map(|piece| self.piece(piece)).sum();
                self.state = self.after_round();
                Next::Compute(left)
            }
            State::Over => Next::End,
        }
    }
}
