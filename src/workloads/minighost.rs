//! `MiniGhost`: a stencil code that sends the faces of all variables in one message (BSPMA: bulk
//! synchronous parallel with message aggregation).
//!
//! ```text
//!   step   post the receives; post the sends: back, front, east, west, north, south; wait for all
//!          compute, and sum some of the variables over all processes (allreduce), in turn
//! ```
//!
//! A face has the ghost points of its edges too: through x go (ny + 2) (nz + 2) points of each variable,
//! 8 B each. The 5-point stencil works in planes, and yet all six faces are exchanged.
//!
//! Source: Mantevo `MiniGhost` (Barrett and others), as in the public copy KaimingOuyang/miniGhost:
//! `MG_BUFINIT.F` (sizes), `MG_UTILS.F` (neighbours, numbering of ranks along x first),
//! `MG_SEND_BSPMA.F` (order), `DRIVER_BSPMA.F` (step); `coop` Sec. V, Fig. 20 (variables, steps, grid).
//! Assumed: points of a process (default of the code: 100 on each axis), how many variables are summed
//! (default of the code: all; here: none). Left out: packing, which counts as computation, and the wait
//! for any message in turn, so that one is unpacked while others come.

use std::sync::Arc;

use super::application::{
    Application, COMPUTE, PER_NODE, PER_NODE_PATH, PROCESS_GRID, PROCESSES, RankOrder, STEPS,
    Scaling, Skeleton, WARMUP, applied, equal_steps, grid, measure_steps, rank_order, reduce, sum,
};
use super::draws::Draws;
use super::grid::{AXES, FACES, Grid};
use super::halo::{FREE, Halo};
use super::job::AnyProgram;
use super::kind::{Kind, Reading};
use super::metric::{COMMUNICATION, Measured, STEP_TIME, TIME};
use super::score::Score;
use collectives::Collective;
use form::fields::POSITIVE;
use form::shape::Shape;
use form::typed::{Object as _, default};
use form::workload_field;
use mpi::operator::Datatype;
use protocols::call::Call;
use protocols::contract::Next;
use units::TimeDelta;

/// Bytes of a variable at a point.
/// Source: `MG_BUFINIT.F` of `MiniGhost`.
const REAL: u64 = 8;
/// Back, front, east, west, north, south.
const FACES_IN_ORDER: [usize; FACES] = [4, 5, 1, 0, 3, 2];

static EXTENTS: Shape =
    Shape::List { of: &Shape::Count { min: 1, max: 1_000_000_000 }, min: 3, max: 3 };

form::object! {
    /// MiniGhost (BSPMA): the faces of all variables go to each neighbour in one message in each step.
    pub struct MiniGhostForm {
        processes: u32 = PROCESSES,
        processes_per_node: u32 = PER_NODE,
        grid: [u32; AXES] = PROCESS_GRID,
        rank_order: RankOrder = rank_order("first_axis"),
        /// Points on each axis.
        points: [u32; AXES] = default(&EXTENTS, "[ 100, 100, 100 ]"),
        /// Weak: the points are those of each process.
        scaling: Scaling = default(&Scaling::SHAPE, "weak"),
        /// Variables of a point, 8 B each.
        variables: u32 = default(&POSITIVE, "5"),
        /// Variables that are summed over all processes in a step.
        sums: u32 = default(&Shape::Count { min: 0, max: 1_000 }, "0"),
        warmup: u32 = WARMUP,
        steps: u32 = STEPS,
        compute: TimeDelta = COMPUTE,
    }
}

/// A stencil code with many variables.
pub static KIND: Kind = Kind {
    name: "minighost",
    fields: MiniGhostForm::FIELDS,
    about: MiniGhostForm::ABOUT,
    metrics: &[STEP_TIME, COMMUNICATION, TIME],
    account: &[],
    processes: PER_NODE_PATH,
    read: |reading| {
        let form = MiniGhostForm::read(reading.node);
        let task = MiniGhost {
            grid: grid(reading, form.processes, form.grid, (form.rank_order, false)),
            points: form.points,
            global: form.scaling == Scaling::Strong,
            variables: form.variables,
            sums: form.sums,
            warm_up: form.warmup,
            steps: form.steps,
            compute: form.compute.as_ps(),
        };
        Some(applied(reading, (form.processes, form.processes_per_node), task))
    },
};

/// The values of the workload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MiniGhost {
    /// The processes.
    pub grid: Grid,
    /// Points on each axis: of a process, or of all together.
    pub points: [u32; AXES],
    /// Whether `points` counts those of all processes together (strong scaling).
    pub global: bool,
    /// Variables of a point.
    pub variables: u32,
    /// Variables that are summed over all processes in a step.
    pub sums: u32,
    /// Steps before the measured ones.
    pub warm_up: u32,
    /// Measured steps.
    pub steps: u32,
    /// Computation of a process in a step, in picoseconds.
    pub compute: u64,
}

impl MiniGhost {
    /// Points of a rank on each axis; those that do not divide go to the first processes of an axis.
    pub fn local(&self, rank: u32) -> [u64; AXES] {
        let place = self.grid.place(rank);
        std::array::from_fn(|axis| {
            let (points, extent) = (self.points[axis], self.grid.extents[axis]);
            if !self.global {
                return points.into();
            }
            u64::from(points / extent) + u64::from(place[axis] < points % extent)
        })
    }

    /// Bytes that a rank sends through a face of each axis.
    pub fn halo(&self, rank: u32) -> [u64; AXES] {
        let [x, y, z] = self.local(rank).map(|points| points + 2);
        let each = u64::from(self.variables) * REAL;
        [y * z, x * z, x * y].map(|points| points.saturating_mul(each))
    }

