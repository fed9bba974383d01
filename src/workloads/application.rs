//! Skeletons of applications: their messages are those of the code, their computation is an input.
//!
//! Each process is one rank of `MPI_COMM_WORLD`. All begin with a barrier; marks 0 and 1 of a rank
//! bracket what is measured.
//!
//! Source: `coop` Sec. IV-C and V. The computation is calibrated on a run with the default protocol only.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use super::draws::Draws;
use super::grid::{AXES, Grid, Order, dims};
use super::job::{AnyProgram, draws};
use super::kind::{Kind, LONGEST_RUN, Processes, Reading, Workload};
use super::metric::{COMMUNICATION, Measured, inside};
use super::ranks::Ranks;
use super::score::{Score, Section};
use collectives::Collective;
use form::codes;
use form::fields::{LONG, MAX_MESSAGE, POSITIVE, time};
use form::shape::Shape;
use form::typed::{Entry, default, required};
use language::collectives::Chosen;
use language::marks::{DRIFTED_START, END, START};
use mpi::operator::{Datatype, Operator, Reduction};
use protocols::call::{Call, Comm};
use protocols::contract::{Next, Region, Space};
use units::PS_PER_S;

static COUNT: Shape = Shape::Count { min: 1, max: 65_536 };
pub(super) static TIME: Shape = time(0, LONG);

pub(super) const PROCESSES: Entry = required(&COUNT, "64").saying("Processes in all.");
pub(super) const PER_NODE: Entry = required(&COUNT, "28").saying("Processes of a node, at most.");
pub(super) const PROCESS_GRID: Entry = default(
    &Shape::List { of: &Shape::Count { min: 0, max: 65_536 }, min: 3, max: 3 },
    "[ 0, 0, 0 ]",
)
.saying("Processes on each axis; those that are 0 are chosen as by MPI_Dims_create.");
pub(super) const COMPUTE: Entry =
    default(&TIME, "0 s").saying("Computation of a process in a step.");
pub(super) const STEPS: Entry = required(&POSITIVE, "10").saying("Measured steps.");
pub(super) const WARMUP: Entry = default(&Shape::Count { min: 0, max: 1_000_000 }, "0")
    .saying("Steps before the measured ones, without a barrier behind them.");

form::words! {
    /// How the processes of a grid are numbered.
    pub enum RankOrder {
        /// the numbers of ranks run along z first, as in MPI_Cart_create
        LastAxis = "last_axis",
        /// they run along x first
        FirstAxis = "first_axis",
    }
}

/// How the processes of a grid are numbered, with the default of an application.
pub(super) const fn rank_order(usual: &'static str) -> Entry {
    default(&RankOrder::SHAPE, usual).saying("How the processes of the grid are numbered.")
}

form::words! {
    /// The unit that the size of the problem is given for.
    pub enum Scaling {
        /// the problem grows with the job
        Weak = "weak",
        /// the problem is that of the whole job
        Strong = "strong",
    }
}

/// The field that says how many processes a node has.
pub(super) const PER_NODE_PATH: &str = "workload.processes_per_node";

/// The skeleton of an application; one type implements it in the file of its kind.
pub trait Skeleton: Any + Debug + Send + Sync {
    /// Its kind.
    fn kind(&self) -> &'static Kind;

