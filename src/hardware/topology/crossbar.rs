//! A crossbar: one switch with a port for every host.
//!
//! A host's link to the switch has twice the host's number, and the link back the next one.
//! Left out: several switches of limited ports that act as one. Noticeable as more nodes than a real
//! switch has ports.

use super::wires::{LinkId, TopologyError, Wires};
use super::wiring::{Load, Routes, Wiring, parameters};

parameters! {
    /// One switch that all nodes are attached to.
    pub struct Crossbar {}
}

impl Wiring for Crossbar {
    type Routes = Self;

    fn wire(self, hosts: u32, wires: &mut Wires) -> Result<Self, TopologyError> {
        wires.switch(1, 0);
        for host in 0..hosts {
            wires.cable(host, hosts);
        }
        Ok(self)
    }
}

impl Routes for Crossbar {
    fn route(&self, from: u32, to: u32, _: Load<'_>, links: &mut Vec<LinkId>) {
        links.extend([LinkId(2 * from), LinkId(2 * to + 1)]);
    }

    fn switches_between(&self, _: u32, _: u32) -> u32 {
        1
    }
}

impl std::fmt::Display for Crossbar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("crossbar")
    }
}
