//! Planted bugs of the library, each in the smallest world in which the named law finds it, over
//! every order of events; and changes that must not matter, which nothing may find.
//!
//! `cargo test --features mutants --test mutants library -- --nocapture` prints the table.

#![allow(clippy::wildcard_enum_match_arm, reason = "a few replies of many")]

mod calls;
mod collectives;
mod endpoints;
mod groups;
mod large;
mod matching;
mod one_sided;
mod over_mpi;
mod typed;
mod vcis;

use crate::small::{Small, World};
use mpisim::protocols::library::SharedJob;
use mpisim::protocols::mutant::Mutant;
use mpisim::runtime::explore;
use mpisim::runtime::explore::{Budget, Survey};
use mpisim::runtime::monitors::Violation;

/// What the library itself does in a world.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sound {
    /// Every order ends well.
    Ends,
    /// No order ends: the program is wrong, and that is said.
    Stuck,
    /// Every order ends, and the program left something open, which is said.
    LeavesOpen,
    /// Every order ends with a refusal that says this.
    Refused(&'static str),
}

type Judge = Box<dyn Fn(&World) -> Option<Violation>>;

/// A world, what the library does in it, and who is found or not found there.
struct Case {
    world: Small,
    sound: Sound,
    judge: Judge,
    /// Each with the check that must find it: a law, or `deadlock`.
    found: &'static [(Mutant, &'static str)],
    harmless: &'static [Mutant],
}

impl Case {
    fn new(world: Small) -> Self {
        Self { world, sound: Sound::Ends, judge: Box::new(|_| None), found: &[], harmless: &[] }
    }

    /// At a good end `holds` must be true.
    fn judged(
        self,
        law: &'static str,
        statement: &'static str,
        holds: impl Fn(&World) -> bool + 'static,
    ) -> Self {
        let judge = move |world: &World| {
            let detail = "it does not hold at this end".to_owned();
            let broken = Violation { id: law, statement, objects: Vec::new(), detail };
            (!holds(world)).then_some(broken)
        };
        Self { judge: Box::new(judge), ..self }
    }

    /// The same without its world.
    fn tried(self) -> Tried {
        let Self { world, sound, judge, found, harmless } = self;
        let survey = move |mutant: Option<Mutant>, states| {
            let start = world.world_of(|job| planted(job, mutant));
            explore::judged(&start, Budget { states, reduce: false }, &judge)
        };
        Tried { survey: Box::new(survey), sound, found, harmless }
    }
}

fn planted(job: SharedJob, mutant: Option<Mutant>) -> SharedJob {
    match mutant {
        Some(mutant) => job.with(mutant),
        None => job,
    }
}

/// A case whose world may be of any machines: what is found of a mutant after so many states.
struct Tried {
    survey: Box<dyn Fn(Option<Mutant>, usize) -> Survey>,
    sound: Sound,
    found: &'static [(Mutant, &'static str)],
    harmless: &'static [Mutant],
}

impl Tried {
    fn survey(&self, mutant: Option<Mutant>, states: usize) -> Survey {
        (self.survey)(mutant, states)
    }

    /// Whether nothing but what belongs to the world was found.
    fn is_sound(&self, survey: &Survey) -> bool {
        let found: Vec<&str> = survey.violations.iter().map(|(broken, _)| broken.id).collect();
        match self.sound {
            Sound::Ends => survey.is_clean(),
            Sound::Stuck => {
                survey.complete
                    && survey.finals == 0
                    && found.is_empty()
                    && survey.faults.is_empty()
            }
            Sound::LeavesOpen => survey.complete && survey.dead == 0 && found == ["S4"],
            Sound::Refused(words) => {
                let mut faults = survey.faults.iter().map(|(fault, _)| fault.to_string());
                survey.complete
                    && survey.finals == 0
                    && found.is_empty()
                    && !survey.faults.is_empty()
                    && faults.all(|fault| fault.contains(words))
            }
        }
    }

    /// The fewest states after which `check` has found the mutant.
    fn until_found(&self, mutant: Mutant, check: &str, states: usize) -> usize {
        let (mut low, mut high) = (0, states);
        while low < high {
            let middle = low + (high - low) / 2;
            if way(&self.survey(Some(mutant), middle), check).is_some() {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

/// How many choices lead to what `check` finds: a law, a deadlock, or a library that refuses.
fn way(survey: &Survey, check: &str) -> Option<usize> {
    if check == "deadlock" {
        return survey.way_to_dead.as_ref().map(Vec::len);
    }
    if check == "refusal" {
        return survey.faults.first().map(|(_, way)| way.len());
    }
    let mut broken = survey.violations.iter();
    broken.find(|(violation, _)| violation.id == check).map(|(_, way)| way.len())
}

const ALL: usize = 1_000_000;

fn cases() -> Vec<(&'static str, Tried)> {
    let lists = [
        matching::cases(),
        endpoints::cases(),
        collectives::cases(),
        groups::cases(),
        calls::cases(),
        large::cases(),
        typed::cases(),
        vcis::cases(),
    ];
    let cases = lists.into_iter().flatten().chain(one_sided::cases());
    let cases = cases.map(|(name, case)| (name, case.tried()));
    cases.chain(large::assisted()).chain(over_mpi::cases()).collect()
}

#[test]
fn the_library_itself_is_sound_in_every_world() {
    for (name, case) in cases() {
        let survey = case.survey(None, ALL);
        assert!(case.is_sound(&survey), "{name}: {survey:#?}");
    }
}

/// The table, and its verdicts.
#[test]
#[expect(clippy::print_stdout, reason = "a table for a reader, with --nocapture")]
fn every_mutant_is_found_by_its_law_and_no_harmless_change_is() {
    let mut met = Vec::new();
    println!("| change | law | found by | states until then | of | choices | world |");
    println!("|---|---|---|---|---|---|---|");
    for (name, case) in cases() {
        for &(mutant, check) in case.found {
            let survey = case.survey(Some(mutant), ALL);
            let way = way(&survey, check);
            let way = way.unwrap_or_else(|| panic!("{mutant:?} lives, {name}: {survey:#?}"));
            let states = case.until_found(mutant, check, survey.states);
            let (id, law) = (mutant.id(), mutant.law());
            assert!(["deadlock", "refusal", law].contains(&check) || (law, check) == ("E3", "C3"));
            println!("| {id} | {law} | {check} | {states} | {} | {way} | {name} |", survey.states);
            met.push(mutant);
        }
        for &change in case.harmless {
            let survey = case.survey(Some(change), ALL);
            assert!(case.is_sound(&survey), "{change:?} is harmless, {name}: {survey:#?}");
            let (id, states) = (change.id(), survey.states);
            println!("| {id} | | nothing | | {states} | | {name} |");
            if change.law().is_empty() {
                met.push(change);
            }
        }
    }
    for mutant in Mutant::ALL {
        assert!(met.contains(mutant), "{mutant:?} ({}) is in no world", mutant.words());
    }
}
