//! What an action does that most messages do without: windows, rendezvous, counters, GPUs.
//!
//! These are apart from [`Timed::carry_out`], which is the body of the loop over a list: what the
//! compiler keeps at hand for each of them would be set up for every list.

use std::sync::Arc;

use crate::account::Part;
use crate::causes::Spent;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::cores::actor::After;
use crate::timed::network::flight::Content;
use crate::timed::network::flight::FlightKind;
use protocols::contract::{Action, ActionOf, Machine, Process, Program, Via};
use units::{Bytes, Time};

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// See [`Timed::carry_out`].
    #[inline(never)]
    pub(in crate::timed) fn carry_out_other(
        &mut self,
        thread: u32,
        process: Process,
        action: &ActionOf<M>,
        cursor: Time,
    ) -> Option<Time> {
        match action {
            Action::Pack(copy) => Some(self.pack(thread, process, copy, cursor)),
            Action::Combine { from, into, reduction, side } => {
                self.cx.observers.buffers.reads(process, *from, &mut self.cx.observers.violations);
                self.cx.observers.buffers.writes(process, *into, &mut self.cx.observers.violations);
                self.memory.bytes.combine(process, (*from, *into), *reduction, *side);
                self.move_bytes(thread, Bytes::new(from.len), cursor)
            }
            Action::Update { target, rank, update, operand, old } => {
                self.update(thread, (*target, *rank, *update), *operand, *old, cursor)
            }
            Action::PeerCopy { peer, toward, own, remote } => {
                self.peer_copy(thread, (*peer, *toward), (*own, *remote), cursor);
                None
            }
            Action::Expose { region } => {
                let cost = self.memory.peer_copies.expose(&self.cx.costs.profile, *region);
                Some(self.charge(thread, Part::Kernel, cursor, cost))
            }
            Action::Count { counter, change } => {
                Some(self.change_counter(thread, (*counter, *change), cursor))
            }
            Action::Consult { counters, token } => {
                let actor = self.actor(thread);
                (actor.asked, actor.after) = (*counters, After::Consult(*token));
                Some(self.go_to_counters(thread, *counters, cursor))
            }
            Action::Watch { counter, value, token } => {
                self.watch_counter(thread, (*counter, *value, *token), cursor);
                Some(cursor)
            }
            Action::Register { region } => Some(self.register(thread, process, *region, cursor)),
            Action::RdmaWrite { to, from, into, token, immediate } => {
                let content = |packet: &M::Packet| Content {
                    packet: packet.clone(),
                    parcel: None,
                    slots: None,
                };
                let contents = &mut self.network.contents;
                let immediate = immediate.as_ref().map(|word| contents.insert(|| content(word)));
                let (source, into, token) = (*from, *into, *token);
                let kind = || FlightKind::Write { from: source, into, token, immediate };
                Some(self.launch(thread, *to, kind, from.len, Via::Hca, cursor))
            }
            Action::RdmaRead { from, remote, into, token } => {
                let (remote, into, token) = (*remote, *into, *token);
                let kind = || FlightKind::ReadRequest { remote, into, token };
                Some(self.launch(thread, *from, kind, 0, Via::Hca, cursor))
            }
            Action::RdmaAtomic { at, target, update, operand, into, token } => {
                let parcel = operand.map(|operand| {
                    self.cx.observers.buffers.reads(
                        process,
                        operand,
                        &mut self.cx.observers.violations,
                    );
                    self.memory.bytes.capture(process, operand)
                });
                let bytes = operand.map_or(0, |operand| operand.len);
                let (target, update, into, token) = (*target, *update, *into, *token);
                let operand = parcel.unwrap_or_default();
                let kind = || FlightKind::AtomicRequest { target, update, into, token, operand };
                Some(self.launch(thread, *at, kind, bytes, Via::Hca, cursor))
            }
            Action::Device { stream, work, token } => {
                let asks = (*stream, Arc::clone(work));
                let call = self.ask_device(thread, asks, Some(*token), cursor);
                Some(self.charge_with_others(thread, (Part::Post, Spent::Gpu), cursor, call))
            }
            Action::Work(_)
            | Action::Walk { .. }
            | Action::Copy { .. }
            | Action::Send { .. }
            | Action::Repost { .. }
            | Action::Release
            | Action::Poll(_)
            | Action::Resume(_)
            | Action::Complete { .. }
            | Action::Observe(_)
            | Action::Return { .. } => unreachable!("carried out where the list is walked"),
        }
    }
}
