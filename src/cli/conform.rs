//! `mpisim conform`: the simulator's MPI against vectors recorded from a real one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::terminal::{Failure, Outcome, Terminal, print};
use ::conform::{Simulated, Vectors, Verdict, judge};
use form::diagnostic::{Diagnostics, quote};
use shipped::SHIPPED;

/// Schedules that each case is run under.
const SCHEDULES: u64 = 8;
/// The family of schedules; any other would do.
const SEED: u64 = 1;

/// Runs every file.
pub(super) fn conform(terminal: Terminal, files: &[PathBuf]) -> Outcome {
    let vectors: Vec<Vectors> =
        files.iter().map(|file| read(terminal, file)).collect::<Result<_, _>>()?;
    let (mut all, mut text) = (Verdict::default(), String::new());
    for (file, one) in files.iter().zip(&vectors) {
        let verdict = judge(one, &Simulated { seed: SEED }, SCHEDULES);
        // Cases are numbered in each file.
        let place = quote(&file.display().to_string());
        let place = if files.len() > 1 { format!("{place}: ") } else { String::new() };
        for line in verdict.lines() {
            let _ = writeln!(text, "{place}{line}");
        }
        all.add(verdict);
    }
    print(&format!("{text}{}\n", all.counts()))?;
    if !all.judges() {
        terminal.note("nothing was checked: libraries differ in every case of these files");
    }
    Ok(u8::from(!all.is_pass()))
}

fn read(terminal: Terminal, file: &Path) -> Result<Vectors, Failure> {
    let mut diagnostics = Diagnostics::new();
    let vectors = Vectors::load(&mut diagnostics, SHIPPED, file);
    if !diagnostics.is_empty() {
        terminal.diagnostics(&diagnostics);
    }
    vectors.ok_or_else(|| Failure::Said(diagnostics.exit_code()))
}
