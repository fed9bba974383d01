//! Schedules for tests and benchmarks: patterns of known size, and random ones.
#![allow(dead_code, reason = "each test file uses a part")]

use mpisim::runtime::loggops::Parameters;
use mpisim::runtime::loggops::schedule::{ANY, Builder, Edge, Kind, Op, Schedule, Until};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// The defaults of LogGOPSim.
pub(crate) const DEFAULTS: Parameters = Parameters {
    latency: 2500,
    overhead: 1500,
    gap: 1000,
    gap_per_byte: 6,
    overhead_per_byte: 0,
    eager_max: 65_535,
};

fn message(rank: u32, kind: Kind, peer: u32, amount: u64) -> Op {
    Op { amount, peer, tag: 0, rank, kind, cpu: 0, nic: 0 }
}

fn after(builder: &mut Builder, dependant: u32, dependency: u32) {
    builder.depend(Edge { dependant, dependency, until: Until::Done });
}

/// In round k everybody sends to rank + 2^k and receives from rank - 2^k; a round begins when the
/// receive of the one before is over.
pub(crate) fn dissemination(ranks: u32, bytes: u64) -> Schedule {
    let mut builder = Builder::default();
    for rank in 0..ranks {
        let (mut distance, mut received) = (1, None);
        while distance < ranks {
            let (to, from) = ((rank + distance) % ranks, (rank + ranks - distance) % ranks);
            let send = builder.add(message(rank, Kind::Send, to, bytes));
            if let Some(received) = received {
                after(&mut builder, send, received);
            }
            received = Some(builder.add(message(rank, Kind::Receive, from, bytes)));
            distance *= 2;
        }
        builder.end_rank();
    }
    builder.finish()
}

/// Messages of a dissemination.
pub(crate) fn dissemination_messages(ranks: u32) -> u64 {
    u64::from(ranks) * u64::from(ranks.next_power_of_two().ilog2())
}

/// Everybody sends to all others, all at once.
pub(crate) fn alltoall(ranks: u32, bytes: u64) -> Schedule {
    let mut builder = Builder::default();
    for rank in 0..ranks {
        for step in 1..ranks {
            let (to, from) = ((rank + step) % ranks, (rank + ranks - step) % ranks);
            builder.add(message(rank, Kind::Send, to, bytes));
            builder.add(message(rank, Kind::Receive, from, bytes));
        }
        builder.end_rank();
    }
    builder.finish()
}

/// A random schedule of few ranks, with everything that there is; it may get stuck.
pub(crate) fn random(seed: u64) -> Schedule {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let ranks = random.random_range(1..6_u32);
    let (cpus, nics) = (random.random_range(1..4_u8), random.random_range(1..3_u8));
    let tags = random.random_range(1..3_u32);
    let wild = random.random_bool(0.4);
    let mut ops: Vec<Vec<Op>> = vec![Vec::new(); ranks as usize];
    for _ in 0..random.random_range(0..30) {
        let [sender, receiver] = [0; 2].map(|_: u32| random.random_range(0..ranks));
        let (amount, tag) = (random.random_range(0..12), random.random_range(0..tags));
        let mut op = |rank, kind, peer, tag| Op {
            amount,
            peer,
            tag,
            rank,
            kind,
            cpu: random.random_range(0..cpus),
            nic: random.random_range(0..nics),
        };
        ops[sender as usize].push(op(sender, Kind::Send, receiver, tag));
        let mut receive = op(receiver, Kind::Receive, sender, tag);
        if wild && random.random_bool(0.3) {
            receive.peer = ANY;
        }
        if wild && random.random_bool(0.3) {
            receive.tag = ANY;
        }
        if random.random_bool(0.97) {
            let place = random.random_range(0..=ops[receiver as usize].len());
            ops[receiver as usize].insert(place, receive);
        }
    }
    for (rank, ops) in (0..).zip(&mut ops) {
        for _ in 0..random.random_range(0..4) {
            let (amount, cpu) = (random.random_range(0..9), random.random_range(0..cpus));
            let work = Op { amount, peer: 0, tag: 0, rank, kind: Kind::Compute, cpu, nic: 0 };
            let place = random.random_range(0..=ops.len());
            ops.insert(place, work);
        }
    }
    built(&ops, random)
}

/// The operations with random dependencies, most of them on earlier operations.
fn built(ops: &[Vec<Op>], random: &mut ChaCha8Rng) -> Schedule {
    let mut builder = Builder::default();
    for ops in ops {
        let first = builder.len();
        for op in ops {
            builder.add(*op);
        }
        let count = builder.len() - first;
        for _ in 0..if count > 1 { random.random_range(0..count) } else { 0 } {
            let later = random.random_range(1..count);
            let earlier = random.random_range(0..later);
            let until = if random.random_bool(0.4) { Until::Started } else { Until::Done };
            builder.depend(Edge { dependant: first + later, dependency: first + earlier, until });
        }
        builder.end_rank();
    }
    builder.finish()
}

/// Random costs, zeros among them.
pub(crate) fn costs(seed: u64) -> Parameters {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut draw =
        |most: u64| if random.random_bool(0.2) { 0 } else { random.random_range(0..most) };
    Parameters {
        latency: draw(20),
        overhead: draw(10),
        gap: draw(10),
        gap_per_byte: draw(4),
        overhead_per_byte: draw(4),
        eager_max: draw(12),
    }
}
