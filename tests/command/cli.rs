//! The commands of the real binary: what they print, what they leave behind, how they end.

use crate::binary;
use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use crate::binary::{DEADLOCK, SMALL, Scratch};

#[test]
fn run_prints_a_table_and_leaves_whole_results() {
    let scratch = Scratch::new("run");
    scratch.write("scenarios/a/small.json", SMALL);
    let answer = scratch.run(&["run", "scenarios/a/small.json"]).check(0, &[]);
    for part in ["latency (us)", "64 KiB", "digest ", "t-rises", "t-falls"] {
        assert!(answer.out.contains(part), "{part}: {}", answer.out);
    }
    assert!(answer.out.starts_with("Small\na/small on ideal\n\n"), "{}", answer.out);
    assert_eq!(answer.err, "note: results in results/a/small (report.html)\n");
    let page = fs::read_to_string(scratch.path("results/a/small/report.html")).unwrap();
    for part in ["<dt>machine</dt><dd>ideal</dd>", "<dt>nodes</dt><dd>2</dd>"] {
        assert!(page.contains(part), "{part}");
    }
    let elsewhere = ["run", "scenarios/a/small.json", "--out", "there"];
    scratch.run(&elsewhere).check(0, &["note: results in there (report.html)\n"]);
    // Who reads the output by a program has asked for no words beside it.
    for format in ["csv", "json", "osu"] {
        let answer = scratch.run(&[&elsewhere[..], &["--format", format]].concat()).check(0, &[]);
        assert!(answer.err.is_empty(), "{format}: {}", answer.err);
    }
    let files: Vec<String> =
        scratch.files("results/a/small").into_iter().map(|(name, _)| name).collect();
    assert_eq!(files, ["figure-1.svg", "manifest.json", "points.csv", "report.html"]);
}

#[test]
fn results_of_other_inputs_are_not_replaced_in_silence() {
    let scratch = Scratch::new("run-others");
    scratch.write("scenarios/a/small.json", SMALL);
    let run = |more: &[&str]| {
        scratch.run(&[&["run", "scenarios/a/small.json"], more].concat()).check(0, &[]).err
    };
    let told =
        |changes: &str| format!("`results/a/small` holds results of other inputs ({changes})");
    run(&[]);
    let other = run(&["--set", "workload.rounds=6"]);
    assert!(other.contains(&told("workload.rounds 5 -> 6")), "{other}");
    assert!(other.contains("`--out DIR` keeps both"), "{other}");
    assert!(!run(&["--set", "workload.rounds=6"]).contains("other inputs"), "the same again");
    let machine = run(&["--set", "machine.link.base_latency=2 us"]);
    let changes = "machine.link.base_latency 1 us -> 2 us, workload.rounds 6 -> 5";
    assert!(machine.contains(&told(changes)), "{machine}");
    scratch.write("scenarios/a/small.json", &SMALL.replace("Small", "Another title"));
    let back = run(&["--set", "machine.link.base_latency=2 us"]);
    assert!(!back.contains("other inputs"), "a title is no input: {back}");
}

