//! `CoMD`: molecular dynamics in link cells, each process with a box of them.
//!
//! ```text
//!   step   halo of atoms: x, then y with what came from x, then z with what came from both; compute
//!   eam    halo of atoms; compute; halo of embedding forces, one number an atom; compute
//!   every `print_every` steps   sum of atoms before, sum of energies after (allreduce)
//! ```
//!
//! The crystal is face-centred cubic, four atoms in a unit cell. An axis of a process has as many link
//! cells as the cutoff leaves room for, at least two. A message carries the atoms of one plane of link
//! cells, with those of the planes that came before along other axes: for g link cells on each axis and
//! a atoms in each of them
//!
//! ```text
//!   x: gy gz a      y: (gx + 2) gz a      z: (gx + 2) (gy + 2) a      times 56 B an atom
//! ```
//!
//! Two `MPI_Sendrecv` follow each other on each axis. The box is periodic: where an axis has one process
//! it sends to itself.
//!
//! Source: ECP-copa/CoMD 1.1, `haloExchange.c` (order, planes, the record of an atom: two ints and six
//! doubles), `linkCells.c` (link cells of an axis), `CoMD.c` (reductions), `ljForce.c` (lattice constant
//! 3.615 and cutoff 2.5 x 2.315 angstroms); `coop` Sec. V, Fig. 19 (problem and steps). Assumed: the
//! potential; atoms spread evenly, and none on its way across a boundary, so that every message of an
//! axis has the mean size. Left out: packing and sorting of atoms, which count as computation.

use std::sync::Arc;

use super::application::{
    Application, COMPUTE, PER_NODE, PER_NODE_PATH, PROCESS_GRID, PROCESSES, RankOrder, STEPS,
    Scaling, Skeleton, WARMUP, applied, grid, measure_steps, program, rank_order, reduce, sum,
};
use super::draws::Draws;
use super::grid::{AXES, Grid};
use super::halo::{FREE, Halo};
use super::job::AnyProgram;
use super::kind::{Kind, Reading};
use super::metric::{COMMUNICATION, Measured, STEP_TIME, TIME};
use super::score::{Score, Section};
use collectives::Collective;
use form::shape::Shape;
use form::typed::{Billionths, Object as _, default, required};
use form::workload_field;
use mpi::operator::Datatype;
use protocols::call::Call;
use protocols::contract::Next;
use units::TimeDelta;

/// Bytes of an atom in a halo of atoms.
/// Source: ECP-copa/CoMD 1.1, `haloExchange.c`: two ints and six doubles.
pub const ATOM: u64 = 56;
/// Bytes of an atom in a halo of embedding forces.
/// Source: ECP-copa/CoMD 1.1: one number an atom.
pub const FORCE: u64 = 8;
/// Atoms of a unit cell.
/// Source: a face-centred cubic crystal.
const FCC: u128 = 4;
/// The cutoff of the Lennard-Jones potential in lattice constants, in billionths.
/// Source: ECP-copa/CoMD 1.1, `ljForce.c`.
pub const CUTOFF: u64 = 1_600_968_188;

form::words! {
    /// How forces are computed.
    pub enum Potential {
        /// one halo exchange a step
        LennardJones = "lennard_jones",
        /// a second one for one number of each atom
        EmbeddedAtom = "embedded_atom",
    }
}

static UNIT_CELLS: Shape =
    Shape::List { of: &Shape::Count { min: 1, max: 1_000_000 }, min: 3, max: 3 };

form::object! {
    /// CoMD: atoms near the faces of each process go to its neighbours, axis by axis, in each step.
    pub struct CoMdForm {
        processes: u32 = PROCESSES,
        processes_per_node: u32 = PER_NODE,
        grid: [u32; AXES] = PROCESS_GRID,
        rank_order: RankOrder = rank_order("first_axis"),
        /// Unit cells on each axis.
        unit_cells: [u32; AXES] = required(&UNIT_CELLS, "[ 100, 100, 100 ]"),
        /// Weak: the unit cells of x count for each node.
        scaling: Scaling = default(&Scaling::SHAPE, "strong"),
        /// How forces are computed.
        potential: Potential = default(&Potential::SHAPE, "lennard_jones"),
        /// The least side of a link cell, in lattice constants.
        cutoff: Billionths =
            default(&Shape::Ratio { min: 1_000_000_000, max: 1_000_000_000_000 }, "1.600968188"),
        warmup: u32 = WARMUP,
        steps: u32 = STEPS,
        /// Steps from one sum of atoms and energies to the next.
        print_every: u32 = default(&Shape::Count { min: 1, max: 100 }, "10"),
        compute: TimeDelta = COMPUTE,
    }
}

