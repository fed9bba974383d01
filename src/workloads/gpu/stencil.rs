//! Nine-point stencil in two dimensions on the GPUs of several nodes, as `Stencil2D` of SHOC.
//!
//! ```text
//!   step   rows to and from north and south; columns to and from west and east; the halo of the other
//!          array (four copies inside the device); the kernel
//! ```
//!
//! Rows are contiguous and go by one copy each way; columns are packed by the method that is requested.
//! Each exchange is `MPI_Sendrecv` of GPU memory. Copies inside the device and the kernel are queued:
//! the next exchange waits for them in its stream.
//! Source: `gpu-pack` Sec. 5.1, Table 3; the sources of SHOC (grid, order of exchanges, copies,
//! kernel; 11 operations a point).
//! Assumed: the tile of the kernel, and rows padded to multiples of 16 points. Left out: the values.

use std::sync::Arc;

use super::{Needs, PACKED_BY, broken, check_machine, memory, method, packed, pattern, unpacked};
use crate::assumption::Assumption;
use crate::fields::ROUND_COUNT;
use crate::job::AnyProgram;
use crate::kind::{Kind, Processes, Reading, Workload};
use crate::metric::{Measured, MetricSpec, STEP_TIME, TIME, to_f64};
use crate::ranks::Ranks;
use crate::score::{Score, Section};
use calls::packing::{Layout, Method, Refusal};
use form::fields::{LONG, time};
use form::machine::Machine;
use form::shape::Shape;
use form::typed::{Object as _, default, optional, required};
use form::workload_field;
use hardware::gpu::Block;
use language::marks::{END, START};
use mpi::datatype::{Datatype, Primitive};
use mpi::envelope::Rank;
use protocols::call::{Call, Comm, Peer};
use protocols::contract::{Next, Process, Region};
use protocols::device::{DeviceBuffer, DeviceExchange, DeviceWork, Stencil};
use runtime::memory::Memories;
use runtime::monitors::Violation;
use units::TimeDelta;

/// Operations of a point.
/// Source: as SHOC counts them.
const FLOPS: u64 = 11;
/// Rows are padded to multiples of so many points.
/// Source: assumed, as the head of this file says.
const PAD: u64 = 16;

static TILE: Shape = Shape::Count { min: 1, max: 1_024 };
static ANY_TIME: Shape = time(0, LONG);

form::words! {
    /// Bytes of a point.
    pub enum Precision {
        /// 4 B a point
        Single = "single",
        /// 8 B a point
        Double = "double",
    }
}

form::object! {
    /// A nine-point stencil on the GPUs of a grid of nodes, which exchange rows and columns.
    pub struct GpuStencilForm {
        /// Points of a process in each of two dimensions.
        side: u64 = required(&Shape::Count { min: 16, max: 1 << 16 }, "1024"),
        /// Bytes of a point.
        precision: Precision = default(&Precision::SHAPE, "double"),
        /// Rows of the grid of nodes.
        grid_rows: u32 = default(&Shape::Count { min: 1, max: 256 }, "2"),
        method: String = PACKED_BY,
        /// Rows of a block of the kernel.
        tile_rows: u32 = default(&TILE, "16"),
        /// Columns of it.
        tile_columns: u32 = default(&TILE, "16"),
        /// Instructions of a thread of the kernel, besides those for the halo and double precision.
        instructions: u32 = default(&TILE, "60"),
        /// Instructions around each load of the halo: its place, the load, the store to shared memory.
        halo_instructions: u32 = default(&TILE, "6"),
        /// What a point takes on all SMs; without it the kernel's work is counted.
        point_time: Option<TimeDelta> = optional(&ANY_TIME),
        /// What the host does besides in each step, between the exchange and the kernel.
        host_time: TimeDelta = default(&ANY_TIME, "0 us"),
        /// Measured rounds.
        rounds: u32 = required(&ROUND_COUNT, "20"),
        /// Rounds before the measured ones.
        warmup: u32 = default(&Shape::Count { min: 0, max: 1_000_000 }, "2"),
    }
}

const SPEED: MetricSpec =
    MetricSpec::number("speed", "GFLOPS").titled("Operations of all nodes in a second");

