//! What sequence charts share: libraries that are driven by hand, and what they say to each other.
//!
//! Wires keep the order of each channel, and a rank takes what has arrived only inside a call: while
//! it waits, or during the pass of a test or probe.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::{BTreeMap, VecDeque};

use mpisim::calls::packing::Task;
use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::observation::{Observation, WindowFact};
use mpisim::protocols::call::{Call, Outcome, Reply, Status};
use mpisim::protocols::contract::{
    Action, Change, Counter, Input, Machine, Process, Region, Route, Space, Thread, Token, Toward,
};
use mpisim::protocols::library::{Endpoints, Job, Library, LibraryAction, Packet, SharedJob};
use mpisim::protocols::rendezvous::{Cooperation, Protocol};
use mpisim::protocols::rma::Settings;
use mpisim::protocols::wire::ControlMessage;
use mpisim::units::Bytes;

pub(crate) const THREAD: Thread = Thread(0);

/// What is on its way to a rank.
pub(crate) enum Arrival {
    Packet { from: Process, packet: Packet, bytes: Option<u64> },
    Done(Token),
}

/// Ranks, the wires between them, and what happened so far.
pub(crate) struct Chart {
    pub(crate) ranks: Vec<Library>,
    /// Whether a rank is inside a call.
    pub(crate) inside: Vec<bool>,
    /// In the order of sending, which keeps that of every channel.
    pub(crate) wires: VecDeque<(usize, Arrival)>,
    landings: u32,
    /// Numbers that the ranks share.
    pub(crate) counters: BTreeMap<Counter, u32>,
    pub(crate) story: Vec<String>,
    /// Who told that his accesses to whom are complete (`None`: to all), in this order.
    pub(crate) complete: Vec<(usize, Option<u32>)>,
    /// Header bytes of each packet, in the order of sending.
    pub(crate) headers: Vec<u64>,
}

/// Ranks on nodes of their own, that send large messages by `protocol`.
pub(crate) fn nodes(ranks: u32, protocol: Protocol) -> Chart {
    chart((0..ranks).collect(), protocol)
}

/// Two ranks on one node.
pub(crate) fn neighbours() -> Chart {
    chart(vec![0, 0], Protocol::RPut)
}

/// Ranks on one node, whose large messages move so.
pub(crate) fn near(ranks: usize, cooperation: Cooperation) -> Chart {
    chart_of(vec![0; ranks], Protocol::RPut, (cooperation, Settings::default()), EAGER)
}

fn chart(node_of: Vec<u32>, rendezvous: Protocol) -> Chart {
    chart_of(node_of, rendezvous, (Cooperation::default(), Settings::default()), EAGER)
}

/// Ranks on these nodes, with windows of these settings.
pub(crate) fn windows(node_of: Vec<u32>, rma: Settings) -> Chart {
    chart_of(node_of, Protocol::RPut, (Cooperation::default(), rma), EAGER_INSIDE)
}

/// Largest eager message between nodes.
const EAGER: Bytes = Bytes::kib(16);
/// Largest eager message inside a node, beside windows.
pub(crate) const EAGER_INSIDE: Bytes = Bytes::kib(32);

fn chart_of(
    node_of: Vec<u32>,
    rendezvous: Protocol,
    (cooperation, rma): (Cooperation, Settings),
    eager_intra: Bytes,
) -> Chart {
    let count = u32::try_from(node_of.len()).expect("a chart has few ranks");
    let job = SharedJob::new(Job {
        communicators: Communicators::standard(count),
        node_of,
        threads: vec![1; count as usize],
        endpoints: Endpoints::default(),
        rendezvous,
        cooperation,
        eager_inter: EAGER,
        eager_intra,
        header: Bytes::new(32),
        control: Bytes::new(64),
        cell: Bytes::kib(16),
        cells: 4,
        adapters: false,
        partitioned: mpisim::protocols::partitioned::Grouping::default(),
        vcis: mpisim::protocols::library::Vcis::default(),
        rma,
    });
    Chart {
        ranks: (0..count).map(|rank| Library::new(job.clone(), Process(rank))).collect(),
        inside: vec![false; count as usize],
        wires: VecDeque::new(),
        landings: 0,
        counters: BTreeMap::new(),
        story: Vec::new(),
        complete: Vec::new(),
        headers: Vec::new(),
    }
}

impl Chart {
    /// The program of `rank` calls.
    #[track_caller]
    pub(crate) fn call(mut self, rank: usize, call: Call) -> Self {
        assert!(!self.inside[rank], "rank {rank} is still inside its last call");
        self.inside[rank] = true;
        self.give(rank, Input::Call(call));
        self
    }

