//! Connections: transfers begin one after the other and are delivered in order.
//!
//! Only connections that ever carried something have a state: most of a large job's never do.

use super::arena::{Flights, NONE, Queue};
use super::ring::Lane;
use engine::Paged;
use units::Time;

/// The state of one connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    issued: u32,
    deliver_next: u32,
    /// Transfers that arrived before one of lower order, sorted by order.
    early: u32,
    /// Transfers that may not enter their first hop yet.
    waiting: Queue,
    /// Transfers at the first hop whose end of service is not known yet.
    inside: u32,
    /// When the last transfer whose end of service is known leaves the first hop.
    leaves_at: u64,
    /// The first hop's queue keeps the order itself: packets of this resource may enter at once.
    queued_at: u32,
    /// First of this connection's queues at shared resources.
    lanes: u32,
    /// Bulk that waits for the flow to be free.
    fluid: Queue,
    /// The flow of this connection, if one is under way.
    flow: u32,
}

impl Connection {
    const fn new() -> Self {
        Self {
            issued: 0,
            deliver_next: 0,
            early: NONE,
            waiting: Queue::EMPTY,
            inside: 0,
            leaves_at: 0,
            queued_at: NONE,
            lanes: NONE,
            fluid: Queue::EMPTY,
            flow: NONE,
        }
    }

    /// The place of the next transfer in the order of the connection.
    #[inline]
    pub(super) fn next_order(&mut self) -> u32 {
        let order = self.issued;
        self.issued = self.issued.wrapping_add(1);
        order
    }

    /// Whether a transfer at the end of its path is the next to be delivered; keeps it otherwise,
    /// until those before it were.
    #[inline]
    pub(super) fn may_deliver(&mut self, id: u32, flights: &mut Flights) -> bool {
        let is_next = flights[id].order == self.deliver_next;
        if !is_next {
            self.keep(id, flights);
        }
        is_next
    }

    fn keep(&mut self, id: u32, flights: &mut Flights) {
        let base = self.deliver_next;
        let place = |at: u32, flights: &Flights| flights[at].order.wrapping_sub(base);
        let mine = place(id, flights);
        if self.early == NONE || place(self.early, flights) > mine {
            flights[id].next = self.early;
            self.early = id;
            return;
        }
        let mut at = self.early;
        while flights[at].next != NONE && place(flights[at].next, flights) < mine {
            at = flights[at].next;
        }
        flights[id].next = flights[at].next;
        flights[at].next = id;
    }

    /// Whether others are under way behind the transfer that is delivered next.
    pub(super) const fn is_followed(&self) -> bool {
        self.issued.wrapping_sub(self.deliver_next) > 1
    }

    /// The next transfer was delivered; answers the one after it, if that is here already.
    #[inline]
    pub(super) fn delivered(&mut self, flights: &Flights) -> Option<u32> {
        self.deliver_next = self.deliver_next.wrapping_add(1);
        let next = self.early;
        if next == NONE || flights[next].order != self.deliver_next {
            return None;
        }
        self.early = flights[next].next;
        Some(next)
    }

    /// Whether a transfer may enter its first hop, over `resource`: packets may follow one another
    /// into the queue of a shared resource.
    #[inline]
    fn may_enter(&self, now: Time, is_packet: bool, resource: u32) -> bool {
        let free = self.inside == 0 && self.leaves_at <= now.as_ps();
        free || (is_packet && self.queued_at == resource)
    }

    /// Lets a new transfer enter its first hop, if it may and none waits before it.
    #[inline]
    pub(super) fn enters(&mut self, now: Time, entry: Entry) -> bool {
        let enters =
            self.waiting.is_empty() && self.may_enter(now, entry.is_packet, entry.resource);
        if enters {
            self.enter(entry);
        }
        enters
    }

    #[inline]
    fn enter(&mut self, entry: Entry) {
        self.inside += 1;
        let keeps_order = entry.is_shared && entry.is_packet;
        self.queued_at = if keeps_order { entry.resource } else { NONE };
    }

    /// Lets a transfer wait before its first hop. Answers when that is free, if it is the first to
    /// wait and the moment is known.
    pub(super) fn wait(&mut self, id: u32, flights: &mut Flights) -> Option<Time> {
        let first = self.waiting.is_empty();
        self.waiting.push_back(id, flights);
        (first && self.inside == 0).then_some(Time::from_ps(self.leaves_at))
    }

    /// The transfer that waits first before its first hop.
    pub(super) fn first_waiting(&self) -> Option<u32> {
        (self.waiting.head != NONE).then_some(self.waiting.head)
    }

    /// Lets the transfer that waits first enter, if it may.
    pub(super) fn first_enters(&mut self, now: Time, entry: Entry, flights: &Flights) -> bool {
        let enters = self.may_enter(now, entry.is_packet, entry.resource);
        if enters {
            self.waiting.pop_front(flights).expect("a transfer waits");
            self.enter(entry);
        }
        enters
    }

