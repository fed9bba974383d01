//! The network side of the job: adapters and their queue pairs, and what is under way.
//!
//! ```text
//!   launch ─▶ depart ─┬▶ shared memory ─────────────────────▶ arrive ─▶ Landing
//!                     └▶ queue pair ─▶ start ─▶ fabric ─▶ advance ─▶ ▲
//! ```
//!
//! What an arrival means to the receiving process is answered as a [`Landing`]; the conductor carries
//! it out.

mod arrivals;
mod channels;
pub(super) mod flight;
mod paced;
pub(super) mod reliable;

use super::context::Context;
use super::event::{Event, Phase};
use super::slab::Slab;
use crate::causes::{Message, Spender, Spent};
use crate::faults::{Failure, Transport};
use crate::memory::Parcel;
use crate::outcome::{Ending, Tally, Used};
use channels::Channels;
use flight::{COPY, Content, Flight, FlightKind, RELIABLE, TRANSFER, token, token_of};
use hardware::cluster::{Cluster, Posting};
use hardware::copies::CoreCopy;
use hardware::fabric::{
    About, Alteration, ConnId, Delivery, Fabric, FabricEvent, PathId, ResourceId, Service, Transfer,
};
use hardware::gpu::is_gpu_token;
use hardware::pace::Pace;
use paced::Paced;
use protocols::contract::{Process, Route, Via};
use reliable::Reliable;
use units::{Time, TimeDelta};

/// Adapters, wires, and what is under way on them.
#[derive(Debug)]
pub(super) struct Network<K> {
    cluster: Cluster,
    channels: Channels,
    flights: Slab<Flight>,
    contents: Slab<Content<K>>,
    /// Gives the name of a packet.
    name_of: fn(&K) -> String,
    /// When the atomic unit of each node's HCA is free again.
    atomic_free: Vec<Time>,
    delivered: Vec<Delivery>,
    /// Reliable connections, which retransmit where links lose packets.
    reliable: Option<Box<Reliable>>,
    /// Queue pairs with a pace, where the job has one.
    paced: Option<Box<Paced>>,
    /// Whether a fault plan may touch what is under way.
    faulty: bool,
    /// The first connection of the fabric that belongs to a channel: those of cores come before it,
    /// and then those of GPUs.
    first_connection: u32,
    /// Messages that left a core.
    packets: u64,
    /// Receiver-not-ready pauses.
    rnr: u64,
}

/// Pauses for a receive buffer where there will never be one.
///
/// Source: `InfiniBand` Architecture Specification, volume 1, 9.7.5.2.8: 6 is the largest finite RNR
/// retry count, 7 means for ever.
const RNR_RETRIES: u32 = 6;

impl<K> Network<K> {
    /// The network of a job without traffic, for so many processes with so many lanes each.
    pub(super) fn new(
        cluster: Cluster,
        (processes, lanes): (usize, u16),
        nodes: usize,
        first_connection: u32,
        name_of: fn(&K) -> String,
    ) -> Self {
        Self {
            cluster,
            channels: Channels::new(processes, lanes),
            flights: Slab::default(),
            contents: Slab::default(),
            name_of,
            atomic_free: vec![Time::ZERO; nodes],
            delivered: Vec::new(),
            reliable: None,
            paced: None,
            faulty: false,
            first_connection,
            packets: 0,
            rnr: 0,
        }
    }

    /// Queue pairs have this pace.
    pub(super) fn set_pace(&mut self, pace: Pace) {
        self.paced = pace.maker().map(|make| Box::new(Paced::new(make)));
    }

    /// A fault plan is in force; `unreliable` says of each link whether it may lose packets.
    pub(super) fn expect_faults(&mut self, transport: Transport, unreliable: Vec<bool>) {
        self.faulty = true;
        if unreliable.contains(&true) {
            self.reliable = Some(Box::new(Reliable::new(transport, unreliable)));
        }
    }

    pub(super) const fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The fabric, for transfers of GPUs.
    pub(super) const fn fabric(&mut self) -> &mut Fabric {
        &mut self.cluster.fabric
    }

    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    pub(super) const fn rnr(&self) -> u64 {
        self.rnr
    }

