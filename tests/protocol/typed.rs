//! Messages whose buffers lie in pieces: what arrives, by whatever way, is what the definition of MPI
//! selects, and what lies between the pieces stays as it was.

#![allow(clippy::wildcard_enum_match_arm, reason = "a few calls and replies of many")]

use std::sync::Arc;

use crate::chart::{Chart, check_chart, near, nodes};
use crate::common::{Script, cross, ideal, job};
use crate::datatypes::scattered;
use crate::datatypes_model::{Map, datatype};
use crate::small::{Small, WORLD, all, own, wait, wait_all};
use mpisim::calls::typed::Elements;
use mpisim::engine::{Stream, Streams};
use mpisim::mpi::datatype::{Datatype, Primitive};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Outcome, Peer, Reply, SendMode};
use mpisim::protocols::contract::{Handle, Next, Process, Region, Space, Thread};
use mpisim::protocols::library::Endpoints;
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};
use mpisim::runtime::explore::{self, Budget};
use mpisim::runtime::memory::Memories;
use mpisim::runtime::monitors::Violation;
use mpisim::runtime::monitors::buffers::Lends;
use mpisim::runtime::timed::Ending;
use mpisim::units::Bytes;
use proptest::prelude::Strategy;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// What one side has for a buffer: elements of a type, or so many bytes of none.
#[derive(Clone, Debug)]
struct Side {
    elements: Arc<Elements>,
    is_typed: bool,
    /// Where each packed byte lies, by the definition of MPI.
    places: Vec<u64>,
}

impl Side {
    fn new(datatype: &Datatype, count: u64) -> Self {
        let elements = Arc::new(Elements::new(datatype.clone(), count).unwrap());
        let map = Map::of(datatype).repeated(count);
        let low = map.span().0.min(0);
        let places = map.bytes_in_order().into_iter().map(|at| (at - low).unsigned_abs()).collect();
        Self { elements, is_typed: true, places }
    }

    fn bytes(count: u64) -> Self {
        Self { is_typed: false, ..Self::new(&Datatype::named(Primitive::Byte), count) }
    }

    fn len(&self) -> u64 {
        self.elements.packed()
    }

    /// The call with this buffer, and where its bytes are.
    fn of(&self, call: Call) -> (Call, Vec<u64>) {
        let call = match call.typed(&self.elements) {
            Call::Typed(typed) if !self.is_typed => typed.call.clone(),
            call => call,
        };
        (call, if self.is_typed { self.places.clone() } else { (0..self.len()).collect() })
    }

    fn call(&self, call: Call) -> Call {
        self.of(call).0
    }
}

const BUFFER: Buffer = Buffer { id: 0, bytes: 0 };

fn send(mode: SendMode) -> Call {
    Call::Send { to: Peer::Rank(Rank(1)), tag: 7, comm: WORLD, buffer: BUFFER, mode }
}

fn isend(mode: SendMode) -> Call {
    let (request, to) = (Handle(0), Peer::Rank(Rank(1)));
    Call::Isend { request, to, tag: 7, comm: WORLD, buffer: BUFFER, mode }
}

fn recv() -> Call {
    Call::Recv { source: Peer::Rank(Rank(0)), tag: Some(7), comm: WORLD, buffer: BUFFER }
}

fn irecv() -> Call {
    let (request, source) = (Handle(0), Peer::Any);
    Call::Irecv { request, source, tag: Some(7), comm: WORLD, buffer: BUFFER }
}

