//! Metrics: what a workload measures, and how a run is turned into it.

use std::collections::BTreeMap;

use super::job::AnyProgram;
use super::ranks::Ranks;
use hardware::profile::Profile;
use language::marks::{DRIFTED_START, END, HALFWAY, PARTNER_END, PARTNER_START, START};
use runtime::account::{Account, Part};
use runtime::timed::{Mark, Outcome};
use units::{Dimension, Time, TimeDelta};

/// A metric that a workload measures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MetricSpec {
    /// The scenario's word for it.
    pub name: &'static str,
    /// The title in figures, where the word does not say it.
    pub title: Option<&'static str>,
    /// The dimension; `None` for a plain number.
    pub dimension: Option<Dimension>,
    /// The unit that results are in; empty for a count.
    pub unit: &'static str,
    /// Smallest steps of the dimension in one such unit; billionths for a plain number.
    pub steps_per_unit: u64,
}

impl MetricSpec {
    /// A metric in `unit`, which has so many smallest steps of its dimension.
    pub const fn new(
        name: &'static str,
        dimension: Dimension,
        unit: &'static str,
        steps_per_unit: u64,
    ) -> Self {
        Self { name, title: None, dimension: Some(dimension), unit, steps_per_unit }
    }

    /// A length of time, in microseconds.
    pub const fn time(name: &'static str) -> Self {
        Self::new(name, Dimension::Time, "us", 1_000_000)
    }

    /// A plain number; `unit` may be empty.
    pub const fn number(name: &'static str, unit: &'static str) -> Self {
        Self { name, title: None, dimension: None, unit, steps_per_unit: 1_000_000_000 }
    }

    /// The same with a title for figures.
    #[must_use]
    pub const fn titled(self, title: &'static str) -> Self {
        Self { title: Some(title), ..self }
    }
}

/// The measured time: every workload has it, as the last.
pub const TIME: MetricSpec = MetricSpec::time("time");
/// The time of one message one way, or of one call.
pub const LATENCY: MetricSpec = MetricSpec::time("latency");
/// Bytes of all messages over the measured time.
/// Encoding: a MB/s has 8,000,000 bit/s.
pub const BANDWIDTH: MetricSpec =
    MetricSpec::new("bandwidth", Dimension::Bandwidth, "MB/s", 8_000_000);
/// Messages over the measured time.
pub const MESSAGE_RATE: MetricSpec = MetricSpec::new("message_rate", Dimension::Rate, "msg/s", 1);
/// The time of a step.
pub const STEP_TIME: MetricSpec = MetricSpec::time("step_time");
/// The time of a step that a rank spends inside MPI, in the mean.
pub const COMMUNICATION: MetricSpec = MetricSpec::time("communication_time");

/// A run that came to its end, and the metrics that its workload makes of it.
#[derive(Debug)]
pub struct Measured<'a> {
    /// The ranks.
    pub ranks: Ranks,
    /// The machine of every node.
    pub profile: &'a Profile,
    /// The outcome of the run.
    pub outcome: &'a Outcome,
    /// The programs of the ranks at their end; none over the endpoint library.
    pub programs: &'a [AnyProgram],
    /// The measured time.
    pub elapsed: TimeDelta,
    all: Vec<(MetricSpec, f64)>,
}

