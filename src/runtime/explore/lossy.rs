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

use crate::connection::{Connection, Move};
use crate::faults::Allowed;
use hardware::reliable::Settings;

/// Broken law of a reliable connection, with the numbers of the case.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, thiserror::Error)]
pub enum Broken {
    /// A packet was taken that is not the next one.
    #[error("packet {taken} was taken where packet {expected} is next")]
    Order {
        /// Number of the packet that was taken.
        taken: u64,
        /// Number of the next packet.
        expected: u64,
    },
    /// More was acknowledged than was taken.
    #[error("{acknowledged} packets were acknowledged and {taken} were taken")]
    Acknowledged {
        /// Packets that are acknowledged at the sender.
        acknowledged: u64,
        /// Packets that the receiver has taken.
        taken: u64,
    },
    /// It has failed though the wire did less than the retries allow.
    #[error("the connection failed after {disturbances} disturbances and has {retries} retries")]
    Early {
        /// Disturbances by the wire.
        disturbances: u32,
        /// Retries: the disturbances that the connection should survive.
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

/// A connection that carries numbers which only the checker sees.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct World {
    connection: Connection<u64>,
    taken: u64,
    left: Allowed,
}

/// Result of a search.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Found {
    /// Different states.
    pub states: usize,
    /// Ends at which all packets were taken and acknowledged.
    pub delivered: usize,
    /// Ends at which the connection has failed.
    pub failed: usize,
    /// The first broken law by a shortest way.
    pub broken: Option<(Broken, Vec<Move>)>,
}

impl World {
    fn new(settings: Settings, packets: u64, allowed: Allowed) -> Self {
        let mut connection = Connection::new(settings);
        (0..packets).for_each(|packet| connection.post(packet));
        Self { connection, taken: 0, left: allowed }
    }

    fn choices(&self) -> Vec<Move> {
        self.connection.moves().chain(self.connection.faults(self.left)).collect()
    }

    fn apply(&mut self, choice: Move) -> Result<(), Broken> {
        if let Some(taken) = self.connection.apply(choice, &mut self.left) {
            let expected = self.taken;
            self.taken += 1;
            if taken != expected {
                return Err(Broken::Order { taken, expected });
            }
        }
        self.check_acknowledged()
    }

    const fn check_acknowledged(&self) -> Result<(), Broken> {
        let (acknowledged, taken) = (self.connection.acknowledged(), self.taken);
        if acknowledged > taken {
            Err(Broken::Acknowledged { acknowledged, taken })
        } else {
            Ok(())
        }
    }

    /// Whether it is at an end; an end that must not be is an error.
    fn end(&self, settings: Settings, allowed: Allowed, packets: u64) -> Result<bool, Broken> {
        if self.connection.has_failed() {
            let disturbances = allowed.sum() - self.left.sum();
            let retries = settings.retries;
            let early = disturbances <= u32::from(retries);
            return if early { Err(Broken::Early { disturbances, retries }) } else { Ok(true) };
        }
        if !self.choices().is_empty() {
            return Ok(false);
        }
        let missing = packets - self.connection.acknowledged();
        if missing > 0 { Err(Broken::Stuck { missing }) } else { Ok(true) }
    }
}

/// The states that were seen, each with its predecessor.
struct Graph {
    numbers: BTreeMap<World, usize>,
    ways: Vec<Option<(usize, Move)>>,
    edges: Vec<(usize, usize)>,
    ends: Vec<usize>,
}

impl Graph {
    /// The number of a state, and whether it is new.
    fn number(&mut self, world: &World, way: Option<(usize, Move)>) -> (usize, bool) {
        if let Some(&known) = self.numbers.get(world) {
            return (known, false);
        }
        let number = self.ways.len();
        self.numbers.insert(world.clone(), number);
        self.ways.push(way);
        (number, true)
    }

    fn way_to(&self, mut state: usize) -> Vec<Move> {
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
                let failed = world.connection.has_failed();
                found.failed += usize::from(failed);
                found.delivered += usize::from(!failed);
                continue;
            }
            Ok(false) => {}
        }
        for choice in world.choices() {
            let mut next = world.clone();
            let outcome = next.apply(choice);
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
