//! What a blocked thread waits for, and what is still open at the end: for reports only.

use std::fmt::Debug;

use super::requests::{Body, Pending, Request};
use super::{Key, Library, Process, Thread, WaitSet, in_words};
use crate::call::Requests;
use crate::collectives::Kind;
use crate::contract::{Awaited, Wait};
use mpi::communicator::Communicator;
use mpi::envelope::{Envelope, Rank, Selection};
use mpi::matching::MatchingEngine;

/// Where a role stands: its protocol, its side and the name of its state, `RPut sender in WaitCts`.
fn standing(role: &impl Debug) -> String {
    let text = format!("{role:?}");
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next().filter(|word| *word != "Decided").or_else(|| words.next());
    let sides = words.next().map(|side| format!(" {}", side.to_lowercase()));
    let state = words.next().map(|state| format!(" in {state}"));
    [first.map(str::to_owned), sides, state].into_iter().flatten().collect()
}

impl Library {
    pub(super) fn diagnose(&self, thread: Thread) -> Option<WaitSet> {
        let pending = self.pending[usize::from(thread.0)].as_ref()?;
        Some(match pending {
            Pending::One(key) => WaitSet::All(self.wait_on(*key).into_iter().collect()),
            Pending::All { requests, .. } | Pending::TestAll(requests) => {
                WaitSet::All(self.waits_on(requests))
            }
            Pending::Any(requests) => WaitSet::Any(self.waits_on(requests)),
            Pending::Test(handle) => {
                WaitSet::All(self.wait_on(Key::User(*handle)).into_iter().collect())
            }
            Pending::Probe { selection, .. } => WaitSet::All(vec![Wait {
                operation: "MPI_Probe",
                peers: self.sources(selection),
                thread: None,
                detail: format!("for a message of {}; {}", in_words(selection), self.queues()),
                origin: self.calls.0[usize::from(thread.0)] - 1,
            }]),
            Pending::Agree(agreeing) => {
                let inner = self.wait_on(Key::Inner(thread));
                let wait = |wait: Wait| Wait { operation: agreeing.operation(), ..wait };
                WaitSet::All(inner.map(wait).into_iter().collect())
            }
            Pending::Detach => {
                let open = self.requests.buffered().filter_map(|key| self.wait_on(key));
                let wait = |wait: Wait| Wait { operation: "MPI_Buffer_detach", ..wait };
                WaitSet::All(open.map(wait).collect())
            }
            Pending::Window | Pending::WindowTest(_) | Pending::WindowPass => {
                let origin = self.calls.0[usize::from(thread.0)] - 1;
                WaitSet::All(self.rma.as_ref()?.waits(thread, origin).unwrap_or_default())
            }
            Pending::Collective(running) => WaitSet::All(self.collective_waits(thread, running)),
            Pending::Device(exchanging) => WaitSet::All(self.device_waits(thread, exchanging)),
        })
    }

    fn waits_on(&self, requests: &Requests) -> Vec<Wait> {
        let keys = (0..requests.len()).map(|i| Key::User(requests.at(i)));
        keys.filter_map(|key| self.wait_on(key)).collect()
    }

    /// The first wait of [`Self::diagnose`], without words.
    pub(super) fn first_wait(&self, thread: Thread) -> Option<Awaited> {
        let pending = self.pending[usize::from(thread.0)].as_ref()?;
        match pending {
            Pending::One(key) => self.first_of([*key]),
            Pending::Test(handle) => self.first_of([Key::User(*handle)]),
            Pending::All { requests, .. } | Pending::TestAll(requests) | Pending::Any(requests) => {
                self.first_of((0..requests.len()).map(|i| Key::User(requests.at(i))))
            }
            Pending::Collective(running) => {
                let operation = running.function();
                let mut peers = Vec::new();
                let open = self.requests.parts(thread).filter_map(|key| self.requests.get(key));
                let waits = open.filter(|open| operation_of(&open.body).is_some());
                let waits = waits.map(|open| self.add_peers(&open.body, &mut peers)).count();
                (waits > 0).then_some(Awaited { operation, peers })
            }
            Pending::Probe { .. }
            | Pending::Agree(_)
            | Pending::Detach
            | Pending::Window
            | Pending::WindowTest(_)
            | Pending::WindowPass
            | Pending::Device(_) => self.diagnose(thread)?.first(),
        }
    }

    fn first_of(&self, keys: impl IntoIterator<Item = Key>) -> Option<Awaited> {
        let mut first: Option<Awaited> = None;
        for body in keys.into_iter().filter_map(|key| Some(&self.requests.get(key)?.body)) {
            let Some(operation) = operation_of(body) else { continue };
            let first = first.get_or_insert(Awaited { operation, peers: Vec::new() });
            if first.operation == operation {
                self.add_peers(body, &mut first.peers);
            }
        }
        first
    }

