//! What processes made of their turns, kept for the next state in which one has the same turn.
//!
//! A turn of a thread is a function of its process's library, programs, memory and borrowed buffers, and
//! of what it takes from a channel. A search meets far fewer different turns than transitions: what
//! a turn leaves of these is shared between all states that have it, and hashed once. What it does
//! to others (packets, posts, facts for the monitors) is done anew each time.
//!
//! A turn that looks at anything else is not kept.

use std::hash::Hash;

use super::World;
use super::facts::Facts;
use super::state::{Actor, Port};
use super::turn::{Notes, Outside, Turn, Turned};
use crate::fingerprint::Fingerprint;
use crate::monitors::buffers::Lends;
use protocols::contract::{Action, ActionOf, Machine, Process, Program, Region};

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// A thread takes its turn, or what is known of it is repeated.
    pub(super) fn turn(&mut self, actor: Actor, turn: Turn<M>) {
        let question = self.question(actor, &turn);
        if let Some(known) = self.memo.turned(question)
            && !known.outside.iter().any(|outside| self.refuses(actor.process, outside))
        {
            return self.repeat(actor, &known);
        }
        self.notes = Notes(question.map(|_| Box::default()));
        let before = std::mem::take(&mut self.met);
        self.take_turn(actor, turn);
        let met = self.met.clone();
        self.met.add(&before);
        if let Some((outside, facts)) = self.notes.0.take().map(|noted| *noted)
            && let Some(memory) = self.memories.of(actor.process)
        {
            let place = actor.process.0 as usize;
            let (instance, buffers) = (self.instances[place].clone(), self.buffers[place].clone());
            let (memory, facts) = (memory.clone(), Facts::new(self.memo.serial(), facts));
            let turned = Turned { instance, memory, buffers, met, outside, facts };
            self.memo.keep_turned(question, turned);
        }
        if self.memo.is_kept() {
            self.hand_over();
        }
    }

    /// Key of a turn; `None` where nothing is kept.
    pub(super) fn question(
        &self,
        Actor { process, thread }: Actor,
        turn: &Turn<M>,
    ) -> Option<u128> {
        let memory = self.memories.of(process).filter(|_| self.memo.is_kept())?;
        let place = process.0 as usize;
        let mut question = Fingerprint::default();
        question.named_shared(&self.instances[place]);
        question.named_shared(memory);
        question.named_shared(&self.buffers[place]);
        (process, thread, turn).hash(&mut question);
        Some(question.by_name())
    }

    /// A post that a rule forbids in this state: the turn has to be taken, so that the error shows.
    fn refuses(&self, process: Process, outside: &Outside<M>) -> bool {
        let port = &self.ports[process.0 as usize];
        matches!(outside, Outside::Posts { token, .. } if port.operation(*token).is_some())
    }

    fn repeat(&mut self, actor: Actor, known: &Turned<M, P>) {
        let place = actor.process.0 as usize;
        self.instances[place].clone_from(&known.instance);
        self.buffers[place].clone_from(&known.buffers);
        self.memories.put(actor.process, &known.memory);
        self.met.add(&known.met);
        for outside in &known.outside {
            match outside.clone() {
                Outside::Sends { to, via, incoming } => self.send(actor, to, via, incoming),
                Outside::Posts { token, lane, does } => self.post(actor, token, lane, does),
                Outside::Fills { to, message, seed } => self.filled(to, message, seed),
                Outside::Types { to, message, typed } => self.typed(to, message, typed),
            }
        }
        self.observe_again(actor.process, &known.facts);
    }

    /// Changes a port in the way that `what` names, or takes what is known of that.
    pub(super) fn change_port<What: Hash>(
        &mut self,
        process: Process,
        what: impl FnOnce() -> What,
        change: impl FnOnce(&mut Port<M>),
    ) {
        let port = &mut self.ports[process.0 as usize];
        if !self.memo.is_kept() {
            return change(port.change());
        }
        let mut question = Fingerprint::default();
        question.named_shared(port);
        (process, what()).hash(&mut question);
        let question = question.by_name();
        if let Some(known) = self.memo.port(question) {
            *port = known;
        } else {
            change(port.change());
            self.memo.keep_port(question, port.clone());
        }
    }

    /// An action that a process is about to carry out spoils a turn where it depends on more than
    /// its library, programs and memory.
    pub(super) fn look_at(&mut self, process: Process, action: &ActionOf<M>) {
        let foreign = |region: &Region| is_foreign(process, *region);
        let spoils = match action {
            Action::Copy { from, to } => foreign(from) || foreign(to),
            Action::Combine { from, into, .. } => foreign(from) || foreign(into),
            Action::Pack(copy) => foreign(&copy.packed),
            Action::Update { target, operand, old, .. } => {
                foreign(target) || operand.iter().chain(old).any(foreign)
            }
            Action::Send { payload: bytes, .. } | Action::RdmaAtomic { operand: bytes, .. } => {
                bytes.as_ref().is_some_and(foreign)
            }
            Action::PeerCopy { .. }
            | Action::Count { .. }
            | Action::Consult { .. }
            | Action::Watch { .. }
            | Action::Device { .. } => true,
            Action::Work(_)
            | Action::Walk { .. }
            | Action::Expose { .. }
            | Action::Register { .. }
            | Action::RdmaWrite { .. }
            | Action::RdmaRead { .. }
            | Action::Repost { .. }
            | Action::Release
            | Action::Poll(_)
            | Action::Complete { .. }
            | Action::Resume(_)
            | Action::Observe(_)
            | Action::Return { .. } => false,
        };
        if spoils {
            self.notes.spoil();
        }
    }

    /// The same for memory that a program is about to touch.
    pub(super) fn look_at_memory(
        &mut self,
        process: Process,
        mut regions: impl Iterator<Item = Region>,
    ) {
        if regions.any(|region| is_foreign(process, region)) {
            self.notes.spoil();
        }
    }
}

/// Whether memory is kept with another process.
fn is_foreign(process: Process, region: Region) -> bool {
    region.space.root().is_some_and(|root| root != process)
}
