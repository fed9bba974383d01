//! A stencil of 7 points on a grid of processes with six neighbours.
//!
//! ```text
//!   step   post six receives; post six sends; wait for all; compute
//! ```
//!
//! Every message has the same size, so that each rank inside the grid communicates as much as any
//! other; how many of its neighbours are on its node depends on its place.
//!
//! Source: `coop` Sec. IV-C, Fig. 17. Assumed: the order of faces, the numbering of ranks as by
//! `MPI_Cart_create`, edges without neighbours. Left out: overlap of computation with the exchange.

use std::sync::Arc;

use super::application::{
    COMPUTE, PER_NODE, PER_NODE_PATH, PROCESS_GRID, PROCESSES, RankOrder, STEPS, Skeleton, WARMUP,
    applied, equal_steps, grid, measure_steps, rank_order,
};
use super::draws::Draws;
use super::grid::{AXES, FACES, Grid};
use super::halo::Halo;
use super::job::AnyProgram;
use super::kind::Kind;
use super::metric::{COMMUNICATION, Measured, MetricSpec, STEP_TIME, TIME, brackets, to_f64};
use super::score::Score;
use collectives::Collective;
use form::fields::SIZE;
use form::shape::Shape;
use form::typed::{Object as _, default, required};
use form::workload_field;
use protocols::contract::Next;
use runtime::account::Account;
use runtime::timed::{Mark, Outcome};
use units::{Bytes, TimeDelta};

form::object! {
    /// A stencil of 7 points on a grid of processes: in a step each exchanges one message with each of
    /// its neighbours, at most six, and computes.
    pub struct StencilForm {
        processes: u32 = PROCESSES,
        processes_per_node: u32 = PER_NODE,
        grid: [u32; AXES] = PROCESS_GRID,
        rank_order: RankOrder = rank_order("last_axis"),
        /// Whether the ends of an axis are neighbours.
        periodic: bool = default(&Shape::Flag, "false"),
        /// The rank whose copies the metric `copies` counts.
        watch: u32 = default(&Shape::Count { min: 0, max: 65_535 }, "0"),
        /// Bytes that two neighbours send each other in a step.
        size: Bytes = required(&SIZE, "\"1 MB\""),
        warmup: u32 = WARMUP,
        steps: u32 = STEPS,
        compute: TimeDelta = COMPUTE,
    }
}

const COPIES: MetricSpec = MetricSpec::number("copies", "")
    .titled("Messages that the core of the watched rank copies in a step");
const COPIES_MEAN: MetricSpec = MetricSpec::number("copies_mean", "")
    .titled("Messages that a core copies in a step, in the mean");
const IMBALANCE: MetricSpec = MetricSpec::number("copy_imbalance", "")
    .titled("How far the copies of a rank are from the mean, at most");
const COPYING: MetricSpec =
    MetricSpec::time("copying").titled("Time of a step in which the watched rank copies");
const COPYING_MEAN: MetricSpec =
    MetricSpec::time("copying_mean").titled("Time of a step in which a rank copies, in the mean");

/// A stencil.
pub static KIND: Kind = Kind {
    name: "stencil",
    fields: StencilForm::FIELDS,
    about: StencilForm::ABOUT,
    metrics: &[
        STEP_TIME,
        COMMUNICATION,
        COPIES,
        COPIES_MEAN,
        IMBALANCE,
        COPYING,
        COPYING_MEAN,
        TIME,
    ],
    account: &[],
    processes: PER_NODE_PATH,
    read: |reading| {
        let form = StencilForm::read(reading.node);
        let order = (form.rank_order, form.periodic);
        let task = Stencil {
            grid: grid(reading, form.processes, form.grid, order),
            halo: form.size.as_u64(),
            warm_up: form.warmup,
            steps: form.steps,
            compute: form.compute.as_ps(),
            watched: form.watch,
        };
        Some(applied(reading, (form.processes, form.processes_per_node), task))
    },
};

