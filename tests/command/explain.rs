//! Where the time went: the parts sum to the whole, and nothing of it is without a name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::binary::{SMALL, Scratch};
use mpisim::engine::Keep;
use mpisim::experiment::plan::{Plan, Point, Request, load};
use mpisim::experiment::results::{Explanation, PointResult};
use mpisim::experiment::run::run_point;
use mpisim::experiment::run::timeline::{sequence, timeline};
use mpisim::experiment::what_if::WhatIf;
use mpisim::hardware::what_if::GROUPS;
use mpisim::runtime::causes::Spent;
use mpisim::shipped;
use mpisim::units::TimeDelta;

pub(crate) fn plan_of(scenario: &str, overrides: &[&str]) -> Plan {
    let overrides = overrides.iter().map(|&text| text.to_owned()).collect();
    let request = Request {
        scenario: scenario.to_owned(),
        overrides,
        library: shipped::library(),
        ..Request::default()
    };
    let (plan, diagnostics) = load(&request);
    assert!(!diagnostics.has_errors(), "{}", diagnostics.human());
    plan.unwrap()
}

pub(crate) fn point_of(scenario: &str, overrides: &[&str]) -> Point {
    plan_of(scenario, overrides).points[0].clone()
}

fn explained(point: &Point) -> PointResult {
    run_point(point, Keep::Causes).unwrap().0
}

/// Every scenario that ships, by its name.
pub(crate) fn scenarios(folder: &Path, names: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scenarios(&path, names);
        } else {
            let name = path.strip_prefix("scenarios").unwrap().with_extension("");
            names.push(name.to_str().unwrap().to_owned());
        }
    }
}

#[track_caller]
fn check_sum(name: &str, explanation: &Explanation) {
    let sum: u64 = explanation.parts.iter().map(|part| part.time.as_ps()).sum();
    assert_eq!(sum, explanation.total.as_ps(), "{name}: parts sum to the whole");
    assert!(explanation.total > TimeDelta::ZERO, "{name}: something was measured");
    for part in &explanation.parts {
        let unknown = ["other", "before the oldest moment kept"].contains(&part.phase);
        assert!(!unknown, "{name}: {part:?} of {}", explanation.total);
        assert!(part.time > TimeDelta::ZERO, "{name}: {part:?}");
    }
    let keys: BTreeSet<(&str, &str)> =
        explanation.parts.iter().map(|part| (part.resource.as_str(), part.phase)).collect();
    assert_eq!(keys.len(), explanation.parts.len(), "{name}: each part once");
}

#[test]
fn parts_sum_to_the_measured_time_in_every_scenario() {
    let mut names = Vec::new();
    scenarios(Path::new("scenarios"), &mut names);
    assert!(names.len() > 90, "all scenarios are found");
    for name in names {
        let point = point_of(&name, &[]);
        let result = explained(&point);
        assert_eq!(result.failure, None, "{name}");
        check_sum(&name, result.explanation.as_ref().unwrap());
        let unwatched = run_point(&point, Keep::Nothing).unwrap().0;
        assert_eq!(result.digest, unwatched.digest, "{name}: watching changes no event");
        assert_eq!(result.metrics, unwatched.metrics, "{name}: watching changes no number");
        assert_eq!(unwatched.explanation, None, "{name}");
    }
}

#[track_caller]
fn time_of(explanation: &Explanation, resource: &str, phase: &str) -> u64 {
    let of = |part: &&mpisim::experiment::results::Share| {
        part.phase == phase && part.resource.contains(resource)
    };
    explanation.parts.iter().filter(of).map(|part| part.time.as_ps()).sum()
}

#[test]
fn a_ping_pong_over_an_idle_wire_never_queues() {
    let point = point_of("examples/ping_pong_broadwell", &["workload.size=8 B"]);
    let explanation = explained(&point).explanation.unwrap();
    for phase in ["queueing", "sharing", "waiting in order", "lock wait", "receiver not ready"] {
        assert_eq!(time_of(&explanation, "", phase), 0, "{phase}");
    }
    // 40 messages, each with the latency of the wire, and perhaps the last of the barrier before: the
    // time is measured from the first rank that leaves it.
    let latency = point.machine.profile.link.base_latency.as_ps();
    let messages = time_of(&explanation, "switch", "latency");
    assert!([40 * latency, 41 * latency].contains(&messages), "{messages} of {latency}");
}

