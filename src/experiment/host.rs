//! The memory that this process can have: that of its machine, of its control groups, of its own limit.
//!
//! A point may hold no more where its scenario says nothing. That refuses runs and changes no
//! result: what a run holds is counted in prices of its own (docs/guide/limits.md), and a run that stays
//! below the limit does not see it.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::plan::Limits;
use engine::LimitReached;
use units::Bytes;

/// The tightest bound on the memory of this process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bound {
    /// How much.
    pub bytes: Bytes,
    /// Its origin, in words.
    pub of: &'static str,
}

/// The memory that a point with these limits may hold, and the bound of this host that sets it, if it is not the
/// scenario.
pub fn memory_of(limits: Limits) -> (Bytes, Option<Bound>) {
    static HERE: OnceLock<Option<Bound>> = OnceLock::new();
    let here = *HERE.get_or_init(|| bound(Path::new("/")));
    allowed(limits, here)
}

/// A limit that a point reached, and the bound of this host that set it, if it did.
pub fn limit_in_words(limits: Limits, reached: &LimitReached) -> String {
    let LimitReached::Memory { .. } = reached else { return reached.to_string() };
    match memory_of(limits).1 {
        Some(Bound { of, .. }) => {
            format!("{reached}; the limit is {of}, as the scenario gives none")
        }
        None => reached.to_string(),
    }
}

fn allowed(limits: Limits, here: Option<Bound>) -> (Bytes, Option<Bound>) {
    match here {
        Some(here) if !limits.memory_given && here.bytes < limits.memory => {
            (here.bytes, Some(here))
        }
        _ => (limits.memory, None),
    }
}

/// The least bound that the files of the system below `root` name; none where there are no such files.
fn bound(root: &Path) -> Option<Bound> {
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
    let machine = number_behind(&read("proc/meminfo"), "MemTotal:").map(|kib| kib << 10);
    let own = number_behind(&read("proc/self/limits"), "Max address space");
    let groups = group_files(&read("proc/self/cgroup"));
    let group = groups.iter().filter_map(|file| read(file).trim().parse().ok()).min();
    let all = [
        (machine, "the memory of this machine"),
        (group, "that of its control group"),
        (own, "that of its address space (`ulimit -v`)"),
    ];
    let known = all.into_iter().filter_map(|(bytes, of)| Some((bytes?, of)));
    let least = known.min_by_key(|(bytes, _)| *bytes);
    least.map(|(bytes, of)| Bound { bytes: Bytes::new(bytes), of })
}

/// The number behind a word at the begin of a line.
fn number_behind(text: &str, word: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The files that may limit the control groups of a process and of those around them, by the text of
/// `/proc/self/cgroup`: lines `0::/path` of version 2, and `4:memory:/path` of version 1.
fn group_files(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (base, file) = if controllers.is_empty() {
            ("sys/fs/cgroup", "memory.max")
        } else if controllers.split(',').any(|one| one == "memory") {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        let around = Path::new(path.trim_start_matches('/')).ancestors();
        files.extend(around.map(|group| Path::new(base).join(group).join(file)));
    }
    files.iter().map(|file| file.display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A system of these files.
    fn check(name: &str, files: &[(&str, &str)], expected: Option<(u64, &str)>) {
        let root = std::env::temp_dir().join(format!("mpisim-host-{name}-{}", std::process::id()));
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = bound(&root).map(|bound| (bound.bytes.as_u64(), bound.of));
        let _ = fs::remove_dir_all(&root);
        assert_eq!(found, expected, "{name}");
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:        8192 kB\nMemFree: 1 kB\n");
    const MIB: u64 = 1 << 20;
    const OF_GROUP: &str = "that of its control group";

    #[test]
    fn the_least_of_machine_control_group_and_own_limit_counts() {
        check("none", &[], None);
        check("machine", &[MACHINE], Some((8 * MIB, "the memory of this machine")));
        let one = ("proc/self/cgroup", "5:devices:/\n4:cpu,memory:/job/step\n0::/\n");
        let outer = ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4194304\n");
        let inner =
            ("sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", "9223372036854771712\n");
        check("version 1", &[MACHINE, one, outer, inner], Some((4 * MIB, OF_GROUP)));
        let two = ("proc/self/cgroup", "0::/user.slice/job\n");
        let open = ("sys/fs/cgroup/user.slice/memory.max", "max\n");
        let tight = ("sys/fs/cgroup/user.slice/job/memory.max", "2097152\n");
        check("version 2", &[MACHINE, two, open, tight], Some((2 * MIB, OF_GROUP)));
        let own = "Max cpu time    unlimited  unlimited  seconds\n\
                   Max address space         1048576              unlimited            bytes\n";
        let own = ("proc/self/limits", own);
        let least = (MIB, "that of its address space (`ulimit -v`)");
        check("own", &[MACHINE, two, tight, own], Some(least));
        let free =
            ("proc/self/limits", "Max address space         unlimited   unlimited   bytes\n");
        check("unlimited", &[MACHINE, free], Some((8 * MIB, "the memory of this machine")));
    }

    #[test]
    fn what_the_scenario_gives_counts_alone() {
        let limits = |mib: u64, memory_given| Limits {
            events: 1,
            time: units::TimeDelta::ZERO,
            memory: Bytes::new(mib * MIB),
            memory_given,
        };
        let here = Bound { bytes: Bytes::new(8 * MIB), of: "a test" };
        assert_eq!(allowed(limits(16, false), Some(here)), (here.bytes, Some(here)));
        assert_eq!(allowed(limits(16, true), Some(here)).0, Bytes::new(16 * MIB));
        assert_eq!(allowed(limits(4, false), Some(here)), (Bytes::new(4 * MIB), None));
        assert_eq!(allowed(limits(4, false), None), (Bytes::new(4 * MIB), None));
    }
}
