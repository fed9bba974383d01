//! Metrics of a scenario from the marks of its run.

use std::collections::BTreeMap;

use super::job::Noted;
use super::{account, explain, transient};
use crate::host;
use crate::plan::Point;
use crate::results::{Metric, PointResult, ResourceUse, Spent, Unfired};
use engine::Digest;
use hardware::fabric::Kind;
use runtime::account::{Account, Part};
use runtime::deadlock::Blocked;
use runtime::monitors::{
    LEFT_OPEN, NEVER_RECEIVED, STATEMENT, UNDEFINED_VALUE, UNFINISHED, Violation,
};
use runtime::rules::in_line;
use runtime::timed::{self, Ending, Outcome, Used};
use units::{Time, TimeDelta};
use workloads::job::AnyProgram;
use workloads::metric::{Measured, MetricSpec, TIME};

/// The result of one point.
pub fn point(point: &Point, outcome: &Outcome, noted: &Noted) -> PointResult {
    let failure = failure(point, outcome, &noted.programs);
    let metrics = if failure.is_none() { metrics(point, outcome, noted) } else { Vec::new() };
    PointResult {
        index: point.index,
        params: point.params.clone(),
        digest: digest(outcome, noted).to_string(),
        metrics,
        resources: resources(outcome),
        spent: spent(outcome),
        explanation: if failure.is_none() { explain::explanation(point, outcome) } else { None },
        exit_status: None,
        limited: matches!(outcome.ending, Ending::Limit(_)),
        unfired: outcome.unfired.iter().map(unfired).collect(),
        transient: if failure.is_none() { transient::of(point, outcome) } else { None },
        failure,
    }
}

fn unfired(one: &timed::Unfired) -> Unfired {
    Unfired { fault: one.fault, kind: one.kind.to_owned(), why: one.why.clone() }
}

/// The failure of the simulated program, or the limit that stopped it.
fn failure(point: &Point, outcome: &Outcome, programs: &[AnyProgram]) -> Option<String> {
    let failure = match &outcome.ending {
        Ending::Limit(limit) => Some(host::limit_in_words(point.limits, limit)),
        Ending::Deadlock(deadlock) => Some(deadlock.to_string()),
        Ending::ClockStands { at, askers } => Some(clock_stands(*at, askers)),
        Ending::Protocol { process, line, error } => {
            let site = programs.get(process.0 as usize).and_then(AnyProgram::site);
            let site = site.map(|site| site.beside(error.machine));
            let place = site.unwrap_or_else(|| in_line(*line));
            Some(format!("process {}{place}: {error}", process.0))
        }
        Ending::Fault(failure) => Some(failure.to_string()),
        Ending::Crashed { at, report } => Some(format!("at {at}: {report}")),
        Ending::Finished => None,
    };
    let is_real = programs.first().is_some_and(AnyProgram::is_real);
    let allowed = |one: &&Violation| is_real && goes_on(one, &outcome.violations);
    if is_real {
        remark(&outcome.violations);
    }
    // A statement that went wrong ended its rank, and arguments that do not agree keep ranks apart: for that the others
    // wait.
    let words = |of_causes: bool| {
        let is_cause = |one: &Violation| one.id == STATEMENT || one.id.starts_with("MPI_ERR");
        let chosen = move |one: &&Violation| is_cause(one) == of_causes && !allowed(one);
        outcome.violations.iter().filter(chosen).map(ToString::to_string)
    };
    let all: Vec<String> = words(true).chain(failure).chain(words(false)).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

/// Whether MPI libraries go on where a program breaks a law, as a real one may: benchmarks write the same bytes again and
/// again and do not look at them, and many programs leave to the end of their process what they have made.
fn goes_on(one: &Violation, all: &[Violation]) -> bool {
    // An operation is open at the end where a library still has it.
    let left = [LEFT_OPEN, NEVER_RECEIVED];
    let is_open = || all.iter().any(|other| left.contains(&other.statement));
    one.id == UNDEFINED_VALUE
        || left.contains(&one.statement)
        || UNFINISHED.contains(&one.statement) && is_open()
}

/// Tells the user what MPI leaves undefined, and what no rank has received; `MPI_Finalize` of a real program tells
/// itself what is open.
fn remark(all: &[Violation]) {
    // One of them says enough.
    if let Some(one) = all.iter().find(|one| one.id == UNDEFINED_VALUE) {
        let what = "accesses to a window overlap, which MPI allows and gives no defined value";
        AnyProgram::remark(&format!("{what}: {}: {}", one.objects[0], one.detail));
    }
    let never = all.iter().filter(|one| one.statement == NEVER_RECEIVED);
    let words = counted(never.map(|one| one.detail.as_str()));
    if !words.is_empty() {
        AnyProgram::remark(&words);
    }
}

/// Kinds of messages that are named; of others it is said how many there are.
const NAMED: usize = 4;

/// Sentences about messages that were never received, equal ones counted.
fn counted<'a>(sentences: impl Iterator<Item = &'a str>) -> String {
    let (mut kinds, mut places) = (Vec::<(&str, u64)>::new(), BTreeMap::new());
    for sentence in sentences {
        let place = *places.entry(sentence).or_insert(kinds.len());
        if place == kinds.len() {
            kinds.push((sentence, 0));
        }
        kinds[place].1 += 1;
    }
    let (named, others) = kinds.split_at(kinds.len().min(NAMED));
    let in_words = |(sentence, count): &(&str, u64)| {
        let kind = sentence.strip_prefix("a message ");
        let kind = kind.and_then(|kind| kind.strip_suffix(" was never received"));
        match (kind, count) {
            (Some(kind), 2..) => format!("{count} messages {kind} were never received"),
            (_, _) => (*sentence).to_owned(),
        }
    };
    let mut words: Vec<String> = named.iter().map(in_words).collect();
    match others.iter().map(|(_, count)| count).sum::<u64>() {
        0 => {}
        1 => words.push("and 1 message more".into()),
        more => words.push(format!("and {more} messages more")),
    }
    words.join("; ")
}