/// Messages longer than a packet go out one after the other on their queue pair, however idle the memory
/// is that they begin in: one waits for what the one before it uses.
#[test]
fn what_waits_for_its_connection_waits_for_what_the_one_before_it_uses() {
    let small = ["mpi.rma.segment=64 KiB", "workload.size=512 KiB", "workload.rounds=2"];
    let explanation = explained(&point_of("rma/ext_segments", &small)).explanation.unwrap();
    check_sum("segments", &explanation);
    let waits = time_of(&explanation, "", "waiting in order");
    assert!(10 * waits > explanation.total.as_ps(), "{waits} of {}", explanation.total);
    let moves = time_of(&explanation, "host 1 to switch", "waiting in order");
    assert!(10 * moves > 9 * waits, "the link is the slowest: {moves} of {waits}");
    let alone = ["mpi.rma.segment=512 KiB", "workload.size=512 KiB", "workload.rounds=2"];
    let explanation = explained(&point_of("rma/ext_segments", &alone)).explanation.unwrap();
    assert_eq!(time_of(&explanation, "", "waiting in order"), 0, "it has its queue pair alone");
}

/// Of a slow link the messages of a window wait for the link, of a fast one for the bus before it.
#[test]
fn a_window_of_messages_waits_for_the_slowest_part_of_its_way() {
    let plan = plan_of("tests/explain/faster_link.json", &[]);
    for (point, slowest) in plan.points.iter().zip(["to switch", "PCIe to HCA"]) {
        let explanation = explained(point).explanation.unwrap();
        check_sum(slowest, &explanation);
        let waits = time_of(&explanation, "", "waiting in order");
        assert!(2 * waits > explanation.total.as_ps(), "{waits} of {}", explanation.total);
        let there = time_of(&explanation, slowest, "waiting in order");
        assert!(10 * there > 9 * waits, "{slowest}: {there} of {waits}");
    }
}

/// Two ranks that hand one lock to each other wait for its line.
#[test]
fn a_lock_in_mapped_memory_comes_by_its_line() {
    let point = point_of("rma/ext_mapped_locks", &["workload.processes=3"]);
    let explanation = explained(&point).explanation.unwrap();
    check_sum("mapped locks", &explanation);
    assert!(time_of(&explanation, "rank", "cache line transfer") > 0);
    assert_eq!(time_of(&explanation, "rank 0", ""), 0, "the target does nothing");
    let alone = point_of("rma/ext_mapped_locks", &["workload.processes=2"]);
    let explanation = explained(&alone).explanation.unwrap();
    assert_eq!(time_of(&explanation, "", "cache line transfer"), 0, "nobody else wants it");
}

#[test]
fn threads_that_share_a_library_wait_for_its_lock() {
    let overrides = ["ranks.threads_per_process=4", "workload.size=8 B"];
    let point = point_of("endpoints/fig05_threads_message_rate", &overrides);
    let explanation = explained(&point).explanation.unwrap();
    let lock = time_of(&explanation, "thread", "lock wait");
    assert!(3 * lock > explanation.total.as_ps(), "{lock} of {}", explanation.total);
    assert!(explanation.waits.iter().all(|wait| wait.rank.contains("thread")));
}

