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
use std::sync::Arc;

use super::job::AnyProgram;
use super::kind::{Kind, LONGEST_RUN, Processes, Reading, Workload};
use super::metric::{Measured, MetricSpec, STEP_TIME, TIME, to_f64};
use super::ranks::{Addressing, Ranks};
use super::score::{Score, Section};
use form::codes;
use form::fields::{LONG, SIZE, time};
use form::json::Node;
use form::shape::Shape;
use form::typed::{Billionths, Object as _, Value, default, optional, required};
use form::workload_field;
use language::marks::{END, START};
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use protocols::contract::{Handle, Next, Space};
use units::{Bytes, Dimension, TimeDelta};

/// The first handle of the endpoints before a migration.
/// Encoding: handles of communicators of the job are lower.
const BEFORE: u16 = 1 << 10;
/// The first handle of those after it.
/// Encoding: those before a migration are lower.
const AFTER: u16 = 1 << 13;
/// The most tiles of one process.
/// Limit: handles before a migration lie below those after it.
pub const MOST: u16 = 1 << 12;

/// Messages to the next tile.
const RIGHTWARDS: i32 = 0;
/// Messages to the tile before.
const LEFTWARDS: i32 = 1;
/// Requests of a tile in a step.
/// Encoding: two receives and two sends have numbers in this order.
const EACH: u32 = 4;

static COUNTS: Shape =
    Shape::List { of: &Shape::Count { min: 1, max: MOST as u64 }, min: 1, max: 4_096 };

form::object! {
    /// A chain of tiles, each an endpoint; one thread drives all tiles of a process. Tiles may move
    /// once to other processes, and keep their ranks.
    pub struct TilesForm {
        /// Tiles of each process, in the order of the chain.
        tiles: Vec<u16> = required(&COUNTS, "[ 4, 4 ]"),
        /// The same after the migration.
        tiles_after: Option<Vec<u16>> = optional(&COUNTS),
        /// Measured steps of halo exchange and computation.
        steps: u32 = required(&Shape::Count { min: 1, max: 1_000_000_000 }, "100"),
        /// Steps before endpoints are made anew, with `tiles_after`, and tiles move.
        migrate_after: Migration = default(&Migration::SHAPE, "never"),
        /// Bytes that two neighbours send each other in a step.
        size: Bytes = required(&SIZE, "\"8 KiB\""),
        /// Bytes of a tile, sent where it changes its process.
        tile_size: Bytes = default(&SIZE, "0 B"),
        /// Computation of the first tile in a step.
        compute: TimeDelta = default(&time(0, LONG), "0 s"),
        /// So many times as long computes the last tile; those between lie on a line.
        imbalance: Billionths = default(&Shape::Ratio { min: 0, max: 1_000_000_000_000 }, "1"),
    }
}

/// Steps before tiles move, if they do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Migration(Option<u32>);

impl Migration {
    const SHAPE: Shape = Shape::Either(&[
        Shape::Word(&[("never", "every tile stays where it is")]),
        Shape::Count { min: 0, max: 1_000_000_000 },
    ]);
}

impl Value for Migration {
    fn read(node: &Node) -> Self {
        Self(node.number().map(|_| u32::read(node)))
    }
}

const MOVED: MetricSpec = MetricSpec::new("moved", Dimension::Bytes, "B", 1);

/// A chain of tiles.
pub static KIND: Kind = Kind {
    name: "tiles",
    fields: TilesForm::FIELDS,
    about: TilesForm::ABOUT,
    metrics: &[STEP_TIME, MOVED, TIME],
    account: &[],
    processes: workload_field!(TilesForm, tiles),
    read: |reading| {
        let form = TilesForm::read(reading.node);
        let fits = form.check_migration(reading);
        let tiles = form.resolved(fits);
        tiles.check_products(reading);
        Some(Arc::new(tiles))
    },
};

impl TilesForm {
    /// The tiles, which move if `moves`.
    fn resolved(self, moves: bool) -> Tiles {
        let after = self.tiles_after.filter(|_| moves);
        Tiles {
            after: after.unwrap_or_else(|| self.tiles.clone()),
            before: self.tiles,
            steps: self.steps,
            migrate_after: self.migrate_after.0.map(|after| after.min(self.steps)),
            halo: self.size.as_u64(),
            data: self.tile_size.as_u64(),
            compute: self.compute,
            imbalance: self.imbalance.0,
        }
    }

