//! The states of a search, by the numbers of their parts.
//!
//! A state consists of parts: each process, the port of each, the monitors, and a rest that is the
//! same in most searches. Of each kind a search meets far fewer values than states, and equal values
//! have one number: a state is a row of numbers.
//!
//! ```text
//!   row  = process 0 .. n-1 | port 0 .. n-1 | monitors | windows | rest
//!   step = process x port ─▶ process, effects, facts      (`turns`)
//!          port x effect  ─▶ port                          monitors x facts ─▶ monitors
//! ```
//!
//! A turn of a thread is a function of its process and of what it takes from its port. What it does
//! to others are effects on their ports, and facts for the monitors. Each result is computed once,
//! by a [`World`], and looked up by numbers from then on. A turn that reads anything else (memory of
//! a neighbour, a counter that processes share) or goes wrong is computed by a world each time, and
//! so are the steps of no thread (`others`), unless the parts are known that they concern.
//!
//! Parts that no state has any more are forgotten from time to time (`forget`).

mod forget;
mod kinds;
mod others;
mod parts;
mod results;
mod turns;

use super::World;
use super::choice::Choice;
use super::facts::Coverage;
use super::memo::Memo;
use super::turn::Notes;
use crate::crash::Crash;
use crate::fingerprint::{Fingerprint, Shared};
use crate::monitors::buffers::Lends;
use crate::monitors::windows::Windows;
use crate::monitors::{Monitors, Sometimes};
use crate::prints::Prints;
use kinds::{Local, PortOf, Rest};
use parts::{Number, Parts};
use protocols::contract::{Machine, Process, Program};
use results::{After, Computed, Turns};

/// Identity of states.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Known {
    /// Names of messages and receives count by where they come again only.
    ByPlace,
    /// Different names are different.
    ByName,
}

/// The numbers of the parts of a state.
pub type Row = [Number];

/// A choice, and where its result is kept.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The choice.
    pub choice: Choice,
    /// Process and port, and the place among their choices; `None` where no turn begins.
    kept: Option<(Number, u16)>,
}

/// States of one job.
#[derive(Debug)]
pub struct States<M: Machine, P: Program<M>> {
    processes: usize,
    locals: Parts<Local<M, P>>,
    ports: Parts<PortOf<M>>,
    monitors: Parts<Shared<Monitors>>,
    windows: Parts<Shared<Windows>>,
    rests: Parts<Rest<M>>,
    turns: Turns<M>,
    /// Results of steps of no thread, by the parts that they concern.
    others: Prints<Computed>,
    /// A state, by which results are computed.
    world: World<M, P>,
    /// Its numbers, where it has them.
    made: Vec<Number>,
    /// The laws that were broken on the way to the first state.
    broken: usize,
    /// Branches that were reached since the last query.
    met: Coverage,
    /// Room for the names of a state.
    room: Vec<i128>,
    /// A row before a step.
    before: Vec<Number>,
    /// With more parts of a kind, those that no state has are forgotten.
    crowd: usize,
    least_crowd: usize,
}

/// Number of no part.
const NONE: Number = Number::MAX;

