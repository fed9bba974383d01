//! Steps that commute with everything that others may do: what partial-order rules follow alone.

use super::{Choice, Crash, Instance, Stage, World};
use crate::protocols::contract::{Action, Machine, Process, Program, Thread};
use crate::runtime::monitors::Monitors;
use crate::runtime::monitors::buffers::{Buffers, Lends};

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// A step that nobody else can notice: the only thread of a process returns from its call.
    ///
    /// It neither enables nor disables a choice of anybody else, touches no memory and no wire,
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
    /// others may see from the outside: any while an RDMA operation names the memory of the
    /// process, and copies after something has left (a peer that was told may look at the bytes
    /// before). Such steps can follow each other for ever: a search must not follow one alone into
    /// a state that it knows.
    pub fn lone_step(&self) -> Option<Choice> {
        self.first_alone(|process, instance| {
            let [strand] = &instance.threads[..] else { return None };
            let thread = Thread(0);
            let choice = match (strand.list.last(), &strand.stage) {
                (Some(Action::Copy { .. } | Action::Combine { .. }), _) => return None,
                (Some(_), _) => Choice::Act { process, thread },
                (None, Stage::Calls(_)) => Choice::Enter { process, thread },
                (None, _) => return None,
            };
            (!self.is_watched(process)).then_some(choice)
        })
    }

    fn first_alone(
        &self,
        step: impl Fn(Process, &Instance<M, P>) -> Option<Choice>,
    ) -> Option<Choice> {
        // Whether a process dies before or after its step is a difference.
        if self.fault.is_some() || self.crash == Crash::Possible {
            return None;
        }
        (0u32..)
            .zip(&self.instances)
            .find_map(|(process, instance)| step(Process(process), instance))
    }

    /// Whether an RDMA operation under way names the memory of a process.
    fn is_watched(&self, process: Process) -> bool {
        let mut operations = self.ports.iter().flat_map(|port| &port.operations);
        operations.any(|operation| operation.source.0 == process || operation.target.0 == process)
    }

    /// Bytes that a state takes which shares all but one process with another state; an estimate,
    /// since a machine's own lists are counted as if they were as long as the machine itself.
    pub fn weight(&self) -> usize {
        let shared = size_of::<usize>() * 4;
        let parts = size_of::<Instance<M, P>>()
            + size_of::<super::Strand<M, P>>()
            + size_of::<M>()
            + size_of::<super::Port<M>>()
            + size_of::<Monitors>()
            + size_of::<Buffers>();
        size_of::<Self>() + shared * (self.instances.len() + self.ports.len()) + 2 * parts
    }
}
