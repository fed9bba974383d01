//! What a library's list of actions asks for: work of the core, copies, and what leaves it.
//!
//! The list is walked with a cursor in time. Work moves the cursor; what others can see leaves at the
//! cursor's value, as an event. Where memory or a lock decides how long something takes, the walk
//! stops, and goes on with an event of that part.

use std::sync::Arc;

use super::conductor::Timed;
use super::cores::actor::After;
use super::event::{Event, Phase};
use super::executor::Executor;
use super::gpus::Request;
use super::memory::CopyPart;
use super::network::flight::{Content, FlightKind};
use crate::account::Part;
use crate::causes::Spent;
use crate::monitors::buffers::Lends;
use crate::untimed::Choice;
use hardware::copies::CoreCopy;
use hardware::lines::Use;
use mpi::rma::update::Effect;
use protocols::contract::{
    Action, ActionOf, COUNTERS, Change, Counter, Machine, Process, Program, ProtocolError, Region,
    Space, Thread, Token, Toward, Via,
};
use protocols::device::DeviceWork;
use units::{Bytes, Time, TimeDelta};

/// The walk over a list.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Works through the list from `cursor` on, until it ends, a step that others can see begins
    /// later than now, or memory must carry a copy. `begun` says that the first action's step has.
    pub(super) fn work_on(&mut self, thread: u32, mut cursor: Time, mut begun: bool) {
        let now = self.cx.now();
        let actor = self.cores.of_mut(thread);
        let list = std::mem::take(&mut actor.list);
        let (mut cut, process, inner) = (actor.cut, actor.process, actor.inner);
        let mut next = actor.next;
        // Where the list goes on, if it does not end now.
        let rest = loop {
            let Some(action) = list.get(next) else { break None };
            if !begun && cut.before(action) && !comes_back(action) {
                if is_return_of(action, inner) && next + 1 == list.len() {
                    // It takes effect with the list's end: one event for both.
                    self.cores.of_mut(thread).returns = true;
                } else if cursor > now {
                    self.cx.schedule(cursor, thread, Phase::Library, Event::Step(thread));
                    break Some(next);
                } else {
                    self.record_act(thread);
                }
            }
            begun = false;
            next += 1;
            let Some(after) = self.carry_out(thread, process, action, cursor) else {
                break Some(next);
            };
            cursor = after;
        };
        if let Some(next) = rest {
            let actor = self.cores.of_mut(thread);
            (actor.next, actor.cut, actor.list) = (next, cut, list);
        } else {
            self.cores.give_back(list);
            self.cores.end_list(thread, cursor, &mut self.cx);
        }
    }

    pub(super) fn record_act(&mut self, thread: u32) {
        let (process, inner) = self.cores.names(thread);
        self.cx.observers.record(|| Choice::Act { process, thread: inner });
    }

    /// A step that others can see begins: its first action takes effect now.
    pub(super) fn step(&mut self, thread: u32) {
        self.record_act(thread);
        self.work_on(thread, self.cx.now(), true);
    }

    /// One action that begins at `cursor`: when the next one begins, or `None` if memory decides.
    fn carry_out(
        &mut self,
        thread: u32,
        process: Process,
        action: &ActionOf<M>,
        cursor: Time,
    ) -> Option<Time> {
        debug_assert_eq!(self.cores.of(thread).after, After::Nothing, "Poll and Resume end a list");
        match action {
            Action::Work(step) => Some(self.executor(thread).run_code(*step, cursor)),
            Action::Walk { queue, entries, length, fact } => {
                let walked = (*entries, *length);
                Some(self.executor(thread).walk(*queue, walked, fact.as_ref(), cursor))
            }
            Action::Copy { from, to } => self.executor(thread).copy((*from, *to), cursor),
            Action::Send { to, via, header, packet, payload } => {
                let packet = || packet.clone();
                Some(self.executor(thread).send((*to, *via), *header, *payload, packet, cursor))
            }
            Action::Repost { landing, from } => {
                Some(self.executor(thread).repost(*landing, *from, cursor))
            }
            Action::Release => {
                if self.cores.of(thread).holds.is_some() {
                    self.release(thread, cursor);
                }
                Some(cursor)
            }
            Action::Poll(token) => {
                self.cores.of_mut(thread).after = After::Poll(*token);
                Some(cursor)
            }
            Action::Resume(token) => {
                self.cores.of_mut(thread).after = After::Resume(*token);
                Some(cursor)
            }
            Action::Complete { code, buffer, fact } => {
                Some(self.executor(thread).complete(*code, *buffer, fact.as_ref(), cursor))
            }
            Action::Observe(fact) => {
                self.executor(thread).observe(fact, cursor);
                Some(cursor)
            }
            Action::Return { thread: whose, reply } => {
                let other = self.cx.layout.thread_of(process, *whose);
                if other == thread {
                    self.cores.of_mut(thread).reply = Some(reply.clone());
                } else {
                    self.returned(thread, other, reply.clone());
                }
                Some(cursor)
            }
            Action::Pack(_)
            | Action::Combine { .. }
            | Action::Update { .. }
            | Action::PeerCopy { .. }
            | Action::Expose { .. }
            | Action::Count { .. }
            | Action::Consult { .. }
            | Action::Watch { .. }
            | Action::Register { .. }
            | Action::RdmaWrite { .. }
            | Action::RdmaRead { .. }
            | Action::RdmaAtomic { .. }
            | Action::Device { .. } => self.carry_out_other(thread, process, action, cursor),
        }
    }

    /// Carries out actions that most messages do without: windows, rendezvous, counters, GPUs. It is apart from
    /// [`Timed::carry_out`], which is the body of the loop over a list: what the compiler keeps at hand
    /// for each of them would be set up for every list.
    #[inline(never)]
    fn carry_out_other(
        &mut self,
        thread: u32,
        process: Process,
        action: &ActionOf<M>,
        cursor: Time,
    ) -> Option<Time> {
        match action {
            Action::Pack(copy) => {
                self.memory.pack(process, copy, &mut self.cx.observers);
                let cost = self.cx.costs.pack(copy);
                Some(self.charge_as(thread, (Part::Copy, Spent::Packing), cursor, cost))
            }
            Action::Combine { from, into, reduction, side } => {
                let of = (*reduction, *side);
                self.executor(thread).combine((*from, *into), of, cursor)
            }
            Action::Update { target, rank, update, operand, old } => {
                self.update(thread, (*target, *rank, *update), (*operand, *old), cursor)
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
                let actor = self.cores.of_mut(thread);
                actor.after = After::Consult(*token);
                actor.asks_for(*counters);
                Some(self.go_to_counters(thread, *counters, cursor))
            }
            Action::Watch { counter, value, token } => {
                self.wait_for_counter(thread, (*counter, *value), *token, cursor);
                Some(cursor)
            }
            Action::Register { region } => {
                let region = self.memory.bytes.located(process, *region);
                let (cost, once) = self.cx.costs.register(process, region);
                if once {
                    self.cores.of_mut(thread).account.once += cost;
                }
                Some(self.charge_as(thread, (Part::Library, Spent::Registration), cursor, cost))
            }
            Action::RdmaWrite { to, from, into, token, immediate } => {
                let content = |packet: &M::Packet| {
                    let packet = packet.clone();
                    self.network.keep(|| Content { packet, parcel: None, slots: None })
                };
                let immediate = immediate.as_deref().map(content);
                let (source, into, token) = (*from, *into, *token);
                let kind = || FlightKind::Write { from: source, into, token, immediate };
                Some(self.executor(thread).launch(*to, kind, from.len, Via::Hca, cursor))
            }
            Action::RdmaRead { from, remote, into, token } => {
                let (remote, into, token) = (*remote, *into, *token);
                let kind = || FlightKind::ReadRequest { remote, into, token };
                Some(self.executor(thread).launch(*from, kind, 0, Via::Hca, cursor))
            }
            Action::RdmaAtomic { at, target, update, operand, into, token } => {
                let parcel = operand.map(|operand| {
                    self.cx.observers.reads(process, operand);
                    self.memory.bytes.capture(process, operand)
                });
                let bytes = operand.map_or(0, |operand| operand.len);
                let (target, update, into, token) = (*target, *update, *into, *token);
                let operand = parcel.unwrap_or_default();
                let kind = || FlightKind::AtomicRequest { target, update, into, token, operand };
                Some(self.executor(thread).launch(*at, kind, bytes, Via::Hca, cursor))
            }
            Action::Device { stream, work, token } => {
                let asks = (*stream, Arc::clone(work));
                let call = self.ask_gpu(thread, asks, Some(*token), cursor);
                Some(self.charge_as(thread, (Part::Post, Spent::Gpu), cursor, call))
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

    /// The thread, with what its actions reach.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it only hands on")]
    pub(super) fn executor(&mut self, thread: u32) -> Executor<'_, M, P> {
        let Self { cores, memory, network, cx, .. } = self;
        Executor { worker: cores.worker(thread), memory, network, cx }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "two additions, where a thread is alone")]
    fn charge(&mut self, thread: u32, part: Part, cursor: Time, work: TimeDelta) -> Time {
        self.cores.charge(thread, part, cursor, work, &mut self.cx)
    }

    fn charge_as(
        &mut self,
        thread: u32,
        spent: (Part, Spent),
        cursor: Time,
        work: TimeDelta,
    ) -> Time {
        self.cores.charge_as(thread, spent, cursor, work, &mut self.cx)
    }

    /// The core of `thread` asks its process's GPU for an operation at `cursor`: what the call takes.
    pub(super) fn ask_gpu(
        &mut self,
        thread: u32,
        (stream, work): (u16, Arc<DeviceWork>),
        token: Option<Token>,
        cursor: Time,
    ) -> TimeDelta {
        let (process, inner) = self.cores.names(thread);
        let lane = self.libraries[process.0 as usize].polls(inner).first;
        let Some(gpus) = &mut self.gpus else {
            let error = ProtocolError::refused("driver of the GPU", "the node has none", work);
            let position = self.cores.of(thread).program.position();
            self.cx.refuse(process, position, error);
            return TimeDelta::ZERO;
        };
        let request = Request { process, lane, stream, work, token };
        gpus.ask(thread, request, cursor, &mut self.cx)
    }
}