    /// The wait for one request; `None` if it is complete or not open.
    pub(super) fn wait_on(&self, key: Key) -> Option<Wait> {
        let Request { body, origin, .. } = self.requests.get(key)?;
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

    /// Who could end the wait for a request.
    fn add_peers(&self, body: &Body, peers: &mut Vec<Process>) {
        match body {
            Body::Complete(_) | Body::OneSided => {}
            Body::Unmatched { to, .. } | Body::Sending { to, .. } => peers.push(to.peer),
            Body::Posted { selection, .. } => self.add_sources(selection, peers),
            Body::Receiving { from, .. } => peers.push(from.peer),
            Body::Background { slot, .. } => {
                for part in self.requests.later(*slot).filter_map(|key| self.requests.get(key)) {
                    self.add_peers(&part.body, peers);
                }
            }
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
        }
    }

    /// The communicators of processes that this one knows.
    fn known(&self) -> impl Iterator<Item = &Communicator> {
        self.job.communicators.all_of(self.me.0).chain(self.made.iter())
    }

    /// The processes that could send what is selected; a wildcard names all the others.
    fn sources(&self, selection: &Selection) -> Vec<Process> {
        let mut sources = Vec::new();
        self.add_sources(selection, &mut sources);
        sources
    }

    fn add_sources(&self, selection: &Selection, sources: &mut Vec<Process>) {
        if let Some(processes) = self.endpoint_sources(selection) {
            return sources.extend(processes);
        }
        if let Some(group) = self.other_group(selection.context) {
            let named = |rank: Rank| group.process(rank).into_iter().collect();
            let processes: Vec<u32> =
                selection.source.map_or_else(|| group.members().to_vec(), named);
            return sources.extend(processes.into_iter().map(Process));
        }
        let communicator = self.known().find(|communicator| {
            communicator.context == selection.context || communicator.internal == selection.context
        });
        // Freed while the receive is open: nobody can send to it any more.
        let Some(communicator) = communicator else { return };
        if let Some(rank) = selection.source {
            sources.extend(communicator.process(rank).map(Process));
        } else {
            let members = communicator.group.members().iter();
            let others = members.filter(|&&process| process != self.me.0);
            sources.extend(others.map(|&process| Process(process)));
        }
    }

    /// The collective whose message this is.
    fn collective_of(&self, envelope: Envelope) -> Option<&'static str> {
        self.known().find(|communicator| communicator.internal == envelope.context)?;
        Kind::function_of_tag(envelope.tag)
    }

    fn queues(&self) -> String {
        let posted: usize = self.matching.iter().map(MatchingEngine::posted_len).sum();
        let waiting: usize = self.matching.iter().map(MatchingEngine::unexpected_len).sum();
        let unexpected: Vec<String> = self
            .matching
            .iter()
            .flat_map(MatchingEngine::unexpected)
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

    pub(super) fn open_ends(&self) -> Vec<String> {
        let name = |key| match key {
            Key::User(handle) => format!("request {}", handle.0),
            Key::Inner(thread) => format!("the blocking call of thread {}", thread.0),
            Key::Buffered(slot) => format!("buffered message {slot}"),
            Key::Part(thread, part) => {
                format!("message {part} of the collective of thread {}", thread.0)
            }
            Key::Later(slot, part) => format!("message {part} of collective {slot} under way"),
        };
        let requests = self.requests.iter().map(|(key, request)| match request.body {
            Body::Complete(_) => format!("{} is complete but was never waited for", name(key)),
            Body::OneSided
            | Body::Unmatched { .. }
            | Body::Sending { .. }
            | Body::Posted { .. }
            | Body::Background { .. }
            | Body::Receiving { .. } => format!("{} is still open", name(key)),
        });
        let unexpected = self.matching.iter().flat_map(MatchingEngine::unexpected).map(|message| {
            let (envelope, bytes) = (message.envelope, message.payload.header.bytes);
            let source = envelope.source.0;
            match self.collective_of(envelope) {
                None => {
                    let tag = envelope.tag;
                    format!("a message of {bytes} B from rank {source} with tag {tag} was never received")
                }
                Some(function) => {
                    format!("a message of {function} of {bytes} B from rank {source} was never received")
                }
            }
        });
        let probed = self.probed.iter().map(|(handle, ..)| {
            format!("the message of matched probe {} was never received", handle.0)
        });
        let windows = self.rma.iter().flat_map(|rma| rma.open_ends(&self.job.rma));
        let handles = self.endpoints.open_ends();
        requests.chain(unexpected).chain(probed).chain(handles).chain(windows).collect()
    }
}

/// What a request waits for, as MPI spells it; `None` where it is complete.
const fn operation_of(body: &Body) -> Option<&'static str> {
    match body {
        Body::Complete(_) => None,
        Body::OneSided => Some("MPI_Wait"),
        Body::Background { function, .. } => Some(function),
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
