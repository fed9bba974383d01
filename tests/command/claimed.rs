//! Claims of documents that no single scenario can state: each runs the program and compares.

use std::collections::BTreeMap;

use crate::binary::Scratch;
use mpisim::experiment::plan::{Request, load};
use mpisim::shipped;
use mpisim::workloads::application::{Application, Applied};
use mpisim::workloads::graph500::Search;
use serde_json::Value as Json;

/// The points of a run: the values of its axes as texts, and its metrics.
type Points = Vec<(BTreeMap<String, String>, BTreeMap<String, f64>)>;

/// Runs a shipped scenario, with some of its values replaced.
#[track_caller]
fn run(name: &str, set: &[&str]) -> Points {
    let scratch = Scratch::new(&format!("claimed-{}", name.replace('/', "-")));
    let scenario = format!("{}/scenarios/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let mut arguments = vec!["run", &scenario, "--format", "json", "--out", "out"];
    arguments.extend(set.iter().flat_map(|one| ["--set", one]));
    let answer = scratch.run(&arguments);
    assert_eq!(answer.exit, 0, "{name}: {}", answer.err);
    let results: Json = serde_json::from_str(&answer.out).unwrap();
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let point = |point: &Json| {
        let params = point["params"].as_object().unwrap().iter();
        let metrics = point["metrics"].as_object().unwrap().iter();
        (
            params.map(|(path, value)| (path.clone(), text(value))).collect(),
            metrics.map(|(name, one)| (name.clone(), one["value"].as_f64().unwrap())).collect(),
        )
    };
    results["points"].as_array().unwrap().iter().map(point).collect()
}

/// The only point's metric.
#[track_caller]
pub(crate) fn one(name: &str, set: &[&str], metric: &str) -> f64 {
    let points = run(name, set);
    assert_eq!(points.len(), 1, "{name} {set:?}");
    points[0].1[metric]
}

/// The document takes the mean of five runs of 1000 iterations. A run here has no spread: five are the
/// same to the last digit, whatever the seed, and ten iterations after the warm-up cost as much each as
/// a thousand.
///
/// claim: coop-cfg-iters
#[test]
fn five_runs_of_a_thousand_iterations_have_the_mean_of_one_run_of_ten() {
    let latency = |rounds: u32, seed: u32| {
        let (rounds, seed) = (format!("workload.rounds={rounds}"), format!("seed={seed}"));
        let set = [&*rounds, &seed, "workload.size=64 KiB", "mpi.rendezvous_intra=rget"];
        one("coop/fig13_latency_broadwell", &set, "latency")
    };
    let runs: Vec<f64> = (1..=5).map(|seed| latency(1000, seed)).collect();
    assert!(runs.iter().all(|run| run.to_bits() == runs[0].to_bits()), "{runs:?}");
    let short = latency(10, 1);
    assert!((short / runs[0] - 1.0).abs() < 0.001, "{short} and {} us", runs[0]);
}

/// `copiers` is the part of its time that the side which copies spends in copies, `library_time` what
/// control messages cost both sides.
///
/// claim: coop-fig2-share
#[test]
fn the_share_of_copies_rises_with_size_and_control_stays() {
    for protocol in ["rput", "rget"] {
        let points = run("coop/fig02_shares", &[&format!("mpi.rendezvous_intra={protocol}")]);
        let of = |metric: &str| points.iter().map(|(_, all)| all[metric]).collect::<Vec<_>>();
        let (copiers, control) = (of("copiers"), of("library_time"));
        assert_eq!(copiers.len(), 9, "16 KiB to 4 MiB");
        assert!(copiers.windows(2).all(|pair| pair[0] < pair[1]), "{protocol}: {copiers:?}");
        assert!(copiers.iter().all(|share| (0.5..1.0).contains(share)), "{protocol}: {copiers:?}");
        let far = |time: &f64| (time / control[0] - 1.0).abs();
        assert!(control[0] > 0.0 && control.iter().all(|time| far(time) < 0.05), "{control:?}");
    }
}

/// The ideal of Fig. 17(b,c) is the mean over ranks, of copies and of the time that they take.
///
/// claim: coop-fig17-ideal
#[test]
fn the_ideal_is_the_mean_over_all_ranks() {
    for scheme in ["rput", "coop_load"] {
        let set = [&*format!("mpi.rendezvous_intra={scheme}"), "workload.steps=1"];
        let points = run("coop/fig17b_copies", &set);
        assert_eq!(points.len(), 64, "each rank is watched once");
        for (own, ideal) in [("copies", "copies_mean"), ("copying", "copying_mean")] {
            let mean = points.iter().map(|(_, all)| all[own]).sum::<f64>() / 64.0;
            for (_, all) in &points {
                assert!((all[ideal] / mean - 1.0).abs() < 1e-9, "{scheme}: {ideal} and {mean}");
            }
            let spread = |(_, all): &(_, BTreeMap<String, f64>)| (all[own] / mean - 1.0).abs();
            assert!(points.iter().map(spread).fold(0.0, f64::max) > 0.01, "{scheme}: {own}");
        }
    }
}

/// One replica of a job, on two nodes.
const SEED: &str = "seed=1";
const PROCESSES: &str = "workload.processes=56";

/// Of how much of its time COOP-hybrid relieves a job of a weak scaling.
fn gain(name: &str, set: &[&str], metric: &str) -> f64 {
    let time = |scheme: &str| {
        let scheme = format!("mpi.rendezvous_intra={scheme}");
        one(name, &[&[&*scheme], set].concat(), metric)
    };
    1.0 - time("coop_hybrid") / time("rput")
}

/// The document ranks the gains of COOP-hybrid Graph500, `CoMD`, `MiniGhost`. Here none of them gains a
/// percent, which is no order, for the reasons that docs/model/cooperation.md gives: what limits the
/// allgathers of the search is memory, whichever core copies, a step of `CoMD` spends 5 % of its time in MPI,
/// and what limits `MiniGhost` is the link or the memory.
///
/// claim: coop-app-order
#[test]
fn the_gains_of_three_applications_have_no_order() {
    let graph500 = gain("coop/fig18_graph500", &[SEED, PROCESSES], "search_time");
    let by_pairs = [SEED, PROCESSES, "workload.buffer=4 KiB"];
    let by_pairs = gain("coop/ext_graph500_simple", &by_pairs, "search_time");
    let comd = gain("coop/fig19_comd", &[SEED, PROCESSES], "step_time");
    let minighost = gain("coop/fig20_minighost", &[SEED, "workload.compute=0 s"], "step_time");
    assert_eq!(by_pairs.to_bits(), 0.0_f64.to_bits(), "no message takes a rendezvous");
    for gain in [graph500, comd, minighost] {
        assert!(gain.abs() < 0.01, "{graph500}, {comd}, {minighost}");
    }
}

/// Weak scaling of Fig. 18(a): 2^25 vertices of each node, 28 processes on each, up to 32 nodes.
///
/// claim: coop-fig18-scale
#[test]
fn weak_scaling_of_the_search_has_2_to_the_25_vertices_of_each_node() {
    for nodes in [1_u32, 2, 4, 8, 16, 32] {
        let overrides = [format!("nodes={nodes}"), format!("workload.processes={}", 28 * nodes)];
        let scenario = "coop/fig18_graph500".to_owned();
        let request = Request {
            scenario,
            overrides: overrides.into(),
            library: shipped::library(),
            ..Request::default()
        };
        let (plan, said) = load(&request);
        let plan = plan.unwrap_or_else(|| panic!("{}", said.human()));
        for point in &plan.points {
            let applied = point.workload.downcast_ref::<Applied>().unwrap();
            let Application { processes, per_node, .. } = &applied.application;
            let search = applied.application.task_as::<Search>().unwrap();
            assert_eq!((*processes, *per_node), (28 * nodes, 28));
            assert_eq!(search.vertices, Some((1 << 25) * u64::from(nodes)));
            assert_eq!(search.edge_factor, 16);
        }
    }
}

/// The law that `coop/fig18_seconds` stands on (docs/model/applications.md): with as many vertices of each
/// process, an allgather round a ring of P processes has P - 1 rounds that take as long each.
#[test]
fn the_time_in_mpi_of_a_search_over_bitmaps_grows_with_the_rounds_of_a_ring() {
    let time = |processes: u32| {
        let each = format!("workload.processes={processes}");
        let set = [SEED, &*each, "mpi.rendezvous_intra=rput"];
        one("coop/fig18_graph500", &set, "communication_time") / f64::from(processes - 1)
    };
    let (few, many) = (time(28), time(56));
    assert!((many / few - 1.0).abs() < 0.03, "{few} and {many} us a round");
}

/// Where the counters of COOP-load hold all copies that a rank was given, in halves, they even out what was
/// done; where they hold copies still to do, as the document has it, they even out what waits.
#[test]
fn counters_of_what_was_given_even_out_what_was_done() {
    let imbalance = |counts: &str, unit: &str, raised: &str| {
        let set = [
            SEED,
            &format!("mpi.cooperation.load_counts={counts}"),
            &format!("mpi.cooperation.load_unit={unit}"),
            &format!("mpi.cooperation.load_raised={raised}"),
        ];
        one("coop/ext_load_counters", &set, "copy_imbalance")
    };
    for raised in ["with_choice", "by_each_side"] {
        let [waits, given] = ["outstanding", "cumulative"]
            .map(|counts| ["copy", "half"].map(|unit| imbalance(counts, unit, raised)));
        assert!(waits.iter().all(|off| *off > 0.2), "{raised}: {waits:?}");
        assert!(given[0] > 0.1 && given[1] < 0.06, "{raised}: {given:?}");
    }
}

/// The law of docs/model/applications.md for pairs: where a pair of processes keeps what it says to each
/// other, V / P^2, the time of a search grows as the processes.
#[test]
fn the_time_of_a_search_grows_with_processes_that_say_as_much_to_each_other() {
    let time = |processes: u32| {
        let each = format!("workload.processes={processes}");
        let vertices = format!("workload.vertices={}", 4_194_304 / 56 / 56 * processes * processes);
        let set = [
            SEED,
            &*each,
            &*vertices,
            "workload.scaling=strong",
            "workload.compute_per_edge=222 ns",
            "workload.buffer=4 KiB",
            "mpi.rendezvous_intra=rput",
        ];
        one("coop/ext_graph500_simple", &set, "search_time")
    };
    let (few, many) = (time(14), time(28));
    assert!((many / few / 2.0 - 1.0).abs() < 0.03, "{few} and {many} us");
}
