//! How many channels a process polls: what the scenario says, what the machine's library does otherwise,
//! and what is told of it.

use std::fs;
use std::path::Path;

use mpisim::experiment::plan::{Plan, Request, load};
use mpisim::runtime::timed::Connections;
use mpisim::shipped;
use serde_json::Value;

use crate::binary::Scratch;
use crate::explain::scenarios;

/// An allreduce of 8 B by two ranks on each of so many nodes.
fn allreduce(nodes: u32) -> String {
    let workload = r#"{ "kind": "collective", "operation": "allreduce", "size": "8 B",
        "ranks_per_node": 2, "rounds": 1 }"#;
    format!(
        r#"{{ "schema": 1, "title": "t", "machine": "broadwell-edr", "nodes": {nodes},
        "topology": {{ "kind": "crossbar" }}, "workload": {workload} }}"#
    )
}

fn resolved(scratch: &Scratch, set: &[&str]) -> Value {
    let set = set.iter().flat_map(|one| ["--set", one]);
    let words: Vec<&str> = ["show", "s.json", "--resolved"].into_iter().chain(set).collect();
    scratch.run(&words).check(0, &[]).json()
}

#[test]
fn the_default_follows_the_machine_and_the_peers() {
    let scratch = Scratch::new("connections");
    scratch.write("s.json", &allreduce(33));
    let (each, shared) = ("per_peer", "shared_receive_queue");
    for (machine, nodes, wanted, source) in [
        // 64 peers on other nodes, and 66.
        ("broadwell-edr", 33, each, "MV2RC1"),
        ("broadwell-edr", 34, shared, "MV2RC1"),
        // It has them from the machine that it extends.
        ("broadwell-fdr", 34, shared, "MV2RC1"),
        ("arc-c2050-qdr", 34, shared, "MV218"),
        ("knc-qdr", 33, each, "VSCMPI+MEM"),
        ("knc-qdr", 34, shared, "VSCMPI+MEM"),
        ("eureka-mx10g", 1, each, "MPICH301"),
        ("eureka-mx10g", 2, shared, "MPICH301"),
        ("ref-node-mpich", 2, shared, "UCXRC"),
        ("ref-node-openmpi", 2, shared, "OMPI414+UCXRC"),
        ("genoa-hdr", 2, shared, "UCXRC"),
        ("ideal", 1024, each, "not there, or not limiting"),
    ] {
        let (name, count) = (format!("machine={machine}"), format!("nodes={nodes}"));
        let shown = resolved(&scratch, &[&name, &count]);
        let chosen = &shown["chosen"][0];
        let what = format!("{machine}, {nodes} nodes: {chosen}");
        assert_eq!(shown["mpi"]["connections"], wanted, "{what}");
        assert_eq!(chosen["path"], "mpi.connections", "{what}");
        assert_eq!((&chosen["value"], &chosen["source"]), (&wanted.into(), &source.into()));
        let reason = chosen["reason"].as_str().unwrap();
        assert!(reason.starts_with(&format!("machine.mpi.shared_queue_from of `{machine}`")));
        assert!(reason.ends_with(&format!("{} here", 2 * (nodes - 1))), "{what}");
    }
}

#[test]
fn what_the_scenario_says_is_nobodys_choice() {
    let scratch = Scratch::new("connections-stated");
    scratch.write("s.json", &allreduce(34));
    for word in ["per_peer", "shared_receive_queue"] {
        let shown = resolved(&scratch, &[&format!("mpi.connections={word}")]);
        assert_eq!(shown["mpi"]["connections"], word);
        assert!(shown.get("chosen").is_none(), "{}", shown["chosen"]);
    }
}

