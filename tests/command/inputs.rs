//! Valid scenarios mean what they say.

use mpisim::experiment::claim::{ClaimKind, Trend};
use mpisim::experiment::plan::{Noise, Plan, Point, Request, load};
use mpisim::hardware::topology::{FatTree, Shape};
use mpisim::language::program::Does;
use mpisim::language::statements::Work;
use mpisim::shipped;
use mpisim::units::{Bytes, TimeDelta};
use mpisim::workloads::fields::Between;
use mpisim::workloads::message_rate::MessageRate;
use mpisim::workloads::ping_pong::PingPongForm;
use mpisim::workloads::program::WrittenProgram;

use crate::binary::{Answer, Scratch};

fn request(name: &str, overrides: &[&str]) -> Request {
    Request {
        scenario: format!("tests/bad_inputs/valid/{name}.json"),
        overrides: overrides.iter().map(|&text| text.to_owned()).collect(),
        library: shipped::library(),
        ..Request::default()
    }
}

#[track_caller]
fn plan(name: &str, overrides: &[&str]) -> Plan {
    let (plan, diagnostics) = load(&request(name, overrides));
    assert!(!diagnostics.has_errors(), "{}", diagnostics.human());
    plan.expect("a scenario without errors has a plan")
}

fn message_rate(plan: &Plan, point: usize) -> (u32, u64, u32, u64) {
    let point = &plan.points[point];
    let rate = point.workload.downcast_ref::<MessageRate>().expect("no other workload");
    (rate.senders_per_node, rate.form.size.as_u64(), rate.rounds, point.seed)
}

/// One scenario with an axis of three machines, and what its points say of a number of theirs.
fn steps_of_machines(overrides: &[&str]) -> Vec<(String, TimeDelta)> {
    let request = Request {
        scenario: "coop/ext_modern_latency".to_owned(),
        overrides: overrides.iter().map(|&text| text.to_owned()).collect(),
        library: shipped::library(),
        ..Request::default()
    };
    let (plan, diagnostics) = load(&request);
    assert!(!diagnostics.has_errors(), "{}", diagnostics.human());
    let points = plan.expect("it has no errors").points.into_iter();
    let step = |point: Point| (point.params[0].1.clone(), point.machine.profile.mpi.step_control);
    let mut steps: Vec<_> = points.map(step).collect();
    steps.dedup();
    steps
}

/// A number of `machine` is that of each machine of an axis, and of the one that a later option names.
#[test]
fn a_number_of_the_machine_is_changed_of_each_machine_of_an_axis() {
    let own = steps_of_machines(&[]);
    assert_eq!(own.len(), 3, "{own:?}");
    let set = "machine.mpi.step_control=500 ns";
    let changed = TimeDelta::from_ns(500);
    let all: Vec<_> = own.iter().map(|(name, _)| (name.clone(), changed)).collect();
    assert!(own != all);
    assert_eq!(steps_of_machines(&[set]), all);
    let one = vec![all[1].clone()];
    let name = format!("machine={}", one[0].0);
    assert_eq!(steps_of_machines(&[set, &name]), one);
    assert_eq!(steps_of_machines(&[&name, set]), one);
}

#[test]
fn axes_multiply_and_the_first_is_outermost() {
    let plan = plan("message_rate", &[]);
    assert_eq!(plan.points.len(), 5 * 23 * 5);
    assert_eq!(message_rate(&plan, 0), (1, 1, 50, 1));
    assert_eq!(message_rate(&plan, 1), (1, 1, 50, 2));
    assert_eq!(message_rate(&plan, 5), (1, 2, 50, 1));
    assert_eq!(message_rate(&plan, 574), (16, 4 << 20, 10, 5));
    let params = [("workload.senders_per_node", "1"), ("workload.size", "2 B"), ("seed", "1")];
    let params: Vec<_> = params.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(plan.points[5].params, params);
    for (index, point) in plan.points.iter().enumerate() {
        assert_eq!(point.index, index);
        assert_eq!(plan.sweep.point_at(&plan.sweep.indices(index)), index);
    }
}

#[test]
fn rounds_depend_on_the_size_where_they_say_so() {
    let plan = plan("message_rate", &[]);
    for index in 0..plan.points.len() {
        let (_, size, rounds, _) = message_rate(&plan, index);
        assert_eq!(rounds, if size <= 8192 { 50 } else { 10 }, "{size} B");
    }
}