/// Molecular dynamics.
pub static KIND: Kind = Kind {
    name: "comd",
    fields: CoMdForm::FIELDS,
    about: CoMdForm::ABOUT,
    metrics: &[STEP_TIME, COMMUNICATION, TIME],
    account: &[],
    processes: PER_NODE_PATH,
    read: |reading| {
        let form = CoMdForm::read(reading.node);
        let (processes, per_node) = (form.processes, form.processes_per_node);
        let grid = grid(reading, processes, form.grid, (form.rank_order, true));
        let mut unit_cells = form.unit_cells;
        if form.scaling == Scaling::Weak {
            let nodes = processes.div_ceil(per_node.min(processes));
            unit_cells[0] = unit_cells[0].saturating_mul(nodes);
        }
        let task = CoMd {
            grid,
            unit_cells,
            cutoff: form.cutoff.0,
            embedded: form.potential == Potential::EmbeddedAtom,
            warm_up: form.warmup,
            steps: form.steps,
            print_every: form.print_every,
            compute: form.compute.as_ps(),
        };
        Some(applied(reading, (processes, per_node), task))
    },
};

/// The values of the workload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CoMd {
    /// The processes.
    pub grid: Grid,
    /// Unit cells on each axis, of all processes together.
    pub unit_cells: [u32; AXES],
    /// The least side of a link cell in lattice constants, in billionths.
    pub cutoff: u64,
    /// Whether the forces need a halo of their own (embedded atom method).
    pub embedded: bool,
    /// Steps before the measured ones.
    pub warm_up: u32,
    /// Measured steps.
    pub steps: u32,
    /// Steps from one sum of atoms and energies to the next.
    pub print_every: u32,
    /// Computation of a process in a step, in picoseconds.
    pub compute: u64,
}

impl CoMd {
    /// Link cells of a process on each axis.
    pub fn link_cells(&self) -> [u64; AXES] {
        std::array::from_fn(|axis| {
            let cells = u128::from(self.unit_cells[axis]) * 1_000_000_000;
            let one = u128::from(self.grid.extents[axis]) * u128::from(self.cutoff);
            u64::try_from(cells / one.max(1)).unwrap_or(u64::MAX)
        })
    }

    /// Whether each axis of a process has at least two link cells, as the code demands.
    pub fn fits(&self) -> bool {
        self.link_cells().iter().all(|cells| *cells >= 2)
    }

    /// Atoms of a message on each axis: the mean.
    pub fn atoms(&self) -> [u64; AXES] {
        let [x, y, z] = self.link_cells().map(u128::from);
        let all = self.unit_cells.iter().fold(FCC, |all, cells| all * u128::from(*cells));
        let boxes = x * y * z * u128::from(self.grid.processes());
        let planes = [y * z, (x + 2) * z, (x + 2) * (y + 2)];
        planes.map(|plane| u64::try_from(all * plane / boxes.max(1)).unwrap_or(u64::MAX))
    }

    /// Bytes of the messages of a halo of atoms, on each axis.
    pub fn halo(&self) -> [u64; AXES] {
        self.atoms().map(|atoms| atoms.saturating_mul(ATOM))
    }

    /// The program of a rank; it holds the steps of `print_every`, at most 38 each.
    pub fn program(&self, rank: u32, [atoms, energies]: [&Arc<Collective>; 2]) -> Score {
        let step = self.step(rank);
        let printed = |steps: u32| -> Vec<Next<Call>> {
            let steps = (0..steps).flat_map(|_| step.iter().cloned());
            [reduce(atoms)].into_iter().chain(steps).chain([reduce(energies)]).collect()
        };
        let print_every = self.print_every.min(self.steps);
        let part = |steps: u32| (steps / print_every, steps % print_every);
        let ((before, rest_before), (times, rest)) = (part(self.warm_up), part(self.steps));
        let warm_up = Section::repeated(printed(print_every), before);
        let last = |rest| Section::repeated(printed(rest), u32::from(rest > 0));
        let measured = if rest == 0 {
            Section::measured(printed(print_every), times)
        } else {
            vec![Section::repeated(printed(print_every), times), last(rest)]
        };
        program(vec![warm_up, last(rest_before)], measured)
    }

    fn step(&self, rank: u32) -> Vec<Next<Call>> {
        let halo = Halo { grid: &self.grid, rank, bytes: self.halo() };
        let compute = |time| (time > 0).then_some(Next::Compute(time));
        let mut step = halo.by_axis();
        if !self.embedded {
            step.extend(compute(self.compute));
            return step;
        }
        let first = self.compute / 2;
        step.extend(compute(first));
        step.extend(Halo { bytes: self.atoms().map(|atoms| atoms * FORCE), ..halo }.by_axis());
        step.extend(compute(self.compute - first));
        step
    }

