//! Limits, causes, digests and journals of small simulations.

use super::*;
use crate::digest::mix;
use crate::journal::first_difference;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Count(u64);

impl Event for Count {
    fn fingerprint(&self) -> u64 {
        mix(1, self.0)
    }
}

const TAG: Tag = Tag { resource: 3, phase: 250 };

/// A source that counts down, one event per nanosecond.
fn count_down(from: u64, options: Options) -> Simulation<Count> {
    let mut simulation = Simulation::new(options);
    simulation.schedule(Time::ZERO, SourceId(1), TAG, Count(from));
    simulation
}

fn run(simulation: &mut Simulation<Count>) -> Result<(), LimitReached> {
    while let Some(fired) = simulation.next()? {
        if let Some(left) = fired.event.0.checked_sub(1) {
            simulation.schedule_in(TimeDelta::from_ns(1), SourceId(1), TAG, Count(left));
        }
    }
    Ok(())
}

#[test]
fn a_count_down_from_n_fires_n_plus_one_events_in_n_nanoseconds() {
    let mut simulation = count_down(1_000, Options::default());
    assert_eq!(run(&mut simulation), Ok(()));
    assert_eq!((simulation.events(), simulation.pending()), (1_001, 0));
    assert_eq!(simulation.now(), Time::from_ps(1_000_000));
}

#[test]
fn every_event_knows_its_cause_and_its_tag() {
    let mut simulation = Simulation::new(Options::default());
    for source in [4, 2] {
        simulation.schedule(Time::ZERO, SourceId(source), TAG, Count(0));
    }
    let first = simulation.next().unwrap().unwrap();
    assert_eq!((first.number, first.source, first.cause, first.tag), (1, SourceId(2), 0, TAG));
    simulation.schedule(Time::ZERO, SourceId(0), Tag { resource: u32::MAX, phase: 0 }, Count(1));
    let second = simulation.next().unwrap().unwrap();
    assert_eq!((second.number, second.source, second.cause), (2, SourceId(4), 0));
    simulation.schedule(Time::ZERO, SourceId(0), TAG, Count(1));
    let third = simulation.next().unwrap().unwrap();
    assert_eq!((third.number, third.round, third.cause, third.tag.resource), (3, 1, 1, u32::MAX));
    assert_eq!(simulation.next().unwrap().unwrap().cause, 2);
}

#[test]
fn the_limit_of_events_names_itself_the_time_and_the_count() {
    let limits = Limits { events: 10, ..Limits::default() };
    let mut simulation = count_down(1_000, Options { limits, ..Options::default() });
    let reached = run(&mut simulation).unwrap_err();
    let now = Time::from_ps(9_000);
    assert_eq!(reached, LimitReached::Events { limit: 10, now, pending: 1 });
    assert_eq!(
        reached.to_string(),
        "the limit of 10 events was reached at 9 ns; 1 more are pending"
    );
    assert_eq!(simulation.events(), 10);
}

#[test]
fn the_limit_of_time_names_itself_the_time_and_the_count() {
    let limits = Limits { time: Time::from_ps(4_999), ..Limits::default() };
    let mut simulation = count_down(1_000, Options { limits, ..Options::default() });
    let reached = run(&mut simulation).unwrap_err();
    let [limit, next, now] = [4_999, 5_000, 4_000].map(Time::from_ps);
    assert_eq!(reached, LimitReached::Time { limit, next, now, events: 5 });
    assert_eq!(
        reached.to_string(),
        "the limit of 4.999 ns of simulated time was reached after 5 events; the next one is due \
         at 5 ns"
    );
    assert_eq!(run(&mut simulation), Err(reached), "asking again changes nothing");
}

#[test]
fn a_run_that_ends_on_its_limits_ends_well() {
    let limits = Limits { events: 11, time: Time::from_ps(10_000), ..Limits::default() };
    let mut simulation = count_down(10, Options { limits, ..Options::default() });
    assert_eq!(run(&mut simulation), Ok(()));
}