/// Every byte of the message is at its place, and no other byte has changed.
///
/// A buffer that was sent is inverted when it is given back. Where both sides lie in pieces, what is
/// between these has the same bytes at the same places of both, before.
#[track_caller]
fn check_bytes(memories: &Memories, sent: (&Side, &[u64]), got: (&Side, &[u64]), words: &str) {
    let whole = |process: u32, (side, places): (&Side, &[u64])| {
        let last = places.iter().max().map_or(0, |last| last + 1);
        let region = Region::new(Space::User(0), side.elements.extent().max(last));
        memories.bytes(Process(process), region)
    };
    let (source, target) = (whole(0, sent), whole(1, got));
    let at = |place: u64| usize::try_from(place).unwrap();
    for (number, (from, to)) in sent.1.iter().zip(got.1).enumerate() {
        assert_eq!(target[at(*to)], !source[at(*from)], "{words}: byte {number}");
    }
    if [sent, got].iter().any(|(side, _)| side.elements.is_one_piece()) {
        return;
    }
    let is_gap = |place: usize, places: &[u64]| !places.iter().any(|one| at(*one) == place);
    for place in 0..source.len().min(target.len()) {
        if is_gap(place, sent.1) && is_gap(place, got.1) {
            assert_eq!(target[place], !source[place], "{words}: the byte {place} between pieces");
        }
    }
}

fn pick<T: Clone>(draw: &mut Stream, values: &[T]) -> T {
    values[usize::try_from(draw.below(values.len() as u64)).unwrap()].clone()
}

fn only_begins(call: &Call) -> bool {
    let call = if let Call::Typed(typed) = call { &typed.call } else { call };
    matches!(call, Call::Isend { .. } | Call::Irecv { .. })
}

/// Types of one signature; one side may have one piece.
fn sides(runner: &mut TestRunner, draw: &mut Stream) -> (Side, Side) {
    let gaps = proptest::collection::vec(0..40_i64, 1..9);
    let (datatype, gaps) = (datatype(), gaps).new_tree(runner).unwrap().current();
    let count = 1 + draw.below(3);
    let sent = Side::new(&datatype, count);
    let other = scattered(&Map::of(&datatype).repeated(count), &gaps);
    match draw.below(4) {
        0 => (Side::bytes(sent.len()), Side::new(&other, 1)),
        1 => (sent.clone(), Side::bytes(sent.len())),
        _ => (sent, Side::new(&other, 1)),
    }
}

/// D8: random types of one signature on both sides, by every way that a message has, expected and
/// unexpected, in the timed runtime; each run is one that the untimed world can make.
#[test]
fn random_types_of_one_signature_exchange_their_bytes_by_every_way() {
    let mut runner = TestRunner::deterministic();
    let mut draw = Streams::new(5).stream("typed", 0);
    let far = [Protocol::RPut, Protocol::RGet, Protocol::Rtr, Protocol::RPutImmediate];
    let near = [
        Scheme::Fixed(Protocol::SharedMemory),
        Scheme::Fixed(Protocol::RGet),
        Scheme::Fixed(Protocol::RPut),
        Scheme::Fixed(Protocol::Rtr),
        Scheme::Fixed(Protocol::CoopP2p),
        Scheme::Fixed(Protocol::CoopHca),
        Scheme::Coll,
        Scheme::Load,
        Scheme::Hybrid,
    ];
    let (mut compared, mut unexpected, mut pieces) = (0, 0, [0, 0]);
    for number in 0..1_500 {
        let (sent, got) = sides(&mut runner, &mut draw);
        let mode = pick(&mut draw, &[SendMode::Standard, SendMode::Synchronous]);
        let (from, sent_at) = sent.of(pick(&mut draw, &[send(mode), isend(mode)]));
        let (into, got_at) = got.of(pick(&mut draw, &[recv(), irecv()]));
        pieces[0] += u32::from(!sent.elements.is_one_piece());
        pieces[1] += u32::from(!got.elements.is_one_piece());
        let words = format!("{number}: {from:?} to {into:?}");
        let late = [0, 50_000_000];
        let programs = [from, into].map(|call| {
            let wait = only_begins(&call).then_some(Next::Call(wait(0)));
            let begin = Next::Compute(pick(&mut draw, &late));
            // Who looks for another message takes this one before it is posted.
            let look = Call::Iprobe { source: Peer::Any, tag: Some(8), comm: WORLD };
            let look = pick(&mut draw, &[None, Some(Next::Call(look))]);
            Script::new([begin].into_iter().chain(look).chain([Next::Call(call)]).chain(wait))
        });
        let mut job = job(ideal(&[]), programs.into());
        job.nodes = 1 + u32::try_from(draw.below(2)).unwrap();
        job.mpi.rendezvous = pick(&mut draw, &far);
        job.mpi.cooperation = Cooperation::by(pick(&mut draw, &near));
        job.mpi.cooperation.chunk = pick(&mut draw, &[None, Some(Bytes::new(16))]);
        job.mpi.cooperation.page = Bytes::new(1);
        let eager = Some(Bytes::new(pick(&mut draw, &[0, 64, 1 << 20])));
        (job.mpi.eager_inter, job.mpi.eager_intra) = (eager, eager);
        let ran = cross(job).unwrap_or_else(|drift| panic!("{words}: {drift}"));
        assert_eq!(ran.outcome.ending, Ending::Finished, "{words}");
        assert_eq!(ran.outcome.violations, [], "{words}");
        compared += ran.outcome.sometimes.compared;
        unexpected += ran.outcome.sometimes.unexpected;
        check_bytes(&ran.memories, (&sent, &sent_at), (&got, &got_at), &words);
    }
    assert!(compared > 1_000, "{compared}");
    assert!(unexpected > 200, "{unexpected}");
    assert!(pieces.iter().all(|number| *number > 500), "{pieces:?}");
}