#[test]
fn a_receiver_that_computes_waits_for_progress() {
    let scratch = Scratch::new("progress");
    let text = r#"{ "schema": 1, "title": "late", "machine": "broadwell-edr", "nodes": 2,
        "mpi": { "rendezvous": "rput" },
        "workload": { "kind": "program", "ranks": [
          [ { "op": "send", "to": 1, "tag": 1, "size": "1 MiB" } ],
          [ { "op": "irecv", "src": 0, "tag": 1, "max": "1 MiB", "req": "a" },
            { "op": "compute", "time": "1 ms" },
            { "op": "wait", "req": "a" } ] ] } }"#;
    let scenario = scratch.write("late.json", text);
    let explanation = explained(&point_of(scenario.to_str().unwrap(), &[])).explanation.unwrap();
    let waits = time_of(&explanation, "rank 1", "waiting for progress");
    let computes = time_of(&explanation, "rank 1", "outside MPI");
    assert_eq!(waits + computes, 1_000_000_000, "the whole computation is on the path");
    assert!(waits > 990_000_000, "nearly all of it with an RTS in the channel: {waits}");
    let longest = &explanation.waits[0];
    assert_eq!((longest.rank.as_str(), longest.peer.as_str()), ("rank 0", "1"));
    assert_eq!(longest.operation, "MPI_Send");
    assert!(longest.time.as_ps() > 990_000_000, "{longest:?}");
}

#[test]
fn a_resource_that_costs_nothing_to_nobody_gains_nothing() {
    let request = Request {
        scenario: "examples/ping_pong_broadwell".to_owned(),
        overrides: vec!["workload.size=8 B".to_owned()],
        library: shipped::library(),
        ..Request::default()
    };
    let plan = load(&request).0.unwrap();
    let time = |change: &str| {
        let plan = WhatIf::parse(change).unwrap().of(&plan);
        run_point(&plan.points[0], Keep::Nothing).unwrap().0.metric("time").unwrap().value
    };
    let before = time("link=1");
    assert_eq!(time("gpu=0.5").to_bits(), before.to_bits(), "there is none");
    assert_eq!(time("lock=0.5").to_bits(), before.to_bits(), "one thread takes no lock");
    // Half of the wire's part is gained, but for what polls lose or win that meet packets at other
    // places of their passes.
    let gained = before - time("link=0.5");
    let explanation = explained(&plan.points[0]).explanation.unwrap();
    let us = |ps| TimeDelta::from_ps(ps).as_us_f64();
    let wire = ["latency", "transfer"].map(|phase| time_of(&explanation, "switch", phase));
    let polls = us(time_of(&explanation, "rank", "channel polling"));
    let half = us(wire.iter().sum()) / 2.0;
    assert!((gained - half).abs() < polls, "{gained} of {half}, polls {polls}");
}

#[test]
fn every_packet_of_a_timeline_has_a_cause_on_another_track_and_tracks_are_serial() {
    let overrides = ["workload.size=8 B", "workload.senders_per_node=8", "seed=1"];
    let point = point_of("examples/message_rate_broadwell", &overrides);
    let (_, recorded) = run_point(&point, Keep::Messages).unwrap();
    let recorded = recorded.unwrap();
    let timeline = timeline(&point, &recorded);
    let mut ends = vec![0; timeline.tracks.len()];
    for slice in &timeline.slices {
        assert!(ends[slice.track] <= slice.from_ps && slice.from_ps < slice.to_ps, "{slice:?}");
        ends[slice.track] = slice.to_ps;
    }
    for &(cause, effect) in &timeline.flows {
        let (cause, effect) = (&timeline.slices[cause], &timeline.slices[effect]);
        assert_ne!(cause.track, effect.track);
        assert!(cause.to_ps <= effect.from_ps, "{cause:?} before {effect:?}");
    }
    assert!(timeline.flows.len() > recorded.messages.len(), "each message crosses some tracks");
    for track in ["rank 0", "node 0 PCIe to HCA", "node 1 PCIe from HCA"] {
        assert!(timeline.tracks.iter().any(|name| name == track), "{track}");
    }
}

