//! Turns of threads: a function of the process and of what is taken from its port, computed once.

use std::num::NonZeroU32;

use super::kinds::Local;
use super::parts::{Number, Parts};
use super::results::{After, Effect, Pair, Turned, key, known_or, next, stored};
use super::{NONE, Row, States};
use crate::fingerprint::{Fingerprint, Shared};
use crate::monitors::buffers::Lends;
use crate::prints::Prints;
use crate::untimed::choice::Choice;
use crate::untimed::choices_of_process;
use crate::untimed::facts::{Coverage, Facts, Observer};
use crate::untimed::state::Actor;
use crate::untimed::turn::{Notes, Outside, Turn};
use protocols::contract::{Machine, Process, Program, Via};

/// Turn that depends on more than is known of it.
const SPOILED: Number = NONE - 1;

impl<M: Machine, P: Program<M>> States<M, P>
where
    M::Call: Lends,
{
    /// A process and its port, where `victim` has died.
    pub(super) fn pair(&mut self, row: &Row, process: Process, victim: Option<Process>) -> Number {
        let (local, port) = (row[process.0 as usize], row[self.place_of_port(process)]);
        let key = key([local, port, victim.map_or(0, |victim| victim.0 + 1)]);
        let turns = &mut self.turns;
        if let Some(number) = turns.numbers_of_pairs.find(key) {
            return number.get() - 1;
        }
        let number = turns.numbers_of_pairs.find_or_put(key, next(turns.pairs.len())).get() - 1;
        let instance = &self.locals.value(local).instance;
        let port = &self.ports.value(port).port;
        let mut choices = Vec::new();
        choices_of_process(process, instance, port, self.world.adapters, victim, &mut choices);
        let is_over = instance.threads.iter().all(|strand| strand.is_over());
        let afters: Vec<_> = choices.into_iter().map(|one| (one, After::Unknown)).collect();
        turns.held += size_of::<Pair>() + size_of_val(&*afters);
        turns.pairs.push(Pair { afters, is_over });
        number
    }

    /// The result of a choice that was not made before.
    pub(super) fn find_out(
        &mut self,
        row: &Row,
        choice: Choice,
        (pair, place): (Number, u16),
    ) -> After {
        let after = self.turn_of(row, choice).unwrap_or(After::Other);
        self.turns.pairs[pair as usize].afters[usize::from(place)].1 = after;
        after
    }

    fn turn_of(&mut self, row: &Row, choice: Choice) -> Option<After> {
        let (process, thread) = (choice.process(), choice.thread()?);
        let local = row[process.0 as usize];
        self.locals.value(local).memory.as_ref()?;
        let place = self.place_of_port(process);
        let mut port = self.ports.value(row[place]).clone();
        let turn = match choice {
            Choice::Enter { .. } => Turn::Enter,
            Choice::Act { .. } => Turn::Act,
            Choice::Touch { .. } => Turn::Touch,
            Choice::EndPass { .. } => Turn::EndPass,
            Choice::TakePacket { from, via, .. } => {
                Turn::Packet(from, port.port.change().take_packet(from, via))
            }
            Choice::TakeDone { lane, .. } => Turn::Done(port.port.change().take_done(lane), lane),
            Choice::Match { .. }
            | Choice::Conclude { .. }
            | Choice::Move { .. }
            | Choice::Finish { .. }
            | Choice::Wire { .. }
            | Choice::Crash { .. } => return None,
        };
        let port = self.ports.renumber(row[place], &port);
        let next_input = next(self.turns.inputs.len());
        let input = Fingerprint::named(&(thread, &turn));
        let input = self.turns.inputs.find_or_put(input, next_input).get();
        let key = key([local, input, 0]);
        let turn = if let Some(number) = self.turns.by_input.find(key) {
            number.get() - 1
        } else {
            let number = self.take(row, Actor { process, thread }, turn);
            self.turns.by_input.find_or_put(key, stored(number)).get() - 1
        };
        (turn != SPOILED).then_some(After::Turn { turn, port })
    }

    /// Takes a turn, and notes what it leaves behind.
    fn take(&mut self, row: &Row, actor: Actor, turn: Turn<M>) -> Number {
        self.make(row);
        self.world.notes = Notes(Some(Box::default()));
        self.world.take_turn(actor, turn);
        // It is this state no more, and its monitors count for nothing.
        self.made.fill(NONE);
        let met = self.world.take_met();
        let Some(noted) = self.world.notes.0.take() else { return SPOILED };
        let (outside, facts) = *noted;
        let process = actor.process;
        let local = self.locals.number(Local::of(&self.world, process));
        let effects: Box<[Number]> = outside
            .into_iter()
            .map(|does| self.turns.number_of_effect(Effect { from: process, does }))
            .collect();
        let facts = Facts::new(facts);
        let turned = Turned { process, local, met, effects, facts };
        self.turns.held +=
            size_of::<Turned>() + size_of_val(&*turned.effects) + turned.facts.bytes();
        self.turns.turned.push(turned);
        next(self.turns.turned.len()).get() - 2
    }

    /// Makes a known turn happen once more; answers whether it may be repeated here, and leaves the row as it
    /// was where not.
    pub(super) fn repeat(
        &mut self,
        row: &mut Row,
        process: Process,
        turn: Number,
        port: Number,
    ) -> bool {
        self.before.clear();
        self.before.extend_from_slice(row);
        row[process.0 as usize] = self.turns.turned[turn as usize].local;
        let place = self.place_of_port(process);
        row[place] = port;
        let repeated = self.affect_all(row, turn) && self.observe(row, turn);
        if !repeated {
            row.copy_from_slice(&self.before);
        }
        repeated
    }

    /// The effects of a turn on others.
    fn affect_all(&mut self, row: &mut Row, turn: Number) -> bool {
        for place in 0..self.turns.turned[turn as usize].effects.len() {
            let effect = self.turns.turned[turn as usize].effects[place];
            if !self.affect(row, effect) {
                return false;
            }
        }
        true
    }

    /// An effect in this state: a message behind a write of its queue pair is held up by that.
    fn held_up(&mut self, row: &Row, number: Number) -> Number {
        let Effect { from, does } = &self.turns.effects[number as usize];
        let Outside::Sends { to, via, incoming } = does else { return number };
        let port = &self.ports.value(row[self.place_of_port(*from)]).port;
        let write = port.write_before(*to, *via, incoming);
        if write.is_none() {
            return number;
        }
        let (from, to, via, mut incoming) = (*from, *to, *via, incoming.clone());
        incoming.change().part_of = write;
        self.turns.number_of_effect(Effect { from, does: Outside::Sends { to, via, incoming } })
    }

    /// An effect; answers whether it may happen here.
    fn affect(&mut self, row: &mut Row, number: Number) -> bool {
        let number = self.held_up(row, number);
        let effect = &self.turns.effects[number as usize];
        match &effect.does {
            Outside::Sends { to, via, .. } => {
                let (to, via) = (to.peer, *via);
                let victim = self.rests.value(row[self.place_of_rest()]).crash.victim();
                if victim != Some(to) && (via != Via::Hca || self.crosses(row, number)) {
                    self.affect_port(row, to, number);
                }
            }
            Outside::Posts { token, .. } => {
                let from = effect.from;
                let port = &self.ports.value(row[self.place_of_port(from)]).port;
                if port.operation(*token).is_some() {
                    return false;
                }
                self.affect_port(row, from, number);
            }
            Outside::Fills { to, .. } | Outside::Types { to, .. } => {
                let local = &mut row[to.0 as usize];
                let key = key([*local, number, 0]);
                *local = known_or(&mut self.turns.on_locals, key, || {
                    let mut after = self.locals.value(*local).clone();
                    effect.happens_to_buffers(after.buffers.change());
                    self.locals.number(after)
                });
            }
        }
        true
    }

    /// A message leaves an adapter; answers whether it arrives at once, or where packets may be lost, is on its wire.
    fn crosses(&mut self, row: &mut Row, number: Number) -> bool {
        let rest = &mut row[self.place_of_rest()];
        let Self { turns, rests, .. } = self;
        let state = rests.value(*rest);
        if state.wires.is_none() {
            return true;
        }
        let key = key([*rest, number, 0]);
        if turns.on_wires.find(key).is_none() {
            let mut after = state.clone();
            let arrives = turns.effects[number as usize].crosses(after.wires.as_deref_mut());
            let after = (stored(rests.number(after)), arrives);
            turns.on_wires.find_or_put(key, after);
        }
        let &(after, arrives) = turns.on_wires.find(key).expect("it is known now");
        *rest = after.get() - 1;
        arrives
    }

    fn affect_port(&mut self, row: &mut Row, process: Process, number: Number) {
        let port = &mut row[self.place_of_port(process)];
        let Self { turns, ports, .. } = self;
        let effect = &turns.effects[number as usize];
        *port = known_or(&mut turns.on_ports, key([*port, number, 0]), || {
            let mut after = ports.value(*port).clone();
            effect.happens_to_port(after.port.change());
            ports.number(after)
        });
    }

    /// The monitors observe the facts of a turn; answers whether no law is broken.
    fn observe(&mut self, row: &mut Row, turn: Number) -> bool {
        let (of_windows, of_monitors) = (self.place_of_windows(), self.place_of_monitors());
        let Self { turns, monitors, windows, met, .. } = self;
        let turned = &turns.turned[turn as usize];
        let mut of_both = [None, None];
        if turned.facts.concern_windows {
            let known = observed(&mut turns.on_windows, windows, row[of_windows], turn, turned);
            let Some((after, met)) = known else { return false };
            row[of_windows] = after;
            of_both[0] = Some(met);
        }
        if turned.facts.concern_others {
            let known = observed(&mut turns.on_monitors, monitors, row[of_monitors], turn, turned);
            let Some((after, met)) = known else { return false };
            row[of_monitors] = after;
            of_both[1] = Some(met);
        }
        met.add(&turned.met);
        of_both.into_iter().flatten().for_each(|more| met.add(more));
        true
    }
}

/// Monitors after the facts of a turn, and the branches that they reached; `None` where a law is broken.
fn observed<'a, T: Observer>(
    table: &'a mut Prints<(NonZeroU32, Coverage)>,
    all: &mut Parts<Shared<T>>,
    number: Number,
    turn: Number,
    turned: &Turned,
) -> Option<(Number, &'a Coverage)> {
    let key = key([number, turn, 0]);
    let place = if let Some(place) = table.find_place(key) {
        place
    } else {
        let (mut after, mut found) = (all.value(number).clone(), Vec::new());
        let facts = turned.facts.all.iter();
        facts.for_each(|fact| T::observes(&mut after, turned.process, fact, &mut found));
        let met = T::hand_over(&mut after);
        if !found.is_empty() {
            return None;
        }
        table.find_or_put(key, (stored(all.renumber(number, &after)), met));
        table.find_place(key)?
    };
    let (after, met) = table.at(place)?;
    Some((after.get() - 1, met))
}
