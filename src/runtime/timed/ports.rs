//! The channels of each process: what has arrived on its lanes and waits for a poll.
//!
//! A poll takes one entry: a channel with many is drained by one entry a pass, and each entry pays for
//! a whole pass. This is what makes many channels slow; a library that empties a channel before it
//! goes on pays less.
//!
//! Left out: with a shared receive queue, the lanes of a neighbour share its FIFO slot.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::timed::costs::Costs;
use crate::timed::network::flight::Arrived;
use crate::timed::setup::Connections;
use hardware::core::Place;
use protocols::contract::{Lane, Lanes, Process};
use units::{Time, TimeDelta};

/// Which channel an arrival of each process joins; the same for all processes of a node.
#[derive(Debug)]
enum Routes {
    /// A channel for each lane of so many processes, in their order.
    PerPeer(u32),
    /// A channel for each process of this node, and one that all others share.
    Shared {
        /// Processes of this node, in order.
        near: Box<[u32]>,
        /// The channel of the others, if there are any: it stands where the first of them would.
        far: Option<u32>,
    },
}

/// The completion queue is polled like a channel.
const COMPLETIONS: u32 = 0;

impl Routes {
    /// The routes to every process; `homes` are their places, and each lane polls so many of their lanes.
    fn to_all(homes: &[Place], heard: u16, connections: Connections) -> Vec<Arc<Self>> {
        match connections {
            Connections::PerPeer => {
                let all = Arc::new(Self::PerPeer(number(homes.len()) * u32::from(heard)));
                vec![all; homes.len()]
            }
            Connections::SharedReceiveQueue => Self::shared(homes),
        }
    }

    /// Of processes that share a queue for those of other nodes, in one pass over all of them.
    fn shared(homes: &[Place]) -> Vec<Arc<Self>> {
        let mut near = BTreeMap::<u32, Vec<u32>>::new();
        for (process, home) in (0..).zip(homes) {
            near.entry(home.node).or_default().push(process);
        }
        let Some(first) = homes.first().map(|home| home.node) else { return Vec::new() };
        // The first process that is far from those of the first node; those before it are all near.
        let far_from_first = homes.iter().position(|home| home.node != first);
        let routes = |(node, near): (u32, Vec<u32>)| {
            let first_far = if node == first { far_from_first } else { Some(0) };
            let far = first_far.map(|before| 1 + number(before));
            (node, Arc::new(Self::Shared { near: near.into(), far }))
        };
        let by_node: BTreeMap<u32, Arc<Self>> = near.into_iter().map(routes).collect();
        homes.iter().map(|home| Arc::clone(&by_node[&home.node])).collect()
    }

    /// Channels of one lane, its completion queue included.
    fn channels(&self) -> u32 {
        match self {
            Self::PerPeer(peers) => 1 + peers,
            Self::Shared { near, far } => 1 + number(near.len()) + u32::from(far.is_some()),
        }
    }

    /// The channel that packets of a peer's lane join, where a lane polls so many lanes of each peer; all
    /// its lanes share what its process has.
    fn channel(&self, peer: Process, remote: Lane, heard: u16) -> u32 {
        match self {
            Self::PerPeer(_) => 1 + peer.0 * u32::from(heard) + u32::from(remote.0 % heard),
            Self::Shared { near, far } => match near.binary_search(&peer.0) {
                Ok(place) => {
                    let channel = 1 + number(place);
                    channel + u32::from(far.is_some_and(|far| far <= channel))
                }
                Err(_) => far.expect("a process of another node makes a shared channel"),
            },
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("processes are counted in u32")
}

/// The channels of one process.
#[derive(Debug)]
pub(super) struct Port {
    routes: Arc<Routes>,
    /// Lanes of each peer that a lane polls: all, or the one of its number.
    heard: u16,
    /// Channels of a lane.
    per_lane: u32,
    /// The channels that hold something, rising, each with its queue: few of many.
    ready: Vec<(u32, Queue)>,
    /// Core time of one poll, by the number of lanes that a pass polls, from one on.
    costs: Vec<TimeDelta>,
}

/// The entries of one channel, oldest first, as a list through [`Entries`].
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
    len: u32,
}

/// Entries of the channels of all processes: each channel has few at once.
#[derive(Debug, Default)]
struct Entries {
    all: Vec<Entry>,
    /// Places that are free.
    free: Vec<u32>,
}

impl Entries {
    /// Puts an entry into a free place.
    fn keep(&mut self, arrived: Arrived) -> u32 {
        let entry = Entry { arrived, next: 0 };
        if let Some(place) = self.free.pop() {
            self.all[place as usize] = entry;
            return place;
        }
        self.all.push(entry);
        number(self.all.len() - 1)
    }

