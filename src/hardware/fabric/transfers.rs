//! A transfer from its first hop to its delivery: in the order of its connection, hop by hop while it
//! is a packet, over all shared hops at once when it is bulk.

use super::connections::Entry;
use super::servers::Served;
use super::spec::{ConnId, Delivery, EventKind, FabricEvent, ResourceId, Schedule};
use super::{Fabric, journey};
use crate::fabric::resource::Resource;
use units::{Time, TimeDelta};

impl Fabric {
    /// A new transfer enters its first hop, or waits for those before it.
    pub(super) fn enter_or_wait(&mut self, now: Time, id: u32, out: &mut impl Schedule) {
        let conn = self.path.flights[id].conn;
        let entry = self.entry(id);
        let state = &mut self.conns[conn];
        if state.enters(now, entry) {
            self.arrive(now, id, out);
        } else if let Some(free) = state.wait(id, &mut self.path.flights) {
            out.at(free, ResourceId(entry.resource), FabricEvent::new(EventKind::Gate, conn, 0));
        }
    }

    #[inline]
    fn entry(&self, id: u32) -> Entry {
        let resource = self.path.first_resource(id);
        let is_shared = self.path.resources.is_shared(resource);
        Entry { is_packet: self.path.is_packet(id), resource, is_shared }
    }

    /// The first hop of a connection is free again.
    pub(super) fn open_gate(&mut self, now: Time, conn: ConnId, out: &mut impl Schedule) {
        while let Some(id) = self.conns[conn.0].first_waiting() {
            let entry = self.entry(id);
            if !self.conns[conn.0].first_enters(now, entry, &self.path.flights) {
                return;
            }
            self.arrive(now, id, out);
        }
    }

    /// The transfer's service at its first hop began and ends at `end`.
    #[inline]
    pub(super) fn leave_first_hop(
        &mut self,
        conn: u32,
        end: Time,
        resource: ResourceId,
        out: &mut impl Schedule,
    ) {
        if self.conns[conn].leaves_at(end) {
            out.at(end, resource, FabricEvent::new(EventKind::Gate, conn, 0));
        }
    }

    /// A transfer reaches its next hop.
    pub(super) fn arrive(&mut self, now: Time, id: u32, out: &mut impl Schedule) {
        let flight = &mut self.path.flights[id];
        if flight.bytes > self.path.mtu {
            self.arrive_bulk(now, id, out);
            return;
        }
        flight.arrived = now.as_ps();
        let resource = ResourceId(self.path.hops[flight.hop].resource);
        match self.path.resources.get(resource.0) {
            Resource::Shared(_) => self.arrive_packet(now, resource, id, out),
            Resource::Servers(_) => self.arrive_at_servers(now, resource, id, out),
            Resource::Unused => unreachable!("a path begins what it crosses"),
        }
    }

    /// Bulk visits the servers of its path one by one, then flows over all shared hops at once.
    fn arrive_bulk(&mut self, now: Time, id: u32, out: &mut impl Schedule) {
        loop {
            let flight = &mut self.path.flights[id];
            if flight.hop == flight.end_hop {
                self.join_flow(now, id, out);
                return;
            }
            let resource = ResourceId(self.path.hops[flight.hop].resource);
            if matches!(self.path.resources.get(resource.0), Resource::Servers(_)) {
                flight.arrived = now.as_ps();
                self.arrive_at_servers(now, resource, id, out);
                return;
            }
            flight.hop += 1;
        }
    }

    fn arrive_at_servers(
        &mut self,
        now: Time,
        resource: ResourceId,
        id: u32,
        out: &mut impl Schedule,
    ) {
        self.path.meet_promises_at_servers(now, resource, out);
        let servers = self.path.resources.servers_mut(resource.0);
        let end = servers.admit(now, now);
        if end == now {
            // Free of cost: nothing competes.
            self.leave_servers(now, resource, id, end, out);
            return;
        }
        let mut place = servers.insert(now, id, end, &self.path.flights);
        while let Some(served) = self.path.resources.servers_mut(resource.0).served(place) {
            if served.flight != id {
                self.take_back(served, out);
            }
            self.leave_servers(now, resource, served.flight, served.end, out);
            place += 1;
        }
    }

