//! Rates of classes against rates that are solved for one flow at a time.

use super::*;
use crate::fabric::arena::{Flight, NONE};
use crate::fabric::hops::Charge;
use crate::fabric::resource::Resources;
use crate::fabric::shared::NONE_BEFORE;
use crate::fabric::spec::{Arbitration, Framing, Hop, Kind, ResourceSpec, Service, Share};
use engine::{Stream, Streams};
use std::collections::BTreeMap;
use units::{Bandwidth, TimeDelta};

const MTU: u64 = 4096;
const RESOURCES: u32 = 10;
const PATHS: u64 = 8;

/// A resource as the water rises in it.
#[derive(Clone, Copy, Debug, Default)]
struct Basin {
    left: u64,
    weights: u128,
    highest: u64,
    rounding: u64,
}

/// A flow as it is known without its class.
#[derive(Clone, Debug)]
struct Plain {
    conn: u32,
    flow: u32,
    /// Resources and weights.
    hops: Vec<(u32, u64)>,
    share: u32,
    is_final: bool,
    level: u64,
    rate: u64,
    limit: u32,
    remaining: u128,
    since: u64,
    seen: i64,
    debt: u64,
    end_at: u64,
}

impl Plain {
    fn settle(&mut self, now: u64, stolen: i64) {
        let passed = i128::from(now - self.since) - i128::from(self.debt);
        let gained = passed - i128::from(stolen - self.seen);
        let moved = u128::from(self.rate) * gained.max(0).unsigned_abs();
        self.remaining = self.remaining.saturating_sub(moved);
        self.debt = u64::try_from(gained.min(0).unsigned_abs()).unwrap();
        (self.since, self.seen) = (now, stolen);
    }

    fn end(&self) -> u64 {
        let time = self.remaining.div_ceil(u128::from(self.rate));
        self.since + self.debt + u64::try_from(time).unwrap()
    }
}

#[derive(Default)]
struct Agenda(Vec<(Time, FabricEvent)>);

impl Schedule for Agenda {
    fn at(&mut self, time: Time, _: ResourceId, event: FabricEvent) {
        self.0.push((time, event));
    }
}

struct World {
    dice: Stream,
    now: Time,
    solver: Solver,
    flows: Flows,
    path: Datapath,
    paths: Vec<Vec<Hop>>,
    plain: Vec<Plain>,
    agenda: Agenda,
    /// Solves that gave rates to as many flows as classes, and to more.
    seen: [u32; 2],
}

fn gbit(dice: &mut Stream) -> Bandwidth {
    Bandwidth::from_gbit_per_s(10 + dice.below(20) * 10)
}

const FRAMING: Framing = Framing { unit: 256, overhead: 26 };

impl World {
    fn new(seed: u32) -> Self {
        let mut dice = Streams::new(1).stream("classes", seed);
        let spec = |dice: &mut Stream| ResourceSpec {
            name: "link".to_owned(),
            kind: Kind::default(),
            service: Service::Shared { capacity: gbit(dice) },
            framing: FRAMING,
            arbitration: Arbitration::ByteQuantum,
        };
        let specs = (0..RESOURCES).map(|_| spec(&mut dice)).collect();
        let mut path = Datapath::new(Resources::new(specs), MTU);
        (0..RESOURCES).for_each(|resource| path.resources.begin(resource));
        let hop = |dice: &mut Stream| Hop {
            resource: ResourceId(u32::try_from(dice.below(u64::from(RESOURCES))).unwrap()),
            weight: 1 + u32::try_from(dice.below(2)).unwrap(),
            extra: dice.below(3) * 1000,
            latency: TimeDelta::ZERO,
        };
        let mut paths = Vec::new();
        for _ in 0..PATHS {
            let hops: Vec<Hop> = (0..=dice.below(4)).map(|_| hop(&mut dice)).collect();
            let framed: Vec<(Hop, Framing)> = hops.iter().map(|&hop| (hop, FRAMING)).collect();
            path.hops.add_path(&framed, path.resources.specs());
            paths.push(hops);
        }
        Self {
            dice,
            now: Time::ZERO,
            solver: Solver::default(),
            flows: Flows::default(),
            path,
            paths,
            plain: Vec::new(),
            agenda: Agenda::default(),
            seen: [0; 2],
        }
    }

