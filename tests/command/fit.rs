//! `mpisim fit` over the real binary: what is known is recovered, what cannot be told stays, and
//! inputs that are no measurement are refused.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::binary::{Answer, Scratch};

/// Sizes of a small table: both sides of the eager threshold, one in memory.
const SIZES: &str = r#"["1 B", "64 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB", "1 MiB"]"#;

/// A benchmark between the machines of `changes`.
///
/// It is ten times as long as the runs of the fit, which must not matter.
fn benchmark(kind: &str, between: &str, changes: &str) -> String {
    let (rounds, windows) = if kind == "ping_pong" {
        (r#""rounds": 200, "warmup": 20"#, "")
    } else {
        (r#""rounds": 40, "warmup": 10"#, r#", "window": 16, "buffers": "one""#)
    };
    let nodes = if between == "nodes" { 2 } else { 1 };
    format!(
        r#"{{ "schema": 1, "title": "Measured", "nodes": {nodes},
             "machine": {{ "extends": "broadwell-edr"{changes} }},
             "mpi": {{ "rendezvous_intra": "rget" }},
             "workload": {{ "kind": "{kind}", "size": "1 B", {rounds},
                            "between": "{between}"{windows} }},
             "sweep": {{ "workload.size": {SIZES} }} }}"#
    )
}

/// Writes `latency.txt` and `bw.txt`, as a known machine has them: with all digits, since the two
/// decimals that OSU prints are some percent of a message inside a node.
fn measure(scratch: &Scratch, between: &str, changes: &str) {
    let tables = [("ping_pong", "latency", "latency"), ("bandwidth", "bw", "bandwidth")];
    for (kind, name, metric) in tables {
        scratch.write(&format!("{name}.json"), &benchmark(kind, between, changes));
        let file = format!("{name}.json");
        let answer = scratch.run(&["run", &file, "--format", "json", "--out", name]);
        assert_eq!(answer.exit, 0, "{}", answer.err);
        let result = answer.json();
        let unit = result["points"][0]["metrics"][metric]["unit"].as_str().unwrap().to_owned();
        // The window of the file is the window of the fit.
        let mut table = format!("# [ window size: 16 ]\n# Size  {metric} ({unit})\n");
        for point in result["points"].as_array().unwrap() {
            let size = point["params"]["workload.size"].as_str().unwrap();
            let bytes = size_in_bytes(size);
            let value = point["metrics"][metric]["value"].as_f64().unwrap();
            writeln!(table, "{bytes} {value}").unwrap();
        }
        scratch.write(&format!("{name}.txt"), &table);
    }
}

fn size_in_bytes(size: &str) -> u64 {
    let (number, unit) = size.split_once(' ').unwrap();
    let unit = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        other => panic!("{other}"),
    };
    number.parse::<u64>().unwrap() * unit
}

fn fitted(scratch: &Scratch, extra: &[&str]) -> Value {
    let mut words = vec!["fit", "--measured", "latency.txt", "bw.txt", "--hold-out", "0"];
    words.extend(["--set", "mpi.rendezvous_intra=rget", "--format", "json"]);
    words.extend(extra);
    let answer = scratch.run(&words);
    assert_eq!(answer.exit, 0, "{}", answer.err);
    answer.json()
}

/// The number behind a quantity's text, in its own unit.
fn number(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap();
    let factor = match unit {
        "us" | "MB/s" => 1e3,
        "GB/s" | "KiB" => 1e6,
        _ => 1.0,
    };
    number.parse::<f64>().unwrap() * factor
}

fn found(fit: &Value, path: &str) -> String {
    let all = fit["fitted"].as_array().unwrap();
    let one = all.iter().find(|one| one["path"] == path);
    one.unwrap_or_else(|| panic!("{path} in {fit:#}"))["value"].as_str().unwrap().to_owned()
}

