use std::collections::BTreeMap;

use petgraph::graph::NodeIndex;

use super::fat_tree::Tree;
use super::wires::MOST_LINKS;
use super::*;

fn tree(arity: u32, uplinks: u32, levels: u32, hosts: u32) -> Topology {
    let mut wires = Wires::new(hosts).unwrap();
    let tree = Tree::wire(arity, uplinks, levels, hosts, &mut wires).unwrap();
    Topology { graph: wires.into_graph(), hosts, routing: Routing::FatTree(tree) }
}

/// The route in a network without traffic.
fn route(topology: &Topology, from: u32, to: u32) -> Vec<LinkId> {
    topology.route(from, to, &|_| 0)
}

fn torus(x: u32, y: u32, nodes_per_switch: u32, hosts: u32) -> Topology {
    Topology::new(Shape::Torus(Torus { x, y, nodes_per_switch }), hosts).unwrap()
}

/// Networks of every kind, also with missing hosts; trees are full, oversubscribed, or have parallel
/// paths, and tori have rings of even and odd length.
fn small_worlds() -> Vec<Topology> {
    let mut worlds: Vec<_> =
        [1, 2, 7].map(|hosts| Topology::new(Shape::default(), hosts).unwrap()).into();
    for (arity, uplinks, levels) in
        [(2, 2, 3), (3, 1, 2), (4, 2, 2), (2, 3, 3), (1, 1, 1), (4, 4, 3)]
    {
        let ports = arity_power(arity, levels);
        worlds
            .extend([ports, ports.div_ceil(2), 1].map(|hosts| tree(arity, uplinks, levels, hosts)));
    }
    for (x, y, each) in
        [(1, 1, 3), (2, 1, 1), (1, 4, 2), (2, 2, 1), (3, 2, 1), (4, 3, 2), (6, 5, 1)]
    {
        let ports: u32 = x * y * each;
        worlds.extend([ports, ports.div_ceil(2)].map(|hosts| torus(x, y, each, hosts)));
    }
    worlds
}

fn arity_power(arity: u32, levels: u32) -> u32 {
    arity.pow(levels)
}

/// Number of shortest paths between two hosts, counted on the graph itself, and their length.
fn counted_paths(topology: &Topology, from: u32, to: u32) -> (u32, usize) {
    let mut front = BTreeMap::from([(NodeIndex::new(from as usize), 1)]);
    let target = NodeIndex::new(to as usize);
    for length in 0.. {
        assert!(length <= topology.links(), "host {to} is not reachable from {from}");
        if let Some(&paths) = front.get(&target) {
            return (paths, length);
        }
        let mut next = BTreeMap::new();
        for (&vertex, paths) in &front {
            for neighbour in topology.graph.neighbors(vertex) {
                *next.entry(neighbour).or_insert(0) += paths;
            }
        }
        front = next;
    }
    unreachable!("the loop has no end of its own")
}

#[test]
fn every_pair_is_joined_by_a_shortest_chain_of_links() {
    for topology in small_worlds() {
        for from in 0..topology.hosts() {
            for to in 0..topology.hosts() {
                let route = route(&topology, from, to);
                let mut here = Vertex::Host(from);
                for &link in &route {
                    let (begin, end) = topology.ends(link);
                    assert_eq!(begin, here, "{from} to {to}: {route:?}");
                    here = end;
                }
                assert_eq!(here, Vertex::Host(to));
                let (paths, length) = counted_paths(&topology, from, to);
                assert_eq!(route.len(), length, "{from} to {to} is shortest");
                if let Routing::FatTree(tree) = &topology.routing {
                    assert_eq!(tree.ways_between(from, to), paths, "{from} to {to}");
                }
                let switches = topology.switches_between(from, to) as usize;
                assert_eq!(switches, length.saturating_sub(1));
            }
        }
    }
}