    /// Queue pairs over links that lose packets, and what they send by.
    pub(super) fn reliable(&mut self) -> (&mut Reliable, &mut Cluster) {
        let reliable = self.reliable.as_mut().expect("its links lose packets");
        (reliable, &mut self.cluster)
    }

    /// Effects of faults on packets, counted.
    pub(super) fn tally(&self) -> Tally {
        self.reliable.as_ref().map_or_else(Tally::default, |reliable| reliable.tally())
    }

    /// How many packets, RDMA operations and answers are under way.
    pub(super) const fn under_way(&self) -> usize {
        self.flights.len()
    }

    /// Channels that are open, and what is under way or waits to be taken.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.channels.count(), self.flights.len() + self.contents.len())
    }

    /// Whether each flight has at most so many bytes.
    pub(super) fn all_are_short(&self, bytes: u64) -> bool {
        self.flights.iter().all(|flight| flight.bytes <= bytes)
    }

    /// Contents of packets that are under way or wait to be taken.
    pub(super) fn contents(&self) -> impl Iterator<Item = &Content<K>> + Clone {
        self.contents.iter()
    }

    pub(super) fn content(&self, content: u32) -> &Content<K> {
        self.contents.peek(content)
    }

    /// Use of each resource, at the end.
    pub(super) fn into_used(self) -> Vec<Used> {
        let Self { cluster, channels, flights, contents, .. } = self;
        drop((channels, flights, contents));
        let used = cluster.into_resources().map(|(spec, stats)| Used {
            name: spec.name,
            kind: spec.kind,
            servers: match spec.service {
                Service::Shared { .. } => 1,
                Service::Servers { count, .. } => count,
            },
            stats,
        });
        used.collect()
    }

    /// Whether a run may end without an event of the fabric.
    #[inline]
    pub(super) fn is_upkeep(&self, event: FabricEvent) -> bool {
        self.cluster.fabric.is_upkeep(event)
    }

    /// Subject of an event of the fabric.
    pub(super) fn about(&self, event: FabricEvent) -> About {
        self.cluster.fabric.about(event)
    }

    pub(super) fn resource(&self, resource: ResourceId) -> Spender {
        Spender::resource(&self.cluster.fabric.resources()[resource.0 as usize])
    }

    pub(super) fn resources(&self) -> impl Iterator<Item = Spender> {
        self.cluster.fabric.resources().iter().map(Spender::resource)
    }

    /// The fabric keeps the ways of what it delivers from now on.
    pub(super) fn keep_ways(&mut self) {
        self.cluster.fabric.watch();
    }

    pub(super) fn flight(&self, flight: u32) -> &Flight {
        self.flights.peek(flight)
    }

    /// Label of a flight, a word or two.
    pub(super) fn label_of(&self, kind: &FlightKind) -> String {
        let name_of = |content: u32| (self.name_of)(&self.contents.peek(content).packet);
        let word = match kind {
            FlightKind::Packet { content, .. } => return name_of(*content),
            FlightKind::Write { immediate: Some(content), .. } => {
                return format!("write, {}", name_of(*content));
            }
            FlightKind::Write { immediate: None, .. } => "write",
            FlightKind::ReadRequest { .. } => "read request",
            FlightKind::AtomicRequest { .. } => "atomic",
            FlightKind::ReadAnswer { .. } => "data",
            FlightKind::SendDone => "done",
        };
        word.to_owned()
    }

    /// The process that sends by a channel.
    pub(super) fn sender_of(&self, channel: u32) -> Process {
        self.channels.of(channel).sender()
    }

    /// The process that receives by a channel.
    pub(super) fn receiver_of(&self, channel: u32) -> Process {
        self.channels.of(channel).to().peer
    }

    /// The process that polls the completion of a flight.
    pub(super) fn completed_at(&self, flight: u32) -> Process {
        let flight = self.flights.peek(flight);
        let answer = matches!(flight.kind, FlightKind::ReadAnswer { .. });
        if answer { flight.to.peer } else { flight.from }
    }

    /// Drops a flight: one of its processes has died.
    pub(super) fn lose(&mut self, flight: u32) {
        self.flights.remove(flight);
    }

    /// Stops retransmission for a process that died; what it sent stays on the wire.
    pub(super) fn silence(&mut self, process: Process) {
        if let Some(reliable) = &mut self.reliable {
            reliable.silence(process);
        }
    }

    /// How long reliable connections try, at the longest.
    pub(super) fn longest_try(&self) -> Option<TimeDelta> {
        self.reliable.as_ref().map(|reliable| reliable.transport().longest())
    }

    /// Receive buffers for one process's messages are gone.
    pub(super) fn lose_credits(&mut self, pair: (Process, Process), credits: u32) {
        self.channels.lose_credits(pair, credits);
    }

    /// A resource is now another one than it was built.
    pub(super) fn alter(&mut self, resource: ResourceId, altered: Alteration, cx: &mut Context) {
        let now = cx.now();
        self.cluster.fabric.alter(now, resource, altered, &mut cx.clock.of_devices());
    }

    /// A resource begins nothing until then.
    pub(super) fn hold(&mut self, resource: ResourceId, until: Time, cx: &mut Context) {
        let now = cx.now();
        self.cluster.fabric.hold(now, resource, until, &mut cx.clock.of_devices());
    }

    /// The core of `thread` moves bytes beyond its caches; answers whether memory carries them.
    pub(super) fn copy(
        &mut self,
        thread: u32,
        copy: CoreCopy,
        bytes: u64,
        cx: &mut Context,
    ) -> bool {
        let Some(path) = self.cluster.copy_path(copy) else { return false };
        let transfer = Transfer { conn: ConnId(thread), path, bytes, token: token(COPY, thread) };
        let now = cx.now();
        self.cluster.fabric.start(now, transfer, &mut cx.clock.of_devices());
        true
    }

    /// Reads a word of what a process will need: see `Timed::prefetch`.
    pub(super) fn prefetch(&self, process: Process, arrives: Option<(u32, u32)>) -> u64 {
        let parcel = |content: &Content<K>| content.parcel.as_ref().map_or(0, Parcel::len);
        let content = arrives.map_or(0, |(content, _)| self.contents.prefetch(content, parcel));
        content ^ self.channels.prefetch(process.0 as usize, arrives.map(|(_, channel)| channel))
    }
}

