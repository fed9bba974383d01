//! Max-min fair rates: water filling over the flows that share resources with what changed.

use super::flows::load;
use super::spec::{EventKind, FabricEvent, Schedule};
use super::{Fabric, ResourceId};
use crate::units::Time;

/// Working space and counters of the solver.
#[derive(Debug, Default)]
pub(super) struct Solver {
    /// Resources whose flows changed.
    dirty: Vec<u32>,
    /// A `Solve` event is under way.
    asked: bool,
    visit: u64,
    resources: Vec<Level>,
    flows: Vec<u32>,
    /// Last visit of each resource, and its place in `resources`.
    places: Vec<(u64, u32)>,
    pub(super) solves: u64,
    pub(super) flows_solved: u64,
}

/// A resource during a solve.
#[derive(Clone, Copy, Debug)]
struct Level {
    resource: u32,
    /// Capacity that no final flow uses.
    left: u64,
    /// Sum of the weights of the flows whose rates are not final.
    weights: u128,
    /// The rate that those flows would get here.
    level: u64,
    /// The highest rate of its flows.
    highest: u64,
}

impl Level {
    fn update(&mut self) {
        self.level = if self.weights == 0 {
            u64::MAX
        } else {
            let level = (u128::from(self.left) << 32) / self.weights;
            u64::try_from(level).unwrap_or(u64::MAX)
        };
    }
}

impl Fabric {
    /// The flows of `resource` changed: new rates are due in this instant.
    pub(super) fn ask_for_solve(
        &mut self,
        now: Time,
        resource: ResourceId,
        out: &mut impl Schedule,
    ) {
        self.solver.dirty.push(resource.0);
        if !self.solver.asked {
            self.solver.asked = true;
            out.at(now, resource, FabricEvent::new(EventKind::Solve, 0, 0));
        }
    }

    pub(super) fn solve(&mut self, now: Time, out: &mut impl Schedule) {
        self.solver.asked = false;
        let mut solver = std::mem::take(&mut self.solver);
        self.collect(&mut solver);
        for &flow in &solver.flows {
            self.settle(now.as_ps(), flow);
        }
        self.fill(&mut solver);
        self.publish(now, &solver, out);
        solver.solves += 1;
        solver.flows_solved += solver.flows.len() as u64;
        self.solver = solver;
    }

    /// Gathers everything that is connected with what changed.
    fn collect(&mut self, solver: &mut Solver) {
        solver.visit += 1;
        let visit = solver.visit;
        solver.places.resize(self.resources.len(), (0, 0));
        solver.resources.clear();
        solver.flows.clear();
        while let Some(resource) = solver.dirty.pop() {
            if solver.places[resource as usize].0 == visit {
                continue;
            }
            solver.places[resource as usize].0 = visit;
            let shared = self.resources[resource as usize].shared();
            let left = shared.rate;
            solver.resources.push(Level { resource, left, weights: 0, level: 0, highest: 0 });
            for &(flow, _) in &shared.fluid.members {
                let state = &mut self.flows[flow];
                if state.visited != visit {
                    state.visited = visit;
                    state.frozen = false;
                    solver.flows.push(flow);
                    solver.dirty.extend(state.hops.iter().map(|hop| hop.resource));
                }
            }
        }
        solver.resources.sort_unstable_by_key(|level| level.resource);
        for (place, level) in (0..).zip(&solver.resources) {
            solver.places[level.resource as usize].1 = place;
        }
        // Events of one instant are asked for in the order of connections.
        solver.flows.sort_unstable_by_key(|&flow| self.flights[self.flows[flow].flight].conn);
    }

    /// Raises all rates together; who meets a full resource keeps the level reached.
    fn fill(&mut self, solver: &mut Solver) {
        let Solver { resources, places, flows, .. } = solver;
        for &flow in flows.iter() {
            for hop in &self.flows[flow].hops {
                resources[places[hop.resource as usize].1 as usize].weights +=
                    u128::from(hop.weight);
            }
        }
        for level in resources.iter_mut() {
            level.update();
        }
        loop {
            let Some(full) = resources.iter().filter(|l| l.weights > 0).min_by_key(|l| l.level)
            else {
                return;
            };
            let (resource, rate) = (full.resource, full.level);
            let members = &self.resources[resource as usize].shared().fluid.members;
            for &(flow, _) in members {
                let state = &mut self.flows[flow];
                if state.frozen {
                    continue;
                }
                state.frozen = true;
                state.rate = rate;
                for hop in &state.hops {
                    let level = &mut resources[places[hop.resource as usize].1 as usize];
                    level.weights -= u128::from(hop.weight);
                    level.left = level.left.saturating_sub(load(rate, hop.weight) + 1);
                    level.highest = level.highest.max(rate);
                    level.update();
                }
            }
        }
    }

    /// Gives the flows their rates, and the resources what their packets need to know.
    fn publish(&mut self, now: Time, solver: &Solver, out: &mut impl Schedule) {
        for &flow in &solver.flows {
            let limit = self.limit_of(flow, solver);
            let rate = self.flows[flow].rate;
            self.set_rate(flow, rate, limit, out);
        }
        for level in &solver.resources {
            self.publish_resource(now, level.resource);
        }
    }

    /// The first full hop where nobody is faster: there the flow's segments wait.
    fn limit_of(&self, flow: u32, solver: &Solver) -> u32 {
        let state = &self.flows[flow];
        let level = |resource: u32| &solver.resources[solver.places[resource as usize].1 as usize];
        let limits = |resource: u32| {
            let Level { left, highest, .. } = *level(resource);
            let capacity = self.resources[resource as usize].shared().rate;
            left <= capacity >> 20 && state.rate >= highest - (highest >> 20)
        };
        let first = state.hops.iter().find(|hop| limits(hop.resource));
        first.expect("a max-min flow has a full hop where nobody is faster").resource
    }

    fn publish_resource(&mut self, now: Time, resource: u32) {
        let shared = self.resources[resource as usize].shared();
        let (mut backlogged, mut passing, mut weights) = (0_u32, 0_u64, 0_u128);
        for &(flow, hop) in &shared.fluid.members {
            let state = &self.flows[flow];
            let weight = state.hops[hop as usize].weight;
            if state.limit == resource {
                backlogged += 1;
                weights += u128::from(weight);
            } else {
                passing += load(state.rate, weight);
            }
        }
        let (rate, mtu) = (shared.rate, self.mtu);
        let fluid = &mut self.resources[resource as usize].shared_mut().fluid;
        if fluid.backlogged == 0 && (fluid.passing == 0 || backlogged > 0) {
            fluid.anchor = fluid.anchor.max(now.as_ps());
        }
        fluid.backlogged = backlogged;
        fluid.passing = passing;
        if backlogged > 0 {
            let rest = rate - passing;
            fluid.turn = turn_of(mtu, weights, backlogged, rest);
            let scale = (u128::from(rate) << 32) / u128::from(rest);
            fluid.stolen_scale = u64::try_from(scale).expect("a limit leaves capacity to share");
        }
    }
}

/// How long one MTU of a backlogged flow lasts, on average.
fn turn_of(mtu: u64, weights: u128, flows: u32, rate: u64) -> u64 {
    let raw = (u128::from(mtu) * weights / u128::from(flows)) << 8;
    let turn = (raw + u128::from(rate) / 2) / u128::from(rate);
    u64::try_from(turn.max(1)).expect("an MTU lasts less than 213 days")
}
