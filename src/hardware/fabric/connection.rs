//! Connections: transfers begin one after the other and are delivered in order.

use super::arena::{Flights, NONE, Queue};
use super::spec::{ConnId, Delivery, EventKind, FabricEvent, Schedule};
use super::{Fabric, ResourceId};
use units::Time;

/// The state of one connection.
#[derive(Debug)]
pub(super) struct Connection {
    issued: u32,
    deliver_next: u32,
    /// Transfers that arrived before one of lower order, sorted by order.
    held: u32,
    /// Transfers that may not enter their first hop yet.
    waiting: Queue,
    /// Transfers at the first hop whose end of service is not known yet.
    pub(super) inside: u32,
    /// When the last transfer whose end of service is known leaves the first hop.
    pub(super) leaves_at: u64,
    /// The first hop's queue keeps the order itself: packets of this resource may enter at once.
    queued_at: u32,
    /// First of this connection's queues at shared resources.
    pub(super) lanes: u32,
    /// Bulk that waits for the flow to be free.
    pub(super) fluid: Queue,
    /// The flow of this connection, if one is under way.
    pub(super) flow: u32,
}

impl Connection {
    pub(super) const fn new() -> Self {
        Self {
            issued: 0,
            deliver_next: 0,
            held: NONE,
            waiting: Queue::EMPTY,
            inside: 0,
            leaves_at: 0,
            queued_at: NONE,
            lanes: NONE,
            fluid: Queue::EMPTY,
            flow: NONE,
        }
    }

    pub(super) fn next_order(&mut self) -> u32 {
        let order = self.issued;
        self.issued = self.issued.wrapping_add(1);
        order
    }

    /// Keeps an early arrival until those before it were delivered.
    fn hold(&mut self, id: u32, flights: &mut Flights) {
        let base = self.deliver_next;
        let place = |at: u32, flights: &Flights| flights[at].order.wrapping_sub(base);
        let mine = place(id, flights);
        if self.held == NONE || place(self.held, flights) > mine {
            flights[id].next = self.held;
            self.held = id;
            return;
        }
        let mut at = self.held;
        while flights[at].next != NONE && place(flights[at].next, flights) < mine {
            at = flights[at].next;
        }
        flights[id].next = flights[at].next;
        flights[at].next = id;
    }
}

impl Fabric {
    /// The transfer is at the end of its path: deliver it and whatever waited for it.
    pub(super) fn arrive_at_end(&mut self, id: u32, delivered: &mut Vec<Delivery>) {
        let flight = &self.flights[id];
        let of = flight.conn as usize;
        let conn = &mut self.conns[of];
        if flight.order != conn.deliver_next {
            conn.hold(id, &mut self.flights);
            return;
        }
        let mut next = id;
        loop {
            self.see_delivery(next);
            let conn = &mut self.conns[of];
            let flight = self.flights.remove(next);
            conn.deliver_next = conn.deliver_next.wrapping_add(1);
            self.in_flight -= 1;
            delivered.push(Delivery { token: flight.token });
            next = conn.held;
            if next == NONE || self.flights[next].order != conn.deliver_next {
                return;
            }
            conn.held = self.flights[next].next;
        }
    }

    /// A new transfer enters its first hop, or waits for those before it.
    pub(super) fn enter_or_wait(&mut self, now: Time, id: u32, out: &mut impl Schedule) {
        let conn = self.flights[id].conn;
        if self.conns[conn as usize].waiting.is_empty() && self.may_enter(now, id) {
            self.enter(now, id, out);
            return;
        }
        let resource = self.first_resource(id);
        let state = &mut self.conns[conn as usize];
        let first = state.waiting.is_empty();
        state.waiting.push_back(id, &mut self.flights);
        if first && state.inside == 0 {
            let event = FabricEvent::new(EventKind::Gate, conn, 0);
            out.at(Time::from_ps(state.leaves_at), resource, event);
        }
    }

    fn may_enter(&self, now: Time, id: u32) -> bool {
        let flight = &self.flights[id];
        let conn = &self.conns[flight.conn as usize];
        let free = conn.inside == 0 && conn.leaves_at <= now.as_ps();
        free || (flight.bytes <= self.mtu && conn.queued_at == self.first_resource(id).0)
    }

    fn enter(&mut self, now: Time, id: u32, out: &mut impl Schedule) {
        let first = self.first_resource(id);
        let flight = &self.flights[id];
        let packet = flight.bytes <= self.mtu;
        let shared = self.is_shared(first);
        let conn = &mut self.conns[flight.conn as usize];
        conn.inside += 1;
        conn.queued_at = if shared && packet { first.0 } else { NONE };
        self.arrive(now, id, out);
    }

    /// The bulk at the gate, if it can take over the flow of one that just ended as it is.
    pub(super) fn next_like(&mut self, conn: u32, finished: (u32, u64)) -> Option<u32> {
        let state = &mut self.conns[conn as usize];
        let head = state.waiting.head;
        if head == NONE || state.inside > 0 || self.paths[finished.0 as usize].has_servers {
            return None;
        }
        let flight = &self.flights[head];
        if (flight.path, flight.bytes) != finished {
            return None;
        }
        state.inside += 1;
        state.queued_at = NONE;
        state.waiting.pop_front(&self.flights)
    }

    /// The first hop of a connection is free again.
    pub(super) fn open_gate(&mut self, now: Time, conn: ConnId, out: &mut impl Schedule) {
        loop {
            let head = self.conns[conn.0 as usize].waiting.head;
            if head == NONE || !self.may_enter(now, head) {
                return;
            }
            let state = &mut self.conns[conn.0 as usize];
            let id = state.waiting.pop_front(&self.flights).expect("the queue has a head");
            self.enter(now, id, out);
        }
    }

    /// The transfer's service at its first hop began and ends at `end`.
    pub(super) fn leave_first_hop(
        &mut self,
        conn: u32,
        end: Time,
        resource: ResourceId,
        out: &mut impl Schedule,
    ) {
        let state = &mut self.conns[conn as usize];
        state.inside -= 1;
        state.leaves_at = end.as_ps();
        if state.inside == 0 && !state.waiting.is_empty() {
            out.at(end, resource, FabricEvent::new(EventKind::Gate, conn, 0));
        }
    }
}