    /// Everything on the wires reaches those who wait for something.
    #[track_caller]
    pub(crate) fn settle(mut self) -> Self {
        while self.step() {}
        self
    }

    /// The first thing on the wires that somebody waits for reaches him; false where there is none.
    pub(crate) fn step(&mut self) -> bool {
        let place = self.wires.iter().position(|&(to, _)| self.inside[to]);
        place.inspect(|&place| self.take(place)).is_some()
    }

    fn take(&mut self, place: usize) {
        let (to, arrival) = self.wires.remove(place).expect("its place was found on the wires");
        match arrival {
            Arrival::Done(token) => self.give(to, Input::Done(token)),
            Arrival::Packet { from, packet, bytes } => {
                let landing = bytes.map(|bytes| {
                    self.landings += 1;
                    Region::new(Space::Landing(self.landings), bytes)
                });
                self.give(to, Input::Packet { from: Route::to(from), packet, landing });
            }
        }
    }

    fn give(&mut self, rank: usize, input: Input<Packet, Call>) {
        let mut actions = Vec::new();
        self.ranks[rank].handle(THREAD, input, &mut actions).expect("the library knows this input");
        for action in actions {
            self.carry_out(rank, action);
        }
    }

    fn carry_out(&mut self, rank: usize, action: LibraryAction) {
        let from = Process(u32::try_from(rank).expect("a chart has few ranks"));
        let line = match action {
            Action::Copy { from, to } => {
                format!("copies {} B from {} to {}", from.len, place(from), place(to))
            }
            Action::Pack(copy) => {
                let (from, to) = copy.ends();
                let verb = if copy.task == Task::Pack { "packs" } else { "unpacks" };
                let (bytes, first) = (copy.packed.len, copy.first);
                format!("{verb} {bytes} B at {first} from {} to {}", place(from), place(to))
            }
            Action::Combine { from, into, reduction, .. } => format!(
                "combines {} B from {} into {} by {}",
                from.len,
                place(from),
                place(into),
                reduction.operator()
            ),
            Action::Update { target, .. } => format!("updates {} B", target.len),
            Action::RdmaAtomic { at, target, token, .. } => {
                self.wires.push_back((rank, Arrival::Done(token)));
                format!("updates {} B of {}", target.len, at.peer.0)
            }
            // A chart has one order of events, in which its turn has come when nobody else acts.
            Action::Watch { token, .. } => {
                self.wires.push_back((rank, Arrival::Done(token)));
                "waits for its turn".to_owned()
            }
            Action::Device { token, .. } => {
                self.wires.push_back((rank, Arrival::Done(token)));
                "asks its GPU".to_owned()
            }
            Action::Register { region } => format!("pins {} B", region.len),
            Action::Send { to, packet, payload, header, .. } => {
                self.headers.push(header.as_u64());
                let line = format!("sends {} to {}", content(&packet, payload), to.peer.0);
                let bytes = payload.map(|region| region.len);
                self.wires.push_back((to.peer.0 as usize, Arrival::Packet { from, packet, bytes }));
                line
            }
            Action::RdmaWrite { to, from: source, token, immediate, .. } => {
                self.wires.push_back((rank, Arrival::Done(token)));
                let word = immediate.map(|packet| {
                    let word = format!(", with {}", content(&packet, None));
                    let arrival = Arrival::Packet { from, packet: *packet, bytes: None };
                    self.wires.push_back((to.peer.0 as usize, arrival));
                    word
                });
                format!("writes {} B to {}{}", source.len, to.peer.0, word.unwrap_or_default())
            }
            Action::RdmaRead { from, into, token, .. } => {
                self.wires.push_back((rank, Arrival::Done(token)));
                format!("reads {} B from {}", into.len, from.peer.0)
            }
            Action::Repost { .. } => "frees the landing buffer".to_owned(),
            Action::Complete { .. } => "completes".to_owned(),
            Action::Return { reply, .. } => {
                self.inside[rank] = false;
                format!("returns {}", answer(&reply))
            }
            Action::Poll(token) => {
                while let Some(place) = self.wires.iter().position(|&(to, _)| to == rank) {
                    self.take(place);
                }
                return self.give(rank, Input::Polled(token));
            }
            Action::Resume(token) => return self.give(rank, Input::Resume(token)),
            Action::Consult { counters, token } => {
                let values = counters.map(|asked| self.counters.get(&asked).copied().unwrap_or(0));
                return self.give(rank, Input::Counters { token, values });
            }
            Action::Count { counter, change } => {
                let value = self.counters.entry(counter).or_insert(0);
                match change {
                    Change::Up => *value += 1,
                    Change::Down => *value -= 1,
                }
                format!("counts {counter:?}: {value}")
            }
            Action::PeerCopy { peer, toward: Toward::Own, own, .. } => {
                format!("copies {} B at {} out of {}", own.len, own.offset, peer.0)
            }
            Action::PeerCopy { peer, toward: Toward::Peer, own, .. } => {
                format!("copies {} B at {} into {}", own.len, own.offset, peer.0)
            }
            Action::Observe(Observation::Window(_, WindowFact::Completed { owner })) => {
                return self.complete.push((rank, owner));
            }
            Action::Work(_)
            | Action::Walk { .. }
            | Action::Expose { .. }
            | Action::Observe(_)
            | Action::Release => return,
        };
        self.story.push(format!("{rank} {line}"));
    }
}

