//! Fit: numbers of a machine, searched until runs of the simulator give what was measured.
//!
//! ```text
//!   tables ─▶ rows ─▶ bench: one run for each row ─▶ search: numbers, one factor each ─▶ profile
//!                └─ less every n-th row ─▶ a search of its own ─▶ the error of rows it never saw
//! ```
//!
//! No curve is fitted: every prediction is a run of the mechanisms, and only numbers of the machine
//! change. A candidate that moves no row, or moves rows only as others together do, cannot be determined
//! from the measurement: it stays as it was, and is called assumed.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use form::diagnostic::Diagnostics;

pub mod bench;
pub mod candidates;
mod doubt;
pub mod hwloc;
mod least_squares;
pub mod profile;
mod request;
pub mod search;
pub mod table;

use bench::Runner;
pub use bench::{Bench, BenchError, Row};
pub use candidates::{Between, Candidate};
pub use doubt::{doubts, nearest};
pub use request::{Request, Role};
pub use search::{Fitted, Kept, Number};
pub use table::{Benchmark, Table};

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Candidates that were determined.
    pub fitted: Vec<Number>,
    /// Candidates that were not, and why.
    pub kept: Vec<Kept>,
    /// Every row with what the fitted machine gives, in the order of the tables.
    pub rows: Vec<Compared>,
    /// Runs of one row each that it took.
    pub runs: usize,
}

/// A row beside the fitted machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Index of its table.
    pub table: usize,
    /// Size in bytes, or entries of the queue.
    pub key: u64,
    /// As measured.
    pub measured: f64,
    /// As simulated.
    pub simulated: f64,
    /// As simulated on a machine that was fitted without it, where it was held out.
    pub unseen: Option<f64>,
    /// The use of the row.
    pub role: Role,
}

impl Compared {
    /// Deviation of the simulation, as a part of the measured value.
    pub fn error(&self) -> f64 {
        self.simulated / self.measured - 1.0
    }

    /// The same of the machine that was fitted without the row.
    pub fn unseen_error(&self) -> Option<f64> {
        self.unseen.map(|simulated| simulated / self.measured - 1.0)
    }
}

/// Count, median and worst of absolute errors; `None` where there are none.
pub fn summary(errors: impl Iterator<Item = f64>) -> Option<(usize, f64, f64)> {
    let mut errors: Vec<f64> = errors.map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    let worst = *errors.last()?;
    let middle = errors.len() / 2;
    let median = if errors.len() % 2 == 1 {
        errors[middle]
    } else {
        f64::midpoint(errors[middle - 1], errors[middle])
    };
    Some((errors.len(), median, worst))
}

/// Reads all tables of a request; `None` after reports.
pub fn tables(diagnostics: &mut Diagnostics, request: &Request) -> Option<Vec<Table>> {
    let fitted = request.measured.iter().map(|asked| (asked, true));
    let all = fitted.chain(request.predicted.iter().map(|asked| (asked, false)));
    let read: Vec<Option<Table>> = all
        .map(|(asked, fitted)| {
            let table =
                Table { fitted, ..table::read(diagnostics, request.library.shipped, asked)? };
            table::check_role(diagnostics, &table).then_some(table)
        })
        .collect();
    let tables: Vec<Table> = read.into_iter().collect::<Option<_>>()?;
    table::check_rows(diagnostics, &tables, request.between).then_some(tables)
}

/// Searches the numbers, where a table is to be fitted on, and compares every row.
///
/// # Errors
///
/// [`BenchError`] where a row cannot be run, or it was stopped from outside.
pub fn fit(
    bench: &Bench,
    between: Between,
    stop: &AtomicBool,
    jobs: usize,
    tell: &mut (dyn FnMut(usize) + Send),
) -> Result<Fit, BenchError> {
    let mut runner = bench.runner(stop, jobs, tell);
    let found = if bench.tables.iter().any(|table| table.fitted) {
        search::search(&mut runner, between, &[Role::Fitted, Role::HeldOut])?
    } else {
        Fitted::default()
    };
    let fitted = bench.rows.iter().filter(|row| row.role != Role::Predicted).count();
    enough(fitted, &found.numbers)?;
    let all: Vec<usize> = (0..bench.rows.len()).collect();
    let simulated = runner.run_one(&found.values, &all)?;
    let mut rows: Vec<Compared> = bench
        .rows
        .iter()
        .zip(simulated)
        .map(|(row, simulated)| Compared {
            table: row.table,
            key: row.key,
            measured: row.measured,
            simulated,
            unseen: None,
            role: row.role,
        })
        .collect();
    for (row, simulated) in held_out(&mut runner, between)? {
        rows[row].unseen = Some(simulated);
    }
    Ok(Fit { fitted: found.numbers, kept: found.kept, rows, runs: runner.runs() })
}

/// Refuses numbers that so many rows meet exactly: none is left that could contradict them.
fn enough(rows: usize, found: &[Number]) -> Result<(), BenchError> {
    let numbers: BTreeSet<&str> = found.iter().map(|number| number.of).collect();
    if numbers.is_empty() || rows > numbers.len() {
        return Ok(());
    }
    let names = numbers.iter().copied().collect::<Vec<_>>().join(", ");
    Err(BenchError::TooFew { rows, numbers: numbers.len(), names })
}

/// The results that a search without the held-out rows gives for them.
fn held_out(runner: &mut Runner<'_>, between: Between) -> Result<Vec<(usize, f64)>, BenchError> {
    let rows = runner.bench.rows.iter().enumerate();
    let unseen: Vec<usize> =
        rows.filter(|(_, row)| row.role == Role::HeldOut).map(|(index, _)| index).collect();
    if unseen.is_empty() {
        return Ok(Vec::new());
    }
    let found = search::search(runner, between, &[Role::Fitted])?;
    let simulated = runner.run_one(&found.values, &unseen)?;
    Ok(unseen.into_iter().zip(simulated).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hardware::profile::Value;

    #[test]
    fn a_fit_has_more_rows_than_numbers() {
        let number = |of: &'static str, path: &'static str| Number {
            path,
            of,
            start: Value::Flag(true),
            value: Value::Flag(true),
            range: (Value::Flag(true), Value::Flag(true)),
            told_by: "",
            effect: 1.0,
        };
        let steps = ["mpi.step_send", "mpi.step_receive"].map(|path| number("mpi.step_*", path));
        let all = [&steps[..], &[number("link.base_latency", "link.base_latency")]].concat();
        assert!(enough(1, &[]).is_ok() && enough(2, &steps).is_ok() && enough(3, &all).is_ok());
        let why = enough(2, &all).unwrap_err().to_string();
        assert!(why.starts_with("2 rows tell 2 numbers (link.base_latency, mpi.step_*)"), "{why}");
    }

    #[test]
    fn the_summary_has_the_middle_and_the_worst() {
        let (count, median, worst) = summary([0.1, -0.5, 0.0, 0.2].into_iter()).unwrap();
        assert_eq!(count, 4);
        assert!((median - 0.15).abs() < 1e-12 && (worst - 0.5).abs() < 1e-12, "{median} {worst}");
        assert_eq!(summary([].into_iter()), None);
    }
}
