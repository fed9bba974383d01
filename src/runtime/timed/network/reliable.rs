//! Queue pairs over links that lose packets: messages are cut into packets, each with its PSN.
//!
//! ```text
//!   WQE ─▶ Sender ─Transmit─▶ fabric ─▶ links of the fault plan: lost? twice? late? ─▶ Receiver
//!            ▲ ▲ timer                                                                  │ last packet
//!            │ └───────── ACK, NAK: the wires' latency, lost like packets ◀─────────────┤ of a message
//!            └ Acknowledged: the completion of what requested one                       ▼ arrives
//! ```
//!
//! Only queue pairs whose way, there or back, crosses such a link have this; all others hand a
//! message to the fabric as a whole (`docs/adr/0017-loss-below-the-library.md` says why that is the
//! same without loss).
//!
//! Left out: an ACK takes no bandwidth, each packet pays the doorbell and completion bytes of a
//! message of its own, and a packet is lost where it would have arrived, not on the way: it has used
//! all wires. A message of several packets crosses the fabric as a flow elsewhere, so that here it
//! arrives some nanoseconds earlier without a loss, and windows of such have up to 1 % more
//! bandwidth (docs/method/faults.md, "Loss"): a loss is compared with packets that are not lost, which a
//! loss of probability 0 gives. `tests/command/faults.rs` holds `run` to saying so.

use std::collections::{BTreeMap, VecDeque};

use super::flight::{RELIABLE, token};
use crate::faults::{Effect, Failure, Transport};
use crate::outcome::{Ending, Tally};
use crate::timed::context::Context;
use crate::timed::event::{Event, Phase};
use crate::timed::faults::Armed;
use crate::timed::slab::Slab;
use hardware::cluster::Cluster;
use hardware::fabric::{ConnId, PathId, Transfer};
use hardware::reliable::{Answer, Output, Receiver, Sender, Settings};
use hardware::topology::LinkId;
use protocols::contract::Process;
use units::{Time, TimeDelta};

/// All reliable connections of a run.
#[derive(Debug)]
pub(crate) struct Reliable {
    transport: Transport,
    /// By link: whether it may lose packets.
    unreliable: Vec<bool>,
    /// By number; `None` for those that cross no such link.
    connections: BTreeMap<u32, Option<Box<Connection>>>,
    packets: Slab<Packet>,
    answers: Slab<(u32, Answer)>,
    steps: Vec<Output>,
    /// Effects of faults, counted.
    tally: Tally,
}

/// A packet on the wire.
#[derive(Clone, Copy, Debug)]
struct Packet {
    connection: u32,
    number: u64,
}

/// One direction of a queue pair.
#[derive(Debug)]
struct Connection {
    from: Process,
    to: Process,
    sender: Sender,
    receiver: Receiver,
    there: Vec<LinkId>,
    back: Vec<LinkId>,
    /// How long an answer takes.
    latency: TimeDelta,
    /// Messages that are not acknowledged, oldest first.
    messages: VecDeque<Message>,
    /// Flights whose completion waits for the ACK of all before a packet.
    completions: VecDeque<(u64, u32)>,
    /// When the timer runs out, and whether an event will look at it.
    deadline: Option<Time>,
    ticking: bool,
    lost_on: Option<LinkId>,
    /// One of its ends died: no packet is sent again.
    silent: bool,
}

/// A message in packets `first` up to, and without, `end`.
#[derive(Clone, Copy, Debug)]
struct Message {
    first: u64,
    end: u64,
    flight: u32,
    path: PathId,
    bytes: u64,
}

/// Fate of a packet on the links of a way.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    lost: Option<LinkId>,
    twice: bool,
    late: Option<TimeDelta>,
}

impl Reliable {
    pub(super) const fn new(transport: Transport, unreliable: Vec<bool>) -> Self {
        Self {
            transport,
            unreliable,
            connections: BTreeMap::new(),
            packets: Slab::new(),
            answers: Slab::new(),
            steps: Vec::new(),
            tally: Tally { lost: 0, duplicated: 0, late: 0, sent_again: 0 },
        }
    }

    pub(super) const fn transport(&self) -> Transport {
        self.transport
    }

    pub(super) const fn tally(&self) -> Tally {
        self.tally
    }

    /// Stops retransmission to and from a process that died.
    pub(super) fn silence(&mut self, process: Process) {
        let all = self.connections.values_mut().flatten();
        for connection in all.filter(|one| one.from == process || one.to == process) {
            connection.silent = true;
            connection.deadline = None;
        }
    }

    fn connection(&mut self, number: u32) -> &mut Connection {
        let known = self.connections.get_mut(&number).and_then(Option::as_mut);
        known.expect("its packets are on the wire")
    }
}

impl Connection {
    /// The message of a packet that is not acknowledged.
    fn message_of(&self, number: u64) -> Message {
        let place = self.messages.partition_point(|message| message.end <= number);
        self.messages[place]
    }
}

