//! Where two runs part: the first event that differs, with the events around it in words.
//!
//! ```text
//!   run both ─▶ digests every 2^16 events ─bisect─▶ one stretch ─▶ run both again, keep the stretch
//! ```
//!
//! Memory is bounded by the stretch, whatever the length of the runs.

use super::explain::spender_name;
use super::{PointError, metrics, outcome};
use crate::plan::Point;
use crate::results::{Happened, Parting, PointResult};
use engine::{
    Difference, Digest, EVENTS_PER_CHECKPOINT, Journal, JournalMode, Keep, bisect, first_difference,
};
use runtime::event_text::EventText;

/// A run that can be compared event by event.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Its result, explained.
    pub result: PointResult,
    /// How many events it has.
    pub events: u64,
    checkpoints: Vec<Digest>,
}

/// Runs a point with its explanation, and keeps the digests that a comparison of its events needs.
///
/// # Errors
///
/// [`PointError`] where the point is too large to begin, or this program has a defect.
pub fn traced(point: &Point) -> Result<Traced, PointError> {
    let (mut outcome, noted) = outcome(point, Keep::Causes)?;
    let result = metrics::point(point, &outcome, &noted);
    let checkpoints = std::mem::take(&mut outcome.checkpoints);
    Ok(Traced { result, events: outcome.events, checkpoints })
}

/// Where two runs part, with up to `reach` events before and after it; `None` where they do not.
///
/// # Errors
///
/// [`PointError`] where this program has a defect.
pub fn parting(
    left: (&Point, &Traced),
    right: (&Point, &Traced),
    reach: u64,
) -> Result<Option<Parting>, PointError> {
    let (first, last) = stretch(&left.1.checkpoints, &right.1.checkpoints);
    let keep = Keep::Events(first.saturating_sub(reach).max(1), last.saturating_add(reach));
    let told = |point: &Point| outcome(point, keep).map(|(outcome, _)| outcome.told);
    let (lefts, rights) = (told(left.0)?, told(right.0)?);
    let found = first_difference(&journal(&lefts), &journal(&rights), reach);
    Ok(found.map(|Difference { number, .. }| {
        let near = number.saturating_sub(reach)..=number.saturating_add(reach);
        let around = |point: &Point, told: &[EventText]| {
            let near = told.iter().filter(|one| near.contains(&one.record.number));
            near.map(|one| happened(point, one)).collect()
        };
        Parting { number, left: around(left.0, &lefts), right: around(right.0, &rights) }
    }))
}

/// The events among which the first that differs must be: after the last digest that both share.
fn stretch(left: &[Digest], right: &[Digest]) -> (u64, u64) {
    bisect(left, right).unwrap_or_else(|| {
        let common = left.len().min(right.len()) as u64;
        let before = common * EVENTS_PER_CHECKPOINT;
        (before + 1, before + EVENTS_PER_CHECKPOINT)
    })
}

fn journal(told: &[EventText]) -> Journal {
    let mut journal = Journal::new(JournalMode::All);
    for one in told {
        journal.record(one.record);
    }
    journal
}

fn happened(point: &Point, told: &EventText) -> Happened {
    let EventText { record, words } = told;
    Happened {
        number: record.number,
        at: record.time,
        place: spender_name(point, &words.place),
        what: words.what.clone(),
        cause: record.cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stretch_follows_the_last_digest_that_both_share() {
        let digests: Vec<Digest> = (0..4_u8).map(|one| Digest::of_bytes(&[one])).collect();
        let (every, other) = (EVENTS_PER_CHECKPOINT, Digest::of_bytes(b"other"));
        assert_eq!(stretch(&[], &[]), (1, every));
        assert_eq!(stretch(&digests, &digests), (4 * every + 1, 5 * every));
        assert_eq!(stretch(&digests, &digests[..2]), (2 * every + 1, 3 * every));
        assert_eq!(stretch(&digests, &[digests[0], other]), (every + 1, 2 * every));
    }
}