    /// Whether the tiles after a migration fit those before.
    fn check_migration(&self, reading: &mut Reading<'_>) -> bool {
        let (steps, migrates) = (self.steps, self.migrate_after.0);
        let field = workload_field!(Self, migrate_after);
        if let Some(at) = migrates.filter(|at| *at > steps) {
            let found = format!("tiles move after {at} steps of {steps}");
            reading.refuse(field, found, "at most as many as `workload.steps`, or `never`");
            return false;
        }
        let Some(after) = &self.tiles_after else {
            if migrates.is_some() {
                let found = "tiles move, and nothing says where to";
                let allowed = "`workload.tiles_after` must list the tiles of each process";
                reading.refuse(field, found, allowed);
            }
            return migrates.is_none();
        };
        let field = workload_field!(Self, tiles_after);
        if after.len() != self.tiles.len() {
            let found = format!("{} processes have tiles after the migration", after.len());
            reading.refuse(field, found, "as many as in `workload.tiles` are needed");
            return false;
        }
        let sum = |counts: &[u16]| counts.iter().copied().map(u32::from).sum::<u32>();
        let (old, new) = (sum(&self.tiles), sum(after));
        if old != new {
            let found = format!("{old} tiles become {new}");
            reading.refuse(field, found, "tiles move; none is made or lost");
        }
        old == new
    }
}

/// The values of the workload.
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
/// Encoding: an imbalance is in billionths.
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

    /// Bytes and time of all steps must fit 64 bits.
    fn check_products(&self, reading: &mut Reading<'_>) {
        let (count, steps) = (u128::from(self.count()), u128::from(self.steps));
        let most = u128::from(self.imbalance.max(EVEN)) * u128::from(self.compute.as_ps());
        let time = (most / u128::from(EVEN)).saturating_mul(u128::from(MOST) * steps);
        let halos = u128::from(self.halo) * 2 * count * steps;
        let bytes = halos.saturating_add(u128::from(self.data) * count);
        let (field, found, allowed) = if time > u128::from(LONGEST_RUN.as_ps()) {
            let time = TimeDelta::from_ps(u64::try_from(time).unwrap_or(u64::MAX));
            let found = format!("all steps of {MOST} tiles take {time}");
            (workload_field!(TilesForm, compute), found, "at most 200 days can be counted")
        } else if bytes > u128::from(u64::MAX) {
            let found = format!("all steps move {bytes} bytes");
            (workload_field!(TilesForm, size), found, "at most 2^64 bytes can be counted")
        } else {
            return;
        };
        let one = reading.error(&codes::PRODUCT, field, found, allowed);
        let steps = reading.place(workload_field!(TilesForm, steps));
        reading.diagnostics.push(one.related(steps, "the steps are given here"));
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
        let last = if self.migrate_after.is_some() {
            sections.push(Section::repeated(self.step(&old), first));
            let new = Owned::of(&self.after, process, AFTER);
            let migration = [new.create()].into_iter().chain(self.transfers(process));
            sections.push(Section::once(migration.chain(old.free())));
            sections.push(Section::repeated(self.step(&new), self.steps - first));
            new
        } else {
            sections.extend(Section::measured(self.step(&old), first));
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

    /// The transfers of a process where tiles move: their tag is their number.
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

impl Workload for Tiles {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn endpoints(&self) -> Option<u16> {
        Some(self.most())
    }

    /// Every tile needs an endpoint that can be made anew.
    fn check_addressing(&self, reading: &mut Reading<'_>) {
        let (path, found, allowed) = match reading.addressing {
            Addressing::Endpoints(own) if own.at_start => (
                "ranks.endpoints.creation",
                "endpoints are there from the start",
                "tiles are dynamic endpoints, which can be made anew",
            ),
            Addressing::Endpoints(_) => return,
            Addressing::Process
            | Addressing::Duplicated
            | Addressing::Partitioned
            | Addressing::EndpointLibrary => (
                "ranks.addressing",
                "tiles share the rank of their process",
                "each is an endpoint: `endpoints` or `multiplexed` is needed",
            ),
        };
        reading.refuse(path, found, allowed);
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        let processes = u32::try_from(self.before.len()).expect("the shape limits the list");
        Some(Processes::new(processes, processes.div_ceil(reading.nodes)))
    }

    fn has_progress_threads(&self) -> bool {
        false
    }

    fn programs(&self, _: &Ranks) -> Vec<AnyProgram> {
        self.programs()
    }

    fn messages(&self, _: &Ranks) -> u64 {
        self.messages()
    }

    fn measure(&self, run: &mut Measured<'_>) {
        run.step_time(self.steps);
        run.add(MOVED, to_f64(self.moved_bytes()));
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
