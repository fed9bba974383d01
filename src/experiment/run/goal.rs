//! A scenario as a schedule in GOAL: the calls that its processes make, recorded from their programs.

use super::job;
use crate::plan::Plan;
use runtime::loggops::schedule::Schedule;
use workloads::import::goal::record::record;

/// The calls of the processes of `plan` as a schedule.
///
/// # Errors
///
/// Why GOAL cannot express them.
pub fn schedule(plan: &Plan) -> Result<Schedule, String> {
    let [point] = &plan.points[..] else {
        let points = plan.points.len();
        return Err(format!("it has a sweep of {points} points, and a schedule is of one"));
    };
    if let Some(schedule) = point.workload.schedule()? {
        return Ok(schedule);
    }
    if point.progress_thread {
        return Err("its ranks have progress threads, and a schedule has none".to_owned());
    }
    if point.threads > 1 {
        return Err(format!("its processes have {} threads, and a rank has one", point.threads));
    }
    record(job::build(point).programs).map_err(|why| why.to_string())
}
