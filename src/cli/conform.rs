//! `mpisim conform`: the simulator's MPI against vectors recorded from a real one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use crate::experiment::codes;
use crate::experiment::conform::{Simulated, Vectors, Verdict, judge};
use crate::experiment::diagnostic::{Diagnostics, quote};
use crate::experiment::library::{self, MAX_BYTES};

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
    print(&format!("{text}{} passed, {} failed\n", all.passed, all.mismatches.len()))?;
    Ok(u8::from(!all.is_pass()))
}

fn read(terminal: Terminal, file: &Path) -> Result<Vectors, Failure> {
    let mut diagnostics = Diagnostics::new();
    let Some(bytes) = library::read(&mut diagnostics, file, MAX_BYTES) else {
        terminal.diagnostics(&diagnostics);
        return Err(Failure::Said(diagnostics.exit_code()));
    };
    let shown = quote(&file.display().to_string());
    let wrong = |why: String| Problem::new(&codes::VECTORS, format!("{shown}: {why}"));
    let text = String::from_utf8(bytes).map_err(|_| wrong("the file is not UTF-8".to_owned()))?;
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let vectors = Vectors::read_beside(&text, folder).map_err(|why| wrong(why.to_string()))?;
    if vectors.cases.is_empty() {
        return Err(wrong("the file holds no case".to_owned()).into());
    }
    Ok(vectors)
}
