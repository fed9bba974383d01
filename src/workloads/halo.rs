//! The halo exchange of a process on a grid, as steps of a score.
//!
//! ```text
//!   together      receive from all, send to all, wait for all
//!   axis by axis  x: to the lower and from the higher neighbour, then the other way; then y; then z
//! ```
//!
//! A message's tag is the face that it leaves through, so that two neighbours which are one process
//! tell their messages apart. Where there is no neighbour nothing is sent.

use super::grid::{AXES, FACES, Grid, opposite};
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use protocols::contract::{Handle, Next, Space};

/// The first buffer that an exchange leaves free.
/// Encoding: an exchange has two for each face.
pub(super) const FREE: u32 = 2 * COUNT;
#[expect(clippy::cast_possible_truncation, reason = "six of them")]
const COUNT: u32 = FACES as u32;

/// Messages of one rank in an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Halo<'a> {
    /// The grid of its neighbours.
    pub(super) grid: &'a Grid,
    /// The rank of these messages.
    pub(super) rank: u32,
    /// Bytes through a face of each axis; both sides send as much.
    pub(super) bytes: [u64; AXES],
}

/// Where what comes through a face is put.
pub const fn received(face: usize) -> Space {
    Space::User(number(face))
}

/// The space of the data that leave through a face.
pub const fn sent(face: usize) -> Space {
    Space::User(COUNT + number(face))
}

#[expect(clippy::cast_possible_truncation, reason = "six of them")]
const fn number(face: usize) -> u32 {
    face as u32
}

impl Halo<'_> {
    /// All messages at once, in the given order of faces.
    pub(super) fn together(&self, faces: [usize; FACES]) -> Vec<Next<Call>> {
        let present = |face: &usize| self.grid.neighbour(self.rank, *face).is_some();
        let faces: Vec<usize> = faces.into_iter().filter(present).collect();
        let receives = faces.iter().zip(0..).map(|(face, request)| self.receive(*face, request));
        let mut steps: Vec<Next<Call>> = receives.collect();
        let first = u32::try_from(faces.len()).expect("at most six");
        let sends = faces.iter().zip(first..).map(|(face, request)| self.send(*face, request));
        steps.extend(sends);
        if first > 0 {
            steps.push(wait_all(2 * first));
        }
        steps
    }

    /// One axis after the other, on each first downwards and then upwards: `MPI_Sendrecv` as libraries
    /// make it, a receive and a send and a wait for both.
    pub(super) fn by_axis(&self) -> Vec<Next<Call>> {
        let mut steps = Vec::new();
        for leaving in 0..FACES {
            let both = [
                self.grid.neighbour(self.rank, opposite(leaving)).map(|_| opposite(leaving)),
                self.grid.neighbour(self.rank, leaving).map(|_| leaving),
            ];
            let requests = both.iter().flatten().count();
            let receive = both[0].map(|face| self.receive(face, 0));
            let send = both[1].map(|face| self.send(face, u32::from(both[0].is_some())));
            steps.extend(receive.into_iter().chain(send));
            if requests > 0 {
                steps.push(wait_all(u32::try_from(requests).expect("at most two")));
            }
        }
        steps
    }

    fn peer(&self, face: usize) -> Peer {
        self.grid.neighbour(self.rank, face).map_or(Peer::Null, |rank| Peer::Rank(Rank(rank)))
    }

    fn receive(&self, face: usize, request: u32) -> Next<Call> {
        Next::Call(Call::Irecv {
            request: Handle(request),
            source: self.peer(face),
            tag: Some(tag(opposite(face))),
            comm: Comm::default(),
            buffer: Buffer { id: number(face), bytes: self.bytes[face / 2] },
        })
    }

    fn send(&self, face: usize, request: u32) -> Next<Call> {
        Next::Call(Call::Isend {
            request: Handle(request),
            to: self.peer(face),
            tag: tag(face),
            comm: Comm::default(),
            buffer: Buffer { id: COUNT + number(face), bytes: self.bytes[face / 2] },
            mode: SendMode::Standard,
        })
    }
}

fn tag(face: usize) -> i32 {
    i32::try_from(face).expect("six faces")
}

fn wait_all(count: u32) -> Next<Call> {
    let requests = Requests::Range { first: Handle(0), count };
    Next::Call(Call::WaitAll { requests, statuses: false })
}
