//! A chain of tiles, one endpoint each: halo exchange, computation, and tiles that move.
//!
//! Each process has one thread, which drives all its tiles. In a step every tile exchanges one
//! message with each neighbour, then each is computed:
//!
//! ```text
//!   step       per tile: receive left, right; send left, right   wait for all   compute each tile
//!   migration  make endpoints with the new counts, move the data of tiles that change their
//!              process between the processes, free the old endpoints
//! ```
//!
//! Tile i is rank i of the communicator before a migration and of the one after it, so that no
//! tile's neighbours change their numbers, wherever they live.
//!
//! Source: `endpoints` Fig. 2 and Sec. 5.3. Left out: overlap of computation with the exchange.
//! Noticeable where a halo takes about as long as its tiles.

use std::ops::Range;

use super::collective::{END, START};
use super::job::AnyProgram;
use super::score::{Score, Section};
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use protocols::contract::{Handle, Next, Space};
use units::TimeDelta;

/// The first handle of the endpoints before a migration.
const BEFORE: u16 = 1 << 10;
/// The first handle of those after it.
const AFTER: u16 = 1 << 13;
/// The most tiles of one process.
pub const MOST: u16 = 1 << 12;

/// Messages to the next tile.
const RIGHTWARDS: i32 = 0;
/// Messages to the tile before.
const LEFTWARDS: i32 = 1;
/// Requests of a tile in a step.
const EACH: u32 = 4;

/// What the tiles do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tiles {
    /// Tiles of each process, one process after the other.
    pub before: Vec<u16>,
    /// The same after a migration: as many tiles of as many processes.
    pub after: Vec<u16>,
    /// Measured steps.
    pub steps: u32,
    /// Steps before the migration; `None`: tiles stay where they are.
    pub migrate_after: Option<u32>,
    /// Bytes of a halo message.
    pub halo: u64,
    /// Bytes of a tile.
    pub data: u64,
    /// Computation of the first tile in a step.
    pub compute: TimeDelta,
    /// So much more, in billionths, the last tile computes; those between lie on a line.
    pub imbalance: u64,
}

/// One imbalance: the last tile computes as long as the first.
pub const EVEN: u64 = 1_000_000_000;

impl Tiles {
    /// How many there are.
    pub fn count(&self) -> u32 {
        self.before.iter().copied().map(u32::from).sum()
    }

    /// The most of one process, before or after.
    pub fn most(&self) -> u16 {
        self.before.iter().chain(&self.after).copied().max().unwrap_or(1)
    }

    /// Messages of all steps, and of the migration.
    pub fn messages(&self) -> u64 {
        let halos = 2 * u64::from(self.count().saturating_sub(1)) * u64::from(self.steps);
        halos + self.moved()
    }

    /// Tiles that are moved.
    fn moved(&self) -> u64 {
        if self.migrate_after.is_some() { self.moves().count() as u64 } else { 0 }
    }

    /// Bytes that are moved with them.
    pub fn moved_bytes(&self) -> u64 {
        self.moved() * self.data
    }

    /// The buffer of a tile's data, in the process that has it.
    pub const fn space(tile: u32) -> Space {
        Space::User(data_of(tile))
    }

    /// The time that a tile computes in a step.
    ///
    /// # Panics
    ///
    /// With a time of more than 2^64 ps; validation refuses it.
    pub fn compute_of(&self, tile: u32) -> TimeDelta {
        let (one, most) = (u128::from(EVEN), u128::from(self.imbalance));
        let gaps = u128::from(self.count().saturating_sub(1).max(1));
        let place = u128::from(tile);
        // On the line from 1 at the first tile to `imbalance` at the last.
        let parts = one * (gaps - place) + most * place;
        let ps = u128::from(self.compute.as_ps()) * parts / (one * gaps);
        TimeDelta::from_ps(u64::try_from(ps).expect("a step takes less than 213 days"))
    }

    /// Tiles that change their process, each with the old and the new one.
    pub fn moves(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let owners = owners(&self.before).zip(owners(&self.after));
        (0..)
            .zip(owners)
            .filter(|(_, (old, new))| old != new)
            .map(|(tile, (old, new))| (tile, old, new))
    }

    /// The programs of all processes.
    ///
    /// # Panics
    ///
    /// With more than 2^32 of them.
    pub fn programs(&self) -> Vec<AnyProgram> {
        let processes = u32::try_from(self.before.len()).expect("processes are counted in u32");
        (0..processes).map(|process| AnyProgram::Score(self.process(process))).collect()
    }

    fn process(&self, process: u32) -> Score {
        let old = Owned::of(&self.before, process, BEFORE);
        let begin = [old.create(), Next::Call(Call::Barrier { comm: Comm(Communicators::WORLD) })];
        let begin = begin.into_iter().chain([Next::Mark(START)]);
        let mut sections = vec![Section::once(begin)];
        let first = self.migrate_after.unwrap_or(self.steps).min(self.steps);
        sections.push(Section::repeated(self.step(&old), first));
        let last = if self.migrate_after.is_some() {
            let new = Owned::of(&self.after, process, AFTER);
            let migration = [new.create()].into_iter().chain(self.transfers(process));
            sections.push(Section::once(migration.chain(old.free())));
            sections.push(Section::repeated(self.step(&new), self.steps - first));
            new
        } else {
            old
        };
        sections.push(Section::once([Next::Mark(END)].into_iter().chain(last.free())));
        Score::new(sections)
    }

