//! Every order of a reliable connection over a wire that loses, repeats and reorders, each so often.
//!
//! ```text
//!   choice      the head of a wire arrives, is lost, is repeated, or another one overtakes it;
//!               the timer runs out, where nothing is on the wires
//!   law         each packet is taken once, in order; all are, or the connection fails by name, and
//!               only after more disturbances than it has retries; from every state an end is reached
//! ```
//!
//! What is lost and repeated counts against a budget that is part of the state, so that the graph is
//! finite. The search is breadth first: what it finds it finds by a shortest way. It is apart from
//! that of the untimed world, since the MPI library sees neither packets nor their loss.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use crate::hardware::reliable::{Answer, Psn, Receiver, Sender, Settings, Step};

/// How often the wire may do what, both directions together.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Allowed {
    /// Packets and answers that are lost.
    pub losses: u8,
    /// Those that arrive twice.
    pub repeats: u8,
    /// Those that are overtaken.
    pub overtakings: u8,
}

impl Allowed {
    const fn sum(self) -> u32 {
        self.losses as u32 + self.repeats as u32 + self.overtakings as u32
    }
}

/// One of the two directions.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Wire {
    /// Packets.
    There,
    /// Answers.
    Back,
}

/// What can happen next.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Choice {
    /// The head of a wire arrives.
    Arrive(Wire),
    /// It is lost.
    Lose(Wire),
    /// It arrives, and stays on the wire.
    Repeat(Wire),
    /// The one behind it overtakes it.
    Overtake(Wire),
    /// The transport timer runs out.
    TimeOut,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |wire: &Wire| if *wire == Wire::There { "packet" } else { "answer" };
        match self {
            Self::Arrive(wire) => write!(f, "the first {} arrives", name(wire)),
            Self::Lose(wire) => write!(f, "the first {} is lost", name(wire)),
            Self::Repeat(wire) => write!(f, "the first {} arrives, and will again", name(wire)),
            Self::Overtake(wire) => write!(f, "the second {} overtakes the first", name(wire)),
            Self::TimeOut => write!(f, "the transport timer runs out"),
        }
    }
}

/// What a reliable connection must not do.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, thiserror::Error)]
pub enum Broken {
    /// What was taken is not the next packet.
    #[error("packet {taken} was taken where packet {expected} is next")]
    Order {
        /// What was taken.
        taken: u64,
        /// What should have been.
        expected: u64,
    },
    /// More was acknowledged than was taken.
    #[error("{acknowledged} packets were acknowledged and {taken} were taken")]
    Acknowledged {
        /// What the sender was told.
        acknowledged: u64,
        /// What is in memory.
        taken: u64,
    },
    /// It has failed though the wire did less than the retries allow.
    #[error("the connection failed after {disturbances} disturbances and has {retries} retries")]
    Early {
        /// What the wire did.
        disturbances: u32,
        /// What the connection should survive.
        retries: u8,
    },
    /// Nothing can happen any more, and packets are missing.
    #[error("nothing can happen any more, and {missing} packets are missing")]
    Stuck {
        /// How many.
        missing: u64,
    },
    /// No end can be reached any more.
    #[error("no end can be reached any more")]
    Endless,
}

impl Broken {
    /// The law without the numbers of this case.
    pub const fn law(self) -> &'static str {
        match self {
            Self::Order { .. } => "once and in order",
            Self::Acknowledged { .. } => "acknowledged is taken",
            Self::Early { .. } => "no early failure",
            Self::Stuck { .. } => "no dead end",
            Self::Endless => "an end is reached",
        }
    }
}

/// A connection, both ends and both wires.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct World {
    sender: Sender,
    receiver: Receiver,
    /// Packets on the wire, with the numbers that only the checker sees.
    there: VecDeque<(Psn, u64)>,
    back: VecDeque<Answer>,
    armed: bool,
    taken: u64,
    acknowledged: u64,
    left: Allowed,
}

