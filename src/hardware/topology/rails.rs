//! For tests: two switches, each with a cable to every host, of which a pair takes the one with less
//! load.

use super::wires::{LinkId, TopologyError, Wires};
use super::wiring::{Load, Routes, Wiring, parameters};

parameters! {
    /// Two switches that all nodes are attached to.
    pub struct Rails {}
}

impl Wiring for Rails {
    type Routes = Self;

    fn wire(self, hosts: u32, wires: &mut Wires) -> Result<Self, TopologyError> {
        wires.switch(1, 0);
        wires.switch(1, 1);
        for host in 0..hosts {
            wires.cable(host, hosts);
            wires.cable(host, hosts + 1);
        }
        Ok(self)
    }
}

impl Routes for Rails {
    const BY_LOAD: bool = true;

    fn route(&self, from: u32, to: u32, load: Load<'_>, links: &mut Vec<LinkId>) {
        let by = |rail| [LinkId(4 * from + 2 * rail), LinkId(4 * to + 2 * rail + 1)];
        let worst = |rail: &u32| by(*rail).into_iter().map(load).max();
        links.extend([0, 1].into_iter().min_by_key(worst).map_or_else(|| by(0), by));
    }

    fn switches_between(&self, _: u32, _: u32) -> u32 {
        1
    }
}

impl std::fmt::Display for Rails {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("two rails")
    }
}