#[test]
fn a_sequence_has_the_packets_of_the_protocol_and_the_copies_of_both_cores() {
    let point = point_of("scenarios/coop/fig01_protocols.json", &["mpi.rendezvous_intra=coop_p2p"]);
    let (_, recorded) = run_point(&point, Keep::Messages).unwrap();
    let drawn = sequence(&point, "who copies", &recorded.unwrap()).unwrap();
    let said: Vec<(u32, &str)> =
        drawn.arrows.iter().map(|arrow| (arrow.from, arrow.label.as_str())).collect();
    assert_eq!(said, [(0, "RTS"), (1, "CTS"), (1, "FIN"), (0, "FIN")], "coop Fig. 4");
    for rank in 0..2 {
        let copied = drawn.bars.iter().filter(|bar| bar.rank == rank && bar.name == "copy");
        let copied: u64 = copied.map(|bar| bar.to_ps - bar.from_ps).sum();
        assert!(copied > 10_000_000, "rank {rank} copies its half: {copied}");
    }
}

#[test]
fn the_page_and_the_json_tell_what_the_table_tells() {
    let scratch = Scratch::new("explain");
    scratch.write("small.json", SMALL);
    let run = ["run", "small.json", "--explain", "--what-if", "link=0.5", "--format", "json"];
    let answer = scratch.run(&run).check(0, &[]).json();
    for point in answer["points"].as_array().unwrap() {
        let explanation = &point["explanation"];
        let parts = explanation["parts"].as_array().unwrap();
        let sum: u64 = parts.iter().map(|part| part["ps"].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), explanation["total_ps"].as_u64());
    }
    assert_eq!(answer["what_if"][0]["change"], "link=0.5");
    let points = answer["what_if"][0]["points"].as_array().unwrap();
    assert_eq!(points.len(), answer["points"].as_array().unwrap().len());
    let files = scratch.files("results/small");
    assert!(files.iter().any(|(name, _)| name == "explain.svg"));
    let page = files.iter().find(|(name, _)| name == "report.html").unwrap();
    assert!(String::from_utf8_lossy(&page.1).contains("Where the time went"));
    let plain = scratch.run(&["run", "small.json", "--format", "json"]).check(0, &[]).json();
    assert_eq!(plain["digest"], answer["digest"], "asking changes nothing");
    assert!(plain["points"][0].get("explanation").is_none() && plain.get("what_if").is_none());
    assert!(!scratch.files("results/small").iter().any(|(name, _)| name == "explain.svg"));
}

/// The first message of a buffer registers it: library code, told apart.
#[test]
fn registration_of_buffers_stands_apart() {
    let scratch = Scratch::new("registration");
    let told = |warmup: &str| {
        let run = ["run", "examples/rput_immediate", "--explain", "--format", "json"];
        let one = ["--set", "workload.size=64 KiB", "--set", "workload.rounds=1", "--set", warmup];
        let answer = scratch.run(&[&run[..], &one[..], &["--set", "mpi.rendezvous=rput"]].concat());
        let json = answer.check(0, &[]).json();
        let parts = json["points"][0]["explanation"]["parts"].as_array().unwrap().clone();
        let of = |phase: &str| parts.iter().any(|part| part["phase"] == phase);
        assert!(of("library code"), "{parts:?}");
        of("buffer registration")
    };
    assert!(told("workload.warmup=0"));
    assert!(!told("workload.warmup=1"), "both buffers are registered before the measured time");
}

/// Whoever asks what a resource is worth is told which there are, and what a phase depends on.
#[test]
fn resources_of_what_if_are_listed_where_they_are_asked_for() {
    let names: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
    let all = names.join(", ");
    let scratch = Scratch::new("what-if-names");
    let unwrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = scratch.run(&["run", "--help"]).check(0, &[]);
    assert!(unwrapped(&help.out).contains(&all), "{}", help.out);
    scratch.run(&["run", "small.json", "--what-if", "cpu=0.5"]).check(2, &[&all]);
    let told = resources_by_phase();
    let words: BTreeSet<&str> = told.values().flatten().map(String::as_str).collect();
    assert_eq!(words, names.into_iter().collect(), "each resource belongs to a phase");
    for phase in Spent::ALL.map(Spent::name) {
        let is_gap = phase == Spent::Other.name();
        assert!(told.contains_key(phase) || is_gap, "{phase} is not explained");
    }
}