#[track_caller]
fn recovered(fit: &Value, path: &str, known: &str) {
    let found = found(fit, path);
    let ratio = number(&found) / number(known);
    assert!((0.95..1.05).contains(&ratio), "{path}: {found}, known {known}");
}

const KNOWN_WIRE: &str = r#", "mpi": { "step_send": "77.55 ns", "step_receive": "65.1 ns",
    "step_arrival": "79.5 ns", "step_completion": "40.5 ns", "step_query": "40.5 ns",
    "step_control": "79.5 ns", "step_handshake": "315 ns" },
    "link": { "base_latency": "900 ns", "data_bw": "9 GB/s" }"#;

#[test]
fn a_known_machine_is_recovered_between_nodes() {
    let scratch = Scratch::new("fit-nodes");
    measure(&scratch, "nodes", KNOWN_WIRE);
    let fit = fitted(&scratch, &["--machine", "broadwell-edr", "--out", "mine.json"]);
    recovered(&fit, "link.data_bw", "9 GB/s");
    recovered(&fit, "link.base_latency", "900 ns");
    recovered(&fit, "mpi.step_send", "77.55 ns");
    // The bus is faster than the wire: nothing tells how much.
    let kept = fit["kept"].as_array().unwrap();
    assert!(kept.iter().any(|kept| kept["name"] == "pcie.raw_bw"), "{fit:#}");
    let worst = fit["summary"][0]["worst"].as_f64().unwrap();
    assert!(worst < 0.05, "{worst}");

    // The model is one: it can be run, and says which of its numbers are whose.
    let text = std::fs::read_to_string(scratch.path("mine.json")).unwrap();
    let model: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(model["link"]["base_latency"]["source"], "fit: latency.txt, bw.txt");
    assert_eq!(model["link"]["base_latency"]["confidence"], "derived");
    assert_eq!(model["pcie"]["raw_bw"]["confidence"], "assumed");
    let note = model["pcie"]["raw_bw"]["note"].as_str().unwrap();
    assert!(note.starts_with("kept from broadwell-edr, "), "{note}");
    scratch
        .write("use.json", &benchmark("ping_pong", "nodes", "").replace("broadwell-edr", "mine"));
    let answer = scratch.run(&["validate", "use.json"]);
    assert_eq!(answer.exit, 0, "{}", answer.err);
}

#[test]
fn a_known_node_is_recovered_with_its_threshold() {
    let scratch = Scratch::new("fit-cores");
    let known = r#", "coh": { "line_same_socket": "80 ns" }, "cma": { "call_overhead": "1.5 us" },
        "mem": { "core_copy_bw": "9 GB/s" }, "mpi": { "eager_threshold_intra": "16 KiB" }"#;
    measure(&scratch, "cores", known);
    let fit = fitted(&scratch, &["--machine", "broadwell-edr", "--between", "cores"]);
    recovered(&fit, "mem.core_copy_bw", "9 GB/s");
    recovered(&fit, "coh.line_same_socket", "80 ns");
    assert_eq!(found(&fit, "mpi.eager_threshold_intra"), "16 KiB");
    recovered(&fit, "cma.call_overhead", "1.5 us");
    recovered(&fit, "mpi.step_handshake", "210 ns");
}

/// Numbers that are searched between nodes, and that these tests keep.
const OTHERS: [&str; 9] = [
    "mpi.step_send",
    "mem.core_copy_bw",
    "hca.wqe_fetch",
    "hca.msg_rate_per_qp",
    "pcie.dma_read_round_trip",
    "pcie.mmio_write",
    "mem.core_copy_bw_dram",
    "pcie.p2p_read_bw",
    "mpi.eager_threshold_inter",
];

