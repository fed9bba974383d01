//! An adapter that matches: it takes messages for a process that computes.
//!
//! ```text
//!   arrives ──▶ the adapter's period ──▶ the process still computes: matched, and in its buffer
//!                                   └──▶ it is inside the library: its next poll takes it, as without
//! ```
//!
//! Where `hca.matching_on_nic` says so, the receives of a process lie in the match list of its adapter.
//! What its library makes of a message is done then without its core: nothing is dispatched, walked
//! through or copied by it, and no poll is needed. A packet of a window needs its host's handler, and
//! so do the messages behind it in its channel.
//!
//! Source: `rma` Sec. 5 and `MPICH301` (the nemesis netmod for MX posts receives with match bits).
//! Left out: processes of several threads; rendezvous, synchronous sends, and messages inside a node,
//! which wait for the host; a longer walk through a longer list. While its process is inside the
//! library the adapter leaves the work to its polls: noticeable as their walks and copies.

use super::actor::State;
use super::{Arrived, Content, Happening, Lends, Machine, Phase, Program, Timed};
use crate::protocols::contract::{Action, ActionOf, Input, Process, Thread, Via};
use crate::runtime::untimed::Choice;

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Something waits for a process, or it begins to compute: its adapter, where it matches, looks a
    /// period later.
    #[inline]
    pub(super) fn adapter_looks(&mut self, process: Process) {
        if self.costs.profile.hca.matching_on_nic {
            self.looks_later(process);
        }
    }

    fn looks_later(&mut self, process: Process) {
        let thread = self.thread_of(process, Thread(0));
        if self.looking[process.0 as usize] || self.for_adapter(thread).is_none() {
            return;
        }
        self.looking[process.0 as usize] = true;
        let at = self.simulation.now() + self.costs.profile.hca.msg_rate_total.period();
        self.schedule(at, thread, Phase::Adapter, Happening::Adapter(thread));
    }

    /// The channel with the next message that the adapter takes for a thread.
    fn for_adapter(&self, thread: u32) -> Option<u32> {
        let actor = &self.actors[thread as usize];
        let process = actor.process;
        if actor.state != State::Computing || self.threads_of(process).len() > 1 {
            return None;
        }
        let machine = &self.machines[process.0 as usize];
        let takes = |arrived: &Arrived| match *arrived {
            Arrived::Packet { from, content, via: Via::Hca, .. } => {
                machine.adapter_takes(from, &self.contents.peek(content).packet)
            }
            Arrived::Packet { .. }
            | Arrived::Done(_)
            | Arrived::Device(_)
            | Arrived::Seen(_)
            | Arrived::SendDone => false,
        };
        let mut heads = self.pollers[process.0 as usize].heads(&self.entries);
        heads.find(|(_, arrived)| takes(arrived)).map(|(channel, _)| channel)
    }

    /// The adapter takes a message, if its process still computes.
    pub(super) fn adapter_takes(&mut self, thread: u32) {
        let (process, inner) = self.names(thread);
        self.looking[process.0 as usize] = false;
        let Some(place) = self.for_adapter(thread) else { return };
        let poller = &mut self.pollers[process.0 as usize];
        let Some(Arrived::Packet { from, channel, content, .. }) =
            poller.take(place, false, &mut self.entries)
        else {
            unreachable!("it was looked at just now")
        };
        let Content { packet, parcel, .. } = self.contents.remove(content);
        self.record(|| Choice::Match { process, from });
        let landing = parcel.map(|parcel| self.memories.land(process, &parcel));
        let mut list = Vec::new();
        let input = Input::Packet { from, packet, landing };
        let known = self.machines[process.0 as usize].handle(inner, input, &mut list);
        if let Err(error) = known {
            return self.fail(process, error);
        }
        for action in list {
            self.done_by_adapter(thread, &action);
        }
        let now = self.simulation.now();
        self.credit(channel, now);
        self.adapter_looks(process);
    }

    /// What an eager message asks for, without a core.
    fn done_by_adapter(&mut self, thread: u32, action: &ActionOf<M>) {
        let (process, _) = self.names(thread);
        match action {
            Action::Work(_) | Action::Walk { .. } => {}
            Action::Copy { from, to } => {
                self.buffers.reads(process, *from, &mut self.violations);
                self.buffers.writes(process, *to, &mut self.violations);
                self.memories.copy(process, *from, *to);
            }
            Action::Repost { landing, .. } => self.memories.free_landing(process, *landing),
            Action::Complete { buffer, fact, .. } => {
                self.completes(process, *buffer, fact.as_ref());
            }
            Action::Observe(fact) => {
                let program = &self.actors[thread as usize].program;
                let found = &mut self.violations;
                self.monitors.told(process, fact, || program.position(), found);
            }
            Action::Combine { .. }
            | Action::Update { .. }
            | Action::PeerCopy { .. }
            | Action::Expose { .. }
            | Action::Count { .. }
            | Action::Consult { .. }
            | Action::Watch { .. }
            | Action::Register { .. }
            | Action::Send { .. }
            | Action::RdmaWrite { .. }
            | Action::RdmaRead { .. }
            | Action::RdmaAtomic { .. }
            | Action::Device { .. }
            | Action::Release
            | Action::Poll(_)
            | Action::Resume(_)
            | Action::Return { .. } => {
                unreachable!("an eager message to a process that computes asks for {action:?}")
            }
        }
    }
}
