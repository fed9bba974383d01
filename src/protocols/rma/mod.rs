//! One-sided communication (MPI-3 RMA) of one process: windows, epochs, locks, operations.
//!
//! ```text
//!   program ──call──▶ mod.rs ─▶ origin.rs (passive)  active.rs (fence, post/start)  setup.rs
//!   poll ────packet─▶ mod.rs ─▶ target.rs: lock manager, memory, answers
//! ```
//!
//! A window is a value of `window.rs`; what its process waits for is a goal, looked at after every
//! input. Over a messaging network everything that a target does, it does in a handler while one of
//! its threads polls; over RDMA its HCA does it ([`Transport`]).
//!
//! A window that is mapped may have its locks taken by atomics of the origin instead (`mapped.rs`).
//!
//! Source: `rma`; MPI 3.1, Chapter 11. Left out: windows over endpoints; a lock of single targets
//! over RDMA alone (locks are messages, unless `MPI_MODE_NOCHECK` says that none is needed).

mod active;
mod exchange;
mod facts;
mod goal;
mod manager;
mod mapped;
mod origin;
mod pieces;
pub(crate) mod port;
pub(crate) mod setup;
mod target;
mod token;
mod window;

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash as _, Hasher};
use std::sync::Arc;

use self::call::{Flavor, LockKind, Operation, RmaCall, Win};
use self::facts::Facts;
use self::goal::Goal;
use self::packet::{RmaPacket, Scope};
use self::port::Port;
pub use self::settings::{Issue, MappedLocks, Settings, Transport};
use self::setup::{Creating, Members};
pub(crate) use self::token::is_ours;
use self::token::named_by;
use self::window::{Base, Target, Wants, Window};
use super::contract::{COUNTERS, CodePath, Handle, Process, Region, Route, Thread, Token, Wait};
pub use super::windows::{call, packet, settings};
use mpi::envelope::Rank;
use mpi::observation::WindowFact;
use mpi::rma::access::MemoryModel;
use mpi::rma::synchronisation::Event;

/// Why a window has no part that all of its processes map.
const NOT_SHARED: &str = "only the processes of a shared window map each other's parts";

/// All windows of one process, and what its threads wait for.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Rma {
    windows: BTreeMap<u32, Window>,
    handles: BTreeMap<Win, u32>,
    goals: Vec<Option<Goal>>,
    /// Words that came before this process requested them, in order.
    early: BTreeMap<(Scope, Process), VecDeque<Arc<[u64]>>>,
    next: u32,
}

/// Outcome for the thread that called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Called {
    /// Its call returns.
    Returns,
    /// Its call returns a flag.
    Tested(bool),
    /// Its call returns where a part of a window lies.
    Found(Region, u64),
    /// It makes one pass, and asks again.
    Polls,
    /// It makes one pass, and returns.
    Passes,
    /// It waits.
    Waits,
}

