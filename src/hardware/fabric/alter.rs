//! Resources that a fault slows, delays or stops for a while.
//!
//! ```text
//!   alter   rate and latency are other ones from now on: what is in service ends as it began,
//!           promises beyond now are broken, flows get new rates
//!   hold    nothing begins here before a moment: what is in service ends as it began
//! ```
//!
//! What nobody alters pays nothing: the numbers that packets are charged lie with the kinds of hops,
//! and hops over an altered resource get a kind of their own.

use std::collections::BTreeMap;

use super::spec::{EventKind, FabricEvent, Schedule};
use super::{Fabric, Resource, ResourceId, Service};
use crate::profile::Ratio;
use units::{Bandwidth, Time, TimeDelta};

/// How a resource differs from what it was built as.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Alteration {
    /// The part of its rate that is left; pools of servers keep theirs.
    pub rate: Ratio,
    /// Time that every hop over it takes beyond its latency.
    pub delay: TimeDelta,
    /// Whether flows stand still, but for [`STILL`].
    pub paused: bool,
}

impl Alteration {
    /// As it was built.
    pub const NONE: Self = Self { rate: Ratio::ONE, delay: TimeDelta::ZERO, paused: false };
}

/// The rate of a resource that stands still: a flow always has one, and at this one a byte takes a
/// microsecond.
pub const STILL: Bandwidth = Bandwidth::from_bit_per_s(8_000_000);

/// Alterations by resource, and the capacities that the resources were built with.
pub(super) type Altered = BTreeMap<u32, (Alteration, Option<Bandwidth>)>;

impl Fabric {
    /// Lets `resource` differ from what it was built as by `to`, from now on.
    ///
    /// # Panics
    ///
    /// When there is no such resource.
    pub fn alter(
        &mut self,
        now: Time,
        resource: ResourceId,
        to: Alteration,
        out: &mut impl Schedule,
    ) {
        self.clock = now;
        let place = resource.0 as usize;
        self.resources[place].begin(&self.specs[place]);
        self.forget_promises(now, resource, out);
        let built = match self.specs[place].service {
            Service::Shared { capacity } => Some(capacity),
            Service::Servers { .. } => None,
        };
        let known = self.altered.entry(resource.0).or_insert((Alteration::NONE, built));
        let (from, built) = (known.0, known.1);
        known.0 = to;
        let capacity = built.map(|built| reduced(built, to.rate));
        if let (Service::Shared { capacity: present }, Some(capacity)) =
            (&mut self.specs[place].service, capacity)
        {
            *present = capacity;
        }
        self.hops.change(resource.0, capacity, (from.delay, to.delay));
        if let Some(watch) = &mut self.watch {
            watch.forget_ways();
        }
        if let Some(capacity) = capacity {
            self.set_flow_rate(now, resource, if to.paused { STILL } else { capacity }, out);
        }
    }

    /// Lets nothing begin at `resource` before `until`.
    ///
    /// # Panics
    ///
    /// When there is no such resource.
    pub fn hold(&mut self, now: Time, resource: ResourceId, until: Time, out: &mut impl Schedule) {
        self.clock = now;
        let place = resource.0 as usize;
        self.resources[place].begin(&self.specs[place]);
        self.forget_promises(now, resource, out);
        match &mut self.resources[place] {
            Resource::Servers(servers) => servers.hold(until),
            Resource::Shared(shared) => {
                shared.free_at = shared.free_at.max(until.as_ps());
                // Nobody of this instant may take the service back that it stands for.
                shared.serving.stood_since = u64::MAX;
                if shared.turn_pending {
                    shared.run = None;
                    shared.turn_generation = shared.turn_generation.wrapping_add(1);
                    let event =
                        FabricEvent::new(EventKind::Turn, resource.0, shared.turn_generation);
                    let at = Time::from_ps(shared.free_at);
                    out.at(at, resource, event);
                }
            }
            Resource::Unused => unreachable!("it was begun above"),
        }
    }

    /// What was promised beyond now comes by events again.
    fn forget_promises(&mut self, now: Time, resource: ResourceId, out: &mut impl Schedule) {
        if self.is_shared(resource) {
            self.promises_meet_flows(now, resource.0, out);
        } else {
            self.meet_promises_at_servers(now, resource, out);
        }
    }

    /// The rate that flows share here, and how fast a segment of them is.
    fn set_flow_rate(
        &mut self,
        now: Time,
        resource: ResourceId,
        capacity: Bandwidth,
        out: &mut impl Schedule,
    ) {
        let shared = self.resources[resource.0 as usize].shared_mut();
        shared.set_capacity(capacity);
        self.ask_for_solve(now, resource, out);
    }

    /// What new hops over altered resources take beyond their latencies.
    pub(super) fn added_delay(&self, resource: u32) -> TimeDelta {
        self.altered.get(&resource).map_or(TimeDelta::ZERO, |(altered, _)| altered.delay)
    }
}

/// The part `rate` of `built`, and never less than what stands still.
fn reduced(built: Bandwidth, rate: Ratio) -> Bandwidth {
    let bits = u128::from(built.as_bit_per_s()) * u128::from(rate.as_ppm());
    let bits = u64::try_from(bits / u128::from(Ratio::ONE.as_ppm()));
    Bandwidth::from_bit_per_s(bits.unwrap_or(u64::MAX).max(STILL.as_bit_per_s()))
}