/// Effect of the active faults on a packet that crosses `links` now.
fn fate(faults: &mut [Armed], links: &[LinkId]) -> Fate {
    let mut fate = Fate::default();
    for armed in faults.iter_mut().filter(|armed| armed.active) {
        let Some(&link) = links.iter().find(|link| armed.links.contains(link)) else { continue };
        if !armed.hits() {
            continue;
        }
        if let Effect::LinkDown { .. } | Effect::Loss { .. } = armed.fault.effect {
            fate.lost.get_or_insert(link);
        } else if let Effect::Reordering { late, .. } = armed.fault.effect {
            fate.late = fate.late.max(Some(late));
        } else {
            fate.twice = true;
        }
    }
    fate
}

/// Result of a packet's way over lossy links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossed {
    /// A second copy, which a link has made: it comes first.
    pub(crate) copy: Option<u32>,
    /// When the packet comes, if a link holds it back.
    pub(crate) late: Option<Time>,
}

/// Result of a packet at the receiving HCA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// The flight whose last packet it was.
    pub(crate) whole: Option<u32>,
    connection: u32,
    answer: Option<Answer>,
}

impl Reliable {
    /// Takes a message, if the connection crosses links that lose packets.
    pub(super) fn send(
        &mut self,
        flight: u32,
        (from, to, bytes): (Process, Process, u64),
        (conn, path): (ConnId, PathId),
        cluster: &mut Cluster,
        cx: &mut Context,
    ) -> bool {
        if !self.is_reliable((from, to), conn, cluster, cx) {
            return false;
        }
        let packets = bytes.div_ceil(cx.costs.profile.hca.mtu.as_u64()).max(1);
        let mut steps = std::mem::take(&mut self.steps);
        let connection = self.connection(conn.0);
        let first = connection.sender.posted();
        let end = first + packets;
        connection.messages.push_back(Message { first, end, flight, path, bytes });
        connection.sender.post(packets, &mut steps);
        // What is posted now was not sent before.
        self.take_steps(conn.0, steps, 0, cluster, cx);
        true
    }

    /// Whether a connection is such a one; it is made at its first message.
    fn is_reliable(
        &mut self,
        (from, to): (Process, Process),
        conn: ConnId,
        cluster: &mut Cluster,
        cx: &Context,
    ) -> bool {
        if let Some(known) = self.connections.get(&conn.0) {
            return known.is_some();
        }
        let (here, there) = (cx.layout.home(from), cx.layout.home(to));
        let way = cluster.route(here.node, there.node);
        let back = cluster.route(there.node, here.node);
        let lossy = way.iter().chain(&back).any(|link| self.unreliable[link.0 as usize]);
        let settings = Settings::new(self.transport.retries);
        let latency = cluster.reply_latency(here, there);
        let connection = lossy.then(|| {
            Box::new(Connection {
                from,
                to,
                sender: Sender::new(settings),
                receiver: Receiver::new(settings),
                there: way,
                back,
                latency,
                messages: VecDeque::new(),
                completions: VecDeque::new(),
                deadline: None,
                ticking: false,
                lost_on: None,
                silent: false,
            })
        });
        self.connections.insert(conn.0, connection);
        lossy
    }

    /// Does what the sender wants; packets before `sent` were on the wire before.
    fn take_steps(
        &mut self,
        number: u32,
        mut steps: Vec<Output>,
        sent: u64,
        cluster: &mut Cluster,
        cx: &mut Context,
    ) {
        for step in steps.drain(..) {
            match step {
                Output::Transmit(packet) => {
                    self.transmit(number, packet, packet < sent, cluster, cx);
                }
                Output::Arm => self.arm_timer(number, cx),
                Output::Disarm => self.connection(number).deadline = None,
                Output::Acknowledged(packets) => self.acknowledged(number, packets, cx),
                Output::Failed(packet) => self.give_up(number, packet, cluster, cx),
            }
        }
        self.steps = steps;
    }

    fn transmit(
        &mut self,
        number: u32,
        packet: u64,
        again: bool,
        cluster: &mut Cluster,
        cx: &mut Context,
    ) {
        let now = cx.now();
        let mtu = cx.costs.profile.hca.mtu.as_u64();
        let connection = self.connection(number);
        if connection.silent {
            return;
        }
        let Message { first, path, bytes, .. } = connection.message_of(packet);
        let bytes = (bytes - (packet - first) * mtu).min(mtu);
        let id = self.packets.insert(|| Packet { connection: number, number: packet });
        let transfer = Transfer { conn: ConnId(number), path, bytes, token: token(RELIABLE, id) };
        self.tally.sent_again += u64::from(again);
        cluster.fabric.start(now, transfer, &mut cx.clock.of_devices());
    }

    fn arm_timer(&mut self, number: u32, cx: &mut Context) {
        let at = cx.now() + self.transport.timeout;
        let connection = self.connection(number);
        if connection.silent {
            return;
        }
        connection.deadline = Some(at);
        if !std::mem::replace(&mut connection.ticking, true) {
            cx.clock.schedule_fault(at, Event::Timer(number));
        }
    }

