//! Reasons to doubt a fit: numbers at the end of what machines have, rows that are far off, and what decides there.

use std::sync::atomic::AtomicBool;

use super::bench::{Bench, BenchError, Values};
use super::request::{Request, Role};
use super::table::Table;
use super::{Compared, Fit};
use form::diagnostic::Diagnostics;
use hardware::profile::{Kind, Parameter};

/// The greatest deviation of a fitted row that is not doubted, as a part of the measured value: above that of the
/// models that ship, which are at most 31 % off.
const MOST: f64 = 1.0 / 3.0;

/// Why the fitted machine is not believed, each in a sentence; empty where nothing speaks against it.
pub fn doubts(bench: &Bench, found: &Fit) -> Vec<String> {
    let mut all: Vec<String> = found.fitted.iter().filter_map(at_an_end).collect();
    let rows = || found.rows.iter().enumerate().filter(|(_, row)| row.role != Role::Predicted);
    let far = || rows().filter(|(_, row)| is_far(row));
    let Some((_, worst)) = far().max_by(|a, b| a.1.error().abs().total_cmp(&b.1.error().abs()))
    else {
        return all;
    };
    let table = &bench.tables[worst.table];
    all.push(format!(
        "{} of {} fitted rows deviate by more than {:.0} %, {} of {} by {:+.1} %",
        far().count(),
        rows().count(),
        MOST * 100.0,
        table.benchmark.label(worst.key),
        table.file,
        worst.error() * 100.0
    ));
    for kept in &found.kept {
        let decided = far().filter(|(row, _)| kept.decides.contains(row)).count();
        if decided > 0 {
            all.push(format!(
                "`{}` decides about {decided} of them, and is kept from {}: {}",
                kept.name, bench.start.name, kept.why
            ));
        }
    }
    all
}

fn is_far(row: &Compared) -> bool {
    // What is not finite is far off, too.
    row.error().abs().partial_cmp(&MOST).is_none_or(std::cmp::Ordering::is_gt)
}

/// A number that only the end of its band has stopped.
fn at_an_end(number: &super::Number) -> Option<String> {
    let parameter = Parameter::find(number.path)?;
    let (low, high) = parameter.plausible();
    let value = number.value.steps();
    let is_moved = number.value != number.start && parameter.kind != Kind::Bytes;
    let end = if value <= low.steps() {
        "lowest"
    } else if value >= high.steps() {
        "highest"
    } else {
        return None;
    };
    is_moved.then(|| {
        format!(
            "`{}` went from {} to {}, the {end} that machines have",
            number.path, number.start, number.value
        )
    })
}

/// The machine that ships whose numbers, as they are, come nearest to the rows that were fitted: its name, and the
/// mean deviation as a factor.
pub fn nearest(
    request: &Request,
    tables: &[Table],
    stop: &AtomicBool,
    jobs: usize,
) -> Option<(String, f64)> {
    let mut best: Option<(String, f64)> = None;
    for name in request.library.shipped.models.names() {
        let request = Request { machine: name.to_owned(), ..request.clone() };
        let Some(factor) = distance(&request, tables, stop, jobs) else { continue };
        if best.as_ref().is_none_or(|(_, least)| factor < *least) {
            best = Some((name.to_owned(), factor));
        }
    }
    best
}

/// How far a machine is from the fitted rows; nothing where it cannot run them.
fn distance(request: &Request, tables: &[Table], stop: &AtomicBool, jobs: usize) -> Option<f64> {
    let bench = Bench::new(&mut Diagnostics::new(), request, tables.to_vec())?;
    let fitted = bench.rows.iter().enumerate().filter(|(_, row)| row.role != Role::Predicted);
    let rows: Vec<usize> = fitted.map(|(index, _)| index).collect();
    let mut silent = |_| {};
    let ran: Result<Vec<f64>, BenchError> =
        bench.runner(stop, jobs, &mut silent).run_one(&Values::new(), &rows);
    let simulated = ran.ok()?;
    let off =
        simulated.iter().zip(&rows).map(|(one, row)| (one / bench.rows[*row].measured).ln().abs());
    let count = u32::try_from(rows.len()).ok().filter(|count| *count > 0)?;
    let mean = off.sum::<f64>() / f64::from(count);
    mean.is_finite().then(|| mean.exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Number;

    #[test]
    fn a_number_is_doubted_where_only_the_end_of_its_band_has_stopped_it() {
        let parse = |text: &str| Parameter::find("link.data_bw").unwrap().kind.parse(text).unwrap();
        let moved = |from: &str, to: &str| {
            at_an_end(&Number {
                path: "link.data_bw",
                of: "link.data_bw",
                start: parse(from),
                value: parse(to),
                range: (parse(to), parse(to)),
                told_by: "bandwidth of large messages, where the wire limits",
                effect: 1.0,
            })
        };
        let says = "`link.data_bw` went from 12.5 GB/s to 200 GB/s, the highest that machines have";
        assert_eq!(moved("12.5 GB/s", "200 GB/s").as_deref(), Some(says));
        assert_eq!(moved("12.5 GB/s", "199 GB/s"), None);
        assert_eq!(moved("200 GB/s", "200 GB/s"), None, "it has not moved");
    }
}
