//! Messages whose buffers lie in pieces: what packing adds to their time, by arithmetic.

use std::sync::Arc;

use crate::common::{Script, at, finished, ideal, job, run};
use mpisim::calls::typed::Elements;
use mpisim::mpi::datatype::{Datatype, Primitive};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, SendMode};
use mpisim::protocols::contract::Next;
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::memory::Payload;

/// What a block takes the core, in picoseconds: more than its lines do, at 10 GB/s of copies.
const BLOCK: u64 = 1_000_000;
/// A byte of a copy on this machine, in picoseconds.
const COPY: u64 = 100;

/// Blocks of 64 B, each 256 B behind the one before, or all in one piece.
fn blocks(count: i64, apart: i64) -> Arc<Elements> {
    let byte = Datatype::named(Primitive::Byte);
    let datatype = Datatype::vector(count, 64, apart, &byte).unwrap();
    Arc::new(Elements::new(datatype, 1).unwrap())
}

/// From the call of the send to the return of the receive, in picoseconds.
fn one_way(
    rendezvous: Protocol,
    nodes: u32,
    source: &Arc<Elements>,
    target: &Arc<Elements>,
) -> u64 {
    let (comm, buffer, mode) = (Comm::default(), Buffer::default(), SendMode::Standard);
    let sends = Call::Send { to: Peer::Rank(Rank(1)), tag: 1, comm, buffer, mode };
    let receive = Call::Recv { source: Peer::Rank(Rank(0)), tag: Some(1), comm, buffer };
    let scripts = [
        Script::new([Next::Mark(0), Next::Call(sends.typed(source))]),
        Script::new([Next::Call(receive.typed(target)), Next::Mark(1)]),
    ];
    let mut job = job(ideal(&[("mpi.pack_block", "1 us")]), scripts.into());
    (job.mpi.rendezvous, job.nodes, job.mpi.payload) = (rendezvous, nodes, Payload::Real);
    let outcome = finished(run(job));
    at(&outcome, 1, 1) - at(&outcome, 0, 0)
}

/// The copies of an eager message become packing and unpacking; nothing else changes.
#[test]
fn packing_takes_the_place_of_an_eager_messages_copies() {
    let (count, bytes) = (16, 16 * 64);
    let (pieces, whole) = (blocks(16, 256), blocks(16, 64));
    for nodes in [1, 2] {
        let time = |sent, got| one_way(Protocol::RGet, nodes, sent, got);
        let contiguous = time(&whole, &whole);
        let packed = count * BLOCK - bytes * COPY;
        assert_eq!(time(&pieces, &whole), contiguous + packed, "{nodes} nodes");
        assert_eq!(time(&whole, &pieces), contiguous + packed, "{nodes} nodes");
        assert_eq!(time(&pieces, &pieces), contiguous + 2 * packed, "{nodes} nodes");
    }
}

/// What the HCA moves is packed before and unpacked after, whole.
#[test]
fn packing_is_added_to_a_message_by_rdma() {
    let (count, pieces, whole) = (1_024, blocks(1_024, 256), blocks(1_024, 64));
    for protocol in [Protocol::RGet, Protocol::RPut, Protocol::RPutImmediate] {
        let time = |sent, got| one_way(protocol, 2, sent, got);
        let contiguous = time(&whole, &whole);
        assert_eq!(time(&pieces, &whole), contiguous + count * BLOCK, "{protocol:?}");
        assert_eq!(time(&whole, &pieces), contiguous + count * BLOCK, "{protocol:?}");
        assert_eq!(time(&pieces, &pieces), contiguous + 2 * count * BLOCK, "{protocol:?}");
    }
}