#[test]
fn a_pause_keeps_events_back_and_changes_none() {
    let mut whole = count_down(10, Options::default());
    run(&mut whole).unwrap();
    let mut simulation = count_down(10, Options::default());
    for pause in [0, 3, 4, 11] {
        simulation.pause_at(pause);
        run(&mut simulation).unwrap();
        assert_eq!((simulation.events(), simulation.pauses()), (pause, true));
        assert_eq!(simulation.limit_reached(), None, "a pause is no limit");
    }
    simulation.pause_at(u64::MAX);
    assert_eq!(simulation.next_event(), None);
    assert!(!simulation.pauses());
    assert_eq!(simulation.digest(), whole.digest());
}

#[test]
fn a_pause_does_not_pass_the_limit_of_events() {
    let limits = Limits { events: 5, ..Limits::default() };
    let mut simulation = count_down(10, Options { limits, ..Options::default() });
    simulation.pause_at(7);
    assert!(run(&mut simulation).is_err());
    assert_eq!((simulation.events(), simulation.pauses()), (5, false));
}

#[test]
#[should_panic(expected = "an event is scheduled at 0 ps, before 1000 ps")]
fn nothing_is_scheduled_in_the_past() {
    let mut simulation = count_down(1, Options::default());
    run(&mut simulation).unwrap();
    simulation.schedule(Time::ZERO, SourceId(0), TAG, Count(0));
}

#[test]
fn sixteen_bytes_of_event_wait_in_an_entry_of_48() {
    assert!(size_of::<Pending<[u64; 2]>>() <= 32, "48 with time and source");
}

#[test]
fn the_last_50_events_before_the_stop_are_kept() {
    let options = Options { journal: Some(JournalMode::Last(50)), ..Options::default() };
    let mut simulation = count_down(1_000, options);
    run(&mut simulation).unwrap();
    let kept: Vec<Record> = simulation.journal().unwrap().records().copied().collect();
    assert_eq!(kept.len(), 50);
    assert!(kept.iter().zip(952..).all(|(record, number)| record.number == number));
    assert!(kept.iter().all(|record| record.cause == record.number - 1 && record.tag == TAG));
    assert_eq!(kept[49].fingerprint, Count(0).fingerprint());
}

#[test]
fn a_journal_of_a_stretch_holds_that_stretch() {
    let options = Options { journal: Some(JournalMode::Between(5, 7)), ..Options::default() };
    let mut simulation = count_down(1_000, options);
    run(&mut simulation).unwrap();
    let numbers: Vec<u64> =
        simulation.journal().unwrap().records().map(|record| record.number).collect();
    assert_eq!(numbers, [5, 6, 7]);
}

/// A count down whose event `odd_one` has another content.
fn journal_of(events: u64, odd_one: u64) -> Journal {
    let options = Options { journal: Some(JournalMode::All), ..Options::default() };
    let mut simulation = Simulation::new(options);
    for number in 1..=events {
        let content = if number == odd_one { 99 } else { 5 };
        simulation.schedule(Time::from_ps(number), SourceId(0), TAG, Count(content));
    }
    while simulation.next().unwrap().is_some() {}
    simulation.journal().unwrap().clone()
}

#[test]
fn the_first_difference_is_named_with_what_surrounds_it() {
    let (usual, odd) = (journal_of(20, 0), journal_of(20, 7));
    assert_eq!(first_difference(&usual, &usual.clone(), 2), None);
    let difference = first_difference(&usual, &odd, 2).unwrap();
    assert_eq!(difference.number, 7);
    let (left, right) = difference.events();
    assert_eq!(left.unwrap().fingerprint, Count(5).fingerprint());
    assert_eq!(right.unwrap().fingerprint, Count(99).fingerprint());
    assert_eq!((difference.left.len(), difference.right.len()), (5, 5));
    let shown = difference.to_string();
    assert!(shown.starts_with("event 7 is the first that differs\nfirst run:\n  event 5 at 5 ps"));
    assert_eq!(shown.matches("\n> event 7 at 7 ps round 0 from source 0: ").count(), 2, "{shown}");
}

#[test]
fn a_run_that_ends_earlier_differs_where_it_ends() {
    let (long, short) = (journal_of(20, 0), journal_of(12, 0));
    let difference = first_difference(&long, &short, 3).unwrap();
    assert_eq!(difference.number, 13);
    assert_eq!(difference.events().1, None);
    assert!(difference.to_string().ends_with("> ended before\n"));
    let none = journal_of(0, 0);
    assert_eq!(first_difference(&none, &long, 3).map(|difference| difference.number), Some(1));
}
