//! The points of a sweep: how many run at a time, how far they are, and why one failed.

use std::fmt::Write;
use std::time::Duration;

use exec::live::{self, Look};
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use super::terminal::{Problem, Terminal};
use experiment::results::PointResult;
use form::codes;
use report::numbers::in_parentheses;
use units::TimeDelta;

/// Threads to use: as requested, or as many as there are cores.
pub(super) fn jobs(asked: Option<usize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.unwrap_or_else(cores)
}

/// A bar that counts points; hidden where no person watches.
pub(super) fn progress(terminal: Terminal, points: usize) -> ProgressBar {
    if !terminal.shows_progress() {
        return ProgressBar::hidden();
    }
    let form = "{bar:40} {pos} of {len} points{left}{ranks}";
    let style = ProgressStyle::with_template(form).expect("the template is well formed");
    let left = |state: &ProgressState, to: &mut dyn Write| {
        let _ = to.write_str(&left(state.pos(), state.eta()));
    };
    let ranks = |_: &ProgressState, to: &mut dyn Write| {
        let _ = to.write_str(&live::look().map_or_else(String::new, ranks));
    };
    let style = style.with_key("left", left).with_key("ranks", ranks);
    let bar = ProgressBar::new(points as u64).with_style(style);
    bar.tick();
    // A point of real processes may take hours.
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// How long the others will take, once a point is done: before, nothing is known of it.
fn left(done: u64, estimate: Duration) -> String {
    if done == 0 { String::new() } else { format!(", {:#} left", HumanDuration(estimate)) }
}

/// How far the job of real processes is that runs.
fn ranks(Look { ps, calls, slowest }: Look) -> String {
    let behind = slowest.map_or_else(String::new, |(rank, calls)| {
        format!(", fewest by rank {rank}: {}", HumanCount(calls))
    });
    format!("; simulated {}, {} calls of MPI{behind}", TimeDelta::from_ps(ps), HumanCount(calls))
}

/// Why a point failed.
pub(super) fn why_failed(point: &PointResult) -> Problem {
    let why = point.failure.as_deref().unwrap_or_default();
    let code = if point.limited { &codes::POINT_LIMIT } else { &codes::STOPPED };
    Problem::new(code, format!("point {}{}: {why}", point.index, params(point)))
}

/// The swept values of a point in parentheses; nothing without a sweep.
fn params(point: &PointResult) -> String {
    in_parentheses(&point.params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_of_the_time_left_before_a_point_is_done() {
        let estimate = Duration::from_secs(90);
        assert_eq!(left(0, estimate), "");
        assert_eq!(left(1, estimate), ", 2m left");
    }

    #[test]
    fn real_processes_show_how_far_they_are() {
        let look = Look { ps: 1_200_000_000, calls: 12_345, slowest: Some((3, 998)) };
        let words = "; simulated 1.2 ms, 12,345 calls of MPI, fewest by rank 3: 998";
        assert_eq!(ranks(look), words);
    }
}
