//! Messages whose buffers are in GPU memory: rings in which each rank sends and receives at once.

use std::sync::Arc;

use super::jobs::{APART, Subject, WORLD, job, single};
use crate::{Planted, Size};
use calls::packing::{Layout, Method};
use mpi::datatype::{Datatype, Primitive};
use mpi::envelope::Rank;
use protocols::call::{Call, Peer};
use protocols::contract::{Process, Region, Space};
use protocols::device::{DeviceBuffer, DeviceExchange};
use runtime::memory::Memories;
use runtime::monitors::Violation;

/// Three doubles, 16 B apart: more than an eager message holds.
fn buffer(id: u32, method: Method) -> DeviceBuffer {
    let double = Datatype::named(Primitive::Double);
    let vector = Datatype::vector(3, 1, 2, &double).expect("three doubles");
    let layout = Layout::new(vector, 1).expect("a small encoding");
    DeviceBuffer::new(id, layout, method).expect("rows at equal distances")
}

/// Two eager chunks, each packed by a kernel of its own.
pub(super) fn chunks(size: Size, planted: Planted) -> Subject {
    ring(size, planted, |id| buffer(id, Method::Kernel).in_chunks(16))
}

/// One message by rendezvous, packed and unpacked by two operations of a stream.
pub(super) fn whole(size: Size, planted: Planted) -> Subject {
    ring(size, planted, |id| buffer(id, Method::KernelStaged))
}

fn ring(size: Size, planted: Planted, buffer: impl Fn(u32) -> DeviceBuffer) -> Subject {
    let (ranks, sent, received) = (size.ranks, Arc::new(buffer(0)), Arc::new(buffer(1)));
    let exchange = |rank: u32| DeviceExchange {
        comm: WORLD,
        send: Some((Peer::Rank(Rank((rank + 1) % ranks)), 0, Arc::clone(&sent))),
        receive: Some((
            Peer::Rank(Rank((rank + ranks - 1) % ranks)),
            Some(0),
            Arc::clone(&received),
        )),
    };
    let calls = |rank| vec![Call::Device(Arc::new(exchange(rank))); size.ops as usize];
    let subject = job(single((0..ranks).map(calls)), APART, planted);
    let mut world = subject.world().clone();
    for rank in 0..ranks {
        world.store(Process(rank), sent.data(), &content(rank));
    }
    let subject = subject.over(world);
    subject.judged(move |world| (0..ranks).find_map(|rank| wrong(world.memories(), rank, ranks)))
}

/// The bytes that a rank sends, and the gaps between them.
fn content(rank: u32) -> Vec<u8> {
    let first = u8::try_from(rank * 64).expect("at most four ranks");
    (first + 1..=first + 40).collect()
}

/// The doubles of the rank before, and nothing between them.
fn wrong(memories: &Memories, rank: u32, ranks: u32) -> Option<Violation> {
    let found = memories.bytes(Process(rank), Region::new(Space::Device(1), 40));
    let mut expected = content((rank + ranks - 1) % ranks);
    for gap in [8..16, 24..32] {
        expected[gap].fill(0);
    }
    (found != expected).then(|| Violation {
        id: "D8",
        statement: "bytes delivered are bytes sent, and none beside them is touched",
        objects: vec![format!("GPU memory of process {rank}")],
        detail: format!("{found:?} instead of {expected:?}"),
    })
}