impl<M: Machine, P: Program<M>> States<M, P>
where
    M::Call: Lends,
{
    /// The states of a job that begins with `start`, and the numbers of that one.
    pub fn new(start: &World<M, P>) -> (Self, Vec<Number>) {
        Self::forgetting(start, forget::CROWD)
    }

    /// The same, where more than `crowd` parts of a kind are not kept without a reason.
    pub fn forgetting(start: &World<M, P>, crowd: usize) -> (Self, Vec<Number>) {
        let mut world = World { memo: Memo::empty(), ..start.clone() };
        // Branches on the way here do not count.
        world.take_sometimes();
        let processes = world.instances.len();
        let mut states = Self {
            processes,
            locals: Parts::default(),
            ports: Parts::default(),
            monitors: Parts::default(),
            windows: Parts::default(),
            rests: Parts::default(),
            turns: Turns::default(),
            others: Prints::default(),
            made: vec![NONE; 2 * processes + 3],
            broken: world.found.len(),
            world,
            met: Coverage::default(),
            room: Vec::new(),
            before: Vec::new(),
            crowd,
            least_crowd: crowd,
        };
        let mut row = Vec::new();
        for process in states.all_processes() {
            row.push(states.locals.number(Local::of(&states.world, process)));
        }
        for process in states.all_processes() {
            let port = states.world.ports[process.0 as usize].clone();
            row.push(states.ports.number(PortOf { process, port }));
        }
        row.push(states.monitors.number(states.world.monitors.clone()));
        row.push(states.windows.number(states.world.windows.clone()));
        row.push(states.rests.number(Rest::of(&states.world)));
        (states, row)
    }

    fn all_processes(&self) -> impl Iterator<Item = Process> + use<M, P> {
        (0..).take(self.processes).map(Process)
    }

    const fn place_of_port(&self, process: Process) -> usize {
        self.processes + process.0 as usize
    }

    const fn place_of_monitors(&self) -> usize {
        2 * self.processes
    }

    const fn place_of_windows(&self) -> usize {
        2 * self.processes + 1
    }

    const fn place_of_rest(&self) -> usize {
        2 * self.processes + 2
    }

    /// The world of a state.
    pub fn world(&mut self, row: &Row) -> &World<M, P> {
        self.make(row);
        &self.world
    }

    /// Key of a state in a search.
    pub fn print(&mut self, row: &Row, known: Known) -> u128 {
        let n = self.processes;
        let rest = self.rests.known(row[self.place_of_rest()]);
        match known {
            Known::ByPlace => {
                let mut print = Fingerprint::in_room(std::mem::take(&mut self.room));
                for number in &row[..n] {
                    print.add_part(self.locals.known(*number));
                }
                for number in &row[n..2 * n] {
                    print.add_part(self.ports.known(*number));
                }
                print.add_part(rest);
                let value = print.by_place_in_words();
                self.room = print.into_room();
                value
            }
            Known::ByName => {
                let locals = row[..n].iter().map(|number| self.locals.known(*number));
                let ports = row[n..2 * n].iter().map(|number| self.ports.known(*number));
                let mut print = Fingerprint::default();
                locals.chain(ports).chain([rest]).for_each(|part| print.add_named_part(part));
                print.by_name()
            }
        }
    }

    /// Appends all that may happen next, in the order of [`World::choices`].
    pub fn steps_into(&mut self, row: &Row, steps: &mut Vec<Step>) {
        let rest = row[self.place_of_rest()];
        let crash = self.rests.value(rest).crash;
        let wires = self.rests.value(rest).wires.as_deref();
        if wires.is_some_and(|wires| wires.gave_up.is_some()) {
            return;
        }
        let victim = crash.victim();
        for process in self.all_processes() {
            let pair = self.pair(row, process, victim);
            let choices = self.turns.pairs[pair as usize].afters.iter().map(|(choice, _)| *choice);
            steps.extend(
                choices.zip(0..).map(|(choice, place)| Step { choice, kept: Some((pair, place)) }),
            );
        }
        let other = |choice| Step { choice, kept: None };
        if let Some(wires) = self.rests.value(rest).wires.as_deref() {
            steps.extend(wires.moves().chain(wires.faults()).map(other));
        }
        if crash == Crash::Possible {
            for process in self.all_processes() {
                let pair = self.pair(row, process, victim);
                if !self.turns.pairs[pair as usize].is_over {
                    steps.push(other(Choice::Crash { process }));
                }
            }
        }
    }

    /// The step of a choice.
    pub fn step_of(&mut self, row: &Row, choice: Choice) -> Step {
        let victim = self.rests.value(row[self.place_of_rest()]).crash.victim();
        let pair = self.pair(row, choice.process(), victim);
        let all = self.turns.pairs[pair as usize].afters.iter().zip(0..);
        let mut same = all.filter(|((one, _), _)| *one == choice);
        Step { choice, kept: same.next().map(|(_, place)| (pair, place)) }
    }

    /// Makes a step happen, which may happen in this state.
    ///
    /// # Errors
    ///
    /// The world in which it broke a law or ended in a fault; the row is then of no use.
    pub fn follow(&mut self, row: &mut Row, step: Step) -> Result<(), Box<World<M, P>>> {
        if let Some(kept) = step.kept {
            let mut after = self.turns.after(kept);
            if let After::Unknown = after {
                after = self.find_out(row, step.choice, kept);
            }
            if let After::Turn { turn, port } = after
                && self.repeat(row, step.choice.process(), turn, port)
            {
                return Ok(());
            }
        }
        self.compute(row, step.choice)
    }

    /// How often the interesting branches were reached since the last query.
    pub fn take_sometimes(&mut self) -> Sometimes {
        self.take_met().all()
    }

    /// The same, to be added to others.
    pub(crate) fn take_met(&mut self) -> Coverage {
        std::mem::take(&mut self.met)
    }

    /// Bytes of all that is kept, about.
    pub fn bytes(&self) -> usize {
        let parts = self.locals.bytes() + self.ports.bytes() + self.rests.bytes();
        let monitors = self.monitors.bytes() + self.windows.bytes();
        parts + monitors + self.turns.bytes() + self.others.bytes() + self.world.memo.bytes()
    }

    /// Makes the world this state: touches only what differs.
    fn make(&mut self, row: &Row) {
        let n = self.processes;
        let Self { world, made, locals, ports, monitors, windows, rests, .. } = self;
        let differs = |place: usize| made[place] != row[place];
        // Memories of all processes lie there where payload is phantom.
        if differs(2 * n + 2) {
            rests.value(row[2 * n + 2]).put_into(world);
        }
        for place in (0..n).filter(|place| differs(*place)) {
            locals.value(row[place]).put_into(world);
        }
        for place in (0..n).filter(|place| differs(n + *place)) {
            world.ports[place].clone_from(&ports.value(row[n + place]).port);
        }
        if differs(2 * n) {
            world.monitors.clone_from(monitors.value(row[2 * n]));
        }
        if differs(2 * n + 1) {
            world.windows.clone_from(windows.value(row[2 * n + 1]));
        }
        world.fault = None;
        world.found.truncate(self.broken);
        world.notes = Notes::none();
        made.copy_from_slice(row);
    }

    /// The numbers of what the world has become since it was made.
    fn renumber(&mut self, row: &mut Row) {
        let n = self.processes;
        let Self { world, made, locals, ports, monitors, windows, rests, .. } = self;
        for (process, place) in (0..).map(Process).zip(0..n) {
            row[place] = locals.renumber(row[place], &Local::of(world, process));
            let port = PortOf { process, port: world.ports[place].clone() };
            row[n + place] = ports.renumber(row[n + place], &port);
        }
        row[2 * n] = monitors.renumber(row[2 * n], &world.monitors);
        row[2 * n + 1] = windows.renumber(row[2 * n + 1], &world.windows);
        row[2 * n + 2] = rests.renumber(row[2 * n + 2], &Rest::of(world));
        // What is new is taken from its part, which others share.
        for (made, now) in made.iter_mut().zip(row) {
            if *made != *now {
                *made = NONE;
            }
        }
    }
}
