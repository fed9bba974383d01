//! Where the time of a message went: from the accounts of a run to the scenario's metrics.
//!
//! Times are sums over all threads, senders' and receivers', between their start and end marks,
//! divided by the messages of the timed rounds.

use super::job::Noted;
use crate::plan::Point;
use runtime::account::Part;
use runtime::timed::Outcome;
use units::TimeDelta;
use workloads::metric::{self, Measured, MetricSpec, between_marks, brackets, to_f64};
use xios_ep::library::Counts;

/// Adds the account; nothing where no message is counted.
pub(super) fn measure(point: &Point, run: &mut Measured<'_>, noted: &Noted) {
    let ranks = point.ranks();
    let count = to_f64(point.workload.messages(&ranks));
    let Some(account) = metric::account(run.outcome).filter(|_| count > 0.0) else { return };
    let longest = noted.longest;
    let each = |time: TimeDelta| time.as_us_f64() / count;
    let counts = [
        ("agents", to_f64(point.workload.senders(&ranks)), ""),
        ("entries_per_message", to_f64(account.entries) / count, ""),
        ("longest_posted", to_f64(longest.posted as u64), ""),
        ("longest_unexpected", to_f64(longest.unexpected as u64), ""),
        ("fork_join_share", 100.0 * fork_join(run.outcome), "%"),
    ];
    for (name, value, unit) in counts {
        run.add(MetricSpec::number(name, unit), value);
    }
    run.add(MetricSpec::time("lock_hold"), each(account.held));
    for (name, part) in PARTS {
        run.add(MetricSpec::time(name), each(account.of(part)));
    }
    for (name, value) in noted.endpoints.into_iter().flat_map(of_endpoints) {
        run.add(MetricSpec::number(name, ""), value);
    }
    point.workload.measure_account(run, &account);
}

/// The metric of each part of a thread's time.
const PARTS: [(&str, Part); Part::ALL.len()] = [
    ("lock_wait", Part::Lock),
    ("walk_time", Part::Walk),
    ("poll_time", Part::Poll),
    ("post_time", Part::Post),
    ("library_time", Part::Library),
    ("kernel_time", Part::Kernel),
    ("copy_time", Part::Copy),
    ("wait_time", Part::Wait),
    ("outside_time", Part::Outside),
];

/// The name in reports of a metric that is a part of a thread's time.
pub fn part_in_words(metric: &str) -> Option<&'static str> {
    PARTS.iter().find(|(name, _)| *name == metric).map(|(_, part)| part.name())
}

/// Counts of the endpoint library over the whole run.
fn of_endpoints(counts: Counts) -> [(&'static str, f64); 3] {
    let share = |part: u64, of: u64| to_f64(part) / to_f64(of.max(1));
    [
        ("probes_per_message", share(counts.probes, counts.drained)),
        ("drained_per_check", share(counts.drained, counts.checks)),
        ("longest_list", to_f64(counts.longest_list as u64)),
    ]
}

/// Part of the timed region in which a first thread creates and joins others: the worst process.
fn fork_join(outcome: &Outcome) -> f64 {
    let outside =
        brackets(outcome).map(|(start, end)| (end.account - start.account).of(Part::Outside));
    let most = outside.max().unwrap_or_default();
    let (begun, ended) = between_marks(outcome);
    let elapsed = ended.since(begun).as_us_f64();
    if elapsed > 0.0 { most.as_us_f64() / elapsed } else { 0.0 }
}