    /// The program of a rank; it holds the steps of one time step: 13, and two for each sum.
    pub fn program(&self, rank: u32, sum: Option<&Arc<Collective>>) -> Score {
        let halo = Halo { grid: &self.grid, rank, bytes: self.halo(rank) };
        let mut step = halo.together(FACES_IN_ORDER);
        step.extend(self.computation(sum));
        equal_steps(step, [self.warm_up, self.steps])
    }

    /// Computation in as many parts as there are sums, each with its sum after it.
    fn computation(&self, sum: Option<&Arc<Collective>>) -> Vec<Next<Call>> {
        let parts = u64::from(self.sums.max(1));
        let until = |part: u64| {
            let time = u128::from(self.compute) * u128::from(part) / u128::from(parts);
            u64::try_from(time).expect("at most the whole time")
        };
        let mut steps = Vec::new();
        for part in 0..parts {
            let time = until(part + 1) - until(part);
            steps.extend((time > 0).then_some(Next::Compute(time)));
            steps.extend(sum.map(reduce));
        }
        steps
    }

    /// Messages of all steps, without those of sums.
    pub fn messages(&self) -> u64 {
        self.grid.links() * u64::from(self.steps)
    }

    /// Bytes of all steps, without those of sums.
    pub fn bytes(&self) -> u128 {
        let of = |rank| {
            let halo = self.halo(rank);
            let present = |face: &usize| self.grid.neighbour(rank, *face).is_some();
            let faces = (0..FACES).filter(present);
            faces.map(|face| u128::from(halo[face / 2])).sum::<u128>()
        };
        (0..self.grid.processes()).map(of).sum::<u128>() * u128::from(self.steps)
    }
}

impl Skeleton for MiniGhost {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn check(&self, _: &Application, reading: &mut Reading<'_>) {
        let lacks = |axis: &usize| self.points[*axis] < self.grid.extents[*axis];
        if let Some(axis) = (0..AXES).find(lacks).filter(|_| self.global) {
            let (points, extent) = (self.points[axis], self.grid.extents[axis]);
            let found = format!("{points} points on an axis of {extent} processes");
            let path = workload_field!(MiniGhostForm, points);
            reading.refuse(path, found, "at least one for each process is needed");
        }
        if self.sums > self.variables {
            let found = format!("{} variables are summed", self.sums);
            let path = workload_field!(MiniGhostForm, sums);
            reading.refuse(path, found, format!("there are {}", self.variables));
        }
    }

    fn dimensions(&self) -> [&'static str; 3] {
        [
            workload_field!(MiniGhostForm, variables),
            workload_field!(MiniGhostForm, compute),
            workload_field!(MiniGhostForm, steps),
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
        self.halo(0).into_iter().max().unwrap_or(0)
    }

    /// The sum of a variable, where one is summed.
    fn collectives(&self, _: u32) -> Vec<Collective> {
        if self.sums == 0 { Vec::new() } else { vec![sum(Datatype::Double, 1, FREE)] }
    }

    fn programs(
        &self,
        processes: u32,
        _: &Draws,
        collectives: &[Arc<Collective>],
    ) -> Vec<AnyProgram> {
        let sum = collectives.first();
        (0..processes).map(|rank| AnyProgram::Score(self.program(rank, sum))).collect()
    }

    fn measure(&self, run: &mut Measured<'_>) {
        measure_steps(run, self.steps);
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::{Order, opposite};
    use super::*;

    fn ghost(extents: [u32; 3], points: [u32; 3], global: bool) -> MiniGhost {
        let grid = Grid { extents, order: Order::FirstAxis, periodic: false };
        MiniGhost {
            grid,
            points,
            global,
            variables: 1_000,
            sums: 3,
            warm_up: 0,
            steps: 7,
            compute: 10,
        }
    }

    /// `coop` Fig. 20, with 10 points on each axis: 12 x 12 x 1000 numbers.
    #[test]
    fn a_message_holds_the_faces_of_all_variables_and_their_edges() {
        let one = ghost([16, 7, 4], [10; 3], false);
        assert_eq!(one.halo(0), [144 * 8_000; 3]);
        assert_eq!(ghost([1; 3], [1, 2, 3], false).halo(0), [20, 15, 12].map(|n| n * 8_000));
    }

    #[test]
    fn neighbours_agree_on_the_size_of_their_face() {
        for global in [false, true] {
            let one = ghost([5, 3, 2], [17, 11, 9], global);
            let points = |axis: usize| -> u64 {
                let line = (0..one.grid.extents[axis]).map(|at| {
                    let mut place = [0; 3];
                    place[axis] = at;
                    one.local(one.grid.rank(place))[axis]
                });
                line.sum()
            };
            if global {
                assert_eq!([0, 1, 2].map(points), [17, 11, 9], "no point is lost");
            }
            for rank in 0..one.grid.processes() {
                for face in 0..FACES {
                    let Some(other) = one.grid.neighbour(rank, face) else { continue };
                    let (mine, theirs) = (one.halo(rank), one.halo(other));
                    assert_eq!(mine[face / 2], theirs[opposite(face) / 2]);
                }
            }
        }
    }

    #[test]
    fn no_computation_is_lost_between_sums() {
        let one = ghost([2, 1, 1], [4; 3], false);
        let sum = Arc::new(Collective::barrier(protocols::call::Comm::default()));
        let steps = one.computation(Some(&sum));
        let times = steps.iter().map(|step| if let Next::Compute(time) = step { *time } else { 0 });
        assert_eq!(times.sum::<u64>(), 10);
        assert_eq!(steps.iter().filter(|step| **step == reduce(&sum)).count(), 3);
    }
}