#[test]
fn communicators_that_are_never_freed_are_noted_and_no_error() {
    let scratch = Scratch::new("run-unfreed");
    let note = |color: &str, free: &str| {
        let statements = format!(
            r#"[ {{ "op": "comm_dup", "new": "a" }},
            {{ "op": "comm_split", "color": {color}, "new": "b" }} {free} ]"#
        );
        let program = format!(
            r#"{{ "schema": 1, "title": "C", "machine": "ideal", "nodes": 3, "workload":
              {{ "kind": "program", "ranks": [ {statements}, {statements}, {statements} ] }} }}"#
        );
        scratch.write("comms.json", &program);
        scratch.run(&["run", "comms.json"]).check(0, &[]).err
    };
    let kept = note("1", "");
    for part in [
        "MPI_Comm_dup of rank 0 in line 2",
        "MPI_Comm_split of rank 0 in line 3",
        "MPI_Comm_split of rank 1 in line 4 and 2 more",
    ] {
        assert!(kept.contains(part), "{part}: {kept}");
    }
    let free = |name: &str| format!(r#", {{ "op": "comm_free", "comm": "{name}" }}"#);
    let one = note("1", &free("a"));
    assert!(one.contains("MPI_Comm_split of rank 2") && !one.contains("MPI_Comm_dup"), "{one}");
    for (color, free) in [("1", free("a") + &free("b")), (r#""undefined""#, free("a"))] {
        let nothing = note(color, &free);
        assert!(!nothing.contains("never freed"), "{nothing}");
    }
}

/// `MPI_Comm_free` is collective: who frees alone is told wherever the program is read.
#[test]
fn a_communicator_that_some_of_its_ranks_free_is_told_with_its_place() {
    let scratch = Scratch::new("freed-by-some");
    let free = r#", { "op": "comm_free", "comm": "b" }"#;
    let write = |color: &str, frees: [&str; 3]| {
        let ranks = [0, 1, 2].map(|rank| {
            let color = if rank == 2 { color } else { "1" };
            let free = frees[rank];
            format!(r#"[ {{ "op": "comm_split", "color": {color}, "new": "b" }}{free} ]"#)
        });
        let ranks = ranks.join(",\n");
        let program = format!(
            r#"{{ "schema": 1, "title": "C", "machine": "ideal", "nodes": 3,
              "workload": {{ "kind": "program", "ranks": [
{ranks} ] }} }}"#
        );
        scratch.write("comms.json", &program);
    };
    for (color, frees, others) in [
        ("1", ["", free, ""], "rank 1 frees the communicator, and ranks 0, 2 of it never"),
        ("2", ["", free, ""], "rank 1 frees the communicator, and rank 0 of it never"),
    ] {
        write(color, frees);
        for command in ["validate", "run", "explore"] {
            let says = ["warning[E0521] comms.json:4:", "workload.ranks[1][1].comm", others];
            scratch.run(&[command, "comms.json"]).check(0, &says);
        }
    }
    // A rank without the communicator, or with another part of the split, is no rank of it.
    for (color, frees) in [
        ("1", [free, free, free]),
        ("1", ["", "", ""]),
        ("2", [free, free, ""]),
        (r#""undefined""#, [free, free, ""]),
    ] {
        write(color, frees);
        let err = scratch.run(&["validate", "comms.json"]).check(0, &[]).err;
        assert!(!err.contains("E0521"), "{err}");
    }
}

#[test]
fn a_program_in_which_arrivals_decide_says_how_to_see_the_other_orders() {
    let any = r#"{ "op": "recv", "src": "any", "tag": 1, "max": "8 B" }"#;
    let send = r#"[ { "op": "send", "to": 1, "tag": 1, "size": "8 B" } ]"#;
    let program = format!(
        r#"{{ "schema": 1, "title": "R", "machine": "ideal", "nodes": 3, "workload":
              {{ "kind": "program", "ranks": [ {send}, [ {any}, {any} ], {send} ] }},
              "sweep": {{ "machine.link.base_latency": ["1 us", "2 us"] }} }}"#
    );
    let scratch = Scratch::new("run-any");
    scratch.write("any.json", &program);
    let answer = scratch.run(&["run", "any.json"]).check(0, &["rank 1 receives from any source"]);
    let (_, command) = answer.err.split_once("`mpisim ").unwrap();
    let (command, _) = command.split_once("` tries every order").unwrap();
    assert_eq!(command, "explore any.json --set 'machine.link.base_latency=1 us'");
    let told = ["explore", "any.json", "--set", "machine.link.base_latency=1 us"];
    let found = scratch.run(&told).check(0, &[]).out;
    assert!(found.contains("which differ in what they leave behind"), "{found}");
    let two = program.replace(&format!(", {send} ] }}"), " ] }").replace(&format!("{any}, "), "");
    scratch.write("two.json", &two);
    let answer = scratch.run(&["run", "two.json"]).check(0, &[]);
    assert!(!answer.err.contains("any source"), "there is one sender only: {}", answer.err);
}

#[test]
fn any_number_of_jobs_gives_the_same_bytes() {
    let scratch = Scratch::new("jobs");
    scratch.write("small.json", SMALL);
    let run = |jobs: &str, out: &str| {
        scratch.run(&["run", "small.json", "--jobs", jobs, "--out", out]).check(0, &[]).out
    };
    assert_eq!(run("1", "one"), run("2", "two"));
    assert_eq!(scratch.files("one"), scratch.files("two"));
    assert_eq!(scratch.files("one").len(), 4);
}

#[test]
fn json_has_the_fields_of_the_contract() {
    let scratch = Scratch::new("json");
    scratch.write("small.json", SMALL);
    let json = scratch.run(&["run", "small.json", "--format", "json"]).check(0, &[]).json();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["scenario"], "small");
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["digest"].as_str().unwrap().len(), 32);
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 3);
    assert_eq!(points[1]["params"]["workload.size"], "1 KiB");
    assert_eq!(points[1]["digest"].as_str().unwrap().len(), 32);
    assert!(points[1]["metrics"]["latency"]["value"].as_f64().unwrap() > 0.0);
    assert_eq!(points[1]["metrics"]["latency"]["unit"], "us");
    let claims = json["claims"].as_array().unwrap();
    let status: Vec<&str> = claims.iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(status, ["pass", "deviates"]);
    for key in ["id", "measured", "expected", "source"] {
        assert!(claims[0][key].is_string(), "{key}");
    }
}

