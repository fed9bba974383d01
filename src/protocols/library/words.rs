//! Calls and packets as a reader knows them: for the story of a run.

use std::sync::Arc;

use super::{Key, MessageHeader, Packet, Selection};
use crate::call::{Buffer, Call, Comm, CommCall, Exchange, Peer, Requests, SendMode};
use crate::contract::Handle;
use crate::partitioned::{Partitioned, Side};
use crate::rma::packet::RmaPacket;
use crate::wire::ControlMessage;
use collectives::Collective;
use mpi::communicator::Communicators;
use mpi::endpoints::EndpointsError;
use mpi::envelope::Rank;
use mpi::group::{RepeatedProcess, SelectionError, SplitError};

/// Text of a selection in reports.
pub(super) fn in_words(selection: &Selection) -> String {
    let source =
        selection.source.map_or("any source".to_owned(), |rank| format!("rank {}", rank.0));
    let tag = selection.tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
    format!("{source}, {tag}, context {}", selection.context.0)
}

/// A call with its arguments.
pub(super) fn call(call: &Call) -> String {
    let blocking = |name: &str, mode: &SendMode| match mode {
        SendMode::Standard => format!("MPI_{name}send"),
        SendMode::Synchronous => format!("MPI_{name}ssend"),
        SendMode::Buffered => format!("MPI_{name}bsend"),
        SendMode::Ready => format!("MPI_{name}rsend"),
    };
    match call {
        Call::Send { to, tag, comm, buffer, mode } => {
            let name = blocking("", mode).replace("MPI_s", "MPI_S");
            format!("{name}({} to {}, tag {tag}{})", bytes(*buffer), peer(*to), of(*comm))
        }
        Call::Isend { request, to, tag, comm, buffer, mode } => {
            let (name, handle) = (blocking("I", mode), request.0);
            let (what, whom) = (bytes(*buffer), peer(*to));
            format!("{name}({what} to {whom}, tag {tag}{}, request {handle})", of(*comm))
        }
        Call::Recv { source, tag, comm, buffer } => {
            let from = selection(*source, *tag, *comm);
            format!("MPI_Recv({from}, room for {})", bytes(*buffer))
        }
        Call::Irecv { request, source, tag, comm, buffer } => {
            let (from, room) = (selection(*source, *tag, *comm), bytes(*buffer));
            format!("MPI_Irecv({from}, room for {room}, request {})", request.0)
        }
        Call::Wait { request } => format!("MPI_Wait(request {})", request.0),
        Call::WaitAll { requests, .. } => format!("MPI_Waitall({})", set(requests)),
        Call::WaitAny { requests } => format!("MPI_Waitany({})", set(requests)),
        Call::Test { request } => format!("MPI_Test(request {})", request.0),
        Call::TestAll { requests } => format!("MPI_Testall({})", set(requests)),
        Call::Ask { asks, requests } => format!("{}({})", asks.function(), set(requests)),
        Call::OfRequest { does, request } => format!("{}(request {})", does.function(), request.0),
        Call::Exchange(call) => exchange(call),
        Call::Prepare(operation) if matches!(**operation, Call::Partitioned(_)) => {
            self::call(operation)
        }
        Call::Prepare(operation) => {
            let call = self::call(operation);
            let (function, arguments) = call.split_once('(').unwrap_or((&call, ")"));
            let function = function.replacen("MPI_I", "MPI_", 1);
            let (prefix, name) = function.split_at("MPI_".len());
            let (first, rest) = name.split_at(usize::from(!name.is_empty()));
            format!("{prefix}{}{rest}_init({arguments}", first.to_uppercase())
        }
        Call::Start { request, operation } => {
            format!("MPI_Start(request {}: {})", request.0, self::call(operation))
        }
        Call::Finalize => "MPI_Finalize()".to_owned(),
        Call::Partitioned(operation) => partitioned(operation),
        Call::OfPartitions { does, request, first, last, .. } => {
            let function = does.function();
            let which = if first == last {
                format!("partition {first}")
            } else {
                format!("partitions {first} to {last}")
            };
            format!("{function}({which}, request {})", request.0)
        }
        Call::Probe { source, tag, comm } => {
            format!("MPI_Probe({})", selection(*source, *tag, *comm))
        }
        Call::Iprobe { source, tag, comm } => {
            format!("MPI_Iprobe({})", selection(*source, *tag, *comm))
        }
        Call::Mprobe { message, source, tag, comm } => {
            format!("MPI_Mprobe({}, message {})", selection(*source, *tag, *comm), message.0)
        }
        Call::Improbe { message, source, tag, comm } => {
            format!("MPI_Improbe({}, message {})", selection(*source, *tag, *comm), message.0)
        }
        Call::Mrecv { message, buffer } => {
            format!("MPI_Mrecv(message {}, room for {})", message.0, bytes(*buffer))
        }
        Call::Imrecv { message, request, buffer } => {
            let (message, request, room) = (message.0, request.0, bytes(*buffer));
            format!("MPI_Imrecv(message {message}, room for {room}, request {request})")
        }
        Call::Cancel { request } => format!("MPI_Cancel(request {})", request.0),
        Call::Init => "MPI_Init()".to_owned(),
        Call::Attach { id } => format!("MPI_Endpoint_attach(endpoint {id})"),
        Call::ReduceLocal(call) => {
            format!("MPI_Reduce_local({} B by {})", call.into.len, call.reduction.operator())
        }
        Call::Compare { a, b } => format!("MPI_Comm_compare({}, {})", named(*a), named(*b)),
        Call::Members { comm } => format!("MPI_Comm_group({})", named(*comm)),
        Call::Place { comm } => format!("MPI_Comm_rank({})", named(*comm)),
        Call::Communicators(call) => format!("{}({})", call.function(), named(call.comm())),
        Call::AttachBuffer { bytes } => format!("MPI_Buffer_attach({bytes} B)"),
        Call::DetachBuffer => "MPI_Buffer_detach()".to_owned(),
        Call::Barrier { comm } => format!("MPI_Barrier({})", named(*comm)),
        Call::CreateEndpoints { parent, count, .. } => {
            format!("MPI_Comm_create_endpoints({}, {count} of them)", named(*parent))
        }
        Call::FreeEndpoint { comm } => format!("MPI_Comm_free({})", named(*comm)),
        Call::Collective(call) => collective(call.function(), call, ""),
        Call::Icollective { request, call } => {
            collective(call.functions().begins, call, &format!(", request {}", request.0))
        }
        Call::Device(call) => format!("{} of GPU memory", call.function()),
        Call::Typed(typed) if typed.elements.is_one_piece() => self::call(&typed.call),
        Call::Typed(typed) => format!("{} in pieces", self::call(&typed.call)),
        Call::Rma(call) => call.name().to_owned(),
    }
}

