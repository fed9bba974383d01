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
use crate::untimed::{Choice, Coverage, Depth, World};
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
/// `print` is what a state is known by: [`World::print`], or the least fingerprint of all
/// states that are the same but for the names of ranks. `judge` judges every good end.
///
/// # Panics
///
/// With 2^32 states or edges, or 2^16 choices in one state.
pub fn search<M: Machine, P: Program<M>>(
    start: &World<M, P>,
    scope: Scope,
    print: impl Fn(&World<M, P>) -> u128,
    judge: impl Fn(&World<M, P>) -> Option<Violation>,
) -> Survey
where
    M::Call: Lends,
{
    let mut search = Search::new(start, scope, print(start));
    search.survey.complete = true;
    // A program may fail before its first call.
    search.note(start.violations().to_vec(), &[]);
    let mut choices = Vec::new();
    while let Some(world) = search.next() {
        if !search.has_room(&world) || search.is_stopped() {
            search.survey.complete = false;
            break;
        }
        search.begin_state();
        let before = world.violations().len();
        if let Some(step) = scope.rule.step(&world) {
            let copy = search.copy(&world);
            search.follow(before, copy, (ALONE, step), &print);
            let next = search.number();
            if scope.rule == Rule::Returns || next.is_some_and(|next| next > search.here()) {
                continue;
            }
            // It may close a cycle in which others are put off for ever: all are followed.
        }
        choices.clear();
        world.choices_into(&mut choices);
        if choices.iter().all(|choice| choice.is_fault()) {
            search.end(&world, &judge);
        }
        let Some((&last, others)) = choices.split_last() else { continue };
        for (&choice, index) in others.iter().zip(0..) {
            let copy = search.copy(&world);
            search.follow(before, copy, (index, choice), &print);
        }
        let index = u16::try_from(others.len()).expect("a state has fewer than 2^16 choices");
        search.follow(before, world, (index, last), &print);
        search.number();
    }
    search.finish()
}

/// The most states that are kept to be made others.
/// Method: their memory is used again.
const MOST_SPARE: usize = 64;

/// Stands for the index of a step that was followed alone.
const ALONE: u16 = u16::MAX;