/// Of the tables of a faster machine the bus of the start makes large messages too slow, whatever is fitted.
#[test]
fn a_fit_from_the_wrong_machine_is_not_believed() {
    let scratch = Scratch::new("fit-doubt");
    let measured = benchmark("ping_pong", "nodes", "").replace("broadwell-edr", "genoa-hdr");
    scratch.write("measured.json", &measured);
    let table = scratch.run(&["run", "measured.json", "--format", "osu"]).check(0, &[]).out;
    scratch.write("latency.txt", &table);
    let words = ["fit", "--measured", "latency.txt", "--hold-out", "0", "--format", "json"];
    let keep = ["--keep", "pcie.raw_bw", "link.base_latency", "hca.inline_limit"];
    let from = |machine: &str, out: &str| {
        let end = ["hca.blueflame_inline", "--machine", machine, "--out", out];
        scratch.run(&[&words[..], &keep, &OTHERS, &end].concat())
    };
    let answer = from("broadwell-edr", "doubtful.json");
    let says = [
        "E0917",
        "1 of 7 fitted rows deviate by more than 33 %, 1048576 of latency.txt by +69.6 %",
        "begin with it, by `--machine genoa-hdr`",
    ];
    let answer = answer.check(1, &says);
    assert!(!answer.json()["doubts"].as_array().unwrap().is_empty());
    let text = std::fs::read_to_string(scratch.path("doubtful.json")).unwrap();
    let model: Value = serde_json::from_str(&text).unwrap();
    assert!(model["title"].as_str().unwrap().ends_with(", fitted (in doubt)"), "{text}");
    assert!(model["note"].as_str().unwrap().starts_with("in doubt: "), "{text}");
    scratch.run(&["validate", "doubtful.json"]).check(0, &[]);
    // From the right one nothing speaks against it.
    let answer = from("genoa-hdr", "sane.json").check(0, &[]);
    assert!(answer.json()["doubts"].as_array().unwrap().is_empty(), "{}", answer.out);
}

#[test]
fn the_size_up_to_which_messages_go_with_their_descriptor_is_found() {
    let scratch = Scratch::new("fit-inline");
    let sizes = r#"["1 B", "16 B", "64 B", "256 B", "1 KiB", "4 KiB", "16 KiB", "256 KiB"]"#;
    let known = benchmark("ping_pong", "nodes", "").replace(SIZES, sizes).replace(
        r#""broadwell-edr""#,
        r#""broadwell-edr", "hca": { "blueflame_inline": "304 B", "inline_limit": "304 B" }"#,
    );
    scratch.write("known.json", &known);
    let table = scratch.run(&["run", "known.json", "--format", "csv"]).check(0, &[]).out;
    let rows = table.lines().filter(|line| line.contains(",latency,")).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("{} {}\n", size_in_bytes(cells[1]), cells[3])
    });
    let table = rows.fold("# Size  Latency (us)\n".to_owned(), |table, row| table + &row);
    scratch.write("latency.txt", &table);
    let words = ["fit", "--measured", "latency=latency.txt", "--hold-out", "0", "--format", "json"];
    let words = [&words[..], &["--keep", "pcie.raw_bw", "link.data_bw"], &OTHERS].concat();
    let fit = scratch.run(&words).check(0, &[]).json();
    // 256 B go along, and their header of 48 B.
    assert_eq!(found(&fit, "hca.blueflame_inline"), "304 B");
    let worst = fit["summary"][0]["worst"].as_f64().unwrap();
    assert!(worst < 0.05, "{fit:#}");
}

