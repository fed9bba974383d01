//! From a core into the HCA, over the wires, into a peer's memory: packets, RDMA, completions.
//!
//! Left out: a packet that found no receive buffer does not cross the wires again, its completion is
//! told as if it had been taken, and RDMA behind it is not held up. Noticeable in runs with many
//! receiver-not-ready pauses. A send queue has no end. Receive buffers are counted for each pair,
//! with a shared receive queue as well: noticeable as fewer pauses than there.

use crate::timed::network::flight::RELIABLE;
use crate::timed::network::flight::TRANSFER;
use crate::timed::network::flight::token;
use crate::timed::network::flight::token_of;
use std::collections::VecDeque;

use crate::faults::Failure;
use crate::memory::Parcel;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::context::FabricSchedule;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use crate::timed::gpus::Devices;
use crate::timed::network::flight::Arrived;
use crate::timed::network::flight::Flight;
use crate::timed::network::flight::FlightKind;
use crate::untimed::Choice;
use hardware::cluster::Posting;
use hardware::core::Place;
use hardware::fabric::{ConnId, FabricEvent, PathId, Transfer};
use hardware::gpu::is_gpu_token;
use protocols::contract::Machine;
use protocols::contract::Program;
use protocols::contract::{Lane, Process, Region, Route, Thread, Token, Via};
use units::{Time, TimeDelta};

/// Open channels by sending lane, each with its receiving lane and number, in the order of receivers:
/// jobs in which everybody knows everybody are rare.
#[derive(Debug)]
pub(in crate::timed) struct ChannelTable {
    lanes: u32,
    open: Vec<Vec<(u32, u32)>>,
    /// What was asked for last, by sender: it is often asked for again.
    last: Vec<(u32, u32)>,
}

impl ChannelTable {
    pub(in crate::timed) fn new(processes: usize, lanes: u16) -> Self {
        let all = processes * usize::from(lanes);
        let (open, last) = (vec![Vec::new(); all], vec![(u32::MAX, 0); all]);
        Self { lanes: u32::from(lanes), open, last }
    }

    /// The numbers, in the job, of the two lanes of a route.
    #[inline]
    fn ends(&self, from: Process, to: Route) -> (usize, u32) {
        let own = from.0 * self.lanes + u32::from(to.own.0);
        (own as usize, to.peer.0 * self.lanes + u32::from(to.remote.0))
    }

    #[inline]
    fn get(&mut self, from: Process, to: Route) -> Option<u32> {
        let (from, to) = self.ends(from, to);
        let (last, channel) = self.last[from];
        if last == to { Some(channel) } else { self.search(from, to) }
    }

    /// Reads what a look-up of a sender will read: see `touch.rs`.
    pub(in crate::timed) fn touch(&self, from: usize) -> u64 {
        let open = &self.open[from];
        let middle = open.get(open.len() / 2).map_or(0, |&(_, channel)| channel);
        u64::from(self.last[from].1 ^ middle)
    }

    fn search(&mut self, from: usize, to: u32) -> Option<u32> {
        let open = &self.open[from];
        let place = open.binary_search_by_key(&to, |(to, _)| *to).ok()?;
        self.last[from] = open[place];
        Some(open[place].1)
    }

    fn set(&mut self, from: Process, to: Route, channel: u32) {
        let (from, to) = self.ends(from, to);
        let open = &mut self.open[from];
        let place = open.partition_point(|(other, _)| *other < to);
        open.insert(place, (to, channel));
    }
}

/// One direction between two lanes: a queue pair.
#[derive(Debug)]
pub(in crate::timed) struct Channel {
    from: Process,
    to: Route,
    /// The path of one way of posting.
    path: Option<(Posting, PathId)>,
    /// Receive buffers that the receiver has posted.
    credits: u32,
    /// When the next one is posted; those after it are in `rare`.
    repost: Option<Time>,
    /// Sends since the last one that asked for a completion.
    unsignalled: u32,
    /// When the queue pair can begin another WQE.
    free_at: Time,
    /// RDMA reads under way.
    reads: u32,
    /// Bytes of messages in its queue of shared memory, and when the last one is seen.
    queued: u32,
    seen: Time,
    /// What most channels never have: a large job has many channels.
    rare: Option<Box<Rare>>,
}