    /// An event looks at the timer of a connection.
    pub(crate) fn timer(&mut self, number: u32, cluster: &mut Cluster, cx: &mut Context) {
        let mut steps = std::mem::take(&mut self.steps);
        let connection = self.connection(number);
        let sent = connection.sender.sent();
        match connection.deadline {
            None => connection.ticking = false,
            Some(later) if later > cx.now() => {
                cx.clock.schedule_fault(later, Event::Timer(number));
            }
            Some(_) => {
                connection.ticking = false;
                connection.deadline = None;
                connection.sender.time_out(&mut steps);
            }
        }
        self.take_steps(number, steps, sent, cluster, cx);
    }

    /// A packet is at the end of its way, unless a link of the fault plan, `armed`, has lost it.
    pub(crate) fn packet_crossed(
        &mut self,
        id: u32,
        armed: &mut [Armed],
        cx: &Context,
    ) -> Option<Crossed> {
        let packet = *self.packets.get(id);
        let connection = self.connection(packet.connection);
        let fate = fate(armed, &connection.there);
        if let Some(link) = fate.lost {
            connection.lost_on = Some(link);
            self.tally.lost += 1;
            self.packets.remove(id);
            return None;
        }
        self.tally.duplicated += u64::from(fate.twice);
        self.tally.late += u64::from(fate.late.is_some());
        let copy = fate.twice.then(|| self.packets.insert(|| packet));
        Some(Crossed { copy, late: fate.late.map(|late| cx.now() + late) })
    }

    /// A packet has come to the receiving HCA, late or not, unless that is the one of `dead`.
    pub(crate) fn packet_taken(&mut self, id: u32, dead: Option<Process>) -> Option<Taken> {
        let Packet { connection: number, number: packet } = self.packets.remove(id);
        let connection = self.connection(number);
        if dead == Some(connection.to) {
            return None;
        }
        let settings = Settings::new(0);
        let verdict = connection.receiver.receive(settings.psn(packet));
        // An old packet of a message that was acknowledged, or one that came too early, ends here.
        let whole = verdict.taken.then(|| connection.message_of(packet));
        let whole = whole.filter(|message| message.end == packet + 1).map(|message| message.flight);
        Some(Taken { whole, connection: number, answer: verdict.answer })
    }

    /// The receiver's HCA answers: over the wires, which may lose that as well.
    pub(crate) fn answer_packet(&mut self, taken: Taken, armed: &mut [Armed], cx: &mut Context) {
        let Taken { connection: number, answer: Some(answer), .. } = taken else { return };
        let connection = self.connection(number);
        let fate = fate(armed, &connection.back);
        if let Some(link) = fate.lost {
            connection.lost_on = Some(link);
            self.tally.lost += 1;
            return;
        }
        let at = cx.now() + connection.latency + fate.late.unwrap_or_default();
        self.tally.late += u64::from(fate.late.is_some());
        self.tally.duplicated += u64::from(fate.twice);
        for _ in 0..=u32::from(fate.twice) {
            let id = self.answers.insert(|| (number, answer));
            cx.clock.schedule_fault(at, Event::Answer(id));
        }
    }

    /// An answer has come to the sending HCA.
    pub(crate) fn answer_arrives(&mut self, id: u32, cluster: &mut Cluster, cx: &mut Context) {
        let (number, answer) = self.answers.remove(id);
        if self.connection(number).silent {
            return;
        }
        let mut steps = std::mem::take(&mut self.steps);
        let sender = &mut self.connection(number).sender;
        let sent = sender.sent();
        sender.hear(answer, &mut steps);
        self.take_steps(number, steps, sent, cluster, cx);
    }

    /// All packets before number `packets` were acknowledged: completions that waited follow.
    fn acknowledged(&mut self, number: u32, packets: u64, cx: &mut Context) {
        let mmio = cx.costs.profile.pcie.mmio_write;
        let connection = self.connection(number);
        while connection.messages.front().is_some_and(|message| message.end <= packets) {
            connection.messages.pop_front();
        }
        while let Some(&(end, flight)) = connection.completions.front()
            && end <= packets
        {
            connection.completions.pop_front();
            let (at, event) = (cx.now() + mmio, Event::Completed(flight));
            cx.schedule_of(at, connection.from, Phase::Completion, event);
        }
    }

    /// The completion of a flight that has arrived waits for its ACK; answers whether it does.
    pub(super) fn waits_for_ack(&mut self, conn: ConnId, flight: u32) -> bool {
        let known = self.connections.get_mut(&conn.0);
        let Some(connection) = known.and_then(Option::as_mut) else { return false };
        let taken = connection.receiver.taken();
        connection.completions.push_back((taken, flight));
        true
    }

    fn give_up(&mut self, number: u32, packet: u64, cluster: &mut Cluster, cx: &mut Context) {
        let at = cx.now();
        let tries = u32::from(self.transport.retries) + 1;
        let connection = self.connection(number);
        let (from, to) = (connection.from, connection.to);
        let link = connection.lost_on;
        let link = link.map(|link| cluster.topology().link_name(link));
        let link = link.unwrap_or_else(|| "no link: packets were late".to_owned());
        let failure = Failure::RetryExceeded { from, to, packet, tries, link, at };
        cx.end(Ending::Fault(failure));
    }
}