/// Conversion of an item that a refusal names into words.
pub(super) trait InWords {
    fn in_words(self) -> String;
}

/// Types that are named as they display themselves.
macro_rules! displayed {
    ($($displayed:ty),* $(,)?) => {$(
        impl InWords for $displayed {
            fn in_words(self) -> String {
                self.to_string()
            }
        }
    )*};
}

displayed![
    &str,
    String,
    u16,
    u64,
    usize,
    i32,
    SelectionError,
    SplitError,
    EndpointsError,
    RepeatedProcess,
    &Arc<RmaPacket>,
];

impl InWords for Comm {
    fn in_words(self) -> String {
        named(self)
    }
}

impl InWords for Rank {
    fn in_words(self) -> String {
        format!("rank {}", self.0)
    }
}

impl InWords for Key {
    fn in_words(self) -> String {
        key(self)
    }
}

impl InWords for Handle {
    fn in_words(self) -> String {
        format!("request {}", self.0)
    }
}

impl InWords for Requests {
    fn in_words(self) -> String {
        set(&self)
    }
}

impl InWords for &Call {
    fn in_words(self) -> String {
        call(self)
    }
}

impl InWords for CommCall {
    fn in_words(self) -> String {
        format!("{}({})", self.function(), named(self.comm()))
    }
}

