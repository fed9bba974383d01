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

use super::application::{begin, end};
use super::grid::{FACES, Grid};
use super::halo::Halo;
use super::score::{Score, Section};
use protocols::contract::Next;

/// What is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stencil {
    /// The processes.
    pub grid: Grid,
    /// Bytes of a message.
    pub halo: u64,
    /// Measured steps.
    pub steps: u32,
    /// Computation of a process in a step, in picoseconds.
    pub compute: u64,
    /// The rank whose copies are told beside those of all.
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
        Score::new([begin(), Section::repeated(step, self.steps), end()])
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
