//! Explorers of the untimed world: every order, a random order, or a recorded one.
//!
//! [`exhaustive`] walks the whole graph of states, breadth first, so that what it finds it finds
//! by a shortest way; it keeps 128-bit fingerprints, and the edges backwards, to answer whether
//! every state can still come to a good end. [`walk`] takes one random way. [`replay`] takes a
//! recorded one, as of a timed run, and refuses the first choice that was not open.

mod seen;

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use self::seen::Seen;
use super::memory::Memories;
use super::monitors::buffers::Lends;
use super::monitors::{Sometimes, Violation};
use super::rules::Fault;
use super::untimed::{Choice, Outcome, Refusal, World};
use crate::protocols::contract::{Machine, Process, Program, Thread};

/// Limits of an exhaustive exploration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Budget {
    /// The most states that are visited.
    pub states: usize,
    /// Whether a step that nobody else can notice ([`World::private_step`]) is followed alone,
    /// instead of in every order with the steps of others. Finds the same final and dead states
    /// and the same broken laws in fewer states.
    pub reduce: bool,
}

impl Default for Budget {
    /// Four million states, none left out.
    fn default() -> Self {
        Self { states: 4_000_000, reduce: false }
    }
}

/// What an exhaustive exploration found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Different states.
    pub states: usize,
    /// Choices followed from all of them.
    pub transitions: usize,
    /// States in which every program ended and nothing is under way.
    pub finals: usize,
    /// States without a choice in which a program has not ended.
    pub dead: usize,
    /// States from which no final state can be reached, dead ones among them. Not known (0)
    /// where the budget did not suffice.
    pub doomed: usize,
    /// Whether every reachable state was visited.
    pub complete: bool,
    /// The shortest way to a dead state.
    pub way_to_dead: Option<Vec<Choice>>,
    /// The shortest way to a doomed state: its last choice is the point of no return.
    pub way_to_doomed: Option<Vec<Choice>>,
    /// Broken laws, each with the shortest way to it; the first of each law.
    pub violations: Vec<(Violation, Vec<Choice>)>,
    /// Faults of protocols, each with the shortest way to it; the first of each wording.
    pub faults: Vec<(Fault, Vec<Choice>)>,
    /// How often interesting branches were met, summed over the transitions.
    pub sometimes: Sometimes,
}

impl Survey {
    /// Whether every order ends well: complete, and nothing dead, doomed, broken or faulty.
    pub fn is_clean(&self) -> bool {
        self.complete
            && self.dead == 0
            && self.doomed == 0
            && self.violations.is_empty()
            && self.faults.is_empty()
            && self.finals > 0
    }
}

/// Visits every state that can be reached from `start`.
///
/// States beyond a broken law or a fault are not visited. Where the budget does not suffice, the
/// survey is marked incomplete and says nothing about doomed states.
pub fn exhaustive<M: Machine, P: Program<M>>(start: &World<M, P>, budget: Budget) -> Survey
where
    M::Call: Lends,
{
    judged(start, budget, |_| None)
}

/// [`exhaustive`], where every good end is also judged by the caller: what the programs and their
/// memory must hold, whatever the order was.
pub fn judged<M: Machine, P: Program<M>>(
    start: &World<M, P>,
    budget: Budget,
    judge: impl Fn(&World<M, P>) -> Option<Violation>,
) -> Survey
where
    M::Call: Lends,
{
    let mut search = Search::new(start);
    search.survey.complete = true;
    let mut choices = Vec::new();
    while let Some((number, world)) = search.frontier.pop_front() {
        if search.ways.len() > budget.states {
            search.survey.complete = false;
            break;
        }
        choices.clear();
        match world.private_step().filter(|_| budget.reduce) {
            Some(step) => choices.push(step),
            None => world.choices_into(&mut choices),
        }
        if choices.is_empty() {
            search.end(number, &world, &judge);
        }
        let before = Before { number, broken: world.violations().len(), met: world.sometimes() };
        let Some((&last, others)) = choices.split_last() else { continue };
        for &choice in others {
            search.follow(&before, world.clone(), choice);
        }
        search.follow(&before, world, last);
    }
    search.finish()
}

/// A state by its number, in the order of discovery.
type Number = u32;

/// What is known of the state that a choice leads from.
struct Before {
    number: Number,
    /// How many broken laws were found before it.
    broken: usize,
    met: Sometimes,
}

