//! Statements about messages and requests: a row each, with its keys and the reader of its call.

use std::sync::Arc;

use super::communicators::Named;
use super::form::buffers::{BUF, RECVBUF, SENDBUF};
use super::form::partitions::{ALL, FIRST, LAST, LIST, ONE, PARTITIONS, THREAD};
use super::form::pieces::{COUNT, MESSAGE, ROOM, TYPE, WITHIN};
use super::form::returned::{
    EXPECT_ALL_FLAGGED, EXPECT_ENDED, EXPECT_FLAG_OF_PARTITION, EXPECT_FLAGGED, EXPECT_INDEXED,
    EXPECT_INDEXED_FLAGGED, EXPECT_NUMBER, EXPECT_RANK, EXPECT_RECEIVED, EXPECT_REMOTE,
    EXPECT_SOME, EXPECT_STATUSES, EXPECT_TESTED, INTO_ALL_FLAGGED, INTO_ENDED,
    INTO_FLAG_OF_PARTITION, INTO_FLAGGED, INTO_INDEXED, INTO_INDEXED_FLAGGED, INTO_NUMBER,
    INTO_RANK, INTO_RECEIVED, INTO_REMOTE, INTO_SOME, INTO_TESTED,
};
use super::handles::Open;
use super::partitions::{of_partitions, partitioned};
use super::pieces::{self, Place};
use super::reader::Item;
use super::row::{Row, rows};
use crate::collectives::whose;
use crate::program::Does;
use crate::program::computed::{Part, Range};
use form::codes::{self, Code};
use form::diagnostic::{Diagnostic, quote};
use form::fields::{COMM_FIELD, MOST_OF_ARRAY, ONE_REQUEST, REQ, SIZE};
use form::json::Node;
use form::shape::{Field, Shape, default, joined, required};
use mpi::envelope::{Rank, TAG_UB};
use protocols::call::{
    Asked, Call, Comm, Exchange, OfPartitions, OfRequest, Peer, Requests, SendMode,
};
use protocols::contract::Handle;
use protocols::partitioned::Side;

static MEMBERS: Shape = Shape::Expression(&Shape::Count { min: 0, max: MOST_OF_ARRAY });
static REQUESTS: Shape = Shape::Either(&[
    Shape::List { of: &ONE_REQUEST, min: 0, max: 100_000 },
    Shape::Object(&[
        required("name", &Shape::Name, "\"a\"", "The name of the array."),
        required("count", &MEMBERS, "\"= n\"", "Its first requests, so many of them."),
    ]),
]);
static COMPUTED_SIZE: Shape = Shape::Expression(&SIZE);
static PEER: Shape = Shape::Expression(&Shape::Either(&[
    Shape::Count { min: 0, max: u32::MAX as u64 },
    Shape::Word(&[
        ("any", "MPI_ANY_SOURCE, in receives and probes only"),
        ("proc_null", "MPI_PROC_NULL"),
    ]),
]));
static TAG: Shape = Shape::Expression(&Shape::Either(&[
    Shape::Count { min: 0, max: TAG_UB.cast_unsigned() as u64 },
    Shape::Word(&[("any", "MPI_ANY_TAG, in receives and probes only")]),
]));

const TO: Field = required("to", &PEER, "1", "The receiver's rank in the communicator.");
const SRC: Field =
    required("src", &PEER, "0", "The sender's rank in the communicator, or \"any\".");
const TAG_FIELD: Field =
    default("tag", &TAG, "0", "The tag, 0 to 2147483647 (MPI_TAG_UB, the greatest C int).");
const SEND_TAG: Field = default("send_tag", &TAG, "0", "The tag of what is sent, 0 to 2147483647.");
const RECV_TAG: Field =
    default("recv_tag", &TAG, "0", "The tag of what is received, 0 to 2147483647, or \"any\".");
const SIZE_SENT: Field =
    required("size", &COMPUTED_SIZE, "\"8 B\"", "Bytes of the message that is sent.");
