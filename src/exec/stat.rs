//! What the system says of a process: `/proc/PID/stat`.

use std::collections::BTreeMap;
use std::fs;

/// A process at a moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stat {
    /// Its parent.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Whether it has ended, or is about to: its descriptors are closed by its end, not by itself.
    pub is_over: bool,
    /// Ticks of CPU time that it has used, in the program and in the kernel.
    pub ticks: u64,
}

/// The flag of a process that ends (`PF_EXITING` of Linux).
const EXITING: u64 = 4;

impl Stat {
    /// A process; `None` where there is none of this number.
    pub fn of(process: u32) -> Option<Self> {
        Self::read(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    /// The fields of the system's line: `number (name) state parent group session terminal group flags ...`.
    fn read(line: &str) -> Option<Self> {
        // The name may hold anything but ends with the last parenthesis.
        let (_, fields) = line.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let narrow = |at: usize| u32::try_from(number(at)?).ok();
        let has_ended = matches!(*fields.first()?, "Z" | "X");
        Some(Self {
            parent: narrow(1)?,
            group: narrow(2)?,
            is_over: has_ended || number(6)? & EXITING != 0,
            ticks: number(11)? + number(12)?,
        })
    }
}

/// The processes that this one has started, those that they have started, and so on, as far as they have not ended.
pub fn descendants(ancestor: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<(u32, bool)>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let process = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some((process, stat)) =
            process.and_then(|process| Some((process, Stat::of(process)?)))
        {
            children.entry(stat.parent).or_default().push((process, stat.is_over));
        }
    }
    let (mut found, mut open) = (Vec::new(), vec![ancestor]);
    while let Some(parent) = open.pop() {
        for (process, is_over) in children.remove(&parent).into_iter().flatten() {
            open.push(process);
            if !is_over {
                found.push(process);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        let line = "7 (a) b 1 (c) R 5 6 7 0 -1 4194304 1 0 0 0 12 30 0 0 20 0 1 0\n";
        let stat = Stat { parent: 5, group: 6, is_over: false, ticks: 42 };
        assert_eq!(Stat::read(line), Some(stat));
        let ends = line.replace("4194304", "4194308");
        assert_eq!(Stat::read(&ends), Some(Stat { is_over: true, ..stat }));
        assert_eq!(Stat::read(&line.replace(" R ", " Z ")), Some(Stat { is_over: true, ..stat }));
        assert_eq!(Stat::read("7 (a) R 5"), None);
    }

    #[test]
    fn a_child_is_a_descendant_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (own, id) = (std::process::id(), child.id());
        assert!(descendants(own).contains(&id));
        assert_eq!(Stat::of(id).map(|stat| stat.parent), Some(own));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!descendants(own).contains(&id));
    }
}
