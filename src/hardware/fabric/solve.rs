//! Max-min fair rates: water filling over the classes of flows that share resources with what
//! changed.

use super::classes::{Class, Classes};
use super::datapath::Datapath;
use super::flows::{Flows, load};
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
    classes: Vec<u32>,
    /// Connections and flows whose ends come sooner.
    sooner: Vec<(u32, u32)>,
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
        self.collect(&mut flows.classes, &path.resources);
        let Self { dirty, places, visit, .. } = self;
        dirty.retain(|&(_, resource)| places[resource as usize].0 != *visit);
        self.fill(&mut flows.classes, &path.resources);
        self.set_rates(now, flows, path, out);
        self.publish(now, &flows.classes, path, out);
        self.solves += 1;
        self.next_due = self.dirty.iter().map(|entry| entry.0).min();
        if let Some(&(due, resource)) = self.dirty.iter().min() {
            let event = FabricEvent::new(EventKind::Solve, 0, 0);
            out.at(Time::from_ps(due), ResourceId(resource), event);
        }
    }

    /// Gathers everything that is connected with what changed.
    fn collect(&mut self, classes: &mut Classes, all: &Resources) {
        self.visit += 1;
        let visit = self.visit;
        self.places.resize(all.specs().len(), (0, 0));
        self.resources.clear();
        self.classes.clear();
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
            for &(class, _) in &shared.fluid.classes {
                let state = &mut classes[class];
                if state.visited != visit {
                    state.visited = visit;
                    state.frozen = false;
                    self.classes.push(class);
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

    /// Raises all rates together; a flow that meets a full resource keeps the level reached.
    fn fill(&mut self, all: &mut Classes, shared: &Resources) {
        let Self { resources, places, classes, .. } = self;
        for &class in classes.iter() {
            let state = &all[class];
            for hop in &state.hops {
                let level = &mut resources[places[hop.resource as usize].1 as usize];
                level.weights += hop.pull * u128::from(state.count());
            }
        }
        loop {
            // A division each: once a round, however many classes became final.
            resources.iter_mut().filter(|level| level.changed).for_each(Level::update);
            let Some(full) = resources.iter().filter(|l| l.weights > 0).min_by_key(|l| l.share)
            else {
                return;
            };
            let (resource, level_of_all) = (full.resource, full.share);
            for &(class, _) in &shared.shared(resource).fluid.classes {
                let state = &mut all[class];
                if state.frozen {
                    continue;
                }
                state.frozen = true;
                state.level = level_of_all;
                state.rate = rate_of(level_of_all, state.likeness.share);
                let count = state.count();
                for hop in &state.hops {
                    let level = &mut resources[places[hop.resource as usize].1 as usize];
                    level.weights -= hop.pull * u128::from(count);
                    let taken = (load(state.rate, hop.weight) + 1).saturating_mul(count);
                    level.left = level.left.saturating_sub(taken);
                    level.rounding += count;
                    level.highest = level.highest.max(level_of_all);
                    level.changed = true;
                }
            }
        }
    }

    /// Gives the flows their rates. Events of one instant are asked for in the order of connections.
    fn set_rates(
        &mut self,
        now: Time,
        flows: &mut Flows,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        let mut sooner = std::mem::take(&mut self.sooner);
        for &class in &self.classes {
            flows.classes[class].limit = self.limit_of(&flows.classes[class], &path.resources);
            flows.set_rates(now, class, path, &mut sooner);
        }
        sooner.sort_unstable();
        for (_, flow) in sooner.drain(..) {
            flows.move_end(flow, out);
        }
        self.sooner = sooner;
    }

    /// Gives the resources what their packets need to know.
    fn publish(
        &mut self,
        now: Time,
        classes: &Classes,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        let component: u64 = self.classes.iter().map(|&class| classes[class].count()).sum();
        self.flows_solved += component;
        let component = u32::try_from(component).expect("fewer than 2^32 flows");
        for level in &self.resources {
            path.promises_meet_flows(now, level.resource, out);
            publish_resource(now, level.resource, classes, path);
            let shared = path.resources.shared_mut(level.resource);
            let full = shared.fluid.backlogged > 0;
            shared.fluid.left = level.left;
            shared.fluid.level = if full { level.highest } else { shared.rate };
            shared.fluid.component = component;
            shared.fluid.solved_at = now.as_ps();
        }
    }

    /// The first full hop where no flow is faster: there the segments of a class wait.
    ///
    /// Reserves are estimates, so one of two equal stages looks narrower by chance. Segments queue
    /// at the first of them: an earlier hop counts as full within 1/16 if it has a reserve and is
    /// no faster than the one that is really full.
    fn limit_of(&self, class: &Class, resources: &Resources) -> u32 {
        let shared = |resource: u32| resources.shared(resource);
        let fullness = |resource: u32, margin: u32| {
            let place = self.places[resource as usize].1 as usize;
            let Level { left, highest, rounding, .. } = self.resources[place];
            let slack = (highest >> margin) + rounding;
            left <= shared(resource).rate >> margin && class.level + slack >= highest
        };
        let full = class.hops.iter().find(|hop| fullness(hop.resource, 20));
        let full = full.expect("a max-min flow has a full hop where no flow is faster").resource;
        let before = class.hops.iter().take_while(|hop| hop.resource != full);
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

fn publish_resource(now: Time, resource: u32, classes: &Classes, path: &mut Datapath) {
    let mtu = path.mtu;
    let shared = path.resources.shared_mut(resource);
    let (mut backlogged, mut limited, mut passing, mut weights) = (0_u64, 0_u64, 0_u64, 0_u128);
    for &(class, hop) in &shared.fluid.classes {
        let state = &classes[class];
        let (count, weight) = (state.count(), state.hops[hop as usize].weight);
        let load = load(state.rate, weight) * count;
        if state.limit == resource {
            backlogged += count;
            weights += u128::from(weight) * u128::from(count);
            limited += load;
        } else {
            passing += load;
        }
    }
    let backlogged = u32::try_from(backlogged).expect("fewer than 2^32 flows");
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

/// How long one MTU of a backlogged flow lasts, on average.
fn turn_of(mtu: u64, weights: u128, flows: u32, rate: u64) -> u64 {
    let raw = (u128::from(mtu) * weights / u128::from(flows)) << 8;
    let turn = (raw + u128::from(rate) / 2) / u128::from(rate);
    u64::try_from(turn.max(1)).expect("an MTU lasts less than 213 days")
}

#[cfg(test)]
mod tests;