/// What one pair has told is kept; many pairs tell what the adapter can do in all.
#[test]
fn many_pairs_tell_the_rate_of_the_adapter() {
    let scratch = Scratch::new("fit-pairs");
    let scenario = format!(
        r#"{{ "schema": 1, "title": "Measured", "nodes": 2,
             "machine": {{ "extends": "broadwell-edr", "hca": {{ "msg_rate_total": "6 Mmsg/s" }} }},
             "workload": {{ "kind": "message_rate", "senders_per_node": 4, "direction": "one",
                            "size": "1 B", "window": 16, "rounds": 4, "warmup": 1 }},
             "sweep": {{ "workload.size": {SIZES} }} }}"#
    );
    scratch.write("many.json", &scenario);
    let answer = scratch.run(&["run", "many.json", "--format", "osu", "--out", "many"]);
    assert_eq!(answer.exit, 0, "{}", answer.err);
    for part in ["[ pairs: 4 ] [ window size: 16 ]", "Multiple Bandwidth"] {
        assert!(answer.out.contains(part), "{part}: {}", answer.out);
    }
    scratch.write("many.txt", &answer.out);
    let words = "fit --measured many.txt --hold-out 0 --format json \
                 --keep mpi.step_send link.base_latency link.data_bw pcie.raw_bw mem.core_copy_bw \
                 hca.wqe_fetch pcie.dma_read_round_trip mpi.eager_threshold_inter \
                 hca.blueflame_inline hca.inline_limit";
    let answer = scratch.run(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(answer.exit, 0, "{}", answer.err);
    let fit = answer.json();
    assert!((5.7..6.3).contains(&number_of(&found(&fit, "hca.msg_rate_total"))), "{fit:#}");
    let fitted = fit["fitted"].as_array().unwrap();
    assert!(fitted.iter().all(|one| one["path"] != "mpi.step_send"), "kept: {fit:#}");

    let answer = scratch.run(&["fit", "--measured", "many.txt", "--keep", "mpi.step"]);
    refused(&answer, 2, &["--keep", "no number of a machine is called so"]);
}

/// The number before the unit.
fn number_of(text: &str) -> f64 {
    text.split_once(' ').unwrap().0.parse().unwrap()
}

#[test]
fn rows_that_were_held_out_and_tables_that_are_only_compared_have_their_errors() {
    let scratch = Scratch::new("fit-held-out");
    measure(&scratch, "nodes", "");
    let answer = scratch.run(&[
        "fit",
        "--measured",
        "latency.txt",
        "--predict",
        "bw.txt",
        "--set",
        "mpi.rendezvous_intra=rget",
        "--format",
        "json",
    ]);
    assert_eq!(answer.exit, 0, "{}", answer.err);
    let fit = answer.json();
    let rows = fit["rows"].as_array().unwrap();
    let of = |role: &str| rows.iter().filter(|row| row["role"] == role).count();
    assert_eq!((of("fitted"), of("held out"), of("predicted")), (5, 2, 7));
    let held = rows.iter().find(|row| row["role"] == "held out").unwrap();
    assert!(held["error_held_out"].as_f64().unwrap().abs() < 0.02, "{held}");
    let groups: Vec<&str> = fit["summary"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["rows"].as_str().unwrap())
        .collect();
    assert_eq!(groups, ["fitted", "held out", "predicted bw.txt"]);
    let held = fit["summary"][1]["worst"].as_f64().unwrap();
    assert!(held < 0.05, "{held}");
}

fn shipped(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path).display().to_string()
}

/// The command of docs/method/fit.md that makes a shipped model.
fn of_library((folder, start, name, title): (&str, &str, &str, &str)) -> Vec<String> {
    let root = format!("traces/measured/{folder}");
    let words = format!(
        "fit --machine models/{start}.json --between cores --set mpi.rendezvous_intra=rget \
         --keep mpi.eager_threshold_intra cma.call_overhead --measured {root}/latency.txt {root}/bw.txt --source REFMPI\\ latency\\ and\\ bandwidth --out models/{name}.json"
    );
    let mut words: Vec<String> = words
        .replace("\\ ", "\u{1}")
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| word.replace('\u{1}', " "))
        .collect();
    words.extend(["--title".to_owned(), title.to_owned()]);
    words
}

const LIBRARIES: [(&str, &str, &str, &str); 2] = [
    (
        "mpich-4.0.2",
        "ref-node-ucx",
        "ref-node-mpich",
        "Two virtual processors of a server Xeon, MPICH 4.0.2",
    ),
    (
        "openmpi-4.1.4",
        "ref-node-vader",
        "ref-node-openmpi",
        "Two virtual processors of a server Xeon, Open MPI 4.1.4",
    ),
];