/// Copies and updates: the core is busy, and memory may share.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The core updates elements of a window: it reads and writes them, and their operands.
    fn update(
        &mut self,
        thread: u32,
        (target, rank, update): (Region, u32, Effect),
        operands: (Option<Region>, Option<Region>),
        cursor: Time,
    ) -> Option<Time> {
        let process = self.cores.names(thread).0;
        let observers = &mut self.cx.observers;
        let writes = self.memory.update(process, (target, update), operands, observers);
        let Space::Shared(name) = target.space else {
            return self.executor(thread).move_bytes(target.len, cursor);
        };
        let does = if writes { Use::Writes } else { Use::Reads };
        Some(self.change_mapped(thread, (name, rank), (target, does), cursor))
    }

    /// A core reads or changes elements of the memory `name`, in the part of `rank`, under a mutex, from
    /// `cursor` on: when it has left again.
    fn change_mapped(
        &mut self,
        thread: u32,
        part: (u32, u32),
        (region, does): (Region, Use),
        cursor: Time,
    ) -> Time {
        let here = self.cores.place(thread);
        let mutex = self.memory.mapped.acquisition(here, part, &self.cx.costs);
        let line = mutex.counters.map(|lock| self.memory.waiters.fetch(here, lock, &self.cx.costs));
        let begin = cursor.max(mutex.free_at);
        self.cores.of_mut(thread).account.add(Part::Lock, begin.since(cursor));
        self.cx.observers.trace(|path| path.spent(thread, Part::Lock.into(), cursor, begin));
        let taking = mutex.taking + line.unwrap_or_default();
        let inside = self.charge(thread, Part::Lock, begin, taking);
        let wait = self.memory.mapped.fetch(here, region, does, &self.cx.costs);
        let there = self.cores.stand_still(thread, Part::Wait, inside, wait, &mut self.cx);
        let changing = self.cx.costs.lone_copy(Bytes::new(region.len));
        let end = self.charge(thread, Part::Copy, there, changing);
        self.memory.mapped.release(mutex, here, end);
        end
    }

    /// The core begins a copy beyond its caches: memory shares it with others.
    pub(super) fn copy_start(&mut self, thread: u32) {
        let bytes = self.cores.of(thread).copying.0.as_u64();
        // As in `Costs::cached_copy`, which found that others share what carries it.
        let copy = CoreCopy::local(self.cores.place(thread), Bytes::new(2 * bytes));
        let shared = self.network.copy(thread, copy, bytes, &mut self.cx);
        assert!(shared, "a copy that others can slow has a path");
    }

    /// Memory has carried a copy, or a part of one: the list goes on.
    pub(super) fn copied(&mut self, thread: u32) {
        if self.memory.peer_copies.is_copying(thread) {
            return self.move_part(thread);
        }
        let now = self.cx.now();
        let actor = self.cores.of_mut(thread);
        let begun = actor.copying.1;
        actor.account.add(Part::Copy, now.since(begun));
        self.work_on(thread, now, false);
    }
}