/// State that a choice leads to, before it is looked up among the visited ones.
struct Followed<M: Machine, P: Program<M>> {
    world: Box<World<M, P>>,
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
    seen: Seen,
    /// States that are not expanded yet, in the order of their numbers, and the bytes that each holds.
    frontier: VecDeque<(Box<World<M, P>>, usize)>,
    /// The bytes that all of them hold.
    open: usize,
    /// States that the choices of the state being expanded lead to.
    followed: Vec<Followed<M, P>>,
    /// States that were visited before, to be made others.
    #[expect(clippy::vec_box, reason = "a state stays where it is: it is large, and handed round")]
    spare: Vec<Box<World<M, P>>>,
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
    fn new(start: &'a World<M, P>, scope: Scope, print: u128) -> Self {
        let mut seen = Seen::default();
        seen.number(print, 0);
        let mut first = start.clone().with_memo();
        // Branches on the way here do not count for the search.
        first.take_sometimes();
        Self {
            start,
            scope,
            seen,
            frontier: [(Box::new(first), 0)].into(),
            open: 0,
            followed: Vec::new(),
            spare: Vec::new(),
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

    /// The next state that is expanded.
    fn next(&mut self) -> Option<Box<World<M, P>>> {
        let (world, bytes) = self.frontier.pop_front()?;
        self.open -= bytes;
        Some(world)
    }

    /// Keeps a state until it is expanded.
    fn put_off(&mut self, world: Box<World<M, P>>) {
        let bytes = size_of::<World<M, P>>() + world.weight();
        self.open += bytes;
        self.frontier.push_back((world, bytes));
    }

    /// Whether the limits allow another state to be expanded.
    fn has_room(&mut self, world: &World<M, P>) -> bool {
        let per_state = size_of::<Number>() + size_of::<u16>() + size_of::<u32>();
        let tables = self.seen.bytes() + self.graph.bytes() + self.from.capacity() * per_state;
        let open = self.frontier.capacity() * size_of::<(usize, usize)>() + self.open;
        let all = open + tables + world.kept_bytes();
        self.survey.memory = self.survey.memory.max(all);
        self.survey.out_of_memory = self.survey.memory > self.scope.memory;
        self.states() <= self.scope.states && !self.survey.out_of_memory
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

    /// A state once more; what it shares with the last one that was spare is not touched.
    fn copy(&mut self, world: &World<M, P>) -> Box<World<M, P>> {
        let Some(mut copy) = self.spare.pop() else { return Box::new(world.clone()) };
        // What is in the box, not the box.
        (*copy).clone_from(world);
        copy
    }

    /// Follows a choice and the steps that join it from `next`, which is still the state that is being
    /// expanded, where `before` laws were broken.
    fn follow(
        &mut self,
        before: usize,
        mut next: Box<World<M, P>>,
        (index, choice): (u16, Choice),
        print: impl Fn(&World<M, P>) -> u128,
    ) {
        let wrong = self.follow_trail(before, &mut next, choice);
        self.met.add(&next.take_met());
        if wrong {
            return self.excused.push(self.here());
        }
        let (print, hopeless) = (print(&next), choice.is_fault());
        let taken = u32::try_from(self.trail.len()).expect("few steps join a choice");
        self.followed.push(Followed { world: next, print, index, taken, hopeless });
    }

    /// Gives the states that were followed their numbers. Answers the last one, which is still to be
    /// expanded where its number is greater than that of the state before.
    fn number(&mut self) -> Option<Number> {
        self.read_ahead();
        let mut followed = std::mem::take(&mut self.followed);
        let last = followed.drain(..).map(|one| self.number_one(one)).last();
        self.followed = followed;
        last
    }

    /// Reads what is needed next, from the table and of the states that are expanded next. A look at
    /// either is a wait for memory, and all looks together are one.
    fn read_ahead(&self) {
        let prints = self.followed.iter().map(|one| one.print);
        let places = prints.fold(false, |read, print| read ^ self.seen.touch(print));
        let states = self.frontier.iter().zip(Depth::IN_ORDER);
        let ahead = states.fold(0, |read, ((world, _), depth)| read ^ world.read_ahead(depth));
        black_box((places, ahead));
    }

    fn number_one(&mut self, followed: Followed<M, P>) -> Number {
        let Followed { world, print, index, taken, hopeless } = followed;
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
            self.put_off(world);
        } else if self.spare.len() < MOST_SPARE {
            self.spare.push(world);
        }
        number
    }

    /// Takes the steps of a choice, up to the first that goes wrong; answers whether one did.
    fn follow_trail(&mut self, before: usize, next: &mut World<M, P>, choice: Choice) -> bool {
        self.trail.clear();
        let mut step = Some(choice);
        while let Some(choice) = step {
            debug_assert!(next.offers(choice), "{choice}: it must be one of its choices");
            next.make_happen(choice);
            self.survey.transitions += 1;
            self.trail.push(choice);
            if self.goes_wrong(before, next) {
                return true;
            }
            step = self.scope.rule.onward(next, self.trail.len());
        }
        false
    }

    /// Whether the trail broke a law or ended in a fault; such states are no part of the graph.
    fn goes_wrong(&mut self, before: usize, next: &World<M, P>) -> bool {
        let broken = &next.violations()[before..];
        if broken.is_empty() && next.fault().is_none() {
            return false;
        }
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
        true
    }

    /// A state in which only a fault of the environment can happen, if anything.
    fn end(&mut self, world: &World<M, P>, judge: impl Fn(&World<M, P>) -> Option<Violation>) {
        let number = self.here();
        let victim = world.crash().victim();
        if let Some(gave_up) = world.gave_up() {
            self.struck(gave_up.from, number);
        } else if world.all_ended() {
            self.finals.push(number);
            // What a victim left open is no defect of the others.
            if victim.is_none() {
                let mut found = world.conclude();
                found.extend(judge(world));
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
