//! Bulk: one fluid flow per connection over all shared hops of its path.

use std::collections::BTreeMap;

use super::arena::NONE;
use super::datapath::Datapath;
use super::flows::Flows;
use super::solve::{Solver, due};
use super::spec::{EventKind, FabricEvent, ResourceId, Schedule, Share};
use units::Time;

/// All flows, and their rates.
#[derive(Debug, Default)]
pub(super) struct Bulk {
    flows: Flows,
    solver: Solver,
    /// By connection: shares that are not the usual one.
    shares: BTreeMap<u32, u32>,
}

impl Bulk {
    /// Rate solutions computed so far, and flows they covered.
    pub(super) const fn solves(&self) -> (u64, u64) {
        self.solver.counts()
    }

    /// Gives a connection's bulk another share from now on; `flow` is the one that is under way.
    pub(super) fn set_share(
        &mut self,
        now: Time,
        conn: u32,
        (flow, share): (Option<u32>, Share),
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        if share == Share::ONE {
            self.shares.remove(&conn);
        } else {
            self.shares.insert(conn, share.0);
        }
        if let Some(flow) = flow
            && self.flows.share(flow) != share.0
        {
            self.flows.set_share(flow, share.0, path);
            self.ask_after_change(now, flow, path, out);
        }
    }

    /// A flow that has no transfer yet.
    pub(super) fn take_flow(&mut self) -> u32 {
        self.flows.take_slot()
    }

    /// Begins the flow of a transfer; answers whether it crosses anything that could limit it.
    pub(super) fn begin(
        &mut self,
        now: Time,
        flow: u32,
        id: u32,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) -> bool {
        let share = self.shares.get(&path.flights[id].conn).copied();
        self.flows.begin(now, flow, id, share.unwrap_or(Share::ONE.0), path);
        if self.flows.hops(flow).is_empty() {
            return false;
        }
        self.flows.join(flow, &mut path.resources);
        let is_late = |resource: u32| due(now.as_ps(), resource, &path.resources) > now.as_ps();
        let late = self.flows.hops(flow).iter().position(|hop| is_late(hop.resource));
        if late.is_some() {
            self.flows.start_on_leftovers(flow, path, out);
        }
        // Where the wait is longest, for there the flow must not come sooner than a round allows.
        let hop = self.flows.hops(flow)[late.unwrap_or(0)];
        self.solver.ask(now, hop.resource, &path.resources, out);
        true
    }

    /// Gives the flow that ended with `finished` (path and bytes) to the next bulk of its connection:
    /// unsolved if that weighs the same. Answers whether anything could limit it.
    pub(super) fn hand_over(
        &mut self,
        now: Time,
        flow: u32,
        (next, finished): (u32, (u32, u64)),
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) -> bool {
        let flight = &path.flights[next];
        if (flight.path, flight.bytes) == finished && self.flows[flow].rate > 0 {
            self.flows.go_on(flow, next, path, out);
            return true;
        }
        self.flows.leave(flow, &mut path.resources);
        self.ask_after_change(now, flow, path, out);
        self.begin(now, flow, next, path, out)
    }

    /// Ends a flow that no bulk of its connection takes over.
    pub(super) fn end(
        &mut self,
        now: Time,
        flow: u32,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        self.flows.leave(flow, &mut path.resources);
        self.ask_after_change(now, flow, path, out);
        self.flows.end(flow);
    }

    /// Every resource of a flow that left, or whose share is another, may share in another way.
    fn ask_after_change(&mut self, now: Time, flow: u32, path: &Datapath, out: &mut impl Schedule) {
        for hop in self.flows.hops(flow) {
            self.solver.ask(now, hop.resource, &path.resources, out);
        }
    }

    /// The flows of a resource may have other rates.
    pub(super) fn ask(
        &mut self,
        now: Time,
        resource: ResourceId,
        path: &Datapath,
        out: &mut impl Schedule,
    ) {
        self.solver.ask(now, resource.0, &path.resources, out);
    }

    /// Gives the flows their new rates.
    pub(super) fn solve(&mut self, now: Time, path: &mut Datapath, out: &mut impl Schedule) {
        self.solver.solve(now, &mut self.flows, path, out);
    }

    /// Whether the end of a flow was computed for a rate, or a transfer, that it has no more.
    pub(super) fn is_old_end(&self, flow: u32, generation: u32) -> bool {
        self.flows.is_old_end(flow, generation)
    }

    /// The transfer of a flow, and the resource that limits it.
    pub(super) fn transfer_of(&self, flow: u32) -> (u32, ResourceId) {
        let flow = &self.flows[flow];
        (flow.flight, ResourceId(flow.limit))
    }