/// A stencil on several GPUs.
pub static KIND: Kind = Kind {
    name: "gpu_stencil",
    fields: GpuStencilForm::FIELDS,
    about: GpuStencilForm::ABOUT,
    metrics: &[STEP_TIME, SPEED, TIME],
    account: &[],
    processes: "workload",
    read: |reading| {
        let form = GpuStencilForm::read(reading.node);
        form.resolved(reading).map(|one| Arc::new(one) as Arc<dyn Workload>)
    },
};

impl GpuStencilForm {
    fn resolved(&self, reading: &mut Reading<'_>) -> Option<GpuStencil> {
        let (rows, nodes, side) = (self.grid_rows, reading.nodes, self.side);
        if !nodes.is_multiple_of(rows) {
            let found = format!("{nodes} nodes are no grid of {rows} rows");
            let allowed = "the number of nodes is a multiple of the rows";
            reading.refuse(workload_field!(Self, grid_rows), found, allowed);
            return None;
        }
        let tile = (self.tile_rows, self.tile_columns);
        let fits = |part: u32| side.is_multiple_of(u64::from(part));
        if !fits(tile.0) || !fits(tile.1) {
            let (rows, columns) = tile;
            let found = format!("{side} points are no whole number of tiles of {rows} x {columns}");
            reading.refuse(workload_field!(Self, side), found, "tiles fill the side");
            return None;
        }
        let primitive = match self.precision {
            Precision::Single => Primitive::Float,
            Precision::Double => Primitive::Double,
        };
        let point = Datatype::named(primitive);
        let method = method(&self.method);
        let mut stencil = match GpuStencil::new((rows, nodes / rows), side, &point, method) {
            Ok(stencil) => stencil,
            Err(refusal) => {
                let path = workload_field!(Self, method);
                let allowed = "`kernel` and `memcpy2d` pack columns";
                reading.refuse(path, refusal.to_string(), allowed);
                return None;
            }
        };
        (stencil.tile, stencil.host) = (tile, self.host_time.as_ps());
        stencil.point = self.point_time.map(TimeDelta::as_ps);
        stencil.instructions = self.instructions;
        stencil.halo_instructions = self.halo_instructions;
        (stencil.steps, stencil.warm_up) = (self.rounds, self.warmup);
        Some(stencil)
    }
}

/// The values of the workload.
#[derive(Clone, Debug)]
pub struct GpuStencil {
    /// Processes, in rows and columns of a grid without wrap-around.
    pub grid: (u32, u32),
    /// Points of a process in each dimension.
    pub side: u64,
    /// Bytes of a point: 4 or 8.
    pub width: u32,
    /// Rows and columns of a tile of the kernel.
    pub tile: (u32, u32),
    /// Steps before the timed ones.
    pub warm_up: u32,
    /// Timed steps.
    pub steps: u32,
    /// Instructions of a thread of the kernel.
    pub instructions: u32,
    /// Instructions around each load of the halo: its place, the load, the store to shared memory.
    pub halo_instructions: u32,
    /// The time of a point on all SMs, in picoseconds; `None`: the kernel's work is counted.
    pub point: Option<u64>,
    /// The further time of the host in each step, between exchange and kernel, in picoseconds.
    pub host: u64,
    /// A row, and a column, of which the first point is at byte 0.
    row: Arc<DeviceBuffer>,
    column: Arc<DeviceBuffer>,
}

/// An exchange: the neighbour, its tag there and here, and where the halo and the edge begin.
struct Side {
    neighbour: u32,
    tags: (i32, i32),
    edge: u64,
    halo: u64,
    line: Arc<DeviceBuffer>,
}

impl GpuStencil {
    /// A stencil whose columns are packed by `method`.
    ///
    /// # Errors
    ///
    /// [`Refusal`] where the method is not made for columns.
    ///
    /// # Panics
    ///
    /// When the side is beyond 2^31 points.
    pub fn new(
        grid: (u32, u32),
        side: u64,
        of: &Datatype,
        method: Method,
    ) -> Result<Self, Refusal> {
        let width = u32::try_from(of.size()).expect("a primitive is a few bytes");
        let signed = |points: u64| i64::try_from(points).expect("a side of some thousand points");
        let layout = |datatype: Result<Datatype, _>| {
            Layout::new(datatype.expect("a small type"), 1).expect("a small encoding")
        };
        let row = layout(Datatype::contiguous(signed(pitch(side)), of));
        let column = Datatype::vector(signed(side + 2), 1, signed(pitch(side)), of);
        let column = layout(column);
        Ok(Self {
            grid,
            side,
            width,
            tile: (16, 16),
            warm_up: 0,
            steps: 1,
            instructions: 60,
            halo_instructions: 6,
            point: None,
            host: 0,
            row: Arc::new(DeviceBuffer::new(0, row, Method::Blockwise)?),
            column: Arc::new(DeviceBuffer::new(0, column, method)?),
        })
    }