    /// One step of a process: all halos, then all computation.
    fn step(&self, own: &Owned) -> Vec<Next<Call>> {
        let mut steps = Vec::new();
        for (local, tile) in (0_u16..).zip(own.tiles.clone()) {
            let comm = own.handle(local);
            let left = neighbour(tile.checked_sub(1));
            let right = neighbour(Some(tile + 1).filter(|next| *next < self.count()));
            let slot = |index: u32| EACH * u32::from(local) + index;
            let buffer = |id| Buffer { id, bytes: self.halo };
            let receive = |index, source, tag| {
                let (request, buffer) = (Handle(slot(index)), buffer(slot(index)));
                Next::Call(Call::Irecv { request, source, tag: Some(tag), comm, buffer })
            };
            let send = |index, to, tag| {
                let (request, buffer) = (Handle(slot(index)), buffer(slot(index)));
                let mode = SendMode::Standard;
                Next::Call(Call::Isend { request, to, tag, comm, buffer, mode })
            };
            steps.push(receive(0, left, RIGHTWARDS));
            steps.push(receive(1, right, LEFTWARDS));
            steps.push(send(2, left, LEFTWARDS));
            steps.push(send(3, right, RIGHTWARDS));
        }
        steps.push(wait_all(0, EACH * own.count()));
        let times = own.tiles.clone().map(|tile| self.compute_of(tile).as_ps());
        steps.extend(times.map(Next::Compute));
        steps
    }

    /// What a process sends and receives where tiles move: their tag is their number.
    fn transfers(&self, process: u32) -> Vec<Next<Call>> {
        let comm = Comm(Communicators::WORLD);
        let concerned = self.moves().filter(|(_, old, new)| [*old, *new].contains(&process));
        let mut steps = Vec::new();
        let mut requests = 0;
        for (tile, old, new) in concerned {
            let request = Handle(requests);
            let tag = i32::try_from(tile).expect("tiles are numbered far below a tag's limit");
            let buffer = Buffer { id: data_of(tile), bytes: self.data };
            let (to, source) = (Peer::Rank(Rank(new)), Peer::Rank(Rank(old)));
            let mode = SendMode::Standard;
            steps.push(Next::Call(if old == process {
                Call::Isend { request, to, tag, comm, buffer, mode }
            } else {
                Call::Irecv { request, source, tag: Some(tag), comm, buffer }
            }));
            requests += 1;
        }
        if requests > 0 {
            steps.push(wait_all(0, requests));
        }
        steps
    }
}

/// The buffers of halos come first.
const fn data_of(tile: u32) -> u32 {
    EACH * MOST as u32 + tile
}

fn neighbour(tile: Option<u32>) -> Peer {
    tile.map_or(Peer::Null, |tile| Peer::Rank(Rank(tile)))
}

fn wait_all(first: u32, count: u32) -> Next<Call> {
    let requests = Requests::Range { first: Handle(first), count };
    Next::Call(Call::WaitAll { requests, statuses: false })
}

/// The process of each tile.
fn owners(counts: &[u16]) -> impl Iterator<Item = u32> {
    let repeated = |(process, count): (u32, &u16)| std::iter::repeat_n(process, (*count).into());
    (0..).zip(counts).flat_map(repeated)
}

/// The tiles of one process, and the handles of their endpoints.
struct Owned {
    tiles: Range<u32>,
    handles: u16,
}

impl Owned {
    fn of(counts: &[u16], process: u32, handles: u16) -> Self {
        let before = counts.iter().take(process as usize).copied().map(u32::from);
        let first: u32 = before.sum();
        Self { tiles: first..first + u32::from(counts[process as usize]), handles }
    }

    fn count(&self) -> u32 {
        self.tiles.end - self.tiles.start
    }

    fn locals(&self) -> Range<u16> {
        0..u16::try_from(self.count()).expect("counts are of 16 bits")
    }

    const fn handle(&self, local: u16) -> Comm {
        Comm(self.handles + local)
    }

    fn create(&self) -> Next<Call> {
        let (parent, first) = (Comm(Communicators::WORLD), self.handle(0));
        Next::Call(Call::CreateEndpoints { parent, count: self.locals().end, first })
    }

    fn free(&self) -> impl Iterator<Item = Next<Call>> {
        self.locals().map(|local| Next::Call(Call::FreeEndpoint { comm: self.handle(local) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiles(before: &[u16], after: &[u16], imbalance: u64) -> Tiles {
        Tiles {
            before: before.to_vec(),
            after: after.to_vec(),
            steps: 4,
            migrate_after: Some(2),
            halo: 8,
            data: 1_000,
            compute: TimeDelta::from_ns(10),
            imbalance,
        }
    }

    #[test]
    fn computation_grows_on_a_line_to_the_last_tile() {
        let ns = |imbalance| {
            let tiles = tiles(&[2, 3], &[3, 2], imbalance);
            (0..5).map(|tile| tiles.compute_of(tile).as_ps() / 1_000).collect::<Vec<_>>()
        };
        assert_eq!(ns(EVEN), [10; 5]);
        assert_eq!(ns(3 * EVEN), [10, 15, 20, 25, 30]);
        assert_eq!(ns(0), [10, 7, 5, 2, 0]);
        assert_eq!(
            tiles(&[1], &[1], 9 * EVEN).compute_of(0),
            TimeDelta::from_ns(10),
            "the only one"
        );
    }

    #[test]
    fn tiles_move_where_their_process_changes() {
        let moves =
            |before: &[u16], after: &[u16]| tiles(before, after, EVEN).moves().collect::<Vec<_>>();
        assert_eq!(moves(&[2, 2], &[2, 2]), []);
        assert_eq!(moves(&[3, 1], &[1, 3]), [(1, 0, 1), (2, 0, 1)]);
        assert_eq!(moves(&[1, 1, 2], &[2, 1, 1]), [(1, 1, 0), (2, 2, 1)]);
    }
}