    /// Resources and weights of a path, joined where it crosses a resource twice.
    fn weights(&self, path: u32, bytes: u64) -> Vec<(u32, u64)> {
        let mut raw: Vec<(u32, u64)> = Vec::new();
        for hop in &self.paths[path as usize] {
            let bytes = FRAMING.raw_bytes(bytes) * u64::from(hop.weight) + hop.extra;
            match raw.iter_mut().find(|(resource, _)| *resource == hop.resource.0) {
                Some((_, sum)) => *sum += bytes,
                None => raw.push((hop.resource.0, bytes)),
            }
        }
        let weight = |raw: u64| (u128::from(raw) << 32).div_ceil(u128::from(bytes));
        raw.into_iter().map(|(r, raw)| (r, u64::try_from(weight(raw)).unwrap())).collect()
    }

    fn arrive(&mut self) {
        let conn = u32::try_from(self.dice.below(1 << 30)).unwrap();
        let path = u32::try_from(self.dice.below(PATHS)).unwrap();
        let bytes = (1 + self.dice.below(3)) * 5_000_000 + 1;
        let share = Share::of(1 + u32::try_from(self.dice.below(5) / 4).unwrap(), 1).0;
        let crossed = self.path.hops.path(path);
        let id = self.path.flights.insert(Flight {
            next: NONE,
            generation: 0,
            conn,
            order: 0,
            hop: crossed.end,
            first_hop: crossed.first,
            end_hop: crossed.end,
            path,
            bytes,
            token: 0,
            arrived: 0,
            tail: 0,
            behind: NONE_BEFORE,
        });
        let flow = self.flows.take_slot();
        self.flows.begin(self.now, flow, id, share, &mut self.path);
        self.flows.join(flow, &mut self.path.resources);
        let hops = self.weights(path, bytes);
        let (now, out) = (self.now, &mut self.agenda);
        if hops.iter().any(|hop| due(now.as_ps(), hop.0, &self.path.resources) > now.as_ps()) {
            self.flows.start_on_leftovers(flow, &mut self.path, out);
        }
        for &(resource, _) in &hops {
            self.solver.ask(now, resource, &self.path.resources, out);
        }
        let state = &self.flows[flow];
        let seen = self.path.resources.stolen_at(state.limit);
        self.plain.push(Plain {
            conn,
            flow,
            hops,
            share,
            is_final: false,
            level: 0,
            rate: state.rate,
            limit: state.limit,
            remaining: u128::from(bytes) << 40,
            since: now.as_ps(),
            seen,
            debt: 0,
            end_at: state.end_at,
        });
    }

    fn depart(&mut self) {
        let place = self.dice.below(self.plain.len() as u64);
        let Plain { flow, hops, .. } = self.plain.swap_remove(usize::try_from(place).unwrap());
        self.flows.leave(flow, &mut self.path.resources);
        for (resource, _) in hops {
            self.solver.ask(self.now, resource, &self.path.resources, &mut self.agenda);
        }
        self.path.flights.remove(self.flows[flow].flight);
        self.flows.end(flow);
    }

    fn change_share(&mut self) {
        let place = usize::try_from(self.dice.below(self.plain.len() as u64)).unwrap();
        let share = Share::of(1 + u32::try_from(self.dice.below(3)).unwrap(), 2).0;
        self.plain[place].share = share;
        let Plain { flow, ref hops, .. } = self.plain[place];
        self.flows.set_share(flow, share, &mut self.path);
        for &(resource, _) in hops {
            self.solver.ask(self.now, resource, &self.path.resources, &mut self.agenda);
        }
    }

    /// Packets take time from flows, and a part of the capacity is kept for them.
    fn serve_packets(&mut self) {
        let resource = u32::try_from(self.dice.below(u64::from(RESOURCES))).unwrap();
        let shared = self.path.resources.shared_mut(resource);
        shared.watch_load(self.now, ResourceId(resource), MTU, &mut self.agenda);
        let service = shared.service(MTU) * self.dice.below(12);
        shared.steal(self.now.as_ps(), service);
        shared.counts.add(&Charge::default());
        if self.dice.chance(1, 2) && shared.end_window(self.now, MTU).0 {
            self.solver.ask(self.now, resource, &self.path.resources, &mut self.agenda);
        }
    }

    fn alter(&mut self) {
        let resource = u32::try_from(self.dice.below(u64::from(RESOURCES))).unwrap();
        self.path.resources.shared_mut(resource).set_capacity(gbit(&mut self.dice));
        self.solver.ask(self.now, resource, &self.path.resources, &mut self.agenda);
    }