#[test]
fn claims_are_bound_to_their_points() {
    let plan = plan("message_rate", &[]);
    let point = |senders: usize, size: usize, seed: usize| (senders * 23 + size) * 5 + seed;
    let replicas =
        |senders, size| (0..5).map(|seed| point(senders, size, seed)).collect::<Vec<_>>();
    let ClaimKind::Ratio { cases, value, .. } = &plan.claims[0].kind else { panic!() };
    assert_eq!(cases, &[(replicas(4, 3), replicas(0, 3))]);
    assert!((value - 13.0).abs() < 1e-12);
    let ClaimKind::Trend { lines, along, shape } = &plan.claims[1].kind else { panic!() };
    assert_eq!(lines.len(), 8, "1 B to 128 B");
    assert_eq!(lines[1], (0..5).map(|senders| replicas(senders, 1)).collect::<Vec<_>>());
    assert_eq!(along.values, ["1", "2", "4", "8", "16"]);
    assert_eq!(*shape, Trend::Rises { every_step: true });
    let ClaimKind::Ordering { cases, bases, below: true, times, majority: false } =
        &plan.claims[2].kind
    else {
        panic!()
    };
    assert_eq!((cases.len(), bases.len(), times.to_bits()), (8, 0, 16.0_f64.to_bits()));
    let ClaimKind::Trend { lines, shape: Trend::Dip { at: 6, margin }, .. } = &plan.claims[3].kind
    else {
        panic!()
    };
    assert_eq!((lines.len(), lines[0].len()), (1, 23));
    assert!((margin - 0.03).abs() < 1e-12);
}

#[test]
fn numbers_of_the_machine_can_be_swept() {
    let plan = plan("bandwidth_cap", &[]);
    assert_eq!(plan.points.len(), 2 * 5 * 6);
    let read = |index: usize| plan.points[index].machine.profile.pcie.p2p_read_bw;
    assert_eq!(read(0).map(|bw| bw.to_string()), Some("960 MB/s".to_owned()));
    assert_eq!(plan.points[0].params[0].1, "0.96 GB/s", "as the scenario spells it");
    assert_eq!(read(30).map(|bw| bw.to_string()), Some("5 GB/s".to_owned()));
    let link = plan.points[0].machine.profile.link.data_bw;
    assert_eq!(link.to_string(), "4 GB/s", "what the scenario itself sets stays");
    let ClaimKind::Crossover { at, lines, times, .. } = &plan.claims[1].kind else { panic!() };
    assert_eq!((*at, lines[0].len(), *times > 1.2), (3, 6, true));
    let ClaimKind::Value { value, .. } = &plan.claims[5].kind else { panic!() };
    assert!((value - 3200.0).abs() < 1e-9, "in MB/s");
}

#[test]
fn a_value_of_the_command_line_replaces_that_of_the_file() {
    let set = ["seed=9", "machine.mpi.eager_threshold_inter=64KiB", "workload.warmup=3"];
    let plan = plan("ping_pong", &set);
    let point = &plan.points[0];
    assert_eq!(point.seed, 9);
    assert_eq!(point.mpi.eager_inter, Some(Bytes::kib(64)));
    let ping_pong = point.workload.downcast_ref::<PingPongForm>().unwrap();
    assert_eq!((ping_pong.warmup, ping_pong.between), (3, Between::Cores));
    let doubt = point.machine.by_doubt();
    // What the machine does not have is no guess, and comes last.
    let there = doubt.iter().take_while(|number| number.value.is_some()).count();
    let (there, absent) = doubt.split_at(there);
    assert!(there.len() > 50 && absent.iter().all(|number| number.value.is_none()));
    assert!(there.windows(2).all(|pair| pair[0].confidence <= pair[1].confidence));
    let set = point.machine.numbers.iter().find(|n| n.path == "mpi.eager_threshold_inter").unwrap();
    assert_eq!((set.confidence.word(), set.file.as_str()), ("chosen", "<command line>"));
}

#[test]
fn a_swept_field_that_is_set_keeps_one_value() {
    let set = ["workload.senders_per_node=4", "workload.size=16B"];
    let (plan, diagnostics) = load(&request("message_rate", &set));
    let plan = plan.unwrap();
    assert_eq!(plan.points.len(), 5, "the replicas are left");
    assert_eq!(message_rate(&plan, 0), (4, 16, 50, 1));
    assert!(plan.claims.is_empty());
    assert!(diagnostics.human().starts_with("warning[E0609]"), "{}", diagnostics.human());
}

#[test]
fn noise_is_that_of_the_scenario_or_of_the_machine() {
    let plan_of = |set: &[&str]| plan("ping_pong", set).points[0].noise.clone();
    assert_eq!(plan_of(&[]), Noise::default(), "off by default");
    let noise = plan_of(&["noise.os_noise=true", "noise.start_skew=3us"]);
    assert_eq!(noise.start_skew, TimeDelta::from_us(3));
    let machine = plan("ping_pong", &[]).points[0].machine.profile.os.clone();
    let own = noise.os_noise.map(|noise| (Some(noise.period), Some(noise.length)));
    assert_eq!(own, Some((machine.noise_period, machine.noise_length)));
}