#[derive(Debug, Default)]
struct Rare {
    /// The paths of other ways of posting.
    paths: [Option<PathId>; 9],
    /// When receive buffers after the next one are posted, earliest first.
    reposts: VecDeque<Time>,
    /// Arrivals that found no receive buffer, in order.
    not_ready: VecDeque<Arrived>,
    /// RDMA reads that wait for one to end.
    reads_waiting: VecDeque<u32>,
    /// Receive buffers that a fault took: in all, and of those that are to be posted again.
    lost: u32,
    owed: u32,
    /// Pauses since all receive buffers are gone.
    pauses: u32,
}

impl Channel {
    /// Reads it: see `touch.rs`.
    pub(in crate::timed) fn touch(&self) -> u64 {
        u64::from(self.credits)
    }

    /// Who receives by it.
    pub(in crate::timed) const fn receiver(&self) -> Process {
        self.to.peer
    }

    /// Takes a receive buffer, if one is posted by `now`.
    fn take_credit(&mut self, now: Time) -> bool {
        self.count_reposts(now);
        let ready = self.credits > 0;
        self.credits -= u32::from(ready);
        ready
    }

    /// Receive buffers that are posted by `now` can be taken.
    fn count_reposts(&mut self, now: Time) {
        while self.repost.is_some_and(|at| at <= now) {
            self.repost = self.rare.as_mut().and_then(|rare| rare.reposts.pop_front());
            self.credits += u32::from(!self.pays_debt());
        }
    }

    /// Whether a buffer that would be posted again is one that a fault took.
    fn pays_debt(&mut self) -> bool {
        let Some(rare) = self.rare.as_mut().filter(|rare| rare.owed > 0) else { return false };
        rare.owed -= 1;
        true
    }

    /// A fault takes so many receive buffers.
    fn lose(&mut self, buffers: u32) {
        let posted = buffers.min(self.credits);
        self.credits -= posted;
        let rare = self.rare();
        rare.lost += buffers;
        rare.owed += buffers - posted;
    }

    /// A receive buffer is posted at `at`.
    fn post_again(&mut self, at: Time, now: Time) {
        self.count_reposts(now);
        if self.repost.is_none() {
            self.repost = Some(at);
        } else {
            self.rare().reposts.push_back(at);
        }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Whether arrivals wait for receive buffers.
    fn has_not_ready(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.not_ready.is_empty())
    }

    fn path(&self, posting: Posting) -> Option<PathId> {
        match self.path {
            Some((known, path)) if known == posting => Some(path),
            _ => self.rare.as_ref()?.paths[posting as usize],
        }
    }

    fn keep_path(&mut self, posting: Posting, path: PathId) {
        if self.path.is_none() {
            self.path = Some((posting, path));
        } else {
            self.rare().paths[posting as usize] = Some(path);
        }
    }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Where a process's HCA buffers lie: the place of its first thread.
    pub(in crate::timed) fn home(&self, process: Process) -> Place {
        self.cores.actors[self.cx.layout.first_thread[process.0 as usize] as usize].placement.place
    }

    /// A message enters the queue of shared memory that its receiver polls: the bytes that it takes
    /// there; `None` where its payload lies elsewhere.
    pub(in crate::timed) fn enter_queue(
        &mut self,
        from: Process,
        to: Route,
        via: Via,
        bytes: u64,
    ) -> Option<u32> {
        if via != Via::SharedMemory || self.cx.costs.profile.mpi.shm_inline.is_none() {
            return Some(0);
        }
        let slots = self.cx.costs.slots(bytes)?;
        let Some(room) = self.cx.costs.profile.mpi.shm_queue else { return Some(0) };
        let channel = self.channel(from, to);
        let queued = &mut self.network.channels[channel as usize].queued;
        let fits = u64::from(*queued + slots) <= room.as_u64();
        fits.then(|| {
            *queued += slots;
            slots
        })
    }

    /// Its receiver takes it: core time of the first line of a payload that lies elsewhere.
    pub(in crate::timed) fn leave_queue(&mut self, channel: u32, slots: Option<u32>) -> TimeDelta {
        let channel = &mut self.network.channels[channel as usize];
        let Some(slots) = slots else {
            let (from, to) = (channel.from, channel.to.peer);
            return self.cx.costs.line_transfer(self.home(from), self.home(to));
        };
        channel.queued -= slots;
        TimeDelta::ZERO
    }

