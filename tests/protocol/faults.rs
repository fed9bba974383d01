//! Random fault plans over every family of protocols: each run ends as without faults, byte for
//! byte and by the untimed world's account, or with a failure that its plan can bring about.
//!
//! One to four faults a plan, at times within twice the undisturbed run, losses up to 30 %,
//! repetitions and reorderings up to 50 %. Nothing hangs: events are bounded.

#![allow(clippy::print_stdout, reason = "the table is of interest")]

use std::collections::{BTreeMap, BTreeSet};

use mpisim::engine::{Keep, Stream, Streams};
use mpisim::experiment::plan::{Plan, Point, Request, load};
use mpisim::experiment::run::job;
use mpisim::hardware::reliable::Settings;
use mpisim::protocols::contract::Program;
use mpisim::protocols::library::Library;
use mpisim::runtime::explore::lossy::every_order;
use mpisim::runtime::explore::{Final, compare, replay};
use mpisim::runtime::faults::{Allowed, Effect, Failure};
use mpisim::runtime::timed::{Ending, Outcome};
use mpisim::shipped;
use mpisim::units::{Time, TimeDelta};
use mpisim::workloads::job::Job;

/// A name and the members of a scenario, after the machine.
struct Family {
    name: &'static str,
    rest: &'static str,
    processes: u32,
}

const fn family(name: &'static str, processes: u32, rest: &'static str) -> Family {
    Family { name, rest, processes }
}

const FAMILIES: [Family; 20] = [
    family(
        "eager",
        2,
        r#""machine": "ideal", "mpi": { "payload": "real" }, "workload": { "kind": "ping_pong", "size": "64 B", "rounds": 6 }"#,
    ),
    family(
        "rput",
        2,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real", "rendezvous": "rput" }, "workload": { "kind": "ping_pong", "size": "40000 B", "rounds": 3 }"#,
    ),
    family(
        "rget",
        2,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real", "rendezvous": "rget" }, "workload": { "kind": "ping_pong", "size": "40000 B", "rounds": 3 }"#,
    ),
    family(
        "rtr",
        2,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real", "rendezvous": "rtr" }, "workload": { "kind": "ping_pong", "size": "40000 B", "rounds": 3 }"#,
    ),
    family(
        "windows",
        8,
        r#""machine": "knc-qdr", "mpi": { "payload": "real" }, "workload": { "kind": "message_rate", "senders_per_node": 2, "size": "8 B", "window": 8, "rounds": 3 }"#,
    ),
    family(
        "endpoints",
        2,
        r#""machine": "knc-qdr", "mpi": { "payload": "real" }, "ranks": { "threads_per_process": 2, "addressing": "endpoints" }, "workload": { "kind": "message_rate", "senders_per_node": 1, "size": "8 B", "window": 4, "rounds": 2, "direction": "one" }"#,
    ),
    family(
        "threads",
        2,
        r#""machine": "knc-qdr", "mpi": { "payload": "real" }, "ranks": { "threads_per_process": 2 }, "workload": { "kind": "message_rate", "senders_per_node": 1, "size": "8 B", "window": 4, "rounds": 2, "direction": "one" }"#,
    ),
    family(
        "allreduce",
        4,
        r#""machine": "ideal", "mpi": { "payload": "real" }, "workload": { "kind": "collective", "operation": "allreduce", "ranks_per_node": 2, "size": "64 B", "rounds": 2 }"#,
    ),
    family(
        "alltoall",
        4,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real" }, "workload": { "kind": "collective", "operation": "alltoall", "ranks_per_node": 2, "size": "4 KiB", "rounds": 1 }"#,
    ),
    family(
        "bcast",
        4,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real" }, "workload": { "kind": "collective", "operation": "bcast", "ranks_per_node": 2, "size": "64 KiB", "rounds": 1 }"#,
    ),
    family(
        "mcs",
        4,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real" }, "workload": { "kind": "mutex", "algorithm": "mcs", "processes": 4, "processes_per_node": 2, "cycles": 3 }"#,
    ),
    family(
        "byte_vector",
        4,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real" }, "workload": { "kind": "mutex", "algorithm": "byte_vector", "processes": 4, "processes_per_node": 2, "cycles": 2 }"#,
    ),
    family(
        "test_and_set",
        4,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real" }, "workload": { "kind": "mutex", "algorithm": "test_and_set", "processes": 4, "processes_per_node": 2, "cycles": 2 }"#,
    ),
    family(
        "epochs",
        3,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real", "rma": { "transport": "rdma" } }, "workload": { "kind": "rma_epochs", "epoch": "lock_all_puts", "access": "write", "processes": 3, "processes_per_node": 2, "rounds": 2, "operations": 4, "size": "6000 B" }"#,
    ),
    family(
        "linked_list",
        3,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real" }, "workload": { "kind": "linked_list", "idiom": "lock_all", "processes": 3, "processes_per_node": 2, "elements": 6 }"#,
    ),
    family(
        "coop",
        4,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real", "rendezvous_intra": "coop_p2p" }, "workload": { "kind": "collective", "operation": "alltoall", "ranks_per_node": 2, "size": "32 KiB", "rounds": 1 }"#,
    ),
    family(
        "coop_hca",
        4,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real", "rendezvous_intra": "coop_hca" }, "workload": { "kind": "collective", "operation": "alltoall", "ranks_per_node": 2, "size": "32 KiB", "rounds": 1 }"#,
    ),
    family(
        "gpu",
        2,
        r#""machine": "arc-c2050-qdr", "mpi": { "payload": "real" }, "workload": { "kind": "gpu_ping_pong", "size": "16 KiB", "method": "kernel", "rounds": 1, "warmup": 0 }"#,
    ),
    family(
        "agents",
        2,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real" }, "ranks": { "progress_thread": true }, "workload": { "kind": "ping_pong", "size": "40000 B", "rounds": 3 }"#,
    ),
    family(
        "agents_epochs",
        3,
        r#""machine": "broadwell-edr", "mpi": { "payload": "real" }, "ranks": { "progress_thread": true }, "workload": { "kind": "rma_epochs", "epoch": "lock_all_puts", "access": "write", "processes": 3, "processes_per_node": 2, "rounds": 2, "operations": 4, "size": "6000 B" }"#,
    ),
];