/// Columns of a matrix of bytes: `blocks` of 2 B, 5 B apart.
fn columns(blocks: i64) -> Side {
    Side::new(&Datatype::vector(blocks, 2, 5, &Datatype::named(Primitive::Byte)).unwrap(), 1)
}

/// The same number of bytes in the opposite order of memory, 3 B apart.
fn backwards(bytes: u64) -> Side {
    let bytes = i64::try_from(bytes).unwrap();
    Side::new(&Datatype::vector(bytes, 1, -3, &Datatype::named(Primitive::Byte)).unwrap(), 1)
}

fn near_schemes() -> Vec<Option<Cooperation>> {
    let all = [
        Scheme::Fixed(Protocol::SharedMemory),
        Scheme::Fixed(Protocol::RGet),
        Scheme::Fixed(Protocol::RPut),
        Scheme::Fixed(Protocol::CoopP2p),
        Scheme::Fixed(Protocol::CoopHca),
        Scheme::Coll,
        Scheme::Load,
    ];
    let all = all.map(|scheme| Cooperation { page: Bytes::new(1), ..Cooperation::by(scheme) });
    all.into_iter().map(Some).collect()
}

/// Every order of events, eager and by rendezvous, inside a node and between two.
#[test]
fn messages_in_pieces_arrive_in_every_order_of_events() {
    let far = [Protocol::RPut, Protocol::RGet, Protocol::Rtr, Protocol::RPutImmediate];
    let ways = far.map(|rendezvous| (rendezvous, None)).into_iter();
    let ways = ways.chain(near_schemes().into_iter().map(|near| (Protocol::RPut, near)));
    for (rendezvous, near) in ways {
        for blocks in [4, 20] {
            let (sent, got) = (columns(blocks), backwards(2 * blocks.unsigned_abs()));
            for mode in [SendMode::Standard, SendMode::Synchronous] {
                for posted in [vec![got.call(recv())], vec![got.call(irecv()), wait(0)]] {
                    let sender = vec![sent.call(isend(mode)), wait(0)];
                    let calls = vec![sender, posted];
                    let small = Small { rendezvous, near: near.clone(), ..Small::new(calls) };
                    let survey = explore::judged(&small.world(), Budget::default(), |_| None);
                    assert!(survey.is_clean(), "{rendezvous:?} {near:?} {blocks}: {survey:#?}");
                    assert!(survey.sometimes.compared > 0);
                }
            }
        }
    }
}

