//! Steps that a world computes: of adapters, wires and faults, and turns that depend on more than
//! their process.

use std::hash::Hash;

use super::parts::Number;
use super::results::Computed;
use super::{NONE, Row, States};
use crate::fingerprint::Fingerprint;
use crate::monitors::buffers::Lends;
use crate::untimed::World;
use crate::untimed::choice::Choice;
use protocols::contract::{Machine, Program};

impl<M: Machine, P: Program<M>> States<M, P>
where
    M::Call: Lends,
{
    /// Makes a choice happen that is no known turn.
    pub(super) fn compute(
        &mut self,
        row: &mut Row,
        choice: Choice,
    ) -> Result<(), Box<World<M, P>>> {
        let places = self.concerns(row, choice);
        let question = places.as_ref().map(|places| {
            let mut question = Fingerprint::default();
            choice.hash(&mut question);
            for place in places {
                (place, row[*place]).hash(&mut question);
            }
            question.by_name()
        });
        if let Some(known) = question.and_then(|question| self.others.find(question)) {
            known.parts.iter().for_each(|(place, number)| row[*place] = *number);
            self.met.add(&known.met);
            return Ok(());
        }
        self.make(row);
        debug_assert!(self.world.offers(choice), "{choice}: it must be one of its choices");
        self.world.make_happen(choice);
        self.world.hand_over();
        let met = self.world.take_met();
        self.met.add(&met);
        if self.world.fault.is_some() || self.world.found.len() > self.broken {
            let wrong = Box::new(self.world.clone());
            self.made.fill(NONE);
            return Err(wrong);
        }
        self.before.clear();
        self.before.extend_from_slice(row);
        self.renumber(row);
        let both = row.iter().zip(&self.before).enumerate();
        let changed = both.filter(|(_, (now, before))| now != before);
        let parts: Box<[(usize, Number)]> =
            changed.map(|(place, (now, _))| (place, *now)).collect();
        if let Some((question, places)) = question.zip(places)
            && parts.iter().all(|(place, _)| places.contains(place))
        {
            self.others.find_or_put(question, Computed { parts, met });
        }
        Ok(())
    }

    /// Places of the parts that a step reads, where these are known: it changes no others, but the
    /// monitors of windows perhaps.
    fn concerns(&self, row: &Row, choice: Choice) -> Option<Vec<usize>> {
        let process = choice.process();
        let rest = self.place_of_rest();
        match choice {
            Choice::Move { token, .. } | Choice::Finish { token, .. } => {
                let port = &self.ports.value(row[self.place_of_port(process)]).port;
                let operation = &port.operations[port.operation(token)?];
                let sides = operation.sides();
                let homes = sides.map(|(owner, region)| region.space.root().unwrap_or(owner));
                let owners = sides.map(|(owner, _)| owner);
                let mut processes = vec![process];
                processes.extend(owners.into_iter().chain(homes));
                let locals = processes.iter().map(|process| process.0 as usize);
                let ports = processes.iter().map(|process| self.place_of_port(*process));
                let both = locals.chain(ports).chain([self.place_of_windows(), rest]);
                Some(both.collect())
            }
            Choice::Wire { to, .. } => Some(vec![self.place_of_port(to), rest]),
            Choice::Enter { .. }
            | Choice::Act { .. }
            | Choice::TakePacket { .. }
            | Choice::TakeDone { .. }
            | Choice::Match { .. }
            | Choice::Conclude { .. }
            | Choice::EndPass { .. }
            | Choice::Touch { .. }
            | Choice::Crash { .. } => None,
        }
    }
}