    /// Refuses numbers that contradict each other.
    fn check(&self, _application: &Application, _reading: &mut Reading<'_>) {}

    /// Paths of the fields that give the size of messages, the computation, and what multiplies both.
    fn dimensions(&self) -> [&'static str; 3];

    /// Computation of a process in all steps, in picoseconds, at most.
    fn compute(&self, processes: u32) -> u128;

    /// Messages between neighbours in all steps; 0 where they are known with the programs only.
    fn messages(&self) -> u64;

    /// Bytes of all messages, at most.
    fn bytes(&self, processes: u32) -> u128;

    /// Bytes of the greatest message.
    fn greatest(&self, processes: u32) -> u64;

    /// The collectives over all processes that it calls, each by the library's default.
    fn collectives(&self, _processes: u32) -> Vec<Collective> {
        Vec::new()
    }

    /// The programs of all ranks, with their collectives as the library makes them; `draws` decide
    /// what is random.
    fn programs(
        &self,
        processes: u32,
        draws: &Draws,
        collectives: &[Arc<Collective>],
    ) -> Vec<AnyProgram>;

    /// As [`Workload::observed`].
    fn observed(&self) -> &'static [&'static str] {
        &[]
    }

    /// Adds its metrics.
    fn measure(&self, run: &mut Measured<'_>);
}

/// An application on so many processes.
#[derive(Clone, Debug)]
pub struct Application {
    /// Processes.
    pub processes: u32,
    /// The most processes of a node.
    pub per_node: u32,
    /// The task of the processes.
    pub task: Arc<dyn Skeleton>,
}

/// An application, and its collectives as the library makes them.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The application.
    pub application: Application,
    /// One call for each of [`Application::collectives`].
    pub calls: Vec<Chosen>,
}

/// The workload of an application; reports where its numbers contradict each other.
pub(super) fn applied(
    reading: &mut Reading<'_>,
    (processes, per_node): (u32, u32),
    task: impl Skeleton,
) -> Arc<dyn Workload> {
    let per_node = per_node.min(processes);
    let application = Application { processes, per_node, task: Arc::new(task) };
    application.check(reading);
    let (node, choices) = (reading.node, reading.choices);
    let called = application.collectives().into_iter();
    let calls =
        called.map(|call| choices.choose(reading.diagnostics, node, "workload", call)).collect();
    Arc::new(Applied { application, calls })
}

/// The grid of the processes; a line of them with a report where they do not fit.
pub(super) fn grid(
    reading: &mut Reading<'_>,
    processes: u32,
    given: [u32; AXES],
    (order, periodic): (RankOrder, bool),
) -> Grid {
    let extents = dims(processes, given).unwrap_or_else(|| {
        let [x, y, z] = given;
        let found = format!("{processes} processes on {x} x {y} x {z}");
        let allowed = "the product must be the number of processes; 0 leaves an axis to be chosen";
        reading.refuse("workload.grid", found, allowed);
        [processes, 1, 1]
    });
    let order = match order {
        RankOrder::FirstAxis => Order::FirstAxis,
        RankOrder::LastAxis => Order::LastAxis,
    };
    Grid { extents, order, periodic }
}

/// A sum of so many elements over all processes; its buffers are numbered from `id` on.
pub(super) fn sum(datatype: Datatype, elements: u64, id: u32) -> Collective {
    let sum = Reduction::new(Operator::Sum, datatype).expect("numbers have a sum");
    let region = |id| Region::new(Space::User(id), elements * datatype.width());
    Collective::allreduce(Comm::default(), region(id), region(id + 1), sum)
}

/// Adds the time of each step, and how much of it a rank is inside MPI.
pub(super) fn measure_steps(run: &mut Measured<'_>, steps: u32) {
    run.step_time(steps);
    run.add(COMMUNICATION, inside(run.outcome).as_us_f64() / f64::from(steps));
}

impl Application {
    /// Its skeleton as one of type `T`, where it is one.
    pub fn task_as<T: Skeleton>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.task;
        any.downcast_ref()
    }

    /// Nodes that hold the processes.
    pub const fn nodes(&self) -> u32 {
        self.processes.div_ceil(self.per_node)
    }

    /// The collectives over all processes that it calls, each by the library's default.
    pub fn collectives(&self) -> Vec<Collective> {
        self.task.collectives(self.processes)
    }

    /// The programs of all ranks, with their collectives as the library makes them; `draws` decide
    /// the graph of a search.
    ///
    /// # Panics
    ///
    /// When there are not as many calls as [`Self::collectives`] names.
    pub fn programs(&self, draws: &Draws, calls: &[Arc<Collective>]) -> Vec<AnyProgram> {
        assert_eq!(calls.len(), self.collectives().len(), "each collective has its call");
        self.task.programs(self.processes, draws, calls)
    }