#[test]
fn csv_is_the_file_of_the_results() {
    let scratch = Scratch::new("csv");
    scratch.write("small.json", SMALL);
    let answer = scratch.run(&["run", "small.json", "--format", "csv", "--out", "r"]).check(0, &[]);
    assert_eq!(answer.out.as_bytes(), fs::read(scratch.path("r/points.csv")).unwrap());
    assert!(answer.out.starts_with("point,workload.size,metric,value,unit\n"), "{}", answer.out);
}

#[test]
fn osu_columns_follow_the_workload() {
    let scratch = Scratch::new("osu");
    scratch.write("small.json", SMALL);
    let osu = |set: &[&str]| {
        let mut arguments = vec!["run", "small.json", "--format", "osu"];
        arguments.extend(set);
        scratch.run(&arguments)
    };
    let latency = osu(&[]).check(0, &[]).out;
    assert!(latency.contains("OSU MPI Latency Test") && latency.contains("\n65536 "), "{latency}");
    for (kind, title) in [
        ("bandwidth", "OSU MPI Bandwidth Test"),
        ("bidirectional_bandwidth", "OSU MPI Bi-Directional Bandwidth Test"),
    ] {
        let text = SMALL.replace("\"ping_pong\"", &format!("\"{kind}\", \"window\": 4"));
        let text = text.replace("\"latency\"", "\"bandwidth\"");
        scratch.write("small.json", &text);
        let out = osu(&["--out", kind]).check(0, &[]).out;
        assert!(out.contains(title), "{out}");
    }
    scratch.write("program.json", DEADLOCK);
    scratch
        .run(&["run", "program.json", "--format", "osu"])
        .check(2, &["error[E0703]", "bidirectional_bandwidth and message_rate"]);
    assert!(!scratch.path("results/program").exists());
}