/// Two messages of one process at once, and a buffered one, have staging buffers of their own.
#[test]
fn several_messages_in_pieces_are_open_at_once() {
    for blocks in [4, 20] {
        let (sent, got) = (columns(blocks), backwards(2 * blocks.unsigned_abs()));
        let own = |call: Call, number: u32| match call {
            Call::Isend { to, tag, comm, mode, .. } => {
                let (request, buffer) = (Handle(number), Buffer { id: number, bytes: 0 });
                Call::Isend { request, to, tag, comm, buffer, mode }
            }
            Call::Irecv { source, tag, comm, .. } => {
                let (request, buffer) = (Handle(number), Buffer { id: number, bytes: 0 });
                Call::Irecv { request, source, tag, comm, buffer }
            }
            other => other,
        };
        for modes in [[SendMode::Standard; 2], [SendMode::Buffered, SendMode::Standard]] {
            let sends = [0, 1].map(|i| sent.call(own(isend(modes[i as usize]), i)));
            let receives = [0, 1].map(|number| got.call(own(irecv(), number)));
            let attach = [Call::AttachBuffer { bytes: 40 }];
            let sender =
                attach.into_iter().chain(sends).chain([wait_all(0, 2), Call::DetachBuffer]);
            let taker = receives.into_iter().chain([wait_all(0, 2)]);
            let small = Small::new(vec![sender.collect(), taker.collect()]);
            let survey = explore::judged(&small.world(), Budget::default(), |_| None);
            assert!(survey.is_clean(), "{blocks} {modes:?}: {survey:#?}");
        }
    }
}

/// Two sends of one buffer at once, each with its own type, or none: what each of them selects arrives,
/// and the monitors expect of neither what the other one has.
#[test]
fn one_buffer_is_sent_twice_at_once_with_different_types() {
    // Neither is over before both are begun, short as they are.
    let (wide, narrow) = (columns(10), columns(4));
    let (back, plain) = (backwards(8), Side::bytes(12));
    for [first, second] in [
        [&wide, &narrow],
        [&narrow, &wide],
        [&narrow, &back],
        [&wide, &plain],
        [&plain, &narrow],
        [&wide, &wide],
    ] {
        let sends = [first, second].map(|side| (side, isend(SendMode::Synchronous)));
        let sends = sends.into_iter().zip(0..).map(|((side, call), number)| {
            let Call::Isend { to, tag, comm, buffer, mode, .. } = call else { unreachable!() };
            side.call(Call::Isend { request: Handle(number), to, tag, comm, buffer, mode })
        });
        let receive = |side: &Side, id: u32| {
            let buffer = Buffer { id, bytes: side.len() };
            Call::Recv { source: Peer::Any, tag: Some(7), comm: WORLD, buffer }
        };
        let sender: Vec<_> = sends.chain([wait_all(0, 2)]).collect();
        let small = Small::new(vec![sender, vec![receive(first, 0), receive(second, 1)]]);
        let words = format!("{:?} then {:?}", first.elements, second.elements);
        let survey = explore::judged(&small.world(), Budget::default(), |world| {
            let found = [(first, 0), (second, 1)].map(|(side, id)| arrived(world, side, id));
            found.into_iter().flatten().next()
        });
        assert!(survey.is_clean(), "{words}: {survey:#?}");
        // The first is compared with what it was filled with; the second where it selects the same.
        assert!(survey.sometimes.compared > 0, "{words}");
    }
}

/// What is wrong with the bytes that process 1 has in buffer `id`: they are to be those of `side` of
/// the one buffer of process 0, which was inverted when it was given back.
fn arrived(world: &crate::small::World, side: &Side, id: u32) -> Option<Violation> {
    let bytes = |process, id, len| {
        world.memories().bytes(Process(process), Region::new(Space::User(id), len))
    };
    let places: Vec<u64> =
        if side.is_typed { side.places.clone() } else { (0..side.len()).collect() };
    let source = bytes(0, 0, places.iter().max().unwrap() + 1);
    let expected = places.iter().map(|&place| !source[usize::try_from(place).unwrap()]);
    let found = bytes(1, id, side.len());
    (!expected.eq(found.iter().copied())).then(|| Violation {
        id: "V2",
        statement: "bytes arrive as sent",
        objects: vec![format!("buffer {id}")],
        detail: format!("{found:?}"),
    })
}

