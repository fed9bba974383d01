//! Where a transfer spends its time: recorded while it crosses its hops, read when it is delivered.
//!
//! ```text
//!   start ─▶ order ─▶ [queue ─▶ service ─▶ latency] ─▶ [ … ] ─▶ delivered     packet: by its last byte
//!   start ─▶ order ─▶ units … ─▶ flow: limited by this resource, then that ─▶ latency ─▶ delivered
//! ```
//!
//! What waits in order waits for the transfer before it on its connection, and so for what that one uses
//! meanwhile: its wait is charged to the same resources.
//!
//! Only a fabric that is watched ([`super::Fabric::watch`]) keeps it; watching changes no event. The
//! journey of a packet is that of its last byte (journey.rs). Packets of one size cross the same hops in the
//! same times again and again: a journey that is like an earlier one is not worked out again, and has a
//! number by which a reader can recognise it.

use std::collections::BTreeMap;

use super::spec::ResourceId;
use units::{Time, TimeDelta};

/// State of a transfer at a resource.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Stage {
    /// It waits for those before it on its connection, which use the resource.
    Order,
    /// It waits for the resource.
    Queue,
    /// It is served.
    Transfer,
    /// It moves more slowly than it would alone.
    Sharing,
    /// A fixed time after the resource.
    Latency,
}

/// One leg of the journey of a transfer, which begins where the one before ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Leg {
    /// Where.
    pub resource: ResourceId,
    /// Its state there.
    pub stage: Stage,
    /// When it ended, from the start of the transfer.
    pub until: TimeDelta,
}

/// The journey of a transfer that was delivered: from its start to its delivery, without a gap.
#[derive(Clone, Copy, Debug)]
pub struct Journey<'a> {
    /// When it started.
    pub started: Time,
    /// Its legs, the first one first.
    pub legs: &'a [Leg],
    /// The name of an earlier journey with the same legs.
    pub name: Option<JourneyName>,
}

/// The name of a journey that is kept: equal names, equal legs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JourneyName {
    /// Where it is kept: less than [`JourneyName::PLACES`].
    pub place: usize,
    /// Its number among those that were ever kept, from 1 on.
    pub number: u64,
}

impl JourneyName {
    /// How many journeys are kept.
    /// Method: a table that eight bits of a hash look up.
    pub const PLACES: usize = 1 << 8;
}

/// The visit of a transfer at one hop.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Visit {
    pub(super) came: u64,
    /// When its service began.
    pub(super) begun: u64,
    /// When its last byte came.
    pub(super) tail: u64,
}

impl Visit {
    /// The same, counted from `started`.
    const fn since(&self, started: u64) -> Self {
        Self {
            came: self.came.wrapping_sub(started),
            begun: self.begun.wrapping_sub(started),
            tail: self.tail.wrapping_sub(started),
        }
    }
}

/// Quantities that the journey of a packet depends on, with times from its start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Crossing {
    pub(super) first_hop: u32,
    pub(super) bytes: u64,
    pub(super) took: u64,
    pub(super) tail: u64,
}

impl Crossing {
    /// The places where a journey like it may be kept.
    fn places(self) -> impl Iterator<Item = usize> {
        let mixed = (self.took ^ self.bytes << 20) + u64::from(self.first_hop);
        let first = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
        (0..TRIES).map(move |step| (first + step) % JourneyName::PLACES)
    }
}

/// Places in which a journey is looked for.
/// Method: some hundred journeys share them, and those that drive each other out are worked out again and again.
const TRIES: usize = 8;

/// An earlier journey, with times from its start.
#[derive(Clone, Debug, Default)]
struct Known {
    number: u64,
    crossing: Crossing,
    visits: Vec<Visit>,
    legs: Vec<Leg>,
}

impl Known {
    fn is_of(&self, crossing: Crossing, seen: &Seen) -> bool {
        let alike = |(one, other): (&Visit, &Visit)| *one == other.since(seen.started);
        self.crossing == crossing
            && self.visits.len() == seen.visits.len()
            && self.visits.iter().zip(&seen.visits).all(alike)
    }

    fn keep(&mut self, crossing: Crossing, seen: &Seen, legs: &[Leg]) {
        self.crossing = crossing;
        self.visits.clear();
        self.visits.extend(seen.visits.iter().map(|visit| visit.since(seen.started)));
        self.legs.clear();
        self.legs.extend_from_slice(legs);
    }
}

/// Earlier journeys of packets; none until the first.
#[derive(Clone, Debug, Default)]
struct Journeys {
    known: Vec<Known>,
    /// How many were ever kept.
    kept: u64,
}

impl Journeys {
    fn find(&self, crossing: Crossing, seen: &Seen) -> Option<usize> {
        let is_it =
            |&place: &usize| self.known.get(place).is_some_and(|it| it.is_of(crossing, seen));
        crossing.places().find(is_it)
    }