    /// The channel between two lanes, opened at first use.
    pub(in crate::timed) fn channel(&mut self, from: Process, to: Route) -> u32 {
        if let Some(channel) = self.network.channel_of.get(from, to) {
            return channel;
        }
        let index =
            u32::try_from(self.network.channels.len()).expect("channels are counted in u32");
        self.network.channels.push(Channel {
            from,
            to,
            path: None,
            credits: self.cx.costs.profile.hca.eager_credits,
            repost: None,
            unsignalled: 0,
            free_at: Time::ZERO,
            reads: 0,
            queued: 0,
            seen: Time::ZERO,
            rare: None,
        });
        self.network.channel_of.set(from, to, index);
        let lost = self.faults.as_ref().map_or(0, |faults| faults.credits_lost(from, to.peer));
        if lost > 0 {
            self.network.channels[index as usize].lose(lost);
        }
        index
    }

    /// Receive buffers for one process's messages are gone, on all open channels.
    pub(in crate::timed) fn drop_credits(&mut self, (from, to): (Process, Process), credits: u32) {
        let all = self.network.channels.iter_mut();
        for channel in all.filter(|channel| channel.from == from && channel.to.peer == to) {
            channel.lose(credits);
        }
    }

    /// Who receives by a channel.
    pub(in crate::timed) fn receiver_of(&self, channel: u32) -> Process {
        self.network.channels[channel as usize].to.peer
    }

    /// Who is told of the completion of a flight.
    pub(in crate::timed) fn told_by(&mut self, id: u32) -> Process {
        let flight = self.network.flights.get(id);
        let answer = matches!(flight.kind, FlightKind::ReadAnswer { .. });
        if answer { flight.to.peer } else { flight.from }
    }

    /// The connection of a channel's packets and writes; the answers to its side's reads travel on the
    /// next number. Connections of cores come first, then those of GPUs, then two for each channel.
    pub(in crate::timed) fn connection(&self, channel: u32) -> ConnId {
        let cores = u32::try_from(self.cores.actors.len()).expect("fewer than 2^32 threads");
        let gpus = self.gpus.as_ref().map_or(0, Devices::connections);
        ConnId(cores + gpus + 2 * channel)
    }

    pub(in crate::timed) fn path(&mut self, channel: u32, posting: Posting) -> PathId {
        let open = &self.network.channels[channel as usize];
        if let Some(path) = open.path(posting) {
            return path;
        }
        let (from, to) = (self.home(open.from), self.home(open.to.peer));
        let path = self.network.cluster.path(from, to, posting);
        self.network.channels[channel as usize].keep_path(posting, path);
        path
    }

    /// A flight leaves its core: over shared memory, or through the HCA.
    pub(in crate::timed) fn depart(&mut self, id: u32) {
        let now = self.cx.clock.simulation.now();
        self.network.packets += 1;
        if self.faults.is_some() {
            self.count_departure();
        }
        let flight = self.network.flights.get(id);
        let (from, to, channel, bytes) = (flight.from, flight.to, flight.channel, flight.bytes);
        let posting = match &flight.kind {
            FlightKind::Packet { via: Via::SharedMemory, content } => {
                let lies_apart = self.network.contents.get(*content).slots.is_none();
                let (from_home, to_home) = (self.home(from), self.home(to.peer));
                let delay = self.cx.costs.cell_transfer(from_home, to_home, bytes, lies_apart);
                let thread = self.thread_of(from, Thread(0));
                // A queue is read in order: nothing is seen before what lies in front of it.
                let seen = &mut self.network.channels[channel as usize].seen;
                *seen = (*seen).max(now + delay);
                let at = *seen;
                self.schedule(at, thread, Phase::Neighbour, Happening::Neighbour(id));
                return;
            }
            FlightKind::Packet { via: Via::Hca, .. } => self.posting(bytes),
            FlightKind::Write { .. } => Posting::Bulk,
            FlightKind::ReadRequest { .. } | FlightKind::AtomicRequest { .. } => {
                return self.ask_peer(id, channel, Posting::ReadRequest, bytes);
            }
            FlightKind::ReadAnswer { .. } | FlightKind::SendDone => {
                unreachable!("answers and completions leave no core")
            }
        };
        self.hand_to_hca(id, channel, posting, bytes);
    }