/// What a search found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Found {
    /// Different states.
    pub states: usize,
    /// Ends at which all packets were taken and acknowledged.
    pub delivered: usize,
    /// Ends at which the connection has failed.
    pub failed: usize,
    /// The first broken law by a shortest way.
    pub broken: Option<(Broken, Vec<Choice>)>,
}

impl World {
    fn new(settings: Settings, packets: u64, allowed: Allowed) -> Self {
        let mut world = Self {
            sender: Sender::new(settings),
            receiver: Receiver::new(settings),
            there: VecDeque::new(),
            back: VecDeque::new(),
            armed: false,
            taken: 0,
            acknowledged: 0,
            left: allowed,
        };
        let mut steps = Vec::new();
        world.sender.post(packets, &mut steps);
        world.take(settings, steps);
        world
    }

    fn take(&mut self, settings: Settings, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Transmit(packet) => self.there.push_back((settings.psn(packet), packet)),
                Step::Arm => self.armed = true,
                Step::Disarm => self.armed = false,
                Step::Acknowledged(packets) => self.acknowledged = packets,
                Step::Failed(_) => {
                    // An error completion: what is on the wires matters to nobody any more.
                    self.there.clear();
                    self.back.clear();
                }
            }
        }
    }

    fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        for (wire, waiting) in [(Wire::There, self.there.len()), (Wire::Back, self.back.len())] {
            if waiting > 0 {
                choices.push(Choice::Arrive(wire));
                choices.extend((self.left.losses > 0).then_some(Choice::Lose(wire)));
                choices.extend((self.left.repeats > 0).then_some(Choice::Repeat(wire)));
            }
            if waiting > 1 && self.left.overtakings > 0 {
                choices.push(Choice::Overtake(wire));
            }
        }
        // Longer than any way: it runs out where nothing is on its way any more.
        if choices.is_empty() && self.armed {
            choices.push(Choice::TimeOut);
        }
        choices
    }

    fn apply(&mut self, settings: Settings, choice: Choice) -> Result<(), Broken> {
        match choice {
            Choice::Arrive(wire) => return self.arrive(settings, wire, false),
            Choice::Repeat(wire) => {
                self.left.repeats -= 1;
                return self.arrive(settings, wire, true);
            }
            Choice::Lose(wire) => {
                self.left.losses -= 1;
                match wire {
                    Wire::There => drop(self.there.pop_front()),
                    Wire::Back => drop(self.back.pop_front()),
                }
            }
            Choice::Overtake(wire) => {
                self.left.overtakings -= 1;
                match wire {
                    Wire::There => self.there.swap(0, 1),
                    Wire::Back => self.back.swap(0, 1),
                }
            }
            Choice::TimeOut => {
                let mut steps = Vec::new();
                self.sender.time_out(&mut steps);
                self.take(settings, steps);
            }
        }
        Ok(())
    }

    fn arrive(&mut self, settings: Settings, wire: Wire, stays: bool) -> Result<(), Broken> {
        match wire {
            Wire::There => {
                let (psn, packet) = self.there.pop_front().expect("the wire has a head");
                if stays {
                    self.there.push_back((psn, packet));
                }
                self.receive(psn, packet)
            }
            Wire::Back => {
                let answer = self.back.pop_front().expect("the wire has a head");
                if stays {
                    self.back.push_back(answer);
                }
                let mut steps = Vec::new();
                self.sender.hear(answer, &mut steps);
                self.take(settings, steps);
                self.check_acknowledged()
            }
        }
    }

    fn receive(&mut self, psn: Psn, packet: u64) -> Result<(), Broken> {
        let verdict = self.receiver.receive(psn);
        self.back.extend(verdict.answer);
        if !verdict.taken {
            return Ok(());
        }
        let expected = self.taken;
        self.taken += 1;
        if packet == expected { Ok(()) } else { Err(Broken::Order { taken: packet, expected }) }
    }

    const fn check_acknowledged(&self) -> Result<(), Broken> {
        let (acknowledged, taken) = (self.acknowledged, self.taken);
        if acknowledged > taken {
            Err(Broken::Acknowledged { acknowledged, taken })
        } else {
            Ok(())
        }
    }

    /// Whether it is at an end; an end that must not be is an error.
    fn end(&self, settings: Settings, allowed: Allowed, packets: u64) -> Result<bool, Broken> {
        if self.sender.has_failed() {
            let disturbances = allowed.sum() - self.left.sum();
            let retries = settings.retries;
            let early = disturbances <= u32::from(retries);
            return if early { Err(Broken::Early { disturbances, retries }) } else { Ok(true) };
        }
        if !self.choices().is_empty() {
            return Ok(false);
        }
        let missing = packets - self.acknowledged;
        if missing > 0 { Err(Broken::Stuck { missing }) } else { Ok(true) }
    }
}