impl Rma {
    /// Takes a call; says in words why it is refused.
    pub(crate) fn call(
        &mut self,
        call: &RmaCall,
        members: impl FnOnce() -> Result<Members, String>,
        port: &mut Port<'_>,
    ) -> Result<Called, String> {
        port.work(CodePath::Query);
        if let RmaCall::Create { win, flavor, memory, bytes, unit, .. } = *call {
            if self.handles.contains_key(&win) {
                return Err(format!("window {} exists already", win.0));
            }
            let members = members()?;
            if let Flavor::Shared(_) = flavor {
                port.has_one_node(&members.processes)?;
            }
            let base = Base { memory, start: 0, bytes, unit };
            let kind = (flavor, port.settings().model);
            let creating = Creating::new(win, members, kind, self.next, base);
            return Ok(self.aim(Goal::create(creating), port));
        }
        let id = self.handles.get(&call.win()).copied();
        let id = id.ok_or_else(|| format!("there is no window {}", call.win().0))?;
        let window = self.windows.get_mut(&id).expect("a handle has a window");
        window.has_ranks(call)?;
        if let RmaCall::Query { target, .. } = *call {
            let found = window.segment(target);
            let found = found.map(|(part, unit)| Called::Found(part, unit));
            return found.ok_or_else(|| NOT_SHARED.to_owned());
        }
        let operation = window.asked(call, port.settings())?;
        if let Some(event) = event(call) {
            let checked = window.sync.call(port.settings().rules, &event);
            checked.map_err(|error| error.to_string())?;
        }
        Facts(window).call(call, operation, port);
        let goal = match call {
            RmaCall::Operate { target, does, request, .. } => {
                match target.zip(operation) {
                    Some((target, queued)) if queued.place.bytes() > 0 => {
                        if window.sync.epoch().is_passive() {
                            window.passive(target, queued, port);
                        } else {
                            window.active(target, queued, port);
                        }
                    }
                    _ => complete_at_once(does, *request, port),
                }
                None
            }
            RmaCall::Lock { target, kind, no_check, .. } => {
                window.lock(*target, *kind, *no_check, port);
                #[cfg(feature = "mutants")]
                if port.has(crate::mutant::Mutant::OwnLockAtOnce) {
                    return Ok(Called::Returns);
                }
                window.reaches(*target).then(|| Goal::own_lock(window, call))
            }
            RmaCall::LockAll { no_check, .. } => {
                window.no_check = *no_check;
                let all = if window.is_shared() {
                    0..window.size()
                } else {
                    window.rank..window.rank + 1
                };
                for target in all {
                    window.lock(target, LockKind::Shared, *no_check, port);
                }
                Some(Goal::own_lock(window, call))
            }
            RmaCall::Attach { memory, bytes, .. } => {
                window.attach(*memory, *bytes)?;
                None
            }
            RmaCall::Detach { memory, .. } => Some(Goal::detaching(window, *memory)?),
            RmaCall::Post { group, .. } => {
                window.post_to(group.ranks(), port);
                None
            }
            RmaCall::Start { group, .. } => {
                window.started = group.ranks().iter().map(|rank| rank.0).collect();
                None
            }
            RmaCall::Sync { .. } => None,
            RmaCall::Test { .. } => {
                let over = self.test(id, port);
                return Ok(if over { Called::Tested(true) } else { Called::Polls });
            }
            RmaCall::Create { .. } | RmaCall::Query { .. } => unreachable!("it was answered above"),
            RmaCall::Free { .. }
            | RmaCall::Fence { .. }
            | RmaCall::Complete { .. }
            | RmaCall::Wait { .. }
            | RmaCall::Unlock { .. }
            | RmaCall::UnlockAll { .. }
            | RmaCall::Flush { .. }
            | RmaCall::FlushAll { .. } => Some(Goal::of(window, call, port)),
        };
        let called = goal.map_or(Called::Returns, |goal| self.aim(goal, port));
        let passes = makes_progress(call) && !self.polls_first(call);
        Ok(if passes && called == Called::Returns { Called::Passes } else { called })
    }

    /// Whether a call polls before it is taken: a process that gives back the lock of its own part first looks who waits
    /// for it.
    pub(crate) fn polls_first(&self, call: &RmaCall) -> bool {
        let RmaCall::Unlock { win, target } = call else { return false };
        let window = self.handles.get(win).and_then(|id| self.windows.get(id));
        window.is_some_and(|window| window.rank == *target)
    }

    /// The thread waits for a goal, if it is not reached already.
    fn aim(&mut self, goal: Goal, port: &mut Port<'_>) -> Called {
        let place = usize::from(port.thread.0);
        if self.goals.len() <= place {
            self.goals.resize(place + 1, None);
        }
        self.goals[place] = Some(goal);
        self.advance(port.thread, port).unwrap_or(Called::Waits)
    }

    /// `MPI_Win_test`, before or after its pass.
    pub(crate) fn test_again(&mut self, win: Win, port: &mut Port<'_>) -> bool {
        self.handles.get(&win).copied().is_some_and(|id| self.test(id, port))
    }

    fn test(&mut self, id: u32, port: &mut Port<'_>) -> bool {
        let Some(window) = self.windows.get_mut(&id) else { return false };
        let over = window.exposure_over();
        if over {
            port.fact(id, WindowFact::ExposureOver);
            // It was found to be in order when the call was made.
            let _ = window.sync.call(port.settings().rules, &Event::Test { complete: true });
        }
        over
    }