/// The values of the workload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stencil {
    /// The processes.
    pub grid: Grid,
    /// Bytes of a message.
    pub halo: u64,
    /// Steps before the measured ones.
    pub warm_up: u32,
    /// Measured steps.
    pub steps: u32,
    /// Computation of a process in a step, in picoseconds.
    pub compute: u64,
    /// The rank whose copies are reported beside those of all.
    pub watched: u32,
}

/// Lower and higher neighbour of each axis.
const FACES_IN_ORDER: [usize; FACES] = [0, 1, 2, 3, 4, 5];

impl Stencil {
    /// The program of a rank; it holds 14 steps, however many are measured.
    pub fn program(&self, rank: u32) -> Score {
        let halo = Halo { grid: &self.grid, rank, bytes: [self.halo; 3] };
        let mut step = halo.together(FACES_IN_ORDER);
        step.extend((self.compute > 0).then_some(Next::Compute(self.compute)));
        equal_steps(step, [self.warm_up, self.steps])
    }

    /// Messages of all steps.
    pub fn messages(&self) -> u64 {
        self.grid.links() * u64::from(self.steps)
    }

    /// Bytes of all steps.
    pub fn bytes(&self) -> u128 {
        u128::from(self.messages()) * u128::from(self.halo)
    }
}

impl Skeleton for Stencil {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn dimensions(&self) -> [&'static str; 3] {
        [
            workload_field!(StencilForm, size),
            workload_field!(StencilForm, compute),
            workload_field!(StencilForm, steps),
        ]
    }

    fn compute(&self, _: u32) -> u128 {
        (u128::from(self.warm_up) + u128::from(self.steps)) * u128::from(self.compute)
    }

    fn messages(&self) -> u64 {
        self.messages()
    }

    fn bytes(&self, _: u32) -> u128 {
        self.bytes()
    }

    fn greatest(&self, _: u32) -> u64 {
        self.halo
    }

    fn programs(&self, processes: u32, _: &Draws, _: &[Arc<Collective>]) -> Vec<AnyProgram> {
        (0..processes).map(|rank| AnyProgram::Score(self.program(rank))).collect()
    }

    fn observed(&self) -> &'static [&'static str] {
        &[workload_field!(StencilForm, watch)]
    }

    fn measure(&self, run: &mut Measured<'_>) {
        measure_steps(run, self.steps);
        let messages = to_f64(self.halo.max(1)) * f64::from(self.steps);
        let copied = |spent: Account| to_f64(spent.copied) / messages;
        let [own, mean, imbalance] = self.measure_watched(run.outcome, copied);
        run.add(COPIES, own);
        run.add(COPIES_MEAN, mean);
        run.add(IMBALANCE, imbalance);
        let steps = f64::from(self.steps);
        let copying = |spent: Account| spent.copying().as_us_f64() / steps;
        let [own, mean, _] = self.measure_watched(run.outcome, copying);
        run.add(COPYING, own);
        run.add(COPYING_MEAN, mean);
    }
}

impl Stencil {
    /// The cost of the ranks: of the watched one, the mean, and the greatest distance from the
    /// mean, as a part of it. Of messages that they copied a half counts a half.
    fn measure_watched(&self, outcome: &Outcome, spent: impl Fn(Account) -> f64) -> [f64; 3] {
        let of =
            |(start, end): (&Mark, &Mark)| (start.process.0, spent(end.account - start.account));
        let all: Vec<(u32, f64)> = brackets(outcome).map(of).collect();
        let mean = all.iter().map(|(_, each)| each).sum::<f64>() / to_f64(all.len().max(1) as u64);
        let own = all.iter().find(|(rank, _)| *rank == self.watched).map_or(0.0, |one| one.1);
        let far = |each: f64| if mean > 0.0 { (each / mean - 1.0).abs() } else { 0.0 };
        [own, mean, all.iter().map(|(_, each)| far(*each)).fold(0.0, f64::max)]
    }
}