/// A packet with what it carries.
pub(super) fn packet(packet: &Packet) -> String {
    let message = |header: &MessageHeader| {
        let (rank, tag) = (header.envelope.source.0, header.envelope.tag);
        format!("of {} B, rank {rank}'s with tag {tag}", header.bytes)
    };
    match packet {
        Packet::Eager(header) => format!("the message {},", message(header)),
        Packet::Rma(packet) => packet.to_string(),
        Packet::Partition(packet) => format!("{packet} of a partitioned operation"),
        Packet::Matched { sender } => format!("the note that {} is matched,", key(*sender)),
        Packet::Rts { header, .. } => format!("the RTS {},", message(header)),
        Packet::Rtr(offer) => {
            let (from, room) = (in_words(&offer.selection), offer.into.len);
            format!("the RTR for a message of {from}, room for {room} B,")
        }
        Packet::Rendezvous { to, word, .. } => {
            let word = match word {
                ControlMessage::Cts { into, protocol, .. } => {
                    format!("CTS for {} B by {}", into.len, protocol.name())
                }
                ControlMessage::Fin => "FIN".to_owned(),
                ControlMessage::Taken { tag, bytes, filled, .. } => {
                    let name = if *filled { "FIN" } else { "TAKEN" };
                    format!("{name} of {bytes} B with tag {tag}")
                }
                ControlMessage::Chunk { offset } => format!("the chunk at byte {offset}"),
                ControlMessage::Credit => "a credit".to_owned(),
            };
            format!("{word} for {}", key(*to))
        }
    }
}

fn collective(function: &str, call: &Collective, request: &str) -> String {
    let algorithm = call.algorithm.name();
    let root = if call.kind.has_root() { format!(", root {}", call.root.0) } else { String::new() };
    format!("{function}({}{root}, by {algorithm}{request})", named(call.comm))
}

/// `MPI_Sendrecv` with its two messages.
fn exchange(call: &Exchange) -> String {
    let [sends, receives] = [&call.send, &call.receive].map(self::call);
    let inside = |call: &str| {
        let inside = call.split_once('(').map_or(call, |(_, inside)| inside);
        inside.trim_end_matches(')').to_owned()
    };
    let request = call.request.map_or_else(String::new, |it| format!(", request {}", it.0));
    format!("{}({}; {}{request})", call.function(), inside(&sends), inside(&receives))
}

/// `MPI_Psend_init` or `MPI_Precv_init`, whichever prepares the operation.
fn partitioned(operation: &Partitioned) -> String {
    let Partitioned { side, peer, tag, comm, buffer, partitions, .. } = *operation;
    let way = if side == Side::Sends { "to" } else { "from" };
    let (whom, what) = (self::peer(peer), bytes(buffer));
    let function = operation.function();
    format!("{function}({what} in {partitions} partitions {way} {whom}, tag {tag}{})", of(comm))
}

fn key(key: Key) -> String {
    match key {
        Key::User(handle) => format!("request {}", handle.0),
        Key::Inner(_) => "its blocking call".to_owned(),
        Key::Buffered(slot) => format!("buffered message {slot}"),
        Key::Part(_, part) => format!("message {part} of its collective"),
        Key::Later(slot, part) => format!("message {part} of its collective {slot} under way"),
        Key::Joint(_, part) => format!("message {part} of a request that has several"),
        Key::Partition(_, part) => format!("message {part} of its partitioned operation"),
    }
}

fn bytes(buffer: Buffer) -> String {
    format!("{} B", buffer.bytes)
}

fn peer(peer: Peer) -> String {
    match peer {
        Peer::Rank(rank) => format!("rank {}", rank.0),
        Peer::Any => "any rank".to_owned(),
        Peer::Null => "nobody".to_owned(),
    }
}

fn selection(source: Peer, tag: Option<i32>, comm: Comm) -> String {
    let tag = tag.map_or_else(|| "any tag".to_owned(), |tag| format!("tag {tag}"));
    format!("from {}, {tag}{}", peer(source), of(comm))
}

/// The communicator, where it is not the usual one.
fn of(comm: Comm) -> String {
    if comm == Comm(Communicators::WORLD) { String::new() } else { format!(", {}", named(comm)) }
}

fn named(comm: Comm) -> String {
    if comm == Comm(Communicators::WORLD) {
        "MPI_COMM_WORLD".to_owned()
    } else {
        format!("communicator {}", comm.0)
    }
}

fn set(requests: &Requests) -> String {
    let names: Vec<String> =
        (0..requests.len()).map(|index| requests.at(index).0.to_string()).collect();
    let many = if names.len() == 1 { "request" } else { "requests" };
    format!("{many} {}", names.join(", "))
}