impl<K> Network<K> {
    /// The channel between two lanes, opened at first use.
    #[inline]
    fn channel(&mut self, from: Process, to: Route, cx: &Context) -> u32 {
        self.channels.between(from, to, cx.costs.profile.hca.eager_credits)
    }

    /// The channel by which a process receives from a peer.
    pub(super) fn channel_from(&mut self, process: Process, peer: Route, cx: &Context) -> u32 {
        self.channel(peer.peer, peer.back(process), cx)
    }

    /// A message enters the queue of shared memory that its receiver polls: the bytes that it takes
    /// there; `None` where its payload lies elsewhere.
    pub(super) fn enter_queue(
        &mut self,
        (from, to): (Process, Route),
        via: Via,
        bytes: u64,
        cx: &Context,
    ) -> Option<u32> {
        if via != Via::SharedMemory || cx.costs.profile.mpi.shm_inline.is_none() {
            return Some(0);
        }
        let slots = cx.costs.slots(bytes)?;
        let Some(room) = cx.costs.profile.mpi.shm_queue else { return Some(0) };
        let channel = self.channel(from, to, cx);
        self.channels.of_mut(channel).enter_queue(slots, room.as_u64()).then_some(slots)
    }

    /// The receiver takes a message out of a queue: core time of the first line of a payload that lies
    /// elsewhere.
    pub(super) fn leave_queue(
        &mut self,
        channel: u32,
        slots: Option<u32>,
        cx: &Context,
    ) -> TimeDelta {
        let channel = self.channels.of_mut(channel);
        let Some(slots) = slots else {
            let (from, to) = (channel.sender(), channel.to().peer);
            return cx.costs.line_transfer(cx.layout.home(from), cx.layout.home(to));
        };
        channel.leave_queue(slots);
        TimeDelta::ZERO
    }

