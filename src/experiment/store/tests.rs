use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::*;
use crate::results::{Metric, ResourceUse, Spent};
use units::TimeDelta;

/// A directory that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "mpisim-store-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn results(&self) -> PathBuf {
        self.0.join("results/examples/sample")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn identity() -> RunIdentity {
    RunIdentity {
        file: None,
        overrides: Vec::new(),
        scenario: "examples/sample".into(),
        version: "0.1.0".into(),
        seed: u64::MAX,
        scenario_text: "{ \"title\": \"µ\" }\r\n".into(),
        resolved: json!({"mpi": {"eager_threshold": "256 KiB"}, "share": 0.1 + 0.2, "nodes": 2}),
    }
}

fn point(index: usize) -> PointResult {
    let value = 1.0 / (3.0 + f64::from(u32::try_from(index).unwrap()));
    PointResult {
        index,
        params: vec![("workload.size".into(), format!("{index} B"))],
        digest: format!("{index:032x}"),
        metrics: vec![
            Metric { name: "latency".into(), value, unit: "us" },
            Metric { name: "rate".into(), value: f64::MIN_POSITIVE / 2.0, unit: "msg/s" },
        ],
        resources: vec![ResourceUse {
            name: "node 0 link out".into(),
            busy: TimeDelta::from_ps(u64::MAX - 1),
            elapsed: TimeDelta::from_ps(u64::MAX),
            bytes: u64::MAX,
            packets: 3,
            queue_max: 1,
        }],
        spent: vec![Spent { part: "queue walk".into(), time: TimeDelta::from_ps(u64::MAX) }],
        unfired: Vec::new(),
        transient: None,
        explanation: None,
        failure: (index == 1).then(|| "deadlock:\n  \"0\" waits for 1\0".into()),
        limited: index == 1,
        exit_status: None,
    }
}

fn result(points: usize) -> RunResult {
    RunResult {
        scenario: "examples/sample".into(),
        title: "Sample".into(),
        version: "0.1.0".into(),
        digest: "f".repeat(32),
        points: (0..points).map(point).collect(),
        claims: vec![],
        what_if: vec![],
    }
}

fn output() -> Vec<OutputFile> {
    ["points.csv", "figure-1.svg", "report.html"]
        .map(|name| OutputFile { name: name.into(), bytes: format!("content of {name}").into() })
        .into()
}

fn names(files: &[OutputFile]) -> Vec<String> {
    files.iter().map(|file| file.name.clone()).collect()
}

#[track_caller]
fn open(directory: &Path, mode: Mode) -> (Store, Vec<String>) {
    match Store::open(directory, identity(), mode, &names(&output())).unwrap() {
        Opening::Ready(store, notes) => (store, notes),
        Opening::NothingToDo(_) => panic!("there is something to do"),
    }
}

#[track_caller]
fn refusal(directory: &Path, identity: RunIdentity, mode: Mode) -> StoreError {
    let before = snapshot(directory);
    let refused = Store::open(directory, identity, mode, &names(&output())).unwrap_err();
    assert_eq!(snapshot(directory), before, "a refused run changes nothing");
    refused
}

/// Every entry of a directory with its content.
fn snapshot(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(directory) else { return vec![] };
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let content = fs::read(entry.path()).unwrap_or_default();
            (entry.file_name().into_string().unwrap(), content)
        })
        .collect();
    files.sort();
    files
}

/// Both directories hold the same files with the same bytes.
#[track_caller]
fn assert_same(left: &Path, right: &Path, round: u64) {
    let names = |directory| snapshot(directory).into_iter().map(|(name, _)| name);
    assert!(names(left).eq(names(right)), "round {round}: {:?}", names(left).collect::<Vec<_>>());
    for ((name, ours), (_, theirs)) in snapshot(left).into_iter().zip(snapshot(right)) {
        assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs), "{name}");
    }
}

/// A run of three points without any disturbance.
fn undisturbed(directory: &Path) {
    let (mut store, notes) = open(directory, Mode::Fresh);
    assert_eq!(notes, Vec::<String>::new());
    (0..3).for_each(|index| store.append(&point(index)).unwrap());
    store.finish(&result(3), &output()).unwrap();
}

/// Makes `directory` hold what a run left that was killed after `points` points.
fn killed_after(directory: &Path, points: usize) {
    let (mut store, _) = open(directory, Mode::Fresh);
    (0..points).for_each(|index| store.append(&point(index)).unwrap());
    drop(store);
}

