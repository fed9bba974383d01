//! The processes that `mpisim exec` starts: how long they live, who they are, what they print and are given. Tests of C
//! programs need a C compiler.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::binary::{Answer, Scratch};

const PROCESSES: &str = include_str!("../programs/c/processes.c");
const EXEC: [&str; 5] = ["exec", "--machine", "broadwell-edr", "--out", "out"];

/// `mpisim exec` with these words, and a cache of the test's own.
fn command(scratch: &Scratch, words: &[&str]) -> Command {
    let mut command = scratch.command(&[&EXEC[..], words].concat());
    command.env("XDG_CACHE_HOME", scratch.path("cache"));
    command
}

fn exec(scratch: &Scratch, words: &[&str]) -> Answer {
    Answer::from(command(scratch, words).output().unwrap())
}

/// A program of this text, compiled: these tests need a C compiler.
fn compiled(scratch: &Scratch, text: &str) {
    scratch.write("program.c", text);
    let words = ["cc", "--", "-O1", "-g", "-Wall", "program.c", "-o", "program", "-lpthread"];
    let mut command = scratch.command(&words);
    command.env("XDG_CACHE_HOME", scratch.path("cache"));
    let answer = Answer::from(command.output().unwrap());
    assert_eq!(answer.exit, 0, "{}", answer.err);
}

/// The processes of a test that run: their environment names its folder.
fn running(scratch: &Scratch) -> Vec<(u32, String)> {
    let own = scratch.path("cache").into_os_string().into_encoded_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(process) = entry.file_name().to_string_lossy().parse() else { continue };
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        if read("environ").windows(own.len()).any(|part| part == own) {
            let words = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            found.push((process, words));
        }
    }
    found
}

fn sleepers(scratch: &Scratch) -> usize {
    running(scratch).iter().filter(|(_, words)| words.starts_with("sleep ")).count()
}

/// A job of two ranks, each with a child of its own and a daemon: all six of them run.
fn with_children(scratch: &Scratch) -> Child {
    let starts = "(setsid sh -c 'sleep 1001; :' &) ; sleep 1002 & sleep 1003; wait";
    let mut command = command(scratch, &["-n", "2", "--", "sh", "-c", starts]);
    let simulator = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while sleepers(scratch) < 6 {
        thread::sleep(Duration::from_millis(20));
    }
    simulator
}

fn send(signal: &str, process: u32) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// None is there, or none is in a moment: a process that was killed takes its time.
#[track_caller]
fn none_is_left(scratch: &Scratch) {
    for _ in 0..1000 {
        if running(scratch).is_empty() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{:?}", running(scratch));
}

#[test]
fn no_process_outlives_the_simulator_however_that_ends() {
    for (signal, exit) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let scratch = Scratch::new("exec-signal");
        let mut simulator = with_children(&scratch);
        send(signal, simulator.id());
        assert_eq!(simulator.wait().unwrap().code(), Some(exit), "{signal}");
        // It waits for them.
        assert_eq!(running(&scratch), [], "{signal}");
    }
    let scratch = Scratch::new("exec-kill");
    let mut simulator = with_children(&scratch);
    simulator.kill().unwrap();
    simulator.wait().unwrap();
    none_is_left(&scratch);
}

#[test]
fn ranks_end_with_the_simulator_where_their_supervisor_was_killed() {
    let scratch = Scratch::new("exec-supervisor");
    let mut command = command(&scratch, &["-n", "2", "--", "sleep", "1001"]);
    let mut simulator = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while sleepers(&scratch) < 2 {
        thread::sleep(Duration::from_millis(20));
    }
    let all = running(&scratch);
    let supervisor = all.iter().find(|(_, words)| words.starts_with("mpisim-supervisor "));
    send("-KILL", supervisor.expect("it runs").0);
    send("-TERM", simulator.id());
    assert_eq!(simulator.wait().unwrap().code(), Some(143));
    none_is_left(&scratch);
}

#[test]
fn the_end_of_the_supervisor_is_the_verdict() {
    let scratch = Scratch::new("exec-supervised");
    for signal in ["-TERM", "-HUP"] {
        let mut command = command(&scratch, &["-n", "2", "--", "sleep", "1001"]);
        let simulator = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while sleepers(&scratch) < 2 {
            thread::sleep(Duration::from_millis(20));
        }
        let all = running(&scratch);
        let supervisor = all.iter().find(|(_, words)| words.starts_with("mpisim-supervisor "));
        send(signal, supervisor.expect("it runs").0);
        let ran = Answer::from(simulator.wait_with_output().unwrap());
        assert_eq!(ran.exit, 1, "{}{}", ran.out, ran.err);
        let said = format!("the supervisor of the ranks was ended by SIG{}\n", &signal[1..]);
        assert!(ran.out.contains(&said), "{}{}", ran.out, ran.err);
        none_is_left(&scratch);
    }
}