/// The states that were seen, each with its predecessor.
struct Graph {
    numbers: BTreeMap<World, usize>,
    ways: Vec<Option<(usize, Choice)>>,
    edges: Vec<(usize, usize)>,
    ends: Vec<usize>,
}

impl Graph {
    /// The number of a state, and whether it is new.
    fn number(&mut self, world: &World, way: Option<(usize, Choice)>) -> (usize, bool) {
        if let Some(&known) = self.numbers.get(world) {
            return (known, false);
        }
        let number = self.ways.len();
        self.numbers.insert(world.clone(), number);
        self.ways.push(way);
        (number, true)
    }

    fn way_to(&self, mut state: usize) -> Vec<Choice> {
        let mut way = Vec::new();
        while let Some((before, choice)) = self.ways[state] {
            way.push(choice);
            state = before;
        }
        way.reverse();
        way
    }

    /// The first state from which no end can be reached.
    fn endless(&self) -> Option<usize> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.ways.len()];
        for &(from, to) in &self.edges {
            before[to].push(from);
        }
        let mut good = vec![false; self.ways.len()];
        let mut open = self.ends.clone();
        while let Some(state) = open.pop() {
            if !std::mem::replace(&mut good[state], true) {
                open.extend(&before[state]);
            }
        }
        good.iter().position(|good| !good)
    }
}

/// Visits every state of a connection that has `packets` to send over a wire that may do what
/// `allowed` says.
///
/// # Panics
///
/// With more than 2^64 packets on the wire.
pub fn every_order(settings: Settings, packets: u64, allowed: Allowed) -> Found {
    let start = World::new(settings, packets, allowed);
    let mut graph =
        Graph { numbers: BTreeMap::new(), ways: Vec::new(), edges: Vec::new(), ends: Vec::new() };
    let mut found = Found::default();
    graph.number(&start, None);
    let mut open = VecDeque::from([(0, start)]);
    while let Some((number, world)) = open.pop_front() {
        found.states += 1;
        match world.end(settings, allowed, packets) {
            Err(broken) => return Found { broken: Some((broken, graph.way_to(number))), ..found },
            Ok(true) => {
                graph.ends.push(number);
                let failed = world.sender.has_failed();
                found.failed += usize::from(failed);
                found.delivered += usize::from(!failed);
                continue;
            }
            Ok(false) => {}
        }
        for choice in world.choices() {
            let mut next = world.clone();
            let outcome = next.apply(settings, choice);
            let (to, new) = graph.number(&next, Some((number, choice)));
            if let Err(broken) = outcome {
                let mut way = graph.way_to(number);
                way.push(choice);
                return Found { broken: Some((broken, way)), ..found };
            }
            graph.edges.push((number, to));
            if new {
                open.push_back((to, next));
            }
        }
    }
    found.broken = graph.endless().map(|state| (Broken::Endless, graph.way_to(state)));
    found
}