const SIZE_REPLACED: Field = required(
    "size",
    &COMPUTED_SIZE,
    "\"8 B\"",
    "Bytes of the message that is sent, and of room for the one that is received.",
);
const ROOM_RECEIVED: Field =
    required("max", &COMPUTED_SIZE, "\"8 B\"", "Bytes of the receive buffer.");
const ATTACHED: Field =
    required("size", &SIZE, "\"1 MiB\"", "Bytes of room for the process's buffered sends.");
const REQS: Field = required(
    "reqs",
    &REQUESTS,
    "[ \"a\" ]",
    "The requests: a list, or the first ones of an array.",
);
const HANDLE: Field = required(
    "handle",
    &ONE_REQUEST,
    "\"m\"",
    "The name of the matched message, or its array and its place there.",
);

const SENT: [Field; 8] = [TO, TAG_FIELD, COMM_FIELD, MESSAGE, TYPE, COUNT, WITHIN, BUF];
static SENDS: [Field; 8] = SENT;
static SENDS_BEGUN: [Field; 9] = joined(&SENT, &[REQ]);
const ROOMS: [Field; 8] = [SRC, TAG_FIELD, COMM_FIELD, ROOM, TYPE, COUNT, WITHIN, BUF];
static RECEIVES: [Field; 10] = joined(&ROOMS, &[EXPECT_RECEIVED, INTO_RECEIVED]);
static RECEIVES_BEGUN: [Field; 9] = joined(&ROOMS, &[REQ]);

