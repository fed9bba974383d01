//! One run over time: slices for a timeline, arrows and bars for a sequence figure.

use std::collections::BTreeMap;

use super::explain::spender;
use crate::plan::Point;
use crate::results::{Arrow, Lasting, Sequence, Slice, Timeline};
use engine::{Moment, Stretch};
use hardware::fabric::Kind;
use language::marks::{DRIFTED_START, END, START};
use runtime::causes::{Recorded, Spender, Spent};
use units::Time;

/// The most ranks of a sequence figure.
pub const MOST_RANKS: u32 = 8;

/// Every stretch of time that was kept, on the track of its resource.
///
/// A resource has several tracks where it serves several things at once, so that each track is serial. Things on
/// their way, and things that wait, have a track beside those that are served.
pub fn timeline(point: &Point, recorded: &Recorded) -> Timeline {
    let mut by_track: BTreeMap<(u32, bool), Vec<Stretch>> = BTreeMap::new();
    for stretch in recorded.causes.all() {
        let aside = stands_aside(Spent::of(stretch.tag.phase));
        by_track.entry((stretch.tag.resource, aside)).or_default().push(stretch);
    }
    let mut timeline = Timeline::default();
    let mut places: BTreeMap<Moment, usize> = BTreeMap::new();
    let mut drawn = Vec::new();
    for ((resource, aside), mut stretches) in by_track {
        stretches.sort_by_key(|stretch| (stretch.from, stretch.to, stretch.end));
        let name = spender(point, recorded, resource);
        let name = if aside { format!("{name}, on the way") } else { name };
        for lane in lanes(stretches) {
            let track = timeline.tracks.len();
            timeline.tracks.push(name.clone());
            for stretch in lane {
                places.insert(stretch.end, timeline.slices.len());
                let name = Spent::of(stretch.tag.phase).name();
                let (from_ps, to_ps) = (stretch.from.as_ps(), stretch.to.as_ps());
                timeline.slices.push(Slice { track, name, from_ps, to_ps });
                drawn.push(stretch);
            }
        }
    }
    let flow = |(place, stretch): (usize, &Stretch)| {
        let cause = *places.get(&stretch.cause)?;
        let another = timeline.slices[cause].track != timeline.slices[place].track;
        another.then_some((cause, place))
    };
    timeline.flows = drawn.iter().enumerate().filter_map(flow).collect();
    add_rounds(&mut timeline, recorded);
    timeline
}

/// A track with the measured time; the time before the first mark is warm-up.
fn add_rounds(timeline: &mut Timeline, recorded: &Recorded) {
    let (from, to) = measured(recorded);
    let end = recorded.causes.all().map(|stretch| stretch.to).max().unwrap_or(Time::ZERO);
    let parts = [
        ("warm-up, not measured", Time::ZERO, from),
        ("measured", from, to.min(end)),
        ("after the measured time", to, end),
    ];
    let track = timeline.tracks.len();
    let slice = |(name, from, to): (&'static str, Time, Time)| Slice {
        track,
        name,
        from_ps: from.as_ps(),
        to_ps: to.as_ps(),
    };
    timeline.slices.extend(parts.into_iter().filter(|(_, from, to)| from < to).map(slice));
    timeline.tracks.push("rounds".to_owned());
}

/// Whether a phase takes no place at its resource, so that others are served meanwhile.
const fn stands_aside(spent: Spent) -> bool {
    matches!(
        spent,
        Spent::Order
            | Spent::Queue
            | Spent::Latency
            | Spent::Line
            | Spent::Pace
            | Spent::Lossy
            | Spent::Completion
            | Spent::NotReady
    )
}

/// Stretches by their begin, on as few serial lanes as they need.
fn lanes(stretches: Vec<Stretch>) -> Vec<Vec<Stretch>> {
    let mut lanes: Vec<Vec<Stretch>> = Vec::new();
    for stretch in stretches {
        let free =
            |lane: &&mut Vec<Stretch>| lane.last().is_none_or(|last| last.to <= stretch.from);
        match lanes.iter_mut().find(free) {
            Some(lane) => lane.push(stretch),
            None => lanes.push(vec![stretch]),
        }
    }
    lanes
}

/// From the first start mark to the last end mark; everything where nothing was marked.
fn measured(recorded: &Recorded) -> (Time, Time) {
    let drifted = recorded.marks.get(&DRIFTED_START).map(|&(at, _)| at);
    let begin = recorded.first_marks.get(&START).copied().or(drifted);
    let end = recorded.marks.get(&END).map(|&(at, _)| at);
    begin.zip(end).unwrap_or((Time::ZERO, Time::MAX))
}