    /// The entry so many places after this one.
    fn at(&self, entry: u32, places: u32) -> u32 {
        (0..places).fold(entry, |entry, _| self.all[entry as usize].next)
    }
}

/// The channels of all processes.
#[derive(Debug)]
pub(super) struct Ports {
    all: Vec<Port>,
    entries: Entries,
}

impl Ports {
    /// The channels of processes that live at these places: how many lanes they have, and how many of each
    /// peer a lane hears.
    pub(super) fn new(
        homes: &[Place],
        (lanes, heard): (u16, u16),
        connections: Connections,
        costs: &Costs,
    ) -> Self {
        let routes = Routes::to_all(homes, heard, connections).into_iter();
        let all = routes.map(|routes| Port::new(routes, (lanes, heard), costs)).collect();
        Self { all, entries: Entries::default() }
    }

    #[inline]
    pub(super) fn of(&self, process: Process) -> &Port {
        &self.all[process.0 as usize]
    }

    /// Something arrives on a lane of `process`; answers its channel, and its entry there.
    #[inline]
    pub(super) fn push(&mut self, process: Process, lane: Lane, arrived: Arrived) -> (u32, u32) {
        self.all[process.0 as usize].push(lane, arrived, &mut self.entries)
    }

    /// Takes the entry so many places behind the head of a channel.
    #[inline]
    pub(super) fn take(&mut self, process: Process, channel: u32, behind: u32) -> Option<Arrived> {
        self.all[process.0 as usize].take(channel, behind, &mut self.entries)
    }

    /// First entry that an adapter may take for a process: see [`Port::for_adapter`].
    pub(super) fn for_adapter(
        &self,
        process: Process,
        takes: impl Fn(&Arrived) -> bool,
    ) -> Option<Found> {
        self.of(process).for_adapter(&self.entries, takes)
    }

    /// Oldest entry of the first nonempty channel of a process.
    pub(super) fn first(&self, process: Process) -> Option<Arrived> {
        self.of(process).first(&self.entries)
    }

    /// Entries that no poll has taken.
    pub(super) fn waiting(&self) -> u64 {
        self.all.iter().map(Port::waiting).sum()
    }
}

/// One entry of a channel.
#[derive(Debug)]
struct Entry {
    arrived: Arrived,
    /// The one after it in its channel.
    next: u32,
}

/// An entry that an adapter may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) channel: u32,
    /// How many entries of its channel come before it.
    pub(super) behind: u32,
    /// Its place among all.
    pub(super) entry: u32,
}

impl Port {
    fn new(routes: Arc<Routes>, (lanes, heard): (u16, u16), costs: &Costs) -> Self {
        let per_lane = routes.channels();
        Self {
            routes,
            heard,
            per_lane,
            ready: Vec::new(),
            costs: (1..=u32::from(lanes)).map(|lanes| costs.poll(lanes * per_lane)).collect(),
        }
    }

    /// The channels of these lanes; no lane, no channel.
    #[inline]
    pub(super) fn polled(&self, lanes: Lanes) -> Polled {
        let first = u32::from(lanes.first.0) * self.per_lane;
        let len = u32::from(lanes.count) * self.per_lane;
        // A thread that polls nothing spends nothing on it.
        let cost =
            usize::from(lanes.count).checked_sub(1).map_or(TimeDelta::ZERO, |i| self.costs[i]);
        Polled { first, len, cost }
    }

    /// The lane of a channel.
    #[inline]
    pub(super) fn lane_of(&self, channel: u32) -> Lane {
        if channel < self.per_lane {
            return Lane(0);
        }
        Lane(u16::try_from(channel / self.per_lane).expect("lanes are counted in u16"))
    }

    /// Whether a channel of `all` holds something that is none of `polled`, a part of them.
    pub(super) fn holds_beside(&self, polled: Polled, all: Polled) -> bool {
        let mut ready = self.ready.iter().map(|&(channel, _)| channel);
        ready.any(|channel| all.contains(channel) && !polled.contains(channel))
    }

    /// Whether no channel holds anything.
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Entries that no poll has taken.
    fn waiting(&self) -> u64 {
        self.ready.iter().map(|(_, queue)| u64::from(queue.len)).sum()
    }

    /// Reads where a pass begins: see `Timed::prefetch`.
    pub(super) fn prefetch(&self) -> u64 {
        let ready = self.ready.first().map_or(0, |&(channel, _)| u64::from(channel));
        ready ^ self.costs.first().map_or(0, |cost| cost.as_ps())
    }

    /// Oldest entry of the first nonempty channel.
    fn first(&self, entries: &Entries) -> Option<Arrived> {
        let (_, queue) = self.ready.first()?;
        Some(entries.all[queue.first as usize].arrived)
    }

    /// The place of the first channel from this one on that holds something.
    #[inline]
    fn place_of(&self, channel: u32) -> usize {
        self.ready.partition_point(|&(other, _)| other < channel)
    }