/// The resources of `--what-if` that each phase depends on, as `docs/guide/explain.md` tells them.
fn resources_by_phase() -> BTreeMap<String, Vec<String>> {
    let page = fs::read_to_string("docs/guide/explain.md").unwrap();
    let rows = page.lines().filter(|line| line.matches('|').count() == 5);
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let mut told: BTreeMap<String, Vec<String>> =
        cells.map(|cells| (cells[1].to_owned(), words(cells[4]))).collect();
    told.remove("phase");
    told
}

/// Points in which one thing happens at a time.
const SERIAL: [(&str, &[&str]); 10] = [
    ("examples/ping_pong_broadwell", &["workload.size=8 B"]),
    ("examples/ping_pong_broadwell", &["workload.size=64 KiB", "mpi.rendezvous=rget"]),
    ("examples/ping_pong_knc", &["workload.size=64 KiB", "mpi.rendezvous=rput"]),
    ("examples/shared_memory", &["workload.size=64 B"]),
    ("coop/fig02_shares", &["workload.size=32 KiB", "mpi.rendezvous_intra=rget"]),
    ("coop/fig02_shares", &["workload.size=1 MiB", "mpi.rendezvous_intra=rput"]),
    ("coop/fig13_latency_knl_tiles", &["workload.size=64 KiB", "mpi.rendezvous_intra=rget"]),
    ("coop/fig02_shares", &["workload.size=32 KiB", "mpi.rendezvous_intra=rget", KNEM]),
    ("coop/fig02_shares", &["workload.size=32 KiB", "mpi.rendezvous_intra=rput", XPMEM]),
    ("gpu-pack/fig06_ping_pong", &[]),
];
const KNEM: &str = "mpi.single_copy=knem";
const XPMEM: &str = "mpi.single_copy=xpmem";

/// A resource of half the cost gains no more than half of the phases that depend on it, but for what
/// polls win or lose that meet packets at other places of their passes. The kernel, whose phases depend
/// on nothing else, gains exactly that.
#[test]
fn a_resource_gains_no_more_than_the_share_that_explanations_give_it() {
    let told = resources_by_phase();
    for (scenario, overrides) in SERIAL {
        let plan = plan_of(scenario, overrides);
        let point = explained(&plan.points[0]);
        let explanation = point.explanation.unwrap();
        let before = explanation.total.as_ps();
        let polls = time_of(&explanation, "", Spent::Poll.name());
        for group in GROUPS {
            let name = format!("{scenario} {overrides:?}: {}", group.name);
            let depends = |phase: &str| told[phase].iter().any(|word| word == group.name);
            let own = explanation.parts.iter().filter(|part| depends(part.phase));
            let half = own.map(|part| part.time.as_ps()).sum::<u64>() / 2;
            let halved = WhatIf::parse(&format!("{}=0.5", group.name)).unwrap().of(&plan);
            let after = explained(&halved.points[0]).explanation.unwrap().total.as_ps();
            assert!(before <= after + half + polls, "{name}: {before} to {after}, half is {half}");
            if group.name == "kernel" {
                let near = after + half <= before + polls;
                assert!(near, "{name}: {before} to {after}, half is {half}");
            }
        }
    }
}

/// The kernel's call is time of the kernel, in each thing that tells where time went.
#[test]
fn the_call_of_the_kernel_is_no_copy() {
    let own = ["workload.size=32 KiB", "mpi.rendezvous_intra=rget"];
    let point = point_of("coop/fig02_shares", &own);
    let call = point.machine.profile.cma.call_overhead.unwrap();
    let pages = point.machine.profile.cma.page_cost.unwrap() * 8;
    let (result, recorded) = run_point(&point, Keep::Messages).unwrap();
    let (explanation, recorded) = (explained(&point).explanation.unwrap(), recorded.unwrap());
    // Ten rounds of two messages.
    let of = |phase: &str| time_of(&explanation, "rank", phase);
    assert_eq!(of("kernel entry"), (call * 20).as_ps());
    assert_eq!(of("page pinning"), (pages * 20).as_ps());
    let us = result.metric("kernel_time").unwrap().value;
    assert!((us - (call + pages).as_us_f64()).abs() < 1e-9, "{us}");
    let timeline = timeline(&point, &recorded);
    assert!(timeline.slices.iter().any(|slice| slice.name == "kernel entry"));
    let drawn = sequence(&point, "who copies", &recorded).unwrap();
    assert!(drawn.bars.iter().any(|bar| bar.name == "kernel entry"));
}