#[test]
fn a_daemon_does_not_outlive_a_run_that_ends_well() {
    let scratch = Scratch::new("exec-daemon");
    compiled(&scratch, PROCESSES);
    let starts = "(setsid sleep 1001 &) ; exec ./program nothing";
    let ran = exec(&scratch, &["-n", "2", "--", "sh", "-c", starts]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(running(&scratch), []);
}

/// A process that says it is another one would have the simulator write to the memory of that one.
#[test]
fn a_rank_is_believed_to_be_itself_only() {
    let scratch = Scratch::new("exec-other");
    scratch.write("other.c", include_str!("../programs/c/other_process.c"));
    let mut cc = Command::new("cc");
    cc.current_dir(&scratch.0).args(["-Wall", "other.c", "-o", "other"]);
    if cc.status().is_err() {
        return;
    }
    // The first process of the system, the supervisor, the simulator.
    for who in [&[][..], &["1"], &["1", "2"]] {
        let ran = exec(&scratch, &[&["--", "./other"], who].concat());
        assert_eq!(ran.exit, 1, "{who:?}: {}{}", ran.out, ran.err);
        let other =
            ran.out.lines().find_map(|line| line.strip_prefix("[0] other ")).expect(&ran.out);
        let said = format!("rank 0 says that it is process {other}, which is neither");
        assert!(ran.out.contains(&said), "{who:?}: {}", ran.out);
    }
    let ran = exec(&scratch, &["--", "./other", "1", "2", "3"]);
    assert_eq!(ran.exit, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("rank 0 sent an invalid request to the simulator"), "{}", ran.out);
}

#[test]
fn no_line_is_lost_where_a_program_opens_its_output_anew() {
    let scratch = Scratch::new("exec-reopened");
    compiled(&scratch, PROCESSES);
    let prints = "echo one; echo two > /dev/stdout; ./program nothing; echo three >> /dev/stdout; \
                  : > /dev/stdout; echo four";
    let words = ["--output", "plain", "--", "sh", "-c", prints];
    let ran = exec(&scratch, &words);
    assert!(ran.out.starts_with("one\ntwo\nthree\nfour\n"), "{}{}", ran.out, ran.err);
    let ran = exec(&scratch, &[&["--output", "said"], &words[2..]].concat());
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let said = fs::read_to_string(scratch.path("said/rank-0.txt")).unwrap();
    assert_eq!(said, "one\ntwo\nthree\nfour\n");
}

/// 16 bytes times so many in a line, and so many lines.
#[test]
fn long_lines_and_much_output_arrive_whole() {
    let scratch = Scratch::new("exec-output");
    compiled(&scratch, PROCESSES);
    for (lines, pieces) in [("400000", "3"), ("2", "600000"), ("1", "1048576")] {
        let ran = exec(&scratch, &["-n", "2", "--", "./program", "prints", lines, pieces]);
        assert_eq!(ran.exit, 0, "{}", ran.err);
        let line = "0123456789abcdef".repeat(pieces.parse().unwrap());
        for rank in ["[0] ", "[1] "] {
            let of_rank = ran.out.lines().filter_map(|line| line.strip_prefix(rank));
            assert_eq!(of_rank.clone().count(), lines.parse::<usize>().unwrap(), "{rank}");
            assert!(of_rank.into_iter().all(|one| one == line), "{rank}: {lines} of {pieces}");
        }
    }
    // A line that never ends is printed all the same, in pieces of 16 MiB.
    let endless = "yes 0123456789abcde | tr '\\n' f | head -c 40000000; ./program nothing";
    let ran = exec(&scratch, &["--output", "plain", "--", "sh", "-c", endless]);
    let lengths: Vec<usize> = ran.out.lines().take(3).map(str::len).collect();
    assert_eq!(lengths, [1 << 24, 1 << 24, 40_000_000 - (1 << 25)]);
}

/// How a rank ends, and what is said of it.
const ENDS: [(&str, &str); 4] = [
    ("killed early", "rank 0: its process has ended by SIGKILL before its first call of MPI"),
    (
        "killed in a call",
        "rank 1: its process has ended by SIGKILL; its last call was MPI_Recv (program.c:",
    ),
    ("closes", "rank 0: its process has closed the descriptors of its MPI library"),
    (
        "threads",
        "rank 0: two of its threads are inside MPI at once, and MPI_THREAD_SERIALIZED is the most that MPI_Init_thread provides",
    ),
];

#[test]
fn the_end_of_a_process_is_told_by_its_cause() {
    let scratch = Scratch::new("exec-ends");
    compiled(&scratch, PROCESSES);
    for (how, said) in ENDS {
        let ran = exec(&scratch, &["-n", "2", "--nodes", "2", "--", "./program", how]);
        assert_eq!(ran.exit, 1, "{how}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(said), "{how}: {}{}", ran.out, ran.err);
        assert!(!ran.out.contains("another MPI library"), "{how}: {}", ran.out);
    }
}

#[test]
fn ranks_sleep_side_by_side_and_in_simulated_time() {
    let scratch = Scratch::new("exec-sleeps");
    compiled(&scratch, PROCESSES);
    // A thousand seconds of the simulated clock, and none here.
    let words = ["-n", "4", "--clock", "simulated", "--output", "plain", "--"];
    // A script may start the rank.
    for command in
        [&["./program", "sleeps", "1000"][..], &["sh", "-c", "./program sleeps 1000; true"]]
    {
        let ran = exec(&scratch, &[&words[..], command].concat());
        assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
        assert_eq!(ran.out.matches("slept 1000.000 1001.250\n").count(), 4, "{}", ran.out);
    }
    // By the clock of this computer 4 x 7 s would be longer than a minute's quarter.
    let words = ["-n", "4", "--output", "plain", "--", "./program", "sleeps", "6"];
    let mut timed = Command::new("timeout");
    timed.arg("20").arg(env!("CARGO_BIN_EXE_mpisim")).args(EXEC).args(words);
    timed.current_dir(&scratch.0).env("XDG_CACHE_HOME", scratch.path("cache"));
    let ran = Answer::from(timed.output().unwrap());
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(ran.out.matches("slept 6.000 7.250\n").count(), 4, "{}", ran.out);
}

#[test]
fn open_files_are_as_many_as_the_system_lets_the_simulator_have() {
    let scratch = Scratch::new("exec-files");
    compiled(&scratch, PROCESSES);
    let limited = |limit: &str, command: &str| {
        let binary = env!("CARGO_BIN_EXE_mpisim");
        let line =
            format!("ulimit {limit}; {binary} {} --nodes 2 -n 40 -- {command}", EXEC.join(" "));
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(&scratch.0);
        Answer::from(shell.env("XDG_CACHE_HOME", scratch.path("cache")).output().unwrap())
    };
    let raised = limited("-S -n 64", "./program nothing");
    assert_eq!(raised.exit, 0, "{}{}", raised.out, raised.err);
    // The ranks have the limit of the user.
    let own = limited("-S -n 64", "sh -c 'ulimit -n; ./program nothing'");
    assert_eq!(own.out.matches("] 64\n").count(), 40, "{}{}", own.out, own.err);
    for limit in ["-n 64", "-n 14"] {
        let lacks = limited(limit, "./program nothing");
        assert_eq!(lacks.exit, 1, "{limit}: {}{}", lacks.out, lacks.err);
        assert!(lacks.out.contains("(`ulimit -n`)"), "{limit}: {}{}", lacks.out, lacks.err);
    }
}

#[test]
fn a_program_gets_its_arguments_as_they_are() {
    let scratch = Scratch::new("exec-arguments");
    let long = "x".repeat(100_000);
    let words = ["", " ", "a\tb", "\u{1b}[31mred\u{7}", "line\nend", "\u{202e}turned", &long];
    let script = "for word; do printf '%s|' \"$word\"; done; echo";
    let ran = exec(
        &scratch,
        &[&["--output", "plain", "--", "sh", "-c", script, "sh"], &words[..]].concat(),
    );
    let expected = format!("{}|\n", words.join("|"));
    assert!(ran.out.starts_with(&expected), "{}{}", ran.out, ran.err);
    // What mpisim itself says of them moves no cursor.
    let said = &ran.out[expected.len()..];
    assert!(said.contains("\\u001b[31mred"), "{said}");
    let page = fs::read_to_string(scratch.path("out/report.html")).unwrap();
    for text in [said, &ran.err, &page] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
    }
    let many = vec!["word"; 5_000];
    let ran = exec(&scratch, &[&["--", "sh", "-c", "echo $#", "sh"], &many[..]].concat());
    assert!(ran.out.starts_with("[0] 5000\n"), "{}{}", ran.out, ran.err);
    let mut command = command(&scratch, &["--", "echo"]);
    let ran = Answer::from(command.arg(OsString::from_vec(vec![b'a', 0xff])).output().unwrap());
    assert_eq!(ran.exit, 2, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("argument 1 of the program, `a\u{fffd}`, is no UTF-8"), "{}", ran.err);
    for (number, option) in [("0", "-n"), ("0", "--nodes"), ("65537", "-n")] {
        let ran = exec(&scratch, &[option, number, "--", "echo"]);
        assert_eq!(ran.exit, 2, "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("invalid value"), "{}", ran.err);
    }
}

#[test]
fn variables_of_a_scenario_are_those_of_the_process() {
    let scratch = Scratch::new("exec-environment");
    let scenario = |variables: &str| {
        format!(
            r#"{{ "schema": 1, "title": "Variables", "machine": "broadwell-edr", "nodes": 1,
            "workload": {{ "kind": "exec", "command": ["env"], "processes": 1, "processes_per_node": 1,
            "environment": [{variables}] }} }}"#
        )
    };
    let run = |variables: &str| {
        scratch.write("variables.json", &scenario(variables));
        let mut command = scratch.command(&["run", "variables.json", "--out", "out"]);
        command.env("XDG_CACHE_HOME", scratch.path("cache")).env("LD_LIBRARY_PATH", "/elsewhere");
        Answer::from(command.output().unwrap())
    };
    let ran = run(r#""LD_LIBRARY_PATH=mine", "PYTHONHASHSEED=7", "EMPTY=""#);
    for (name, ends) in
        [("LD_LIBRARY_PATH=", "/lib:mine"), ("PYTHONHASHSEED=", "=7"), ("EMPTY=", "=")]
    {
        let line = ran
            .out
            .lines()
            .find_map(|line| line.strip_prefix("[0] ").filter(|line| line.starts_with(name)));
        assert!(line.expect(&ran.out).ends_with(ends), "{}", ran.out);
    }
    let ran = run("");
    assert!(ran.out.contains("PYTHONHASHSEED=0\n"), "{}", ran.out);
    assert!(ran.out.contains("/lib:/elsewhere\n"), "{}", ran.out);
    let ran = run(r#""MPISIM_CHANNEL=1""#);
    assert_eq!(ran.exit, 3, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("`MPISIM_CHANNEL` is set by the simulator"), "{}", ran.err);
}

/// The folder with the MPI library.
fn library(scratch: &Scratch, change: impl Fn(&mut Command)) -> Answer {
    let mut command = scratch.command(&["cc", "--folder"]);
    command.env_remove("XDG_CACHE_HOME").env_remove("HOME").env("TMPDIR", &scratch.0);
    change(&mut command);
    Answer::from(command.output().unwrap())
}

#[test]
fn the_mpi_library_is_that_of_mpisim_and_lies_where_no_other_user_can_put_it() {
    let scratch = Scratch::new("exec-library");
    let own = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let found = library(&scratch, |_| ());
    assert_eq!(found.exit, 0, "{}", found.err);
    let folder = Path::new(found.out.trim_end());
    let cache = folder.parent().unwrap();
    let user = scratch.0.metadata().unwrap().uid();
    assert_eq!(cache, scratch.path(&format!("mpisim-{user}")));
    assert_eq!((own(cache), own(folder)), (0o700, 0o700));
    // What is damaged is mended, and a program that has it open keeps it.
    let file = folder.join("lib/libmpi_abi.so.1");
    let whole = fs::read(&file).unwrap();
    let open = fs::File::options().write(true).open(&file).unwrap();
    open.set_len(1000).unwrap();
    library(&scratch, |_| ());
    assert_eq!(fs::read(&file).unwrap(), whole);
    assert_eq!(open.metadata().unwrap().len(), 1000);
    fs::remove_file(folder.join("include/mpi.h")).unwrap();
    fs::set_permissions(cache, fs::Permissions::from_mode(0o777)).unwrap();
    library(&scratch, |_| ());
    assert!(folder.join("include/mpi.h").exists());
    assert_eq!(own(cache), 0o755);
    // Nothing else stays there.
    let names = scratch.files(&format!("mpisim-{user}"));
    assert!(names.iter().all(|(name, _)| !name.contains("draft")), "{names:?}");
    if chown(cache, Some(65_534), None).is_ok() && user != 65_534 {
        let refused = library(&scratch, |_| ());
        assert_eq!(refused.exit, 4, "{}{}", refused.out, refused.err);
        assert!(refused.err.contains("belongs to another user"), "{}", refused.err);
    }
    // A disk without room: nothing stays of what was begun.
    let full = Scratch::new("exec-full");
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 8; exec \"$0\" cc --folder", env!("CARGO_BIN_EXE_mpisim")]);
    let refused = shell.env("XDG_CACHE_HOME", full.path("cache")).output().unwrap();
    assert_eq!(Answer::from(refused).exit, 4);
    assert_eq!(full.files("cache"), []);
}