#[test]
fn a_crossbar_has_one_switch_and_two_links_for_each_host() {
    let crossbar = Topology::new(Shape::default(), 16).unwrap();
    assert_eq!((crossbar.switches(), crossbar.links()), (1, 32));
    assert_eq!(route(&crossbar, 3, 5), [LinkId(6), LinkId(11)]);
    assert_eq!(crossbar.link_name(LinkId(6)), "host 3 to switch 1.0");
    assert_eq!(crossbar.link_name(LinkId(11)), "switch 1.0 to host 5");
}

#[test]
fn a_full_tree_has_the_switches_of_the_books() {
    // k-ary n-tree: n k^(n-1) switches; the top level has no uplinks.
    for (arity, levels) in [(2, 2), (2, 3), (4, 2), (4, 3)] {
        let topology = tree(arity, arity, levels, arity_power(arity, levels));
        let per_level = arity_power(arity, levels - 1);
        assert_eq!(topology.switches(), (levels * per_level) as usize);
        assert_eq!(topology.links(), (2 * levels * arity_power(arity, levels)) as usize);
    }
}

/// The largest number of routes that share one link when host h sends to `target(h)`.
fn hottest(topology: &Topology, target: impl Fn(u32) -> u32) -> u32 {
    let mut load = vec![0; topology.links()];
    for from in 0..topology.hosts() {
        for link in route(topology, from, target(from)) {
            load[link.0 as usize] += 1;
        }
    }
    load.into_iter().max().unwrap()
}

#[test]
fn shifts_meet_nowhere_in_a_full_tree() {
    for topology in [tree(2, 2, 3, 8), tree(4, 4, 2, 16), tree(4, 4, 3, 64)] {
        let hosts = topology.hosts();
        for shift in 1..hosts {
            assert_eq!(hottest(&topology, |host| (host + shift) % hosts), 1, "shift {shift}");
        }
    }
}

#[test]
fn an_oversubscribed_tree_shares_its_uplinks_evenly() {
    // Four hosts of a switch over two uplinks, all to another switch.
    let topology = tree(4, 2, 2, 16);
    assert_eq!(hottest(&topology, |host| (host + 4) % 16), 2);
    let single = tree(4, 1, 2, 16);
    assert_eq!(hottest(&single, |host| (host + 4) % 16), 4);
}

/// As in InfiniBand, whose switches hold one output port for each target.
#[test]
fn a_switch_forwards_by_the_target_alone() {
    for topology in small_worlds() {
        for to in 0..topology.hosts() {
            let mut next = BTreeMap::new();
            for from in 0..topology.hosts() {
                for link in route(&topology, from, to) {
                    let (here, _) = topology.ends(link);
                    let known = *next.entry(here).or_insert(link);
                    assert_eq!(known, link, "two ways from {here} to host {to}");
                }
            }
        }
    }
}

/// The names of the links of a route.
fn names(topology: &Topology, from: u32, to: u32) -> Vec<String> {
    route(topology, from, to).into_iter().map(|link| topology.link_name(link)).collect()
}

#[test]
fn a_torus_has_two_cables_for_each_switch_and_one_for_each_host() {
    let topology = torus(4, 3, 2, 24);
    assert_eq!((topology.switches(), topology.links()), (12, 2 * (24 + 2 * 12)));
    // A ring of two switches is one cable, and one switch is no ring.
    assert_eq!(torus(2, 3, 1, 6).links(), 2 * (6 + 3 + 2 * 3));
    assert_eq!(torus(1, 5, 1, 5).links(), 2 * (5 + 5));
}

#[test]
fn a_torus_routes_along_the_row_and_then_along_the_column() {
    let topology = torus(5, 4, 1, 20);
    let way = [
        "host 0 to switch 0.0",
        "switch 0.0 to switch 1.0",
        "switch 1.0 to switch 1.1",
        "switch 1.1 to host 6",
    ];
    assert_eq!(names(&topology, 0, 6), way);
    // Both rings are shorter by the cable that closes them.
    let way = [
        "host 0 to switch 0.0",
        "switch 0.0 to switch 4.0",
        "switch 4.0 to switch 4.3",
        "switch 4.3 to host 19",
    ];
    assert_eq!(names(&topology, 0, 19), way);
}