/// Registration is library code in accounts, and a cost of the adapter.
#[test]
fn registration_of_buffers_is_a_cost_of_the_adapter() {
    let small = ["mpi.rendezvous=rput", "workload.size=64 KiB", "workload.rounds=1"];
    let point = point_of("examples/rput_immediate", &[&small[..], &["workload.warmup=0"]].concat());
    let registered = |what_if: Option<&str>| {
        let mut point = point.clone();
        if let Some(what_if) = what_if.map(|text| WhatIf::parse(text).unwrap()) {
            let mut machine = (*point.machine).clone();
            machine.profile = machine.profile.with_cost(what_if.group, what_if.factor);
            point.machine = machine.into();
        }
        let parts = explained(&point).explanation.unwrap().parts.into_iter();
        let found = parts.filter(|part| part.phase == Spent::Registration.name());
        found.map(|part| part.time.as_ps()).sum::<u64>()
    };
    let (plain, library) = (registered(None), registered(Some("library=0.5")));
    assert!(plain > 0);
    assert_eq!(library, plain, "it is no code of the library");
    assert_eq!(registered(Some("hca=0.5")), plain / 2);
}

/// An exclusive write ends when its last packet leaves: that of the epoch before is still under way when
/// the measured one begins, and is none of its messages.
#[test]
fn a_sequence_begins_with_the_first_message_of_the_measured_time() {
    let scratch = Scratch::new("sequence-begins");
    let run = ["run", "rma/fig12_messages", "--set", "workload.epoch=exclusive"];
    let draw = ["--set", "workload.access=write", "--sequence", "a.svg"];
    scratch.run(&[&run[..], &draw[..]].concat()).check(0, &[]);
    let svg = fs::read_to_string(scratch.path("a.svg")).unwrap();
    let labels = ["PUT 8 B + UNLOCK", "LOCK exclusive", "GRANTED"];
    let counts = labels.map(|label| svg.matches(&format!(">{label}<")).count());
    assert_eq!(counts, [1, 1, 1], "one epoch: {labels:?} in {svg}");
    let place = |label: &str| svg.find(&format!(">{label}<")).unwrap();
    assert!(place("LOCK exclusive") < place("GRANTED"));
    assert!(place("GRANTED") < place("PUT 8 B + UNLOCK"), "in the order of the epoch");
}

#[test]
fn what_shows_one_point_refuses_a_sweep_and_writes_files() {
    let scratch = Scratch::new("single");
    scratch.write("small.json", SMALL);
    for option in ["--trace", "--sequence"] {
        let answer = scratch.run(&["run", "small.json", option, "file"]).check(2, &["E0703"]);
        assert!(answer.err.contains("--set 'workload.size="), "how to choose: {}", answer.err);
        assert!(!scratch.path("file").exists() && !scratch.path("results").exists());
    }
    let one = ["run", "small.json", "--set", "workload.size=64 KiB", "--set", "workload.rounds=1"];
    let files = ["--trace", "a.pftrace", "--sequence", "a.svg"];
    scratch.run(&[&one[..], &files[..]].concat()).check(0, &[]);
    assert!(fs::read(scratch.path("a.pftrace")).unwrap().len() > 1000);
    assert!(fs::read_to_string(scratch.path("a.svg")).unwrap().contains("RTS"));
    let page = fs::read_to_string(scratch.path("results/small/report.html")).unwrap();
    assert!(page.contains("Messages: "), "the page shows the figure too");
    // What cannot be drawn, or written, is found before results are touched.
    let before = scratch.files("results");
    let many = ["run", "small.json", "--set", "workload.size=8 B", "--set", "workload.rounds=100"];
    let answer = scratch.run(&[&many[..], &["--sequence", "b.svg"]].concat());
    answer.check(2, &["E0703", "do not fit one picture"]);
    let answer = scratch.run(&[&one[..], &["--trace", "nowhere/a.pftrace"]].concat());
    answer.check(4, &["E0801", "name a place in a directory that exists"]);
    assert_eq!(scratch.files("results"), before);
    // A packing has no messages; its core, bus and GPU are on the timeline.
    let packing = ["run", "gpu-pack/fig05_stride", "--set", "workload.method=kernel"];
    let packing = [&packing[..], &["--set", "workload.datatype.stride=16"]].concat();
    let answer = scratch.run(&[&packing[..], &["--sequence", "c.svg"]].concat());
    answer.check(2, &["E0703", "a packing sends none", "`--trace FILE`"]);
    assert_eq!(scratch.files("results"), before);
    scratch.run(&[&packing[..], &["--trace", "c.pftrace"]].concat()).check(0, &[]);
    assert!(fs::read(scratch.path("c.pftrace")).unwrap().len() > 100);
    let unknown = scratch.run(&["run", "small.json", "--what-if", "lnk=0.5"]);
    unknown.check(2, &["there is no resource `lnk`; one of library,"]);
    scratch.run(&["run", "small.json", "--explain", "--resume"]).check(2, &["--resume"]);
}