    /// Raises the rates of these flows one by one, as ADR 3 says.
    fn solve_each(&self, flows: &mut [Plain]) -> BTreeMap<u32, Basin> {
        let mut basins = BTreeMap::new();
        for resource in self.visited() {
            let shared = self.path.resources.shared(resource);
            let left = shared.rate - shared.fluid.reserve.kept(shared.rate);
            basins.insert(resource, Basin { left, ..Basin::default() });
        }
        let pull = |weight: u64, share: u32| u128::from(weight) * u128::from(share);
        for flow in flows.iter_mut() {
            flow.is_final = false;
            for &(resource, weight) in &flow.hops {
                basins.get_mut(&resource).unwrap().weights += pull(weight, flow.share);
            }
        }
        loop {
            let level = |basin: &Basin| (u128::from(basin.left) << 48) / basin.weights;
            let rising = basins.iter().filter(|(_, basin)| basin.weights > 0);
            let Some((level, full)) = rising.map(|(&r, basin)| (level(basin), r)).min() else {
                break;
            };
            let level = u64::try_from(level).unwrap_or(u64::MAX);
            for flow in flows.iter_mut().filter(|flow| !flow.is_final) {
                if !flow.hops.iter().any(|hop| hop.0 == full) {
                    continue;
                }
                flow.is_final = true;
                flow.level = level;
                flow.rate = rate_of(level, flow.share);
                for &(resource, weight) in &flow.hops {
                    let basin = basins.get_mut(&resource).unwrap();
                    basin.weights -= pull(weight, flow.share);
                    basin.left = basin.left.saturating_sub(load(flow.rate, weight) + 1);
                    basin.rounding += 1;
                    basin.highest = basin.highest.max(level);
                }
            }
        }
        for flow in flows.iter_mut() {
            flow.limit = self.limit_of_one(flow, &basins);
        }
        basins
    }

    fn limit_of_one(&self, flow: &Plain, basins: &BTreeMap<u32, Basin>) -> u32 {
        let shared = |resource: u32| self.path.resources.shared(resource);
        let is_full = |resource: u32, margin: u32| {
            let Basin { left, highest, rounding, .. } = basins[&resource];
            let is_empty = left <= shared(resource).rate >> margin;
            is_empty && flow.level + (highest >> margin) + rounding >= highest
        };
        let at = flow.hops.iter().position(|hop| is_full(hop.0, 20)).expect("a hop is full");
        let full = flow.hops[at].0;
        let is_first = |&resource: &u32| {
            let is_no_faster = shared(resource).rate <= shared(full).rate;
            shared(resource).fluid.reserve.is_kept() && is_no_faster && is_full(resource, 4)
        };
        flow.hops[..at].iter().map(|hop| hop.0).find(is_first).unwrap_or(full)
    }

    /// Resources that the last solve visited.
    fn visited(&self) -> Vec<u32> {
        (0..RESOURCES).filter(|&resource| self.solver.component.holds(resource)).collect()
    }

    /// Solves, and compares all flows and resources that are visited.
    fn solve(&mut self) {
        let stolen: Vec<i64> =
            (0..RESOURCES).map(|resource| self.path.resources.stolen_at(resource)).collect();
        let before = self.solver.solves;
        let first_event = self.agenda.0.len();
        self.solver.solve(self.now, &mut self.flows, &mut self.path, &mut self.agenda);
        if self.solver.solves == before {
            return;
        }
        let visited = self.visited();
        let (mut solved, others) = std::mem::take(&mut self.plain)
            .into_iter()
            .partition::<Vec<Plain>, _>(|flow| visited.contains(&flow.hops[0].0));
        self.plain = others;
        solved.sort_by_key(|flow| flow.conn);
        let now = self.now.as_ps();
        for flow in &mut solved {
            let stolen = stolen.get(flow.limit as usize).copied().unwrap_or(0);
            flow.settle(now, stolen);
        }
        let basins = self.solve_each(&mut solved);
        let mut ends = Vec::new();
        for flow in &mut solved {
            flow.seen = stolen[flow.limit as usize];
            if flow.end() < flow.end_at {
                flow.end_at = flow.end();
                ends.push((Time::from_ps(flow.end_at), flow.flow));
            }
            let state = &self.flows[flow.flow];
            assert_eq!((state.rate, state.level), (flow.rate, flow.level), "{flow:?}");
            assert_eq!(state.limit, flow.limit, "{flow:?}");
            assert_eq!((state.expected_end(), state.end_at), (flow.end(), flow.end_at));
        }
        let events = self.agenda.0[first_event..].iter();
        let events = events.filter(|(_, event)| event.kind == EventKind::FlowEnd);
        let events: Vec<(Time, u32)> = events.map(|&(at, event)| (at, event.id)).collect();
        assert_eq!(events, ends, "ends that come sooner, in the order of connections");
        for (&resource, basin) in &basins {
            self.compare_resource(resource, basin, &solved);
        }
        self.seen[usize::from(self.solver.component.classes.len() < solved.len())] += 1;
        self.plain.append(&mut solved);
    }