#[test]
fn programs_know_their_lines() {
    let plan = plan("program", &[]);
    let point = &plan.points[0];
    let tree = FatTree { arity: 4, levels: 2, oversubscription: 2 };
    assert_eq!(point.topology, Shape::FatTree(tree));
    let ranks = &point.workload.downcast_ref::<WrittenProgram>().unwrap().ranks;
    assert_eq!(ranks[0][0].line, 9);
    assert_eq!(ranks[1][5].line, 21);
    assert!(matches!(ranks[0][2].work, Work::Does(Does::Compute(_))));
    assert_eq!(point.placement.node_of(1, point.nodes), 1);
}

// row: A17
#[test]
fn line_ends_do_not_change_the_digest() {
    let text = std::fs::read_to_string("tests/bad_inputs/valid/ping_pong.json").unwrap();
    let digest = |end: &str| {
        let file =
            std::env::temp_dir().join(format!("mpisim-{}-{}.json", std::process::id(), end.len()));
        std::fs::write(&file, text.replace('\n', end)).unwrap();
        let request = Request {
            scenario: file.display().to_string(),
            library: shipped::library(),
            ..Request::default()
        };
        let (plan, diagnostics) = load(&request);
        std::fs::remove_file(&file).unwrap();
        let plan = plan.unwrap_or_else(|| panic!("{}", diagnostics.human()));
        assert_eq!(plan.bytes, text.replace('\n', end).as_bytes(), "exactly what was read");
        plan.digest
    };
    assert_eq!(digest("\n"), digest("\r\n"));
    assert_eq!(digest("\n").len(), 32);
    assert_ne!(plan("ping_pong", &["seed=2"]).digest, digest("\n"));
}

/// A kind that is misspelt takes nothing else with it: not the axis of one of its keys.
#[test]
fn a_misspelt_kind_is_one_error() {
    let text = r#"{ "schema": 1, "title": "t", "machine": "ideal",
      "workload": { "kind": "ping_bong", "size": "8 B" },
      "sweep": { "workload.size": ["8 B", "16 B"] } }"#;
    let request = Request { text: Some(text.to_owned()), ..request("message_rate", &[]) };
    let told = load(&request).1.human();
    assert_eq!(told.matches("error[").count(), 1, "{told}");
    assert!(told.contains("did you mean `ping_pong`?"), "{told}");
}

/// Each rank of a program may have the same slip: the statements that there are come once.
#[test]
fn the_statements_of_programs_are_listed_once() {
    let text = r#"{ "schema": 1, "title": "t", "machine": "ideal", "workload": { "kind": "program",
      "ranks": [ [ { "op": "snd" } ], [ { "op": "snd" } ], [ { "op": "snd" } ] ] } }"#;
    let request = Request { text: Some(text.to_owned()), ..request("message_rate", &[]) };
    let told = load(&request).1.human();
    assert_eq!(told.matches("error[E0307]").count(), 3, "{told}");
    let forms = told.matches("reduce_scatter_block").count();
    assert_eq!(forms, 3, "with its `i` and `_init` forms, once: {told}");
}

#[test]
fn a_scenario_names_files_below_itself_or_below_where_the_command_runs() {
    let scratch = Scratch::new("named");
    scratch.write("tables/one.goal", "num_ranks 1\nrank 0 {\nl1: calc 5\n}\n");
    let scenario = r#"{ "schema": 1, "title": "t", "machine": "ideal", "nodes": 1,
        "workload": { "kind": "goal", "file": "../tables/one.goal" } }"#;
    scratch.write("mine/s.json", scenario);
    scratch.run(&["validate", "mine/s.json"]).check(0, &[]);
    let mut inside = scratch.command(&["validate", "s.json"]);
    let answer = Answer::from(inside.current_dir(scratch.path("mine")).output().unwrap());
    answer
        .check(3, &["error[E0112]", "`../tables/one.goal` lies elsewhere", "from a folder above"]);
}

#[test]
fn a_directory_has_no_line_and_no_column() {
    let scratch = Scratch::new("directory");
    scratch.write("folder/a.txt", "");
    let answer = scratch.run(&["validate", "folder"]);
    let said = answer.check(3, &["error[E0102] folder: the path is a directory"]).err;
    assert!(!said.contains(":1:1"), "{said}");
}