/// Scenarios that exist for what their ranks say to each other leave it as pictures, with no option.
#[test]
fn scenarios_about_messages_leave_their_sequences() {
    let scratch = Scratch::new("sequences");
    scratch.run(&["run", "coop/fig01_protocols"]).check(0, &["report.html"]);
    let folder = scratch.path("results/coop/fig01_protocols");
    let drawn = |place: &str| fs::read_to_string(folder.join(place)).unwrap();
    let said =
        |svg: &str| ["RTS", "CTS", "FIN"].map(|word| svg.matches(&format!(">{word}<")).count());
    let figures = ["figure-1.svg", "figure-2.svg", "figure-3.svg"].map(drawn);
    assert_eq!(figures.each_ref().map(|svg| said(svg)), [[1, 1, 1], [1, 0, 1], [1, 1, 2]]);
    let page = drawn("report.html");
    assert!(
        ["RPUT: the sender", "RGET: the receiver", "COOP-p2p: each"]
            .iter()
            .all(|own| page.contains(own))
    );
    // Of one value that is left, its own.
    let one = ["run", "coop/fig01_protocols", "--set", "mpi.rendezvous_intra=rget", "--out", "one"];
    scratch.run(&one).check(0, &["E0609", "2 figures"]);
    assert_eq!(fs::read_to_string(scratch.path("one/figure-1.svg")).unwrap(), figures[1]);
    assert!(!scratch.path("one/figure-2.svg").exists());
}

#[test]
fn a_sequence_in_a_scenario_shows_one_point_that_fits() {
    let scratch = Scratch::new("sequence-of");
    let with = |name: &str, sequence: &str| {
        let first = format!("\"figures\": [ {{ \"sequence\": {sequence} }}, ");
        scratch.write(name, &SMALL.replacen("\"figures\": [ ", &first, 1));
    };
    with("open.json", "{}");
    let wrong = ["error[E0607]", "figures[0].sequence", "`workload.size`", "a value of each axis"];
    scratch.run(&["validate", "open.json"]).check(3, &wrong);
    with("many.json", "{ \"workload.size\": \"8 B\" }");
    let many = ["run", "many.json", "--set", "workload.size=8 B", "--set", "workload.rounds=100"];
    let answer = scratch.run(&many);
    answer.check(1, &["figure-1.svg is not drawn", "do not fit one picture", "fewer rounds"]);
    assert!(scratch.path("results/many/points.csv").exists(), "its numbers are there");
    // A figure that is left out moves no words of those behind it.
    with("two.json", "{ \"workload.size\": \"8 B\" }");
    let one = ["show", "two.json", "--resolved", "--set", "workload.size=64 KiB"];
    let resolved = scratch.run(&one).check(0, &["E0609"]).json();
    let log_x = |place: usize| resolved["figures"][place]["log_x"].as_bool();
    assert_eq!((log_x(0), log_x(1)), (None, Some(true)));
}

