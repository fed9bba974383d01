//! Identical first-come-first-served servers with a fixed time per transfer.
//!
//! With one service time for all, the end of a transfer is known when it arrives: the server that
//! becomes free next began its present work `count` transfers ago. Arrivals of the same instant are
//! ordered by connection, so one that is told later may push others back.

use std::collections::VecDeque;

use super::ahead::Coming;
use super::arena::Flight;
use super::spec::{EventKind, FabricEvent, ResourceStats, Schedule};
use super::{Fabric, ResourceId};
use crate::units::{Time, TimeDelta};

#[derive(Clone, Debug)]
pub(super) struct Servers {
    pub(super) per_item: TimeDelta,
    /// Ends of the last `count` transfers, oldest at `oldest`.
    pub(super) ends: Vec<Time>,
    pub(super) oldest: usize,
    /// Starts of transfers that had to wait, oldest first.
    starts: VecDeque<Time>,
    /// Transfers that arrived in this instant in the order of service, and when each slot ends.
    batch: Vec<Served>,
    batch_at: Time,
    items: u64,
    queue_max: usize,
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
        let mut then = self.clone();
        then.come_true_before(now.as_ps() + 1);
        ResourceStats {
            busy: then.per_item * then.items,
            raw_bytes: 0,
            packets: then.items,
            transfers: then.items,
            queue_max: u32::try_from(then.queue_max).unwrap_or(u32::MAX),
        }
    }

    /// Takes the next slot and answers when its service ends.
    #[inline]
    pub(super) fn admit(&mut self, now: Time) -> Time {
        let start = self.ends[self.oldest].max(now);
        while self.starts.front().is_some_and(|&began| began <= now) {
            self.starts.pop_front();
        }
        if start > now {
            self.starts.push_back(start);
            self.queue_max = self.queue_max.max(self.starts.len());
        }
        let end = start + self.per_item;
        self.ends[self.oldest] = end;
        self.oldest = if self.oldest + 1 == self.ends.len() { 0 } else { self.oldest + 1 };
        self.items += 1;
        end
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
        let end = servers.admit(now);
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
            self.hops[flight.hop as usize].latency
        } else {
            TimeDelta::ZERO
        };
        flight.hop += 1;
        flight.tail = flight.tail.max(end.as_ps()) + latency.as_ps();
        let arrival = end + latency;
        if flight.bytes <= self.mtu {
            self.go_on(now, id, arrival.as_ps(), resource, out);
        } else {
            out.at(arrival, resource, FabricEvent::new(EventKind::Arrive, id, flight.generation));
        }
        if first {
            self.leave_first_hop(conn, end, resource, out);
        }
    }
}