    /// The receiver gives a receive buffer of a channel back at `at`.
    #[inline]
    pub(super) fn credit(&mut self, channel: u32, at: Time, now: Time) {
        self.channels.of_mut(channel).post_again(at, now);
    }

    /// Keeps the contents of a packet until a poll takes them; `make` makes them in their place.
    #[inline]
    pub(super) fn keep(&mut self, make: impl FnOnce() -> Content<K>) -> u32 {
        self.contents.insert(make)
    }

    /// A poll takes it.
    #[inline]
    pub(super) fn take(&mut self, content: u32) -> Content<K> {
        self.contents.remove(content)
    }

    /// A flight of `from` begins: its number. `kind` makes it in its place.
    #[inline]
    pub(super) fn launch(
        &mut self,
        (from, to): (Process, Route),
        kind: impl FnOnce() -> FlightKind,
        bytes: u64,
        cx: &Context,
    ) -> u32 {
        let channel = self.channel(from, to, cx);
        self.flights.insert(|| Flight {
            kind: kind(),
            from,
            to,
            channel,
            bytes,
            signalled: false,
            held: None,
        })
    }

    /// The observers keep a flight that leaves at `left`, where messages are kept.
    pub(super) fn trace_message(&self, id: u32, left: Time, cx: &mut Context) {
        cx.observers.trace(|path| {
            path.sends(id, || {
                let Flight { kind, from, to, bytes, .. } = self.flights.peek(id);
                let dma = matches!(kind, FlightKind::Write { .. } | FlightKind::ReadAnswer { .. });
                let label = self.label_of(kind);
                Message { from: *from, to: to.peer, label, bytes: *bytes, left, came: left, dma }
            });
        });
    }

    /// The observers note what a flight did since its last moment; `arrives`: it is delivered now.
    pub(super) fn trace_leg(&self, id: u32, spent: Spent, arrives: bool, cx: &mut Context) {
        let (now, thread) = (cx.now(), cx.layout.first_of(self.flights.peek(id).from));
        cx.observers.trace(|path| {
            path.flight_until(id, thread, spent, now);
            if arrives {
                path.delivers(id);
            }
        });
    }

    /// The connection of a channel's packets and writes; the answers to its side's reads travel on the
    /// next number.
    #[inline]
    const fn connection(&self, channel: u32) -> ConnId {
        ConnId(self.first_connection + 2 * channel)
    }

    fn path(&mut self, channel: u32, posting: Posting, cx: &Context) -> PathId {
        let open = self.channels.of(channel);
        if let Some(path) = open.path(posting) {
            return path;
        }
        let (from, to) = (cx.layout.home(open.sender()), cx.layout.home(open.to().peer));
        let path = self.cluster.path(from, to, posting);
        self.channels.of_mut(channel).keep_path(posting, path);
        path
    }

    /// A packet leaves a core, or an HCA: how many have.
    #[inline]
    pub(super) const fn count_departure(&mut self) -> u64 {
        self.packets += 1;
        self.packets
    }

    /// A flight leaves its core: over shared memory, or through the HCA.
    pub(super) fn depart(&mut self, id: u32, cx: &mut Context) {
        let flight = self.flights.get(id);
        let (from, to, channel, bytes) = (flight.from, flight.to, flight.channel, flight.bytes);
        let posting = match &flight.kind {
            FlightKind::Packet { via: Via::SharedMemory, content } => {
                let lies_apart = self.contents.get(*content).slots.is_none();
                let (from_home, to_home) = (cx.layout.home(from), cx.layout.home(to.peer));
                let delay = cx.costs.cell_transfer(from_home, to_home, bytes, lies_apart);
                let at = self.channels.of_mut(channel).seen_in_order(cx.now() + delay);
                cx.schedule_of(at, from, Phase::Neighbour, Event::Neighbour(id));
                return;
            }
            FlightKind::Packet { via: Via::Hca, .. } => posting_of(bytes, cx),
            FlightKind::Write { .. } => Posting::Bulk,
            FlightKind::ReadRequest { .. } | FlightKind::AtomicRequest { .. } => {
                return self.ask_peer(id, channel, Posting::ReadRequest, bytes, cx);
            }
            FlightKind::ReadAnswer { .. } | FlightKind::SendDone => {
                unreachable!("answers and completions leave no core")
            }
        };
        self.hand_to_hca(id, channel, posting, bytes, cx);
    }

