//! Max-min fair rates: water filling over the flows that share resources with what changed.

use super::arena::Flights;
use super::datapath::Datapath;
use super::flows::{Flow, Flows, load};
use super::resource::Resources;
use super::spec::{EventKind, FabricEvent, ResourceId, SHARE_BITS, Schedule};
use units::Time;

/// Above this many flows that hang together, rates are solved once per round.
/// Method: solving takes time in proportion to the flows.
const LARGE: u32 = 32;

/// Working space and counters of the solver.
#[derive(Debug, Default)]
pub(super) struct Solver {
    /// Resources whose flows changed, and when their rates are due.
    dirty: Vec<(u64, u32)>,
    /// Resources to visit.
    reached: Vec<u32>,
    /// The earliest `Solve` event under way.
    next_due: Option<u64>,
    visit: u64,
    resources: Vec<Level>,
    flows: Vec<u32>,
    /// Connection and flow in one word, to be sorted.
    order: Vec<u64>,
    /// Last visit of each resource, and its place in `resources`.
    places: Vec<(u64, u32)>,
    solves: u64,
    flows_solved: u64,
}

/// A resource during a solve.
#[derive(Clone, Copy, Debug)]
struct Level {
    resource: u32,
    /// Capacity that no final flow uses.
    left: u64,
    /// Sum of weight times share of the flows whose rates are not final.
    weights: u128,
    /// The rate that those flows would get here for one usual share; stale where `changed`.
    share: u64,
    changed: bool,
    /// The highest rate of its flows for one usual share.
    highest: u64,
    /// Loads are rounded up when they are taken off: a flow that is left when many were taken may be
    /// this much slower than they are, and is still no slower than the rest of the capacity allows.
    rounding: u64,
}

impl Level {
    fn update(&mut self) {
        let level = (u128::from(self.left) << (32 + SHARE_BITS)).checked_div(self.weights);
        self.share = level.and_then(|level| u64::try_from(level).ok()).unwrap_or(u64::MAX);
        self.changed = false;
    }
}

impl Solver {
    /// Rate solutions computed so far, and flows they covered.
    pub(super) const fn counts(&self) -> (u64, u64) {
        (self.solves, self.flows_solved)
    }

    /// The flows of `resource` changed: new rates are due at once, or, where very many flows hang
    /// together, one round of all turns after the last solve. Round robin reacts no faster.
    pub(super) fn ask(
        &mut self,
        now: Time,
        resource: u32,
        resources: &Resources,
        out: &mut impl Schedule,
    ) {
        let due = due(now.as_ps(), resource, resources);
        self.dirty.push((due, resource));
        if self.next_due.is_none_or(|next| due < next) {
            self.next_due = Some(due);
            let event = FabricEvent::new(EventKind::Solve, 0, 0);
            out.at(Time::from_ps(due), ResourceId(resource), event);
        }
    }

    /// Gives new rates to all flows that hang together with a change that is due.
    pub(super) fn solve(
        &mut self,
        now: Time,
        flows: &mut Flows,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        let due = |entry: &(u64, u32)| entry.0 <= now.as_ps();
        if !self.dirty.iter().any(due) {
            return;
        }
        self.reached.extend(self.dirty.iter().filter(|entry| due(entry)).map(|entry| entry.1));
        self.collect(flows, &path.resources);
        self.order_flows(flows, &path.flights);
        let Self { dirty, places, visit, .. } = self;
        dirty.retain(|&(_, resource)| places[resource as usize].0 != *visit);
        for &flow in &self.flows {
            flows.settle(now.as_ps(), flow, &path.resources);
        }
        self.fill(flows, &path.resources);
        self.publish(now, flows, path, out);
        self.solves += 1;
        self.flows_solved += self.flows.len() as u64;
        self.next_due = self.dirty.iter().map(|entry| entry.0).min();
        if let Some(&(due, resource)) = self.dirty.iter().min() {
            let event = FabricEvent::new(EventKind::Solve, 0, 0);
            out.at(Time::from_ps(due), ResourceId(resource), event);
        }
    }