fn clock_stands(at: Time, askers: &[Blocked]) -> String {
    let asks: Vec<String> = askers.iter().map(|blocked| format!("  {blocked}")).collect();
    let asks = asks.join("\n");
    format!(
        "the clock stands still at {at}: a call that finds nothing takes no time on this machine, so \
         nothing that is under way, or takes time, ever ends\n{asks}"
    )
}

/// All events of a run; of real programs also what their processes have called and sent.
fn digest(outcome: &Outcome, noted: &Noted) -> Digest {
    let calls = noted.programs.first().and_then(AnyProgram::calls_of_processes);
    calls.map_or(outcome.digest, |calls| {
        Digest::of_digests([outcome.digest, Digest::of_bytes(&calls)])
    })
}

/// The metrics of the workload, the main one first, then the measured time, then the account where the
/// scenario asks for it.
fn metrics(point: &Point, outcome: &Outcome, noted: &Noted) -> Vec<Metric> {
    let (begun, ended) = explain::interval(point, outcome);
    let elapsed = ended.since(begun);
    let (ranks, profile) = (point.ranks(), &point.machine.profile);
    let mut measured = Measured::new(ranks, profile, (outcome, elapsed), &noted.programs);
    point.workload.measure(&mut measured);
    measured.add(TIME, elapsed.as_us_f64());
    if point.account {
        account::measure(point, &mut measured, noted);
    }
    let metric = |(spec, value): (MetricSpec, f64)| Metric {
        name: spec.name.to_owned(),
        value,
        unit: spec.unit,
    };
    measured.into_metrics().into_iter().map(metric).collect()
}

/// Use of every resource over the whole run; cores are one line.
fn resources(outcome: &Outcome) -> Vec<ResourceUse> {
    let elapsed = outcome.end.since(Time::ZERO);
    // The limits of copies by cores are hundreds of lines that say little.
    let shared = outcome.resources.iter().filter(|used| used.kind != Kind::Copies);
    let hardware = shared.map(|Used { name, servers, stats, .. }| ResourceUse {
        name: name.clone(),
        busy: stats.busy.scaled(1, u64::from(*servers)),
        elapsed,
        bytes: stats.raw_bytes,
        packets: stats.packets,
        queue_max: u64::from(stats.queue_max),
    });
    let core = |name: &str, busy| ResourceUse {
        name: name.to_owned(),
        busy,
        elapsed,
        bytes: 0,
        packets: 0,
        queue_max: 0,
    };
    // Means over all cores: time in calls, and time in passes that found an arrival.
    let working = core(ResourceUse::CORES, mean(outcome, Account::working));
    let polling = core(ResourceUse::POLLING, mean(outcome, Account::polling));
    [working, polling].into_iter().chain(hardware.filter(|resource| resource.packets > 0)).collect()
}

/// The mean over all threads of some time of theirs.
fn mean(outcome: &Outcome, of: impl Fn(&Account) -> TimeDelta) -> TimeDelta {
    let sum: u128 = outcome.accounts.iter().map(|thread| u128::from(of(thread).as_ps())).sum();
    let mean = sum / (outcome.accounts.len() as u128).max(1);
    TimeDelta::from_ps(u64::try_from(mean).expect("a mean is below its greatest value"))
}

/// The time of a thread by its parts; parts without time are left out.
fn spent(outcome: &Outcome) -> Vec<Spent> {
    let all = Part::ALL.into_iter().map(|part| Spent {
        part: part.name().to_owned(),
        time: mean(outcome, |thread| thread.of(part)),
    });
    all.filter(|part| part.time > TimeDelta::ZERO).collect()
}
