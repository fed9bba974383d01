//! A rank that does not call MPI for long is named: it may compute, or wait for what never comes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};

/// A process that is waited for.
#[derive(Debug)]
pub struct Watch {
    process: u32,
    /// Milliseconds that the wait has lasted.
    waited: u64,
    /// Ticks of CPU time that the process had used when the wait began.
    used: Option<u64>,
    /// How long the wait lasts when it is spoken of next.
    next: u64,
}

/// Milliseconds after which a wait is spoken of; then after twice as many, and so on.
const LONG: u64 = 10_000;
/// Ticks of CPU time in a second (`sysconf(_SC_CLK_TCK)` of Linux on every processor that Rust has).
const TICKS: u64 = 100;

impl Watch {
    /// The wait begins.
    pub fn begin(process: u32) -> Self {
        Self { process, waited: 0, used: used(process), next: LONG }
    }

    /// The process was waited for once more, as many milliseconds: how long the wait lasts by now and what the process
    /// has done, in words, where it is time to say so.
    pub fn waits(&mut self, milliseconds: u16) -> Option<String> {
        self.waited += u64::from(milliseconds);
        if self.waited < self.next {
            return None;
        }
        self.next *= 2;
        let computed = used(self.process).zip(self.used).map(|(now, then)| (now - then) / TICKS);
        let computed = computed.map_or_else(String::new, |computed| {
            format!(", in which its process has used {computed} s of CPU time")
        });
        Some(format!("{} s{computed}", self.waited / 1000))
    }
}

/// Ticks of CPU time that a process has used: `utime` and `stime`, the fields 14 and 15 of `/proc/PID/stat`.
fn used(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the program's name, which may hold anything but ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(ticks()? + ticks()?)
}

/// Prints a note to standard error, where the notes of the command go.
pub fn note(text: &str) {
    // Where there is no standard error, the note is for no one.
    let _ = writeln!(io::stderr().lock(), "note: {text}");
}

/// Prints a note that was not printed before: a command may run a program several times.
pub fn note_once(text: &str) {
    static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if printed.len() < NOTES && printed.insert(text.to_owned()) {
        note(text);
    }
}

/// Notes that are printed once, at most.
const NOTES: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_spoken_of_after_a_while_and_then_less_often() {
        let mut watch = Watch::begin(std::process::id());
        assert!(watch.used.is_some());
        let said: Vec<_> = (1..=200).filter_map(|time| Some((time, watch.waits(200)?))).collect();
        let times: Vec<_> = said.iter().map(|(time, _)| *time).collect();
        assert_eq!(times, [50, 100, 200]);
        let [(_, first), .., (_, last)] = said.as_slice() else { panic!("{said:?}") };
        assert!(first.starts_with("10 s, in which its process has used "), "{first}");
        assert!(last.starts_with("40 s, "), "{last}");
    }
}
