//! What a blocked thread waits for, and what is still open at the end: for reports only.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};

use super::background::Background;
use super::endpoints::EndpointTable;
use super::messages::Messages;
use super::one_sided::OneSided;
use super::partitions::{self, PartitionedOperations};
use super::queues::Longest;
use super::requests::{Body, FREED, Request};
use super::threads::{Pending, TestOf, Threads};
use super::words::in_words;
use super::{Key, MessageHeader, Process, Thread, WaitSet};
use crate::call::Requests;
use crate::contract::{Awaited, Wait};
use collectives::Kind;
use mpi::envelope::{Envelope, Selection};

/// Where a role stands: its protocol, its side and the name of its state, `RPut sender in WaitCts`.
fn standing(role: &impl Debug) -> String {
    let text = format!("{role:?}");
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next().filter(|word| *word != "Decided").or_else(|| words.next());
    let sides = words.next().map(|side| format!(" {}", side.to_lowercase()));
    let state = words.next().map(|state| format!(" in {state}"));
    [first.map(str::to_owned), sides, state].into_iter().flatten().collect()
}

/// The parts of a library that a report looks at.
pub(super) struct Diagnosis<'a> {
    pub(super) messages: &'a Messages,
    pub(super) threads: &'a Threads,
    pub(super) background: Option<&'a Background>,
    pub(super) partitioned: Option<&'a PartitionedOperations>,
    pub(super) windows: &'a OneSided,
}