/// Plans that are drawn for each family: more than a thousand in all, without those that are refused.
const PLANS: u32 = 60;
/// No run of these worlds needs so many, whatever goes wrong.
const EVENTS: u64 = 2_000_000;

fn plan(family: &Family, faults: &str) -> Plan {
    let text = format!(
        r#"{{ "schema": 1, "title": "t", "nodes": 2, {}, "limits": {{ "events": {EVENTS} }}{faults} }}"#,
        family.rest
    );
    let (plan, diagnostics) = load(&Request {
        scenario: "faults.json".to_owned(),
        text: Some(text),
        library: shipped::library(),
        ..Request::default()
    });
    plan.unwrap_or_else(|| panic!("{}: {}", family.name, diagnostics.human()))
}

/// A random plan, as a scenario writes it.
struct Writer<'a> {
    draw: Stream,
    family: &'a Family,
    /// How long the run takes without faults, in nanoseconds.
    length: u64,
}

impl Writer<'_> {
    fn below(&mut self, n: u64) -> u64 {
        self.draw.below(n)
    }

    /// Some time of the run, or after it.
    fn moment(&mut self) -> String {
        let ns = self.below(2 * self.length);
        format!("\"{ns} ns\"")
    }

    fn process(&mut self) -> u64 {
        self.below(u64::from(self.family.processes))
    }

    /// When, and for how long.
    fn when(&mut self) -> String {
        let length = 1 + self.below(2 * self.length);
        let begin = if self.below(4) == 0 {
            format!("\"at_packet\": {}", 1 + self.below(20))
        } else {
            format!("\"at\": {}", self.moment())
        };
        format!(r#"{begin}, "for": "{length} ns""#)
    }

    fn link(&mut self) -> &'static str {
        let links = ["host 0 to switch 1.0", "switch 1.0 to host 0", "all links", "all links"];
        links[usize::try_from(self.below(4)).unwrap()]
    }

    /// Which packets, with at most this probability in thousandths.
    fn hits(&mut self, most: u64) -> String {
        if self.below(3) == 0 {
            return format!("\"nth\": {}", 1 + self.below(30));
        }
        format!("\"probability\": 0.{:03}", 1 + self.below(most))
    }

    fn fault(&mut self) -> String {
        let when = self.when();
        let body = match self.below(11) {
            0 => format!(
                r#""kind": "delay_spike", "where": "host 0 to switch 1.0", "extra": "{} ns", {when}"#,
                self.below(20_000)
            ),
            1 => format!(
                r#""kind": "rate_cut", "where": "node 1 PCIe to HCA", "left": 0.0{}, {when}"#,
                1 + self.below(99)
            ),
            2 => {
                let for_ = 1 + self.below(2 * self.length);
                let (node, at) = (self.below(2), self.moment());
                format!(r#""kind": "hca_stall", "node": {node}, "at": {at}, "for": "{for_} ns""#)
            }
            3 => format!(
                r#""kind": "straggler", "process": {}, "factor": {}.5, "at": {}"#,
                self.process(),
                1 + self.below(20),
                self.moment()
            ),
            4 => format!(
                r#""kind": "os_noise", "period": "{} ns", "length": "{} ns""#,
                2_000 + self.below(20_000),
                1 + self.below(1_900)
            ),
            5 => format!(
                r#""kind": "link_down", "where": "{}", "at": {}, "for": "{} ns""#,
                self.link(),
                self.moment(),
                1 + self.below(4 * self.length)
            ),
            6 => {
                format!(r#""kind": "packet_loss", "where": "{}", {}"#, self.link(), self.hits(300))
            }
            7 => format!(
                r#""kind": "packet_duplication", "where": "{}", {}"#,
                self.link(),
                self.hits(500)
            ),
            8 => format!(
                r#""kind": "packet_reordering", "where": "{}", {}, "late": "{} ns""#,
                self.link(),
                self.hits(500),
                1 + self.below(20_000)
            ),
            9 => format!(
                r#""kind": "credit_loss", "from": {}, "to": {}, "credits": {}, "at": {}"#,
                self.process(),
                self.process(),
                1 + self.below(70),
                self.moment()
            ),
            _ if self.below(3) > 0 => {
                format!(r#""kind": "packet_loss", {}"#, self.hits(100))
            }
            _ if self.below(2) == 0 => format!(
                r#""kind": "crash", "process": {}, "at_call": {}"#,
                self.process(),
                1 + self.below(12)
            ),
            _ => format!(
                r#""kind": "crash", "process": {}, "at": {}"#,
                self.process(),
                self.moment()
            ),
        };
        format!("{{ {body} }}")
    }

    fn plan(&mut self) -> String {
        let faults: Vec<String> = (0..=self.below(3)).map(|_| self.fault()).collect();
        let retries = if self.below(8) == 0 { self.below(3) } else { 7 };
        let transport =
            format!(r#""transport": {{ "timeout": "65536 ns", "retries": {retries} }}"#);
        format!(r#", "faults": [ {} ], {transport}"#, faults.join(", "))
    }
}

/// What became of a run, in a word; a panic where its plan explains no such end.
fn judge(family: &Family, point: &Point, outcome: &Outcome, text: &str) -> &'static str {
    let plan = &point.faults;
    assert_eq!(outcome.violations, [], "{} {text}", family.name);
    let may = |test: fn(&Effect) -> bool| plan.faults.iter().any(|fault| test(&fault.effect));
    let ending = &outcome.ending;
    if *ending == Ending::Finished {
        return "correct";
    }
    if matches!(ending, Ending::Fault(Failure::RetryExceeded { .. })) {
        assert!(may(|effect| effect.unreliable().is_some()), "{} {text}", family.name);
        return "retry counter exceeded";
    }
    if matches!(ending, Ending::Fault(Failure::NotReadyExceeded { .. })) {
        let credits = |effect: &Effect| matches!(effect, Effect::CreditLoss { .. });
        assert!(may(credits), "{} {text}", family.name);
        return "no receive buffer";
    }
    assert!(plan.has_crash(), "{} {text}\n{ending:?}", family.name);
    let Ending::Crashed { report, .. } = ending else {
        panic!("{} {text}\n{ending:?}", family.name)
    };
    let named: BTreeSet<u32> =
        report.direct.iter().chain(&report.behind).map(|blocked| blocked.process.0).collect();
    assert!(!named.contains(&report.victim.0), "{} {text}\n{report}", family.name);
    "crash"
}

/// Runs a point with its choices recorded, and takes a run that finished over the bridge.
fn cross(point: &Point) -> Outcome {
    let job = job::build(point);
    if point.progress_thread { cross_job(job.assisted()) } else { cross_job(job) }
}

fn cross_job<P: Program<Library>>(mut job: Job<P>) -> Outcome {
    job.record = true;
    let mut world = job.untimed().unwrap();
    let threads = usize::from(job.threads);
    let ran = job.run().unwrap();
    if ran.outcome.ending == Ending::Finished {
        replay(&mut world, &ran.outcome.choices).unwrap();
        let programs = ran.programs.chunks(threads).map(|programs| programs.iter().collect());
        let end = Final {
            processes: ran.machines.iter().zip(programs).collect(),
            memories: &ran.memories,
            ended: true,
        };
        compare(&world, &ran.outcome.choices, &end).unwrap();
    }
    ran.outcome
}

#[test]
fn random_plans_end_well_or_by_name() {
    let streams = Streams::new(2_026);
    let mut ends: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
    let (mut lost, mut again) = (0, 0);
    for (family, number) in FAMILIES.iter().zip(0..) {
        let clean = plan(family, "");
        let (outcome, _) = job::run(&clean.points[0], Keep::Nothing).unwrap();
        assert_eq!(outcome.ending, Ending::Finished, "{}", family.name);
        let length = outcome.end.as_ps().div_ceil(1_000);
        for index in 0..PLANS {
            let draw = streams.stream("plans", number * PLANS + index);
            let text = Writer { draw, family, length }.plan();
            if !overlaps(&text) {
                let plan = plan(family, &text);
                let point = &plan.points[0];
                // Half of them are replayed in the untimed world; the other half is judged as a run of
                // the command is, with the contents of windows and devices.
                let outcome = if index % 2 == 0 && family.name != "gpu" {
                    cross(point)
                } else {
                    job::run(point, Keep::Nothing).unwrap().0
                };
                let word = judge(family, point, &outcome, &text);
                *ends.entry(family.name).or_default().entry(word).or_default() += 1;
                (lost, again) = (lost + outcome.faults.lost, again + outcome.faults.sent_again);
            }
        }
    }
    for (name, ends) in &ends {
        assert!(ends.contains_key("correct"), "{name}: {ends:?}");
        println!("{name:14} {ends:?}");
    }
    let runs: u32 = ends.values().flat_map(BTreeMap::values).sum();
    assert!(runs >= 1_000, "{runs} plans ran");
    let met = |word| ends.values().filter_map(|ends| ends.get(word)).sum::<u32>();
    for word in ["retry counter exceeded", "no receive buffer", "crash"] {
        assert!(met(word) > 0, "no plan ends by {word}");
    }
    assert!(lost > 1_000 && again > lost, "{lost} packets lost, {again} sent again");
}

/// A plan that the scenario reader refuses: a link that is down twice at a time.
fn overlaps(text: &str) -> bool {
    text.matches("link_down").count() > 1
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_other_losses() {
    let family = &FAMILIES[4];
    let run = |seed: u32| {
        let faults = r#", "faults": [ { "kind": "packet_loss", "probability": 0.2 } ], "transport": { "timeout": "65536 ns" }"#;
        let plan = plan(family, &format!("{faults}, \"seed\": {seed}"));
        let (outcome, _) = job::run(&plan.points[0], Keep::Nothing).unwrap();
        (outcome.digest, outcome.end, outcome.faults)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

#[test]
fn a_fault_that_never_hits_moves_nothing_but_the_layer_below_messages() {
    let family = &FAMILIES[4];
    let end = |faults: &str| {
        let plan = plan(family, faults);
        let (outcome, _) = job::run(&plan.points[0], Keep::Nothing).unwrap();
        assert_eq!(outcome.ending, Ending::Finished);
        outcome.end
    };
    // Messages of one packet: cut or not, they cross the same wires at the same moments.
    let unlikely = r#", "faults": [ { "kind": "packet_loss", "probability": 0 } ]"#;
    assert_eq!(end(""), end(unlikely));
}

#[test]
fn a_crash_names_who_died_and_who_waits() {
    let plan =
        plan(&FAMILIES[0], r#", "faults": [ { "kind": "crash", "process": 1, "at_call": 3 } ]"#);
    let (outcome, _) = job::run(&plan.points[0], Keep::Nothing).unwrap();
    let Ending::Crashed { report, .. } = outcome.ending else { panic!("{:?}", outcome.ending) };
    assert_eq!(report.victim.0, 1);
    assert_eq!(report.direct.len(), 1);
    assert_eq!((report.direct[0].process.0, report.direct[0].wait.operation), (0, "MPI_Recv"));
}

/// Programs that ask for ever what the victim would have changed: no limit has to end them.
#[test]
fn a_crash_ends_programs_that_ask_for_ever_and_names_them() {
    let mutex = |algorithm: &str| {
        format!(
            r#""kind": "mutex", "algorithm": "{algorithm}", "processes": 3, "processes_per_node": 2,
               "cycles": 50, "inside": "50 us""#
        )
    };
    let list = |idiom: &str| {
        format!(
            r#""kind": "linked_list", "idiom": "{idiom}", "processes": 3, "processes_per_node": 2,
               "elements": 400"#
        )
    };
    let mutexes = ["byte_vector", "mcs", "mcs_cas_first", "test_and_set"].map(mutex);
    let lists = ["exclusive", "shared", "lock_all"].map(list);
    for workload in mutexes.iter().chain(&lists) {
        let rest = format!(
            r#""machine": "broadwell-edr", "mpi": {{ "payload": "real" }}, "workload": {{ {workload} }}"#
        );
        let family = Family { name: "asking", processes: 3, rest: rest.leak() };
        let crash = r#", "faults": [ { "kind": "crash", "process": 1, "at": "400 us" } ]"#;
        let (outcome, _) = job::run(&plan(&family, crash).points[0], Keep::Nothing).unwrap();
        let Ending::Crashed { report, .. } = outcome.ending else {
            panic!("{workload}: {:?}", outcome.ending)
        };
        println!("{workload}\n{report}");
        let all = report.direct.iter().chain(&report.behind);
        let mut named: Vec<u32> = all.map(|blocked| blocked.process.0).collect();
        named.sort_unstable();
        named.dedup();
        assert_eq!((report.victim.0, named), (1, vec![0, 2]), "{workload}\n{report}");
    }
}

/// Who is inside computes, while the others ask more often than a standstill takes.
#[test]
fn whoever_computes_inside_a_mutex_is_waited_for() {
    let rest = r#""machine": "broadwell-edr", "mpi": { "payload": "real" }, "workload": { "kind": "mutex", "algorithm": "test_and_set", "processes": 4, "processes_per_node": 2, "cycles": 1, "inside": "3 s" }"#;
    let crash = r#", "faults": [ { "kind": "crash", "process": 3, "at": "100 us" } ]"#;
    let plan = plan(&family("inside", 4, rest), crash);
    let (outcome, _) = job::run(&plan.points[0], Keep::Nothing).unwrap();
    let Ending::Crashed { report, .. } = &outcome.ending else { panic!("{:?}", outcome.ending) };
    let all = report.direct.iter().chain(&report.behind);
    let waits: Vec<_> = all.map(|blocked| (blocked.process.0, blocked.wait.operation)).collect();
    assert_eq!(waits, [(0, "MPI_Barrier"), (1, "MPI_Barrier"), (2, "MPI_Barrier")], "{report}");
    assert!(outcome.end >= Time::ZERO + TimeDelta::from_ns(9_000_000_000), "{}", outcome.end);
}

#[test]
fn a_link_that_stays_down_is_named() {
    let faults =
        r#", "faults": [ { "kind": "link_down", "where": "switch 1.0 to host 1", "at": "1 us" } ]"#;
    let plan = plan(&FAMILIES[0], faults);
    let (outcome, _) = job::run(&plan.points[0], Keep::Nothing).unwrap();
    let Ending::Fault(failure) = outcome.ending else { panic!("{:?}", outcome.ending) };
    let Failure::RetryExceeded { link, tries, .. } = &failure else { panic!("{failure}") };
    assert_eq!((link.as_str(), *tries), ("switch 1.0 to host 1", 8));
}

#[test]
fn a_reliable_connection_survives_every_order_of_a_bad_wire() {
    let settings = Settings { psn_bits: 3, window: 3, ..Settings::new(4) };
    for (losses, repeats, overtakings) in [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)] {
        let allowed = Allowed { losses, repeats, overtakings };
        let found = every_order(settings, 4, allowed);
        println!("{allowed:?}: {} states, {} ends", found.states, found.delivered);
        assert_eq!(found.broken, None, "{allowed:?}");
        assert!(found.delivered > 0 && found.failed == 0, "{found:?}");
    }
}

#[test]
fn more_losses_than_tries_end_in_an_error_and_never_in_silence() {
    let settings = Settings { psn_bits: 3, window: 2, ..Settings::new(1) };
    let found = every_order(settings, 2, Allowed { losses: 3, repeats: 0, overtakings: 0 });
    assert_eq!(found.broken, None);
    assert!(found.delivered > 0 && found.failed > 0, "{found:?}");
}
