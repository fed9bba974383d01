//! The resources of a fabric: the specification and the state of each.

use std::collections::BTreeMap;

use super::arena::NONE;
use super::promises::Coming;
use super::servers::Servers;
use super::shared::Shared;
use super::spec::{Alteration, ResourceSpec, Service};
use units::{Bandwidth, TimeDelta};

/// The state of one resource.
#[derive(Debug)]
pub(super) enum Resource {
    /// No path crosses it yet: many cores never copy beyond their caches.
    Unused,
    Shared(Box<Shared>),
    Servers(Box<Servers>),
}

impl Resource {
    fn new(spec: &ResourceSpec) -> Self {
        match spec.service {
            Service::Shared { capacity } => {
                Self::Shared(Box::new(Shared::new(capacity, spec.arbitration)))
            }
            Service::Servers { count, per_item } => {
                Self::Servers(Box::new(Servers::new(count, per_item)))
            }
        }
    }

    #[inline]
    pub(super) fn coming(&mut self) -> &mut Coming {
        match self {
            Self::Shared(shared) => &mut shared.coming,
            Self::Servers(servers) => &mut servers.coming,
            Self::Unused => unreachable!("a path begins what it crosses"),
        }
    }
}

/// All resources, by their numbers.
#[derive(Debug)]
pub(super) struct Resources {
    specs: Vec<ResourceSpec>,
    states: Vec<Resource>,
    /// Alterations by resource, and the capacities that the resources were built with.
    altered: BTreeMap<u32, (Alteration, Option<Bandwidth>)>,
}

impl Resources {
    /// Resources that no path crosses yet.
    ///
    /// # Panics
    ///
    /// When a capacity, a number of servers or a framing unit is zero.
    pub(super) fn new(specs: Vec<ResourceSpec>) -> Self {
        for spec in &specs {
            assert!(spec.framing.unit > 0, "a packet of {} holds at least one byte", spec.name);
            match spec.service {
                Service::Shared { capacity } => {
                    assert!(capacity.as_bit_per_s() > 0, "{} has a capacity", spec.name);
                }
                Service::Servers { count, .. } => {
                    assert!(count > 0, "{} has at least one server", spec.name);
                }
            }
        }
        let states = specs.iter().map(|_| Resource::Unused).collect();
        Self { specs, states, altered: BTreeMap::new() }
    }

    /// Makes the state of a resource, if it has none.
    pub(super) fn begin(&mut self, resource: u32) {
        let state = &mut self.states[resource as usize];
        if matches!(state, Resource::Unused) {
            *state = Resource::new(&self.specs[resource as usize]);
        }
    }

    pub(super) fn specs(&self) -> &[ResourceSpec] {
        &self.specs
    }

    /// The specifications, for the end: without them nothing can begin.
    pub(super) fn take_specs(&mut self) -> Vec<ResourceSpec> {
        std::mem::take(&mut self.specs)
    }

    #[inline]
    pub(super) fn get(&self, resource: u32) -> &Resource {
        &self.states[resource as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, resource: u32) -> &mut Resource {
        &mut self.states[resource as usize]
    }

    #[inline]
    pub(super) fn is_shared(&self, resource: u32) -> bool {
        matches!(self.states[resource as usize], Resource::Shared(_))
    }

    #[inline]
    pub(super) fn shared(&self, resource: u32) -> &Shared {
        match &self.states[resource as usize] {
            Resource::Shared(shared) => shared,
            Resource::Servers(_) | Resource::Unused => {
                unreachable!("flows and turns belong to shared resources only")
            }
        }
    }

    #[inline]
    pub(super) fn shared_mut(&mut self, resource: u32) -> &mut Shared {
        match &mut self.states[resource as usize] {
            Resource::Shared(shared) => shared,
            Resource::Servers(_) | Resource::Unused => {
                unreachable!("flows and turns belong to shared resources only")
            }
        }
    }

    #[inline]
    pub(super) fn servers_mut(&mut self, resource: u32) -> &mut Servers {
        match &mut self.states[resource as usize] {
            Resource::Servers(servers) => servers,
            Resource::Shared(_) | Resource::Unused => {
                unreachable!("only pools of servers serve items")
            }
        }
    }

    /// Time that packets took from the flows that a resource limits; none where there is no limit.
    pub(super) fn stolen_at(&self, limit: u32) -> i64 {
        if limit == NONE { 0 } else { self.shared(limit).fluid.stolen }
    }

    /// Packets on their way to a resource.
    #[inline]
    pub(super) fn coming(&mut self, resource: u32) -> &mut Coming {
        self.states[resource as usize].coming()
    }

    /// Changes the specification of a resource to what it was built with but for `to`. Answers what
    /// it differed by before, and the rate that is left of its capacity, if it has one.
    pub(super) fn alter(
        &mut self,
        resource: u32,
        to: Alteration,
    ) -> (Alteration, Option<Bandwidth>) {
        let spec = &mut self.specs[resource as usize];
        let built = match spec.service {
            Service::Shared { capacity } => Some(capacity),
            Service::Servers { .. } => None,
        };
        let known = self.altered.entry(resource).or_insert((Alteration::NONE, built));
        let (from, built) = *known;
        known.0 = to;
        let left = built.map(|built| to.rate_of(built));
        if let (Service::Shared { capacity }, Some(left)) = (&mut spec.service, left) {
            *capacity = left;
        }
        (from, left)
    }

    /// Time that a hop over an altered resource takes beyond its latency.
    pub(super) fn added_delay(&self, resource: u32) -> TimeDelta {
        self.altered.get(&resource).map_or(TimeDelta::ZERO, |(altered, _)| altered.delay)
    }
}