    /// Messages of all steps, without those of reductions.
    pub fn messages(&self) -> u64 {
        let halos = if self.embedded { 2 } else { 1 };
        halos * self.grid.links() * u64::from(self.steps)
    }

    /// Bytes of all steps, without those of reductions.
    pub fn bytes(&self) -> u128 {
        let each = ATOM + if self.embedded { FORCE } else { 0 };
        let atoms: u128 = self.atoms().iter().map(|atoms| u128::from(*atoms)).sum();
        let step = 2 * atoms * u128::from(each) * u128::from(self.grid.processes());
        step * u128::from(self.steps)
    }
}

impl Skeleton for CoMd {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn check(&self, _: &Application, reading: &mut Reading<'_>) {
        if !self.fits() {
            let [x, y, z] = self.link_cells();
            let found = format!("a process has {x} x {y} x {z} link cells");
            let path = workload_field!(CoMdForm, unit_cells);
            reading.refuse(path, found, "at least 2 on each axis are needed");
        }
    }

    fn dimensions(&self) -> [&'static str; 3] {
        [
            workload_field!(CoMdForm, unit_cells),
            workload_field!(CoMdForm, compute),
            workload_field!(CoMdForm, steps),
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
        self.halo().into_iter().max().unwrap_or(0)
    }

    /// The sum of atoms, and the sum of energies.
    fn collectives(&self, _: u32) -> Vec<Collective> {
        vec![sum(Datatype::Int32, 1, FREE), sum(Datatype::Double, 2, FREE + 2)]
    }

    fn programs(
        &self,
        processes: u32,
        _: &Draws,
        collectives: &[Arc<Collective>],
    ) -> Vec<AnyProgram> {
        let sums = [&collectives[0], &collectives[1]];
        (0..processes).map(|rank| AnyProgram::Score(self.program(rank, sums))).collect()
    }

    fn measure(&self, run: &mut Measured<'_>) {
        measure_steps(run, self.steps);
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::Order;
    use super::*;

    fn comd(extents: [u32; 3], unit_cells: [u32; 3]) -> CoMd {
        CoMd {
            grid: Grid { extents, order: Order::FirstAxis, periodic: true },
            unit_cells,
            cutoff: CUTOFF,
            embedded: false,
            warm_up: 0,
            steps: 25,
            print_every: 10,
            compute: 1,
        }
    }

    /// 20 unit cells hold 12.49 link cells of 1.601, 10 hold 6.2; 4 x 20^3 atoms in 12 x 6 x 6 x 4.
    #[test]
    fn messages_carry_the_atoms_of_a_plane_and_of_what_came_before() {
        let one = comd([1, 2, 2], [20, 20, 20]);
        assert_eq!(one.link_cells(), [12, 6, 6]);
        let cell = |planes: u64| 4 * 20 * 20 * 20 * planes / (12 * 6 * 6 * 4);
        assert_eq!(one.atoms(), [cell(6 * 6), cell(14 * 6), cell(14 * 8)]);
        assert_eq!(one.halo(), one.atoms().map(|atoms| 56 * atoms));
    }

    /// `coop` Fig. 19: 3200 x 100 x 100 unit cells on 896 processes.
    #[test]
    fn the_messages_of_the_document_are_far_above_the_eager_threshold() {
        let one = comd([32, 7, 4], [3_200, 100, 100]);
        assert_eq!(one.link_cells(), [62, 8, 15]);
        // 128 million atoms in 896 x 62 x 8 x 15 link cells; planes of 120, 960 and 640 of these.
        let atoms = [120, 960, 640].map(|cells| 128_000_000 * cells / (896 * 62 * 8 * 15));
        assert_eq!(atoms, [2_304, 18_433, 12_288]);
        assert_eq!(one.halo(), atoms.map(|atoms| 56 * atoms));
        assert_eq!(one.halo(), [129_024, 1_032_248, 688_128]);
        assert!(one.fits());
        assert!(!comd([32, 32, 4], [3_200, 100, 100]).fits(), "3.1 unit cells hold one link cell");
    }

    #[test]
    fn the_last_steps_are_summed_like_the_others() {
        let one = comd([2, 2, 2], [20; 3]);
        assert_eq!(one.messages(), 25 * 6 * 8);
        let halo: u64 = one.halo().iter().sum();
        assert_eq!(one.bytes(), 25 * 2 * 8 * u128::from(halo));
        let both = CoMd { embedded: true, ..one };
        assert_eq!(both.messages(), 2 * one.messages());
        assert_eq!(both.bytes() * 56, one.bytes() * 64);
    }
}