/// The statements. `pready_list` is read as one `pready` for each partition.
pub(super) static ROWS: [Row; 50] = rows! {
    "isend" "MPI_Isend" &SENDS_BEGUN => |it| it.send(SendMode::Standard, Way::Begins);
    "issend" "MPI_Issend" &SENDS_BEGUN => |it| it.send(SendMode::Synchronous, Way::Begins);
    "send" "MPI_Send" &SENDS => |it| it.send(SendMode::Standard, Way::Waits);
    "ssend" "MPI_Ssend" &SENDS => |it| it.send(SendMode::Synchronous, Way::Waits);
    "ibsend" "MPI_Ibsend" &SENDS_BEGUN => |it| it.send(SendMode::Buffered, Way::Begins);
    "bsend" "MPI_Bsend" &SENDS => |it| it.send(SendMode::Buffered, Way::Waits);
    "irsend" "MPI_Irsend" &SENDS_BEGUN => |it| it.send(SendMode::Ready, Way::Begins);
    "rsend" "MPI_Rsend" &SENDS => |it| it.send(SendMode::Ready, Way::Waits);
    "buffer_attach" "MPI_Buffer_attach" &[ATTACHED] => |it| it.attach();
    "buffer_detach" "MPI_Buffer_detach" &[] => |it| it.detach();
    "irecv" "MPI_Irecv" &RECEIVES_BEGUN => |it| it.receive(Way::Begins);
    "recv" "MPI_Recv" &RECEIVES => |it| it.receive(Way::Waits);
    "sendrecv" "MPI_Sendrecv"
        &[TO, SEND_TAG, SIZE_SENT, SENDBUF, SRC, RECV_TAG, ROOM_RECEIVED, RECVBUF, COMM_FIELD,
          EXPECT_RECEIVED, INTO_RECEIVED]
        => |it| it.exchange(Way::Waits, false);
    "sendrecv_replace" "MPI_Sendrecv_replace"
        &[TO, SEND_TAG, SIZE_REPLACED, BUF, SRC, RECV_TAG, COMM_FIELD, EXPECT_RECEIVED,
          INTO_RECEIVED]
        => |it| it.exchange(Way::Waits, true);
    "isendrecv" "MPI_Isendrecv"
        &[TO, SEND_TAG, SIZE_SENT, SENDBUF, SRC, RECV_TAG, ROOM_RECEIVED, RECVBUF, COMM_FIELD, REQ]
        => |it| it.exchange(Way::Begins, false);
    "isendrecv_replace" "MPI_Isendrecv_replace"
        &[TO, SEND_TAG, SIZE_REPLACED, BUF, SRC, RECV_TAG, COMM_FIELD, REQ]
        => |it| it.exchange(Way::Begins, true);
    "send_init" "MPI_Send_init" &SENDS_BEGUN => |it| it.send(SendMode::Standard, Way::Prepares);
    "ssend_init" "MPI_Ssend_init" &SENDS_BEGUN
        => |it| it.send(SendMode::Synchronous, Way::Prepares);
    "bsend_init" "MPI_Bsend_init" &SENDS_BEGUN => |it| it.send(SendMode::Buffered, Way::Prepares);
    "rsend_init" "MPI_Rsend_init" &SENDS_BEGUN => |it| it.send(SendMode::Ready, Way::Prepares);
    "recv_init" "MPI_Recv_init" &RECEIVES_BEGUN => |it| it.receive(Way::Prepares);
    "psend_init" "MPI_Psend_init; `start` makes it active"
        &[TO, TAG_FIELD, COMM_FIELD, ALL, PARTITIONS, BUF, REQ]
        => |it| partitioned(it, Side::Sends);
    "precv_init"
        "MPI_Precv_init; it receives all bytes of the send that it matches, in as many partitions as it likes"
        &[SRC, TAG_FIELD, COMM_FIELD, ALL, PARTITIONS, BUF, REQ]
        => |it| partitioned(it, Side::Receives);
    "pready" "MPI_Pready" &[REQ, ONE, THREAD] => |it| of_partitions(it, OfPartitions::Ready);
    "pready_range" "MPI_Pready_range" &[REQ, FIRST, LAST, THREAD]
        => |it| of_partitions(it, OfPartitions::ReadyRange);
    "pready_list" "MPI_Pready_list: each is made ready by a call of its own" &[REQ, LIST, THREAD]
        => |it| of_partitions(it, OfPartitions::Ready);
    "parrived" "MPI_Parrived" &[REQ, ONE, THREAD, EXPECT_FLAG_OF_PARTITION, INTO_FLAG_OF_PARTITION]
        => |it| of_partitions(it, OfPartitions::Arrived);
    "start" "MPI_Start" &[REQ]
        => |it| Does::Start(Requests::List([it.close(Open::Perhaps)].into()));
    "startall" "MPI_Startall: each is started by a call of its own" &[REQS]
        => |it| Does::Start(it.close_all(Open::Perhaps));
    "wait" "MPI_Wait" &[REQ, EXPECT_ENDED, INTO_ENDED]
        => |it| Call::Wait { request: it.close(Open::No) };
    "waitall" "MPI_Waitall" &[REQS, EXPECT_STATUSES]
        => |it| Call::WaitAll { requests: it.close_all(Open::No), statuses: true };
    "waitany" "MPI_Waitany" &[REQS, EXPECT_INDEXED, INTO_INDEXED]
        => |it| Call::WaitAny { requests: it.close_all(Open::Perhaps) };
    "waitsome" "MPI_Waitsome" &[REQS, EXPECT_SOME, INTO_SOME] => |it| it.ask(Asked::WaitSome);
    "test" "MPI_Test" &[REQ, EXPECT_TESTED, INTO_TESTED]
        => |it| Call::Test { request: it.close(Open::Perhaps) };
    "testall" "MPI_Testall" &[REQS, EXPECT_ALL_FLAGGED, INTO_ALL_FLAGGED]
        => |it| Call::TestAll { requests: it.close_all(Open::Perhaps) };
    "testany" "MPI_Testany" &[REQS, EXPECT_INDEXED_FLAGGED, INTO_INDEXED_FLAGGED]
        => |it| it.ask(Asked::TestAny);
    "testsome" "MPI_Testsome" &[REQS, EXPECT_SOME, INTO_SOME] => |it| it.ask(Asked::TestSome);
    "request_get_status" "MPI_Request_get_status" &[REQ, EXPECT_TESTED, INTO_TESTED]
        => |it| Call::OfRequest { does: OfRequest::GetStatus, request: it.close(Open::Perhaps) };
    "request_free" "MPI_Request_free of a message's request; its name is not used again" &[REQ]
        => |it| it.free_request();
    "probe" "MPI_Probe" &[SRC, TAG_FIELD, COMM_FIELD, EXPECT_RECEIVED, INTO_RECEIVED]
        => |it| it.probe(|source, tag, comm| Call::Probe { source, tag, comm });
    "iprobe" "MPI_Iprobe" &[SRC, TAG_FIELD, COMM_FIELD, EXPECT_FLAGGED, INTO_FLAGGED]
        => |it| it.probe(|source, tag, comm| Call::Iprobe { source, tag, comm });
    "mprobe" "MPI_Mprobe" &[HANDLE, SRC, TAG_FIELD, COMM_FIELD, EXPECT_RECEIVED, INTO_RECEIVED]
        => |it| it.matched_probe(Open::Yes);
    "improbe" "MPI_Improbe" &[HANDLE, SRC, TAG_FIELD, COMM_FIELD, EXPECT_FLAGGED, INTO_FLAGGED]
        => |it| it.matched_probe(Open::Perhaps);
    "mrecv" "MPI_Mrecv" &[HANDLE, ROOM, TYPE, COUNT, WITHIN, BUF, EXPECT_RECEIVED, INTO_RECEIVED]
        => |it| it.matched_receive(Way::Waits);
    "imrecv" "MPI_Imrecv" &[HANDLE, ROOM, TYPE, COUNT, WITHIN, BUF, REQ]
        => |it| it.matched_receive(Way::Begins);
    "cancel" "MPI_Cancel" &[REQ] => |it| it.cancel();
    "barrier" "MPI_Barrier" &[COMM_FIELD] => |it| Call::Barrier { comm: it.named().comm };
    "comm_rank" "MPI_Comm_rank; of an intercommunicator in the own group"
        &[COMM_FIELD, EXPECT_RANK, INTO_RANK]
        => |it| Call::Place { comm: it.named().comm };
    "comm_size" "MPI_Comm_size; of an intercommunicator that of the own group"
        &[COMM_FIELD, EXPECT_NUMBER, INTO_NUMBER]
        => |it| Call::Place { comm: it.named().comm };
    "comm_remote_size" "MPI_Comm_remote_size" &[COMM_FIELD, EXPECT_REMOTE, INTO_REMOTE]
        => |it| Call::Place { comm: it.named().comm };
};