    /// Refuses numbers that contradict each other.
    fn check(&self, reading: &mut Reading<'_>) {
        if self.nodes() > reading.nodes {
            let found = format!("{} processes need {} nodes", self.processes, self.nodes());
            let allowed =
                format!("there are {}, with {} processes each", reading.nodes, self.per_node);
            reading.refuse("workload.processes", found, allowed);
        }
        self.task.check(self, reading);
        self.check_products(reading);
    }

    /// Bytes and time of all steps must fit 64 bits, and a message the greatest one.
    fn check_products(&self, reading: &mut Reading<'_>) {
        let [size, time, also] = self.task.dimensions();
        let mut report = |path: &str, found: String, allowed: String| {
            let one = reading.error(&codes::PRODUCT, path, found, allowed);
            let one = one.related(reading.place(also), format!("it goes with `{also}`"));
            reading.diagnostics.push(one);
        };
        let (greatest, bytes) =
            (self.task.greatest(self.processes), self.task.bytes(self.processes));
        if greatest > MAX_MESSAGE {
            let found = format!("a message has {greatest} bytes");
            report(size, found, format!("at most {MAX_MESSAGE} are allowed"));
        } else if bytes > u128::from(u64::MAX) {
            let found = format!("all messages together have {bytes} bytes");
            report(size, found, "at most 2^64 bytes can be counted".to_owned());
        }
        let compute = self.task.compute(self.processes);
        if compute > u128::from(LONGEST_RUN.as_ps()) {
            let days = compute / (24 * 3600 * u128::from(PS_PER_S));
            let found = format!("a process computes for {days} days");
            report(time, found, "at most 200 days can be counted".to_owned());
        }
    }
}

impl Workload for Applied {
    fn kind(&self) -> &'static Kind {
        self.application.task.kind()
    }

    fn processes(&self, _: &mut Reading<'_>) -> Option<Processes> {
        Some(Processes::new(self.application.processes, self.application.per_node))
    }

    fn collectives(&self) -> Vec<&Chosen> {
        self.calls.iter().collect()
    }

    fn nodes(&self) -> Option<u32> {
        Some(self.application.nodes())
    }

    fn programs(&self, ranks: &Ranks) -> Vec<AnyProgram> {
        let calls = self.calls.iter().map(|one| Arc::new(ranks.placed(one)));
        self.application.programs(&*draws(ranks.seed), &calls.collect::<Vec<_>>())
    }

    fn messages(&self, _: &Ranks) -> u64 {
        self.application.task.messages()
    }

    fn observed(&self) -> &'static [&'static str] {
        self.application.task.observed()
    }

    fn measure(&self, run: &mut Measured<'_>) {
        self.application.task.measure(run);
    }
}

/// The program of a rank: equal steps, of which the first are a warm-up.
pub(super) fn equal_steps(
    step: impl IntoIterator<Item = Next<Call>>,
    [warm_up, steps]: [u32; 2],
) -> Score {
    let warm_up = Section::repeated(step, warm_up);
    let measured = Section::measured(warm_up.steps.iter().cloned(), steps);
    program(vec![warm_up], measured)
}

/// The program of a rank: a warm-up, and what is measured.
///
/// All meet before the first step, and behind a warm-up they are as far apart as the application lets
/// them drift: a barrier there would make a new start.
pub(super) fn program(warm_up: Vec<Section>, measured: Vec<Section>) -> Score {
    let together = warm_up.iter().all(|section| section.times == 0);
    let start = if together { START } else { DRIFTED_START };
    let meet = Section::once([Next::Call(Call::Barrier { comm: Comm::default() })]);
    let [start, end] = [start, END].map(|mark| Section::once([Next::Mark(mark)]));
    Score::new([meet].into_iter().chain(warm_up).chain([start]).chain(measured).chain([end]))
}

/// One reduction.
pub(super) fn reduce(call: &Arc<Collective>) -> Next<Call> {
    Next::Call(Call::Collective(Arc::clone(call)))
}