    /// Takes a packet; says in words why it does not fit.
    pub(crate) fn packet(
        &mut self,
        from: Route,
        packet: &RmaPacket,
        landing: Option<Region>,
        port: &mut Port<'_>,
    ) -> Result<(), String> {
        match packet {
            RmaPacket::Words { scope, words } => {
                port.work(CodePath::Control);
                let early = self.early.entry((*scope, from.peer)).or_default();
                early.push_back(Arc::clone(words));
                Ok(())
            }
            RmaPacket::About { window, body } => {
                let window = self.windows.get_mut(window);
                let window = window.ok_or_else(|| "there is no such window here".to_owned())?;
                window.told(from, *body, landing, port)
            }
        }
    }

    /// The HCA has done one part of an operation.
    pub(crate) fn done(&mut self, token: Token, port: &mut Port<'_>) -> Option<()> {
        let (window, slot) = named_by(token);
        let window = self.windows.get_mut(&window)?;
        match mapped::thread_of(slot) {
            Some(thread) => window.is_called(thread, port),
            None => window.posted(slot, port),
        }
    }

    /// The numbers of a lock were read.
    pub(crate) fn numbers(
        &mut self,
        token: Token,
        values: [u32; COUNTERS],
        port: &mut Port<'_>,
    ) -> Option<()> {
        let (window, slot) = named_by(token);
        self.windows.get_mut(&window)?.read_numbers(mapped::thread_of(slot)?, values, port)
    }

    /// The threads whose goals are reached after what has happened.
    pub(crate) fn reached(&mut self, port: &mut Port<'_>) -> Vec<(Thread, Called)> {
        let threads = (0_u16..).take(self.goals.len()).map(Thread);
        threads.filter_map(|thread| Some((thread, self.advance(thread, port)?))).collect()
    }

    /// A request form is waited for: what it needs goes out.
    pub(crate) fn waited_for(&mut self, request: Handle, port: &mut Port<'_>) {
        for window in self.windows.values_mut() {
            let waits =
                |target: &Target| target.queue.iter().any(|queued| queued.request == Some(request));
            let found = window.targets.iter().find(|(_, target)| waits(target));
            if let Some((&target, _)) = found {
                window.want(target, Wants::Issue, port);
            }
        }
    }

    /// Waits of a blocked thread.
    pub(crate) fn waits(&self, thread: Thread, origin: u32) -> Option<Vec<Wait>> {
        let goal = self.goals.get(usize::from(thread.0))?.as_ref()?;
        Some(goal.waits(self, origin))
    }

    /// How far the call of a thread has come.
    pub(crate) fn so_far<H: Hasher>(&self, thread: Thread, to: &mut H) {
        self.goals.get(usize::from(thread.0)).hash(to);
        for window in self.windows.values() {
            window.so_far(to);
        }
    }

    /// Windows and locks still open, in words.
    pub(crate) fn open_ends(&self, settings: &Settings) -> Vec<String> {
        let windows = self.windows.values().flat_map(|window| {
            let name = self.handles.iter().find(|&(_, id)| *id == window.id);
            let name = name.map_or(0, |(win, _)| win.0);
            let freed = format!("window {name} was never freed");
            let locked = !window.manager.is_idle();
            let held = locked.then(|| {
                let waiting = window.manager.waiting();
                format!("the lock of window {name} is still held, and {waiting} wait for it")
            });
            let kept = window.locks_by_atomics(settings) && window.keeps_a_lock();
            let kept = kept.then(|| format!("a lock of window {name} was never given back"));
            [Some(freed), held, kept].into_iter().flatten()
        });
        windows.collect()
    }

    /// Whether a window of this process has these bytes of a piece of memory.
    pub(crate) fn exposes(&self, memory: u32, region: Region) -> Result<(), String> {
        let mut why = Err("there is no window here".to_owned());
        for window in self.windows.values() {
            why = window.exposes(memory, region);
            if why.is_ok() {
                break;
            }
        }
        why
    }

    /// Memory model of a window: its attribute `MPI_WIN_MODEL`.
    pub fn model(&self, win: Win) -> Option<MemoryModel> {
        Some(self.windows[self.handles.get(&win)?].model)
    }

    /// The number that the processes of a window have agreed on.
    pub(crate) fn number(&self, win: Win) -> Option<u32> {
        self.handles.get(&win).copied()
    }

