//! Nine-point stencil in two dimensions on the GPUs of several nodes, as `Stencil2D` of SHOC.
//!
//! ```text
//!   step   rows to and from north and south; columns to and from west and east; the halo of the other
//!          array (four copies inside the device); the kernel
//! ```
//!
//! Rows are contiguous and go by one copy each way; columns are packed by the method that is asked for.
//! Each exchange is `MPI_Sendrecv` of GPU memory. Copies inside the device and the kernel are queued:
//! the next exchange waits for them in its stream.
//! Source: `gpu-pack` Sec. 5.1, Table 3; the sources of SHOC (grid, order of exchanges, copies,
//! kernel; 11 operations a point).
//! Assumed: the tile of the kernel, and rows padded to multiples of 16 points. Left out: the values.

use std::sync::Arc;

use super::{memory, packed, pattern, unpacked};
use crate::ping_pong::{END, START};
use crate::score::{Score, Section};
use mpi::datatype::Datatype;
use mpi::envelope::Rank;
use protocols::call::{Call, Comm, Peer};
use protocols::contract::{Next, Process, Region};
use protocols::device::{DeviceBuffer, DeviceExchange, DeviceWork, Stencil};
use protocols::packing::{Layout, Method, Refusal};

/// Operations of a point, as SHOC counts them.
const FLOPS: u64 = 11;
/// Rows are padded to multiples of so many points.
const PAD: u64 = 16;

/// What is asked for.
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
    /// What a point takes on all SMs, in picoseconds; `None`: the kernel's work is counted.
    pub point: Option<u64>,
    /// What the host does besides in each step, between exchange and kernel, in picoseconds.
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
        Score::new([
            Section::once([Next::Call(Call::Barrier { comm })]),
            Section::repeated(step.clone(), self.warm_up),
            Section::once([Next::Mark(START)]),
            Section::repeated(step, self.steps),
            Section::once([Next::Mark(END)]),
        ])
    }

    /// What the host asks for without waiting: the halo of the other array, and the kernel.
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

    pub(super) fn contents(&self) -> Vec<(Process, Region, Vec<u8>)> {
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