    /// A flight leaves the HCA of a process, which has made it by itself.
    pub(super) fn depart_by_itself(&mut self, id: u32, cx: &mut Context) {
        let Flight { kind, channel, bytes, .. } = self.flights.get(id);
        let (reads, channel, bytes) =
            (matches!(kind, FlightKind::ReadRequest { .. }), *channel, *bytes);
        if reads {
            self.ask_peer(id, channel, Posting::OwnRead, bytes, cx);
        } else {
            self.hand_to_hca(id, channel, Posting::Own, bytes, cx);
        }
    }

    /// A read or an atomic begins, or waits until one of the queue pair has ended.
    fn ask_peer(&mut self, id: u32, channel: u32, posting: Posting, bytes: u64, cx: &mut Context) {
        let limit = cx.costs.profile.hca.max_outstanding_reads_per_qp;
        if self.channels.of_mut(channel).begin_read(id, limit) {
            self.hand_to_hca(id, channel, posting, bytes, cx);
        } else {
            self.flights.get(id).held = Some(posting);
        }
    }

    /// The queue pair begins the WQE as soon as window and rate allow.
    fn hand_to_hca(
        &mut self,
        id: u32,
        channel: u32,
        posting: Posting,
        bytes: u64,
        cx: &mut Context,
    ) {
        if let Some(paced) = &mut self.paced
            && !paced.admit(channel, id, bytes)
        {
            self.flights.get(id).held = Some(posting);
            return;
        }
        self.begin(id, channel, posting, bytes, cx);
    }

    /// The queue pair begins the WQE as soon as its rate allows.
    fn begin(&mut self, id: u32, channel: u32, posting: Posting, bytes: u64, cx: &mut Context) {
        let now = cx.now();
        let (mut period, signal_every) = (cx.costs.wqe_period, cx.costs.profile.hca.signal_every);
        if let Some(paced) = &mut self.paced {
            period = period.max(paced.spacing(channel, bytes));
        }
        let flight = self.flights.get(id);
        let rdma = !matches!(flight.kind, FlightKind::Packet { .. });
        let own = posting == Posting::Own;
        let open = self.channels.of_mut(channel);
        let (begin, signalled) = open.begin_wqe(now, period, rdma, own, signal_every);
        flight.signalled = signalled;
        if begin > now {
            flight.held = Some(posting);
            let from = flight.from;
            cx.schedule_of(begin, from, Phase::Post, Event::QueuePairFree(id));
            return;
        }
        self.start(id, channel, posting, bytes, cx);
    }

    /// The fabric has a flight: it may have waited until others of its queue pair had ended.
    fn start(&mut self, id: u32, channel: u32, posting: Posting, bytes: u64, cx: &mut Context) {
        if cx.observers.traces() {
            self.trace_leg(id, Spent::Pace, false, cx);
        }
        if let Some(paced) = &mut self.paced {
            paced.sent(channel, cx.now(), bytes);
        }
        let (conn, path) = (self.connection(channel), self.path(channel, posting, cx));
        self.send(id, conn, path, bytes, cx);
    }

    fn send(&mut self, id: u32, conn: ConnId, path: PathId, bytes: u64, cx: &mut Context) {
        if let Some(reliable) = &mut self.reliable {
            let Flight { from, to, .. } = *self.flights.get(id);
            let message = (from, to.peer, bytes);
            if reliable.send(id, message, (conn, path), &mut self.cluster, cx) {
                return;
            }
        }
        if cx.prefetches {
            std::hint::black_box(self.cluster.fabric.touch(conn, path));
        }
        let transfer = Transfer { conn, path, bytes, token: token(TRANSFER, id) };
        let now = cx.now();
        self.cluster.fabric.start(now, transfer, &mut cx.clock.of_devices());
    }

    /// The queue pair's rate lets a WQE begin that came too early.
    pub(super) fn let_go(&mut self, id: u32, cx: &mut Context) {
        let flight = self.flights.get(id);
        let (channel, bytes) = (flight.channel, flight.bytes);
        let posting = flight.held.take().expect("only a WQE that was held is let go");
        self.start(id, channel, posting, bytes, cx);
    }