/// Process 0 sends to both endpoints of process 1, which begin with rank `first`, one after the other:
/// each has a thread and a lane. Sender, and both receivers.
fn two_lanes(first: u32) -> (Endpoints, [Vec<Call>; 3]) {
    let each = vec![u16::try_from(first).unwrap(), 2];
    let endpoints = Endpoints { at_start: Some(each), ..own(2) };
    let (sent, got) = (columns(20), backwards(40));
    let to = |rank: u32, id: u32| {
        let (to, buffer) = (Peer::Rank(Rank(rank)), Buffer { id, bytes: 0 });
        sent.call(Call::Send { to, tag: 7, comm: WORLD, buffer, mode: SendMode::Standard })
    };
    let into = |id: u32| {
        let (source, buffer) = (Peer::Rank(Rank(0)), Buffer { id, bytes: 0 });
        got.call(Call::Recv { source, tag: Some(7), comm: WORLD, buffer })
    };
    let taker = |id: u16| vec![Call::Attach { id }, into(u32::from(id))];
    let sender = vec![Call::Attach { id: 0 }, to(first, 0), to(first + 1, 1)];
    (endpoints, [sender, taker(0), taker(1)])
}

/// A thread that unpacks and another one whose message comes meanwhile have staging buffers of their
/// own, whatever runs before what.
#[test]
fn threads_with_own_lanes_never_meet_in_a_staging_buffer() {
    let (endpoints, calls) = two_lanes(1);
    let [sender, one, other] = calls.map(all);
    for rendezvous in [Protocol::RGet, Protocol::RPut, Protocol::RPutImmediate] {
        let steps = vec![vec![sender.clone()], vec![one.clone(), other.clone()]];
        let small = Small { rendezvous, ..Small::threads(steps) }.with(endpoints.clone());
        let survey = explore::judged(&small.world(), Budget::default(), |_| None);
        assert!(survey.is_clean(), "{rendezvous:?}: {survey:#?}");
        assert!(survey.sometimes.compared > 0);
    }
}

/// The same in time: the second thread begins at every moment while the first one is at work.
#[test]
fn threads_with_own_lanes_unpack_beside_each_other() {
    let (endpoints, [sender, one, other]) = two_lanes(2);
    for delay in (0..400_000).step_by(5_000) {
        let script = |(late, calls): (u64, &[Call])| {
            let calls = calls.iter().cloned().map(Next::Call);
            Script::new([Next::Compute(late)].into_iter().chain(calls))
        };
        let threads = [(0, &*sender), (0, &[]), (0, &*one), (delay, &*other)];
        let mut job = job(ideal(&[]), threads.map(script).into());
        (job.threads, job.endpoints) = (2, endpoints.clone());
        (job.mpi.eager_inter, job.mpi.eager_intra) = (Some(Bytes::new(0)), Some(Bytes::new(0)));
        let ran = cross(job).unwrap_or_else(|drift| panic!("{delay}: {drift}"));
        assert_eq!(ran.outcome.ending, Ending::Finished, "{delay}");
        assert_eq!(ran.outcome.violations, [], "{delay}");
    }
}

/// Probes and statuses count packed bytes; a receive that is too short takes what fits, and the pieces
/// beyond keep what they had.
#[test]
fn truncation_and_status_count_packed_bytes() {
    for (sent, room) in [(4, 6), (20, 33), (20, 40), (4, 40)] {
        let (sent, got) = (columns(sent), backwards(room));
        let probe = Call::Mprobe { message: Handle(0), source: Peer::Any, tag: None, comm: WORLD };
        let receive = got.call(Call::Mrecv { message: Handle(0), buffer: BUFFER });
        for calls in [vec![got.call(recv())], vec![probe, receive]] {
            let probes = calls.len() == 2;
            let small = Small::new(vec![vec![sent.call(send(SendMode::Standard))], calls]);
            let counts = |world: &crate::small::World| {
                let script = world.program(Process(1), Thread(0));
                let fits = sent.len().min(room);
                let ended = match script.replies.last() {
                    Some(Reply::Outcome(Outcome::Received(status))) => {
                        sent.len() <= room && status.count == fits
                    }
                    Some(Reply::Outcome(Outcome::Truncated(status))) => {
                        sent.len() > room && status.count == fits
                    }
                    _ => false,
                };
                let counted = match script.replies.first() {
                    Some(Reply::Probed(Some(status))) => status.count == sent.len(),
                    _ => !probes,
                };
                ended && counted
            };
            let survey = explore::judged(&small.world(), Budget::default(), |_| None);
            assert!(survey.is_clean() && survey.sometimes.compared > 0, "{survey:#?}");
            let mut world = small.world();
            explore::walk(&mut world, 1, 0, 10_000);
            assert!(counts(&world), "{room}: {world:#?}");
        }
    }
}