fn place(region: Region) -> &'static str {
    match region.space {
        Space::User(_) => "user",
        Space::Staging(_) => "staging",
        Space::Landing(_) => "landing",
        Space::Unexpected(_) => "kept",
        Space::Scratch(_) => "scratch",
        Space::Window(_) => "window",
        Space::Shared(_) => "shared",
        Space::Attached(_) => "attached",
        Space::Exchange(_) => "exchange",
        Space::Device(_) => "device",
        Space::DeviceStaging(_) => "device staging",
        Space::Pinned(_) => "pinned",
        Space::Packed(_) => "packed",
    }
}

fn content(packet: &Packet, payload: Option<Region>) -> String {
    match packet {
        Packet::Eager(header) => format!("EAGER {} B", header.bytes),
        Packet::Matched { .. } => "MATCHED".to_owned(),
        Packet::Partition(packet) => packet.to_string(),
        Packet::Rma(packet) => packet.to_string(),
        Packet::Rts { header, .. } => format!("RTS {} B", header.bytes),
        Packet::Rtr(offer) => format!("RTR {} B", offer.into.len),
        Packet::Rendezvous { word, .. } => match word {
            ControlMessage::Cts { .. } => "CTS".to_owned(),
            ControlMessage::Fin => "FIN".to_owned(),
            ControlMessage::Taken { filled, .. } => {
                if *filled { "FIN" } else { "TAKEN" }.to_owned()
            }
            ControlMessage::Chunk { offset } => {
                let bytes = payload.map_or(0, |region| region.len);
                format!("CHUNK {bytes} B at {offset}")
            }
            ControlMessage::Credit => "CREDIT".to_owned(),
        },
    }
}

fn answer(reply: &Reply) -> String {
    match reply {
        Reply::Done => "at once".to_owned(),
        Reply::Outcome(outcome) => ended(outcome),
        Reply::Tested(None) | Reply::Probed(None) => "false".to_owned(),
        Reply::Tested(Some(outcome)) => format!("true: {}", ended(outcome)),
        Reply::Probed(Some(status)) => format!("a message of {}", words(status)),
        Reply::All(outcomes) => outcomes.iter().map(ended).collect::<Vec<_>>().join("; "),
        Reply::Flag(flag) => flag.to_string(),
        Reply::Part(region, _) => format!("{} B", region.len),
        Reply::Any { .. }
        | Reply::Some(_)
        | Reply::AllTested(_)
        | Reply::AnyTested(_)
        | Reply::Compared(_)
        | Reply::Numbers(_) => unreachable!("no chart asks for {reply:?}"),
    }
}

fn ended(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Sent => "sent".to_owned(),
        Outcome::Received(status) => words(status),
        Outcome::Truncated(status) => format!("{}, truncated", words(status)),
        Outcome::Cancelled => "cancelled".to_owned(),
    }
}

fn words(status: &Status) -> String {
    let source = status.source.map_or("nobody".to_owned(), |rank| rank.0.to_string());
    let tag = status.tag.map_or("any".to_owned(), |tag| tag.to_string());
    format!("{} B from {source} tag {tag}", status.count)
}

/// The story must be told word for word, and nothing be left open.
#[track_caller]
pub(crate) fn check_chart(chart: &Chart, story: &str) {
    let expected: Vec<&str> =
        story.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(chart.story, expected, "\ntold:\n{}\n", chart.story.join("\n"));
    assert!(chart.wires.is_empty(), "something is still on the wires");
    for (rank, library) in chart.ranks.iter().enumerate() {
        assert!(!chart.inside[rank], "rank {rank} is still inside a call");
        assert_eq!(library.leftovers(), Vec::<String>::new(), "rank {rank}");
        assert_eq!(library.waits(THREAD), None, "rank {rank}");
    }
}