/// Counters that cores of a node share.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// A core changes a counter at `cursor`: when it has.
    fn change_counter(
        &mut self,
        thread: u32,
        (counter, change): (Counter, Change),
        cursor: Time,
    ) -> Time {
        self.memory.change_counter(counter, change, cursor, &mut self.cx.observers);
        let Counter::Lock(lock, _) = counter else {
            return self.charge(thread, Part::Library, cursor, self.cx.costs.count());
        };
        let here = self.cores.place(thread);
        let atomic = self.cx.costs.profile.coh.atomic_uncontended;
        let cost = self.memory.waiters.fetch(here, lock, &self.cx.costs) + atomic;
        let end = self.charge(thread, Part::Lock, cursor, cost);
        self.memory.lock_changed((thread, here), lock, end, &mut self.cx);
        end
    }

    /// A core goes to counters that it will read: when they are there. The line of a lock is requested
    /// only then ([`Self::read_lock`]): no core may ask for it ahead of the clock.
    fn go_to_counters(&mut self, thread: u32, counters: [Counter; COUNTERS], cursor: Time) -> Time {
        if let [Counter::Lock(..), ..] = counters {
            return cursor;
        }
        let cost = self.cx.costs.line_of_node() * counters.len() as u64;
        self.charge(thread, Part::Library, cursor, cost)
    }

    /// A core has read counters at `cursor`: when it goes on.
    pub(super) fn read_lock(
        &mut self,
        thread: u32,
        counters: [Counter; COUNTERS],
        cursor: Time,
    ) -> Time {
        let [Counter::Lock(lock, _), ..] = counters else { return cursor };
        let here = self.cores.place(thread);
        let cost = self.memory.waiters.fetch(here, lock, &self.cx.costs);
        self.charge(thread, Part::Lock, cursor, cost)
    }

    /// A core waits for a value from `cursor` on.
    fn wait_for_counter(
        &mut self,
        thread: u32,
        awaited: (Counter, u32),
        token: Token,
        cursor: Time,
    ) {
        let (process, inner) = self.cores.names(thread);
        let lane = self.libraries[process.0 as usize].polls(inner).first;
        let here = self.cores.place(thread);
        let cx = &mut self.cx;
        self.memory.wait_for((thread, here), awaited, (process, lane, token), cursor, cx);
    }
}