fn told(chart: Chart, blocks: i64) -> Chart {
    let (sent, got) = (columns(blocks), backwards(2 * blocks.unsigned_abs()));
    chart.call(1, got.call(recv())).call(0, sent.call(send(SendMode::Standard))).settle()
}

/// An eager message is packed into the buffer that it leaves from, and unpacked out of the one that it
/// came to.
#[test]
fn an_eager_message_is_copied_once_on_each_side() {
    check_chart(
        &told(nodes(2, Protocol::RGet), 4),
        "
        0 packs 8 B at 0 from user to staging
        0 sends EAGER 8 B to 1
        0 completes
        0 returns sent
        1 unpacks 8 B at 0 from landing to user
        1 frees the landing buffer
        1 completes
        1 returns 8 B from 0 tag 7
        ",
    );
}

/// What the HCA is to read is packed before its address is told, and unpacked after it was read.
#[test]
fn a_large_message_is_packed_before_the_rts_where_that_tells_an_address() {
    check_chart(
        &told(nodes(2, Protocol::RGet), 20_000),
        "
        0 packs 40000 B at 0 from user to packed
        0 pins 40000 B
        0 sends RTS 40000 B to 1
        1 pins 40000 B
        1 reads 40000 B from 0
        1 sends FIN to 0
        1 unpacks 40000 B at 0 from packed to user
        1 completes
        1 returns 40000 B from 0 tag 7
        0 completes
        0 returns sent
        ",
    );
}

/// Cells are packed and unpacked one by one: nothing is copied twice.
#[test]
fn cells_of_shared_memory_are_packed_one_by_one() {
    let by_cells = Cooperation::by(Scheme::Fixed(Protocol::SharedMemory));
    check_chart(
        &told(near(2, by_cells), 10_000),
        "
        0 sends RTS 20000 B to 1
        1 sends CTS to 0
        0 packs 16384 B at 0 from user to staging
        0 sends CHUNK 16384 B at 0 to 1
        0 packs 3616 B at 16384 from user to staging
        0 sends CHUNK 3616 B at 16384 to 1
        0 completes
        0 returns sent
        1 unpacks 16384 B at 0 from landing to user
        1 frees the landing buffer
        1 unpacks 3616 B at 16384 from landing to user
        1 frees the landing buffer
        1 completes
        1 returns 20000 B from 0 tag 7
        ",
    );
}

/// What lies in one piece lends an ordinary buffer, wherever the piece is.
#[test]
fn one_piece_is_an_ordinary_buffer() {
    let byte = Datatype::named(Primitive::Byte);
    let behind = Datatype::hindexed(&[6], &[40], &byte).unwrap();
    for (datatype, count) in [(byte.clone(), 9), (behind, 1), (byte, 0)] {
        let side = Side::new(&datatype, count);
        let first = side.places.first().copied().unwrap_or(0);
        let plain = Side { is_typed: false, ..side.clone() };
        let [stated, plain] = [side, plain].map(|side| side.call(send(SendMode::Standard)));
        let mut expected = plain.lends().unwrap();
        expected.region.offset += first;
        assert_eq!(stated.lends(), Some(expected), "{stated:?}");
    }
    assert_ne!(columns(2).call(recv()).lends().unwrap().region.len, columns(2).len());
}