    /// Keeps a journey in the first free place, or in that of another one, but for those that this
    /// event has delivered: their legs are still to be read there.
    fn keep(&mut self, crossing: Crossing, seen: &Seen, legs: &[Leg], delivered: &[Delivered]) {
        if self.known.is_empty() {
            self.known.resize_with(JourneyName::PLACES, Known::default);
        }
        let free = crossing.places().find(|&place| self.known[place].number == 0);
        let taken = || {
            crossing.places().find(|&place| delivered.iter().all(|one| one.known != Some(place)))
        };
        let Some(place) = free.or_else(taken) else { return };
        self.kept += 1;
        let known = &mut self.known[place];
        known.number = self.kept;
        known.keep(crossing, seen, legs);
    }
}

/// A transfer that was delivered by the event that is handled.
#[derive(Clone, Copy, Debug)]
struct Delivered {
    started: u64,
    /// Where an earlier journey like it is kept.
    known: Option<usize>,
    /// Where its legs end among those that had to be worked out.
    end: usize,
}

/// One transfer under journey.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) started: u64,
    pub(super) visits: Vec<Visit>,
    /// When its flow was opened, and the resources that limited it, each with its beginning.
    pub(super) limits: Vec<(u64, u32)>,
    /// When its flow ended.
    pub(super) flowed: u64,
}

/// The transfer of a connection that was delivered last, while others follow it.
#[derive(Clone, Debug)]
struct Front {
    started: u64,
    legs: Vec<Leg>,
}

impl Front {
    /// Where it was from `from` to `to`, and how long: each resource once, in the order in which it came to them.
    fn used(&self, from: u64, to: u64) -> Vec<(ResourceId, u64)> {
        let mut used: Vec<(ResourceId, u64)> = Vec::new();
        let mut begun = self.started;
        for leg in &self.legs {
            let ended = self.started + leg.until.as_ps();
            let time = ended.min(to).saturating_sub(begun.max(from));
            match used.iter_mut().find(|(resource, _)| *resource == leg.resource) {
                Some((_, sum)) => *sum += time,
                None => used.push((leg.resource, time)),
            }
            begun = ended;
        }
        used
    }
}

/// The record of a fabric that is watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    seen: Vec<Seen>,
    /// By connection.
    fronts: BTreeMap<u32, Front>,
    /// The transfers that were delivered last, and the legs of those whose journeys had to be worked
    /// out, one after the other.
    delivered: Vec<Delivered>,
    legs: Vec<Leg>,
    journeys: Journeys,
}

impl Watch {
    /// Resources serve otherwise from now on.
    pub(super) fn forget_journeys(&mut self) {
        self.delivered.clear();
        self.journeys.known.clear();
        self.fronts.clear();
    }