impl Diagnosis<'_> {
    /// Waits of a thread.
    pub(super) fn waits(&self, thread: Thread) -> Option<WaitSet> {
        let pending = self.threads.get(thread)?;
        Some(match pending {
            Pending::One(key) => WaitSet::All(self.wait_on(*key).into_iter().collect()),
            Pending::All { requests, .. } | Pending::TestSet(TestOf::All, requests) => {
                WaitSet::All(self.waits_on(requests))
            }
            Pending::Any { requests, .. }
            | Pending::TestSet(TestOf::Any | TestOf::Some, requests) => {
                WaitSet::Any(self.waits_on(requests))
            }
            Pending::Test { request: handle, .. } | Pending::Arrived(handle, _) => {
                WaitSet::All(self.wait_on(Key::User(*handle)).into_iter().collect())
            }
            Pending::Probe { selection, .. } => WaitSet::All(vec![Wait {
                operation: "MPI_Probe",
                peers: self.sources(selection),
                thread: None,
                detail: format!("for a message of {}; {}", in_words(selection), self.queues()),
                origin: self.messages.call_of(thread),
            }]),
            Pending::Agree(agreeing) => {
                let inner = self.wait_on(Key::Inner(thread));
                let wait = |wait: Wait| Wait { operation: agreeing.operation(), ..wait };
                WaitSet::All(inner.map(wait).into_iter().collect())
            }
            Pending::Detach => {
                let open = self.messages.requests().buffered().filter_map(|key| self.wait_on(key));
                let wait = |wait: Wait| Wait { operation: "MPI_Buffer_detach", ..wait };
                WaitSet::All(open.map(wait).collect())
            }
            Pending::Finalize => {
                let freed = |request: &Request| request.waiter == Some(FREED);
                let requests = self.messages.requests().iter();
                let open = requests.filter(|(_, request)| freed(request));
                let wait = |wait: Wait| Wait { operation: "MPI_Finalize", ..wait };
                WaitSet::All(open.filter_map(|(key, _)| self.wait_on(key)).map(wait).collect())
            }
            Pending::Window
            | Pending::WindowTest(_)
            | Pending::WindowPass
            | Pending::WindowCall(_) => {
                let origin = self.messages.call_of(thread);
                WaitSet::All(self.windows.waits(thread, origin)?)
            }
            Pending::Collective(running) => {
                let (operation, place) = (running.call.function(), running.standing());
                let wait = |wait: Wait| {
                    let detail = format!("{place}: {}", wait.detail);
                    Wait { operation, detail, ..wait }
                };
                WaitSet::All(self.parts(thread).map(wait).collect())
            }
            Pending::Device(exchanging) => {
                let operation = exchanging.function();
                let wait = |wait: Wait| Wait { operation, ..wait };
                WaitSet::All(self.parts(thread).map(wait).collect())
            }
        })
    }

    /// The waits for messages of a thread's collective, or of its data on a GPU.
    fn parts(&self, thread: Thread) -> impl Iterator<Item = Wait> {
        self.messages.requests().parts(thread).filter_map(|key| self.wait_on(key))
    }

    fn waits_on(&self, requests: &Requests) -> Vec<Wait> {
        let keys = (0..requests.len()).map(|i| Key::User(requests.at(i)));
        keys.filter_map(|key| self.wait_on(key)).collect()
    }

    /// The first wait of [`Self::waits`], without words.
    pub(super) fn first_wait(&self, thread: Thread) -> Option<Awaited> {
        let pending = self.threads.get(thread)?;
        match pending {
            Pending::One(key) => self.first_of([*key]),
            Pending::Test { request, .. } | Pending::Arrived(request, _) => {
                self.first_of([Key::User(*request)])
            }
            Pending::All { requests, .. }
            | Pending::TestSet(_, requests)
            | Pending::Any { requests, .. } => {
                self.first_of((0..requests.len()).map(|i| Key::User(requests.at(i))))
            }
            Pending::Collective(running) => {
                let operation = running.function();
                let mut peers = Vec::new();
                let open = self
                    .messages
                    .requests()
                    .parts(thread)
                    .filter_map(|key| self.messages.requests().get(key));
                let waits = open.filter(|open| operation_of(&open.body).is_some());
                let waits = waits.map(|open| self.add_peers(&open.body, &mut peers)).count();
                (waits > 0).then_some(Awaited { operation, peers })
            }
            Pending::Probe { .. }
            | Pending::Agree(_)
            | Pending::Detach
            | Pending::Finalize
            | Pending::Window
            | Pending::WindowTest(_)
            | Pending::WindowPass
            | Pending::WindowCall(_)
            | Pending::Device(_) => self.waits(thread)?.first(),
        }
    }

    /// How far the call of a thread has come: what the end of a request, a round or an answer changes in it.
    pub(super) fn call_so_far<H: Hasher>(&self, thread: Thread, to: &mut H) -> bool {
        match self.threads.get(thread) {
            Some(Pending::One(key)) => self.so_far(*key, to),
            Some(Pending::All { remaining, .. }) => remaining.hash(to),
            Some(Pending::Collective(running)) => running.so_far().hash(to),
            Some(Pending::Agree(agreeing)) => {
                agreeing.hash(to);
                self.so_far(Key::Inner(thread), to);
            }
            Some(Pending::Window) => self.windows.so_far(thread, to),
            Some(Pending::Probe { flag: false, .. }) => {}
            // Any of several, or a pass that comes to its end anyway.
            Some(
                Pending::Any { .. }
                | Pending::Test { .. }
                | Pending::TestSet(..)
                | Pending::Arrived(..)
                | Pending::Probe { .. }
                | Pending::Detach
                | Pending::Finalize
                | Pending::WindowTest(_)
                | Pending::WindowPass
                | Pending::WindowCall(_)
                | Pending::Device(_),
            )
            | None => return false,
        }
        true
    }

    /// How far a request has come, and the messages of one that has several.
    fn so_far<H: Hasher>(&self, key: Key, to: &mut H) {
        let requests = self.messages.requests();
        let Some(Request { body, .. }) = requests.get(key) else { return };
        body.hash(to);
        match body {
            Body::Background { slot, .. } => requests.later(*slot).for_each(|one| one.hash(to)),
            Body::Joint { slot, .. } => requests.joint(*slot).for_each(|one| one.hash(to)),
            Body::Partitioned { .. } => self.partitioned.hash(to),
            Body::Complete(_)
            | Body::OneSided
            | Body::Unmatched { .. }
            | Body::Sending { .. }
            | Body::Posted { .. }
            | Body::Receiving { .. } => {}
        }
    }

    fn first_of(&self, keys: impl IntoIterator<Item = Key>) -> Option<Awaited> {
        let mut first: Option<Awaited> = None;
        for body in
            keys.into_iter().filter_map(|key| Some(&self.messages.requests().get(key)?.body))
        {
            let Some(operation) = operation_of(body) else { continue };
            let first = first.get_or_insert(Awaited { operation, peers: Vec::new() });
            if first.operation == operation {
                self.add_peers(body, &mut first.peers);
            }
        }
        first
    }

    /// The wait for one request; `None` if it is complete or not open.
    fn wait_on(&self, key: Key) -> Option<Wait> {
        let Request { body, origin, .. } = self.messages.requests().get(key)?;
        let operation = operation_of(body)?;
        let mut peers = Vec::new();
        self.add_peers(body, &mut peers);
        Some(Wait {
            operation,
            peers,
            thread: None,
            detail: self.detail_of(body),
            origin: origin.0,
        })
    }

    /// Adds the processes that could end the wait for a request.
    fn add_peers(&self, body: &Body, peers: &mut Vec<Process>) {
        match body {
            Body::Complete(_) | Body::OneSided => {}
            Body::Unmatched { to, .. } | Body::Sending { to, .. } => peers.push(to.peer),
            Body::Posted { selection, .. } => peers.extend(self.sources(selection)),
            Body::Receiving { from, .. } => peers.push(from.peer),
            Body::Background { slot, .. } => {
                self.add_all_peers(self.messages.requests().later(*slot), peers);
            }
            Body::Joint { slot, .. } => {
                self.add_all_peers(self.messages.requests().joint(*slot), peers);
            }
            Body::Partitioned { slot, .. } => {
                peers.extend(self.partitioned.and_then(|all| all.peer(self.messages, *slot)));
            }
        }
    }

    fn add_all_peers(&self, parts: impl Iterator<Item = Key>, peers: &mut Vec<Process>) {
        for part in parts.filter_map(|key| self.messages.requests().get(key)) {
            self.add_peers(&part.body, peers);
        }
    }

    /// A request that is not complete, in words.
    fn detail_of(&self, body: &Body) -> String {
        match body {
            Body::Complete(_) => String::new(),
            Body::OneSided => "for an operation on a window".to_owned(),
            Body::Unmatched { to, tag, buffer, .. } => format!(
                "{} B with tag {tag} to be matched by process {}; {}",
                buffer.len,
                to.peer.0,
                self.queues()
            ),
            Body::Sending { role, to, tag, buffer, .. } => format!(
                "{} B with tag {tag} to process {}, {}; {}",
                buffer.len,
                to.peer.0,
                standing(role),
                self.queues()
            ),
            Body::Posted { selection, buffer, .. } => {
                format!("{} B from {}; {}", buffer.len, in_words(selection), self.queues())
            }
            Body::Receiving { role, from, buffer, .. } => {
                format!("{} B from process {}, {}", buffer.len, from.peer.0, standing(role))
            }
            Body::Background { slot, .. } => self.background_detail(*slot),
            Body::Partitioned { slot, .. } => {
                self.partitioned.map_or_else(String::new, |all| all.standing(*slot))
            }
            Body::Joint { slot, .. } => {
                let open = self.messages.requests().joint(*slot);
                let waits = open.filter_map(|key| self.wait_on(key));
                let parts = waits.map(|wait| format!("{} of {}", wait.operation, wait.detail));
                parts.collect::<Vec<_>>().join(", and ")
            }
        }
    }

    /// The processes that could send what is selected; a wildcard names all the others.
    fn sources(&self, selection: &Selection) -> Vec<Process> {
        self.messages.communicators().sources(self.messages.site(), selection)
    }

    /// The collective whose message this is.
    fn collective_of(&self, envelope: Envelope) -> Option<&'static str> {
        let mut known = self.messages.communicators().known(self.messages.site());
        known.find(|communicator| communicator.internal == envelope.context)?;
        if partitions::has(envelope.tag) {
            return Some("MPI_Psend_init");
        }
        Kind::function_of_tag(envelope.tag)
    }

    fn queues(&self) -> String {
        let queues = self.messages.queues();
        let Longest { posted, unexpected: waiting } = queues.lengths();
        let unexpected: Vec<String> = queues
            .unexpected()
            .take(4)
            .map(|message| {
                let (envelope, bytes) = (message.envelope, message.payload.header.bytes);
                match self.collective_of(envelope) {
                    None => {
                        format!("{bytes} B from rank {} tag {}", envelope.source.0, envelope.tag)
                    }
                    Some(function) => {
                        format!("{bytes} B from rank {} of {function}", envelope.source.0)
                    }
                }
            })
            .collect();
        let more = waiting.saturating_sub(unexpected.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let list = if unexpected.is_empty() {
            String::new()
        } else {
            format!(" ({}{more})", unexpected.join("; "))
        };
        let counted = |count: usize, what: &str| {
            format!("{count} {what}{}", if count == 1 { "" } else { "s" })
        };
        let (posted, waiting) = (counted(posted, "receive"), counted(waiting, "message"));
        format!("{posted} posted, {waiting} unexpected{list}")
    }

    /// Requests, messages, handles and windows that the program has not ended, in words.
    pub(super) fn open_ends(&self) -> Vec<String> {
        let name = |key| match key {
            Key::User(handle) => format!("request {}", handle.0),
            Key::Inner(thread) => format!("the blocking call of thread {}", thread.0),
            Key::Buffered(slot) => format!("buffered message {slot}"),
            Key::Part(thread, part) => {
                format!("message {part} of the collective of thread {}", thread.0)
            }
            Key::Later(slot, part) => format!("message {part} of collective {slot} under way"),
            Key::Joint(_, part) => format!("message {part} of a request that has several"),
            Key::Partition(_, part) => format!("message {part} of a partitioned operation"),
        };
        let requests = self.messages.requests().iter().map(|(key, request)| match request.body {
            Body::Complete(_) => format!("{} is complete but was never waited for", name(key)),
            Body::OneSided
            | Body::Unmatched { .. }
            | Body::Sending { .. }
            | Body::Posted { .. }
            | Body::Background { .. }
            | Body::Joint { .. }
            | Body::Partitioned { .. }
            | Body::Receiving { .. } => format!("{} is still open", name(key)),
        });
        let queues = self.messages.queues();
        let unexpected = queues.unexpected().map(|message| message.payload.header);
        let probed = self.messages.probed();
        let unreceived =
            unexpected.chain(probed).map(|MessageHeader { envelope, bytes, .. }| {
                envelope.never_received(bytes, self.collective_of(envelope))
            });
        let windows = self.windows.open_ends(&self.messages.site().job.rma);
        let endpoints = self.messages.communicators().endpoints();
        let handles = endpoints.into_iter().flat_map(EndpointTable::open_ends);
        requests.chain(unreceived).chain(handles).chain(windows).collect()
    }

    /// Condition that a collective under way waits for, in words.
    fn background_detail(&self, slot: u16) -> String {
        let place = self.background.map_or(String::new(), |all| all.standing(slot));
        let first = self.messages.requests().later(slot).find_map(|key| self.wait_on(key));
        first.map_or_else(|| place.clone(), |wait| format!("{place}: {}", wait.detail))
    }
}

/// Operation that a request waits for, as MPI spells it; `None` where it is complete.
const fn operation_of(body: &Body) -> Option<&'static str> {
    match body {
        Body::Complete(_) => None,
        Body::OneSided => Some("MPI_Wait"),
        Body::Background { function, .. }
        | Body::Joint { function, .. }
        | Body::Partitioned { function, .. } => Some(function),
        Body::Unmatched { .. } => Some("MPI_Ssend"),
        Body::Sending { .. } => Some("MPI_Send"),
        Body::Posted { .. } | Body::Receiving { .. } => Some("MPI_Recv"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rendezvous::{Protocol, Receiving, Sending};

    #[test]
    fn a_role_is_told_by_protocol_side_and_state() {
        let sender = Sending::Decided(Protocol::RPut.sender());
        assert_eq!(standing(&sender), "RPut sender in New");
        let receiver = Receiving::Decided(Protocol::RGet.receiver());
        assert_eq!(standing(&receiver), "RGet receiver in New");
        assert_eq!(standing(&Sending::Undecided), "Undecided");
        assert_eq!(standing(&Receiving::Asking), "Asking");
    }
}