    fn compare_resource(&self, resource: u32, basin: &Basin, solved: &[Plain]) {
        let weight = |flow: &Plain| flow.hops.iter().find(|hop| hop.0 == resource).map(|hop| hop.1);
        let here: Vec<(&Plain, u64)> =
            solved.iter().filter_map(|flow| Some((flow, weight(flow)?))).collect();
        let (limited, passing): (Vec<_>, Vec<_>) =
            here.iter().partition(|(flow, _)| flow.limit == resource);
        let load_of = |flows: &[&(&Plain, u64)]| -> u64 {
            flows.iter().map(|(flow, weight)| load(flow.rate, *weight)).sum()
        };
        let fluid = &self.path.resources.shared(resource).fluid;
        assert_eq!(fluid.members.len(), here.len());
        assert_eq!(fluid.component as usize, solved.len());
        assert_eq!(fluid.left, basin.left);
        assert_eq!(fluid.backlogged as usize, limited.len());
        assert_eq!(fluid.passing, load_of(&passing.iter().collect::<Vec<_>>()));
        let rate = self.path.resources.shared(resource).rate;
        if limited.is_empty() {
            assert_eq!(fluid.level, rate);
            assert_eq!(fluid.turn, turn_of(MTU, 1 << 32, 1, rate));
        } else {
            let weights = limited.iter().map(|(_, weight)| u128::from(*weight)).sum();
            let turn = turn_of(MTU, weights, fluid.backlogged, rate - fluid.passing);
            let all = load_of(&limited.iter().collect::<Vec<_>>());
            assert_eq!(fluid.level, basin.highest);
            assert_eq!(fluid.turn, turn);
            assert_eq!(u128::from(fluid.stolen_scale), (u128::from(rate) << 32) / u128::from(all));
        }
    }

    fn step(&mut self) {
        let then = self.now + TimeDelta::from_ps(self.dice.below(3) * self.dice.below(2_000_000));
        loop {
            let is_solve = |entry: &(Time, FabricEvent)| entry.1.kind == EventKind::Solve;
            let solves = self.agenda.0.iter().enumerate().filter(|entry| is_solve(entry.1));
            let first = solves.map(|(at, entry)| (entry.0, at)).min();
            let Some((time, at)) = first.filter(|first| first.0 <= then) else { break };
            self.agenda.0.remove(at);
            self.now = time;
            self.solve();
        }
        self.now = then;
        let few = self.plain.len() < 3;
        match self.dice.below(12) {
            0..=4 => self.arrive(),
            5..=8 if !few => self.depart(),
            9 if !few => self.change_share(),
            10 => self.serve_packets(),
            11 => self.alter(),
            _ => {}
        }
    }
}

#[test]
fn classes_of_flows_get_the_rates_that_each_flow_would_get() {
    let (mut seen, mut largest, mut gathered) = ([0; 2], 0, 0);
    for seed in 0..40 {
        let mut world = World::new(seed);
        for _ in 0..400 {
            world.step();
            largest = largest.max(world.solver.component.classes.len());
        }
        seen = [seen[0] + world.seen[0], seen[1] + world.seen[1]];
        gathered += world.solver.component.visit;
    }
    assert!(seen[0] > 1000 && seen[1] > 3000, "solves without and with equal flows: {seen:?}");
    assert!(largest > 10, "classes that hang together: {largest}");
    let solves = u64::from(seen[0] + seen[1]);
    assert!(gathered + 1000 < solves, "{solves} solves, {gathered} with other classes than before");
}