    /// Whether a flow whose end is due is at its end.
    pub(super) fn has_ended(
        &mut self,
        now: Time,
        flow: u32,
        generation: u32,
        path: &Datapath,
        out: &mut impl Schedule,
    ) -> bool {
        #[cfg(test)]
        if self.flows[flow].flight != NONE && self.obeys_stale_ends(flow, path) {
            return true;
        }
        !self.is_old_end(flow, generation) && self.flows.has_ended(now, flow, &path.resources, out)
    }

    /// The last byte of a flow moved: counts its transfer and sends it on to the end of its path.
    /// Answers the transfer.
    pub(super) fn send_on(
        &self,
        now: Time,
        flow: u32,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) -> u32 {
        let state = &self.flows[flow];
        let id = state.flight;
        self.flows.count(flow, &mut path.resources);
        let arrival = now + state.latency_and_fill(path);
        path.see_flowed(id);
        let resource = ResourceId(path.first_resource(id));
        let flight = &mut path.flights[id];
        flight.hop = NONE;
        out.at(arrival, resource, FabricEvent::new(EventKind::Arrive, id, flight.generation));
        id
    }

    /// Raw bytes of the present transfers of a resource's flows that moved over it until `now`.
    pub(super) fn moved_until(&self, now: Time, resource: ResourceId, path: &Datapath) -> u128 {
        self.flows.moved_until(now.as_ps(), resource.0, path)
    }

    /// Gathers the flows that pass by `resource`, if they have other rates since that was done.
    pub(super) fn gather_streams(&self, now: Time, resource: ResourceId, path: &mut Datapath) {
        let fluid = &path.resources.shared(resource.0).fluid;
        if fluid.passing > 0 && fluid.streams.is_stale() {
            self.flows.gather(resource.0, path.mtu, &mut path.resources);
            align_streams(now, resource, path);
        }
    }

    /// A packet comes to `resource` where no other is: from now on the streams of flows that pass by
    /// are in step with the turns where they are limited.
    pub(super) fn renew_streams(&self, now: Time, resource: ResourceId, path: &mut Datapath) {
        let fluid = &path.resources.shared(resource.0).fluid;
        if fluid.passing > 0 {
            if fluid.streams.is_stale() {
                self.flows.gather(resource.0, path.mtu, &mut path.resources);
            }
            align_streams(now, resource, path);
        }
    }

    /// Filters the packet load of the window that ends, and asks for a solve if the reserve must
    /// follow it.
    pub(super) fn end_of_window(
        &mut self,
        now: Time,
        resource: ResourceId,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        let mtu = path.mtu;
        let (asks, mtu_time) = path.resources.shared_mut(resource.0).end_window(now, mtu);
        if asks {
            self.solver.ask(now, resource.0, &path.resources, out);
        }
        self.give_back(now, resource, mtu_time, path, out);
        let shared = path.resources.shared_mut(resource.0);
        if shared.fluid.reserve.made().goes_on() {
            shared.watch_load(now, resource, mtu, out);
        }
    }

    /// Speeds up the flows that are limited here by the time that packets left of their reserve.
    fn give_back(
        &mut self,
        now: Time,
        resource: ResourceId,
        mtu_time: u64,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        let fluid = &mut path.resources.shared_mut(resource.0).fluid;
        let saved = fluid.reserve.made().withdraw(now.as_ps(), mtu_time);
        if saved == 0 || fluid.backlogged == 0 {
            return;
        }
        let scaled = (u128::from(saved) * u128::from(fluid.stolen_scale)) >> 32;
        let gift = u64::try_from(scaled).expect("a gift is short");
        for at in 0..path.resources.shared(resource.0).fluid.members.len() {
            let (flow, _) = path.resources.shared(resource.0).fluid.members[at];
            let is_limited_here = self.flows[flow].limit == resource.0;
            if is_limited_here && self.flows.may_hurry(flow, &path.resources) {
                self.flows.hurry(now, flow, gift, path, out);
            }
        }
    }

    #[cfg(test)]
    fn obeys_stale_ends(&self, flow: u32, path: &Datapath) -> bool {
        let first = self.flows.hops(flow)[0].resource;
        let fault = path.resources.shared(first).fault;
        fault == Some(super::tests::Fault::StaleEndObeyed)
    }
}

/// Puts the streams that pass by `resource` in step with the turns at their limits.
fn align_streams(now: Time, resource: ResourceId, path: &mut Datapath) {
    let mut streams = std::mem::take(&mut path.resources.shared_mut(resource.0).fluid.streams);
    streams.align(|limit| path.resources.shared(limit).fluid.anchor_before(now.as_ps()));
    path.resources.shared_mut(resource.0).fluid.streams = streams;
}
