//! Programs that ask for ever: a run of them ends by itself and says who waits for whom, and no run ends
//! so in which somebody is still busy.

use mpisim::engine::Keep;
use mpisim::experiment::plan::{Request, load};
use mpisim::experiment::run::job;
use mpisim::runtime::timed::Ending;
use mpisim::shipped;

/// How a program of endpoints ends: its ranks, so many on a process, on a machine.
fn ending(machine: &str, per_process: usize, ranks: &str) -> Ending {
    let count = ranks.matches("\n[").count();
    let text = format!(
        r#"{{ "schema": 1, "title": "t", "machine": "{machine}", "nodes": {}, "limits": {{ "events": 10000000 }},
             "ranks": {{ "threads_per_process": {per_process}, "addressing": "xios_ep" }},
             "workload": {{ "kind": "program", "ranks": [{ranks}] }} }}"#,
        count / per_process,
    );
    let request = Request {
        scenario: "t.json".to_owned(),
        text: Some(text),
        library: shipped::library(),
        ..Request::default()
    };
    let (plan, diagnostics) = load(&request);
    let plan = plan.unwrap_or_else(|| panic!("{}", diagnostics.human()));
    job::run(&plan.points[0], Keep::Nothing).unwrap().0.ending
}

#[track_caller]
fn check_deadlock(machine: &str, per_process: usize, ranks: &str, lines: &[&str]) {
    let Ending::Deadlock(found) = ending(machine, per_process, ranks) else {
        panic!("{machine}: {:?}", ending(machine, per_process, ranks))
    };
    let words = found.to_string();
    for line in lines {
        assert!(words.contains(line), "{machine}: {line}: {words}");
    }
}

const MACHINES: [&str; 3] = ["broadwell-edr", "knc-qdr", "ideal"];

/// Two endpoints of a process, one receives what nobody sends.
#[test]
fn an_endpoint_that_nobody_answers_is_named_with_its_line() {
    let ranks = r#"
[ { "op": "recv", "src": 1, "max": "8 B", "tag": 1 } ],
[ { "op": "compute", "time": "1 us" } ]"#;
    for machine in MACHINES {
        let lines = [
            "nobody is left to answer 1 wait",
            "process 0: MPI_Recv (line 4) waits for process 0, thread 1",
            "a message of endpoint 1, tag 1",
        ];
        check_deadlock(machine, 2, ranks, &lines);
    }
}

#[test]
fn endpoints_that_wait_for_each_other_are_a_cycle_of_threads() {
    let ranks = r#"
[ { "op": "recv", "src": 1, "max": "8 B" }, { "op": "send", "to": 1, "size": "8 B" } ],
[ { "op": "recv", "src": 2, "max": "8 B" }, { "op": "send", "to": 2, "size": "8 B" } ],
[ { "op": "recv", "src": 3, "max": "8 B" }, { "op": "send", "to": 3, "size": "8 B" } ],
[ { "op": "recv", "src": 0, "max": "8 B" }, { "op": "send", "to": 0, "size": "8 B" } ]"#;
    for machine in MACHINES {
        for per_process in [1, 2, 4] {
            check_deadlock(
                machine,
                per_process,
                ranks,
                &["deadlock: 4 threads wait in a cycle", "(line 5)", "(line 7)"],
            );
        }
    }
}

#[test]
fn a_wait_for_all_and_a_probe_say_which_message_is_missing() {
    let all = r#"
[ { "op": "irecv", "src": "any", "max": "8 B", "tag": 3, "req": "a" }, { "op": "irecv", "src": 1, "max": "8 B", "tag": 4, "req": "b" },
  { "op": "waitall", "reqs": ["a", "b"] } ],
[ { "op": "send", "to": 0, "size": "8 B", "tag": 4 } ]"#;
    let probe = r#"
[ { "op": "probe", "src": 1, "tag": 3 } ],
[  ]"#;
    for machine in MACHINES {
        let lines = ["MPI_Wait of a receive", "a message of any endpoint, tag 3"];
        check_deadlock(machine, 2, all, &lines);
        check_deadlock(machine, 2, probe, &["MPI_Probe (line 4)", "of endpoint 1, tag 3"]);
    }
}

/// A call that finds nothing takes no time on `ideal`: the work of the other rank never ends.
#[test]
fn a_clock_that_stands_still_ends_the_run() {
    let ranks = r#"
[ { "op": "probe", "src": 1 } ],
[ { "op": "compute", "time": "1 us" }, { "op": "send", "to": 0, "size": "8 B" } ]"#;
    for per_process in [1, 2] {
        let ending = ending("ideal", per_process, ranks);
        let Ending::ClockStands { askers, .. } = ending else { panic!("{ending:?}") };
        let words: Vec<String> = askers.iter().map(ToString::to_string).collect();
        assert!(words.len() == 1 && words[0].contains("MPI_Probe (line 4)"), "{words:?}");
    }
}

/// The others ask more often than a standstill takes, while one computes, and while a long message is on
/// its way.
#[test]
fn whoever_is_answered_late_is_not_called_stuck() {
    let late = r#"
[ { "op": "recv", "src": 1, "max": "8 B" } ],
[ { "op": "compute", "time": "2 ms" }, { "op": "send", "to": 0, "size": "8 B" } ]"#;
    let long = r#"
[ { "op": "recv", "src": 1, "max": "16 MiB" } ],
[ { "op": "send", "to": 0, "size": "16 MiB" } ]"#;
    for per_process in [1, 2] {
        for ranks in [late, long] {
            assert_eq!(ending("broadwell-edr", per_process, ranks), Ending::Finished);
        }
    }
}

/// Tests that give up: the program is in a new state with each.
#[test]
fn a_program_that_asks_so_many_times_comes_to_its_end() {
    let tests = r#"{ "op": "test", "req": "a" }, "#.repeat(20_000);
    let ranks = format!(
        r#"
[ {{ "op": "irecv", "src": 1, "max": "8 B", "req": "a" }}, {tests} {{ "op": "wait", "req": "a" }} ],
[ {{ "op": "recv", "src": 0, "max": "8 B", "tag": 1 }} ]"#
    );
    check_deadlock("broadwell-edr", 1, &ranks, &["deadlock: 2 threads wait in a cycle"]);
}