    /// How a window got its memory: its attribute `MPI_WIN_CREATE_FLAVOR`.
    pub fn flavor(&self, win: Win) -> Option<Flavor> {
        Some(self.windows[self.handles.get(&win)?].flavor)
    }

    /// Where the memory of a rank lies, in a window that is shared: `MPI_Win_shared_query`, which
    /// every process answers for itself. `None` where there is no such window or rank.
    pub fn shared_query(&self, win: Win, rank: Rank) -> Option<Region> {
        self.windows[self.handles.get(&win)?].segment(rank.0).map(|(part, _)| part)
    }

    /// Whether a window of this process shares memory.
    pub(crate) fn shares(&self) -> bool {
        self.windows.values().any(Window::is_shared)
    }

    /// Bytes that this process keeps for a window; see the table of what all ranks expose.
    pub fn state_bytes(&self, win: Win) -> Option<usize> {
        Some(self.windows[self.handles.get(&win)?].state_bytes())
    }
}

/// Whether a call polls even where it has nothing to wait for, as the blocking calls of MPI libraries
/// do: a program may lock and read its own part of a window until another process has changed it. So
/// does whatever completes operations or ends an epoch. A lock or a start that need not wait begins one,
/// and its end follows. An unlock of the own part polls before it gives the lock back, see
/// [`Rma::polls_first`].
const fn makes_progress(call: &RmaCall) -> bool {
    match call {
        RmaCall::Free { .. }
        | RmaCall::Fence { .. }
        | RmaCall::Complete { .. }
        | RmaCall::Wait { .. }
        | RmaCall::Unlock { .. }
        | RmaCall::UnlockAll { .. }
        | RmaCall::Flush { .. }
        | RmaCall::FlushAll { .. }
        | RmaCall::Sync { .. } => true,
        RmaCall::Create { .. }
        | RmaCall::Attach { .. }
        | RmaCall::Detach { .. }
        | RmaCall::Operate { .. }
        | RmaCall::Post { .. }
        | RmaCall::Start { .. }
        | RmaCall::Lock { .. }
        | RmaCall::LockAll { .. }
        | RmaCall::Test { .. }
        | RmaCall::Query { .. } => false,
    }
}

/// An operation with `MPI_PROC_NULL`, or on no bytes.
fn complete_at_once(does: &Operation, request: Option<Handle>, port: &mut Port<'_>) {
    for region in [does.origin(), does.result()].into_iter().flatten() {
        port.give_back(region);
    }
    port.complete(request);
}

/// Synchronisation event that a call is for its window.
fn event(call: &RmaCall) -> Option<Event> {
    Some(match call {
        RmaCall::Create { .. }
        | RmaCall::Attach { .. }
        | RmaCall::Detach { .. }
        | RmaCall::Query { .. }
        | RmaCall::Operate { target: None, .. } => return None,
        RmaCall::Operate { target: Some(target), request, .. } => {
            Event::Operation { target: Rank(*target), request: request.is_some() }
        }
        RmaCall::Free { .. } => Event::Free,
        RmaCall::Fence { assert, .. } => {
            Event::Fence { no_precede: assert.no_precede, no_succeed: assert.no_succeed }
        }
        RmaCall::Post { group, .. } => Event::Post { group: group.clone() },
        RmaCall::Start { group, .. } => Event::Start { group: group.clone() },
        RmaCall::Complete { .. } => Event::Complete,
        RmaCall::Wait { .. } => Event::Wait,
        RmaCall::Test { .. } => Event::Test { complete: false },
        RmaCall::Lock { target, kind, .. } => Event::Lock { target: Rank(*target), kind: *kind },
        RmaCall::Unlock { target, .. } => Event::Unlock { target: Rank(*target) },
        RmaCall::LockAll { .. } => Event::LockAll,
        RmaCall::UnlockAll { .. } => Event::UnlockAll,
        RmaCall::Flush { target, local: false, .. } => Event::Flush { target: Rank(*target) },
        RmaCall::Flush { target, local: true, .. } => Event::FlushLocal { target: Rank(*target) },
        RmaCall::FlushAll { local: false, .. } => Event::FlushAll,
        RmaCall::FlushAll { local: true, .. } => Event::FlushLocalAll,
        RmaCall::Sync { .. } => Event::Sync,
    })
}