/// Whether a packet that left at `left` was sent after the first mark: a call takes time before its packet leaves,
/// so a packet that leaves at the mark itself is the end of the call before it.
///
/// Left out: a library whose calls take no time at all. Noticeable as its first message missing.
fn leaves_after(mark: Time, left: Time) -> bool {
    left > mark || mark == Time::ZERO
}

/// The messages of the measured time of a run, and the long work of its cores; `None` with more than
/// [`MOST_RANKS`] processes.
pub fn sequence(point: &Point, title: &str, recorded: &Recorded) -> Option<Sequence> {
    let ranks = point.placement.processes;
    if ranks > MOST_RANKS {
        return None;
    }
    let (from, to) = measured(recorded);
    let since = |time: Time| time.since(from).as_ps();
    let mut arrows: Vec<Arrow> = recorded
        .messages
        .iter()
        .filter(|message| message.left <= to && leaves_after(from, message.left))
        .map(|message| Arrow {
            from: message.from.0,
            to: message.to.0,
            label: message.label.clone(),
            bytes: message.bytes,
            left_ps: since(message.left),
            came_ps: since(message.came),
            dma: message.dma,
        })
        .collect();
    arrows.sort_by_key(|arrow| (arrow.left_ps, arrow.came_ps, arrow.from, arrow.to));
    let mut bars: Vec<Lasting> = Vec::new();
    for stretch in recorded.causes.all() {
        let Some(rank) = rank_of(recorded, stretch.tag.resource) else { continue };
        let spent = Spent::of(stretch.tag.phase);
        let shown = matches!(
            spent,
            Spent::Copy
                | Spent::Packing
                | Spent::Library
                | Spent::Registration
                | Spent::Outside
                | Spent::Kernel
                | Spent::Pinning
        );
        if !shown {
            continue;
        }
        let (from_ps, to_ps) = (stretch.from.as_ps(), stretch.to.as_ps());
        bars.push(Lasting { rank, name: spent.name(), from_ps, to_ps });
    }
    bars.extend(shared_copies(recorded));
    let begin = from.as_ps();
    bars.retain(|bar| bar.from_ps >= begin && bar.from_ps < to.as_ps());
    for bar in &mut bars {
        (bar.from_ps, bar.to_ps) = (bar.from_ps - begin, bar.to_ps - begin);
    }
    bars.sort_by_key(|bar| (bar.rank, bar.from_ps, bar.to_ps));
    Some(Sequence { title: title.to_owned(), ranks, arrows, bars: joined(bars) })
}

fn rank_of(recorded: &Recorded, resource: u32) -> Option<u32> {
    match recorded.spenders.get(resource as usize)? {
        Spender::Thread(process, _) => Some(process.0),
        Spender::Resource(..) | Spender::Device(_) => None,
    }
}

/// Copies that memory carries stand on its resource: they belong to the core that goes on after them.
fn shared_copies(recorded: &Recorded) -> Vec<Lasting> {
    let all: BTreeMap<Moment, Stretch> =
        recorded.causes.all().map(|stretch| (stretch.end, stretch)).collect();
    let by_core = |resource: u32| {
        let spender = recorded.spenders.get(resource as usize);
        matches!(spender, Some(Spender::Resource(_, Kind::Copies)))
    };
    let copying = |stretch: &Stretch| {
        let spent = Spent::of(stretch.tag.phase);
        let moves = matches!(spent, Spent::Transfer | Spent::Sharing | Spent::Queue);
        moves && rank_of(recorded, stretch.tag.resource).is_none()
    };
    let mut bars = Vec::new();
    for end in all.values() {
        let Some(rank) = rank_of(recorded, end.tag.resource) else { continue };
        let mut way = Vec::new();
        let mut at = end.cause;
        while let Some(stretch) = all.get(&at).filter(|stretch| copying(stretch)) {
            way.push(*stretch);
            at = stretch.cause;
        }
        let begins = all.get(&at).and_then(|stretch| rank_of(recorded, stretch.tag.resource));
        if begins == Some(rank) && way.iter().any(|stretch| by_core(stretch.tag.resource)) {
            let name = Spent::Copy.name();
            bars.extend(way.iter().map(|stretch| {
                let (from_ps, to_ps) = (stretch.from.as_ps(), stretch.to.as_ps());
                Lasting { rank, name, from_ps, to_ps }
            }));
        }
    }
    bars
}

/// Bars that follow each other without a gap are one.
fn joined(bars: Vec<Lasting>) -> Vec<Lasting> {
    let mut joined: Vec<Lasting> = Vec::new();
    for bar in bars {
        match joined.last_mut() {
            Some(last)
                if (last.rank, last.name, last.to_ps) == (bar.rank, bar.name, bar.from_ps) =>
            {
                last.to_ps = bar.to_ps;
            }
            _ => joined.push(bar),
        }
    }
    joined
}
