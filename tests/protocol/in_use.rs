//! Bytes that an operation has: each kind of operation beside each kind of access to the same bytes, while it is open
//! and when it is over, timed and in every order.
//!
//! `cargo test --test protocol in_use -- --nocapture` prints the table of pairs.

#![expect(clippy::print_stdout, reason = "the table is asked for by `--nocapture`")]

use std::fmt::Write as _;

use mpisim::engine::Keep;
use mpisim::experiment::plan::{Plan, Request, load};
use mpisim::experiment::run::job;
use mpisim::explore::{Options, scenario};
use mpisim::shipped;

/// What is done with the 8 bytes at the beginning of buffer `x` of rank 0.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Does {
    Reads,
    Writes,
}
use Does::{Reads, Writes};

/// An operation of rank 0 on the bytes, and what rank 1 does for it. Statements lie behind one another, separated by
/// `;`; `@` stands for a number of the operation in its program, in names and tags.
struct Kind {
    name: &'static str,
    does: Does,
    /// Of both ranks, before everything else.
    setup: [&'static str; 2],
    /// Rank 0 begins it: the last statement but `after` has the bytes from then on.
    begins: &'static str,
    /// Statements of `begins` behind that one.
    after: usize,
    /// It ends; an access that is over when it returns has nothing here.
    ends: &'static str,
    /// What rank 1 does beside the begin and beside the end.
    partner: [&'static str; 2],
    /// Of both ranks, behind everything else.
    teardown: [&'static str; 2],
}

const PLAIN: Kind = Kind {
    name: "",
    does: Reads,
    setup: ["", ""],
    begins: "",
    after: 0,
    ends: "",
    partner: ["", ""],
    teardown: ["", ""],
};

const RECEIVES: [&str; 2] = ["irecv src=0 tag=@ max='8 B' req='r@'", "wait req='r@'"];
const SENDS: [&str; 2] = ["isend to=0 tag=@ size='8 B' req='r@'", "wait req='r@'"];
const WINDOW: &str = "win_allocate new='w@' size='64 B' unit=4";
const LOCKED: [&str; 2] =
    ["win_allocate new='w@' size='64 B' unit=4; win_lock_all win='w@'", WINDOW];
const FENCED: [&str; 2] = [
    "win_allocate new='w@' size='64 B' unit=4; win_fence win='w@'",
    "win_allocate new='w@' size='64 B' unit=4; win_fence win='w@'",
];
const STARTED: [&str; 2] = [
    "win_allocate new='w@' size='64 B' unit=4; win_start win='w@' ranks=[1]",
    "win_allocate new='w@' size='64 B' unit=4; win_post win='w@' ranks=[0]",
];
const UNLOCKED: [&str; 2] = ["win_unlock_all win='w@'; win_free win='w@'", "win_free win='w@'"];
const FREED: [&str; 2] = ["win_free win='w@'", "win_free win='w@'"];

const KINDS: &[Kind] = &[
    Kind { name: "store", does: Writes, begins: "store buf='x' values=[1,2]", ..PLAIN },
    Kind { name: "load", begins: "load buf='x'", ..PLAIN },
    Kind { name: "send", begins: "send to=1 tag=@ size='8 B' buf='x'", partner: RECEIVES, ..PLAIN },
    Kind {
        name: "recv",
        does: Writes,
        begins: "recv src=1 tag=@ max='8 B' buf='x'",
        partner: SENDS,
        ..PLAIN
    },
    Kind {
        name: "sendrecv_replace",
        does: Writes,
        begins: "sendrecv_replace to=1 send_tag=@ size='8 B' buf='x' src=1 recv_tag=@",
        partner: [
            "isendrecv to=0 send_tag=@ size='8 B' src=0 recv_tag=@ max='8 B' req='r@'",
            "wait req='r@'",
        ],
        ..PLAIN
    },
    Kind { name: "reduce_local", begins: "reduce_local count=2 sendbuf='x' recvbuf='y'", ..PLAIN },
    Kind {
        name: "isend",
        begins: "isend to=1 tag=@ size='8 B' buf='x' req='r@'",
        ends: "wait req='r@'",
        partner: RECEIVES,
        ..PLAIN
    },
    Kind {
        name: "issend",
        begins: "issend to=1 tag=@ size='8 B' buf='x' req='r@'",
        ends: "waitall reqs=['r@']",
        partner: RECEIVES,
        ..PLAIN
    },
    Kind {
        name: "ibsend",
        setup: ["buffer_attach size='4 KiB'", ""],
        begins: "ibsend to=1 tag=@ size='8 B' buf='x' req='r@'",
        ends: "waitany reqs=['r@']",
        partner: RECEIVES,
        teardown: ["buffer_detach", ""],
        ..PLAIN
    },
    Kind {
        name: "send_init",
        setup: ["send_init to=1 tag=@ size='8 B' buf='x' req='r@'", ""],
        begins: "start req='r@'",
        ends: "wait req='r@'",
        partner: RECEIVES,
        teardown: ["request_free req='r@'", ""],
        ..PLAIN
    },
    Kind {
        name: "isend, freed",
        begins: "isend to=1 tag=@ size='8 B' buf='x' req='r@'; request_free req='r@'",
        after: 1,
        ends: "recv src=1 tag=@9 max='0 B'",
        partner: [RECEIVES[0], "wait req='r@'; send to=0 tag=@9 size='0 B'"],
        ..PLAIN
    },
    Kind {
        name: "irecv",
        does: Writes,
        begins: "irecv src=1 tag=@ max='8 B' buf='x' req='r@'",
        ends: "wait req='r@'",
        partner: SENDS,
        ..PLAIN
    },
    Kind {
        name: "recv_init",
        does: Writes,
        setup: ["recv_init src=1 tag=@ max='8 B' buf='x' req='r@'", ""],
        begins: "start req='r@'",
        ends: "waitsome reqs=['r@']",
        partner: SENDS,
        teardown: ["request_free req='r@'", ""],
        ..PLAIN
    },
    Kind {
        name: "imrecv",
        does: Writes,
        setup: ["mprobe src=1 tag=@ handle='m@'", SENDS[0]],
        begins: "imrecv handle='m@' max='8 B' buf='x' req='r@'",
        ends: "wait req='r@'",
        partner: ["", SENDS[1]],
        ..PLAIN
    },
    Kind {
        name: "irecv, freed",
        does: Writes,
        begins: "irecv src=1 tag=@ max='8 B' buf='x' req='r@'; request_free req='r@'",
        after: 1,
        ends: "recv src=1 tag=@9 max='0 B'",
        partner: [SENDS[0], "wait req='r@'; send to=0 tag=@9 size='0 B'"],
        ..PLAIN
    },
    Kind {
        name: "isendrecv, sends",
        begins: "isendrecv to=1 send_tag=@ size='8 B' sendbuf='x' src=1 recv_tag=@ max='8 B' req='r@'",
        ends: "wait req='r@'",
        partner: [
            "isendrecv to=0 send_tag=@ size='8 B' src=0 recv_tag=@ max='8 B' req='r@'",
            "wait req='r@'",
        ],
        ..PLAIN
    },
    Kind {
        name: "isendrecv, receives",
        does: Writes,
        begins: "isendrecv to=1 send_tag=@ size='8 B' src=1 recv_tag=@ max='8 B' recvbuf='x' req='r@'",
        ends: "wait req='r@'",
        partner: [
            "isendrecv to=0 send_tag=@ size='8 B' src=0 recv_tag=@ max='8 B' req='r@'",
            "wait req='r@'",
        ],
        ..PLAIN
    },
    Kind {
        name: "psend",
        setup: [
            "psend_init to=1 tag=@ size='8 B' partitions=2 buf='x' req='r@'; start req='r@'",
            "precv_init src=0 tag=@ size='8 B' partitions=1 req='r@'; start req='r@'",
        ],
        begins: "pready_range req='r@' first=0 last=1",
        ends: "wait req='r@'",
        partner: ["", "wait req='r@'"],
        teardown: ["request_free req='r@'", "request_free req='r@'"],
        ..PLAIN
    },
    Kind {
        name: "precv",
        does: Writes,
        setup: [
            "precv_init src=1 tag=@ size='8 B' partitions=2 buf='x' req='r@'",
            "psend_init to=0 tag=@ size='8 B' partitions=2 req='r@'; start req='r@'",
        ],
        begins: "start req='r@'",
        ends: "wait req='r@'",
        partner: ["pready_range req='r@' first=0 last=1", "wait req='r@'"],
        teardown: ["request_free req='r@'", "request_free req='r@'"],
        ..PLAIN
    },
    Kind {
        name: "ibcast, root",
        begins: "ibcast root=0 size='8 B' buf='x' req='r@'",
        ends: "wait req='r@'",
        partner: ["ibcast root=0 size='8 B' req='r@'", "wait req='r@'"],
        ..PLAIN
    },
    Kind {
        name: "ibcast, leaf",
        does: Writes,
        begins: "ibcast root=1 size='8 B' buf='x' req='r@'",
        ends: "wait req='r@'",
        partner: ["ibcast root=1 size='8 B' req='r@'", "wait req='r@'"],
        ..PLAIN
    },
    Kind {
        name: "iallreduce, gives",
        begins: "iallreduce count=2 sendbuf='x' req='r@'",
        ends: "wait req='r@'",
        partner: ["iallreduce count=2 req='r@'", "wait req='r@'"],
        ..PLAIN
    },
    Kind {
        name: "iallreduce, in place",
        does: Writes,
        begins: "iallreduce count=2 recvbuf='x' in_place=true req='r@'",
        ends: "wait req='r@'",
        partner: ["iallreduce count=2 req='r@'", "wait req='r@'"],
        ..PLAIN
    },
    Kind {
        name: "igather, root",
        does: Writes,
        begins: "igather root=0 size='8 B' recvbuf='x' req='r@'",
        ends: "wait req='r@'",
        partner: ["igather root=0 size='8 B' req='r@'", "wait req='r@'"],
        ..PLAIN
    },
    Kind {
        name: "alltoall_init, gives",
        setup: [
            "alltoall_init size='8 B' sendbuf='x' req='r@'",
            "alltoall_init size='8 B' req='r@'",
        ],
        begins: "start req='r@'",
        ends: "wait req='r@'",
        partner: ["start req='r@'", "wait req='r@'"],
        teardown: ["request_free req='r@'", "request_free req='r@'"],
        ..PLAIN
    },
    Kind {
        name: "put, flush",
        setup: LOCKED,
        begins: "put win='w@' target=1 size='8 B' origin='x'",
        ends: "win_flush win='w@' target=1",
        teardown: UNLOCKED,
        ..PLAIN
    },
    Kind {
        name: "put, fence",
        setup: FENCED,
        begins: "put win='w@' target=1 size='8 B' origin='x'",
        ends: "win_fence win='w@'",
        partner: ["", "win_fence win='w@'"],
        teardown: FREED,
        ..PLAIN
    },
    Kind {
        name: "rput",
        setup: LOCKED,
        begins: "rput win='w@' target=1 size='8 B' origin='x' req='r@'",
        ends: "wait req='r@'",
        teardown: UNLOCKED,
        ..PLAIN
    },
    Kind {
        name: "get, complete",
        does: Writes,
        setup: STARTED,
        begins: "get win='w@' target=1 size='8 B' origin='x'",
        ends: "win_complete win='w@'",
        partner: ["", "win_wait win='w@'"],
        teardown: FREED,
        ..PLAIN
    },
    Kind {
        name: "get, unlock",
        does: Writes,
        setup: [
            "win_allocate new='w@' size='64 B' unit=4; win_lock win='w@' target=1 kind='shared'",
            WINDOW,
        ],
        begins: "get win='w@' target=1 size='8 B' origin='x'",
        ends: "win_unlock win='w@' target=1",
        teardown: FREED,
        ..PLAIN
    },
    Kind {
        name: "rget",
        does: Writes,
        setup: LOCKED,
        begins: "rget win='w@' target=1 size='8 B' origin='x' req='r@'",
        ends: "waitall reqs=['r@']",
        teardown: UNLOCKED,
        ..PLAIN
    },
    Kind {
        name: "accumulate",
        setup: FENCED,
        begins: "accumulate win='w@' target=1 count=2 origin='x'",
        ends: "win_fence win='w@'",
        partner: ["", "win_fence win='w@'"],
        teardown: FREED,
        ..PLAIN
    },
    Kind {
        name: "get_accumulate, result",
        does: Writes,
        setup: LOCKED,
        begins: "get_accumulate win='w@' target=1 count=2 result='x'",
        ends: "win_flush_local win='w@' target=1",
        teardown: UNLOCKED,
        ..PLAIN
    },
    Kind {
        name: "fetch_and_op, origin",
        setup: LOCKED,
        begins: "fetch_and_op win='w@' target=1 type='int64' origin='x'",
        ends: "win_flush_all win='w@'",
        teardown: UNLOCKED,
        ..PLAIN
    },
    Kind {
        name: "compare_and_swap, origin",
        setup: LOCKED,
        begins: "compare_and_swap win='w@' target=1 origin='x'",
        ends: "win_flush_local_all win='w@'",
        teardown: UNLOCKED,
        ..PLAIN
    },
];

/// A scenario, and the lines of rank 0 that have the bytes first and then.
struct Program {
    text: String,
    lines: [usize; 2],
}

/// A statement in short as one of a scenario: `isend to=1 tag=@ req='r@'`.
fn statement(short: &str, number: usize) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut quoted = false;
    for part in short.replace('@', &number.to_string()).split(' ') {
        if quoted {
            let last = words.last_mut().unwrap();
            let _ = write!(last, " {part}");
        } else {
            words.push(part.to_owned());
        }
        quoted ^= part.matches('\'').count() % 2 == 1;
    }
    let keys = words[1..].iter().map(|word| {
        let (key, value) = word.split_once('=').unwrap();
        format!(", \"{key}\": {}", value.replace('\'', "\""))
    });
    format!("{{ \"op\": \"{}\"{} }}", words[0], keys.collect::<String>())
}

/// Rank 0 does the second while the first is open, or when it is over.
fn program(first: &Kind, second: &Kind, is_open: bool) -> Program {
    let split = |text: &'static str| text.split("; ").filter(|one| !one.is_empty());
    let (mut ranks, mut lines) = ([Vec::new(), Vec::new()], [0; 2]);
    let both = [(1, first), (2, second)];
    for (rank, list) in ranks.iter_mut().enumerate() {
        let attaches = first.setup == second.setup && first.setup[0].starts_with("buffer_attach");
        let many = if attaches { 1 } else { 2 };
        for (number, kind) in &both[..many] {
            list.extend(split(kind.setup[rank]).map(|one| statement(one, *number)));
        }
        let begin = |list: &mut Vec<String>, lines: &mut [usize; 2], number: usize, kind: &Kind| {
            let begins = if rank == 0 { kind.begins } else { kind.partner[0] };
            list.extend(split(begins).map(|one| statement(one, number)));
            if rank == 0 {
                lines[number - 1] = list.len() - kind.after;
            }
        };
        let end = |list: &mut Vec<String>, number: usize, kind: &Kind| {
            let ends = if rank == 0 { kind.ends } else { kind.partner[1] };
            list.extend(split(ends).map(|one| statement(one, number)));
        };
        begin(list, &mut lines, 1, first);
        if !is_open {
            end(list, 1, first);
        }
        begin(list, &mut lines, 2, second);
        if is_open {
            end(list, 1, first);
        }
        end(list, 2, second);
        for (number, kind) in &both[..many] {
            list.extend(split(kind.teardown[rank]).map(|one| statement(one, *number)));
        }
    }
    let [own, partner] = ranks.map(|list| list.join(",\n"));
    let text = format!(
        r#"{{ "schema": 1, "title": "t", "machine": "broadwell-edr", "nodes": 2, "mpi": {{ "payload": "real" }}, "workload": {{ "kind": "program", "buffers": [ {{ "name": "x", "size": "64 B" }}, {{ "name": "y", "size": "64 B" }} ], "ranks": [ [
{own} ], [
{partner} ] ] }} }}"#
    );
    Program { text, lines: lines.map(|line| line + 1) }
}

