//! Tiles that are endpoints, and move.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{ideal, job, model};
use mpisim::hardware::profile::Profile;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Outcome, Peer, Reply, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Machine, Next, Process, Program, Region};
use mpisim::protocols::library::Library;
use mpisim::runtime::timed::{Ending, Ran};
use mpisim::units::{Time, TimeDelta};
use mpisim::workloads::job::AnyProgram;
use mpisim::workloads::tiles::{EVEN, Tiles};
use mpisim::workloads::windowed::{END, START};

fn tiles(before: &[u16], after: &[u16]) -> Tiles {
    Tiles {
        before: before.to_vec(),
        after: after.to_vec(),
        steps: 6,
        migrate_after: Some(2),
        halo: 64,
        data: 3_000,
        compute: TimeDelta::from_ns(1_000_000),
        imbalance: EVEN,
    }
}

fn run_on(profile: Profile, tiles: &Tiles, lanes: u16) -> Ran<Library, AnyProgram> {
    let mut job = job(profile, tiles.programs());
    (job.nodes, job.endpoints.lanes) = (u32::try_from(tiles.before.len()).unwrap(), lanes);
    let ran = job.run().unwrap();
    assert_eq!(ran.outcome.ending, Ending::Finished, "{:?}", ran.outcome.ending);
    assert_eq!(ran.outcome.violations, []);
    ran
}

fn data(tiles: &Tiles, tile: u32) -> Region {
    Region::new(Tiles::space(tile), tiles.data)
}

fn elapsed(ran: &Ran<Library, AnyProgram>) -> TimeDelta {
    let of = |number| ran.outcome.marks.iter().filter(move |mark| mark.number == number);
    let start: Time = of(START).map(|mark| mark.at).min().unwrap();
    of(END).map(|mark| mark.at).max().unwrap().since(start)
}

#[test]
fn the_data_of_a_tile_is_where_the_tile_is() {
    for (before, after) in [
        (&[3, 1][..], &[1, 3][..]),
        (&[1, 1, 4], &[2, 2, 2]),
        (&[5, 1, 1], &[1, 1, 5]),
        (&[2], &[2]),
    ] {
        for lanes in [1, 3] {
            let tiles = tiles(before, after);
            let ran = run_on(ideal(&[]), &tiles, lanes);
            for (tile, old, new) in tiles.moves() {
                let found = ran.memories.bytes(Process(new), data(&tiles, tile));
                // The bytes that name a message are inverted where their sender has sent them.
                let left = ran.memories.bytes(Process(old), data(&tiles, tile));
                let sent: Vec<u8> = left.iter().map(|byte| !byte).collect();
                assert_eq!(found, sent, "tile {tile} of {before:?}");
                assert!(found.iter().any(|byte| *byte != 0), "something is sent");
            }
            assert_eq!(tiles.moved_bytes(), tiles.moves().count() as u64 * 3_000);
        }
    }
}

/// Where computation is all that counts, a step takes as long as the process with most of it.
#[test]
fn a_migration_pays_after_as_many_steps_as_it_costs() {
    let time = |steps, migrate_after| {
        let tiles = Tiles { steps, migrate_after, ..tiles(&[3, 1], &[2, 2]) };
        elapsed(&run_on(model("knc-qdr", &[]), &tiles, 1)).as_us_f64()
    };
    let compute = 1_000.0;
    let never = time(10, None);
    assert!((30.0 * compute..31.0 * compute).contains(&never), "{never} us");
    let moved = time(10, Some(4));
    assert!((24.0 * compute..25.0 * compute).contains(&moved), "{moved} us");
    let at_once = time(10, Some(0));
    assert!((20.0 * compute..21.0 * compute).contains(&at_once), "{at_once} us");
    // Nothing is won where nothing follows.
    assert!(time(10, Some(10)) > never);
}

#[test]
fn the_last_tiles_of_a_slope_are_too_many() {
    // Tiles compute 1, 2, 3, 4 ms: halves take 3 and 7, three and one 6 and 4.
    let time = |before: &[u16]| {
        let even = Tiles { imbalance: 4 * EVEN, migrate_after: None, ..tiles(before, before) };
        elapsed(&run_on(ideal(&[]), &even, 1)).as_us_f64() / 6_000.0
    };
    assert!((7.0..7.01).contains(&time(&[2, 2])), "{}", time(&[2, 2]));
    assert!((6.0..6.01).contains(&time(&[3, 1])), "{}", time(&[3, 1]));
}