impl<'a> Measured<'a> {
    /// A run of which nothing is measured yet.
    pub const fn new(
        ranks: Ranks,
        profile: &'a Profile,
        (outcome, elapsed): (&'a Outcome, TimeDelta),
        programs: &'a [AnyProgram],
    ) -> Self {
        Self { ranks, profile, outcome, programs, elapsed, all: Vec::new() }
    }

    /// Adds a metric, in its unit.
    pub fn add(&mut self, metric: MetricSpec, value: f64) {
        self.all.push((metric, value));
    }

    /// The metrics in the order in which they were added.
    pub fn into_metrics(self) -> Vec<(MetricSpec, f64)> {
        self.all
    }

    /// Adds latency and bandwidth of a message that goes there and back `rounds` times.
    pub fn ping_pong(&mut self, bytes: u64, rounds: u64) {
        let one_way = self.elapsed.as_s_f64() / (2.0 * to_f64(rounds));
        self.add(LATENCY, one_way * 1e6);
        self.add(BANDWIDTH, to_f64(bytes) / one_way / 1e6);
    }

    /// Adds the bandwidth of `messages` messages.
    pub fn bandwidth(&mut self, messages: u64, bytes: u64) {
        let rate = to_f64(messages) * to_f64(bytes) / self.elapsed.as_s_f64() / 1e6;
        self.add(BANDWIDTH, rate);
    }

    /// Adds the rate of `messages` messages.
    pub fn message_rate(&mut self, messages: u64) {
        let rate = to_f64(messages) / self.elapsed.as_s_f64();
        self.add(MESSAGE_RATE, rate);
    }

    /// Adds the time of each of `steps` steps.
    pub fn step_time(&mut self, steps: u32) {
        self.add(STEP_TIME, self.elapsed.as_us_f64() / f64::from(steps));
    }
}

/// The marks of a thread's start and end, also where the clock of its partner measures the time.
pub fn brackets(outcome: &Outcome) -> impl Iterator<Item = (&Mark, &Mark)> {
    let name = |mark: &Mark, number| (mark.process, mark.thread, number);
    let mut ends = BTreeMap::new();
    for mark in outcome.marks.iter().filter(|mark| [END, PARTNER_END].contains(&mark.number)) {
        ends.entry(name(mark, mark.number)).or_insert(mark);
    }
    outcome.marks.iter().filter_map(move |start| {
        let end = match start.number {
            START | DRIFTED_START => END,
            PARTNER_START => PARTNER_END,
            _ => return None,
        };
        Some((start, *ends.get(&name(start, end))?))
    })
}

/// The marks with a number, in the order of their times.
pub fn marks(outcome: &Outcome, number: u32) -> impl Iterator<Item = &Mark> {
    outcome.marks.iter().filter(move |mark| mark.number == number)
}

/// Time of the first and of the second half of the measured rounds; `None` where no thread whose clock
/// measures marks the half.
///
/// Threads that begin together have a half behind them when the last one has; of those that have drifted
/// apart it is the mean of what each takes.
pub fn halves(outcome: &Outcome) -> Option<[TimeDelta; 2]> {
    let name = |mark: &Mark| (mark.process, mark.thread);
    let mut middles: BTreeMap<_, [Time; 2]> = BTreeMap::new();
    for mark in marks(outcome, HALFWAY) {
        middles.entry(name(mark)).or_insert([mark.at; 2])[1] = mark.at;
    }
    let measures = |(start, _): &(&Mark, &Mark)| start.number != PARTNER_START;
    let threads = brackets(outcome).filter(measures);
    let threads =
        threads.filter_map(|(start, end)| Some((start, *middles.get(&name(start))?, end)));
    let threads: Vec<(&Mark, [Time; 2], &Mark)> = threads.collect();
    if threads.iter().any(|(start, ..)| start.number == DRIFTED_START) {
        let first = mean(threads.iter().map(|(start, [first, _], _)| first.since(start.at)));
        let second = mean(threads.iter().map(|(_, [_, second], end)| end.at.since(*second)));
        return Some([first, second]);
    }
    let (begun, ended) = between_marks(outcome);
    let [first, second] = [0, 1].map(|of| threads.iter().map(|(_, middle, _)| middle[of]).max());
    Some([first?.since(begun), ended.since(second?)])
}

/// The mean of times; zero of none.
fn mean(times: impl Iterator<Item = TimeDelta>) -> TimeDelta {
    let add = |(sum, count), one: TimeDelta| (sum + u128::from(one.as_ps()), count + 1);
    let (sum, count) = times.fold((0, 0), add);
    let mean = u64::try_from(sum / u128::max(count, 1));
    TimeDelta::from_ps(mean.expect("a mean is below its greatest value"))
}

/// Time inside the library between the marks of a thread: the mean over all threads.
pub fn inside(outcome: &Outcome) -> TimeDelta {
    let spent = brackets(outcome).map(|(start, end)| {
        let account = end.account - start.account;
        account.total() - account.of(Part::Outside)
    });
    mean(spent)
}

/// When the measured time begins: with the first start mark; where threads have drifted apart in a
/// warm-up, so long before the last end mark as they take in the mean.
pub fn begin(outcome: &Outcome) -> Option<Time> {
    let together = marks(outcome, START).map(|mark| mark.at).min();
    let drifted = || {
        let ended = marks(outcome, END).map(|mark| mark.at).max()?;
        marks(outcome, DRIFTED_START).next()?;
        let spent = brackets(outcome).map(|(start, end)| end.at.since(start.at));
        Some(Time::ZERO + (ended.since(Time::ZERO) - mean(spent)))
    };
    together.or_else(drifted)
}

/// From [`begin`] to the last end mark; the whole run where no thread marks both, in this order.
pub fn between_marks(outcome: &Outcome) -> (Time, Time) {
    let ended = marks(outcome, END).map(|mark| mark.at).max();
    match (begin(outcome), ended) {
        (Some(start), Some(end)) if start <= end => (start, end),
        _ => (Time::ZERO, outcome.end),
    }
}

/// The time of all threads between their marks; `None` where no thread has both.
pub fn account(outcome: &Outcome) -> Option<Account> {
    let spent = brackets(outcome).map(|(start, end)| end.account - start.account);
    spent.reduce(|mut sum, one| {
        sum += one;
        sum
    })
}

/// A count as a result.
#[expect(clippy::cast_precision_loss, reason = "results are floats, from here on")]
pub const fn to_f64(value: u64) -> f64 {
    value as f64
}