    /// The column that is packed.
    pub const fn column(&self) -> &Arc<DeviceBuffer> {
        &self.column
    }

    /// Processes.
    pub const fn processes(&self) -> u32 {
        self.grid.0 * self.grid.1
    }

    /// Operations of all processes in the timed steps.
    pub fn flops(&self) -> u64 {
        self.side * self.side * FLOPS * u64::from(self.steps) * u64::from(self.processes())
    }

    /// Messages of the timed steps.
    pub fn messages(&self) -> u64 {
        let (rows, columns) = (u64::from(self.grid.0), u64::from(self.grid.1));
        let links = (rows - 1) * columns + rows * (columns - 1);
        2 * links * u64::from(self.steps)
    }

    /// How many exchanges of a rank are of contiguous data, and how many there are.
    pub fn contiguous(&self, rank: u32) -> (u64, u64) {
        let sides = self.sides(rank);
        let rows = sides.iter().filter(|side| Arc::ptr_eq(&side.line, &self.row)).count();
        (rows as u64, sides.len() as u64)
    }

    /// Bytes of GPU memory that one array of a process takes.
    pub fn length(&self) -> u64 {
        (self.side + 2) * pitch(self.side) * u64::from(self.width)
    }

    /// The exchanges of a rank in their order.
    fn sides(&self, rank: u32) -> Vec<Side> {
        let (rows, columns) = self.grid;
        let (row, column) = (rank / columns, rank % columns);
        let width = u64::from(self.width);
        let line = pitch(self.side) * width;
        let side = |there: bool, neighbour: u32, tags, at: [u64; 2], unit: u64, line: &Arc<_>| {
            there.then(|| Side {
                neighbour,
                tags,
                edge: at[0] * unit,
                halo: at[1] * unit,
                line: Arc::clone(line),
            })
        };
        let last = [self.side, self.side + 1];
        let all = [
            side(row > 0, rank.wrapping_sub(columns), (0, 1), [1, 0], line, &self.row),
            side(row + 1 < rows, rank + columns, (1, 0), last, line, &self.row),
            side(column > 0, rank.wrapping_sub(1), (2, 3), [1, 0], width, &self.column),
            side(column + 1 < columns, rank + 1, (3, 2), last, width, &self.column),
        ];
        all.into_iter().flatten().collect()
    }

    pub(super) fn programs(&self) -> Vec<Score> {
        (0..self.processes()).map(|rank| self.program(rank)).collect()
    }

    fn program(&self, rank: u32) -> Score {
        let comm = Comm::default();
        let mut step: Vec<Next<Call>> = Vec::new();
        for side in self.sides(rank) {
            let line = |at| Arc::new(DeviceBuffer::clone(&side.line).at(at));
            let peer = Peer::Rank(Rank(side.neighbour));
            let call = DeviceExchange {
                comm,
                send: Some((peer, side.tags.0, line(side.edge))),
                receive: Some((peer, Some(side.tags.1), line(side.halo))),
            };
            step.push(Next::Call(Call::Device(Arc::new(call))));
        }
        step.extend((self.host > 0).then_some(Next::Compute(self.host)));
        step.extend(self.queued().map(|work| Next::Offload(0, Arc::new(work))));
        let before = [
            Section::once([Next::Call(Call::Barrier { comm })]),
            Section::repeated(step.clone(), self.warm_up),
            Section::repeated([Next::Call(Call::Barrier { comm })], u32::from(self.warm_up > 0)),
            Section::once([Next::Mark(START)]),
        ];
        let measured = Section::measured(step, self.steps);
        Score::new(before.into_iter().chain(measured).chain([Section::once([Next::Mark(END)])]))
    }

