//! The points of a sweep: how many run at a time, how far they are, and why one failed.

use indicatif::{ProgressBar, ProgressStyle};

use super::terminal::{Problem, Terminal};
use experiment::results::PointResult;
use form::codes;
use report::numbers::in_parentheses;

/// Threads to use: as asked for, or as many as there are cores.
pub(super) fn jobs(asked: Option<usize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.unwrap_or_else(cores)
}

/// A bar that counts points; hidden where no person watches.
pub(super) fn progress(terminal: Terminal, points: usize) -> ProgressBar {
    if !terminal.shows_progress() {
        return ProgressBar::hidden();
    }
    let form = "{bar:40} {pos} of {len} points, {eta} left";
    let style = ProgressStyle::with_template(form).expect("the template is well formed");
    let bar = ProgressBar::new(points as u64).with_style(style);
    bar.tick();
    bar
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