/// Copies between two processes of a node: the kernel pins pages and moves bytes, batch by batch.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The core begins to copy between its process and a neighbour: the bytes are those of now.
    fn peer_copy(
        &mut self,
        thread: u32,
        (peer, toward): (Process, Toward),
        (own, remote): (Region, Region),
        cursor: Time,
    ) {
        let (process, _) = self.cores.names(thread);
        let sides = match toward {
            Toward::Own => [(peer, remote), (process, own)],
            Toward::Peer => [(process, own), (peer, remote)],
        };
        let [(from, source), (to, target)] = sides;
        self.cx.observers.reads(from, source);
        self.cx.observers.writes(to, target);
        let parcel = self.memory.bytes.capture(from, source);
        self.memory.bytes.write(to, target, &parcel);
        self.cores.of_mut(thread).account.copied += own.len;
        let sides = sides.map(|(who, region)| (who, self.memory.bytes.located(who, region)));
        let copies = &mut self.memory.peer_copies;
        let (call, once) = copies.begin(thread, (process, peer), sides, &self.cx.costs.profile);
        self.cores.of_mut(thread).account.once += once;
        let cursor = self.charge(thread, Part::Kernel, cursor, call + once);
        self.memory.peer_copies.is_busy_until(thread, cursor);
        self.cx.schedule(cursor, thread, Phase::Kernel, Event::Pin(thread));
    }

    /// The next batch of pages is to be pinned, where the kernel pins at copies.
    pub(super) fn pin(&mut self, thread: u32) {
        if !self.memory.peer_copies.pin(thread, &mut self.cx) {
            self.move_batch(thread);
        }
    }

    /// Pages of `owner` may be pinned.
    pub(super) fn pinned(&mut self, owner: Process, generation: u32) {
        for thread in self.memory.peer_copies.pinned(owner, generation, &mut self.cx) {
            self.move_batch(thread);
        }
    }

    /// The bytes of the batch whose pages are pinned are moved.
    fn move_batch(&mut self, thread: u32) {
        let now = self.cx.now();
        self.cx.observers.trace(|path| path.until(thread, Spent::Pinning, now));
        self.account_copy(thread, Part::Kernel);
        let place = self.cores.place(thread);
        self.memory.peer_copies.begin_batch(thread, place, &self.cx.costs.profile);
        self.move_part(thread);
    }

    /// Moves what the cache holds of a batch, or else what it does not; or the batch is over: the next
    /// one, or the list goes on.
    pub(super) fn move_part(&mut self, thread: u32) {
        self.account_copy(thread, Part::Copy);
        let (now, place) = (self.cx.now(), self.cores.place(thread));
        if let Some(part) = self.memory.peer_copies.next_part(thread, place, &self.cx) {
            let CopyPart { copy, bytes } = part;
            if !self.network.copy(thread, copy, bytes, &mut self.cx) {
                let (footprint, side) = (copy.footprint, copy.side());
                let alone = self.cx.costs.copy_alone(footprint, side, Bytes::new(bytes));
                let cursor = self.charge(thread, Part::Copy, now, alone);
                self.memory.peer_copies.is_busy_until(thread, cursor);
                self.cx.schedule(cursor, thread, Phase::Copy, Event::Moved(thread));
            }
        } else if self.memory.peer_copies.ends(thread) {
            self.work_on(thread, now, false);
        } else {
            self.pin(thread);
        }
    }

    /// Charges the time that a lock or memory decided until now to this part.
    fn account_copy(&mut self, thread: u32, part: Part) {
        let spent = self.memory.peer_copies.busy_until(thread, self.cx.now());
        self.cores.of_mut(thread).account.add(part, spent);
    }
}

/// Whether an action ends its list and comes back as an input: no event of its own.
fn comes_back<P, R>(action: &Action<P, R>) -> bool {
    matches!(action, Action::Resume(_) | Action::Consult { .. })
}

/// Whether a thread's own call returns by an action.
#[inline]
pub(super) fn is_return_of<P, R>(action: &Action<P, R>, inner: Thread) -> bool {
    matches!(action, Action::Return { thread, .. } if *thread == inner)
}