#[test]
fn a_seed_and_a_set_value_change_the_run() {
    let scratch = Scratch::new("set");
    scratch.write("small.json", SMALL);
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", "small.json", "--format", "json"];
        arguments.extend(more);
        scratch.run(&arguments)
    };
    let one = run(&["--set", "workload.size=8 B"]);
    assert_eq!(one.json()["points"].as_array().unwrap().len(), 1);
    assert!(one.err.contains("warning[E0609]"), "{}", one.err);
    run(&["--set", "workload.sise=8 B"]).check(2, &["E0701", "did you mean `workload.size`"]);
    run(&["--set", "seed=1", "--seed", "2"]).check(2, &["`--set seed=1` and `--seed 2`"]);
    run(&["--seed", "-3"]).check(2, &["a whole number from 0 to 18446744073709551615"]);
    let seeded = run(&["--seed", "7"]).check(0, &[]).json();
    let manifest = fs::read_to_string(scratch.path("results/small/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!((manifest["seed"].as_u64(), &manifest["digest"]), (Some(7), &seeded["digest"]));
}

#[test]
fn a_deadlock_is_explained_and_ends_with_one() {
    let scratch = Scratch::new("deadlock");
    scratch.write("dead.json", DEADLOCK);
    let answer = scratch.run(&["run", "dead.json"]).check(1, &["error[E1003]"]);
    assert!(answer.out.contains("rank 0") && answer.out.contains("rank 1"), "{}", answer.out);
    let json = scratch.run(&["run", "dead.json", "--format", "json"]).check(1, &["rank 1"]).json();
    assert!(json["points"][0]["failure"].as_str().unwrap().contains("rank 0"));
    let osu = scratch.run(&["run", "dead.json", "--format", "csv"]).check(1, &["rank 1"]);
    assert!(osu.out.starts_with("point,"), "{}", osu.out);
}

#[test]
fn a_limit_ends_a_run_with_five_and_the_points_that_it_did_not_end_are_there() {
    let scratch = Scratch::new("limit");
    scratch.write("small.json", SMALL);
    let all = ["run", "small.json", "--set", "limits.events=10", "--format", "csv"];
    let answer = scratch.run(&all).check(5, &["error[E1001]", "3 of 3 points", "raise `limits`"]);
    assert_eq!(answer.out.lines().count(), 1, "{}", answer.out);
    let some = ["run", "small.json", "--set", "limits.events=200", "--format", "csv"];
    let answer = scratch.run(&some).check(5, &["a limit ended 1 of 3 points", "64 KiB"]);
    assert!(
        answer.out.contains("0,8 B,latency") && !answer.out.contains("64 KiB"),
        "{}",
        answer.out
    );
    let page = fs::read_to_string(scratch.path("results/small/report.html")).unwrap();
    assert!(page.contains("the limit of 200 events was reached"), "the page tells of it");
}

#[test]
fn values_of_set_may_have_the_quotes_of_json() {
    let scratch = Scratch::new("quotes");
    scratch.write("small.json", SMALL);
    let run = |value: &str| {
        scratch.run(&["run", "small.json", "--set", value, "--format", "csv"]).check(0, &[]).out
    };
    assert_eq!(run("workload.size=\"8 B\""), run("workload.size=8 B"));
    let odd = scratch.run(&["run", "small.json", "--set", "workload.size=\"8 B"]);
    odd.check(3, &["error[E0313]"]);
}

#[test]
fn an_invalid_scenario_runs_nothing_and_writes_nothing() {
    let scratch = Scratch::new("invalid");
    scratch.write("bad.json", &SMALL.replace("\"64 KiB\"", "\"64\""));
    for command in ["run", "validate", "show", "check"] {
        scratch.run(&[command, "bad.json"]).check(3, &["error[E0312] bad.json:7:48"]);
    }
    let json = scratch.run(&["run", "bad.json", "--error-format", "json"]).check(3, &[]);
    let first: serde_json::Value = serde_json::from_str(json.err.lines().next().unwrap()).unwrap();
    assert_eq!((&first["code"], &first["line"]), (&"E0312".into(), &7.into()));
    assert_eq!(scratch.files("").len(), 1);
}

#[test]
fn validate_and_show_tell_what_a_scenario_means() {
    let scratch = Scratch::new("show");
    scratch.write("small.json", SMALL);
    let valid = scratch.run(&["validate", "small.json"]).check(0, &[]);
    assert_eq!(valid.out, "small.json: valid, 3 points, 2 claims\n");
    let shown = scratch.run(&["show", "small.json"]).check(0, &[]).out;
    for part in ["ping_pong", "workload.size: 8 B, 1 KiB, 64 KiB", "latency (us)", "t-falls"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let resolved = scratch.run(&["show", "small.json", "--resolved"]).check(0, &[]).json();
    assert_eq!(resolved["nodes"], 2);
    assert_eq!(resolved["mpi"]["rendezvous"], "rput");
    assert_eq!(resolved["workload"]["warmup"], 0);
    assert_eq!(resolved["sweep"]["workload.size"][1], "1 KiB");
    let numbers = resolved["machine"]["numbers"].as_array().unwrap();
    let sure: Vec<&str> = numbers.iter().map(|one| one["confidence"].as_str().unwrap()).collect();
    let assumed = sure.iter().filter(|word| **word == "assumed").count();
    assert!(assumed > 0 && sure[..assumed].iter().all(|word| *word == "assumed"), "{sure:?}");
    assert!(numbers.iter().all(|one| one["source"].as_str().is_some_and(|text| !text.is_empty())));
    let dot = scratch.run(&["show", "small.json", "--topology", "dot"]).check(0, &[]).out;
    assert!(dot.starts_with("graph topology {") && dot.contains("--"), "{dot}");
    scratch
        .run(&["show", "small.json", "--topology", "dot", "--resolved"])
        .check(2, &["--topology", "--resolved"]);
}

#[test]
fn what_a_scenario_assumes_is_shown_with_its_range() {
    let scratch = Scratch::new("assumed");
    let resolved = |path: &str, set: &[&str]| {
        let sets = set.iter().flat_map(|one| ["--set", one]);
        let words: Vec<&str> = ["show", path, "--resolved"].into_iter().chain(sets).collect();
        scratch.run(&words).check(0, &[]).json()
    };
    let mutex = resolved("rma/ext_mutex_handover", &[]);
    let assumed = mutex["assumed"].as_array().unwrap();
    let paths: Vec<&str> = assumed.iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["workload.first_pause", "workload.doublings"]);
    assert_eq!((&assumed[0]["value"], &assumed[0]["high"]), (&"2 us".into(), &"10 us".into()));
    // The defaults that are shown are those that hold.
    assert_eq!(mutex["workload"]["first_pause"], assumed[0]["value"]);
    assert_eq!(mutex["workload"]["doublings"].to_string(), assumed[1]["value"]);
    let issue = resolved("rma/ext_issue", &["mpi.rma.adaptive_operations=5"]);
    assert_eq!(issue["assumed"][0]["value"], "5");
    assert_eq!(issue["mpi"]["rma"]["merge_limit"], "the eager threshold to the target");
    // Where nothing plays a part, nothing is assumed.
    assert!(resolved("rma/fig05_mutex", &[]).get("assumed").is_none());
}

/// A number of a program that was fitted is shown with what it was fitted to, until it is set.
#[test]
fn a_fitted_number_of_a_program_is_shown_with_its_source() {
    let scratch = Scratch::new("fitted");
    let shown = |set: &[&str]| {
        let words = ["show", "coop/fig19_comd", "--resolved"].iter().chain(set);
        scratch.run(&words.copied().collect::<Vec<_>>()).check(0, &[]).json()
    };
    let fitted = shown(&[]);
    let assumed = &fitted["assumed"][0];
    assert_eq!(assumed["path"], "workload.compute");
    assert_eq!((&assumed["value"], &assumed["low"]), (&"60.7 ms".into(), &"57.5 ms".into()));
    assert_eq!(assumed["source"], "fit: coop Fig. 19(a)");
    assert_eq!(fitted["sources"]["workload.compute"]["source"], assumed["source"]);
    let set = shown(&["--set", "workload.compute=1 ms"]);
    assert!(set.get("assumed").is_none() && set["sources"].get("workload.compute").is_none());
}

#[test]
fn axes_say_what_they_show_and_times_far_apart_are_spread() {
    let scratch = Scratch::new("axes");
    let drawn = |path: &str, set: &[&str]| {
        let sets = set.iter().flat_map(|one| ["--set", one]);
        let words = ["run", path, "--out", "axes"].into_iter().chain(sets);
        scratch.run(&words.collect::<Vec<_>>()).check(0, &[]);
        fs::read_to_string(scratch.path("axes").join("figure-1.svg")).unwrap()
    };
    let busy = drawn("rma/ext_busy_target", &["workload.rounds=2"]);
    let titles = ["Stretches of the target outside MPI (us)", "Mean time of an epoch (us)"];
    // Zero stands beside a logarithmic axis.
    for text in titles.into_iter().chain(["\n0\n", "\n1\n", "\n10\n", "\n100\n", "\n1000\n"]) {
        assert!(busy.contains(text), "{text:?} in {busy}");
    }
    fs::remove_dir_all(scratch.path("axes")).unwrap();
    let handler = drawn("rma/fig11_pointer_latency", &["workload.rounds=2"]);
    assert!(handler.contains("Handling a one-sided packet at its target (us)"), "{handler}");
}

#[test]
fn a_figure_marks_only_the_claims_about_the_lines_that_it_has() {
    const TEXT: &str = r#"{ "schema": 1, "title": "Lines", "machine": "broadwell-edr", "nodes": 1,
        "mpi": { "rendezvous_intra": "rget", "eager_threshold_intra": "256 B" },
        "workload": { "kind": "ping_pong", "between": "cores", "size": "4 KiB", "rounds": 2 },
        "sweep": { "mpi.rendezvous_intra": ["rget", "coop_p2p"],
            "workload.size": { "powers_of_two": ["1 KiB", "64 KiB"] } },
        "figures": [
            { "x": "workload.size", "y": "latency", "series": "mpi.rendezvous_intra" },
            { "x": "workload.size", "y": "latency", "at": { "mpi.rendezvous_intra": "rget" } } ],
        "claims": [ { "id": "t-crosses", "crossover": "latency", "along": "workload.size",
            "of": { "mpi.rendezvous_intra": "coop_p2p" }, "to": { "mpi.rendezvous_intra": "rget" },
            "expect": { "value": "8 KiB", "tolerance": "x2" }, "role": "prediction",
            "source": "this test" } ] }"#;
    let scratch = Scratch::new("marks");
    scratch.write("lines.json", TEXT);
    scratch.run(&["run", "lines.json", "--out", "lines"]).check(0, &[]);
    let marks = |name: &str| {
        fs::read_to_string(scratch.path("lines").join(name)).unwrap().contains("t-crosses")
    };
    assert!(marks("figure-1.svg"), "both lines of the claim are here");
    assert!(!marks("figure-2.svg"), "only one of them is here");
}