    /// The journeys of the transfers that were delivered last.
    pub(super) fn delivered(&self) -> impl Iterator<Item = Journey<'_>> {
        let begins = std::iter::once(0).chain(self.delivered.iter().map(|one| one.end));
        begins.zip(&self.delivered).map(|(begin, one)| {
            let started = Time::from_ps(one.started);
            let Some(place) = one.known else {
                return Journey { started, legs: &self.legs[begin..one.end], name: None };
            };
            let Known { number, legs, .. } = &self.journeys.known[place];
            Journey { started, legs, name: Some(JourneyName { place, number: *number }) }
        })
    }

    fn of(&mut self, id: u32) -> &mut Seen {
        let id = id as usize;
        if id >= self.seen.len() {
            self.seen.resize(id + 1, Seen::default());
        }
        &mut self.seen[id]
    }

    /// A transfer over so many hops begins.
    #[cold]
    pub(super) fn begin(&mut self, id: u32, now: Time, hops: u32) {
        let seen = self.of(id);
        seen.started = now.as_ps();
        seen.visits.clear();
        seen.visits.resize(hops as usize, Visit::default());
        seen.limits.clear();
    }

    /// The visit of a transfer that has begun.
    #[inline]
    pub(super) fn visit(&mut self, id: u32, place: u32, visit: Visit) {
        self.seen[id as usize].visits[place as usize] = visit;
    }

    /// A flow is opened, or its limit is another one.
    #[cold]
    pub(super) fn limit(&mut self, id: u32, now: Time, limit: u32) {
        let limits = &mut self.of(id).limits;
        if limits.last().is_none_or(|&(_, last)| last != limit) {
            limits.push((now.as_ps(), limit));
        }
    }

    /// The flow of a transfer ended.
    pub(super) fn flowed(&mut self, id: u32, now: Time) {
        self.of(id).flowed = now.as_ps();
    }

    /// No transfer is delivered yet by the event that is handled.
    #[inline]
    pub(super) fn begin_event(&mut self) {
        self.legs.clear();
        self.delivered.clear();
    }

    /// A transfer is delivered: `work_out` appends its legs, the first one first. A packet's journey
    /// is worked out once for each `crossing`.
    pub(super) fn deliver(
        &mut self,
        id: u32,
        crossing: Option<Crossing>,
        mut work_out: impl FnMut(&Seen, &mut Vec<Leg>),
    ) {
        let Self { seen, delivered, legs, journeys, .. } = self;
        let seen = &seen[id as usize];
        let known = crossing.and_then(|crossing| journeys.find(crossing, seen));
        if let Some(place) = known {
            if cfg!(debug_assertions) {
                let mut again = Vec::new();
                work_out(seen, &mut again);
                assert!(again == journeys.known[place].legs, "a crossing has the same legs again");
            }
        } else {
            let first = legs.len();
            work_out(seen, legs);
            if let Some(crossing) = crossing {
                journeys.keep(crossing, seen, &legs[first..], delivered);
            }
        }
        delivered.push(Delivered { started: seen.started, known, end: legs.len() });
    }

    /// The transfer that was delivered just now is one of connection `conn`: what it waited for in order was what the
    /// one before it used; `followed`, others will wait for this one.
    pub(super) fn in_order(&mut self, conn: u32, followed: bool) {
        let [before @ .., last] = self.delivered.as_slice() else { return };
        let first = before.last().map_or(0, |one| one.end);
        let Delivered { started, known, .. } = *last;
        if known.is_none() && self.legs[first..].iter().any(|leg| leg.stage == Stage::Order) {
            self.charge_order(conn, started, first);
        }
        if followed {
            let legs = match known {
                Some(place) => self.journeys.known[place].legs.clone(),
                None => self.legs[first..].to_vec(),
            };
            self.fronts.insert(conn, Front { started, legs });
        } else {
            self.fronts.remove(&conn);
        }
    }

    /// Charges the waits in order among the legs from `first` on to what the transfer in front used.
    fn charge_order(&mut self, conn: u32, started: u64, first: usize) {
        let Some(front) = self.fronts.get(&conn) else { return };
        let mut begun = 0;
        for leg in self.legs.split_off(first) {
            let until = leg.until.as_ps();
            if leg.stage == Stage::Order {
                let mut at = begun;
                for (resource, time) in front.used(started + begun, started + until) {
                    at += time;
                    if time > 0 {
                        self.legs.push(Leg { resource, until: TimeDelta::from_ps(at), ..leg });
                    }
                }
                if at < until {
                    self.legs.push(leg);
                }
            } else {
                self.legs.push(leg);
            }
            begun = until;
        }
        if let Some(last) = self.delivered.last_mut() {
            last.end = self.legs.len();
        }
    }

    /// When a transfer came to its first hop.
    pub(super) fn came(&self, id: u32) -> u64 {
        self.seen[id as usize].visits.first().map_or(0, |visit| visit.came)
    }

    /// When a transfer began.
    pub(super) fn started(&self, id: u32) -> u64 {
        self.seen[id as usize].started
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn journey(took: u64) -> (Crossing, Seen) {
        let crossing = Crossing { first_hop: 3, bytes: 8, took, tail: took };
        let visits = vec![Visit { came: 0, begun: 0, tail: took }];
        (crossing, Seen { visits, ..Seen::default() })
    }

    fn keep(
        journeys: &mut Journeys,
        all: &[(Crossing, Seen)],
        delivered: &[Delivered],
    ) -> Vec<Option<usize>> {
        for (crossing, seen) in all {
            journeys.keep(*crossing, seen, &[], delivered);
        }
        all.iter().map(|(crossing, seen)| journeys.find(*crossing, seen)).collect()
    }

    #[test]
    fn a_hundred_journeys_are_kept_beside_each_other() {
        let mut journeys = Journeys::default();
        let all: Vec<_> = (0..100).map(|step| journey(1_000 + 37 * step * step)).collect();
        let firsts = all.iter().filter_map(|(crossing, _)| crossing.places().next());
        assert!(firsts.collect::<BTreeSet<usize>>().len() < 100, "some have one first place");
        let found = keep(&mut journeys, &all, &[]);
        assert!(found.iter().all(Option::is_some), "{found:?}");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>().len(), 100);
        let (crossing, mut other) = journey(1_000);
        other.visits[0].begun = 1;
        assert_eq!(journeys.find(crossing, &other), None, "it waited");
    }

    #[test]
    fn a_journey_drives_another_out_but_none_that_this_event_has_delivered() {
        let mut journeys = Journeys::default();
        let first = |(crossing, _): &(Crossing, Seen)| crossing.places().next() == Some(9);
        let all: Vec<_> = (0..).map(journey).filter(first).take(TRIES + 1).collect();
        let old = keep(&mut journeys, &all[..TRIES], &[]);
        assert!(old.iter().all(Option::is_some), "{old:?}");
        let delivered = |known: &Option<usize>| Delivered { started: 0, known: *known, end: 0 };
        let delivered: Vec<Delivered> = old.iter().map(delivered).collect();
        assert_eq!(
            keep(&mut journeys, &all[TRIES..], &delivered),
            [None],
            "all of them are still read"
        );
        let number = journeys.kept;
        assert_eq!(keep(&mut journeys, &all[TRIES..], &delivered[1..]), [Some(9)]);
        assert_eq!(
            (journeys.known[9].number, journeys.kept),
            (number + 1, number + 1),
            "by a new name"
        );
    }
}
