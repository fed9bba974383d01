//! A torus against arithmetic on the machine `ideal`: hops, closing cables, shared links, and faults.
//!
//! Beyond the first two links and the switch between them, each link of a route adds its switch,
//! 100 ns, and, to a packet of n bytes up to 256 B, the time of a link: 80 ps a byte. The run ends with
//! the acknowledgement, which takes the switches back and no time on links.

use mpisim::engine::Keep;
use mpisim::experiment::plan::{Plan, Request, load};
use mpisim::experiment::run::job;
use mpisim::runtime::timed::Ending;
use mpisim::shipped;

const HOP: u64 = 100_000;
const LINK: u64 = 80;
const SMALL: u64 = 8;
/// A switch more, there and back.
const FARTHER: u64 = 2 * HOP + LINK * SMALL;
const LARGE: u64 = 64 << 20;

const CROSSBAR: &str = r#"{ "kind": "crossbar" }"#;

fn torus(x: u32, y: u32, nodes_per_switch: u32) -> String {
    format!(r#"{{ "kind": "torus", "x": {x}, "y": {y}, "nodes_per_switch": {nodes_per_switch} }}"#)
}

/// A process on each node; of each pair the first sends the second a message of so many bytes.
fn read(
    topology: &str,
    nodes: u32,
    pairs: &[(u32, u32)],
    bytes: u64,
    faults: &str,
) -> Result<Plan, String> {
    let program = |me: u32| {
        let send = |&(from, to): &(u32, u32)| {
            (from == me).then(|| {
                format!(
                    r#"{{ "op": "isend", "req": "s{to}", "to": {to}, "tag": 1, "size": "{bytes} B" }}"#
                )
            })
        };
        let receive = |&(from, to): &(u32, u32)| {
            (to == me).then(|| {
                format!(
                    r#"{{ "op": "irecv", "req": "r{from}", "src": {from}, "tag": 1, "max": "{bytes} B" }}"#
                )
            })
        };
        let mut steps: Vec<String> =
            pairs.iter().filter_map(receive).chain(pairs.iter().filter_map(send)).collect();
        let requests: Vec<String> = pairs
            .iter()
            .flat_map(|&(from, to)| {
                [
                    (to == me).then(|| format!(r#""r{from}""#)),
                    (from == me).then(|| format!(r#""s{to}""#)),
                ]
            })
            .flatten()
            .collect();
        if !requests.is_empty() {
            steps.push(format!(r#"{{ "op": "waitall", "reqs": [ {} ] }}"#, requests.join(", ")));
        }
        format!("[ {} ]", steps.join(", "))
    };
    let programs: Vec<String> = (0..nodes).map(program).collect();
    let text = format!(
        r#"{{ "schema": 1, "title": "t", "machine": "ideal", "nodes": {nodes}, "topology": {topology},
        "workload": {{ "kind": "program", "ranks": [ {} ] }}, "faults": [ {faults} ] }}"#,
        programs.join(", ")
    );
    let request = Request {
        scenario: "torus.json".to_owned(),
        text: Some(text),
        library: shipped::library(),
        ..Request::default()
    };
    let (plan, diagnostics) = load(&request);
    plan.ok_or_else(|| diagnostics.human())
}

/// When the last message has come, in picoseconds.
fn end(topology: &str, nodes: u32, pairs: &[(u32, u32)], bytes: u64, faults: &str) -> u64 {
    let plan = read(topology, nodes, pairs, bytes, faults).unwrap_or_else(|why| panic!("{why}"));
    let (outcome, _) = job::run(&plan.points[0], Keep::Nothing).unwrap();
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.violations, []);
    outcome.end.as_ps()
}

/// Steps between two places of a ring.
fn around(extent: u32, from: u32, to: u32) -> u64 {
    u64::from(from.abs_diff(to).min(extent - from.abs_diff(to)))
}

#[test]
fn a_message_takes_a_hop_more_for_each_switch_more() {
    let (x, y, each) = (4, 3, 2);
    let nodes = x * y * each;
    let one_switch = end(CROSSBAR, nodes, &[(0, 1)], SMALL, "");
    for from in [0, 9] {
        for to in (0..nodes).filter(|&to| to != from) {
            let (here, there) = (from / each, to / each);
            let hops = around(x, here % x, there % x) + around(y, here / x, there / x);
            let found = end(&torus(x, y, each), nodes, &[(from, to)], SMALL, "");
            assert_eq!(found, one_switch + hops * FARTHER, "{from} to {to}");
        }
    }
}

#[test]
fn the_closing_cable_makes_the_ends_of_a_row_neighbours() {
    let row = torus(8, 1, 1);
    let to = |node| end(&row, 8, &[(0, node)], SMALL, "");
    assert_eq!(to(7), to(1));
    assert_eq!(to(5), to(3));
    assert_eq!(to(4) - to(1), 3 * FARTHER);
}

/// The longest time by which two flows of a test begin apart: their requests and answers cross at most
/// four switches more.
const SKEW: u64 = 3 * 4 * (HOP + LINK * 64);

#[test]
fn flows_that_share_a_link_of_a_ring_share_its_rate() {
    let row = torus(5, 1, 2);
    // Nodes 0 and 2 send to both nodes of the third switch, by one link from the second.
    let alone = end(&row, 10, &[(0, 4)], LARGE, "");
    let shared = end(&row, 10, &[(0, 4), (2, 5)], LARGE, "");
    assert!((shared - alone).abs_diff(LINK * LARGE) < SKEW, "{alone} and {shared}");
    // From both sides they meet nowhere.
    let apart = end(&row, 10, &[(0, 4), (6, 5)], LARGE, "");
    assert_eq!(apart, alone);
}

#[test]
fn a_shift_by_half_a_ring_is_limited_by_the_links_of_its_middle() {
    let shift = |by: u32| -> Vec<(u32, u32)> {
        (0..16).map(|node| (node, node / 4 * 4 + (node % 4 + by) % 4)).collect()
    };
    let grid = torus(4, 4, 1);
    let alone = end(&grid, 16, &[(0, 1)], LARGE, "");
    // Neighbours share no link, whatever all others do.
    assert_eq!(end(&grid, 16, &shift(1), LARGE, ""), alone);
    // Both ways are equally long and avoid the closing cable: two flows in each direction cross the
    // middle of a row.
    let half = end(&grid, 16, &shift(2), LARGE, "");
    assert!((half - alone).abs_diff(LINK * LARGE) < SKEW, "{alone} and {half}");
}

#[test]
fn a_fault_hits_the_link_that_it_names() {
    let delay =
        |link: &str| format!(r#"{{ "kind": "delay_spike", "where": "{link}", "extra": "50 us" }}"#);
    let grid = torus(4, 4, 1);
    let later = |faults: &str| {
        end(&grid, 16, &[(0, 5)], SMALL, faults) - end(&grid, 16, &[(0, 5)], SMALL, "")
    };
    // From switch 0.0 along the row to 1.0, then down the column to 1.1.
    assert_eq!(later(&delay("switch 0.0 to switch 1.0")), 50_000_000);
    assert_eq!(later(&delay("switch 1.0 to switch 1.1")), 50_000_000);
    assert_eq!(later(&delay("switch 0.0 to switch 0.1")), 0, "not on the way");
    // The default timeout of the transport, 67.1 ms, after a loss.
    let lost = r#"{ "kind": "packet_loss", "where": "switch 1.0 to switch 1.1", "nth": 1 }"#;
    assert!(later(lost) > 67_000_000_000);
    let down = r#"{ "kind": "link_down", "where": "switch 0.0 to switch 2.0" }"#;
    let refused = read(&grid, 16, &[(0, 5)], SMALL, down).unwrap_err();
    assert!(refused.contains("switch 0.0 to switch 2.0"), "{refused}");
}
