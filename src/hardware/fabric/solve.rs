//! Max-min fair rates: water filling over the classes of flows that share resources with what
//! changed.

use std::iter::Peekable;

use super::classes::{Class, ClassHop, Classes};
use super::datapath::Datapath;
use super::flows::{Flows, load};
use super::resource::Resources;
use super::spec::{EventKind, FabricEvent, ResourceId, SHARE_BITS, Schedule};
use units::Time;

/// Above this many flows that hang together, rates are solved once per round.
/// Method: solving takes time in proportion to the flows.
const LARGE: u32 = 32;

/// From so many classes on, resources that only one of them crosses are put in order once.
/// Method: few classes are raised by looking at all resources each time.
const MANY: usize = 8;

/// Working space and counters of the solver.
#[derive(Debug, Default)]
pub(super) struct Solver {
    /// Resources whose flows changed, and when their rates are due.
    dirty: Vec<(u64, u32)>,
    /// Resources to visit.
    reached: Vec<u32>,
    /// The earliest `Solve` event under way.
    next_due: Option<u64>,
    component: Component,
    /// Connections and flows whose ends come sooner.
    sooner: Vec<(u32, u32)>,
    solves: u64,
    flows_solved: u64,
}

/// Resources and classes of flows that hang together, or that were solved together.
#[derive(Debug, Default)]
struct Component {
    /// Counts the components so far.
    visit: u64,
    /// By resource.
    levels: Vec<Level>,
    classes: Vec<u32>,
    /// Last visit of each resource, and its place in `levels`.
    places: Vec<(u64, u32)>,
    /// Whether each of its resources leads to all others.
    is_whole: bool,
    /// Changes of classes until it was gathered.
    changes: u64,
    /// Where many classes rise: the resources of one class, by their level and place, and those of several.
    private: Vec<(u64, u32)>,
    common: Vec<u32>,
}

/// A resource during a solve.
#[derive(Clone, Copy, Debug)]
struct Level {
    resource: u32,
    /// All of its capacity, and what of it no final flow uses.
    rate: u64,
    left: u64,
    /// Whether a part is kept for packets.
    is_kept: bool,
    /// Sum of weight times share of the flows whose rates are not final.
    weights: u128,
    /// The highest rate of its flows for one usual share.
    highest: u64,
    /// Loads are rounded up when they are taken off: a flow that is left when many were taken may be
    /// this much slower than they are, and is still no slower than the rest of the capacity allows.
    rounding: u64,
    given: Given,
}

/// Flows at a resource, by their new rates.
#[derive(Clone, Copy, Debug, Default)]
struct Given {
    /// Those that it limits: how many, the sum of their weights, and their load.
    backlogged: u64,
    weights: u128,
    limited: u64,
    /// Load of the others.
    passing: u64,
}

impl Level {
    /// As it is before any rate is final.
    fn new(resource: u32, all: &Resources) -> Self {
        let shared = all.shared(resource);
        let (rate, reserve) = (shared.rate, &shared.fluid.reserve);
        Self {
            resource,
            rate,
            left: rate - reserve.kept(rate),
            is_kept: reserve.is_kept(),
            weights: 0,
            highest: 0,
            rounding: 0,
            given: Given::default(),
        }
    }

    /// Capacity left for each unit of weight, before it is rounded down.
    const fn share(&self) -> (u128, u128) {
        ((self.left as u128) << (32 + SHARE_BITS), self.weights)
    }

    /// The rate that flows that are not final would get here for one usual share.
    fn level(&self) -> u64 {
        let (left, weights) = self.share();
        u64::try_from(left / weights).unwrap_or(u64::MAX)
    }

    /// Whether that is below `other`, without a division.
    fn is_below(&self, other: u64) -> bool {
        let (left, weights) = self.share();
        match u64::try_from(weights) {
            Ok(weights) => left < u128::from(weights) * u128::from(other),
            Err(_) => weights.checked_mul(u128::from(other)).is_none_or(|most| left < most),
        }
    }

