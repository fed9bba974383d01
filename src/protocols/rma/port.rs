//! How the one-sided part of a library acts.

use std::sync::Arc;

use super::call::Operation;
use super::packet::{Body, DERIVED_BYTES, RmaPacket, Scope};
use super::settings::Settings;
use super::token::token;
use super::window::{Queued, Window};
use crate::contract::{Action, CodePath, Handle, Process, Region, Route, Space, Thread};
use crate::job::Job;
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use crate::vcis::on_vci;
use crate::wire::{LibraryAction, Packet};
use mpi::envelope::Context;
use mpi::observation::{Observation, WindowFact};

/// View of its process for the one-sided part, and the list to which it adds its actions.
pub(crate) struct Port<'a> {
    /// This process.
    pub(crate) me: Process,
    /// The thread that acts.
    pub(crate) thread: Thread,
    /// The job, which is the same for all processes.
    pub(crate) job: &'a Job,
    pub(crate) out: &'a mut Vec<LibraryAction>,
    /// Requests of the program that are complete.
    pub(crate) completed: Vec<Handle>,
    /// The first thing that this process cannot do, in words.
    pub(crate) refused: Option<String>,
    #[cfg(feature = "mutants")]
    pub(crate) mutant: Option<Mutant>,
}

impl<'a> Port<'a> {
    pub(super) fn settings(&self) -> &'a Settings {
        &self.job.rma
    }

    #[cfg(feature = "mutants")]
    pub(super) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The largest eager message to a rank of a window.
    pub(super) fn eager_to(&self, window: &Window, target: u32) -> u64 {
        let route = self.route(window, target);
        self.job.eager_by(self.job.wire(self.me, route, self.thread).via)
    }

    /// The largest payload of a packet to a rank of a window.
    pub(super) fn segment_to(&self, window: &Window, target: u32) -> u64 {
        self.settings().segment.unwrap_or_else(|| self.eager_to(window, target))
    }

    /// Whether these processes can map one piece of memory.
    pub(super) fn has_one_node(&self, processes: &[Process]) -> Result<(), String> {
        let node = |process: Process| self.job.node_of[process.0 as usize];
        let first = processes[0];
        let other = processes.iter().find(|other| node(**other) != node(first));
        other.map_or(Ok(()), |other| {
            Err(format!(
                "memory is shared inside a node: process {} is on node {}, process {} on node {}",
                first.0,
                node(first),
                other.0,
                node(*other)
            ))
        })
    }

    /// A call requested what cannot be done.
    pub(super) fn refuse(&mut self, words: String) {
        self.refused.get_or_insert(words);
    }

    /// Tells the monitors a fact, where they are to watch.
    pub(super) fn fact(&mut self, window: u32, fact: WindowFact) {
        if self.settings().watch {
            self.out.push(Action::Observe(Observation::Window(window, fact)));
        }
    }

    pub(super) fn work(&mut self, step: CodePath) {
        self.out.push(Action::Work(step));
    }

    pub(super) fn copy(&mut self, from: Region, to: Region) {
        if from.len > 0 {
            self.out.push(Action::Copy { from, to });
        }
    }

    /// Copies what is to be sent: the program's bytes are free at once.
    pub(super) fn stage(&mut self, origin: Region) -> Region {
        let staging = Region::new(Space::Staging(self.thread.0), origin.len);
        self.copy(origin, staging);
        staging
    }

    /// The buffer belongs to the program again.
    pub(super) fn give_back(&mut self, region: Region) {
        self.out.push(Action::Complete { code: None, buffer: Some(region), fact: None });
    }

    /// A request is complete, where the operation had one.
    pub(super) fn complete(&mut self, request: Option<Handle>) {
        self.completed.extend(request);
    }

    /// Says something about a window to one of its ranks.
    pub(super) fn tell(&mut self, window: &Window, to: u32, body: Body, payload: Option<Region>) {
        self.work(CodePath::Control);
        let route = self.route(window, to);
        self.answer(window, route, body, payload);
    }

    /// The same by the way back of a packet, as part of handling it.
    pub(super) fn answer(
        &mut self,
        window: &Window,
        to: Route,
        body: Body,
        payload: Option<Region>,
    ) {
        let strided = matches!(body, Body::Operate { place, .. } if place.is_strided());
        let derived = if strided { DERIVED_BYTES } else { 0 };
        let carries = matches!(body, Body::Operate { .. } | Body::Reply { .. });
        let header = if carries { self.job.header } else { self.job.control }.as_u64();
        self.packet(to, window.about(body), header + derived, payload);
    }

    /// Words of an exchange, 8 bytes each behind a control header.
    pub(super) fn words(&mut self, to: Process, scope: Scope, words: Arc<[u64]>) {
        self.work(CodePath::Control);
        let header = self.job.control.as_u64() + 8 * words.len() as u64;
        let to = if self.job.vcis.are_several() {
            let vci = match scope {
                Scope::Comm(context) => self.job.vci(Context(context)),
                Scope::Window(window) => self.job.vci_of_window(window),
            };
            on_vci(to, vci)
        } else {
            Route::to(to)
        };
        self.packet(to, RmaPacket::Words { scope, words }, header, None);
    }

    /// The way to a rank of a window.
    fn route(&self, window: &Window, rank: u32) -> Route {
        let peer = window.members[rank as usize];
        if self.job.vcis.are_several() {
            return on_vci(peer, self.job.vci_of_window(window.id));
        }
        Route::to(peer)
    }

    fn packet(&mut self, to: Route, packet: RmaPacket, header: u64, payload: Option<Region>) {
        let wire = self.job.wire(self.me, to, self.thread);
        self.out.push(Action::Send {
            to,
            via: wire.via,
            header: units::Bytes::new(header),
            packet: Packet::Rma(Arc::new(packet)),
            payload: payload.filter(|payload| payload.len > 0),
        });
    }

    /// Hands an operation to the HCA, one WQE for each run of bytes.
    pub(super) fn post(&mut self, window: &Window, target: u32, slot: u32, queued: Queued) {
        let route = self.route(window, target);
        for region in [queued.does.origin(), queued.does.result()].into_iter().flatten() {
            self.out.push(Action::Register { region });
        }
        for (part, (remote, start)) in (0..).zip(queued.place.runs()) {
            let token = token(window.id, slot, part);
            self.work(CodePath::Control);
            self.out.push(match queued.does {
                Operation::Put { origin } => {
                    let from = origin.part(start, remote.len);
                    let (into, immediate) = (remote, None);
                    Action::RdmaWrite { to: route, from, into, token, immediate }
                }
                Operation::Get { into } => {
                    let into = into.part(start, remote.len);
                    Action::RdmaRead { from: route, remote, into, token }
                }
                Operation::Update { update, origin, result } => {
                    let spare = Region::new(Space::Scratch(self.thread.0), remote.len);
                    Action::RdmaAtomic {
                        at: route,
                        target: remote,
                        update,
                        operand: origin,
                        into: result.unwrap_or(spare),
                        token,
                    }
                }
            });
        }
    }
}
