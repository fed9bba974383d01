//! `mpisim explore` and `mpisim replay` as a user meets them.

use crate::binary::{Answer, Scratch};

/// Rank 1 takes whatever comes first: the exact receive then waits for ever, in some orders.
const RACE: &str = r#"{
  "schema": 1,
  "title": "A wildcard takes what an exact receive needs",
  "source": "a test",
  "machine": "ideal",
  "nodes": 3,
  "workload": { "kind": "program", "ranks": [
    [ { "op": "send", "to": 1, "tag": 1, "size": "8 B" } ],
    [ { "op": "recv", "src": "any", "tag": 1, "max": "8 B" },
      { "op": "recv", "src": 2, "tag": 1, "max": "8 B" } ],
    [ { "op": "send", "to": 1, "tag": 1, "size": "8 B" } ]
  ] }
}
"#;

/// The word after `mpisim replay`.
fn token(out: &str) -> String {
    let (_, rest) = out.split_once("mpisim replay ").unwrap();
    rest.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn without_a_name_the_protocols_are_listed() {
    let out = Scratch::new("explore-list").run(&["explore"]).check(0, &[]).out;
    for name in ["matching/wildcard", "rendezvous/rget", "collectives/bcast/binomial", "eager"] {
        assert!(out.contains(&format!("  {name} ")), "{name}: {out}");
    }
}

#[test]
fn a_sound_protocol_is_verified_with_its_figures() {
    let scratch = Scratch::new("explore-sound");
    let arguments = ["explore", "matching/wildcard", "--ranks", "3", "--ops", "2"];
    let answer = scratch.run(&arguments).check(0, &["states/s"]);
    for part in [
        "states        2,482\n",
        "transitions   6,404\n",
        "final states  6, which differ in what they leave behind\n",
        "wildcard_races 146",
        "verified: every order ends well",
    ] {
        assert!(answer.out.contains(part), "{part}: {}", answer.out);
    }
    let again = scratch.run(&arguments).check(0, &[]);
    assert_eq!(again.out, answer.out, "no time on standard output");
    let json = scratch.run(&[&arguments[..], &["--format", "json"]].concat()).check(0, &[]).json();
    assert_eq!((&json["verdict"], &json["complete"]), (&"verified".into(), &true.into()));
    assert_eq!((&json["states"], &json["finals"]), (&2482.into(), &6.into()));
    assert_eq!(json["branches"]["wildcard_races"]["required"], true);
    assert_eq!(json["failures"].as_array().unwrap().len(), 0);
}

#[test]
fn a_deadlock_in_some_orders_is_found_explained_drawn_and_replayed() {
    let scratch = Scratch::new("explore-race");
    scratch.write("race.json", RACE);
    let answer = scratch.run(&["explore", "race.json", "--dot", "way.dot"]).check(1, &[]);
    for part in [
        "deadlock, after ",
        "process 0 calls MPI_Send(8 B to rank 1, tag 1)  (line 8)",
        "<- no way back from here",
        "nobody is left to answer 1 wait",
        "process 1: MPI_Recv (line 10) waits for process 2",
        "failed: deadlock\n",
    ] {
        assert!(answer.out.contains(part), "`{part}`: {}", answer.out);
    }
    let dot = std::fs::read_to_string(scratch.path("way.dot")).unwrap();
    assert!(dot.starts_with("digraph way {") && dot.contains("MPI_Recv") && dot.ends_with("}\n"));

    let token = token(&answer.out);
    let replayed = scratch.run(&["replay", &token]).check(1, &[]);
    assert!(replayed.out.contains("failed: deadlock, as the token says"), "{}", replayed.out);
    assert_eq!(scratch.run(&["replay", &token]).check(1, &[]).out, replayed.out);
    let json = scratch.run(&["replay", &token, "--format", "json"]).check(1, &[]).json();
    let steps = json["steps"].as_array().unwrap();
    let story = answer.out.lines().filter(|line| line.starts_with("    ")).count();
    assert_eq!((&json["class"], steps.len()), (&"deadlock".into(), story));
    for step in steps {
        assert!(answer.out.contains(step["words"].as_str().unwrap()), "{step}");
    }

    scratch.write("moved.json", RACE);
    scratch.run(&["replay", &token, "moved.json"]).check(1, &[]);
    scratch.write("race.json", &RACE.replace("\"size\": \"8 B\"", "\"size\": \"7 B\""));
    scratch.run(&["replay", &token]).check(3, &["error[E0910]", "is not the job"]);
    let damaged = token.replace(":s1:", ":s2:");
    scratch.run(&["replay", &damaged]).check(2, &["the token is damaged"]);
    scratch.run(&["replay", "hello"]).check(2, &["this is no replay token"]);
}

#[test]
fn drawn_orders_find_it_too_and_shrink_it_to_one_choice_or_two() {
    let scratch = Scratch::new("explore-drawn");
    scratch.write("race.json", RACE);
    for strategy in ["walk", "pct"] {
        let arguments = ["explore", "race.json", "--strategy", strategy, "--format", "json"];
        let json = scratch.run(&arguments).check(1, &[]).json();
        let failure = &json["failures"][0];
        assert_eq!(failure["class"], "deadlock");
        assert!(failure["forced"].as_array().unwrap().len() <= 2, "{failure:#}");
        scratch.run(&["replay", failure["token"].as_str().unwrap()]).check(1, &[]);
    }
    let arguments = ["explore", "eager", "--strategy", "pct", "--budget", "schedules=20"];
    let out = scratch.run(&arguments).check(0, &[]).out;
    assert!(out.contains("bounded, not complete: nothing was found in 20 schedules"), "{out}");
}

#[test]
fn a_crash_names_the_victim_and_who_waits() {
    let scratch = Scratch::new("explore-crash");
    let out = scratch.run(&["explore", "eager", "--ranks", "3", "--crash"]).check(0, &[]).out;
    for part in ["process 1 died\n  waits for it: process 2: MPI_Recv", "or names the process"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

/// Packet faults by the option, and by a scenario's own plan; a token keeps what may go wrong.
#[test]
fn packet_faults_are_choices_and_a_queue_pair_that_gives_up_is_named() {
    let scratch = Scratch::new("explore-packets");
    let ring = ["explore", "eager", "--ops", "2", "--faults", "loss=1"];
    let out = scratch.run(&ring).check(0, &[]).out;
    for part in
        ["; packets: up to 1 lost", "lost ", "timed_out ", "verified: every order ends well"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    // One packet on each wire: there is nothing to overtake.
    let none = ["explore", "eager", "--faults", "reordering=1"];
    scratch.run(&none).check(1, &[]).out.contains("vacuous").then_some(()).unwrap();
    let faults = r#""transport": { "retries": 0 },
  "faults": [ { "kind": "packet_loss", "where": "all links", "probability": 0.5 } ],
  "workload""#;
    scratch.write("lossy.json", &RACE.replace("\"workload\"", faults));
    let json = scratch.run(&["explore", "lossy.json", "--format", "json"]).check(1, &[]).json();
    assert_eq!(json["packets"]["losses"], 1, "one, whatever its chance is");
    assert!(json["diagnosed"].as_u64().unwrap() > 0, "no retries: a loss is the end");
    let words = json["diagnoses"][0].as_str().unwrap();
    assert!(words.contains("transport retry counter exceeded: process "), "{words}");
    let failure = &json["failures"][0];
    assert_eq!(failure["class"], "deadlock", "the race is found as without loss");
    let token = failure["token"].as_str().unwrap();
    assert!(token.contains(":l1:"), "{token}");
    let replayed = scratch.run(&["replay", token]).check(1, &[]).out;
    assert!(replayed.contains("the first packet arrives"), "{replayed}");
}

/// A fault plan is explored, or refused by the fault that is not: none is left out.
#[test]
fn no_fault_of_a_plan_is_left_out() {
    const PAIR: &str = r#"{
  "schema": 1,
  "title": "One message, and a plan",
  "source": "a test",
  "machine": "ideal",
  "nodes": 2,
  "workload": { "kind": "program", "ranks": [
    [ { "op": "send", "to": 1, "tag": 1, "size": "8 B" } ],
    [ { "op": "recv", "src": 0, "tag": 1, "max": "8 B" } ]
  ] },
  "faults": [ FAULTS ]
}
"#;
    let scratch = Scratch::new("explore-plan");
    let write = |faults: &str| scratch.write("plan.json", &PAIR.replace("FAULTS", faults));
    let slow = r#"{ "kind": "straggler", "factor": 2 }"#;
    let dies = r#"{ "kind": "crash", "process": 0 }"#;
    let loses = r#"{ "kind": "packet_loss", "probability": 0.5 }"#;
    let explored: [(&[&str], &str); 4] = [
        (&[slow], "plan.json: every order of events\n"),
        (&[slow, dies], "; one process may die at any moment\n"),
        (&[loses], "; packets: up to 1 lost\n"),
        (
            &[r#"{ "kind": "link_down", "where": "all links", "for": "1 us" }"#],
            "; packets: up to 1 lost\n",
        ),
    ];
    for (faults, says) in explored {
        write(&faults.join(", "));
        let out = scratch.run(&["explore", "plan.json"]).check(0, &[]).out;
        assert!(out.contains(says) && out.contains("verified"), "{says}: {out}");
    }
    let refused: [(&[&str], &str); 6] = [
        (&[slow, r#"{ "kind": "credit_loss", "from": 0, "to": 1, "credits": 1 }"#], "credit_loss"),
        (&[slow, r#"{ "kind": "link_down", "where": "all links" }"#], "link_down"),
        (&[slow, r#"{ "kind": "packet_loss", "probability": 1 }"#], "packet_loss"),
        (&[dies, r#"{ "kind": "crash", "process": 1, "at": "1 us" }"#], "crash"),
        (&[loses, dies], "crash"),
        (&[dies, loses], "packet_loss"),
    ];
    for (faults, kind) in refused {
        write(&faults.join(", "));
        let says = format!("`plan.json`: `faults[1]` is a `{kind}`, which is not explored");
        let asks = ["error[E0703]", &says, "explored are", "take the fault out"];
        scratch.run(&["explore", "plan.json"]).check(2, &asks);
        let instead = "`--crash` is explored instead of the scenario's own fault plan";
        scratch.run(&["explore", "plan.json", "--crash"]).check(0, &[instead]);
    }
}

#[test]
fn a_limit_that_is_hit_is_no_success() {
    let scratch = Scratch::new("explore-limit");
    let run = |more: &[&str]| {
        let base = ["explore", "rendezvous/rput", "--ranks", "3", "--ops", "2"];
        scratch.run(&[&base[..], more].concat())
    };
    let states = run(&["--budget", "states=100"]).check(5, &["error[E1004]", "more states"]);
    assert!(states.out.contains("bounded, not complete"), "{}", states.out);
    let by_reduce = "leave orders out by `--reduce`";
    let memory = ["error[E1004]", "more memory", "raise `--memory`", "payloads count"];
    run(&["--memory", "64 KiB"]).check(5, &[&memory[..], &[by_reduce]].concat());
    let reduced = run(&["--memory", "64 KiB", "--reduce"]).check(5, &memory);
    assert!(!reduced.err.contains("--reduce"), "that is done already: {}", reduced.err);
    assert!(!states.err.contains("payloads") && states.err.contains(by_reduce), "{}", states.err);
    run(&["--strategy", "walk", "--budget", "steps=5", "--budget", "schedules=3"])
        .check(5, &["error[E1004]", "took more steps"]);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let scratch = Scratch::new("explore-refused");
    scratch.write("race.json", RACE);
    let cases: [(&[&str], i32, &str); 12] = [
        (&["matching/wildcrd"], 3, "did you mean `matching/wildcard`?"),
        (&["matching/wildcard", "--ranks", "1"], 2, "takes 2 to 8"),
        (&["eager", "--ops", "0"], 2, "takes 1 to 100"),
        (&["eager", "--budget", "states"], 2, "`--budget states` is no budget"),
        (&["eager", "--budget", "time=3"], 2, "write `states=N`"),
        (&["eager", "--faults", "loss"], 2, "`--faults loss` is no fault"),
        (&["eager", "--faults", "noise=1"], 2, "write `loss=N`"),
        (&["eager", "--faults", "loss=1", "--crash"], 2, "--crash"),
        (&["eager", "--memory", "3"], 2, "`--memory 3`"),
        (&["eager", "--depth", "2"], 2, "an option of `--strategy pct`"),
        (&["eager", "--set", "seed=2"], 2, "change a scenario"),
        (&["race.json", "--ranks", "2"], 2, "a scenario has its own"),
    ];
    for (arguments, exit, says) in cases {
        scratch.run(&[&["explore"], arguments].concat()).check(exit, &[says]);
    }
    scratch.run(&["explore", "examples/ping_pong_knc"]).check(2, &["points, and one is explored"]);
    // Packings have no ranks, neither with a GPU nor without.
    let gpu = ["gpu-pack/fig05_stride", "workload.method=kernel", "workload.datatype.stride=16"];
    let core =
        ["modern/pack_mpich", "machine.mpi.pack_element=1 ns", "workload.datatype.block=4 B"];
    for [name, first, second] in [gpu, core] {
        let says = ["E0703", "a packing has no ranks", "mpi.payload=real"];
        scratch.run(&["explore", name, "--set", first, "--set", second]).check(2, &says);
    }
}

/// Waits until a process hears SIGINT, and sends it a signal.
#[cfg(target_os = "linux")]
fn interrupt(child: &std::process::Child, name: &str) {
    let hears = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
    };
    while !hears() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_millis(50));
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
#[cfg(target_os = "linux")]
fn an_exploration_that_is_asked_to_stop_tells_what_it_knows() {
    use std::process::Stdio;
    let scratch = Scratch::new("explore-stop");
    for (name, exit, said, more) in [
        ("-INT", 130, "stopped by SIGINT; not every order was tried", &[][..]),
        ("-TERM", 143, "stopped by SIGTERM", &["--format", "json"]),
        (
            "-HUP",
            129,
            "stopped by SIGHUP",
            &["--strategy", "walk", "--budget", "schedules=4000000000"],
        ),
    ] {
        let arguments = ["explore", "mutex/mcs", "--ranks", "4", "--ops", "4"];
        let mut command = scratch.command(&[&arguments[..], more].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        interrupt(&child, name);
        let answer = Answer::from(child.wait_with_output().unwrap()).check(exit, &[said]);
        if name == "-TERM" {
            let json = answer.json();
            assert_eq!((&json["verdict"], &json["complete"]), (&"cut_off".into(), &false.into()));
            assert!(json["states"].as_u64().unwrap() > 0, "{json}");
        } else {
            let known = answer.out.contains("states  ") || answer.out.contains("schedules ");
            assert!(known && answer.out.contains("nothing was found, but it was asked to stop"));
        }
    }
}