    /// Gathers everything that is connected with what changed.
    fn collect(&mut self, flows: &mut Flows, all: &Resources) {
        self.visit += 1;
        let visit = self.visit;
        self.places.resize(all.specs().len(), (0, 0));
        self.resources.clear();
        self.flows.clear();
        let Self { reached, places, .. } = self;
        // Each is visited once: `fresh` is true for the first to ask.
        let fresh = |places: &mut Vec<(u64, u32)>, resource: u32| {
            std::mem::replace(&mut places[resource as usize].0, visit) != visit
        };
        reached.retain(|&resource| fresh(places, resource));
        while let Some(resource) = self.reached.pop() {
            let shared = all.shared(resource);
            let left = shared.rate - shared.fluid.reserve.kept(shared.rate);
            let (share, highest, rounding) = (0, 0, 0);
            let level =
                Level { resource, left, weights: 0, share, changed: true, highest, rounding };
            self.resources.push(level);
            for &(flow, _) in &shared.fluid.members {
                let state = &mut flows[flow];
                if state.visited != visit {
                    state.visited = visit;
                    state.frozen = false;
                    self.flows.push(flow);
                    let Self { reached, places, .. } = &mut *self;
                    let hops = state.hops.iter().map(|hop| hop.resource);
                    reached.extend(hops.filter(|&resource| fresh(places, resource)));
                }
            }
        }
        self.resources.sort_unstable_by_key(|level| level.resource);
        for (place, level) in (0..).zip(&self.resources) {
            self.places[level.resource as usize].1 = place;
        }
    }

    /// Events of one instant are asked for in the order of connections.
    fn order_flows(&mut self, all: &Flows, flights: &Flights) {
        let Self { flows, order, .. } = self;
        let conn = |flow: u32| u64::from(flights[all[flow].flight].conn);
        order.clear();
        order.extend(flows.iter().map(|&flow| conn(flow) << 32 | u64::from(flow)));
        order.sort_unstable();
        flows.clear();
        flows.extend(order.iter().map(|&word| flow_of(word)));
    }

    /// Raises all rates together; a flow that meets a full resource keeps the level reached.
    fn fill(&mut self, all: &mut Flows, shared: &Resources) {
        let Self { resources, places, flows, .. } = self;
        for &flow in flows.iter() {
            let state = &all[flow];
            for hop in &state.hops {
                resources[places[hop.resource as usize].1 as usize].weights +=
                    u128::from(hop.weight) * u128::from(state.share);
            }
        }
        loop {
            // A division each: once a round, however many flows became final.
            resources.iter_mut().filter(|level| level.changed).for_each(Level::update);
            let Some(full) = resources.iter().filter(|l| l.weights > 0).min_by_key(|l| l.share)
            else {
                return;
            };
            let (resource, level_of_all) = (full.resource, full.share);
            for &(flow, _) in &shared.shared(resource).fluid.members {
                let state = &mut all[flow];
                if state.frozen {
                    continue;
                }
                state.frozen = true;
                state.level = level_of_all;
                state.rate = rate_of(level_of_all, state.share);
                for hop in &state.hops {
                    let level = &mut resources[places[hop.resource as usize].1 as usize];
                    level.weights -= u128::from(hop.weight) * u128::from(state.share);
                    level.left = level.left.saturating_sub(load(state.rate, hop.weight) + 1);
                    level.rounding += 1;
                    level.highest = level.highest.max(level_of_all);
                    level.changed = true;
                }
            }
        }
    }

    /// Gives the flows their rates, and the resources what their packets need to know.
    fn publish(&self, now: Time, flows: &mut Flows, path: &mut Datapath, out: &mut impl Schedule) {
        for &flow in &self.flows {
            let limit = self.limit_of(&flows[flow], &path.resources);
            let rate = flows[flow].rate;
            flows.set_rate(flow, rate, limit, path, out);
        }
        let component = u32::try_from(self.flows.len()).expect("fewer than 2^32 flows");
        for level in &self.resources {
            path.promises_meet_flows(now, level.resource, out);
            publish_resource(now, level.resource, flows, path);
            let shared = path.resources.shared_mut(level.resource);
            let full = shared.fluid.backlogged > 0;
            shared.fluid.left = level.left;
            shared.fluid.level = if full { level.highest } else { shared.rate };
            shared.fluid.component = component;
            shared.fluid.solved_at = now.as_ps();
        }
    }