/// The models that ship are those that the command makes; takes minutes in a debug build.
#[test]
#[ignore = "takes minutes in a debug build: see CONTRIBUTING.md"]
fn the_models_of_the_reference_node_are_made_by_the_documented_command() {
    let scratch = Scratch::new("fit-shipped");
    for library in LIBRARIES {
        let (folder, start, name, _) = library;
        for file in ["latency.txt", "bw.txt"] {
            let path = format!("traces/measured/{folder}/{file}");
            scratch.write(&path, &std::fs::read_to_string(shipped(&path)).unwrap());
        }
        for model in ["ref-node", start] {
            let path = format!("models/{model}.json");
            scratch.write(&path, &std::fs::read_to_string(shipped(&path)).unwrap());
        }
        let words = of_library(library);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = scratch.run(&words);
        assert_eq!(answer.exit, 0, "{}", answer.err);
        let made = std::fs::read_to_string(scratch.path(&format!("models/{name}.json"))).unwrap();
        let ships = std::fs::read_to_string(shipped(&format!("models/{name}.json"))).unwrap();
        assert_eq!(made, ships, "{name}");
    }
}

/// Without `--measured` nothing is searched: the shipped models against all their tables.
#[test]
fn the_models_of_the_reference_node_are_as_far_from_the_tables_as_documented() {
    let docs = std::fs::read_to_string(shipped("docs/method/fit.md")).unwrap();
    for (folder, _, name, _) in LIBRARIES {
        let scratch = Scratch::new(&format!("fit-compare-{name}"));
        let tables = ["latency", "bw", "bibw", "prq", "umq", "rma", "mutex", "pack"];
        let is_mapped = name == "ref-node-openmpi";
        let files = tables.map(|table| {
            let file = shipped(&format!("traces/measured/{folder}/{table}.txt"));
            if is_mapped && ["rma", "mutex"].contains(&table) {
                format!("{table}_mapped={file}")
            } else {
                file
            }
        });
        let words = ["fit", "--machine", name, "--between", "cores", "--format", "json"];
        let mut words: Vec<String> = words.map(str::to_owned).to_vec();
        for choice in ["rendezvous_intra=rget", "rma.issue=eager", "rma.merge=false"] {
            words.extend(["--set".to_owned(), format!("mpi.{choice}")]);
        }
        words.push("--predict".to_owned());
        words.extend(files);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = scratch.run(&words);
        assert_eq!(answer.exit, 0, "{}", answer.err);
        let fit = answer.json();
        assert!(fit["fitted"].as_array().unwrap().is_empty());
        for (table, group) in tables.iter().zip(fit["summary"].as_array().unwrap()) {
            let percent = |key: &str| format!("{:.1} %", group[key].as_f64().unwrap() * 100.0);
            let row = format!("| {table} | {} | {} |", percent("median"), percent("worst"));
            assert!(docs.contains(&row), "{name}: {row}");
        }
    }
}

#[track_caller]
fn refused(answer: &Answer, exit: i32, parts: &[&str]) {
    assert_eq!(answer.exit, exit, "{}{}", answer.out, answer.err);
    assert_eq!(answer.out, "");
    for part in parts {
        assert!(answer.err.contains(part), "{part}: {}", answer.err);
    }
}

