//! Steps that commute with everything that others may do: what partial-order rules follow alone.

use super::World;
use super::choice::Choice;
use super::state::{Instance, Operation, Stage};
use crate::crash::Crash;
use crate::monitors::buffers::Lends;
use crate::rules::{breach, touches_window};
use mpi::observation::{GroupFact, Observation};
use protocols::contract::{Action, ActionOf, Input, Machine, Process, Program, Space, Thread};

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// A step that no other thread can notice: the only thread of a process returns from its call.
    ///
    /// It neither enables nor disables a choice of any other actor, touches no memory and no wire,
    /// and tells the monitors nothing; and no cycle consists of such steps alone, since a program
    /// must call between two returns.
    pub fn private_step(&self) -> Option<Choice> {
        self.first_alone(|process, instance| {
            let [strand] = &instance.threads[..] else { return None };
            let returns = matches!(strand.list[..], [Action::Return { .. }]);
            let choice = Choice::Act { process, thread: Thread(0) };
            returns.then_some(choice)
        })
    }

    /// The next step of a process that has one thread, where that is all it can do: it calls, or it
    /// goes on with its list.
    ///
    /// Only the process itself could do anything else with its library; packets that it sends go to
    /// the end of channels from which others take the head. Left to every order are steps that
    /// others may see from the outside: those that touch memory which an RDMA operation under way
    /// names (a call does, for all that is known before it), a program that lingers (it reads no
    /// bytes of its window), a call that enters a collective, ready sends and
    /// where there are any the posting of receives, copies after something has left (a
    /// peer that knows may look at the bytes before), and all steps of a process whose windows
    /// other HCAs may reach at any time. Steps that are followed alone can follow each other for
    /// ever: a search must not follow one alone into a state that it has left behind.
    pub fn lone_step(&self) -> Option<Choice> {
        self.first_alone(|process, instance| {
            let [strand] = &instance.threads[..] else { return None };
            let thread = Thread(0);
            let named = || self.named_by_operations(process);
            let step = match (strand.list.last(), &strand.stage) {
                // What touches a window begins a step of its own; no other process sees any of these.
                (
                    Some(
                        action @ (Action::Copy { .. }
                        | Action::Pack(_)
                        | Action::Combine { .. }
                        | Action::Update { .. }),
                    ),
                    _,
                ) if !touches_window(action) => None,
                (Some(_), _) => {
                    let unseen = strand.list.iter().all(|action| is_unseen(action, named()));
                    unseen.then_some(Choice::Act { process, thread })
                }
                (None, Stage::Calls(call)) => {
                    let seen = named().next().is_some() || self.is_waited_for(instance, call);
                    (!seen).then_some(Choice::Enter { process, thread })
                }
                // Who lingers does so to let others come.
                (None, Stage::Touches(touch)) => {
                    (!touch.lingers()).then_some(Choice::Touch { process, thread })
                }
                (None, _) => None,
            };
            step.filter(|_| !instance.machine.is_exposed())
        })
    }

    /// Whether a call tells what others may come before, or not: that its rank enters a collective,
    /// and where there are ready sends, that one starts or that a receive is posted.
    fn is_waited_for(&self, instance: &Instance<M, P>, call: &M::Call) -> bool {
        let enters = |action: &ActionOf<M>| {
            let (Action::Observe(fact) | Action::Walk { fact: Some(fact), .. }) = action else {
                return false;
            };
            let posts = matches!(fact, Observation::Posted { .. });
            let first = matches!(
                fact,
                Observation::Group(GroupFact::Entered { .. })
                    | Observation::Sent { ready: true, .. }
            );
            first || posts && self.sends_ready
        };
        let (thread, input) = (Thread(0), Input::Call(call.clone()));
        let question = self.memo.question(&instance.machine, thread, &input);
        if let Some((_, list)) = self.memo.answer(question) {
            return list.iter().any(enters);
        }
        let (mut machine, mut list) = (instance.machine.clone(), Vec::new());
        let refused = machine.change().handle(thread, input, &mut list).is_err();
        if !refused && breach(&list).is_none() {
            self.memo.keep(question, &machine, &list);
        }
        refused || list.iter().any(enters)
    }

    fn first_alone(
        &self,
        step: impl Fn(Process, &Instance<M, P>) -> Option<Choice>,
    ) -> Option<Choice> {
        // Whether a process dies, or a timer runs out, before or after a step is a difference.
        let waits = self.crash == Crash::Possible || !self.wires_are_quiet();
        // What an adapter takes, it takes before a step of its process or after it.
        if self.fault.is_some() || waits || self.adapters {
            return None;
        }
        (0u32..)
            .zip(&self.instances)
            .find_map(|(process, instance)| step(Process(process), instance))
    }

    /// Memory of a process that RDMA operations under way name, or that a neighbour is about to copy
    /// from or into.
    fn named_by_operations(&self, process: Process) -> impl Iterator<Item = Space> + '_ {
        let operations = self.ports.iter().flat_map(|port| &port.operations);
        let sides = operations.filter(|one| one.touches_memory()).flat_map(Operation::sides);
        let lists = self.strands().flat_map(|(_, _, _, strand)| &strand.list);
        let copies = lists.filter_map(|action| {
            let Action::PeerCopy { peer, remote, .. } = action else { return None };
            Some((*peer, *remote))
        });
        let named = sides.chain(copies).filter(move |(owner, _)| *owner == process);
        named.map(|(_, region)| region.space)
    }
}

/// Whether an action of a process touches none of its memory that is `named` by others.
fn is_unseen<P, R>(action: &Action<P, R>, mut named: impl Iterator<Item = Space>) -> bool {
    let touched = match action {
        Action::Copy { from, to } => [Some(*from), Some(*to)],
        Action::Combine { from, into, .. } => [Some(*from), Some(*into)],
        Action::Pack(copy) => [Some(copy.data()), Some(copy.packed)],
        Action::Update { operand, old, .. } => [*operand, *old],
        Action::RdmaAtomic { operand, .. } => [*operand, None],
        Action::Send { payload, .. } => [*payload, None],
        Action::Complete { buffer, .. } => [*buffer, None],
        // What the library makes of it is not known yet.
        Action::Resume(_) => return named.next().is_none(),
        // A neighbour's memory, and numbers that all of a node may change.
        Action::PeerCopy { .. }
        | Action::Count { .. }
        | Action::Consult { .. }
        | Action::Watch { .. } => return false,
        Action::Return { .. }
        | Action::Release
        | Action::Work(_)
        | Action::Walk { .. }
        | Action::Register { .. }
        | Action::Expose { .. }
        | Action::RdmaWrite { .. }
        | Action::RdmaRead { .. }
        | Action::Device { .. }
        | Action::Repost { .. }
        | Action::Poll(_)
        | Action::Observe(_) => [None, None],
    };
    !named.any(|space| touched.iter().flatten().any(|region| region.space == space))
}