/// Waits that are alike are one line; a trace says what of it was measured, and what its file is.
#[test]
fn equal_waits_are_one_line_and_a_trace_marks_its_warm_up() {
    let own = ["workload.size=8 B", "workload.rounds=20", "workload.warmup=3"];
    let point = point_of("examples/ping_pong_broadwell", &own);
    let explanation = explained(&point).explanation.unwrap();
    let times: Vec<(&str, u64)> =
        explanation.waits.iter().map(|wait| (wait.rank.as_str(), wait.times)).collect();
    assert_eq!(times, [("rank 1", 20), ("rank 0", 20)], "{:?}", explanation.waits);
    let recorded = run_point(&point, Keep::Messages).unwrap().1.unwrap();
    let timeline = timeline(&point, &recorded);
    let track = timeline.tracks.iter().position(|name| name == "rounds").unwrap();
    let rounds = timeline.slices.iter().filter(|slice| slice.track == track);
    let rounds: Vec<&str> = rounds.map(|slice| slice.name).collect();
    assert!(rounds.starts_with(&["warm-up, not measured", "measured"]), "{rounds:?}");
    let scratch = Scratch::new("trace-says");
    scratch.write("small.json", SMALL);
    let one = ["run", "small.json", "--set", "workload.size=64 KiB", "--trace", "t.json"];
    let said = scratch.run(&one).check(0, &[]).err.clone();
    assert!(said.contains("protobuf") && said.contains("t.json"), "{said}");
}

/// A table has the columns that were asked for, in their order; what is the same in all rows stands
/// above it, and what a column is below.
#[test]
fn columns_are_chosen_and_those_without_news_are_one_line() {
    let scratch = Scratch::new("columns");
    let run = ["run", "coop/fig02_shares", "--set", "mpi.rendezvous_intra=rget"];
    let all = scratch.run(&run).check(0, &[]);
    for said in ["the same at every point: agents 1.000", "copiers: Processes that copy"] {
        assert!(all.out.contains(said), "{said} in {}", all.out);
    }
    assert!(!all.out.lines().any(|line| line.contains("agents  ")), "{}", all.out);
    let some = [&run[..], &["--metrics", "copy_time,latency", "--out", "some"]].concat();
    let some = scratch.run(&some).check(0, &[]);
    let heading = some.out.lines().find(|line| line.contains("latency (us)")).unwrap();
    assert!(heading.find("copy time") < heading.find("latency"), "{heading}");
    assert!(!some.out.contains("poll time"), "{}", some.out);
    let wrong = [&run[..], &["--metrics", "speed"]].concat();
    scratch.run(&wrong).check(2, &["there is no metric `speed` here", "copy_time"]);
}

/// Whatever a rank waits for that another one handles only inside MPI, the computation of that one is a wait for
/// progress: also where other packets come at the same time, which nothing waits for.
#[test]
fn a_wait_for_a_rank_that_computes_is_one_for_progress() {
    let computes = TimeDelta::from_us(500).as_ps();
    for (program, least) in [
        ("put_under_lock", 98),
        ("fetch_and_op", 98),
        ("message", 98),
        ("large_message", 98),
        ("begun_collective", 98),
    ] {
        let point = point_of(&format!("tests/explain/{program}.json"), &[]);
        let explanation = explained(&point).explanation.unwrap();
        check_sum(program, &explanation);
        let waits = time_of(&explanation, "rank 0", "waiting for progress");
        assert!(100 * waits > least * computes, "{program}: {:?}", explanation.parts);
    }
    // What came meanwhile is not what rank 1 waits for.
    let point = point_of("tests/explain/own_computation.json", &[]);
    let explanation = explained(&point).explanation.unwrap();
    let outside = time_of(&explanation, "rank 0", "outside MPI");
    assert_eq!(outside, computes, "{:?}", explanation.parts);
}