/// When the operation of a statement begins and ends.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Way {
    /// The statement waits for its end.
    Waits,
    /// It begins, and its request ends it.
    Begins,
    /// Its request keeps it, and other statements start it.
    Prepares,
}

impl Item<'_, '_, '_> {
    /// A mistake under a key, or where the key is missing.
    pub(super) fn wrong(
        &self,
        code: Code,
        key: &str,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Diagnostic {
        let span = self.node.get(key).map_or(self.node.span, |value| value.span);
        Diagnostic::error(code, span, format!("{}.{key}", self.path), found, allowed)
    }

    /// Reports such a mistake.
    pub(super) fn refuse(
        &mut self,
        code: Code,
        key: &str,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) {
        let one = self.wrong(code, key, found, allowed);
        self.reader.diagnostics.push(one);
    }

    pub(super) fn report(&mut self, one: Diagnostic) {
        self.reader.diagnostics.push(one);
    }

    /// The communicator of the statement.
    pub(super) fn named(&mut self) -> Named {
        self.reader.communicators.named(self.reader.diagnostics, self.node, self.path)
    }

    /// The request or message that the statement opens under a key.
    pub(super) fn open(&mut self, key: &str) -> Handle {
        self.reader.open(self.node, key, self.path)
    }

    /// The request that the statement is about.
    pub(super) fn close(&mut self, after: Open) -> Handle {
        self.reader.close(self.node, "req", self.path, after)
    }

    fn close_all(&mut self, after: Open) -> Requests {
        self.reader.close_all(self.node, self.path, after)
    }

    /// The request of the statement keeps the operation, which other statements start.
    pub(super) fn prepare(&mut self, operation: Call) -> Call {
        self.reader.mark(self.node, "req", Open::Prepared);
        Call::Prepare(Arc::new(operation))
    }

    /// The call of an operation: itself, or what prepares it.
    fn by(&mut self, way: Way, operation: Call) -> Call {
        if way == Way::Prepares { self.prepare(operation) } else { operation }
    }

    fn send(&mut self, mode: SendMode, way: Way) -> Call {
        let named = self.named();
        let comm = named.comm;
        let to = self.peer(("to", "to"), named, false);
        let tag = self.tag(("tag", "tag"), false).unwrap_or(0);
        let Place { buffer, elements } = self.place("size");
        if mode == SendMode::Buffered && self.reader.attached.is_none() {
            self.no_buffer();
        }
        let call = if way == Way::Waits {
            Call::Send { to, tag, comm, buffer, mode }
        } else {
            Call::Isend { request: self.open("req"), to, tag, comm, buffer, mode }
        };
        self.by(way, pieces::typed(call, elements))
    }

    fn attach(&mut self) -> Call {
        let Self { reader, node, path } = self;
        if let Some((first, true)) = reader.attached.replace((node.span, true)) {
            let (found, allowed) = ("a buffer is attached already", "a process has one at a time");
            let one = Diagnostic::error(&codes::CONTRADICTION, node.span, *path, found, allowed);
            reader.diagnostics.push(one.related(first, "it was attached here"));
        }
        Call::AttachBuffer { bytes: node.bytes("size").unwrap_or_default().as_u64() }
    }

    fn detach(&mut self) -> Call {
        if self.reader.attached.take().is_none() {
            self.no_buffer();
        }
        Call::DetachBuffer
    }

    fn no_buffer(&mut self) {
        let (found, allowed) = ("no buffer is attached here", "`buffer_attach` must come before");
        let one =
            Diagnostic::error(&codes::CONTRADICTION, self.node.span, self.path, found, allowed);
        self.report(one.help("the buffer must hold all messages whose transfer has not ended"));
    }

    fn receive(&mut self, way: Way) -> Call {
        let (source, tag, comm) = self.envelope();
        let Place { buffer, elements } = self.place("max");
        let call = if way == Way::Waits {
            Call::Recv { source, tag, comm, buffer }
        } else {
            Call::Irecv { request: self.open("req"), source, tag, comm, buffer }
        };
        self.by(way, pieces::typed(call, elements))
    }

    /// Sender, tag and communicator of a receive or a probe.
    fn envelope(&mut self) -> (Peer, Option<i32>, Comm) {
        let named = self.named();
        (self.peer(("src", "source"), named, true), self.tag(("tag", "tag"), true), named.comm)
    }

    /// A send and a receive of one call, with a buffer for each, or one for both.
    fn exchange(&mut self, way: Way, replaces: bool) -> Call {
        let named = self.named();
        let comm = named.comm;
        let to = self.peer(("to", "to"), named, false);
        let send_tag = self.tag(("send_tag", "send.tag"), false).unwrap_or(0);
        let source = self.peer(("src", "source"), named, true);
        let tag = self.tag(("recv_tag", "receive.tag"), true);
        let [send, receive] = ["send.buffer", "receive.buffer"];
        let part = if replaces { Part::Both([send, receive]) } else { Part::Field(send) };
        let bytes = self.sized("size", part);
        let first = if replaces { "buf" } else { "sendbuf" };
        let buffer = self.own_buffer(first, bytes);
        let into = if replaces {
            buffer
        } else {
            let room = self.sized("max", Part::Field(receive));
            self.own_buffer("recvbuf", room)
        };
        let request = (way == Way::Begins).then(|| self.open("req"));
        let mode = SendMode::Standard;
        Call::Exchange(Arc::new(Exchange {
            send: Call::Send { to, tag: send_tag, comm, buffer, mode },
            receive: Call::Recv { source, tag, comm, buffer: into },
            request,
            replaces,
        }))
    }

    fn probe(&mut self, call: impl Fn(Peer, Option<i32>, Comm) -> Call) -> Call {
        let (source, tag, comm) = self.envelope();
        call(source, tag, comm)
    }

    /// `mprobe`, and `improbe`, which opens a message perhaps.
    fn matched_probe(&mut self, opens: Open) -> Call {
        let (source, tag, comm) = self.envelope();
        let message = self.open("handle");
        if opens == Open::Yes {
            return Call::Mprobe { message, source, tag, comm };
        }
        self.reader.mark(self.node, "handle", opens);
        Call::Improbe { message, source, tag, comm }
    }

    fn matched_receive(&mut self, way: Way) -> Call {
        let message = self.reader.close(self.node, "handle", self.path, Open::No);
        let Place { buffer, elements } = self.place("max");
        let call = if way == Way::Waits {
            Call::Mrecv { message, buffer }
        } else {
            Call::Imrecv { message, request: self.open("req"), buffer }
        };
        pieces::typed(call, elements)
    }

    fn ask(&mut self, asks: Asked) -> Call {
        Call::Ask { asks, requests: self.close_all(Open::Perhaps) }
    }

    /// A request that is prepared ends by it, too.
    fn free_request(&mut self) -> Call {
        let request = self.close(Open::No);
        self.reader.mark(self.node, "req", Open::No);
        Call::OfRequest { does: OfRequest::Free, request }
    }

    fn cancel(&mut self) -> Call {
        self.must_be_a_receive();
        Call::Cancel { request: self.close(Open::Yes) }
    }

    /// Refuses `cancel` of a request that no receive has begun on any way here; where loops and conditions leave more
    /// than one way, the program judges it when it runs.
    fn must_be_a_receive(&mut self) {
        let Some(name) = self.node.get("req").and_then(Node::text) else { return };
        let Some((op, true)) = self.reader.begun.get(name) else { return };
        if matches!(&**op, "irecv" | "imrecv" | "recv_init") {
            return;
        }
        let found = format!("`{}` is a request of `{op}`", quote(name));
        let allowed = "only requests of `irecv` and `imrecv` can be cancelled";
        let one = self.wrong(&codes::REQUEST, "req", found, allowed);
        self.report(one.help("leave the `cancel` out, and wait for the request"));
    }

    /// A rank, or what stands for one; `any` only where `receiving`.
    pub(super) fn peer(
        &mut self,
        (key, field): (&'static str, &'static str),
        named: Named,
        receiving: bool,
    ) -> Peer {
        let Self { reader, node, path } = self;
        let value = node.get(key).expect("the tree was checked against its shape");
        let last = if named.like().is_some() { reader.ranks - 1 } else { u32::MAX };
        if reader.computes(node, (key, Part::Field(field)), Range::ranks(last.into()), path) {
            return Peer::Null;
        }
        match value.text() {
            Some("proc_null") => Peer::Null,
            Some(_) if receiving => Peer::Any,
            Some(_) => {
                self.no_wildcard(
                    key,
                    "a send to `any`",
                    "name the receiver's rank, or \"proc_null\"",
                );
                Peer::Null
            }
            None => {
                let rank = value.as_count();
                if rank > u64::from(last) {
                    let found = format!("rank {rank} does not exist");
                    let one =
                        self.wrong(&codes::RANK, key, found, format!("ranks are 0 to {last}"));
                    let whose = whose(self.reader.body, self.reader.rank);
                    self.report(one.help(whose));
                }
                Peer::Rank(Rank(u32::try_from(rank).unwrap_or(0)))
            }
        }
    }

    fn no_wildcard(&mut self, key: &str, found: &str, help: &str) {
        let allowed = "the wildcard is allowed in receives and probes only";
        let one = self.wrong(&codes::WILDCARD, key, found, allowed);
        self.report(one.help(help));
    }

    /// The tag; `None` for the wildcard.
    pub(super) fn tag(
        &mut self,
        (key, field): (&'static str, &'static str),
        receiving: bool,
    ) -> Option<i32> {
        let Self { reader, node, path } = self;
        let Some(value) = node.get(key) else { return Some(0) };
        if reader.computes(node, (key, Part::Field(field)), Range::up_to(TAG_UB.into()), path) {
            return Some(0);
        }
        if value.text().is_none() {
            return Some(i32::try_from(value.as_count()).expect("the shape limits the tag"));
        }
        if !receiving {
            let help = "give a tag from 0 to 2147483647";
            self.no_wildcard(key, "a send with the tag `any`", help);
        }
        None
    }
}
