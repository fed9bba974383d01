//! Every order of events, breadth first.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use super::graph::{Graph, Number};
use super::survey::{Budget, Survey};
use crate::monitors::Violation;
use crate::monitors::buffers::Lends;
use crate::prints::Seen;
use crate::rules::Fault;
use crate::untimed::states::{Known, Row, States, Step};
use crate::untimed::{Choice, Coverage, World};
use protocols::contract::{Machine, Process, Program};

/// Flag that ends a search from outside.
#[derive(Clone, Copy, Debug)]
pub struct Stop(pub &'static AtomicBool);

impl Stop {
    /// Whether the search is to end.
    pub fn came(self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for Stop {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Stop {}

/// How far a search goes, and what it may leave out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Scope {
    /// The most states that are visited.
    pub states: usize,
    /// The most bytes that tables and open states may take.
    pub memory: usize,
    /// Which orders are left out because another one stands for them.
    pub rule: Rule,
    /// Flag that ends it early.
    pub stop: Option<Stop>,
}

impl Default for Scope {
    fn default() -> Self {
        Budget::default().into()
    }
}

impl From<Budget> for Scope {
    fn from(budget: Budget) -> Self {
        let rule = if budget.reduce { Rule::Returns } else { Rule::Nothing };
        Self { states: budget.states, memory: usize::MAX, rule, stop: None }
    }
}

/// A partial-order rule: in which states one step is followed alone.
///
/// Such steps join the one before them: the search keeps the states in which a choice is left to
/// be made, and one after every 64 steps that are followed alone. Each rule finds the
/// same final and dead states, and the same broken laws, as without it; `tests/`
/// compare them over every protocol and every planted bug.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Rule {
    /// None: every order.
    #[default]
    Nothing,
    /// [`World::private_step`]: the only thread of a process returns.
    Returns,
    /// [`World::lone_step`]: the only thread of a process does what it does in any order.
    Alone,
}

impl Rule {
    fn step<M: Machine, P: Program<M>>(self, world: &World<M, P>) -> Option<Choice>
    where
        M::Call: Lends,
    {
        match self {
            Self::Nothing => None,
            Self::Returns => world.private_step(),
            Self::Alone => world.lone_step(),
        }
    }

    /// The step that joins `taken` others since the last state that was kept.
    fn onward<M: Machine, P: Program<M>>(self, world: &World<M, P>, taken: usize) -> Option<Choice>
    where
        M::Call: Lends,
    {
        if taken < MOST_ALONE { self.step(world) } else { None }
    }
}

/// The most steps from one state that is kept to the next.
/// Method: steps that are followed alone could follow each other for ever.
const MOST_ALONE: usize = 64;

/// Visits every state that can be reached from `start`.
///
/// `known` tells states apart, `judge` judges every good end.
///
/// # Panics
///
/// With 2^32 states or edges, or 2^16 choices in one state.
pub fn search<M: Machine, P: Program<M>>(
    start: &World<M, P>,
    scope: Scope,
    known: Known,
    judge: impl Fn(&World<M, P>) -> Option<Violation>,
) -> Survey
where
    M::Call: Lends,
{
    let mut search = Search::new(start, scope, known);
    search.survey.complete = true;
    // A program may fail before its first call.
    search.note(start.violations().to_vec(), &[]);
    let (mut row, mut steps) = (Vec::new(), Vec::new());
    while search.next_into(&mut row) {
        if !search.has_room() || search.is_stopped() {
            search.survey.complete = false;
            break;
        }
        search.begin_state();
        if scope.rule != Rule::Nothing
            && let Some(step) = search.step_alone(&row)
        {
            search.follow(&row, (ALONE, step));
            let next = search.number();
            if scope.rule == Rule::Returns || next.is_some_and(|next| next > search.here()) {
                continue;
            }
            // It may close a cycle in which others are put off for ever: all are followed.
        }
        steps.clear();
        search.states.steps_into(&row, &mut steps);
        if steps.iter().all(|step| step.choice.is_fault()) {
            search.end(&row, &judge);
        }
        assert!(steps.len() < usize::from(ALONE), "a state has fewer than 2^16 choices");
        for (&step, index) in steps.iter().zip(0..) {
            search.follow(&row, (index, step));
        }
        search.number();
    }
    search.finish()
}

/// Memory is counted once in so many states.
/// Method: so many take less than a megabyte.
const COUNTED: Number = 64;

/// Stands for the index of a step that was followed alone.
const ALONE: u16 = u16::MAX;

/// State that a choice leads to, before it is looked up among the visited ones.
struct Followed {
    print: u128,
    /// The choice, and how many steps it and those took that join it.
    index: u16,
    taken: u32,
    /// A fault counts as no way to a good end.
    hopeless: bool,
}

struct Search<'a, M: Machine, P: Program<M>> {
    start: &'a World<M, P>,
    scope: Scope,
    known: Known,
    states: States<M, P>,
    seen: Seen,
    /// The rows of states that are not expanded yet, in the order of their numbers.
    frontier: VecDeque<u32>,
    /// Numbers of a row.
    parts: usize,
    /// States that the choices of the state being expanded lead to, and their rows.
    followed: Vec<Followed>,
    rows: Vec<u32>,
    /// The state that is being expanded; none before the first.
    at: Option<Number>,
    /// How each state was first reached: from where, by which of its choices, and in how many
    /// steps from the start.
    from: Vec<Number>,
    by: Vec<u16>,
    steps: Vec<u32>,
    /// The steps of the choice that is being followed.
    trail: Vec<Choice>,
    graph: Graph,
    finals: Vec<Number>,
    dead: Vec<Number>,
    /// States that are not judged as doomed: with a choice that breaks a law, or diagnosed ends.
    excused: Vec<Number>,
    met: Coverage,
    survey: Survey,
}

impl<'a, M: Machine, P: Program<M>> Search<'a, M, P>
where
    M::Call: Lends,
{
    fn new(start: &'a World<M, P>, scope: Scope, known: Known) -> Self {
        let (mut states, first) = States::new(start);
        let mut seen = Seen::default();
        seen.number(states.print(&first, known), 0);
        Self {
            start,
            scope,
            known,
            states,
            seen,
            parts: first.len(),
            frontier: first.into(),
            followed: Vec::new(),
            rows: Vec::new(),
            at: None,
            from: vec![0],
            by: vec![0],
            steps: vec![0],
            trail: Vec::new(),
            graph: Graph::default(),
            finals: Vec::new(),
            dead: Vec::new(),
            excused: Vec::new(),
            met: Coverage::default(),
            survey: Survey::default(),
        }
    }

    fn states(&self) -> usize {
        self.from.len()
    }

    /// Takes the next state that is expanded; answers whether there is one.
    fn next_into(&mut self, row: &mut Vec<u32>) -> bool {
        if self.states.are_crowded() {
            self.states.keep_only(self.frontier.make_contiguous().chunks(self.parts));
        }
        row.clear();
        row.extend((0..self.parts).map_while(|_| self.frontier.pop_front()));
        !row.is_empty()
    }

    /// Whether the limits allow another state to be expanded.
    fn has_room(&mut self) -> bool {
        if self.at.is_none_or(|at| at.is_multiple_of(COUNTED)) {
            self.count_memory();
        }
        self.states() <= self.scope.states && !self.survey.out_of_memory
    }

    fn count_memory(&mut self) {
        let per_state = size_of::<Number>() + size_of::<u16>() + size_of::<u32>();
        let tables = self.seen.bytes() + self.graph.bytes() + self.from.capacity() * per_state;
        let open = self.frontier.capacity() * size_of::<u32>();
        self.survey.memory = self.survey.memory.max(open + tables + self.states.bytes());
        self.survey.out_of_memory = self.survey.memory > self.scope.memory;
    }

    fn is_stopped(&mut self) -> bool {
        self.survey.interrupted = self.scope.stop.is_some_and(Stop::came);
        self.survey.interrupted
    }

    /// The next state of the frontier is expanded.
    fn begin_state(&mut self) {
        self.at = Some(self.at.map_or(0, |at| at + 1));
        self.graph.begin_state();
    }

    fn here(&self) -> Number {
        self.at.expect("a state is being expanded")
    }

    /// The step that is followed alone from a state, by a rule that there is.
    fn step_alone(&mut self, row: &Row) -> Option<Step> {
        let choice = self.scope.rule.step(self.states.world(row))?;
        Some(self.states.step_of(row, choice))
    }

    /// Follows a choice and the steps that join it from a state.
    fn follow(&mut self, row: &Row, (index, step): (u16, Step)) {
        let mut rows = std::mem::take(&mut self.rows);
        let begin = rows.len();
        rows.extend_from_slice(row);
        let wrong = self.follow_trail(&mut rows[begin..], step);
        self.met.add(&self.states.take_met());
        if wrong {
            rows.truncate(begin);
            self.excused.push(self.here());
        } else {
            let print = self.states.print(&rows[begin..], self.known);
            let taken = u32::try_from(self.trail.len()).expect("few steps join a choice");
            let hopeless = step.choice.is_fault();
            self.followed.push(Followed { print, index, taken, hopeless });
        }
        self.rows = rows;
    }

    /// Gives the states that were followed their numbers. Answers the last one, which is still to be
    /// expanded where its number is greater than that of the state before.
    fn number(&mut self) -> Option<Number> {
        // A look at the table is a wait for memory, and all looks together are one.
        let prints = self.followed.iter().map(|one| one.print);
        black_box(prints.fold(false, |read, print| read ^ self.seen.touch(print)));
        let (mut followed, mut rows) =
            (std::mem::take(&mut self.followed), std::mem::take(&mut self.rows));
        let both = followed.iter().zip(rows.chunks(self.parts));
        let last = both.map(|(one, row)| self.number_one(one, row)).last();
        followed.clear();
        rows.clear();
        (self.followed, self.rows) = (followed, rows);
        last
    }

    fn number_one(&mut self, followed: &Followed, row: &Row) -> Number {
        let &Followed { print, index, taken, hopeless } = followed;
        let fresh = Number::try_from(self.states()).expect("fewer than 2^32 states");
        let number = self.seen.number(print, fresh);
        if !hopeless {
            self.graph.add(number);
        }
        if number == fresh {
            let steps = self.steps[self.here() as usize] + taken;
            self.survey.depth = self.survey.depth.max(steps as usize);
            self.from.push(self.here());
            self.by.push(index);
            self.steps.push(steps);
            self.frontier.extend(row);
        }
        number
    }

    /// Takes the steps of a choice, up to the first that goes wrong; answers whether one did.
    fn follow_trail(&mut self, row: &mut Row, step: Step) -> bool {
        self.trail.clear();
        let mut step = step;
        loop {
            let happened = self.states.follow(row, step);
            self.survey.transitions += 1;
            self.trail.push(step.choice);
            if let Err(wrong) = happened {
                self.goes_wrong(&wrong);
                return true;
            }
            if self.scope.rule == Rule::Nothing || self.trail.len() == MOST_ALONE {
                return false;
            }
            let Some(next) = self.step_alone(row) else { return false };
            step = next;
        }
    }

    /// The trail broke a law or ended in a fault; such states are no part of the graph.
    fn goes_wrong(&mut self, next: &World<M, P>) {
        let broken = &next.violations()[self.start.violations().len()..];
        let known = |fault: &&Fault| {
            self.survey.faults.iter().any(|(known, _)| known.defect == fault.defect)
        };
        let fault = next.fault().filter(|fault| !known(fault)).cloned();
        let fresh = broken.iter().any(|one| self.is_news(one));
        if fresh || fault.is_some() {
            let way = [self.way(self.here()), self.trail.clone()].concat();
            self.note(broken.to_vec(), &way);
            self.survey.faults.extend(fault.map(|fault| (fault, way)));
        }
    }

    /// A state in which only a fault of the environment can happen, if anything.
    fn end(&mut self, row: &Row, judge: impl Fn(&World<M, P>) -> Option<Violation>) {
        let number = self.here();
        let world = self.states.world(row).clone();
        let victim = world.crash().victim();
        if let Some(gave_up) = world.gave_up() {
            self.struck(gave_up.from, number);
        } else if world.all_ended() {
            self.finals.push(number);
            // What a victim left open is no defect of the others.
            if victim.is_none() {
                let mut found = world.conclude();
                found.extend(judge(&world));
                if found.iter().any(|one| self.is_news(one)) {
                    let way = self.way(number);
                    self.note(found, &way);
                }
            }
        } else if let Some(victim) = victim.filter(|_| world.crash_report().is_some()) {
            self.struck(victim, number);
        } else {
            self.dead.push(number);
        }
    }

    /// An end that a fault at `process` brought about, and that a report names.
    fn struck(&mut self, process: Process, number: Number) {
        self.survey.diagnosed += 1;
        self.excused.push(number);
        if self.survey.diagnoses.iter().all(|(known, _)| *known != process) {
            let way = self.way(number);
            self.survey.diagnoses.push((process, way));
        }
    }

    fn is_news(&self, violation: &Violation) -> bool {
        self.survey.violations.iter().all(|(known, _)| known.id != violation.id)
    }

    fn note(&mut self, found: Vec<Violation>, way: &[Choice]) {
        for violation in found {
            if self.is_news(&violation) {
                self.survey.violations.push((violation, way.to_vec()));
            }
        }
    }

    /// The states on the first way to a state, the start first and itself last.
    fn numbers(&self, number: Number) -> Vec<Number> {
        let mut numbers = vec![number];
        let mut at = number;
        while at > 0 {
            at = self.from[at as usize];
            numbers.push(at);
        }
        numbers.reverse();
        numbers
    }

    /// The choices that first led to a state: its numbers are taken again from the start.
    fn way(&self, number: Number) -> Vec<Choice> {
        let mut world = self.start.clone();
        let mut way = Vec::new();
        for at in self.numbers(number).into_iter().skip(1) {
            let mut step = match self.by[at as usize] {
                ALONE => self.scope.rule.step(&world),
                index => world.choices().get(usize::from(index)).copied(),
            };
            debug_assert!(step.is_some(), "the state was reached by it");
            let begun = way.len();
            while let Some(choice) = step {
                world.apply(choice).expect("the world offered this choice");
                way.push(choice);
                step = self.scope.rule.onward(&world, way.len() - begun);
            }
        }
        way
    }

    /// How many choices lead past the point at which a state, the first of its kind on the way to
    /// it, could still be avoided: the steps that join a choice change nothing about that.
    fn point(&self, number: Number) -> usize {
        if number == 0 { 0 } else { self.steps[self.from[number as usize] as usize] as usize + 1 }
    }

    /// The way to where a state can no longer be avoided.
    fn way_to_point(&self, number: Number) -> Vec<Choice> {
        let mut way = self.way(number);
        way.truncate(self.point(number));
        way
    }

    fn finish(mut self) -> Survey {
        if self.survey.complete {
            self.count_memory();
        }
        self.survey.states = self.states();
        self.survey.sometimes = self.met.all();
        self.survey.finals = self.finals.len();
        self.survey.dead = self.dead.len();
        // Numbers grow with the distance from the start: the first one is a nearest one.
        let dead = self.dead.first().copied();
        self.survey.way_to_dead = dead.map(|at| self.way(at));
        if self.survey.complete {
            self.judge_liveness(dead);
        }
        self.survey
    }

    fn judge_liveness(&mut self, dead: Option<Number>) {
        let edges = self.graph.backwards(self.states());
        let good = edges.reach(self.finals.iter().chain(&self.excused).copied());
        let ends = edges.reach(self.finals.iter().chain(&self.excused).chain(&self.dead).copied());
        let lost = |reached: &[bool]| reached.iter().filter(|reached| !**reached).count();
        let first = |reached: &[bool]| {
            let place = reached.iter().position(|reached| !reached);
            place.map(|at| Number::try_from(at).expect("numbers of states are of this type"))
        };
        self.survey.doomed = lost(&good);
        self.survey.livelocked = lost(&ends);
        self.survey.way_to_doomed = first(&good).map(|at| self.way_to_point(at));
        self.survey.way_to_livelock = first(&ends).map(|at| self.way_to_point(at));
        let lost = |at| self.numbers(at).into_iter().find(|number| !good[*number as usize]);
        self.survey.point_of_no_return = dead.and_then(lost).map(|at| self.point(at));
    }
}
