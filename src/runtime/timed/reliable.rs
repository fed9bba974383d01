//! Queue pairs over links that lose packets: messages are cut into packets, each with its PSN.
//!
//! ```text
//!   WQE ─▶ Sender ─Transmit─▶ fabric ─▶ links of the fault plan: lost? twice? late? ─▶ Receiver
//!            ▲ ▲ timer                                                                  │ last packet
//!            │ └───────── ACK, NAK: the wires' latency, lost like packets ◀─────────────┤ of a message
//!            └ Acknowledged: the completion of what asked for one                       ▼ arrives
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

use super::faults::Armed;
use super::slab::Slab;
use super::wires::{RELIABLE, token};
use super::{FabricSchedule, Happening, Lends, Machine, Process, Program, Timed};
use crate::faults::{Effect, Failure, Transport};
use hardware::fabric::{ConnId, PathId, Transfer};
use hardware::reliable::{Answer, Receiver, Sender, Settings, Step};
use hardware::topology::LinkId;
use units::{Time, TimeDelta};

/// All reliable connections of a run.
#[derive(Debug)]
pub(super) struct Reliable {
    transport: Transport,
    /// By link: whether it may lose packets.
    unreliable: Vec<bool>,
    /// By number; `None` for those that cross no such link.
    connections: BTreeMap<u32, Option<Box<Connection>>>,
    packets: Slab<Packet>,
    answers: Slab<(u32, Answer)>,
    steps: Vec<Step>,
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
    /// One of its ends died: nobody sends again.
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

/// What the links of a way do to a packet.
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
        }
    }

    pub(super) const fn transport(&self) -> Transport {
        self.transport
    }

    /// Nobody sends again what a process that died does not answer, nor does it.
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