fn plan(text: &str) -> Plan {
    let request = Request {
        scenario: "t.json".to_owned(),
        text: Some(text.to_owned()),
        library: shipped::library(),
        ..Request::default()
    };
    let (plan, said) = load(&request);
    plan.unwrap_or_else(|| panic!("{}\n{text}", said.human()))
}

/// What `run` and `explore` find wrong.
fn found(text: &str) -> [Vec<String>; 2] {
    let plan = plan(text);
    let (outcome, _) = job::run(&plan.points[0], Keep::Nothing).unwrap();
    let mut run: Vec<String> = outcome.violations.iter().map(ToString::to_string).collect();
    if run.is_empty() && format!("{:?}", outcome.ending) != "Finished" {
        run.push(format!("{:?}", outcome.ending));
    }
    let options = Options { reduce: true, states: 100_000, ..Options::default() };
    let explored = scenario::subject(&plan).unwrap().explore(&options);
    let mut all: Vec<String> =
        explored.failures.iter().map(|failed| failed.explanation.clone()).collect();
    all.extend(explored.stopped.map(|why| format!("{why:?}")));
    [run, all]
}

fn opens() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(|kind| !kind.ends.is_empty())
}

/// MPI allows two uses of a byte at a time where both read, or both are results of one-sided operations.
#[test]
fn each_operation_beside_each_access_is_allowed_where_both_read() {
    let mut wrong = Vec::new();
    let (mut table, mut refused) = (String::new(), 0);
    for first in opens() {
        let _ = write!(table, "\n{:24}", first.name);
        for second in KINDS {
            let made = program(first, second, true);
            // Which of two results of one-sided operations is there is not defined, and no error.
            let are_results = [first, second]
                .iter()
                .all(|kind| kind.does == Writes && kind.setup[0].starts_with("win_allocate"));
            let clashes = (first.does == Writes || second.does == Writes) && !are_results;
            table.push_str(if clashes { " x" } else { " ." });
            refused += u32::from(clashes);
            let [at, by] = [made.lines[0], made.lines[1]];
            let still = if first.does == Writes { "writes" } else { "reads" };
            let words = format!("the operation that line {at} has begun still {still} these bytes");
            let place = format!("rank 0 in line {by},");
            for (found, who) in found(&made.text).into_iter().zip(["run", "explore"]) {
                let named = found.iter().any(|one| one.contains(&words) && one.contains(&place));
                if named != clashes || !clashes && !found.is_empty() {
                    wrong.push(format!(
                        "{who}: {} beside {}: {found:?}\n{}",
                        second.name, first.name, made.text
                    ));
                }
            }
        }
    }
    println!("operations, and what may happen to their bytes while they are open:");
    for (column, kind) in KINDS.iter().enumerate() {
        println!("{:24} {}{}", "", "  ".repeat(column), kind.name);
    }
    println!("{table}\n{refused} pairs (x) end the run, as one of the two writes");
    assert!(wrong.is_empty(), "{} are wrong, the first is\n{}", wrong.len(), wrong[0]);
}

/// When an operation is over its bytes are the program's again.
#[test]
fn each_operation_leaves_its_bytes_when_it_is_over() {
    for first in opens() {
        for second in KINDS {
            let made = program(first, second, false);
            for found in found(&made.text) {
                assert_eq!(found, [""; 0], "{} behind {}:\n{}", second.name, first.name, made.text);
            }
        }
    }
}