#[test]
fn of_two_equal_ways_a_torus_takes_the_one_without_the_closing_cable() {
    let topology = torus(4, 1, 1, 4);
    for (from, to) in [(0, 2), (1, 3), (2, 0), (3, 1)] {
        let way = names(&topology, from, to);
        assert_eq!(way.len(), 4, "{way:?}");
        assert!(way.iter().all(|link| !link.contains("3.0 to switch 0.0")), "{way:?}");
        assert!(way.iter().all(|link| !link.contains("0.0 to switch 3.0")), "{way:?}");
    }
}

#[test]
fn shifts_along_a_ring_share_a_link_by_their_distance() {
    // Each link of a ring of 7 carries the routes of the `shift` switches before it.
    let ring = torus(7, 1, 1, 7);
    for shift in 1..=3 {
        assert_eq!(hottest(&ring, |host| (host + shift) % 7), shift);
        assert_eq!(hottest(&ring, |host| (host + 7 - shift) % 7), shift);
    }
}

#[test]
fn impossible_networks_are_refused() {
    let refused = |shape, hosts| Topology::new(shape, hosts).unwrap_err();
    let tree = |arity, oversubscription, levels| {
        Shape::FatTree(FatTree { arity, levels, oversubscription })
    };
    assert_eq!(refused(Shape::default(), 0), TopologyError::Zero { field: "nodes" });
    assert_eq!(refused(tree(0, 1, 2), 4), TopologyError::Zero { field: "arity" });
    assert_eq!(refused(tree(4, 0, 2), 4), TopologyError::Zero { field: "oversubscription" });
    assert_eq!(
        refused(tree(4, 5, 2), 4).to_string(),
        "5 links downwards for each link upwards, but a switch has 4 links downwards"
    );
    assert_eq!(
        refused(tree(4, 1, 2), 17).to_string(),
        "a fat tree of arity 4 and 2 levels has 16 ports for 17 hosts"
    );
    let wide = |x, y| Shape::Torus(Torus { x, y, nodes_per_switch: 1 });
    assert_eq!(refused(wide(3, 0), 1), TopologyError::Zero { field: "y" });
    assert_eq!(
        refused(wide(3, 2), 7).to_string(),
        "a torus of 3 x 2 switches with 1 node each has 6 ports for 7 hosts"
    );
    assert!(matches!(refused(wide(u32::MAX, u32::MAX), 1), TopologyError::TooLarge { .. }));
    for huge in [tree(1_000, 1, 4), tree(1, 1, 4_000_000_000), tree(2, 1, 32), tree(u32::MAX, 1, 3)]
    {
        assert_eq!(
            refused(huge, 1).to_string(),
            "the topology is too large: at most 67108864 links and 32 levels are possible"
        );
    }
    assert_eq!(
        refused(Shape::default(), u32::MAX),
        TopologyError::TooLarge {
            most: format!("{MOST_LINKS} links"),
            remedy: "fewer nodes are needed"
        }
    );
}

#[test]
fn a_large_tree_costs_no_more_than_its_links() {
    let topology = tree(32, 32, 3, 32_768);
    assert_eq!(topology.links(), 2 * 3 * 32_768);
    assert_eq!(route(&topology, 0, 32_767).len(), 6);
}

#[test]
fn dot_draws_every_cable_once() {
    let dot = tree(2, 1, 2, 4).dot();
    let expected = "graph topology {
  rankdir=BT;
  \"host 0\" [shape=ellipse];
  \"host 1\" [shape=ellipse];
  \"host 2\" [shape=ellipse];
  \"host 3\" [shape=ellipse];
  \"switch 1.0\" [shape=box];
  \"switch 1.1\" [shape=box];
  \"switch 2.0\" [shape=box];
  \"host 0\" -- \"switch 1.0\";
  \"host 1\" -- \"switch 1.0\";
  \"host 2\" -- \"switch 1.1\";
  \"host 3\" -- \"switch 1.1\";
  \"switch 1.0\" -- \"switch 2.0\";
  \"switch 1.1\" -- \"switch 2.0\";
}
";
    assert_eq!(dot, expected);
}
