//! Runs the points of a plan, side by side, with the same result for any number of jobs.
//!
//! Every point is one simulation on one thread with the scenario's seed; nothing of a point depends
//! on which thread ran it or on what ran before. Results stand in point order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::dependence;
use super::host;
use super::judge;
use super::plan::{self, Plan, Point};
use super::results::{PointResult, RunResult};
use super::store::StoreError;
use engine::{Digest, Keep, LimitReached};
use job::Noted;
use runtime::causes::Recorded;
use runtime::timed::{Ending, Outcome};
use units::Time;
use workloads::job::AnyProgram;

pub mod account;
pub mod end;
pub mod events;
pub mod explain;
pub mod goal;
pub mod job;
pub mod metrics;
pub mod timeline;
mod transient;

/// Events of a look at the begin of a point.
const PROBE: u64 = 10_000;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions<'a> {
    /// Points that run side by side; at least 1.
    pub jobs: usize,
    /// Whether each point is explained.
    pub explain: bool,
    /// Set from outside to stop between points.
    pub stop: &'a AtomicBool,
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Stopped from outside; the points that were done are kept.
    #[error("stopped after {done} of {total} points")]
    Stopped {
        /// Points that are done.
        done: usize,
        /// Points of the sweep.
        total: usize,
    },
    /// A defect of this program.
    #[error("internal error at point {index} ({params}): {message}")]
    Internal {
        /// Which point.
        index: usize,
        /// Its swept values.
        params: String,
        /// The message of the panic.
        message: String,
    },
    /// A point could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why one point has no result.
#[derive(Debug, thiserror::Error)]
pub enum PointError {
    /// The limit that it passes before anything of it is built.
    #[error(transparent)]
    Limit(LimitReached),
    /// A defect of this program, in words.
    #[error("{0}")]
    Defect(String),
}

/// Runs all points that `done` does not hold and judges the claims.
///
/// `keep` receives each new point as soon as it is complete.
///
/// # Errors
///
/// [`RunError`]; points that were kept stay kept.
pub fn run(
    plan: &Plan,
    options: RunOptions<'_>,
    done: &[PointResult],
    keep: &mut (dyn FnMut(&PointResult) -> Result<(), StoreError> + Send),
) -> Result<RunResult, RunError> {
    let mut points: Vec<Option<PointResult>> = vec![None; plan.points.len()];
    for point in done {
        points[point.index] = Some(point.clone());
    }
    let open: Vec<&Point> =
        plan.points.iter().filter(|point| points[point.index].is_none()).collect();
    for point in run_points(&plan::runs(&open), options, keep)? {
        let index = point.index;
        points[index] = Some(point);
    }
    let total = points.len();
    let done = points.iter().flatten().count();
    if done < total {
        return Err(RunError::Stopped { done, total });
    }
    Ok(gather(plan, points.into_iter().flatten().collect()))
}

/// Runs points, given by the run that they share ([`plan::runs`]); those that were not started when it was stopped are
/// left out.
///
/// `keep` receives each point as soon as it is complete.
///
/// # Errors
///
/// [`RunError`]; points that were kept stay kept.
pub fn run_points(
    open: &[Vec<&Point>],
    options: RunOptions<'_>,
    keep: &mut (dyn FnMut(&PointResult) -> Result<(), StoreError> + Send),
) -> Result<Vec<PointResult>, RunError> {
    let keep = Mutex::new(keep);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.jobs.max(1)).build();
    let one = |points: &Vec<&Point>| {
        if options.stop.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let keep_causes = if options.explain { Keep::Causes } else { Keep::Nothing };
        let results = results(points, keep_causes)?;
        let mut keep = keep.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        results.iter().try_for_each(&mut **keep)?;
        Ok(results)
    };
    let results: Result<Vec<Vec<PointResult>>, RunError> = match pool {
        // One run after the other is handed out: the outermost axis is often the cheapest first.
        Ok(pool) => pool.install(|| open.par_iter().with_max_len(1).map(one).collect()),
        // The system gives no threads: the same points on this one.
        Err(_) => open.iter().map(one).collect(),
    };
    Ok(results?.into_iter().flatten().collect())
}