    /// The requests that the host queues without waiting: the halo of the other array, and the
    /// kernel.
    fn queued(&self) -> impl Iterator<Item = DeviceWork> {
        let (side, width) = (self.side, u64::from(self.width));
        let line = pitch(side) * width;
        let row = DeviceWork::Rows { rows: 1, width: line, pitch: line };
        let column = DeviceWork::Rows { rows: side + 2, width, pitch: line };
        let (rows, columns, pitch) = (side, side, pitch(side));
        let (width, tile) = (self.width, self.tile);
        let Self { instructions, halo_instructions, .. } = *self;
        let kernel = Stencil { rows, columns, width, pitch, tile, instructions, halo_instructions };
        let kernel = match self.point {
            Some(point) => DeviceWork::Busy { ps: side * side * point },
            None => DeviceWork::Stencil(kernel),
        };
        [row.clone(), row, column.clone(), column, kernel].into_iter()
    }

    fn initial(&self, rank: u32) -> Vec<u8> {
        let length = usize::try_from(self.length()).expect("data fit the memory");
        pattern(length, u64::from(rank) + 1)
    }

    fn initial_contents(&self) -> Vec<(Process, Region, Vec<u8>)> {
        let of = |rank| (Process(rank), memory(0, self.length()), self.initial(rank));
        (0..self.processes()).map(of).collect()
    }

    /// Halos are what the neighbours have: rows first, so that corners come with the columns.
    pub(super) fn expected(&self) -> Vec<(Process, Region, Vec<u8>)> {
        let mut arrays: Vec<Vec<u8>> =
            (0..self.processes()).map(|rank| self.initial(rank)).collect();
        for line in [&self.row, &self.column] {
            let before = arrays.clone();
            for (rank, array) in (0..).zip(&mut arrays) {
                for side in self.sides(rank).iter().filter(|side| Arc::ptr_eq(&side.line, line)) {
                    let others = self.sides(side.neighbour);
                    let mut back = others.iter().filter(|other| other.tags.0 == side.tags.1);
                    let edge = back.next().expect("neighbours are neighbours of each other").edge;
                    let source = &before[side.neighbour as usize];
                    let index = |at| usize::try_from(at).expect("data fit the memory");
                    let bytes = packed(line, &source[index(edge)..]);
                    unpacked(line, &bytes, &mut array[index(side.halo)..]);
                }
            }
        }
        let of = |(rank, array)| (Process(rank), memory(0, self.length()), array);
        (0..).zip(arrays).map(of).collect()
    }
}

/// Points from one row to the next.
const fn pitch(side: u64) -> u64 {
    (side + 2).next_multiple_of(PAD)
}

impl Workload for GpuStencil {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn processes(&self, _: &mut Reading<'_>) -> Option<Processes> {
        Some(Processes::new(self.processes(), 1))
    }

    fn has_progress_threads(&self) -> bool {
        false
    }

    fn check_machine(&self, reading: &mut Reading<'_>, machine: &Machine, real: bool) {
        let needs = Needs {
            processes: self.processes(),
            buffer: self.column(),
            block: Some(Block::of(self.tile.0 * self.tile.1)),
            blocks: workload_field!(GpuStencilForm, tile_rows),
            memory: (self.length(), workload_field!(GpuStencilForm, side)),
        };
        check_machine(reading, machine, real, &needs);
    }

    /// The code of the kernel, where its work is counted.
    fn assumptions(&self) -> Vec<Assumption> {
        if self.point.is_some() {
            return Vec::new();
        }
        let assumed = |path, value: u32, range, why| {
            Assumption::estimate(path, value.to_string(), range, why)
        };
        let of_point = "nine loads of shared memory, eleven operations, addresses and bounds";
        let of_halo = "its place, the load, the store to shared memory";
        let [point, halo] = [
            workload_field!(GpuStencilForm, instructions),
            workload_field!(GpuStencilForm, halo_instructions),
        ];
        vec![
            assumed(point, self.instructions, ("40", "120"), of_point),
            assumed(halo, self.halo_instructions, ("3", "12"), of_halo),
        ]
    }

    fn programs(&self, _: &Ranks) -> Vec<AnyProgram> {
        self.programs().into_iter().map(AnyProgram::Score).collect()
    }

    fn contents(&self) -> Vec<(Process, Region, Vec<u8>)> {
        self.initial_contents()
    }

    fn broken(&self, memories: &Memories) -> Vec<Violation> {
        broken(&self.expected(), memories)
    }

    fn messages(&self, _: &Ranks) -> u64 {
        self.messages()
    }

    fn measure(&self, run: &mut Measured<'_>) {
        run.step_time(self.steps);
        let speed = to_f64(self.flops()) / run.elapsed.as_s_f64() / 1e9;
        run.add(SPEED, speed);
    }
}
