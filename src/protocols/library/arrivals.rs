//! What happens when a poll takes a packet or a completion, and what goes on at the end of a request.

use super::answers::push_return;
use super::device::Operation;
use super::messages::receives::Arrived;
use super::requests::{FREED, Wake};
use super::threads::Pending;
use super::{
    Key, Library, LibraryAction, MessageHeader, Packet, ProtocolError, Region, Reply, Route,
    Thread, Token,
};
use crate::contract::{Action, COUNTERS, CodePath, Emit};
use crate::rendezvous::role;

impl Library {
    /// Takes one packet from a channel.
    pub(super) fn packet(
        &mut self,
        thread: Thread,
        from: Route,
        packet: Packet,
        landing: Option<Region>,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Packet::Eager(header) = packet else {
            let out = out.list();
            let wake = self.packet_seldom(thread, from, packet, landing, out)?;
            return self.wake(wake, out);
        };
        out.emit(|| Action::Work(CodePath::Arrival));
        match self.messages.eager_arrives(thread, from, &header, landing, out)? {
            Arrived::Taken(wake) => self.wake(wake, out),
            Arrived::Unexpected => {
                self.answer_probes(&header, out.list());
                Ok(())
            }
        }
    }

    /// Takes a packet that small messages do without; answers what goes on by it.
    #[inline(never)]
    fn packet_seldom(
        &mut self,
        thread: Thread,
        from: Route,
        packet: Packet,
        landing: Option<Region>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        Ok(match packet {
            Packet::Rts { header, scheme, remote } => {
                out.emit(|| Action::Work(CodePath::Handshake));
                let arrived =
                    self.messages.rts_arrives(thread, from, &header, scheme, remote, out)?;
                let Arrived::Taken(wake) = arrived else {
                    self.answer_probes(&header, out);
                    return Ok(None);
                };
                wake
            }
            Packet::Matched { sender } => {
                out.emit(|| Action::Work(CodePath::Control));
                self.messages.matched_arrives(sender, out)?
            }
            Packet::Rtr(rtr) => {
                out.emit(|| Action::Work(CodePath::Handshake));
                self.messages.rtr_arrives(from.peer, rtr);
                None
            }
            Packet::Rma(packet) => {
                let packet = (from, &packet);
                let completed =
                    self.windows.packet(&self.messages, thread, packet, landing, out)?;
                self.window_moved(thread, completed, out)?;
                None
            }
            Packet::Partition(packet) => {
                out.emit(|| Action::Work(CodePath::Control));
                let partitioned = self.partitioned.get_or_insert_default();
                partitioned.packet(&mut self.messages, thread, *packet, out)?
            }
            Packet::Rendezvous { to, from: other, word } => {
                out.emit(|| Action::Work(role::step(landing.is_some())));
                self.messages.control(thread, from, (to, other), (word, landing), out)?
            }
            Packet::Eager(_) => unreachable!("taken where small messages are"),
        })
    }

    /// Goes on with what waited for the end of a request.
    #[inline]
    pub(super) fn wake(
        &mut self,
        wake: Option<Wake>,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        match wake {
            None => {}
            Some(Wake::Thread(thread, key)) => return self.one_less(thread, key, out),
            Some(Wake::Collective(slot)) => {
                let background = self.background.as_mut().expect("its collective was begun");
                background.part_complete(slot);
            }
            Some(Wake::Joint(slot)) => return self.part_of_joint(slot, out.list()),
            Some(Wake::Partition(slot)) => return self.part_of_partitioned(slot, out.list()),
            Some(Wake::Detach(thread)) => {
                self.threads.end(thread);
                push_return(thread, Reply::Done, out);
            }
        }
        Ok(())
    }

    /// One message of a request that has several is complete.
    #[inline(never)]
    fn part_of_joint(
        &mut self,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let joints = self.joints.as_mut().expect("a request of several messages was begun");
        match joints.part_complete(&mut self.messages, slot, out) {
            Some(Wake::Thread(thread, key)) => self.one_less(thread, key, out),
            Some(Wake::Collective(_) | Wake::Joint(_) | Wake::Partition(_) | Wake::Detach(_))
            | None => Ok(()),
        }
    }

    /// One message of a partitioned operation is complete.
    #[inline(never)]
    fn part_of_partitioned(
        &mut self,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let partitioned = self.partitioned.as_mut().expect("its operation was prepared");
        let wake = partitioned.part_complete(&mut self.messages, slot, out);
        self.wake(wake, out)
    }