#[test]
fn a_sweep_over_nodes_shows_both_choices() {
    let scratch = Scratch::new("connections-swept");
    let swept =
        allreduce(2).replace(r#""schema""#, r#""sweep": { "nodes": [2, 33, 34, 64] }, "schema""#);
    scratch.write("s.json", &swept);
    let shown = resolved(&scratch, &[]);
    assert_eq!(shown["mpi"]["connections"], "machine.mpi.shared_queue_from");
    let chosen = shown["chosen"].as_array().unwrap();
    let of = |one: &Value| (one["value"].clone(), one["reason"].as_str().unwrap().to_owned());
    let [few, many] = [of(&chosen[0]), of(&chosen[1])];
    assert!(few.0 == "per_peer" && few.1.ends_with("; 2 to 64 here"), "{few:?}");
    assert!(many.0 == "shared_receive_queue" && many.1.ends_with("; 66 to 126 here"), "{many:?}");
    assert_eq!(chosen.len(), 2);
}

#[test]
fn a_run_tells_of_many_channels_and_of_who_wanted_them() {
    let scratch = Scratch::new("connections-note");
    let told = |nodes: u32, set: &[&str]| {
        scratch.write("s.json", &allreduce(nodes));
        let set = set.iter().flat_map(|one| ["--set", one]);
        let words: Vec<&str> = ["run", "s.json"].into_iter().chain(set).collect();
        scratch.run(&words).check(0, &[]).err
    };
    let channels = "polls 130 channels, one for each process: `mpi.connections` is `per_peer`";
    let each = "mpi.connections=per_peer";
    let said = told(65, &[each]);
    assert!(said.contains(&format!("{channels}, as the scenario says")), "{said}");
    assert!(
        said.contains("`--set mpi.connections=shared_receive_queue`, docs/model/connections.md")
    );
    let said = told(65, &["machine.mpi.shared_queue_from=1000"]);
    let by = "by machine.mpi.shared_queue_from of `broadwell-edr`";
    assert!(said.contains(&format!("{channels}, {by}")), "{said}");
    // The library shares a queue; 128 channels are few; a node of its own has nobody to share with.
    for (nodes, set) in [(65, None), (64, Some(each))] {
        let said = told(nodes, set.as_slice());
        assert!(!said.contains("channels"), "{nodes} nodes, {set:?}: {said}");
    }
    let page = fs::read_to_string(scratch.path("results/s/report.html")).unwrap();
    assert!(!page.contains("mpi.connections</code>"), "the last run states it");
    told(65, &[]);
    let page = fs::read_to_string(scratch.path("results/s/report.html")).unwrap();
    let row = "mpi.connections</code></td><td>shared_receive_queue</td><td>spec</td><td>MV2RC1; ";
    assert!(page.contains(row));
}

fn plan_of(name: &str) -> Plan {
    let scenario = format!("scenarios/{name}.json");
    let (plan, diagnostics) =
        load(&Request { scenario, library: shipped::library(), ..Request::default() });
    plan.unwrap_or_else(|| panic!("{}", diagnostics.human()))
}

/// Figures were made with a channel for each peer. Where the machine would choose otherwise, the scenario
/// says so: no number of a machine moves a figure in silence. Scenarios of published tables run machines as they ship,
/// the queue included: that is their rule (`traces/published/README.md`), and their baselines show what moves.
#[test]
fn no_shipped_scenario_leaves_a_shared_queue_to_its_machine() {
    let mut names = Vec::new();
    scenarios(Path::new("scenarios"), &mut names);
    assert!(names.len() > 100, "{}", names.len());
    let mut stated = 0;
    for name in names.iter().filter(|name| !name.starts_with("published/")) {
        let plan = plan_of(name);
        let is_stated = plan.points.iter().all(|point| point.connected.stated);
        let by_machine = plan.points.iter().filter(|point| !point.connected.stated);
        let shared = |point: &mpisim::experiment::plan::Point| {
            point.mpi.connections == Connections::SharedReceiveQueue
        };
        assert_eq!(by_machine.filter(|point| shared(point)).count(), 0, "{name}");
        stated += usize::from(is_stated);
    }
    assert!(stated >= 43, "{stated} state it");
}

/// The table of `docs/model/connections.md` is that of the models.
#[test]
fn the_page_has_the_number_of_every_machine() {
    let page = fs::read_to_string("docs/model/connections.md").unwrap();
    let scratch = Scratch::new("connections-page");
    scratch.write("s.json", &allreduce(2));
    for name in shipped::SHIPPED.models.names() {
        let shown = resolved(&scratch, &[&format!("machine={name}"), "workload.ranks_per_node=1"]);
        let numbers = shown["machine"]["numbers"].as_array().unwrap();
        let number = numbers.iter().find(|one| one["path"] == "mpi.shared_queue_from").unwrap();
        let word = |key: &str| number[key].as_str().unwrap();
        let row = if word("value") == "none" {
            format!("| {name} | none | | |\n")
        } else {
            let (value, sure, source) = (word("value"), word("confidence"), word("source"));
            format!("| {name} | {value} | {sure} | {source} |\n")
        };
        assert!(page.contains(&row), "{row}");
    }
}