/// What active faults do to what crosses `links` now.
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

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    fn reliable(&mut self) -> &mut Reliable {
        let faults = self.faults.as_mut().expect("reliable connections are of a fault plan");
        faults.reliable.as_mut().expect("its links lose packets")
    }

    /// Takes a message, if the connection crosses links that lose packets.
    pub(super) fn send_reliably(&mut self, flight: u32, conn: ConnId, path: PathId) -> bool {
        if !self.is_reliable(flight, conn) {
            return false;
        }
        let bytes = self.flights.get(flight).bytes;
        let packets = bytes.div_ceil(self.costs.profile.hca.mtu.as_u64()).max(1);
        let connection = self.reliable().connection(conn.0);
        let first = connection.sender.posted();
        let end = first + packets;
        connection.messages.push_back(Message { first, end, flight, path, bytes });
        let mut steps = std::mem::take(&mut self.reliable().steps);
        self.reliable().connection(conn.0).sender.post(packets, &mut steps);
        // What is posted now was not sent before.
        self.take_steps(conn.0, steps, 0);
        true
    }

    /// Whether a connection is such a one; it is made at its first message.
    fn is_reliable(&mut self, flight: u32, conn: ConnId) -> bool {
        let Some(reliable) = self.faults.as_ref().and_then(|faults| faults.reliable.as_ref())
        else {
            return false;
        };
        if let Some(known) = reliable.connections.get(&conn.0) {
            return known.is_some();
        }
        let (from, to) = (self.flights.get(flight).from, self.flights.get(flight).to.peer);
        let (here, there) = (self.home(from), self.home(to));
        let topology = self.cluster.topology();
        let (way, back) =
            (topology.route(here.node, there.node), topology.route(there.node, here.node));
        let lossy = way.iter().chain(&back).any(|link| reliable.unreliable[link.0 as usize]);
        let settings = Settings::new(reliable.transport.retries);
        let latency = self.cluster.reply_latency(here, there);
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
        self.reliable().connections.insert(conn.0, connection);
        lossy
    }

    /// Does what the sender wants; packets before `sent` were on the wire before.
    fn take_steps(&mut self, number: u32, mut steps: Vec<Step>, sent: u64) {
        for step in steps.drain(..) {
            match step {
                Step::Transmit(packet) => self.transmit(number, packet, packet < sent),
                Step::Arm => self.arm_timer(number),
                Step::Disarm => self.reliable().connection(number).deadline = None,
                Step::Acknowledged(packets) => self.acknowledged(number, packets),
                Step::Failed(packet) => self.give_up(number, packet),
            }
        }
        self.reliable().steps = steps;
    }

    fn transmit(&mut self, number: u32, packet: u64, again: bool) {
        let now = self.simulation.now();
        let mtu = self.costs.profile.hca.mtu.as_u64();
        let reliable = self.reliable();
        let connection = reliable.connection(number);
        if connection.silent {
            return;
        }
        let Message { first, path, bytes, .. } = connection.message_of(packet);
        let bytes = (bytes - (packet - first) * mtu).min(mtu);
        let id = reliable.packets.insert(|| Packet { connection: number, number: packet });
        let transfer = Transfer { conn: ConnId(number), path, bytes, token: token(RELIABLE, id) };
        if again && let Some(faults) = &mut self.faults {
            faults.tally.sent_again += 1;
        }
        self.cluster.fabric.start(now, transfer, &mut FabricSchedule(&mut self.simulation));
    }

    fn arm_timer(&mut self, number: u32) {
        let at = self.simulation.now() + self.transport_timeout();
        let connection = self.reliable().connection(number);
        if connection.silent {
            return;
        }
        connection.deadline = Some(at);
        if !std::mem::replace(&mut connection.ticking, true) {
            self.schedule_fault(at, Happening::Timer(number));
        }
    }

    /// An event looks at the timer of a connection.
    pub(super) fn timer(&mut self, number: u32) {
        let now = self.simulation.now();
        let connection = self.reliable().connection(number);
        match connection.deadline {
            None => connection.ticking = false,
            Some(later) if later > now => self.schedule_fault(later, Happening::Timer(number)),
            Some(_) => {
                connection.ticking = false;
                connection.deadline = None;
                let mut steps = std::mem::take(&mut self.reliable().steps);
                let sender = &mut self.reliable().connection(number).sender;
                let sent = sender.sent();
                sender.time_out(&mut steps);
                self.take_steps(number, steps, sent);
            }
        }
    }

    /// A packet is at the end of its way, unless a link has lost it.
    pub(super) fn packet_crossed(&mut self, id: u32) {
        let faults = self.faults.as_mut().expect("its connection is of a fault plan");
        let reliable = faults.reliable.as_mut().expect("its connection is reliable");
        let Packet { connection: number, .. } = *reliable.packets.get(id);
        let there = &reliable.connections[&number].as_ref().expect("it is reliable").there;
        let fate = fate(&mut faults.all, there);
        if let Some(link) = fate.lost {
            faults.tally.lost += 1;
            reliable.packets.remove(id);
            reliable.connection(number).lost_on = Some(link);
            return;
        }
        if fate.twice {
            faults.tally.duplicated += 1;
            let copy = *reliable.packets.get(id);
            let copy = reliable.packets.insert(|| copy);
            self.packet_taken(copy);
        }
        if let Some(late) = fate.late {
            self.faults.as_mut().expect("it is known").tally.late += 1;
            let at = self.simulation.now() + late;
            return self.schedule_fault(at, Happening::Late(id));
        }
        self.packet_taken(id);
    }

    /// A packet has come to the receiving HCA, late or not.
    pub(super) fn packet_taken(&mut self, id: u32) {
        let dead = self.dead();
        let reliable = self.reliable();
        let Packet { connection: number, number: packet } = reliable.packets.remove(id);
        let connection = reliable.connection(number);
        if dead == Some(connection.to) {
            return;
        }
        let settings = Settings::new(0);
        let verdict = connection.receiver.receive(settings.psn(packet));
        // An old packet of a message that was acknowledged, or one that came too early, ends here.
        let whole = verdict.taken.then(|| connection.message_of(packet));
        let whole = whole.filter(|message| message.end == packet + 1);
        if let Some(message) = whole {
            self.note_lossy(message.flight);
            self.arrive(message.flight);
        }
        if let Some(answer) = verdict.answer {
            self.answer_packet(number, answer);
        }
    }

    /// The receiver's HCA answers: over the wires, which may lose that as well.
    fn answer_packet(&mut self, number: u32, answer: Answer) {
        let faults = self.faults.as_mut().expect("its connection is of a fault plan");
        let reliable = faults.reliable.as_mut().expect("its connection is reliable");
        let connection = reliable.connections.get_mut(&number).and_then(Option::as_mut);
        let connection = connection.expect("it is reliable");
        let fate = fate(&mut faults.all, &connection.back);
        if let Some(link) = fate.lost {
            faults.tally.lost += 1;
            connection.lost_on = Some(link);
            return;
        }
        let at = self.simulation.now() + connection.latency + fate.late.unwrap_or_default();
        faults.tally.late += u64::from(fate.late.is_some());
        faults.tally.duplicated += u64::from(fate.twice);
        for _ in 0..=u32::from(fate.twice) {
            let id = self.reliable().answers.insert(|| (number, answer));
            self.schedule_fault(at, Happening::Answer(id));
        }
    }

    /// An answer has come to the sending HCA.
    pub(super) fn answered_packet(&mut self, id: u32) {
        let reliable = self.reliable();
        let (number, answer) = reliable.answers.remove(id);
        if reliable.connection(number).silent {
            return;
        }
        let mut steps = std::mem::take(&mut reliable.steps);
        let sender = &mut reliable.connection(number).sender;
        let sent = sender.sent();
        sender.hear(answer, &mut steps);
        self.take_steps(number, steps, sent);
    }

    /// All packets before number `packets` were acknowledged: completions that waited are told.
    fn acknowledged(&mut self, number: u32, packets: u64) {
        let mmio = self.costs.profile.pcie.mmio_write;
        let connection = self.reliable().connection(number);
        while connection.messages.front().is_some_and(|message| message.end <= packets) {
            connection.messages.pop_front();
        }
        loop {
            let connection = self.reliable().connection(number);
            let due = connection.completions.front().is_some_and(|&(end, _)| end <= packets);
            if !due {
                return;
            }
            let from = connection.from;
            let (_, flight) = connection.completions.pop_front().expect("it has a front");
            self.completion_after(mmio, from, flight);
        }
    }

    /// The completion of a flight that has arrived waits for its ACK; answers whether it does.
    pub(super) fn waits_for_ack(&mut self, conn: ConnId, flight: u32) -> bool {
        let reliable = self.faults.as_mut().and_then(|faults| faults.reliable.as_mut());
        let known = reliable.and_then(|reliable| reliable.connections.get_mut(&conn.0));
        let Some(connection) = known.and_then(Option::as_mut) else { return false };
        let taken = connection.receiver.taken();
        connection.completions.push_back((taken, flight));
        true
    }

    fn give_up(&mut self, number: u32, packet: u64) {
        let at = self.simulation.now();
        let tries = u32::from(self.reliable().transport.retries) + 1;
        let connection = self.reliable().connection(number);
        let (from, to) = (connection.from, connection.to);
        let link = connection.lost_on;
        let link = link.map(|link| self.cluster.topology().link_name(link));
        let link = link.unwrap_or_else(|| "no link: packets were late".to_owned());
        self.fail_by_fault(Failure::RetryExceeded { from, to, packet, tries, link, at });
    }
}