    /// The first full hop where no flow is faster: there the flow's segments wait.
    ///
    /// Reserves are estimates, so one of two equal stages looks narrower by chance. Segments queue
    /// at the first of them: an earlier hop counts as full within 1/16 if it has a reserve and is
    /// no faster than the one that is really full.
    fn limit_of(&self, flow: &Flow, resources: &Resources) -> u32 {
        let shared = |resource: u32| resources.shared(resource);
        let fullness = |resource: u32, margin: u32| {
            let place = self.places[resource as usize].1 as usize;
            let Level { left, highest, rounding, .. } = self.resources[place];
            let slack = (highest >> margin) + rounding;
            left <= shared(resource).rate >> margin && flow.level + slack >= highest
        };
        let full = flow.hops.iter().find(|hop| fullness(hop.resource, 20));
        let full = full.expect("a max-min flow has a full hop where no flow is faster").resource;
        let before = flow.hops.iter().take_while(|hop| hop.resource != full);
        let first = before.map(|hop| hop.resource).find(|&resource| {
            shared(resource).fluid.reserve.is_kept()
                && shared(resource).rate <= shared(full).rate
                && fullness(resource, 4)
        });
        first.unwrap_or(full)
    }
}

/// When the rates of `resource` may change next.
pub(super) fn due(now: u64, resource: u32, resources: &Resources) -> u64 {
    let fluid = &resources.shared(resource).fluid;
    if fluid.component <= LARGE {
        return now;
    }
    now.max(fluid.solved_at + fluid.turn * fluid.members.len() as u64)
}

fn publish_resource(now: Time, resource: u32, flows: &Flows, path: &mut Datapath) {
    let mtu = path.mtu;
    let shared = path.resources.shared_mut(resource);
    let (mut backlogged, mut limited, mut passing, mut weights) = (0_u32, 0_u64, 0_u64, 0_u128);
    for &(flow, hop) in &shared.fluid.members {
        let state = &flows[flow];
        let weight = state.hops[hop as usize].weight;
        if state.limit == resource {
            backlogged += 1;
            weights += u128::from(weight);
            limited += load(state.rate, weight);
        } else {
            passing += load(state.rate, weight);
        }
    }
    let (rate, packet_ends) = (shared.rate, shared.free_at);
    let fluid = &mut shared.fluid;
    let kept = fluid.reserve.kept(rate);
    assert!(passing + limited + kept <= rate, "a solve gives out no more than there is");
    if fluid.backlogged == 0 && (fluid.passing == 0 || backlogged > 0) {
        fluid.anchor = fluid.anchor.max(now.as_ps()).max(packet_ends);
    }
    fluid.backlogged = backlogged;
    fluid.passing = passing;
    fluid.streams.change(now.as_ps());
    fluid.segment = turn_of(mtu, u128::from(u32::MAX) + 1, 1, rate);
    fluid.turn = fluid.segment;
    if backlogged > 0 {
        fluid.segment = turn_of(mtu, weights, backlogged, rate);
        fluid.turn = turn_of(mtu, weights, backlogged, rate - passing);
        let scale = (u128::from(rate) << 32) / u128::from(limited.max(1));
        fluid.stolen_scale = u64::try_from(scale).expect("a limit leaves capacity to share");
    }
}

/// Rate of a flow of `share` where one usual share gets `level`.
fn rate_of(level: u64, share: u32) -> u64 {
    let rate = (u128::from(level) * u128::from(share)) >> SHARE_BITS;
    u64::try_from(rate.max(1)).expect("rates are below 2^63")
}

#[expect(clippy::cast_possible_truncation, reason = "the low half of the word is the flow")]
const fn flow_of(word: u64) -> u32 {
    word as u32
}

/// How long one MTU of a backlogged flow lasts, on average.
fn turn_of(mtu: u64, weights: u128, flows: u32, rate: u64) -> u64 {
    let raw = (u128::from(mtu) * weights / u128::from(flows)) << 8;
    let turn = (raw + u128::from(rate) / 2) / u128::from(rate);
    u64::try_from(turn.max(1)).expect("an MTU lasts less than 213 days")
}
