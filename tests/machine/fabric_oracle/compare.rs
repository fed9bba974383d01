//! How far the fabric is from the oracle on one workload.

use mpisim::units::Time;

use super::driver::{Begin, Outcome, Workload, fabric_of, run};
use super::segments;

/// Errors of the fabric against the oracle; ratios in parts per million.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Errors {
    /// Mean time of small messages.
    pub(crate) small_mean: i64,
    /// 99th percentile of it.
    pub(crate) small_p99: i64,
    /// The same mean in picoseconds.
    pub(crate) small_mean_ps: i64,
    /// Mean time of bulk.
    pub(crate) bulk_mean: i64,
    /// Worst single bulk message, by size of the error.
    pub(crate) bulk_worst: i64,
    pub(crate) bulk_worst_ps: i64,
    /// Last completion.
    pub(crate) last: i64,
    /// Busy time above elapsed time, worst resource; negative where none is overcommitted.
    pub(crate) overcommit: i64,
}

pub(crate) fn compare(work: &Workload, window: usize) -> (Errors, Outcome) {
    let (wanted, _) = segments::run(work, window);
    let outcome = run(fabric_of(work), &work.messages);
    (errors(work, &wanted, &outcome), outcome)
}

fn errors(work: &Workload, wanted: &[u64], outcome: &Outcome) -> Errors {
    let time = |done: &[u64], index: usize| {
        let begin = match work.messages[index].begin {
            Begin::At(at) => at,
            Begin::After(other) => done[other],
        };
        done[index] - begin
    };
    let pick = |small: bool| -> (Vec<u64>, Vec<u64>) {
        (0..wanted.len())
            .filter(|&index| (work.messages[index].bytes <= work.mtu) == small)
            .map(|index| (time(wanted, index), time(&outcome.done, index)))
            .unzip()
    };
    let mut errors = Errors::default();
    let (mut right, mut found) = pick(true);
    if !right.is_empty() {
        errors.small_mean = parts(sum(&found), sum(&right));
        errors.small_mean_ps = (sum(&found) - sum(&right)) / right.len() as i64;
        right.sort_unstable();
        found.sort_unstable();
        let p99 = (right.len() * 99 / 100).min(right.len() - 1);
        errors.small_p99 = parts(found[p99] as i64, right[p99] as i64);
    }
    let (right, found) = pick(false);
    if !right.is_empty() {
        errors.bulk_mean = parts(sum(&found), sum(&right));
        for (&right, &found) in right.iter().zip(&found) {
            let error = parts(found as i64, right as i64);
            if error.abs() > errors.bulk_worst.abs() {
                errors.bulk_worst = error;
            }
            let error = found as i64 - right as i64;
            if error.abs() > errors.bulk_worst_ps.abs() {
                errors.bulk_worst_ps = error;
            }
        }
    }
    let last = |done: &[u64]| *done.iter().max().expect("there are messages") as i64;
    errors.last = parts(last(&outcome.done), last(wanted));
    let busiest = outcome
        .fabric
        .snapshot(Time::from_ps(outcome.end))
        .iter()
        .map(|stats| stats.busy.as_ps())
        .max();
    errors.overcommit = parts(busiest.unwrap_or_default() as i64, outcome.end as i64);
    errors
}

fn sum(times: &[u64]) -> i64 {
    times.iter().sum::<u64>() as i64
}

fn parts(found: i64, right: i64) -> i64 {
    ((i128::from(found) - i128::from(right)) * 1_000_000 / i128::from(right.max(1))) as i64
}