    /// The rate of a class is final: `highest` for one usual share.
    fn take(&mut self, hop: &ClassHop, count: u64, highest: u64) {
        self.weights -= hop.drawn;
        self.left = self.left.saturating_sub(hop.load.saturating_add(count));
        self.rounding += count;
        self.highest = self.highest.max(highest);
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
        self.component.gather(&mut self.reached, &mut flows.classes, &path.resources);
        let Self { dirty, component, .. } = self;
        dirty.retain(|&(_, resource)| !component.holds(resource));
        component.fill(&mut flows.classes, &path.resources);
        self.set_rates(now, flows, path, out);
        self.publish(now, &flows.classes, path, out);
        self.solves += 1;
        self.next_due = self.dirty.iter().map(|entry| entry.0).min();
        if let Some(&(due, resource)) = self.dirty.iter().min() {
            let event = FabricEvent::new(EventKind::Solve, 0, 0);
            out.at(Time::from_ps(due), ResourceId(resource), event);
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
        let Self { component, sooner, .. } = self;
        for at in 0..component.classes.len() {
            let class = component.classes[at];
            let limit = component.give(&flows.classes[class]);
            flows.set_rates(now, class, limit, path, sooner);
        }
        sooner.sort_unstable();
        for (_, flow) in sooner.drain(..) {
            flows.move_end(flow, out);
        }
    }

    /// Gives the resources what their packets need to know.
    fn publish(
        &mut self,
        now: Time,
        classes: &Classes,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        let flows: u64 = self.component.classes.iter().map(|&class| classes[class].count()).sum();
        self.flows_solved += flows;
        let component = u32::try_from(flows).expect("fewer than 2^32 flows");
        for level in &self.component.levels {
            path.promises_meet_flows(now, level.resource, out);
            publish_resource(now, level, path);
            let shared = path.resources.shared_mut(level.resource);
            let full = shared.fluid.backlogged > 0;
            shared.fluid.left = level.left;
            shared.fluid.level = if full { level.highest } else { shared.rate };
            shared.fluid.component = component;
            shared.fluid.solved_at = now.as_ps();
        }
    }
}

impl Component {
    /// Gathers everything that is connected with the resources of `reached`. Flows come and go more
    /// often than classes: what was gathered last is most often what is asked for.
    fn gather(&mut self, reached: &mut Vec<u32>, classes: &mut Classes, all: &Resources) {
        let is_known = self.is_whole && self.changes == classes.changes();
        if is_known && reached.iter().all(|&resource| self.holds(resource)) {
            reached.clear();
            self.levels.iter_mut().for_each(|level| *level = Level::new(level.resource, all));
        } else {
            self.gather_anew(reached, classes, all);
        }
        for &class in &self.classes {
            classes[class].begin();
        }
    }

    /// Whether the resource is among those that were gathered last.
    fn holds(&self, resource: u32) -> bool {
        self.places.get(resource as usize).is_some_and(|place| place.0 == self.visit)
    }

    fn gather_anew(&mut self, reached: &mut Vec<u32>, classes: &mut Classes, all: &Resources) {
        let Self { visit, levels, classes: found, places, is_whole, changes, .. } = self;
        *visit += 1;
        *changes = classes.changes();
        places.resize(all.specs().len(), (0, 0));
        found.clear();
        // Each is visited once: `fresh` is true for the first to ask.
        let visit = *visit;
        let fresh = |places: &mut Vec<(u64, u32)>, resource: u32| {
            std::mem::replace(&mut places[resource as usize].0, visit) != visit
        };
        // The resources that are asked for, then all that are found.
        let (mut roots, mut seen) = (0, 0);
        let asked = reached.len();
        for at in 0..asked {
            let root = reached[at];
            if !fresh(places, root) {
                continue;
            }
            roots += 1;
            reached.push(root);
            seen = seen.max(asked);
            while let Some(&resource) = reached.get(seen) {
                seen += 1;
                for &(class, _) in &all.shared(resource).fluid.classes {
                    let state = &mut classes[class];
                    if state.visited != visit {
                        state.visited = visit;
                        found.push(class);
                        let crossed = state.hops.iter().map(|hop| hop.resource);
                        reached.extend(crossed.filter(|&resource| fresh(places, resource)));
                    }
                }
            }
        }
        *is_whole = roots == 1;
        let resources = &mut reached[asked..];
        resources.sort_unstable();
        levels.clear();
        levels.extend(resources.iter().map(|&resource| Level::new(resource, all)));
        for (place, &resource) in (0..).zip(&*resources) {
            places[resource as usize].1 = place;
        }
        reached.clear();
        for &class in &*found {
            for hop in &mut classes[class].hops {
                hop.level = places[hop.resource as usize].1;
            }
        }
    }

    /// Raises all rates together; a class that meets a full resource keeps the level reached.
    fn fill(&mut self, all: &mut Classes, shared: &Resources) {
        let Self { levels, classes, private, common, .. } = self;
        for &class in &*classes {
            for hop in &all[class].hops {
                levels[hop.level as usize].weights += hop.drawn;
            }
        }
        let mut rising = classes.len();
        let are_many = rising >= MANY;
        if are_many {
            part(levels, shared, (private, common));
        }
        let mut private = private.iter().peekable();
        while rising > 0 {
            let fullest = if are_many {
                fullest_of_many(levels, &mut private, common)
            } else {
                fullest(levels.iter())
            };
            let (resource, level_of_all) = fullest.expect("each flow crosses a resource");
            for &(class, _) in &shared.shared(resource).fluid.classes {
                let class = &mut all[class];
                if class.is_final {
                    continue;
                }
                class.is_final = true;
                rising -= 1;
                class.level = level_of_all;
                class.rate = rate_of(level_of_all, class.likeness.share);
                let (rate, count) = (class.rate, class.count());
                for hop in &mut class.hops {
                    hop.load = load(rate, hop.weight).saturating_mul(count);
                    levels[hop.level as usize].take(hop, count, level_of_all);
                }
            }
        }
    }

