//! Identical first-come-first-served servers with a fixed time per transfer.
//!
//! With one service time for all, the end of a transfer is known when it arrives: the server that
//! becomes free next began its present work `count` transfers ago. Arrivals of the same instant are
//! ordered by connection, so one that is told later may push others back.

use std::collections::VecDeque;

use super::arena::Flight;
use super::promises::{Coming, Promise};
use super::spec::{EventKind, FabricEvent, ResourceStats, Schedule};
use super::{Fabric, ResourceId};
use units::{Time, TimeDelta};

#[derive(Debug)]
pub(super) struct Servers {
    pub(super) per_item: TimeDelta,
    /// Ends of the last `count` transfers, oldest at `oldest`.
    ends: Vec<Time>,
    oldest: usize,
    /// Starts of transfers that had to wait, oldest first.
    starts: VecDeque<Time>,
    /// Transfers that arrived in this instant in the order of service, and when each slot ends.
    batch: Vec<Served>,
    batch_at: Time,
    items: u64,
    pub(super) queue_max: u32,
    pub(super) coming: Coming,
}

#[derive(Clone, Copy, Debug)]
struct Served {
    flight: u32,
    hop: u32,
    /// The flight's `tail` before this hop.
    tail: u64,
    end: Time,
}

impl Servers {
    pub(super) fn new(count: u32, per_item: TimeDelta) -> Self {
        assert!(count > 0, "a pool of servers has at least one");
        Self {
            per_item,
            ends: vec![Time::ZERO; count as usize],
            oldest: 0,
            starts: VecDeque::new(),
            batch: Vec::new(),
            batch_at: Time::ZERO,
            items: 0,
            queue_max: 0,
            coming: Coming::default(),
        }
    }

    pub(super) fn stats(&self, now: Time) -> ResourceStats {
        let later = self.coming.promises.iter().filter(|promise| promise.start > now.as_ps());
        let items = self.items - later.count() as u64;
        ResourceStats {
            busy: self.per_item * items,
            raw_bytes: 0,
            packets: items,
            transfers: items,
            queue_max: self.queue_max,
        }
    }

    /// Takes the next slot for a transfer that comes at `arrival` and answers when its service ends.
    #[inline]
    pub(super) fn admit(&mut self, now: Time, arrival: Time) -> Time {
        let start = self.next_free().max(arrival);
        while self.starts.front().is_some_and(|&began| began <= now) {
            self.starts.pop_front();
        }
        if start > arrival {
            self.starts.push_back(start);
            let waiting = self.starts.iter().rev().take_while(|&&start| start > arrival).count();
            self.queue_max = self.queue_max.max(u32::try_from(waiting).unwrap_or(u32::MAX));
        }
        let end = start + self.per_item;
        self.ends[self.oldest] = end;
        self.oldest = if self.oldest + 1 == self.ends.len() { 0 } else { self.oldest + 1 };
        self.items += 1;
        end
    }

    /// Nothing begins before `until`.
    pub(super) fn hold(&mut self, until: Time) {
        for end in &mut self.ends {
            *end = (*end).max(until);
        }
        // Their ends are settled: who comes in this instant waits behind them.
        self.batch.clear();
    }

    /// When the server is free that serves next.
    #[inline]
    pub(super) fn next_free(&self) -> Time {
        self.ends[self.oldest]
    }

    /// Takes back the service that was admitted last, a promise.
    pub(super) fn take_back_last(&mut self, promise: &Promise) {
        self.oldest = self.oldest.checked_sub(1).unwrap_or(self.ends.len() - 1);
        self.ends[self.oldest] = Time::from_ps(promise.end);
        self.items -= 1;
        self.queue_max = promise.queue_max;
        if promise.end > promise.start {
            self.starts.pop_back();
        }
    }
}

impl Fabric {
    pub(super) fn arrive_at_servers(
        &mut self,
        now: Time,
        resource: ResourceId,
        id: u32,
        out: &mut impl Schedule,
    ) {
        self.meet_promises_at_servers(now, resource, out);
        let servers = self.resources[resource.0 as usize].servers_mut();
        let end = servers.admit(now, now);
        if end == now {
            // Free of cost: nothing competes.
            self.leave_servers(now, resource, id, end, out);
            return;
        }
        if servers.batch_at != now {
            servers.batch_at = now;
            servers.batch.clear();
        }
        let flights = &self.flights;
        let Flight { hop, tail, .. } = flights[id];
        servers.batch.push(Served { flight: id, hop, tail, end });
        let mut at = servers.batch.len() - 1;
        while at > 0 && flights[id].precedes(&flights[servers.batch[at - 1].flight]) {
            let before = servers.batch[at - 1];
            servers.batch[at] = Served { end: servers.batch[at].end, ..before };
            servers.batch[at - 1] = Served { flight: id, hop, tail, end: before.end };
            at -= 1;
        }
        for place in at..servers.batch.len() {
            let served = self.resources[resource.0 as usize].servers_mut().batch[place];
            if served.flight != id {
                self.take_back(served, out);
            }
            self.leave_servers(now, resource, served.flight, served.end, out);
        }
    }

    /// Undoes the departure of a transfer that an arrival of the same instant pushed back.
    fn take_back(&mut self, served: Served, out: &mut impl Schedule) {
        self.withdraw(served.flight, served.hop, served.tail, out);
        let flight = &self.flights[served.flight];
        if flight.hop == flight.first_hop {
            self.conns[flight.conn as usize].inside += 1;
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
        let flight = &mut self.flights[id];
        let first = flight.hop == flight.first_hop;
        let conn = flight.conn;
        // Bulk has its latency at the end of its flow.
        let latency = if flight.bytes <= self.mtu {
            self.hops.latency(&self.hops[flight.hop])
        } else {
            TimeDelta::ZERO
        };
        let (hop, came, tail) = (flight.hop, flight.arrived, flight.tail);
        flight.hop += 1;
        flight.tail = flight.tail.max(end.as_ps()) + latency.as_ps();
        let arrival = end + latency;
        let (packet, generation) = (flight.bytes <= self.mtu, flight.generation);
        self.see_unit(id, hop, (came, end.as_ps()), tail);
        if packet {
            self.go_on(now, id, arrival.as_ps(), resource, out);
        } else {
            out.at(arrival, resource, FabricEvent::new(EventKind::Arrive, id, generation));
        }
        if first {
            self.leave_first_hop(conn, end, resource, out);
        }
    }
}