/// A core packs by itself, wherever the ranks of other tables are; nothing of a library's messages is
/// a choice of it, and no number is fitted on it.
#[test]
fn a_table_of_packing_is_only_compared() {
    let scratch = Scratch::new("fit-pack");
    scratch.write("pack.txt", "# block  Bandwidth (MB/s)\n64 2500\n16384 29000\n");
    let compared = |between| {
        let words =
            ["fit", "--machine", "ref-node-mpich", "--between", between, "--format", "json"];
        let answer = scratch.run(&[&words[..], &["--predict", "pack.txt"]].concat());
        assert_eq!(answer.exit, 0, "{}", answer.err);
        answer.json()["rows"].clone()
    };
    assert_eq!(compared("nodes"), compared("cores"));
    refused(
        &scratch.run(&["fit", "--measured", "pack.txt"]),
        3,
        &["pack.txt", "no number is fitted", "`--predict`"],
    );
    for (choice, exit) in [("mpi.nonsense=3", 2), ("mpi.rendezvous_intra=rget", 3)] {
        let answer = scratch.run(&["fit", "--predict", "pack.txt", "--set", choice]);
        refused(&answer, exit, &[choice.split('=').next().unwrap()]);
    }
}

#[test]
fn what_is_no_measurement_is_refused_before_anything_runs() {
    let scratch = Scratch::new("fit-bad");
    scratch.write("latency.txt", "# Size  Latency (us)\n8 1.5\n16 1.6\n");
    scratch.write("one/latency.txt", "# OSU MPI Latency Test v7.1\n# Size  Latency (us)\n8 1.5\n");
    scratch.write("empty.txt", "");
    scratch.write("bw.txt", "# Size  Latency (us)\n8 1.5\n");
    scratch.write("other.txt", "# Size  Latency (us)\n8 1.5\n");
    scratch.write("bibw.txt", "# Size  Gbit/s\n8 1.5\n");
    scratch.write("huge/latency.txt", "# Size  Latency (us)\n99999999999999 1.5\n");
    let run = |words: &[&str]| scratch.run(&[&["fit"], words].concat());
    refused(&run(&[]), 2, &["--measured FILE", "docs/method/fit.md"]);
    refused(&run(&["--measured", "empty.txt"]), 3, &["E0911", "no line of numbers"]);
    refused(&run(&["--measured", "bw.txt"]), 3, &["E0911", "no column of bandwidth"]);
    refused(&run(&["--measured", "other.txt"]), 3, &["E0911", "KIND=FILE is needed"]);
    refused(&run(&["--measured", "bibw.txt"]), 3, &["E0911", "no column of bandwidth"]);
    refused(&run(&["--measured", "none.txt"]), 3, &["E0101"]);
    refused(&run(&["--predict", "huge/latency.txt"]), 3, &["workload.size"]);
    let one =
        ["one/latency.txt:2:1: 1 row to fit on", "more rows than it finds numbers: 2 for one"];
    refused(&run(&["--measured", "one/latency.txt"]), 3, &one);
    refused(&run(&["--measured", "latency.txt", "--machine", "knc"]), 3, &["knc-qdr"]);
    refused(&run(&["--measured", "latency.txt", "--hold-out", "1"]), 2, &["--hold-out"]);
}

/// Two packages of two cores, a last level each, an adapter at the second one; written by hand.
const TOPOLOGY: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0">
    <object type="Package" os_index="0">
      <object type="NUMANode" os_index="0" local_memory="64000000000"><page_type size="4096" count="9"/><page_type size="2097152" count="0"/></object>
      <object type="L3Cache" cache_size="33554432" cache_linesize="64">
        <object type="L2Cache" cache_size="1048576" cache_linesize="64"><object type="L1Cache" cache_size="32768" cache_linesize="64"><object type="Core" os_index="0"><object type="PU" os_index="0"/><object type="PU" os_index="4"/></object></object></object>
        <object type="L2Cache" cache_size="1048576" cache_linesize="64"><object type="L1Cache" cache_size="32768" cache_linesize="64"><object type="Core" os_index="1"><object type="PU" os_index="1"/><object type="PU" os_index="5"/></object></object></object>
      </object>
    </object>
    <object type="Package" os_index="1">
      <object type="NUMANode" os_index="1" local_memory="64000000000"><page_type size="4096" count="9"/></object>
      <object type="L3Cache" cache_size="33554432" cache_linesize="64">
        <object type="L2Cache" cache_size="1048576" cache_linesize="64"><object type="L1Cache" cache_size="32768" cache_linesize="64"><object type="Core" os_index="0"><object type="PU" os_index="2"/><object type="PU" os_index="6"/></object></object></object>
        <object type="L2Cache" cache_size="1048576" cache_linesize="64"><object type="L1Cache" cache_size="32768" cache_linesize="64"><object type="Core" os_index="1"><object type="PU" os_index="3"/><object type="PU" os_index="7"/></object></object></object>
      </object>
      <object type="Bridge" bridge_type="0-1">
        <object type="PCIDev" pci_busid="0000:81:00.0" pci_type="0207 [15b3:101b] [15b3:0007] 00" pci_link_speed="31.507692">
          <object type="OSDev" name="mlx5_0" osdev_type="3"/>
        </object>
      </object>
    </object>
  </object>
