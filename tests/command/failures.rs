//! Disks that are full, files that cannot be opened, runs that are killed: nothing that was whole
//! is lost, and going on gives the bytes of a run that nothing happened to.

#![cfg(unix)]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::binary::{Answer, SMALL, Scratch, program};

/// A sweep whose points are kept one after the other.
fn sweep() -> String {
    let sizes: Vec<String> = (1..=24).map(|size| format!("\"{} B\"", 8 * size)).collect();
    let text = SMALL.replace("\"rounds\": 5", "\"rounds\": 200");
    text.replace("[\"8 B\", \"1 KiB\", \"64 KiB\"]", &format!("[{}]", sizes.join(", ")))
}

/// A run under limits of the shell.
fn limited(scratch: &Scratch, limits: &str, arguments: &str) -> Answer {
    let program = program();
    let program = program.display();
    let line = format!("trap '' XFSZ; {limits} && exec '{program}' {arguments}");
    Answer::from(Command::new("sh").args(["-c", &line]).current_dir(&scratch.0).output().unwrap())
}

// row: K3
// A file may grow to some blocks of 512 bytes, and then writing fails as on a full disk.
#[test]
fn a_full_disk_loses_no_point_that_was_kept() {
    let scratch = Scratch::new("fsize");
    scratch.write("sweep.json", &sweep());
    scratch.run(&["run", "sweep.json", "--out", "whole"]).check(0, &[]);
    let (mut stopped, mut kept) = (0, 0);
    for blocks in [1, 16, 64, 80, 96, 112] {
        let out = format!("cut{blocks}");
        let answer = limited(
            &scratch,
            &format!("ulimit -f {blocks}"),
            &format!("run sweep.json --out {out}"),
        );
        stopped += 1;
        let said = answer.check(4, &["error[E0801]"]).err;
        assert!(said.contains("File too large"), "{said}");
        let again = scratch.run(&["run", "sweep.json", "--out", &out, "--resume"]).check(0, &[]);
        kept += u32::from(again.err.contains("of the interrupted run"));
        assert_eq!(scratch.files(&out), scratch.files("whole"), "{blocks} blocks");
    }
    assert!(0 < kept && kept < stopped, "points were kept by {kept} of {stopped} runs");
}

// row: K5
#[test]
fn too_few_open_files_are_told_with_the_file() {
    let scratch = Scratch::new("nofile");
    scratch.write("sweep.json", &sweep());
    scratch.run(&["run", "sweep.json", "--out", "whole"]).check(0, &[]);
    let answer = limited(&scratch, "ulimit -n 5", "run sweep.json --out few --jobs 1");
    answer.check(4, &["error[E0801]", "Too many open files"]);
    scratch.run(&["run", "sweep.json", "--out", "few", "--resume"]).check(0, &[]);
    assert_eq!(scratch.files("few"), scratch.files("whole"));
}

/// How often a run is killed: 50 times, or as often as `MPISIM_KILLS` says.
#[expect(clippy::disallowed_methods, reason = "a long run is asked for by a variable")]
fn kills() -> u32 {
    std::env::var("MPISIM_KILLS").map_or(50, |text| text.parse().expect("a number of kills"))
}

/// Kills a run some microseconds after its journal has so many records, or lets it end before.
fn kill_after(child: &mut Child, journal: &std::path::Path, records: usize, then: u64) {
    let lines = || fs::read(journal).map_or(0, |bytes| bytes.split(|byte| *byte == b'\n').count());
    while lines() < records && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_micros(then));
    child.kill().unwrap();
}

// row: L4
// The moments are drawn over a whole run: some lie before its first point, some after its last.
// What is compared does not depend on them.
#[test]
fn a_run_killed_at_any_moment_goes_on_to_the_same_bytes() {
    let scratch = Scratch::new("kills");
    scratch.write("sweep.json", &sweep());
    scratch.run(&["run", "sweep.json", "--out", "whole", "--jobs", "2"]).check(0, &[]);
    let whole = scratch.files("whole");
    let journal = scratch.path("cut/points.journal");
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut killed, mut kept) = (0, 0);
    for _ in 0..kills() {
        let mut command = scratch.command(&["run", "sweep.json", "--out", "cut", "--jobs", "2"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (records, then) = (random.random_range(0..=25), random.random_range(0..2_000));
        kill_after(&mut child, &journal, records, then);
        killed += u32::from(child.wait().unwrap().code().is_none());
        let answer = scratch
            .run(&["run", "sweep.json", "--out", "cut", "--jobs", "2", "--resume"])
            .check(0, &[]);
        kept += u32::from(answer.err.contains("of the interrupted run"));
        assert_eq!(scratch.files("cut"), whole);
        fs::remove_dir_all(scratch.path("cut")).unwrap();
    }
    assert!(kept > 0, "{killed} runs killed, none with a point that was kept");
}