    /// Counts a class at the resources that it crosses; answers the one that limits it.
    fn give(&mut self, class: &Class) -> u32 {
        let limit = self.limit_of(class);
        let count = class.count();
        for hop in &class.hops {
            let given = &mut self.levels[hop.level as usize].given;
            if hop.resource == limit {
                given.backlogged += count;
                given.weights += u128::from(hop.weight) * u128::from(count);
                given.limited += hop.load;
            } else {
                given.passing += hop.load;
            }
        }
        limit
    }

    /// The first full hop where no flow is faster: there the segments of a class wait.
    ///
    /// Reserves are estimates, so one of two equal stages looks narrower by chance. Segments queue
    /// at the first of them: an earlier hop counts as full within 1/16 if it has a reserve and is
    /// no faster than the one that is really full.
    fn limit_of(&self, class: &Class) -> u32 {
        let is_full = |level: &Level, margin: u32| {
            let slack = (level.highest >> margin) + level.rounding;
            level.left <= level.rate >> margin && class.level + slack >= level.highest
        };
        let hops = &class.hops;
        let level = |hop: &ClassHop| &self.levels[hop.level as usize];
        let at = hops.iter().position(|hop| is_full(level(hop), 20));
        let at = at.expect("a max-min flow has a full hop where no flow is faster");
        let full = level(&hops[at]);
        let is_first =
            |level: &&Level| level.is_kept && level.rate <= full.rate && is_full(level, 4);
        hops[..at].iter().map(level).find(is_first).unwrap_or(full).resource
    }
}

/// The resource that the flows which are not final fill first, and their level then.
fn fullest<'a>(levels: impl Iterator<Item = &'a Level>) -> Option<(u32, u64)> {
    let mut rising = levels.filter(|level| level.weights > 0);
    let first = rising.next()?;
    Some(rising.fold((first.resource, first.level()), |lowest, level| {
        if level.is_below(lowest.1) { (level.resource, level.level()) } else { lowest }
    }))
}

/// Parts the resources of one class from the others. The level of such a resource stays until its class is
/// final: they are in order once for all.
fn part(
    levels: &[Level],
    all: &Resources,
    (private, common): (&mut Vec<(u64, u32)>, &mut Vec<u32>),
) {
    private.clear();
    common.clear();
    for (place, level) in (0..).zip(levels) {
        if level.weights == 0 {
            continue;
        }
        if let [_] = *all.shared(level.resource).fluid.classes {
            private.push((level.level(), place));
        } else {
            common.push(place);
        }
    }
    private.sort_unstable();
}

/// The same as [`fullest`], where resources were parted: of equal ones the first counts here, too.
fn fullest_of_many<'a>(
    levels: &[Level],
    private: &mut Peekable<impl Iterator<Item = &'a (u64, u32)>>,
    common: &[u32],
) -> Option<(u32, u64)> {
    let level = |place: u32| &levels[place as usize];
    while private.next_if(|(_, place)| level(*place).weights == 0).is_some() {}
    let shared = fullest(common.iter().map(|&place| level(place)));
    let Some(&&(alone, place)) = private.peek() else { return shared };
    let own = (level(place).resource, alone);
    // Levels are in the order of resources.
    Some(shared.filter(|&(resource, all)| (all, resource) < (alone, own.0)).unwrap_or(own))
}

/// When the rates of `resource` may change next.
pub(super) fn due(now: u64, resource: u32, resources: &Resources) -> u64 {
    let fluid = &resources.shared(resource).fluid;
    if fluid.component <= LARGE {
        return now;
    }
    now.max(fluid.solved_at + fluid.turn * fluid.members.len() as u64)
}

fn publish_resource(now: Time, level: &Level, path: &mut Datapath) {
    let mtu = path.mtu;
    let shared = path.resources.shared_mut(level.resource);
    let Given { backlogged, weights, limited, passing } = level.given;
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
    if backlogged == 0 {
        fluid.segment = fluid.turn_alone(rate, || turn_of(mtu, u128::from(u32::MAX) + 1, 1, rate));
        fluid.turn = fluid.segment;
    } else {
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