    /// A flight leaves the HCA of a process, which has made it by itself.
    pub(in crate::timed) fn depart_by_itself(&mut self, id: u32) {
        self.network.packets += 1;
        if self.faults.is_some() {
            self.count_departure();
        }
        let Flight { kind, channel, bytes, .. } = self.network.flights.get(id);
        let (reads, channel, bytes) =
            (matches!(kind, FlightKind::ReadRequest { .. }), *channel, *bytes);
        if reads {
            self.ask_peer(id, channel, Posting::OwnRead, bytes);
        } else {
            self.hand_to_hca(id, channel, Posting::Own, bytes);
        }
    }

    /// A read or an atomic begins, or waits until one of the queue pair has ended.
    pub(in crate::timed) fn ask_peer(
        &mut self,
        id: u32,
        channel: u32,
        posting: Posting,
        bytes: u64,
    ) {
        let limit = self.cx.costs.profile.hca.max_outstanding_reads_per_qp;
        let open = &mut self.network.channels[channel as usize];
        if open.reads == limit {
            open.rare().reads_waiting.push_back(id);
            self.network.flights.get(id).held = Some(posting);
            return;
        }
        open.reads += 1;
        self.hand_to_hca(id, channel, posting, bytes);
    }

    pub(in crate::timed) fn posting(&self, bytes: u64) -> Posting {
        let hca = &self.cx.costs.profile.hca;
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

    /// The queue pair begins the WQE as soon as its rate allows.
    pub(in crate::timed) fn hand_to_hca(
        &mut self,
        id: u32,
        channel: u32,
        posting: Posting,
        bytes: u64,
    ) {
        let now = self.cx.clock.simulation.now();
        let signal_every = self.cx.costs.profile.hca.signal_every;
        let flight = self.network.flights.get(id);
        // RDMA asks for a completion of its own, which tells of all sends before it as well.
        let rdma = !matches!(flight.kind, FlightKind::Packet { .. });
        let open = &mut self.network.channels[channel as usize];
        // Its own sends the HCA tells to nobody.
        open.unsignalled += u32::from(posting != Posting::Own);
        let signalled = !rdma && open.unsignalled == signal_every;
        if signalled || rdma {
            open.unsignalled = 0;
        }
        let begin = now.max(open.free_at);
        open.free_at = begin + self.cx.costs.wqe_period;
        flight.signalled = signalled;
        if begin > now {
            flight.held = Some(posting);
            let from = flight.from;
            let from = self.thread_of(from, Thread(0));
            self.schedule(begin, from, Phase::Post, Happening::Held(id));
            return;
        }
        self.start(id, channel, posting, bytes);
    }

    pub(in crate::timed) fn start(&mut self, id: u32, channel: u32, posting: Posting, bytes: u64) {
        self.note_start(id);
        let (conn, path) = (self.connection(channel), self.path(channel, posting));
        if self.faults.is_some() && self.send_reliably(id, conn, path) {
            return;
        }
        self.touch_path(conn, path);
        let transfer = Transfer { conn, path, bytes, token: token(TRANSFER, id) };
        let now = self.cx.clock.simulation.now();
        self.network.cluster.fabric.start(
            now,
            transfer,
            &mut FabricSchedule(&mut self.cx.clock.simulation),
        );
    }

    /// The queue pair's rate lets a WQE begin that came too early.
    pub(in crate::timed) fn held(&mut self, id: u32) {
        let flight = self.network.flights.get(id);
        let (channel, bytes) = (flight.channel, flight.bytes);
        let posting = flight.held.take().expect("only a WQE that was held is let go");
        self.start(id, channel, posting, bytes);
    }

    /// The fabric's own event, and what it delivers.
    pub(in crate::timed) fn fabric_event(&mut self, event: FabricEvent) {
        let now = self.cx.clock.simulation.now();
        let schedule = &mut FabricSchedule(&mut self.cx.clock.simulation);
        self.network.cluster.fabric.handle(now, event, schedule, &mut self.network.delivered);
        if self.network.delivered.is_empty() {
            return;
        }
        self.note_ways();
        let mut delivered = std::mem::take(&mut self.network.delivered);
        for delivery in delivered.drain(..) {
            if is_gpu_token(delivery.token) {
                self.gpu_delivered(delivery.token);
                continue;
            }
            let (kind, id) = token_of(delivery.token);
            match kind {
                TRANSFER => {
                    self.note(|trail| trail.delivers(id));
                    self.arrive(id);
                }
                RELIABLE => self.packet_crossed(id),
                _ => self.copied(id),
            }
        }
        self.network.delivered = delivered;
    }

    /// A flight has reached the memory, or the HCA, of its receiver.
    pub(in crate::timed) fn arrive(&mut self, id: u32) {
        if self.faults.is_some() && self.is_lost_at(id) {
            return;
        }
        let flight = self.network.flights.get(id);
        let (from, to, channel, signalled) =
            (flight.from, flight.to, flight.channel, flight.signalled);
        if signalled {
            flight.signalled = false;
            let done = self.network.flights.insert(|| Flight::send_done(from, to, channel));
            self.note(|trail| trail.answers(done));
            self.complete(from, to, channel, done);
        }
        let flight = self.network.flights.get(id);
        match &mut flight.kind {
            FlightKind::Packet { .. } => self.packet_arrives(id),
            FlightKind::Write { from: source, into, token, immediate } => {
                // The content is handed over here: what completes later is a write alone.
                let (source, into, token, immediate) = (*source, *into, *token, immediate.take());
                self.check_access(to.peer, into);
                self.record(|| Choice::Move { process: from, token });
                self.cx.observers.buffers.reads(from, source, &mut self.cx.observers.violations);
                self.cx.observers.buffers.writes(to.peer, into, &mut self.cx.observers.violations);
                let parcel = self.memory.bytes.capture(from, source);
                self.memory.bytes.write(to.peer, into, &parcel);
                self.stored();
                if let Some(content) = immediate {
                    self.needs_a_buffer(from, to, channel, content);
                }
                self.complete(from, to, channel, id);
            }
            FlightKind::ReadRequest { .. } => self.answer_read(id),
            FlightKind::AtomicRequest { .. } => self.begin_atomic(id),
            FlightKind::ReadAnswer { into, parcel, .. } => {
                let (into, parcel) = (*into, parcel.clone());
                let reader = to.peer;
                self.cx.observers.buffers.writes(reader, into, &mut self.cx.observers.violations);
                self.memory.bytes.write(reader, into, &parcel);
                self.stored();
                self.next_read(reader, to.back(from));
                self.flight_completed(id);
            }
            FlightKind::SendDone => unreachable!("a completion travels without the fabric"),
        }
    }

    /// An HCA touches memory for another process: it must be exposed.
    pub(in crate::timed) fn check_access(&mut self, owner: Process, region: Region) {
        if let Err(error) = self.libraries[owner.0 as usize].exposes(region) {
            self.fail(owner, error);
        }
    }

    pub(in crate::timed) fn acknowledgement(&self, from: Process, to: Route) -> TimeDelta {
        self.network.cluster.acknowledgement(self.home(from), self.home(to.peer))
    }

    /// What has arrived is completed at its sender when it is acknowledged.
    pub(in crate::timed) fn complete(&mut self, from: Process, to: Route, channel: u32, id: u32) {
        if self.faults.is_some() && self.waits_for_ack(self.connection(channel), id) {
            return;
        }
        let delay = self.acknowledgement(from, to);
        self.completion_after(delay, from, id);
    }

    pub(in crate::timed) fn completion_after(&mut self, delay: TimeDelta, of: Process, id: u32) {
        let at = self.cx.clock.simulation.now() + delay;
        let source = self.thread_of(of, Thread(0));
        self.schedule(at, source, Phase::Completion, Happening::Completed(id));
    }

    /// The peer's HCA reads what was asked for and sends it back; no core takes part.
    pub(in crate::timed) fn answer_read(&mut self, id: u32) {
        let request = self.network.flights.remove(id);
        let FlightKind::ReadRequest { remote, into, token: done } = request.kind else {
            unreachable!("only a read request is answered")
        };
        let (owner, back_to) = (request.to.peer, request.to.back(request.from));
        // The bytes are those of this moment; nobody looks at the reader's before it is told.
        let reader = request.from;
        self.check_access(owner, remote);
        self.record(|| Choice::Move { process: reader, token: done });
        self.cx.observers.buffers.reads(owner, remote, &mut self.cx.observers.violations);
        let parcel = self.memory.bytes.capture(owner, remote);
        self.answer(owner, back_to, parcel, (into, done), Posting::ReadAnswer);
    }

    /// The HCA's atomic unit takes its next request: it reads the element over the bus and writes it
    /// back, one request after the other.
    pub(in crate::timed) fn begin_atomic(&mut self, id: u32) {
        let now = self.cx.clock.simulation.now();
        let owner = self.network.flights.get(id).to.peer;
        let node = self.home(owner).node as usize;
        let begin = now.max(self.network.atomic_free[node]);
        let end = begin + self.cx.costs.profile.pcie.dma_read_round_trip;
        self.network.atomic_free[node] = end;
        let source = self.thread_of(owner, Thread(0));
        self.schedule(end, source, Phase::Atomic, Happening::Atomic(id));
    }

    /// The atomic unit has changed an element: the old one goes back.
    pub(in crate::timed) fn answer_atomic(&mut self, id: u32) {
        let request = self.network.flights.remove(id);
        let FlightKind::AtomicRequest { target, update, into, token, operand } = request.kind
        else {
            unreachable!("only an atomic request is answered by the atomic unit")
        };
        let (owner, back_to) = (request.to.peer, request.to.back(request.from));
        let asker = request.from;
        self.check_access(owner, target);
        self.record(|| Choice::Move { process: asker, token });
        self.cx.observers.buffers.writes(owner, target, &mut self.cx.observers.violations);
        self.cx.observers.monitors.updated(asker, owner, target);
        let old = self.memory.bytes.update_by(owner, target, update, &operand);
        self.answer(owner, back_to, old, (into, token), Posting::AtomicAnswer);
    }

    /// An HCA sends back what was asked for; no core takes part.
    pub(in crate::timed) fn answer(
        &mut self,
        owner: Process,
        back_to: Route,
        parcel: Parcel,
        (into, done): (Region, Token),
        posting: Posting,
    ) {
        let now = self.cx.clock.simulation.now();
        let back = self.channel(owner, back_to);
        let path = self.path(back, posting);
        let conn = ConnId(self.connection(back).0 + 1);
        let answer = self.network.flights.insert(|| Flight {
            kind: FlightKind::ReadAnswer { into, token: done, parcel },
            from: owner,
            to: back_to,
            channel: back,
            bytes: into.len,
            signalled: false,
            held: None,
        });
        self.note_answer(answer);
        if self.faults.is_some() && self.send_reliably(answer, conn, path) {
            return;
        }
        let transfer = Transfer { conn, path, bytes: into.len, token: token(TRANSFER, answer) };
        self.network.cluster.fabric.start(
            now,
            transfer,
            &mut FabricSchedule(&mut self.cx.clock.simulation),
        );
    }

    /// A read of `reader` from `owner` has ended: the next one may begin.
    pub(in crate::timed) fn next_read(&mut self, reader: Process, owner: Route) {
        let index = self.channel(reader, owner);
        let channel = &mut self.network.channels[index as usize];
        channel.reads -= 1;
        if let Some(id) = channel.rare.as_mut().and_then(|rare| rare.reads_waiting.pop_front()) {
            channel.reads += 1;
            let flight = self.network.flights.get(id);
            let posting = flight.held.take().expect("it was kept with the read that waits");
            let bytes = flight.bytes;
            self.hand_to_hca(id, index, posting, bytes);
        }
    }

    /// The completion of an RDMA operation, or of a signalled send, is in host memory.
    pub(in crate::timed) fn flight_completed(&mut self, id: u32) {
        let flight = self.network.flights.remove(id);
        match flight.kind {
            FlightKind::Write { token, .. } => {
                self.rdma_completed(flight.from, flight.to.own, token);
            }
            FlightKind::ReadAnswer { token, .. } => {
                self.rdma_completed(flight.to.peer, flight.to.remote, token);
            }
            FlightKind::SendDone => self.deliver(flight.from, flight.to.own, Arrived::SendDone),
            FlightKind::Packet { .. }
            | FlightKind::ReadRequest { .. }
            | FlightKind::AtomicRequest { .. } => {
                unreachable!("packets and requests are not completed")
            }
        }
    }

    pub(in crate::timed) fn rdma_completed(&mut self, process: Process, lane: Lane, token: Token) {
        self.record(|| Choice::Finish { process, token });
        self.deliver(process, lane, Arrived::Done(token));
    }

    /// Through the HCA a packet needs a receive buffer; without one the sender's HCA pauses and tries
    /// again.
    pub(in crate::timed) fn packet_arrives(&mut self, id: u32) {
        let &mut Flight { ref kind, from: sender, to, channel, .. } = self.network.flights.get(id);
        let &FlightKind::Packet { content, via } = kind else {
            unreachable!("only packets arrive so")
        };
        self.network.flights.forget(id);
        if via == Via::SharedMemory {
            let from = to.back(sender);
            return self.deliver(
                to.peer,
                to.remote,
                Arrived::Packet { from, channel, content, via },
            );
        }
        self.needs_a_buffer(sender, to, channel, content);
    }

    /// A packet, or the immediate data of a write, takes a receive buffer.
    pub(in crate::timed) fn needs_a_buffer(
        &mut self,
        sender: Process,
        to: Route,
        index: u32,
        content: u32,
    ) {
        let (from, via) = (to.back(sender), Via::Hca);
        let arrived = Arrived::Packet { from, channel: index, content, via };
        let now = self.cx.clock.simulation.now();
        let channel = &mut self.network.channels[index as usize];
        let waits = channel.has_not_ready();
        if !waits && channel.take_credit(now) {
            return self.deliver(to.peer, to.remote, arrived);
        }
        channel.rare().not_ready.push_back(arrived);
        self.note(|trail| trail.keeps_waiting(index));
        if !waits {
            self.network.rnr += 1;
            self.back_off(index);
        }
    }

    pub(in crate::timed) fn back_off(&mut self, channel: u32) {
        let from = self.network.channels[channel as usize].from;
        let at = self.cx.clock.simulation.now() + self.cx.costs.profile.hca.rnr_back_off;
        let source = self.thread_of(from, Thread(0));
        if self.faults.is_some() && self.is_never_ready(channel) {
            let to = self.receiver_of(channel);
            return self.fail_by_fault(Failure::NotReadyExceeded { from, to, at });
        }
        self.schedule(at, source, Phase::NotReady, Happening::Retry(channel));
    }

    /// Whether a channel that waits for a receive buffer has lost all of them, and has waited often
    /// enough.
    pub(in crate::timed) fn is_never_ready(&mut self, channel: u32) -> bool {
        let all = self.cx.costs.profile.hca.eager_credits;
        let Some(rare) = &mut self.network.channels[channel as usize].rare else { return false };
        rare.pauses += u32::from(rare.lost >= all);
        rare.pauses > RNR_RETRIES
    }

    /// The pause is over: as many packets as there are receive buffers arrive now.
    pub(in crate::timed) fn retry(&mut self, index: u32) {
        let now = self.cx.clock.simulation.now();
        let to = self.network.channels[index as usize].to;
        loop {
            let channel = &mut self.network.channels[index as usize];
            if !channel.has_not_ready() {
                return;
            }
            if !channel.take_credit(now) {
                break;
            }
            let arrived = channel.rare().not_ready.pop_front().expect("it is not empty");
            let thread =
                self.cx.layout.first_thread[self.network.channels[index as usize].from.0 as usize];
            self.note(|trail| trail.is_ready(index, thread, now));
            self.deliver(to.peer, to.remote, arrived);
        }
        self.network.rnr += 1;
        self.back_off(index);
    }

    /// The receiver gives a receive buffer of a channel back at `at`.
    pub(in crate::timed) fn credit(&mut self, channel: u32, at: Time) {
        let now = self.cx.clock.simulation.now();
        self.network.channels[channel as usize].post_again(at, now);
    }
}

/// Pauses for a receive buffer where there will never be one.
///
/// Source: `InfiniBand` Architecture Specification, volume 1, 9.7.5.2.8: 6 is the largest finite RNR
/// retry count, 7 means for ever.
const RNR_RETRIES: u32 = 6;