    /// Undoes the departure of a transfer that an arrival of the same instant pushed back.
    fn take_back(&mut self, served: Served, out: &mut impl Schedule) {
        self.path.withdraw(served.flight, served.hop, served.tail, out);
        let flight = &self.path.flights[served.flight];
        if flight.hop == flight.first_hop {
            self.conns[flight.conn].is_inside_again();
        }
    }

    #[inline]
    fn leave_servers(
        &mut self,
        now: Time,
        resource: ResourceId,
        id: u32,
        end: Time,
        out: &mut impl Schedule,
    ) {
        let path = &mut self.path;
        let flight = &mut path.flights[id];
        let first = flight.hop == flight.first_hop;
        let conn = flight.conn;
        let packet = flight.bytes <= path.mtu;
        // Bulk has its latency at the end of its flow.
        let latency =
            if packet { path.hops.latency(path.hops[flight.hop]) } else { TimeDelta::ZERO };
        let (hop, came, tail) = (flight.hop, flight.arrived, flight.tail);
        flight.hop += 1;
        flight.tail = flight.tail.max(end.as_ps()) + latency.as_ps();
        let arrival = end + latency;
        let generation = flight.generation;
        path.see_unit(id, hop, (came, end.as_ps()), tail);
        if packet {
            path.go_on(now, id, arrival.as_ps(), resource, out);
        } else {
            out.at(arrival, resource, FabricEvent::new(EventKind::Arrive, id, generation));
        }
        if first {
            self.leave_first_hop(conn, end, resource, out);
        }
    }

    /// Bulk has passed its processing units: flow, or wait for the connection's flow to end.
    fn join_flow(&mut self, now: Time, id: u32, out: &mut impl Schedule) {
        let conn = self.path.flights[id].conn;
        if self.conns[conn].wait_for_flow(id, &mut self.path.flights) {
            return;
        }
        let flow = self.bulk.take_flow();
        self.conns[conn].set_flow(Some(flow));
        if !self.bulk.begin(now, flow, id, &mut self.path, out) {
            // Only processing units: nothing limits it.
            self.finish_flow(now, flow, out);
        }
    }

    /// The flow may be done.
    pub(super) fn flow_end(
        &mut self,
        now: Time,
        flow: u32,
        generation: u32,
        out: &mut impl Schedule,
    ) {
        if self.bulk.has_ended(now, flow, generation, &self.path, out) {
            self.finish_flow(now, flow, out);
        }
    }

    /// The last byte moved: account, send on, and hand the rate to the connection's next bulk.
    fn finish_flow(&mut self, now: Time, flow: u32, out: &mut impl Schedule) {
        let id = self.bulk.send_on(now, flow, &mut self.path, out);
        let flight = &self.path.flights[id];
        let (conn, finished) = (flight.conn, (flight.path, flight.bytes));
        let gated = self.path.resources.is_shared(self.path.first_resource(id));
        let has_servers = self.path.hops.path(flight.path).has_servers;
        let (state, flights) = (&mut self.conns[conn], &self.path.flights);
        if gated {
            state.bulk_leaves(now);
        }
        let mut next = state.next_bulk(flights);
        if next.is_none() && gated && !has_servers {
            next = state.next_like(finished, flights);
        }
        if let Some(next) = next {
            if !self.bulk.hand_over(now, flow, (next, finished), &mut self.path, out) {
                self.finish_flow(now, flow, out);
            }
        } else {
            self.conns[conn].set_flow(None);
            self.bulk.end(now, flow, &mut self.path, out);
        }
        if gated {
            self.open_gate(now, ConnId(conn), out);
        }
    }

    /// The transfer is at the end of its path: deliver it and those that waited for it.
    pub(super) fn arrive_at_end(&mut self, id: u32, delivered: &mut Vec<Delivery>) {
        let conn = self.path.flights[id].conn;
        let state = &mut self.conns[conn];
        if !state.may_deliver(id, &mut self.path.flights) {
            return;
        }
        let mut next = Some(id);
        while let Some(id) = next {
            if self.path.watch.is_some() {
                journey::record(&mut self.path, id, state.is_followed());
            }
            let flight = self.path.flights.remove(id);
            delivered.push(Delivery { token: flight.token });
            next = state.delivered(&self.path.flights);
        }
    }
}