#[test]
fn a_stack_is_drawn_beside_curves_and_shown_as_it_is_meant() {
    let scratch = Scratch::new("stack");
    scratch.write("stack.json", include_str!("../bad_inputs/valid/stack.json"));
    let shown = scratch.run(&["show", "stack.json"]).check(0, &[]).out;
    let line = "lock_wait + walk_time + library_time + wait_time stacked for each \
                workload.senders_per_node";
    assert!(shown.contains(line), "{shown}");
    let resolved = scratch.run(&["show", "stack.json", "--resolved"]).check(0, &[]).json();
    let figures = &resolved["figures"];
    assert_eq!(figures[1]["stack"][3], "wait_time");
    assert_eq!(
        (&figures[0]["log_x"], &figures[1]["log_x"]),
        (&false.into(), &serde_json::Value::Null)
    );
    let draw = |out: &str| {
        scratch.run(&["run", "stack.json", "--out", out]).check(0, &[]);
        let text = |name: &str| fs::read_to_string(scratch.path(out).join(name)).unwrap();
        (text("figure-2.svg"), text("report.html"))
    };
    let (svg, page) = draw("one");
    for word in ["Parts of a message", "queue walk", "library code", "All threads together."] {
        assert!(svg.contains(word) && page.contains(word), "{word}");
    }
    assert!(svg.contains("Time of all threads per message (us)"), "{svg}");
    assert_eq!(draw("two").0, svg, "the same bytes from another run");
}