/// Leaves a finished run or one that was killed after its first point.
fn leave(folder: &Folder, finished: bool) {
    if finished {
        undisturbed(&folder.results());
    } else {
        killed_after(&folder.results(), 1);
    }
}

/// Runs what is left to run, and finishes.
fn complete(mut store: Store) {
    let done: Vec<usize> = store.done().iter().map(|point| point.index).collect();
    for index in (0..3).filter(|index| !done.contains(index)) {
        store.append(&point(index)).unwrap();
    }
    store.finish(&result(3), &output()).unwrap();
}

#[test]
fn a_finished_run_leaves_its_files_and_a_manifest_that_lists_them() {
    let folder = Folder::new();
    undisturbed(&folder.results());
    let found: Vec<String> =
        snapshot(&folder.results()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(found, ["figure-1.svg", "manifest.json", "points.csv", "report.html"]);
    let bytes = fs::read(folder.results().join(MANIFEST)).unwrap();
    let manifest = Manifest::parse(&bytes, Path::new(MANIFEST)).unwrap();
    assert_eq!(manifest.identity().scenario_text, identity().scenario_text, "byte for byte");
    assert_eq!((manifest.seed, manifest.points.len()), (u64::MAX, 3));
    assert_eq!(manifest.files[0].bytes, 21);
    assert_eq!(manifest.scenario_digest, identity().scenario_digest());
}

#[test]
fn points_come_back_bit_for_bit() {
    let folder = Folder::new();
    killed_after(&folder.results(), 3);
    let (store, _) = open(&folder.results(), Mode::Resume);
    let points: Vec<PointResult> = (0..3).map(point).collect();
    assert_eq!(store.done(), points);
    for (found, wanted) in store.done().iter().zip(&points) {
        for (found, wanted) in found.metrics.iter().zip(&wanted.metrics) {
            assert_eq!(found.value.to_bits(), wanted.value.to_bits());
        }
    }
}

#[test]
fn a_run_killed_after_any_point_is_finished_to_the_same_bytes() {
    let (plain, folder) = (Folder::new(), Folder::new());
    undisturbed(&plain.results());
    for points in 0..=3 {
        killed_after(&folder.results(), points);
        let (store, notes) = open(&folder.results(), Mode::Resume);
        assert_eq!(notes, [points_of("the interrupted run", points) + " kept"]);
        complete(store);
        assert_eq!(snapshot(&folder.results()), snapshot(&plain.results()));
        fs::remove_dir_all(folder.results()).unwrap();
    }
}

// row: L4
// row: L5
#[test]
fn the_journal_may_be_cut_at_any_byte_of_its_last_record() {
    let (plain, folder) = (Folder::new(), Folder::new());
    undisturbed(&plain.results());
    killed_after(&folder.results(), 2);
    let journal = folder.results().join(JOURNAL);
    let before = fs::metadata(&journal).unwrap().len();
    fs::remove_dir_all(folder.results()).unwrap();
    killed_after(&folder.results(), 3);
    let whole = fs::read(&journal).unwrap();
    for length in usize::try_from(before).unwrap()..whole.len() {
        let recovered = journal::recover(&whole[..length], &journal).unwrap();
        assert_eq!(recovered.points.len(), 2, "cut at {length}");
        assert_eq!(recovered.whole + recovered.torn, length);
        if length % 16 != 0 {
            continue;
        }
        fs::remove_dir_all(folder.results()).unwrap();
        fs::create_dir_all(folder.results()).unwrap();
        fs::write(&journal, &whole[..length]).unwrap();
        let (store, notes) = open(&folder.results(), Mode::Resume);
        assert_eq!(notes.len(), 2, "a torn record is told: {notes:?}");
        complete(store);
        assert_eq!(snapshot(&folder.results()), snapshot(&plain.results()));
    }
}

// row: I2
#[test]
fn a_flipped_bit_is_a_torn_record_at_the_end_and_damage_before_it() {
    let folder = Folder::new();
    killed_after(&folder.results(), 2);
    let journal = folder.results().join(JOURNAL);
    let whole = fs::read(&journal).unwrap();
    let starts: Vec<usize> = (1..whole.len()).filter(|&at| whole[at - 1] == b'\n').collect();
    let last = *starts.last().unwrap();
    for at in last..whole.len() - 1 {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        assert_eq!(journal::recover(&bytes, &journal).unwrap().points.len(), 1, "byte {at}");
    }
    for at in starts[1]..last - 1 {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let damage = journal::recover(&bytes, &journal).unwrap_err();
        assert!(matches!(damage, StoreError::Damaged { offset, .. } if offset == starts[1]));
        assert_eq!(damage.exit_code(), 3);
    }
}

#[test]
fn a_run_killed_while_it_writes_its_files_is_finished_to_the_same_bytes() {
    let (plain, folder) = (Folder::new(), Folder::new());
    undisturbed(&plain.results());
    for written in 0..=output().len() {
        for mode in [Mode::Resume, Mode::Fresh] {
            let (mut store, _) = open(&folder.results(), Mode::Fresh);
            (0..3).for_each(|index| store.append(&point(index)).unwrap());
            store.journal.append_files(&names(&output()).into_iter().collect()).unwrap();
            drop(store);
            for file in &output()[..written] {
                fs::write(folder.results().join(&file.name), &file.bytes).unwrap();
            }
            fs::write(folder.results().join("points.csv.mpisim-tmp"), "half").unwrap();
            complete(open(&folder.results(), mode).0);
            assert_eq!(snapshot(&folder.results()), snapshot(&plain.results()));
            fs::remove_dir_all(folder.results()).unwrap();
        }
    }
}

// row: L9
#[test]
fn resuming_a_finished_run_touches_nothing() {
    let folder = Folder::new();
    undisturbed(&folder.results());
    let before = snapshot(&folder.results());
    let opening = Store::open(&folder.results(), identity(), Mode::Resume, &[]).unwrap();
    assert!(matches!(opening, Opening::NothingToDo(manifest) if manifest.points.len() == 3));
    assert_eq!(snapshot(&folder.results()), before);
}

#[test]
fn resuming_a_finished_run_with_a_changed_file_runs_again_and_says_so() {
    let folder = Folder::new();
    undisturbed(&folder.results());
    fs::write(folder.results().join("points.csv"), "edited").unwrap();
    let (store, notes) = open(&folder.results(), Mode::Resume);
    assert_eq!(notes, ["points.csv is not as the manifest says: all points run again"]);
    assert!(store.done().is_empty());
}

#[test]
fn a_second_run_replaces_what_the_first_one_listed_and_nothing_else() {
    let folder = Folder::new();
    undisturbed(&folder.results());
    fs::write(folder.results().join("notes.txt"), "mine").unwrap();
    let before = snapshot(&folder.results());
    let (mut store, _) = open(&folder.results(), Mode::Fresh);
    store.append(&point(0)).unwrap();
    let during: Vec<_> = snapshot(&folder.results())
        .into_iter()
        .filter(|(name, _)| name != LOCK && name != JOURNAL)
        .collect();
    assert_eq!(during, before, "the old results stay until the new ones are whole");
    let new = [OutputFile { name: "points.csv".into(), bytes: b"new".to_vec() }];
    store.finish(&result(1), &new).unwrap();
    let found: Vec<String> =
        snapshot(&folder.results()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(found, ["manifest.json", "notes.txt", "points.csv"]);
}

#[test]
fn a_directory_that_is_not_ours_is_refused() {
    let folder = Folder::new();
    fs::create_dir_all(folder.results()).unwrap();
    fs::write(folder.results().join("thesis.tex"), "mine").unwrap();
    let refused = refusal(&folder.results(), identity(), Mode::Fresh);
    assert!(matches!(&refused, StoreError::NotOurs { entry, .. } if entry == "thesis.tex"));
    assert_eq!(refused.exit_code(), 4);
}

#[test]
fn a_directory_of_another_scenario_is_refused() {
    let other = RunIdentity { scenario: "examples/other".into(), ..identity() };
    for finished in [true, false] {
        let folder = Folder::new();
        leave(&folder, finished);
        let refused = refusal(&folder.results(), other.clone(), Mode::Fresh);
        assert!(matches!(refused, StoreError::OtherScenario { .. }));
        assert_eq!(refused.exit_code(), 4);
    }
}

#[test]
fn a_file_that_no_manifest_lists_is_not_overwritten() {
    let folder = Folder::new();
    undisturbed(&folder.results());
    let planned = vec!["points.csv".to_owned(), "figure-2.svg".to_owned()];
    fs::write(folder.results().join("figure-2.svg"), "mine").unwrap();
    let refused = Store::open(&folder.results(), identity(), Mode::Fresh, &planned).unwrap_err();
    assert!(matches!(refused, StoreError::Foreign { path } if path.ends_with("figure-2.svg")));
    assert_eq!(fs::read(folder.results().join("figure-2.svg")).unwrap(), b"mine");
}

// row: L8
#[test]
fn points_of_another_version_seed_or_scenario_do_not_mix() {
    for finished in [true, false] {
        let folder = Folder::new();
        leave(&folder, finished);
        let version = RunIdentity { version: "0.2.0".into(), ..identity() };
        let refused = refusal(&folder.results(), version, Mode::Resume);
        assert!(matches!(&refused, StoreError::OtherVersion { found, .. } if found == "0.1.0"));
        assert_eq!(refused.exit_code(), 3);
        let seed = RunIdentity { seed: 2, ..identity() };
        let refused = refusal(&folder.results(), seed, Mode::Resume);
        assert!(refused.to_string().contains("seed was 18446744073709551615, is 2"));
        let mut other = identity();
        other.resolved["mpi"]["eager_threshold"] = json!("8 KiB");
        let refused = refusal(&folder.results(), other, Mode::Resume);
        assert!(refused.to_string().contains("mpi.eager_threshold was \"256 KiB\", is \"8 KiB\""));
        assert_eq!(refused.exit_code(), 3);
    }
}

#[test]
fn a_fresh_run_may_change_the_scenario() {
    let folder = Folder::new();
    killed_after(&folder.results(), 2);
    let changed = RunIdentity { seed: 2, ..identity() };
    let opening = Store::open(&folder.results(), changed, Mode::Fresh, &[]).unwrap();
    let Opening::Ready(store, notes) = opening else { panic!("there is something to do") };
    assert!(store.done().is_empty());
    assert_eq!(notes, ["2 points of an unfinished run are dropped (no --resume)"]);
}

// row: L6
#[test]
fn a_second_writer_is_refused_by_name() {
    let folder = Folder::new();
    let (mut store, _) = open(&folder.results(), Mode::Fresh);
    store.append(&point(0)).unwrap();
    for mode in [Mode::Fresh, Mode::Resume] {
        let refused = refusal(&folder.results(), identity(), mode);
        assert_eq!(refused.exit_code(), 4);
        let pid = std::process::id();
        assert!(matches!(refused, StoreError::Locked { owner, .. } if owner.pid == pid));
    }
    complete(store);
    assert!(!folder.results().join(LOCK).exists());
}

/// A lock file as a process of this host and boot would leave it.
fn write_lock(folder: &Folder, pid: u32, started: u64) {
    fs::create_dir_all(folder.results()).unwrap();
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let owner = json!({
        "pid": pid,
        "host": read("/proc/sys/kernel/hostname"),
        "started": started,
        "boot": read("/proc/sys/kernel/random/boot_id"),
    });
    fs::write(folder.results().join(LOCK), owner.to_string()).unwrap();
}

// row: L7
#[test]
fn the_lock_of_a_dead_process_is_taken_over_with_a_note() {
    let folder = Folder::new();
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    write_lock(&folder, child.id(), 12);
    let (store, notes) = open(&folder.results(), Mode::Fresh);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains(&format!("process {}", child.id())), "{notes:?}");
    complete(store);
}

#[test]
#[cfg(target_os = "linux")]
fn the_lock_of_a_live_process_is_respected_even_without_locks_in_the_file_system() {
    let folder = Folder::new();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let started: u64 = fields.split_whitespace().nth(19).unwrap().parse().unwrap();
    write_lock(&folder, child.id(), started);
    let refused = refusal(&folder.results(), identity(), Mode::Fresh);
    assert!(matches!(&refused, StoreError::Locked { owner, .. } if owner.pid == child.id()));
    // The same id, but started at another time: a process that is gone.
    write_lock(&folder, child.id(), started + 1);
    let (_, notes) = open(&folder.results(), Mode::Fresh);
    assert_eq!(notes.len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn the_lock_of_a_process_that_nobody_has_waited_for_is_taken_over() {
    let folder = Folder::new();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let stat = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let field = |stat: &str, at: usize| {
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(at).unwrap().to_owned()
    };
    let started = field(&stat(), 19).parse().unwrap();
    write_lock(&folder, child.id(), started);
    Command::new("kill").args(["-9", &child.id().to_string()]).status().unwrap();
    while field(&stat(), 0) != "Z" {
        std::thread::yield_now();
    }
    let (_, notes) = open(&folder.results(), Mode::Fresh);
    assert_eq!(notes.len(), 1, "{notes:?}");
    child.wait().unwrap();
}

/// A container that is made anew has another name, and processes that are numbered from 1 again.
#[test]
#[cfg(target_os = "linux")]
fn the_lock_of_another_name_of_this_host_is_free_where_the_system_gives_it() {
    let folder = Folder::new();
    fs::create_dir_all(folder.results()).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let owner = json!({"pid": 1, "host": "elsewhere", "started": 1, "boot": boot.trim()});
    let lock = folder.results().join(LOCK);
    fs::write(&lock, owner.to_string()).unwrap();
    let file = fs::File::open(&lock).unwrap();
    file.lock().unwrap();
    let refused = refusal(&folder.results(), identity(), Mode::Fresh);
    assert!(refused.help().contains("remove the lock"), "{}", refused.help());
    drop(file);
    let (_, notes) = open(&folder.results(), Mode::Fresh);
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn the_lock_of_another_host_is_never_taken_over() {
    let folder = Folder::new();
    fs::create_dir_all(folder.results()).unwrap();
    let owner = json!({"pid": 1, "host": "elsewhere", "started": 1, "boot": "x"});
    fs::write(folder.results().join(LOCK), owner.to_string()).unwrap();
    let refused = refusal(&folder.results(), identity(), Mode::Fresh);
    assert!(refused.to_string().contains("process 1 on host elsewhere"), "{refused}");
}

#[test]
#[cfg(unix)]
fn a_directory_that_is_gone_is_noticed_with_the_next_point() {
    let folder = Folder::new();
    let (mut store, _) = open(&folder.results(), Mode::Fresh);
    store.append(&point(0)).unwrap();
    fs::remove_dir_all(folder.results()).unwrap();
    let gone = store.append(&point(1)).unwrap_err();
    assert_eq!((gone.exit_code(), gone.to_string().contains("points.journal")), (4, true));
    assert!(gone.help().contains("the points that it held"), "{}", gone.help());
    drop(store);
    // Another directory of that name, and a run in it: its journal is another one.
    let (mut store, _) = open(&folder.results(), Mode::Fresh);
    fs::remove_dir_all(folder.results()).unwrap();
    let (mut other, _) = open(&folder.results(), Mode::Fresh);
    assert!(matches!(store.append(&point(0)), Err(StoreError::Gone { .. })));
    assert!(matches!(store.finish(&result(1), &output()), Err(StoreError::Gone { .. })));
    other.append(&point(0)).unwrap();
    assert!(folder.results().join(LOCK).exists(), "the lock of the other run stays");
}

#[test]
fn a_torn_lock_file_does_not_block() {
    let folder = Folder::new();
    fs::create_dir_all(folder.results()).unwrap();
    fs::write(folder.results().join(LOCK), "{\"pid\":1").unwrap();
    complete(open(&folder.results(), Mode::Fresh).0);
}

#[test]
fn many_writers_get_in_one_at_a_time() {
    let folder = Folder::new();
    let inside = AtomicU32::new(0);
    let runs: u32 = std::thread::scope(|scope| {
        let writer = |_| {
            scope.spawn(|| {
                let opened = Store::open(&folder.results(), identity(), Mode::Fresh, &[]);
                let Ok(Opening::Ready(store, _)) = opened else { return 0 };
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "alone");
                std::thread::yield_now();
                inside.fetch_sub(1, Ordering::SeqCst);
                drop(store);
                1
            })
        };
        let writers: Vec<_> = (0..16).map(writer).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert!(runs >= 1);
}

#[test]
fn a_directory_that_cannot_be_made_is_an_io_error() {
    let folder = Folder::new();
    let file = folder.0.join("file");
    fs::write(&file, "x").unwrap();
    for path in [file.clone(), file.join("below"), PathBuf::from("/proc/mpisim/results")] {
        let refused = refusal(&path, identity(), Mode::Fresh);
        assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
        assert_eq!(refused.exit_code(), 4);
    }
}

// row: E13
#[test]
fn names_that_lead_out_of_the_directory_are_refused() {
    let folder = Folder::new();
    for name in ["../x", "a/b", "", ".hidden", MANIFEST, JOURNAL, LOCK, "x.mpisim-tmp", "a\0b"] {
        let planned = vec![name.to_owned()];
        let refused = Store::open(&folder.results(), identity(), Mode::Fresh, &planned);
        assert!(matches!(refused.unwrap_err(), StoreError::BadName(_)), "{name:?}");
    }
    assert!(!folder.results().exists());
}

// row: K4
#[test]
fn one_file_that_cannot_be_written_loses_no_other() {
    let (plain, folder) = (Folder::new(), Folder::new());
    undisturbed(&plain.results());
    let (mut store, _) = open(&folder.results(), Mode::Fresh);
    (0..3).for_each(|index| store.append(&point(index)).unwrap());
    // A folder in the way of the temporary file makes the write fail, even for an administrator.
    let obstacle = folder.results().join("figure-1.svg.mpisim-tmp");
    fs::create_dir(&obstacle).unwrap();
    let failed = store.finish(&result(3), &output()).unwrap_err();
    assert_eq!(failed.exit_code(), 4);
    assert!(failed.to_string().contains("figure-1.svg"), "{failed}");
    assert!(folder.results().join("report.html").exists());
    assert!(!folder.results().join(MANIFEST).exists());
    fs::remove_dir(&obstacle).unwrap();
    let (store, _) = open(&folder.results(), Mode::Resume);
    assert_eq!(store.done().len(), 3);
    complete(store);
    assert_eq!(snapshot(&folder.results()), snapshot(&plain.results()));
}

/// Name of the variable that tells the child where to write.
const VICTIM: &str = "MPISIM_TEST_VICTIM";

/// Runs in a process of its own, which [`a_process_killed_at_any_moment_is_resumed`] kills.
#[test]
#[ignore = "the process that another test kills"]
#[expect(clippy::disallowed_methods, reason = "the test that starts this one tells it the place")]
fn victim() {
    let Ok(directory) = std::env::var(VICTIM) else { return };
    loop {
        let (mut store, _) = open(Path::new(&directory), Mode::Fresh);
        (0..50).for_each(|index| store.append(&point(index)).unwrap());
        store.finish(&result(50), &output()).unwrap();
    }
}

#[test]
fn a_process_killed_at_any_moment_is_resumed() {
    let (plain, folder) = (Folder::new(), Folder::new());
    let whole = |store: Store, from: usize| {
        let mut store = store;
        (from..50).for_each(|index| store.append(&point(index)).unwrap());
        store.finish(&result(50), &output()).unwrap();
    };
    whole(open(&plain.results(), Mode::Fresh).0, 0);
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::tests::victim", "--ignored"])
            .env(VICTIM, folder.results())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while !folder.results().exists() {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_micros(700 * round * round));
        child.kill().unwrap();
        child.wait().unwrap();
        match Store::open(&folder.results(), identity(), Mode::Resume, &names(&output())) {
            Ok(Opening::Ready(store, _)) => {
                let done = store.done().len();
                assert_eq!(store.done(), (0..done).map(point).collect::<Vec<_>>());
                whole(store, done);
            }
            Ok(Opening::NothingToDo(manifest)) => assert_eq!(manifest.points.len(), 50),
            Err(why) => panic!("round {round}: {why}"),
        }
        assert_same(&folder.results(), &plain.results(), round);
        fs::remove_dir_all(folder.results()).unwrap();
    }
}

/// Workers that were given the same task write the same points: none stands in another's way, and
/// nobody reads half of one.
#[test]
fn a_file_that_several_write_at_once_is_always_whole() {
    let folder = Folder::new();
    let path = folder.0.join("point");
    let texts = [vec![b'a'; 10], vec![b'b'; 100_000]];
    files::write_among_others(&path, &texts[0]).unwrap();
    std::thread::scope(|scope| {
        for text in &texts {
            scope.spawn(|| {
                for _ in 0..200 {
                    files::write_among_others(&path, text).unwrap();
                    let read = fs::read(&path).unwrap();
                    assert!(texts.contains(&read), "{} bytes", read.len());
                }
            });
        }
    });
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "no temporary file stays");
    // A file of the user's beside it stays.
    fs::write(folder.0.join("point.tmp"), "theirs").unwrap();
    files::check_writable(&path).unwrap();
    files::write_atomically(&path, b"ours").unwrap();
    assert_eq!(fs::read(folder.0.join("point.tmp")).unwrap(), b"theirs");
    // What a killed worker had started is left alone.
    fs::write(folder.0.join("point.0.mpisim-tmp"), "half").unwrap();
    files::write_among_others(&path, b"whole").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"whole");
}