struct Search<M: Machine, P: Program<M>> {
    seen: Seen,
    frontier: VecDeque<(Number, World<M, P>)>,
    /// How each state was first reached; the start points at itself.
    ways: Vec<(Number, Option<Choice>)>,
    /// Every edge, backwards: to, from.
    edges: Vec<(Number, Number)>,
    finals: Vec<Number>,
    /// States with a choice that breaks a law: not judged as doomed as well.
    excused: Vec<Number>,
    survey: Survey,
}

impl<M: Machine, P: Program<M>> Search<M, P>
where
    M::Call: Lends,
{
    fn new(start: &World<M, P>) -> Self {
        let mut seen = Seen::default();
        seen.number(start.fingerprint(), 0);
        Self {
            seen,
            frontier: [(0, start.clone())].into(),
            ways: vec![(0, None)],
            edges: Vec::new(),
            finals: Vec::new(),
            excused: Vec::new(),
            survey: Survey::default(),
        }
    }

    /// Follows `choice` from `next`, which is still the state before it.
    fn follow(&mut self, before: &Before, mut next: World<M, P>, choice: Choice) {
        let from = before.number;
        let applied = next.apply(choice);
        debug_assert_eq!(applied, Ok(()), "the world offered this choice");
        self.survey.transitions += 1;
        let met = next.sometimes().since(before.met);
        self.survey.sometimes = self.survey.sometimes.plus(met);
        if self.goes_wrong(before, choice, &next) {
            self.excused.push(from);
            return;
        }
        let fresh = Number::try_from(self.ways.len()).expect("a survey has fewer than 2^32 states");
        let number = self.seen.number(next.fingerprint(), fresh);
        self.edges.push((number, from));
        if number == fresh {
            self.ways.push((from, Some(choice)));
            self.frontier.push_back((number, next));
        }
    }

    /// Whether a choice broke a law or ended in a fault; such states are no part of the graph.
    fn goes_wrong(&mut self, before: &Before, choice: Choice, next: &World<M, P>) -> bool {
        let broken = &next.violations()[before.broken..];
        if broken.is_empty() && next.fault().is_none() {
            return false;
        }
        let way = [self.way(before.number), vec![choice]].concat();
        self.note(broken.to_vec(), &way);
        let known = |fault: &&Fault| {
            self.survey.faults.iter().any(|(known, _)| known.defect == fault.defect)
        };
        if let Some(fault) = next.fault().filter(|fault| !known(fault)) {
            self.survey.faults.push((fault.clone(), way));
        }
        true
    }

    /// A state without choices.
    fn end(
        &mut self,
        number: Number,
        world: &World<M, P>,
        judge: impl Fn(&World<M, P>) -> Option<Violation>,
    ) {
        if world.all_ended() {
            self.finals.push(number);
            let mut found = world.conclude();
            found.extend(judge(world));
            if !found.is_empty() {
                let way = self.way(number);
                self.note(found, &way);
            }
        } else {
            self.survey.dead += 1;
            if self.survey.way_to_dead.is_none() {
                self.survey.way_to_dead = Some(self.way(number));
            }
        }
    }

    fn note(&mut self, found: Vec<Violation>, way: &[Choice]) {
        for violation in found {
            if self.survey.violations.iter().all(|(known, _)| known.id != violation.id) {
                self.survey.violations.push((violation, way.to_vec()));
            }
        }
    }

    /// The choices that first led to a state.
    fn way(&self, number: Number) -> Vec<Choice> {
        let mut way = Vec::new();
        let mut at = number;
        while let (from, Some(choice)) = self.ways[at as usize] {
            way.push(choice);
            at = from;
        }
        way.reverse();
        way
    }

    fn finish(mut self) -> Survey {
        self.survey.states = self.ways.len();
        self.survey.finals = self.finals.len();
        if self.survey.complete {
            let good = self.reach_an_end();
            self.survey.doomed = good.iter().filter(|good| !**good).count();
            // Numbers grow with the distance from the start: the first one is a nearest one.
            let first = good.iter().position(|good| !good);
            self.survey.way_to_doomed = first.map(|at| {
                self.way(Number::try_from(at).expect("numbers of states are of this type"))
            });
        }
        self.survey
    }

    /// For every state, whether a final (or excused) state can be reached from it.
    fn reach_an_end(&mut self) -> Vec<bool> {
        self.edges.sort_unstable();
        let mut good = vec![false; self.ways.len()];
        let mut open: Vec<Number> = self.finals.iter().chain(&self.excused).copied().collect();
        for &number in &open {
            good[number as usize] = true;
        }
        while let Some(to) = open.pop() {
            let first = self.edges.partition_point(|edge| edge.0 < to);
            for &(_, from) in self.edges[first..].iter().take_while(|edge| edge.0 == to) {
                if !std::mem::replace(&mut good[from as usize], true) {
                    open.push(from);
                }
            }
        }
        good
    }
}