    /// The first entry, by channel and by age, that `takes` accepts among those that an adapter may
    /// take: the head of each channel, and any completion of RDMA, whatever lies before it.
    fn for_adapter(&self, entries: &Entries, takes: impl Fn(&Arrived) -> bool) -> Option<Found> {
        self.ready.iter().find_map(|&(channel, Queue { first, len, .. })| {
            let queued = std::iter::successors(Some(first), |&entry| Some(entries.at(entry, 1)));
            let reach = if channel % self.per_lane == COMPLETIONS { len } else { 1 };
            let mut near = queued.zip(0..reach);
            let (entry, behind) =
                near.find(|&(entry, _)| takes(&entries.all[entry as usize].arrived))?;
            Some(Found { channel, behind, entry })
        })
    }

    /// How many entries of a channel come before its newest one.
    pub(super) fn before_newest(&self, channel: u32) -> u32 {
        let queue = self.ready.get(self.place_of(channel));
        queue.filter(|(other, _)| *other == channel).map_or(0, |(_, queue)| queue.len - 1)
    }

    /// The entry at the head of a channel.
    pub(super) fn head(&self, channel: u32) -> Option<u32> {
        let (other, queue) = self.ready.get(self.place_of(channel))?;
        (*other == channel).then_some(queue.first)
    }

    /// An arrival; answers its channel, and its entry there.
    fn push(&mut self, lane: Lane, arrived: Arrived, entries: &mut Entries) -> (u32, u32) {
        let inside = match &arrived {
            Arrived::Packet { from, .. } => self.routes.channel(from.peer, from.remote, self.heard),
            Arrived::Done(_) | Arrived::Device(_) | Arrived::Seen(_) | Arrived::SendDone => {
                COMPLETIONS
            }
        };
        let channel = u32::from(lane.0) * self.per_lane + inside;
        let entry = entries.keep(arrived);
        let place = self.place_of(channel);
        match self.ready.get_mut(place) {
            Some((other, queue)) if *other == channel => {
                entries.all[queue.last as usize].next = entry;
                queue.last = entry;
                queue.len += 1;
            }
            _ => {
                self.ready.insert(place, (channel, Queue { first: entry, last: entry, len: 1 }));
            }
        }
        (channel, entry)
    }

    /// Takes the entry so many places behind the head of a channel.
    fn take(&mut self, channel: u32, behind: u32, entries: &mut Entries) -> Option<Arrived> {
        let place = self.place_of(channel);
        let (_, queue) = self.ready.get_mut(place).filter(|(other, _)| *other == channel)?;
        let entry = entries.at(queue.first, behind);
        let next = entries.all[entry as usize].next;
        queue.len -= 1;
        if queue.len == 0 {
            self.ready.remove(place);
        } else if behind == 0 {
            queue.first = next;
        } else {
            let before = entries.at(queue.first, behind - 1);
            entries.all[before as usize].next = next;
            if behind == queue.len {
                queue.last = before;
            }
        }
        entries.free.push(entry);
        Some(entries.all[entry as usize].arrived)
    }

    /// The first of the channels that holds something, going round once from `from` on: its
    /// distance.
    pub(super) fn next_ready(&self, polled: Polled, from: u32) -> Option<u32> {
        let end = polled.first + polled.len;
        let found = self.first_ready(from, end).or_else(|| self.first_ready(polled.first, from))?;
        Some(polled.distance(from, found))
    }

    /// The first channel from `low` up to, and without, `high` that holds something.
    fn first_ready(&self, low: u32, high: u32) -> Option<u32> {
        let ready = self.ready.get(self.place_of(low));
        ready.map(|&(channel, _)| channel).filter(|&channel| channel < high)
    }
}

/// The channels that a thread polls, over and over.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Polled {
    /// The first of them.
    pub(super) first: u32,
    /// How many; they follow each other.
    pub(super) len: u32,
    /// Core time of one poll.
    pub(super) cost: TimeDelta,
}

impl Polled {
    #[inline]
    pub(super) const fn contains(self, channel: u32) -> bool {
        channel >= self.first && channel - self.first < self.len
    }

    /// The channel `distance` polls after `from`.
    pub(super) const fn after(self, from: u32, distance: u32) -> u32 {
        self.first + (from - self.first + distance) % self.len
    }

    /// How many polls after `from` the channel `to` is polled.
    pub(super) const fn distance(self, from: u32, to: u32) -> u32 {
        if to >= from { to - from } else { to + self.len - from }
    }

    /// When a thread whose poll of `from` begins at `since` meets something that reached `channel` at `now`.
    pub(super) fn meets(self, (from, since): (u32, Time), channel: u32, now: Time) -> Time {
        if self.cost == TimeDelta::ZERO {
            // It may begin to poll later than now only.
            return now.max(since);
        }
        // Polls that began before the arrival did not see it.
        let waited = now.as_ps().saturating_sub(since.as_ps());
        let begun = waited.div_ceil(self.cost.as_ps());
        let len = u64::from(self.len);
        let current = (u64::from(from - self.first) + begun) % len;
        let distance = (u64::from(channel - self.first) + len - current) % len;
        since + self.cost * (begun + distance + 1)
    }
}
