//! A rank that does not call MPI for long is named: it may compute, or wait for what never comes.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use form::diagnostic::escaped;
use nix::sys::time::TimeValLike as _;
use nix::time::ClockId;

use super::stat::Stat;

/// A process that is waited for.
#[derive(Debug)]
pub struct Watch {
    process: u32,
    /// When the wait began, in milliseconds of this computer.
    began: u64,
    /// When it was looked at last.
    looked: u64,
    /// Ticks of CPU time that the process had used when the wait began.
    used: Option<u64>,
    /// How long the wait lasts when it is spoken of next.
    next: u64,
}

/// Milliseconds after which a wait is spoken of; then after twice as many, and so on.
const LONG: u64 = 10_000;
/// Milliseconds between two looks at what is waited for.
pub const PATIENCE: u16 = 200;
/// Ticks of CPU time in a second (`sysconf(_SC_CLK_TCK)` of Linux on every processor that Rust has).
const TICKS: u64 = 100;

impl Watch {
    /// The wait begins.
    pub fn begin(process: u32, now: u64) -> Self {
        Self { process, began: now, looked: now, used: used(process), next: LONG }
    }

    /// Whether the process is to be looked at again.
    pub fn is_due(&mut self, now: u64) -> bool {
        let is_due = now >= self.looked + u64::from(PATIENCE);
        if is_due {
            self.looked = now;
        }
        is_due
    }

    /// How long the wait lasts by now and what the process has done, in words, where it is time to say so.
    pub fn waits(&mut self, now: u64) -> Option<String> {
        let waited = now - self.began;
        if waited < self.next {
            return None;
        }
        self.next *= 2;
        let computed = used(self.process).zip(self.used).map(|(now, then)| (now - then) / TICKS);
        let computed = computed.map_or_else(String::new, |computed| {
            format!(", in which its process has used {computed} s of CPU time")
        });
        Some(format!("{} s{computed}", waited / 1000))
    }
}

/// Milliseconds of this computer's clock: for waits, no result depends on them.
pub fn now() -> u64 {
    // A clock that is not there stands still: then no wait is spoken of.
    let now = ClockId::CLOCK_MONOTONIC.now().map_or(0, |now| now.num_milliseconds());
    now.cast_unsigned()
}

/// Ticks of CPU time that a process has used.
fn used(process: u32) -> Option<u64> {
    Stat::of(process).map(|stat| stat.ticks)
}

/// Prints a note to standard error, where the notes of the command go.
pub fn note(text: &str) {
    // Where there is no standard error, the note is for no one.
    let _ = writeln!(io::stderr().lock(), "note: {}", escaped(text));
}

/// Prints a note that was not printed before: a command may run a program several times.
pub fn note_once(text: &str) {
    if is_new(text) {
        note(text);
    }
}

/// Prints a note about a rank, unless the same was said of another one: what one does, most do.
pub fn note_of_rank(rank: u32, text: &str) {
    if is_new(text) {
        note(&format!("rank {rank}, {text}"));
    }
}

/// Whether a note is to be printed.
fn is_new(text: &str) -> bool {
    static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    printed.len() < NOTES && printed.insert(text.to_owned())
}

/// Notes that are printed once, at most.
const NOTES: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_spoken_of_after_a_while_and_then_less_often() {
        let mut watch = Watch::begin(std::process::id(), 1000);
        assert!(watch.used.is_some());
        assert_eq!([1199, 1200, 1201].map(|now| watch.is_due(now)), [false, true, false]);
        let said = (1..=200).filter_map(|time| Some((time, watch.waits(1000 + 200 * time)?)));
        let said: Vec<_> = said.collect();
        let times: Vec<_> = said.iter().map(|(time, _)| *time).collect();
        assert_eq!(times, [50, 100, 200]);
        let [(_, first), .., (_, last)] = said.as_slice() else { panic!("{said:?}") };
        assert!(first.starts_with("10 s, in which its process has used "), "{first}");
        assert!(last.starts_with("40 s, "), "{last}");
    }
}