/// What one run in a random order did.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Walk {
    /// Every choice, in order: [`replay`] takes it.
    pub choices: Vec<Choice>,
    /// How it ended; [`Outcome::Running`] where the limit was hit.
    pub outcome: Outcome,
    /// Broken laws, those of the end included.
    pub violations: Vec<Violation>,
}

/// Takes one random way through `world`, of at most `limit` choices.
///
/// The choices are drawn from the `ChaCha8` stream `stream` of `seed`: the same ones everywhere.
pub fn walk<M: Machine, P: Program<M>>(
    world: &mut World<M, P>,
    seed: u64,
    stream: u64,
    limit: usize,
) -> Walk
where
    M::Call: Lends,
{
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    let (mut taken, mut choices) = (Vec::new(), Vec::new());
    while taken.len() < limit {
        choices.clear();
        world.choices_into(&mut choices);
        let Some(&choice) = draw(&mut random, &choices) else { break };
        let applied = world.apply(choice);
        debug_assert_eq!(applied, Ok(()), "the world offered this choice");
        taken.push(choice);
        if !world.violations().is_empty() {
            break;
        }
    }
    let outcome = world.outcome();
    let mut violations = world.violations().to_vec();
    if outcome == Outcome::Finished {
        violations.extend(world.conclude());
    }
    Walk { choices: taken, outcome, violations }
}

fn draw<'a>(random: &mut ChaCha8Rng, choices: &'a [Choice]) -> Option<&'a Choice> {
    // Multiply and shift: the same on every machine, and its bias (count / 2^64) cannot show.
    let wide = u128::from(random.next_u64()) * choices.len() as u128;
    choices.get(usize::try_from(wide >> 64).unwrap_or(usize::MAX))
}

/// Why a recorded run is no run of the untimed world.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Drift {
    /// A recorded choice was not open.
    #[error("choice {index}: {refusal}")]
    NotEnabled {
        /// Its index in the record.
        index: usize,
        /// Why not.
        refusal: Refusal,
    },
    /// The record ends before the run does.
    #[error("after all {count} choices the run goes on: {next}")]
    Unfinished {
        /// Length of the record.
        count: usize,
        /// A choice that is still open.
        next: Choice,
    },
    /// The two runs end in different states.
    #[error("the final states differ: {0}")]
    Different(String),
}

/// Takes the choices of a record one by one.
///
/// # Errors
///
/// [`Drift::NotEnabled`] at the first choice that is not open; the world stands where it was.
pub fn replay<M: Machine, P: Program<M>>(
    world: &mut World<M, P>,
    record: &[Choice],
) -> Result<(), Drift>
where
    M::Call: Lends,
{
    for (index, &choice) in record.iter().enumerate() {
        world.apply(choice).map_err(|refusal| Drift::NotEnabled { index, refusal })?;
    }
    Ok(())
}

/// The final state of another executor, to be compared with a world's.
#[derive(Clone, Debug)]
pub struct Final<'a, M, P> {
    /// Per process: its library, and the programs of its threads.
    pub processes: Vec<(&'a M, Vec<&'a P>)>,
    /// The memory.
    pub memories: &'a Memories,
    /// Whether every program ended.
    pub ended: bool,
}

/// Whether a replayed world and the run that was recorded ended alike.
///
/// # Errors
///
/// [`Drift::Unfinished`] where the world could go on although the record is over, and
/// [`Drift::Different`] with the first part that differs: a machine, a program, the memory.
pub fn compare<M: Machine, P: Program<M>>(
    world: &World<M, P>,
    record: &[Choice],
    run: &Final<'_, M, P>,
) -> Result<(), Drift>
where
    M::Call: Lends,
{
    if let Some(&next) = world.choices().first() {
        return Err(Drift::Unfinished { count: record.len(), next });
    }
    let different = |words: String| Err(Drift::Different(words));
    if world.all_ended() != run.ended {
        return different(format!("every program ended: {}, {}", run.ended, world.all_ended()));
    }
    for (process, (machine, programs)) in (0u32..).zip(&run.processes) {
        let here = world.machine(Process(process));
        if here != *machine {
            return different(format!("library of process {process}: {machine:?}, {here:?}"));
        }
        for (thread, program) in (0u16..).zip(programs) {
            let here = world.program(Process(process), Thread(thread));
            if here != *program {
                return different(format!("program {process}.{thread}: {program:?}, {here:?}"));
            }
        }
    }
    if world.memories() != run.memories {
        return different("memory".into());
    }
    Ok(())
}