/// One process of the test below: it makes endpoints twice, and asks who its neighbours are.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Asking {
    steps: Arc<[Next<Call>]>,
    at: usize,
    replies: Vec<Reply>,
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Asking {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        self.replies.extend(reply);
        self.at += 1;
        self.steps.get(self.at - 1).cloned().unwrap_or(Next::End)
    }
}

/// Each tile of a ring sends to the next one and asks, by a wildcard, who sends to it.
fn asking(counts: [&[u16]; 2], process: usize) -> Asking {
    let total: u16 = counts[0].iter().sum();
    let mut steps = Vec::new();
    for (counts, handle) in counts.into_iter().zip([1_000, 2_000]) {
        let (count, comm) = (counts[process], |local| Comm(handle + local));
        let first: u16 = counts[..process].iter().sum();
        steps.push(Call::CreateEndpoints { parent: Comm(0), count, first: comm(0) });
        for local in 0..count {
            let next = Peer::Rank(Rank(u32::from((first + local + 1) % total)));
            let buffer = |id| Buffer { id, bytes: 8 };
            let (receive, send) = (2 * u32::from(local), 2 * u32::from(local) + 1);
            let (tag, mode, comm) = (0, SendMode::Standard, comm(local));
            let request = Handle(receive);
            let (source, buffer_in) = (Peer::Any, buffer(receive));
            steps.push(Call::Irecv { request, source, tag: None, comm, buffer: buffer_in });
            let (request, buffer) = (Handle(send), buffer(send));
            steps.push(Call::Isend { request, to: next, tag, comm, buffer, mode });
        }
        let requests = Requests::Range { first: Handle(0), count: 2 * u32::from(count) };
        steps.push(Call::WaitAll { requests, statuses: true });
        steps.extend((0..count).map(|local| Call::FreeEndpoint { comm: comm(local) }));
    }
    Asking { steps: steps.into_iter().map(Next::Call).collect(), at: 0, replies: Vec::new() }
}

/// claim: ep-sem-migration
#[test]
fn tiles_keep_their_neighbours_where_they_change_their_process() {
    let counts: [&[u16]; 2] = [&[3, 1, 2], &[1, 3, 2]];
    let mut job = job(ideal(&[]), (0..3).map(|process| asking(counts, process)).collect());
    job.nodes = 3;
    let ran = job.run().unwrap();
    assert_eq!((ran.outcome.ending, ran.outcome.violations), (Ending::Finished, vec![]));
    // By tile: its process, and the rank that it heard from.
    let mut heard = [BTreeMap::new(), BTreeMap::new()];
    for (process, program) in ran.programs.iter().enumerate() {
        let waited = program.replies.iter().filter_map(|reply| {
            if let Reply::All(outcomes) = reply { Some(outcomes) } else { None }
        });
        for ((outcomes, counts), heard) in waited.zip(counts).zip(&mut heard) {
            let first: u16 = counts[..process].iter().sum();
            for (tile, pair) in (first..).zip(outcomes.chunks(2)) {
                let Outcome::Received(status) = pair[0] else { panic!("{pair:?}") };
                heard.insert(tile, (process, status.source.unwrap()));
            }
        }
    }
    let [before, after] = heard;
    let sources = |heard: &BTreeMap<u16, (usize, Rank)>| {
        heard.iter().map(|(tile, (_, source))| (*tile, *source)).collect::<Vec<_>>()
    };
    assert_eq!(
        sources(&before),
        (0..6).map(|tile| (tile, Rank((u32::from(tile) + 5) % 6))).collect::<Vec<_>>()
    );
    assert_eq!(sources(&before), sources(&after), "the graph is that of the ranks");
    let moved = before.iter().filter(|(tile, (process, _))| after[tile].0 != *process);
    assert_eq!(moved.map(|(tile, _)| *tile).collect::<Vec<_>>(), [1, 2], "these changed hands");
}