</topology>
"#;

#[test]
fn a_topology_becomes_a_model_with_all_else_assumed() {
    let scratch = Scratch::new("fit-hwloc");
    scratch.write("node.xml", TOPOLOGY);
    let words = ["fit", "--hwloc", "node.xml", "--machine", "broadwell-edr", "--out", "mine.json"];
    let answer = scratch.run(&words);
    assert_eq!(answer.exit, 0, "{}", answer.err);
    for part in ["cpu.cores_per_socket", "kept from broadwell-edr, and assumed", "link.data_bw"] {
        assert!(answer.out.contains(part), "{part}: {}", answer.out);
    }
    let text = std::fs::read_to_string(scratch.path("mine.json")).unwrap();
    let model: Value = serde_json::from_str(&text).unwrap();
    for (section, name, value) in [
        ("cpu", "sockets", Value::from(2)),
        ("cpu", "cores_per_socket", Value::from(2)),
        ("cpu", "smt", Value::from(2)),
        ("cache", "l2_size", Value::from("1 MiB")),
        ("cache", "l3_size", Value::from("32 MiB")),
        ("mem", "capacity", Value::from("125000000 KiB")),
        ("os", "page_size", Value::from("4 KiB")),
        ("hca", "socket", Value::from(1)),
        ("pcie", "raw_bw", Value::from("31.508 GB/s")),
    ] {
        assert_eq!(model[section][name]["value"], value, "{section}.{name}");
        assert_eq!(model[section][name]["confidence"], "measured", "{section}.{name}");
    }
    assert_eq!(model["link"]["data_bw"]["confidence"], "assumed");
    scratch
        .write("use.json", &benchmark("ping_pong", "cores", "").replace("broadwell-edr", "mine"));
    assert_eq!(scratch.run(&["run", "use.json"]).exit, 0);
}

#[test]
fn what_is_no_topology_is_refused_with_its_place() {
    let scratch = Scratch::new("fit-hwloc-bad");
    let bombs: String = (1..40).fold("<!ENTITY a0 \"x\">".to_owned(), |text, index| {
        let below = index - 1;
        text + &format!("<!ENTITY a{index} \"&a{below};&a{below};\">")
    });
    for (text, parts) in [
        ("<topology>\n  <object>\n</topology>\n", &["E0915", "a.xml:3:"][..]),
        ("{ \"schema\": 1 }", &["E0915", "a.xml:1:"]),
        ("<html></html>", &["E0915", "`html`"]),
        ("<topology version=\"1.1\"></topology>", &["hwloc 1"]),
        (&TOPOLOGY.replace("33554432", "much"), &["`cache_size` is `much`", "a.xml:7:"]),
        (&format!("<!DOCTYPE topology [{bombs}]><topology>&a39;</topology>"), &["E0915"]),
    ] {
        scratch.write("a.xml", text);
        refused(&scratch.run(&["fit", "--hwloc", "a.xml"]), 3, parts);
    }
}