    /// The end of a service at the first hop is known. Answers whether the first hop is then free
    /// for a transfer that waits.
    #[inline]
    pub(super) fn leaves_at(&mut self, end: Time) -> bool {
        self.inside -= 1;
        self.leaves_at = end.as_ps();
        self.inside == 0 && !self.waiting.is_empty()
    }

    /// The end of a service at the first hop is not known any more.
    pub(super) fn is_inside_again(&mut self) {
        self.inside += 1;
    }

    /// The service that began `now` at the first hop is taken back.
    pub(super) fn stays_from(&mut self, now: Time) {
        self.inside += 1;
        self.leaves_at = now.as_ps();
    }

    /// The flow of the connection, or lets bulk wait for its end.
    pub(super) fn wait_for_flow(&mut self, id: u32, flights: &mut Flights) -> bool {
        let waits = self.flow != NONE;
        if waits {
            self.fluid.push_back(id, flights);
        }
        waits
    }

    /// The flow that is under way, if there is one.
    pub(super) fn flow(&self) -> Option<u32> {
        (self.flow != NONE).then_some(self.flow)
    }

    pub(super) fn set_flow(&mut self, flow: Option<u32>) {
        self.flow = flow.unwrap_or(NONE);
    }

    /// A flow moved its last byte out of a first hop that is a shared resource.
    pub(super) fn bulk_leaves(&mut self, now: Time) {
        self.inside -= 1;
        self.leaves_at = now.as_ps();
    }

    /// The bulk that waits for the flow.
    pub(super) fn next_bulk(&mut self, flights: &Flights) -> Option<u32> {
        self.fluid.pop_front(flights)
    }

    /// Lets the bulk that waits before the first hop enter, if it crosses the same path with as many
    /// bytes as `finished`: it takes over the flow as it is.
    pub(super) fn next_like(&mut self, finished: (u32, u64), flights: &Flights) -> Option<u32> {
        let head = self.first_waiting()?;
        let flight = &flights[head];
        if self.inside > 0 || (flight.path, flight.bytes) != finished {
            return None;
        }
        self.inside += 1;
        self.queued_at = NONE;
        self.waiting.pop_front(flights)
    }
}

/// A transfer before its first hop.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) is_packet: bool,
    /// The resource of the first hop, and whether it is a shared one.
    pub(super) resource: u32,
    pub(super) is_shared: bool,
}

/// The states of connections by their numbers, and their queues at shared resources.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// Where the state of each is.
    places: Vec<u32>,
    states: Paged<Connection, 64>,
    lanes: Vec<Lane>,
}

impl Connections {
    /// The state of a connection, made if it has none.
    #[inline]
    pub(super) fn open(&mut self, conn: u32) -> &mut Connection {
        let place = match self.places.get(conn as usize) {
            Some(&place) if place != NONE => place,
            _ => self.open_new(conn),
        };
        &mut self.states[place]
    }

    /// A word of the state of a connection, if it has one: see `Fabric::touch`.
    pub(super) fn touch(&self, conn: u32) -> u64 {
        let state = self.places.get(conn as usize).and_then(|&place| self.states.get(place));
        state.map_or(0, |state| state.leaves_at)
    }

    #[cold]
    fn open_new(&mut self, conn: u32) -> u32 {
        if conn as usize >= self.places.len() {
            self.places.resize(conn as usize + 1, NONE);
        }
        let place = self.states.push(Connection::new());
        self.places[conn as usize] = place;
        place
    }

    /// The lane of a connection at `resource`, made at the first need.
    pub(super) fn lane_at(&mut self, conn: u32, resource: u32) -> u32 {
        let first = &mut self.states[self.places[conn as usize]].lanes;
        let mut at = *first;
        while at != NONE {
            let lane = &self.lanes[at as usize];
            if lane.resource == resource {
                return at;
            }
            at = lane.next;
        }
        let id = u32::try_from(self.lanes.len()).expect("fewer than 2^32 queues");
        self.lanes.push(Lane::new(resource, *first));
        *first = id;
        id
    }

    #[inline]
    pub(super) fn lane(&self, lane: u32) -> &Lane {
        &self.lanes[lane as usize]
    }

    #[inline]
    pub(super) fn lane_mut(&mut self, lane: u32) -> &mut Lane {
        &mut self.lanes[lane as usize]
    }
}

impl std::ops::Index<u32> for Connections {
    type Output = Connection;
    #[inline]
    fn index(&self, conn: u32) -> &Connection {
        &self.states[self.places[conn as usize]]
    }
}

impl std::ops::IndexMut<u32> for Connections {
    #[inline]
    fn index_mut(&mut self, conn: u32) -> &mut Connection {
        &mut self.states[self.places[conn as usize]]
    }
}