    /// One of the requests that `thread` waits for is complete.
    fn one_less(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Self { messages, threads, collectives, .. } = self;
        match threads.get_mut(thread) {
            Some(Pending::One(_)) => {
                threads.end(thread);
                let outcome = messages.close(key);
                push_return(thread, Reply::Outcome(outcome), out);
                Ok(())
            }
            Some(Pending::All { remaining, .. }) => {
                *remaining -= 1;
                if *remaining == 0
                    && let Some(Pending::All { requests, statuses, .. }) = threads.take(thread)
                {
                    self.return_all(thread, &requests, statuses, out);
                }
                Ok(())
            }
            Some(Pending::Any { .. }) => {
                if let Some(Pending::Any { requests, some }) = threads.take(thread) {
                    self.return_any(thread, &requests, (key, some), out.list());
                }
                Ok(())
            }
            Some(Pending::Collective(running)) => {
                if running.part_complete()
                    && let Some(Pending::Collective(mut running)) = threads.take(thread)
                {
                    collectives.end_round(messages, &mut running, out)?;
                    if let Some(running) = collectives.go_on(messages, thread, running, out)? {
                        threads.wait(thread, Pending::Collective(running));
                    }
                }
                Ok(())
            }
            Some(Pending::Device(exchanging)) => {
                exchanging.chunk_over(messages, thread, key, out.list())?;
                self.end_device(thread, out.list());
                Ok(())
            }
            Some(Pending::Agree(agreeing)) => {
                let out = out.list();
                messages.close(key);
                agreeing.receive(messages, key);
                if agreeing.exchange(messages, (thread, key), out)?
                    && let Some(Pending::Agree(agreeing)) = threads.take(thread)
                {
                    self.agreed(thread, &agreeing, out)?;
                }
                Ok(())
            }
            None if thread == FREED => {
                messages.close(key);
                self.end_finalize(out.list());
                Ok(())
            }
            pending @ (Some(
                Pending::Test { .. }
                | Pending::TestSet(..)
                | Pending::Arrived(..)
                | Pending::Probe { .. }
                | Pending::Detach
                | Pending::Finalize
                | Pending::Window
                | Pending::WindowTest(_)
                | Pending::WindowPass
                | Pending::WindowCall(_),
            )
            | None) => unreachable!("{pending:?} registers no waiter"),
        }
    }

    /// A thread that probes for this message returns; the first thread that takes it has it.
    fn answer_probes(&mut self, header: &MessageHeader, out: &mut Vec<LibraryAction>) {
        for index in 0..self.threads.len() {
            let thread = Thread(u16::try_from(index).expect("threads are counted in u16"));
            let Some((selection, take)) = self.threads.probe(thread) else { continue };
            if header.envelope.matches(&selection) {
                self.probe_now(thread, selection, take, out);
            }
        }
    }

    /// Windows have changed: requests are complete, and threads may have reached their goals.
    fn window_moved(
        &mut self,
        thread: Thread,
        completed: Vec<super::Handle>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        self.requests_complete(completed, out)?;
        self.look_at_goals(thread, out)
    }

    /// An RDMA operation of a window is over.
    pub(super) fn window_done(
        &mut self,
        thread: Thread,
        token: Token,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let completed = self.windows.done(&self.messages, thread, token, out)?;
        self.window_moved(thread, completed, out)
    }

    /// The numbers of a window's lock were read.
    pub(super) fn window_numbers(
        &mut self,
        thread: Thread,
        numbers: (Token, [u32; COUNTERS]),
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let completed = self.windows.numbers(&self.messages, thread, numbers, out)?;
        self.window_moved(thread, completed, out)
    }

    /// The HCA has finished an RDMA operation of a message.
    pub(super) fn rdma_done(
        &mut self,
        thread: Thread,
        token: Token,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let wake = self.messages.rdma_done(thread, Key::from_token(token), out)?;
        self.wake(wake, out)
    }

    /// The poll between two chunks is over.
    pub(super) fn next_chunk(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let wake = self.messages.next_chunk(thread, out)?;
        self.wake(wake, out)
    }

    /// The counters are read that a receive's choice depends on.
    pub(super) fn counters(
        &mut self,
        thread: Thread,
        (token, values): (Token, [u32; COUNTERS]),
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let wake = self.messages.counters(thread, token, values, out)?;
        self.wake(wake, out)
    }

    /// An operation of a GPU has ended.
    pub(super) fn device_done(
        &mut self,
        token: Token,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let operation = Operation::of(token);
        let thread = operation.thread;
        let Some(Pending::Device(exchanging)) = self.threads.get_mut(thread) else {
            let state = "no thread waits for this operation of the GPU";
            return Err(self.messages.site().defect(state, token));
        };
        exchanging.operation_done(&mut self.messages, operation, out)?;
        self.end_device(thread, out);
        Ok(())
    }

    /// Goes on with the collective under way whose round has ended.
    pub(super) fn advance_background(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Self { messages, collectives, background, .. } = self;
        let Some(background) = background else { return Ok(()) };
        let wake = background.advance((collectives, messages), thread, out)?;
        self.wake(wake, out)
    }
}