#[test]
fn list_schema_explain_man_and_completions_print() {
    let scratch = Scratch::new("prints");
    let print = |arguments: &[&str]| scratch.run(arguments).check(0, &[]).out;
    let list = print(&["list"]);
    assert!(list.contains("knc-qdr") && list.contains("endpoints/fig03_message_rate"), "{list}");
    let claims = print(&["list", "--claims"]);
    assert!(claims.contains("ep-fig3-13x") && claims.contains(" input "), "{claims}");
    for document in ["scenario", "model", "results", "check"] {
        let schema: serde_json::Value =
            serde_json::from_str(&print(&["schema", document])).unwrap();
        assert!(schema["properties"].is_object(), "{document}");
    }
    assert!(print(&["explain", "e0312"]).starts_with("E0312: "));
    scratch.run(&["explain", "E0321"]).check(2, &["there is no code `E0321`", "did you mean"]);
    assert!(print(&["man"]).contains(".TH mpisim 1"));
    assert!(print(&["man", "run"]).contains("jobs"));
    assert!(print(&["completions", "bash"]).contains("mpisim"));
    assert!(print(&["--version"]).contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn conform_counts_what_passed() {
    let scratch = Scratch::new("conform");
    let all = fs::read_to_string("tests/vectors/matching.json").unwrap();
    let vectors = scratch.write("vectors.json", &all);
    let answer = scratch.run(&["conform", vectors.to_str().unwrap()]).check(0, &[]);
    assert!(answer.out.ends_with("300 passed, 0 failed\n"), "{}", answer.out);
    let datatypes = |end: &str| fs::canonicalize(format!("tests/vectors/datatypes_{end}.json"));
    let both = |one: &str, other: &str, exit: i32| {
        let [one, other] = [one, other].map(|end| datatypes(end).unwrap());
        let files = [one.to_str().unwrap(), other.to_str().unwrap()];
        scratch.run(&["conform", files[0], files[1]]).check(exit, &[])
    };
    assert_eq!(both("named", "random", 0).out, "660 passed, 0 failed\n");
    // Cases without one right answer: whom the simulator follows, and no verdict.
    let checked = both("named", "named_variance", 0).out;
    assert!(checked.contains(" passed, 0 failed, "), "{checked}");
    // Alone they check nothing, and that is no success.
    let disputed = both("named_variance", "random_variance", 1);
    assert!(disputed.err.contains("nothing was checked"), "{}", disputed.err);
    let disputed = disputed.out;
    let followed = |whom: &str| disputed.lines().filter(|line| line.ends_with(whom)).count();
    assert_eq!((disputed.lines().count(), followed("follows MPICH 4.0.2")), (67, 6));
    let counts = "0 passed, 0 failed, 66 not judged (libraries differ)\n";
    assert!(disputed.ends_with(counts), "{disputed}");
    scratch.run(&["conform", "missing.json"]).check(3, &["there is no such file"]);
    let table = scratch.run(&["trace", "import", "missing.txt"]);
    let said = table.check(3, &["there is no such file", "name a file that exists"]).err;
    assert!(!said.contains("scenario"), "a table is no scenario: {said}");
}

#[test]
fn every_kind_of_document_is_validated_as_what_it_is() {
    let scratch = Scratch::new("validate-kinds");
    let validated = |file: &str| scratch.run(&["validate", file]);
    let ships = |file: &str| fs::canonicalize(file).unwrap().display().to_string();
    let model = validated(&ships("models/knc-qdr.json")).check(0, &[]).out;
    assert!(model.contains("knc-qdr.json: valid, a machine model of"), "{model}");
    let vectors = validated(&ships("tests/vectors/matching.json")).check(0, &[]).out;
    assert!(vectors.contains("valid, vectors of MPICH 4.0.2, 300 cases"), "{vectors}");
    scratch.write("a.goal", "num_ranks 1\nrank 0 {\na: calc 5\n}\n");
    let goal = validated("a.goal").check(0, &[]).out;
    assert_eq!(goal, "a.goal: valid, a schedule of 1 rank, 1 operation\n");
    scratch.write("m.json", "{ \"extends\": \"knc-qdr\",\n  \"cpu\": { \"clokc\": 1 } }");
    let wrong = validated("m.json").check(3, &["m.json:2:12", "did you mean `clock`"]).err;
    assert_eq!(wrong.matches("error[").count(), 1, "{wrong}");
    let changed = ["validate", "m.json", "--set", "seed=1"];
    scratch.run(&changed).check(2, &["`--set` changes scenarios"]);
}

#[test]
fn what_is_wrong_with_vectors_has_its_place() {
    let scratch = Scratch::new("conform-places");
    let head = "{ \"family\": \"rma_misuse_two\", \"schema\": 1, \"mpi\": \"M\"";
    let case = "{ \"id\": 5, \"name\": \"n\",\n  \"calls\": [[], [\"put\", \"puts\"]], \"returns\": [[], []] }";
    for (text, places) in [
        ("{ \"library\": 1 }".to_owned(), "v.json:1:16: missing field `family`"),
        (format!("{head},\n \"cases\": [] }}"), "v.json:2:14: missing field `seed`"),
        (format!("{head},\n \"seed\": 0, \"cases\": [] }}"), "v.json:2:22: the file holds no case"),
        (format!("{head}, \"seed\": 0, \"cases\": [\n{case}] }}"), "v.json:3:25: case 5, rank 1"),
        (head.replace("_two", "_six") + "}", "v.json:1:13: family `rma_misuse_six` is not known"),
        ("<?xml version=\"1.0\"?>\n<a/>".to_owned(), "looks like XML"),
    ] {
        scratch.write("v.json", &text);
        scratch.run(&["conform", "v.json"]).check(3, &[places]);
    }
}

#[test]
fn a_wrong_command_line_names_what_is_wrong() {
    let scratch = Scratch::new("usage");
    let short = scratch.run(&[]).check(2, &["Usage: mpisim", "validate", "Example:"]);
    assert!(short.out.is_empty());
    scratch.run(&["rnu"]).check(2, &["error[E0703]", "did you mean `run`?"]);
    scratch.run(&["run", "x", "--formta", "csv"]).check(2, &["--formta", "--format"]);
    scratch
        .run(&["run", "x", "--jobs", "1", "--jobs=2"])
        .check(2, &["`--jobs` is given 2 times", "`1`", "`2`"]);
    scratch.run(&["run", "x", "--jobs", "0"]).check(2, &["from 1 to 1024"]);
    scratch
        .run(&["check", "--baseline", "a", "--save-baseline", "b"])
        .check(2, &["--baseline", "--save-baseline"]);
    scratch.run(&["check", "--baseline", "../a"]).check(2, &["letters, digits"]);
    scratch.run(&["run", "x", "--models", "nowhere"]).check(3, &["is no directory"]);
    for later in [&["fit"][..], &["sweep", "plan"]] {
        scratch.run(later).check(2, &["error[E0703]"]);
    }
    let json = scratch.run(&["run", "x", "--seed", "x", "--error-format", "json"]).check(2, &[]);
    let said: serde_json::Value = serde_json::from_str(json.err.trim()).unwrap();
    assert_eq!((&said["code"], &said["severity"]), (&"E0703".into(), &"error".into()));
}

// row: J6
#[test]
fn a_file_name_may_begin_with_a_hyphen() {
    let scratch = Scratch::new("hyphen");
    scratch.write("-small.json", SMALL);
    scratch.run(&["validate", "--", "-small.json"]).check(0, &[]);
}

// row: J10
#[test]
fn nothing_is_painted_or_drawn_where_nobody_watches() {
    let scratch = Scratch::new("plain");
    scratch.write("small.json", SMALL);
    let answer = scratch.run(&["run", "small.json"]).check(0, &[]);
    let wrong = scratch.run(&["validate", "missing.json"]).check(3, &[]);
    for text in [&answer.out, &answer.err, &wrong.err] {
        assert!(!text.contains('\x1b') && !text.contains('\r'), "{text:?}");
    }
    let painted = scratch.run(&["validate", "missing.json", "--color", "always"]);
    assert!(painted.err.starts_with("\x1b[1;31merror\x1b[0m[E0101]"), "{:?}", painted.err);
}

// row: J9
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let scratch = Scratch::new("pipe");
    let mut child = scratch
        .command(&["schema", "scenario"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The text is longer than a pipe holds: the program is still writing when its reader goes.
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let scratch = Scratch::new("full");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = scratch.command(&["list"]).stdout(full).output().unwrap();
    binary::Answer::from(output).check(4, &["cannot write to standard output"]);
}

// row: K2
#[test]
fn results_replace_only_their_own_files() {
    let scratch = Scratch::new("owner");
    scratch.write("small.json", SMALL);
    scratch.write("other.json", SMALL);
    scratch.write("mine/letter.txt", "dear");
    scratch
        .run(&["run", "small.json", "--out", "mine"])
        .check(4, &["error[E0802]", "letter.txt", "--out"]);
    assert_eq!(scratch.files("mine"), [("letter.txt".to_owned(), b"dear".to_vec())]);
    scratch.run(&["run", "small.json", "--out", "r"]).check(0, &[]);
    let before = scratch.files("r");
    scratch.run(&["run", "other.json", "--out", "r"]).check(4, &["results of scenario `small`"]);
    assert_eq!(scratch.files("r"), before);
    scratch.run(&["run", "small.json", "--out", "r"]).check(0, &[]);
    assert_eq!(scratch.files("r"), before);
    scratch.write("file", "");
    scratch.run(&["run", "small.json", "--out", "file"]).check(4, &["error[E08", "file"]);
}

// row: K1
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_written_is_found_before_the_run() {
    let scratch = Scratch::new("denied");
    scratch.write("small.json", SMALL);
    // Nobody may create a directory there, not even a superuser.
    scratch.run(&["run", "small.json", "--out", "/proc/mpisim"]).check(4, &["error[E0801]"]);
}

/// Two rendezvous protocols, called otherwise in the legend.
const LEGEND: &str = r#"{
  "schema": 1,
  "title": "Who moves it",
  "note": ["One line", "and another"],
  "machine": "ideal",
  "workload": { "kind": "ping_pong", "size": "64 KiB", "rounds": 2 },
  "sweep": { "mpi.rendezvous": ["rput", "rget"], "workload.size": ["64 KiB", "128 KiB"] },
  "figures": [ { "x": "workload.size", "y": "latency", "series": "mpi.rendezvous",
                 "legend": [ { "value": "rput", "name": "sender writes" } ] } ]
}
"#;

#[test]
fn a_legend_may_name_values_of_the_series() {
    let scratch = Scratch::new("legend");
    scratch.write("a.json", LEGEND);
    scratch.run(&["run", "a.json"]).check(0, &[]);
    let svg = fs::read_to_string(scratch.path("results/a/figure-1.svg")).unwrap();
    assert!(
        svg.contains("sender writes") && svg.contains("rget") && !svg.contains("rput"),
        "{svg}"
    );
    let narrowed = ["run", "a.json", "--set", "mpi.rendezvous=rget", "--out", "narrowed"];
    let answer = scratch.run(&narrowed).check(0, &[]);
    assert_eq!(answer.err.lines().count(), 1, "a value that is gone needs no name: {}", answer.err);
    let shown = scratch.run(&["show", "a.json"]).check(0, &[]).out;
    assert!(shown.contains("note      One line\n            and another\n"), "{shown}");
    scratch.write("b.json", &LEGEND.replace("\"value\": \"rput\"", "\"value\": \"rpt\""));
    scratch.run(&["validate", "b.json"]).check(3, &["figures[0].legend[0].value", "rpt"]);
    scratch.write("c.json", &LEGEND.replace("\"series\": \"mpi.rendezvous\",", ""));
    scratch.run(&["validate", "c.json"]).check(3, &["error[E0606]", "the figure has no `series`"]);
}

/// A bound on what RPUT takes, and a figure of one protocol.
const BOUND: &str = r#"{
  "schema": 1,
  "title": "A bound",
  "machine": "ideal",
  "workload": { "kind": "ping_pong", "size": "64 KiB", "rounds": 2 },
  "sweep": { "mpi.rendezvous": ["rput", "rget"], "workload.size": ["64 KiB", "128 KiB"] },
  "figures": [ { "x": "workload.size", "y": "latency", "at": { "mpi.rendezvous": "DRAWN" } } ],
  "claims": [ { "id": "t-bound", "bound": "latency",
                "at": { "mpi.rendezvous": "rput", "workload.size": "64 KiB" },
                "expect": { "is": "below", "value": "1 ms" },
                "role": "prediction", "source": "a test" } ]
}
"#;

#[test]
fn a_bound_is_drawn_only_where_the_figure_has_its_points() {
    let scratch = Scratch::new("bound");
    let figure = |drawn: &str| {
        scratch.write("a.json", &BOUND.replace("DRAWN", drawn));
        scratch.run(&["run", "a.json"]).check(0, &[]);
        fs::read_to_string(scratch.path("results/a/figure-1.svg")).unwrap()
    };
    assert!(figure("rput").contains("t-bound"));
    assert!(!figure("rget").contains("t-bound"));
}

#[test]
fn explain_without_a_code_lists_them() {
    let scratch = Scratch::new("codes");
    let out = scratch.run(&["explain"]).check(0, &[]).out;
    assert!(
        out.lines().count() > 100 && out.contains("E0312  exit code 3   the value has no unit")
    );
}

/// Results are called as the file of their model is: a copy that kept its name says so.
#[test]
fn a_model_that_has_another_name_than_its_file_is_told() {
    let scratch = Scratch::new("renamed-model");
    let model = r#"{ "name": "NAME", "extends": "broadwell-edr" }"#;
    scratch.write("small.json", &SMALL.replace("\"ideal\"", "\"my-bdw\""));
    scratch.write("my-bdw.json", &model.replace("NAME", "broadwell-edr"));
    let says = ["warning[E0520]", "my-bdw.json:1:11 name: ", "write `\"name\": \"my-bdw\"`"];
    scratch.run(&["validate", "small.json"]).check(0, &says);
    scratch.run(&["validate", "my-bdw.json"]).check(0, &says[..1]);
    scratch.write("my-bdw.json", &model.replace("NAME", "my-bdw"));
    let silent = scratch.run(&["validate", "small.json"]).check(0, &[]);
    assert_eq!(silent.err, "");
}
