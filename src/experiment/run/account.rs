//! Where the time of a message went: from the accounts of a run to the scenario's metrics.
//!
//! Times are sums over all threads, senders' and receivers', between their start and end marks,
//! divided by the messages of the timed rounds.

use super::job::Noted;
use super::metrics::{measured, messages, to_f64};
use crate::experiment::plan::{Point, Workload};
use crate::experiment::results::Metric;
use crate::protocols::xios_ep::library::Counts;
use crate::runtime::account::{Account, Part};
use crate::runtime::timed::{Mark, Outcome};
use crate::workloads::windowed::{END, START};

/// The metrics of the account; none where nothing was marked.
pub fn metrics(point: &Point, outcome: &Outcome, noted: Noted) -> Vec<Metric> {
    let count = messages(point);
    let Some(account) = timed(outcome).filter(|_| count > 0.0) else { return Vec::new() };
    let longest = noted.longest;
    let each = |time: crate::units::TimeDelta| time.as_us_f64() / count;
    let part = |part| each(account.of(part));
    let all = [
        ("agents", to_f64(agents(point)), ""),
        ("entries_per_message", to_f64(account.entries) / count, ""),
        ("longest_posted", to_f64(longest.posted as u64), ""),
        ("longest_unexpected", to_f64(longest.unexpected as u64), ""),
        ("fork_join_share", 100.0 * fork_join(outcome), "%"),
        ("lock_hold", each(account.held), "us"),
        ("lock_wait", part(Part::Lock), "us"),
        ("walk_time", part(Part::Walk), "us"),
        ("poll_time", part(Part::Poll), "us"),
        ("post_time", part(Part::Post), "us"),
        ("library_time", part(Part::Library), "us"),
        ("copy_time", part(Part::Copy), "us"),
        ("wait_time", part(Part::Wait), "us"),
        ("outside_time", part(Part::Outside), "us"),
    ];
    let metric =
        |(name, value, unit): (&str, f64, _)| Metric { name: name.to_owned(), value, unit };
    all.into_iter().chain(noted.endpoints.into_iter().flat_map(of_endpoints)).map(metric).collect()
}

/// What the endpoint library did, over the whole run.
fn of_endpoints(counts: Counts) -> [(&'static str, f64, &'static str); 3] {
    let share = |part: u64, of: u64| to_f64(part) / to_f64(of.max(1));
    [
        ("probes_per_message", share(counts.probes, counts.drained), ""),
        ("drained_per_check", share(counts.drained, counts.checks), ""),
        ("longest_list", to_f64(counts.longest_list as u64), ""),
    ]
}

/// Threads that send, on each node that does.
fn agents(point: &Point) -> u64 {
    match &point.workload {
        Workload::MessageRate { senders_per_node, .. } => {
            u64::from(*senders_per_node) * u64::from(point.threads)
        }
        Workload::Collective { ranks_per_node, .. } => u64::from(*ranks_per_node),
        Workload::PingPong { .. } | Workload::Bandwidth { .. } | Workload::Program(_) => 1,
    }
}

/// The marks of a thread's start and end.
fn brackets(outcome: &Outcome) -> impl Iterator<Item = (&Mark, &Mark)> {
    let of = |number| outcome.marks.iter().filter(move |mark| mark.number == number);
    of(START).filter_map(move |start| {
        let same = |end: &&Mark| (end.process, end.thread) == (start.process, start.thread);
        Some((start, of(END).find(same)?))
    })
}

/// The time of all threads between their marks.
fn timed(outcome: &Outcome) -> Option<Account> {
    let spent = brackets(outcome).map(|(start, end)| end.account - start.account);
    spent.reduce(|mut sum, one| {
        sum += one;
        sum
    })
}

/// Part of the timed region in which a first thread creates and joins others: the worst process.
fn fork_join(outcome: &Outcome) -> f64 {
    let outside =
        brackets(outcome).map(|(start, end)| (end.account - start.account).of(Part::Outside));
    let most = outside.max().unwrap_or_default();
    let elapsed = measured(outcome).as_us_f64();
    if elapsed > 0.0 { most.as_us_f64() / elapsed } else { 0.0 }
}
