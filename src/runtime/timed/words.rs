//! Events in words, where a comparison of two runs asks for them.
//!
//! The words are about the event itself, before it is handled: what ends or begins at its time, not what
//! follows from it.

use super::context::Layout;
use super::cores::Cores;
use super::event::Event;
use super::locks::Locks;
use super::memory::Waiters;
use super::network::Network;
use super::network::flight::{COPY, FlightKind, RELIABLE, token_of};
use crate::causes::Spender;
use crate::event_text::EventWords;
use hardware::fabric::{About, FabricEvent, ResourceId};
use hardware::gpu::is_gpu_token;
use protocols::contract::{Machine, Process, Program, Thread, WaitSet};

/// Parts of a run that the words for its events name.
#[derive(Debug)]
pub(super) struct Vocabulary<'a, M: Machine, P> {
    pub(super) cores: &'a Cores<M, P>,
    pub(super) libraries: &'a [M],
    pub(super) locks: &'a Locks,
    pub(super) network: &'a Network<M::Packet>,
    pub(super) waiters: &'a Waiters,
    pub(super) layout: &'a Layout,
}

impl<M: Machine, P: Program<M>> Vocabulary<'_, M, P> {
    pub(super) fn words_of(&self, event: Event) -> EventWords {
        match event {
            Event::Fabric(event) => self.words_of_wires(event),
            Event::Depart(id) => self.of_sender(id, "leaves the core"),
            Event::QueuePairFree(id) => self.of_sender(id, "may begin: the queue pair is free"),
            Event::Completed(id) => self.of_sender(id, "has its completion in host memory"),
            Event::Neighbour(id) => self.of_receiver(id, "is in the shared cell"),
            Event::Atomic(id) => self.of_receiver(id, "is done by the atomic unit"),
            Event::Begin(thread) => self.of_thread(thread, "begins"),
            Event::ListEnd(thread) => self.of_thread(thread, "is done with its work"),
            Event::CopyStart(thread) => self.of_thread(thread, "begins a copy"),
            Event::Step(thread) => self.of_thread(thread, "does what others can see"),
            Event::Notice(thread, _) => self.of_thread(thread, "looks into its channels"),
            Event::Access(thread) => self.of_thread(thread, "touches memory of others"),
            Event::Pin(thread) => self.of_thread(thread, "has pages pinned by the kernel"),
            Event::Sweep(thread) => self.of_thread(thread, "turns to all its lanes"),
            Event::Adapter(thread) => self.of_thread(thread, "is looked after by its adapter"),
            Event::Moved(thread) => self.of_thread(thread, "has copied what its cache holds"),
            Event::Pinned(owner, _) => of_process(Process(owner), "may have its pages pinned"),
            Event::Retry(channel) => of_process(
                self.network.receiver_of(channel),
                "takes again what found no receive buffer",
            ),
            Event::Lock(lock, _) => of_process(self.locks.process(lock), "passes on its lock"),
            Event::Seen(id) => {
                of_process(self.waiters.process_of(id), "can see that its turn has come")
            }
            Event::Ask(_) => of_gpu("is asked for an operation"),
            Event::Gpu(_) => of_gpu("begins an operation: its latency is over"),
            Event::Fault(number) => of_plan(number, "begins"),
            Event::FaultEnd(number) => of_plan(number, "ends"),
            Event::Timer(_) => of_wires("the transport timer of a connection may have run out"),
            Event::Acknowledged(channel) => {
                of_process(self.network.sender_of(channel), "has an acknowledgement at its adapter")
            }
            Event::Answer(_) => of_wires("an acknowledgement comes to the HCA"),
            Event::Late(_) => of_wires("a packet that a link has held back arrives"),
        }
    }

    fn words_of_wires(&self, event: FabricEvent) -> EventWords {
        let at = |resource: ResourceId, what: &str| EventWords {
            place: self.network.resource(resource),
            what: what.to_owned(),
        };
        match self.network.about(event) {
            About::Reaches(token, Some(resource)) => {
                let place = self.network.resource(resource);
                EventWords { place, what: format!("{} reaches it", self.carried(token)) }
            }
            About::Reaches(token, None) => self.arrives(token),
            About::MayEnd(token, resource) => {
                let place = self.network.resource(resource);
                EventWords { place, what: format!("{} has moved", self.carried(token)) }
            }
            About::Chooses(resource) => at(resource, "chooses whom to serve next"),
            About::Counts(resource) => at(resource, "counts its packets"),
            About::MayBegin(_) => of_wires("a connection may begin its next transfer"),
            About::Rates => of_wires("rates change: transfers began or ended"),
            About::Nothing => of_wires("nothing: what was planned has changed since"),
        }
    }

    /// Words for the transfer that a token of the fabric stands for.
    fn carried(&self, token: u64) -> String {
        if is_gpu_token(token) {
            return "a transfer of a GPU".to_owned();
        }
        match token_of(token) {
            (COPY, thread) => {
                let (process, _) = self.cores.names(thread);
                format!("a copy of {}", self.called(process))
            }
            (RELIABLE, _) => "a packet of a reliable connection".to_owned(),
            (_, id) => self.flight(id),
        }
    }

    fn arrives(&self, token: u64) -> EventWords {
        if is_gpu_token(token) {
            return of_gpu("a transfer ends");
        }
        match token_of(token) {
            (COPY, thread) => self.of_thread(thread, "ends a copy"),
            (RELIABLE, _) => of_wires("a packet of a reliable connection arrives"),
            (_, id) => self.of_receiver(id, "arrives"),
        }
    }

    /// A flight, by what it is and by whose it is.
    fn flight(&self, id: u32) -> String {
        let flight = self.network.flight(id);
        let label = self.network.label_of(&flight.kind);
        let is_end = matches!(flight.kind, FlightKind::SendDone);
        let (from, to, bytes) = (flight.from, flight.to.peer, flight.bytes);
        if is_end {
            return format!("the end of sends from {} to {}", from.0, to.0);
        }
        format!("{label} ({bytes} B) from {} to {}", from.0, to.0)
    }

    fn of_sender(&self, id: u32, does: &str) -> EventWords {
        let from = self.network.flight(id).from;
        let what = format!("{} {does}", self.flight(id));
        EventWords { place: Spender::Thread(from, Thread(0)), what }
    }

    fn of_receiver(&self, id: u32, does: &str) -> EventWords {
        let to = self.network.flight(id).to.peer;
        let what = format!("{} {does}", self.flight(id));
        EventWords { place: Spender::Thread(to, Thread(0)), what }
    }

    /// Event of a thread, with the operation that it waits for.
    fn of_thread(&self, thread: u32, does: &str) -> EventWords {
        let (process, inner) = self.cores.names(thread);
        let waits = self.libraries[process.0 as usize].waits(inner);
        let first = waits.and_then(|(WaitSet::All(waits) | WaitSet::Any(waits))| {
            waits.first().map(|wait| wait.operation)
        });
        let inside = first.map_or_else(String::new, |operation| format!(", in {operation}"));
        EventWords { place: Spender::Thread(process, inner), what: format!("{does}{inside}") }
    }

    fn called(&self, process: Process) -> String {
        let kind = if self.layout.threads_of(process).len() > 1 { "process" } else { "rank" };
        format!("{kind} {}", process.0)
    }
}

fn of_process(process: Process, what: &str) -> EventWords {
    EventWords { place: Spender::Thread(process, Thread(0)), what: what.to_owned() }
}

fn of_wires(what: &str) -> EventWords {
    EventWords { place: Spender::device("wires"), what: what.to_owned() }
}

fn of_plan(fault: u32, does: &str) -> EventWords {
    let place = Spender::device("fault plan");
    EventWords { place, what: format!("fault {fault} {does}") }
}

fn of_gpu(what: &str) -> EventWords {
    EventWords { place: Spender::device("GPU"), what: what.to_owned() }
}
