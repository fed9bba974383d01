use super::*;
use crate::fabric::{ConnId, FabricEvent, Schedule, Transfer};
use crate::profile::least;
use crate::topology::{Rails, Shape as Wiring};
use units::Time;

/// Events of the fabric, the earliest first.
#[derive(Default)]
struct Calendar(Vec<(Time, FabricEvent)>);

impl Schedule for Calendar {
    fn at(&mut self, time: Time, _: ResourceId, event: FabricEvent) {
        self.0.push((time, event));
    }
}

fn place(node: u32) -> Place {
    Place { node, socket: 0, core: 0, thread: 0 }
}

/// A megabyte from node 0 to node 2 is on the wires of the first rail: node 1 takes the second one, and
/// each pair keeps its own when the load has changed.
#[test]
fn a_route_by_load_avoids_the_links_in_use_and_is_kept() {
    let topology = Topology::new(Wiring::Rails(Rails {}), 3).unwrap();
    assert!(topology.is_routed_by_load());
    assert_eq!(topology.links_between(0, 2).len(), topology.links(), "any link may be crossed");
    let mut cluster = Cluster::new(&least::but(&[]), topology, &[]);
    let names = |cluster: &mut Cluster, from, to| {
        let route = cluster.route(from, to);
        route.into_iter().map(|link| cluster.topology().link_name(link)).collect::<Vec<_>>()
    };
    let first = ["host 0 to switch 1.0", "switch 1.0 to host 2"];
    assert_eq!(names(&mut cluster, 0, 2), first);

    let path = cluster.path(place(0), place(2), Posting::Bulk);
    let (mut calendar, mut delivered) = (Calendar::default(), Vec::new());
    let transfer = Transfer { conn: ConnId(0), path, bytes: 1 << 20, token: 0 };
    cluster.fabric.start(Time::ZERO, transfer, &mut calendar);
    let used = cluster.resource_named(first[1]).unwrap();
    while cluster.fabric.load(used) == 0 {
        assert!(delivered.is_empty(), "the transfer never crossed {first:?}");
        calendar.0.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        let (now, event) = calendar.0.pop().expect("the transfer is under way");
        cluster.fabric.handle(now, event, &mut calendar, &mut delivered);
    }
    assert_eq!(names(&mut cluster, 1, 2), ["host 1 to switch 1.1", "switch 1.1 to host 2"]);
    assert_eq!(names(&mut cluster, 0, 2), first, "kept, although its link has load now");
}
