//! A two-dimensional torus: switches in a grid whose rows and columns are closed to rings.
//!
//! ```text
//!   switch x.y     0.0 ── 1.0 ── 2.0 ─╮    every switch has its nodes, a cable to the next switch
//!                   │      │      │   ╰─▶  of its row, and one to the next switch of its column;
//!                  0.1 ── 1.1 ── 2.1 ─╮    the last switch of a ring has a cable to the first
//!                   │      │      │   ╰─▶
//! ```
//!
//! Nodes fill one switch after the other, row by row. Two switches of a ring have one cable, not two.
//!
//! Routes are minimal and in the order of dimensions: first along the row, then along the column, each
//! the shorter way round its ring. Where both ways are equally long, the route takes the one that does
//! not cross the cable from the last switch to the first.
//!
//! Source: dimension-order (e-cube) routing of Dally, Seitz: Deadlock-Free Message Routing in
//! Multiprocessor Interconnection Networks, IEEE Transactions on Computers C-36 (5), 1987.
//! Left out: virtual channels, and the full buffers whose circles they break (here the queue of a link
//! has no end, so that nothing can block), adaptive and non-minimal routes, ways round failed links,
//! more dimensions. Noticeable under load, where real rings saturate earlier, and in hot spots: a shift
//! by half a ring leaves its closing cable idle.

use super::wires::{LinkId, MOST_LINKS, TopologyError, Wires};
use super::wiring::{Load, Routes, Wiring, parameters, refuse_zeros};

parameters! {
    /// Switches in a grid whose rows and columns are rings.
    pub struct Torus {
        /// Switches of a row.
        x: 1..=256 = Required("4");
        /// Switches of a column.
        y: 1..=256 = Required("4");
        /// Nodes of a switch.
        nodes_per_switch: 1..=1_024 = Default("1");
    }
}

/// The routes of a torus.
#[derive(Clone, Debug)]
pub struct Grid {
    nodes_per_switch: u32,
    rows: Rings,
    columns: Rings,
}

/// The rings of one dimension, all equally long.
#[derive(Clone, Copy, Debug)]
struct Rings {
    /// Switches of a ring.
    extent: u32,
    /// Number of the first link of the first ring.
    first_link: u32,
}

impl Wiring for Torus {
    type Routes = Grid;

    fn wire(self, hosts: u32, wires: &mut Wires) -> Result<Grid, TopologyError> {
        let Self { x, y, nodes_per_switch } = self;
        refuse_zeros(&[("x", x), ("y", y), ("nodes_per_switch", nodes_per_switch)])?;
        let switches = u64::from(x) * u64::from(y);
        let ports = switches.saturating_mul(u64::from(nodes_per_switch));
        if ports < u64::from(hosts) {
            let each = if nodes_per_switch == 1 { "node" } else { "nodes" };
            let network =
                format!("a torus of {x} x {y} switches with {nodes_per_switch} {each} each");
            return Err(TopologyError::TooManyHosts { network, ports, hosts });
        }
        // A switch has at most two cables to others.
        if switches > u64::from(MOST_LINKS / 4) - u64::from(hosts) / 2 {
            let (most, remedy) = (format!("{MOST_LINKS} links"), "fewer switches are needed");
            return Err(TopologyError::TooLarge { most, remedy });
        }
        for (column, row) in (0..y).flat_map(|row| (0..x).map(move |column| (column, row))) {
            wires.switch(column, row);
        }
        for host in 0..hosts {
            wires.cable(host, hosts + host / nodes_per_switch);
        }
        let rows = Rings { extent: x, first_link: 2 * hosts };
        let columns = Rings { extent: y, first_link: rows.first_link + 2 * y * rows.cables() };
        let switch = |column, row| hosts + row * x + column;
        for row in 0..y {
            for column in 0..rows.cables() {
                wires.cable(switch(column, row), switch((column + 1) % x, row));
            }
        }
        for column in 0..x {
            for row in 0..columns.cables() {
                wires.cable(switch(column, row), switch(column, (row + 1) % y));
            }
        }
        Ok(Grid { nodes_per_switch, rows, columns })
    }
}

impl Grid {
    /// Column and row of a host's switch.
    fn place(&self, host: u32) -> (u32, u32) {
        let switch = host / self.nodes_per_switch;
        (switch % self.rows.extent, switch / self.rows.extent)
    }
}

impl Routes for Grid {
    fn route(&self, from: u32, to: u32, _: Load<'_>, links: &mut Vec<LinkId>) {
        let ((column, row), (to_column, to_row)) = (self.place(from), self.place(to));
        links.push(LinkId(2 * from));
        self.rows.go(row, column, to_column, links);
        self.columns.go(to_column, row, to_row, links);
        links.push(LinkId(2 * to + 1));
    }

    fn switches_between(&self, from: u32, to: u32) -> u32 {
        let ((column, row), (to_column, to_row)) = (self.place(from), self.place(to));
        1 + self.rows.distance(column, to_column) + self.columns.distance(row, to_row)
    }
}

impl Rings {
    /// Cables of a ring.
    const fn cables(self) -> u32 {
        if self.extent > 2 { self.extent } else { self.extent - 1 }
    }

    /// The link of a ring from the switch at this place to the next one; the way back has the next
    /// number.
    const fn link(self, ring: u32, place: u32) -> u32 {
        self.first_link + 2 * (ring * self.cables() + place)
    }

    /// Steps from one place to another in the direction of rising places.
    const fn upwards(self, from: u32, to: u32) -> u32 {
        (to + self.extent - from) % self.extent
    }

    fn distance(self, from: u32, to: u32) -> u32 {
        self.upwards(from, to).min(self.upwards(to, from))
    }

    /// Appends the links of a ring from one place to another.
    fn go(self, ring: u32, from: u32, to: u32, links: &mut Vec<LinkId>) {
        let (up, down) = (self.upwards(from, to), self.upwards(to, from));
        let before = |place| (place + self.extent - 1) % self.extent;
        let mut here = from;
        if up < down || (up == down && from < to) {
            for _ in 0..up {
                links.push(LinkId(self.link(ring, here)));
                here = (here + 1) % self.extent;
            }
        } else {
            for _ in 0..down {
                here = before(here);
                links.push(LinkId(self.link(ring, here) + 1));
            }
        }
    }
}

impl std::fmt::Display for Torus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { x, y, nodes_per_switch } = self;
        let each = if *nodes_per_switch == 1 { "node" } else { "nodes" };
        write!(f, "torus, {x} x {y} switches, {nodes_per_switch} {each} each")
    }
}