    /// An acknowledgement is at the adapter of a queue pair with a pace: messages that waited for the
    /// window begin.
    pub(super) fn acknowledged(&mut self, channel: u32, cx: &mut Context) {
        let now = cx.now();
        let next = |network: &mut Self| network.paced.as_mut()?.next(channel);
        if let Some(paced) = &mut self.paced {
            paced.acknowledged(channel, now);
        }
        while let Some(id) = next(self) {
            let flight = self.flights.get(id);
            let bytes = flight.bytes;
            let posting = flight.held.take().expect("it was kept with the message that waits");
            self.begin(id, channel, posting, bytes, cx);
        }
    }

    /// The fabric's own event: what it delivers is handed out for the caller to take, with
    /// [`Self::give_back`] for the room.
    #[inline]
    pub(super) fn advance(&mut self, event: FabricEvent, cx: &mut Context) -> Vec<Delivery> {
        let now = cx.now();
        let calendar = &mut cx.clock.of_devices();
        self.cluster.fabric.handle(now, event, calendar, &mut self.delivered);
        if self.delivered.is_empty() {
            return Vec::new();
        }
        if cx.observers.traces() {
            self.trace_ways(cx);
        }
        std::mem::take(&mut self.delivered)
    }

    /// The room of what was delivered, for the next time.
    pub(super) fn give_back(&mut self, delivered: Vec<Delivery>) {
        self.delivered = delivered;
    }

    /// The ways of what the fabric has delivered: flights, and copies of threads.
    #[cold]
    fn trace_ways(&self, cx: &mut Context) {
        for (delivery, way) in self.delivered.iter().zip(self.cluster.fabric.journeys()) {
            if is_gpu_token(delivery.token) {
                continue;
            }
            match token_of(delivery.token) {
                // A packet has no way of its own: see `Spent::Lossy`.
                (RELIABLE, _) => {}
                (COPY, thread) => cx.observers.trace(|path| path.copied(thread, &way)),
                (_, id) => cx.observers.trace(|path| path.carried(id, &way)),
            }
        }
    }

    /// Completes a flight that has arrived: at its sender, when it is acknowledged.
    pub(super) fn complete(&mut self, id: u32, cx: &mut Context) {
        let Flight { from, to, channel, .. } = *self.flights.get(id);
        let conn = self.connection(channel);
        if let Some(reliable) = &mut self.reliable
            && reliable.waits_for_ack(conn, id)
        {
            return;
        }
        let delay = self.cluster.acknowledgement(cx.layout.home(from), cx.layout.home(to.peer));
        complete_after(delay, from, id, cx);
    }

    /// The sender's HCA waits before it sends again what found no receive buffer.
    fn back_off(&mut self, channel: u32, cx: &mut Context) {
        self.rnr += 1;
        let open = self.channels.of_mut(channel);
        let (from, to) = (open.sender(), open.to().peer);
        let hca = &cx.costs.profile.hca;
        let at = cx.now() + hca.rnr_back_off;
        if self.faulty && open.is_never_ready(hca.eager_credits, RNR_RETRIES) {
            return cx.end(Ending::Fault(Failure::NotReadyExceeded { from, to, at }));
        }
        cx.schedule_of(at, from, Phase::NotReady, Event::Retry(channel));
    }
}

fn complete_after(delay: TimeDelta, of: Process, id: u32, cx: &mut Context) {
    let at = cx.now() + delay;
    cx.schedule_of(at, of, Phase::Completion, Event::Completed(id));
}

/// How a message of so many bytes is posted.
fn posting_of(bytes: u64, cx: &Context) -> Posting {
    let hca = &cx.costs.profile.hca;
    if bytes <= hca.blueflame_inline.as_u64() {
        Posting::BlueFlame
    } else if bytes <= hca.inline_limit.as_u64() {
        Posting::Inline
    } else if bytes <= hca.mtu.as_u64() {
        Posting::Fetch
    } else {
        Posting::Bulk
    }
}
