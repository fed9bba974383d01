//! Where the time of a message went: from the accounts of a run to the scenario's metrics.
//!
//! Times are sums over all threads, senders' and receivers', between their start and end marks,
//! divided by the messages of the timed rounds.

use super::job::Noted;
use super::metrics::{measured, messages, to_f64};
use crate::plan::{Point, Workload};
use crate::results::Metric;
use protocols::xios_ep::library::Counts;
use runtime::account::{Account, Part};
use runtime::timed::{Mark, Outcome};
use units::TimeDelta;
use workloads::windowed::{END, START};

/// The metrics of the account; none where nothing was marked.
pub fn metrics(point: &Point, outcome: &Outcome, noted: Noted) -> Vec<Metric> {
    let count = messages(point);
    let Some(account) = timed(outcome).filter(|_| count > 0.0) else { return Vec::new() };
    let longest = noted.longest;
    let each = |time: units::TimeDelta| time.as_us_f64() / count;
    let counts = [
        ("agents", to_f64(agents(point)), ""),
        ("entries_per_message", to_f64(account.entries) / count, ""),
        ("longest_posted", to_f64(longest.posted as u64), ""),
        ("longest_unexpected", to_f64(longest.unexpected as u64), ""),
        ("fork_join_share", 100.0 * fork_join(outcome), "%"),
        ("lock_hold", each(account.held), "us"),
    ];
    let parts = PARTS.map(|(name, part)| (name, each(account.of(part)), "us"));
    let library = noted.endpoints.into_iter().flat_map(of_endpoints);
    let copiers = copiers(point, outcome, &account).map(|copiers| ("copiers", copiers, ""));
    let all = counts.into_iter().chain(parts).chain(library).chain(copiers);
    all.map(|(name, value, unit)| Metric { name: name.to_owned(), value, unit }).collect()
}

/// Processes of a ping-pong that copy, what the kernel does for it included, in the mean over its time.
fn copiers(point: &Point, outcome: &Outcome, account: &Account) -> Option<f64> {
    let Workload::PingPong { .. } = point.workload else { return None };
    Some(account.copying().as_us_f64() / measured(outcome).as_us_f64())
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

/// What reports call a metric that is a part of a thread's time.
pub fn part_in_words(metric: &str) -> Option<&'static str> {
    PARTS.iter().find(|(name, _)| *name == metric).map(|(_, part)| part.name())
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
        Workload::Collective { ranks_per_node, .. } => {
            u64::from(*ranks_per_node) * u64::from(point.threads)
        }
        Workload::Tiles(_)
        | Workload::Packing(_)
        | Workload::Gpu(_)
        | Workload::Application(_)
        | Workload::OneSided(_) => u64::from(point.placement.per_node),
        Workload::Bandwidth { pairs, .. } => u64::from(*pairs),
        Workload::PingPong { .. } | Workload::Goal(_) | Workload::Program(_) => 1,
    }
}

/// The marks of a thread's start and end.
pub(super) fn brackets(outcome: &Outcome) -> impl Iterator<Item = (&Mark, &Mark)> {
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

/// Time inside the library between the marks: the mean over all threads.
///
/// # Panics
///
/// Never: a mean is below its greatest value.
pub fn inside(outcome: &Outcome) -> TimeDelta {
    let spent = brackets(outcome).map(|(start, end)| {
        let account = end.account - start.account;
        u128::from((account.total() - account.of(Part::Outside)).as_ps())
    });
    let (sum, threads) = spent.fold((0, 0), |(sum, threads), one| (sum + one, threads + 1));
    let mean = u64::try_from(sum / u128::max(threads, 1));
    TimeDelta::from_ps(mean.expect("a mean is below its greatest value"))
}

/// Part of the timed region in which a first thread creates and joins others: the worst process.
fn fork_join(outcome: &Outcome) -> f64 {
    let outside =
        brackets(outcome).map(|(start, end)| (end.account - start.account).of(Part::Outside));
    let most = outside.max().unwrap_or_default();
    let elapsed = measured(outcome).as_us_f64();
    if elapsed > 0.0 { most.as_us_f64() / elapsed } else { 0.0 }
}