/// The results of points that are one run.
fn results(points: &[&Point], keep: Keep) -> Result<Vec<PointResult>, RunError> {
    let Some(first) = points.first() else { return Ok(Vec::new()) };
    let ran = simulated(first, keep).map_err(|error| point_error(first, &error))?;
    Ok(points.iter().map(|point| ran.result(point)).collect())
}

/// The result of a plan whose points are all there, in point order.
///
/// # Panics
///
/// When a point's digest is no digest: the store checks them.
pub fn gather(plan: &Plan, points: Vec<PointResult>) -> RunResult {
    let digests = points.iter().map(|point| -> Digest {
        point.digest.parse().expect("a point's digest was printed by this program")
    });
    let digest = Digest::of_digests(digests).to_string();
    let mut claims = judge::claims(plan, &points);
    dependence::mark(&mut claims, plan.shipped, &plan.name, &digest);
    RunResult {
        scenario: plan.name.clone(),
        title: plan.title.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        digest,
        points,
        claims,
        what_if: Vec::new(),
    }
}

/// Runs one point; returns its result, and its causes where `keep` asks for them.
///
/// # Errors
///
/// [`PointError`] where this program has a defect.
pub fn run_point(
    point: &Point,
    keep: Keep,
) -> Result<(PointResult, Option<Box<Recorded>>), PointError> {
    let mut ran = simulated(point, keep)?;
    Ok((ran.result(point), ran.causes()))
}

/// The outcome of a run; the metrics of its points are read from it.
enum Simulated {
    /// It is not started.
    Refused(LimitReached),
    /// It is over.
    Over(Box<(Outcome, Noted)>),
}

fn simulated(point: &Point, keep: Keep) -> Result<Simulated, PointError> {
    match outcome(point, keep) {
        Err(PointError::Limit(limit)) => Ok(Simulated::Refused(limit)),
        ran => Ok(Simulated::Over(Box::new(ran?))),
    }
}

impl Simulated {
    fn result(&self, point: &Point) -> PointResult {
        let (outcome, noted) = match self {
            Self::Refused(limit) => return refused(point, limit),
            Self::Over(ran) => &**ran,
        };
        let mut result = metrics::point(point, outcome, noted);
        if let Some(failure) = noted.programs.iter().find_map(AnyProgram::failure) {
            result.failure = Some(failure.what);
            result.exit_status = failure.status;
            (result.metrics, result.explanation, result.transient) = (Vec::new(), None, None);
        }
        result
    }

    fn causes(&mut self) -> Option<Box<Recorded>> {
        match self {
            Self::Refused(_) => None,
            Self::Over(ran) => ran.0.causes.take(),
        }
    }
}

/// A point that is not started.
fn refused(point: &Point, limit: &LimitReached) -> PointResult {
    PointResult {
        digest: Digest::of_digests([]).to_string(),
        failure: Some(host::limit_in_words(point.limits, limit)),
        limited: true,
        ..PointResult::at(point.index, point.params.clone())
    }
}

/// The message of the limit of simulated time where it ends a point before the first event after time zero.
pub fn ends_at_once(point: &Point) -> Option<String> {
    let mut probe = point.clone();
    probe.limits.events = probe.limits.events.min(PROBE);
    match outcome(&probe, Keep::Nothing).ok()?.0.ending {
        Ending::Limit(limit @ LimitReached::Time { now: Time::ZERO, .. }) => {
            Some(limit.to_string())
        }
        Ending::Limit(_)
        | Ending::Deadlock(_)
        | Ending::ClockStands { .. }
        | Ending::Protocol { .. }
        | Ending::Fault(_)
        | Ending::Crashed { .. }
        | Ending::Finished => None,
    }
}

fn outcome(point: &Point, keep: Keep) -> Result<(Outcome, Noted), PointError> {
    if let Some(limit) = job::too_large(point) {
        return Err(PointError::Limit(limit));
    }
    let ran = catch_unwind(AssertUnwindSafe(|| job::run(point, keep)));
    let ran = ran.map_err(|panic| PointError::Defect(panic_message(&*panic)))?;
    ran.map_err(|error| PointError::Defect(error.to_string()))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

fn point_error(point: &Point, error: &PointError) -> RunError {
    let index = point.index;
    let params: Vec<String> =
        point.params.iter().map(|(path, value)| format!("{path} = {value}")).collect();
    let params = if params.is_empty() { "no sweep".to_owned() } else { params.join(", ") };
    RunError::Internal { index, params, message: error.to_string() }
}
