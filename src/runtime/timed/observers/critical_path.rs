//! The path of causes: what every thread and every flight did last, and why not before.
//!
//! ```text
//!   thread   ──work──▶ posts ─────────────── waits ───────────────▶ polls ──work──▶
//!                        └─▶ flight ──leg──leg──▶ arrives ──────────┘ the later of both is the cause
//! ```
//!
//! A thread that runs ahead of the clock leaves its moments ahead of it: they depend on its own past
//! alone. Time spent waiting for a resource (a lock, a link) is charged to that resource, and the path
//! does not continue into its holder.
//!
//! Nothing of this is kept unless it is requested ([`engine::Options`]), and nothing of a run
//! depends on it.

use std::collections::{BTreeMap, VecDeque};

use crate::causes::{Blocked, Message, Recorded, Spender, Spent};
use crate::event_text::EventWords;
use engine::causes::Keep;
use engine::{Causes, Moment, Run, Tag};
use hardware::fabric::{Journey, JourneyName, Leg};
use protocols::contract::{Awaited, Process, Thread};
use units::{Time, TimeDelta};

/// How many of the longest waits are kept.
/// Method: reports show the longest ones alone.
const WAITS: usize = 10;
/// Units that are kept where the log is not requested.
/// Method: a chunk of them is cleared now and then.
const NO_LOG: usize = 1 << 17;

/// Record of the causes of a run.
#[derive(Debug)]
pub(crate) struct CriticalPath {
    causes: Causes,
    /// Tags of threads come after those of resources.
    first_thread: u32,
    threads: Vec<Strand>,
    /// By flight: its last moment.
    flights: Vec<Moment>,
    /// By place of a way: how it was noted last.
    ways: Vec<NotedWay>,
    /// By operation of a GPU: when it was requested.
    operations: BTreeMap<u32, Moment>,
    /// By number of a value that a core will see: when it was changed.
    sights: BTreeMap<u32, Moment>,
    /// By entry of a channel: its arrival.
    entries: Vec<Moment>,
    /// By channel: arrivals that found no receive buffer.
    not_ready: BTreeMap<u32, VecDeque<Moment>>,
    /// The moment of what is being delivered.
    current: Moment,
    marks: BTreeMap<u32, (Time, Moment)>,
    first_marks: BTreeMap<u32, Time>,
    late: BTreeMap<Moment, Time>,
    awaited: BTreeMap<Moment, Moment>,
    /// The longest waits of calls that have ended, those alike as one.
    waits: Vec<Blocked>,
    /// By thread: the wait of its present call, where it may be among the longest.
    waiting: Vec<Option<Blocked>>,
    /// Messages that have arrived, and by flight those that are under way.
    messages: Option<(Vec<Message>, BTreeMap<u32, Message>)>,
    /// Events in words: the numbers of the first and the last of them.
    told: Option<(u64, u64, Vec<EventWords>)>,
}

/// The moments of a way after its first leg.
#[derive(Clone, Debug, Default)]
struct NotedWay {
    /// The number of the way.
    number: u64,
    run: Run,
}

/// The present of one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Strand {
    last: Moment,
    /// Another thread has ended its call: seen when it has the lock.
    answered: Option<Moment>,
    /// When it was outside the library last.
    outside: Time,
    called: Time,
    waited: TimeDelta,
    marked: bool,
    /// Time of an arrival when it had nothing to do, and how far its call was then.
    idle: Option<(Time, u128)>,
}

impl CriticalPath {
    pub(crate) fn new(keep: Keep, first_thread: u32, threads: usize) -> Option<Box<Self>> {
        let messages = match keep {
            Keep::Nothing => return None,
            Keep::Causes | Keep::Events(..) => None,
            Keep::Messages => Some(Default::default()),
        };
        let (causes, told) = match keep {
            Keep::Events(first, last) => (Causes::keeping(NO_LOG), Some((first, last, Vec::new()))),
            Keep::Nothing | Keep::Causes | Keep::Messages => (Causes::default(), None),
        };
        Some(Box::new(Self {
            causes,
            first_thread,
            threads: vec![Strand::default(); threads],
            flights: Vec::new(),
            ways: vec![NotedWay::default(); JourneyName::PLACES],
            operations: BTreeMap::new(),
            sights: BTreeMap::new(),
            entries: Vec::new(),
            not_ready: BTreeMap::new(),
            current: Causes::BEGINNING,
            marks: BTreeMap::new(),
            first_marks: BTreeMap::new(),
            late: BTreeMap::new(),
            awaited: BTreeMap::new(),
            waits: Vec::new(),
            waiting: vec![None; threads],
            messages,
            told,
        }))
    }

    /// Whether the words of an event are requested, by its number.
    pub(crate) fn wants_words(&self, number: u64) -> bool {
        self.told.as_ref().is_some_and(|(first, last, _)| (*first..=*last).contains(&number))
    }

    /// Keeps the words of an event.
    pub(crate) fn keep_words(&mut self, words: EventWords) {
        if let Some((.., all)) = &mut self.told {
            all.push(words);
        }
    }

    /// The words that were requested.
    pub(crate) fn take_words(&mut self) -> Vec<EventWords> {
        self.told.take().map_or_else(Vec::new, |(.., words)| words)
    }

    fn strand(&mut self, thread: u32) -> &mut Strand {
        &mut self.threads[thread as usize]
    }

    const fn tag(&self, thread: u32, spent: Spent) -> Tag {
        Tag { resource: self.first_thread + thread, phase: spent as u8 }
    }

    /// A thread did this from `from` to `to`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is noted of every piece of a core's work")]
    pub(crate) fn spent(&mut self, thread: u32, spent: Spent, from: Time, to: Time) {
        let tag = self.tag(thread, spent);
        let mut strand = &mut self.threads[thread as usize];
        if strand.last.at() < from {
            self.gap(thread, from);
            strand = &mut self.threads[thread as usize];
        }
        if strand.last.at() < to {
            strand.last = self.causes.add(to, strand.last, tag);
        }
        if spent == Spent::Outside {
            strand.outside = to;
        }
    }

    /// No note says what a thread did until `to`.
    #[cold]
    fn gap(&mut self, thread: u32, to: Time) {
        self.until(thread, Spent::Other, to);
    }

    /// Charges a thread's time since its last moment to `spent`.
    pub(crate) fn until(&mut self, thread: u32, spent: Spent, to: Time) {
        let last = self.threads[thread as usize].last;
        if last.at() < to {
            let tag = self.tag(thread, spent);
            self.strand(thread).last = self.causes.add(to, last, tag);
        }
    }

    /// A thread goes on at `at` because of `cause`, if that is later than what it did itself.
    fn join(&mut self, thread: u32, cause: Moment, spent: Spent, at: Time) {
        let own = self.threads[thread as usize].last;
        let later = cause.at() >= own.at();
        let (base, tag) = (if later { cause } else { own }, self.tag(thread, spent));
        self.strand(thread).last = self.causes.add(at, base, tag);
    }

    /// Charges a flight's time since its last moment to `spent`, on the resource of a thread of its process.
    pub(crate) fn flight_until(&mut self, id: u32, thread: u32, spent: Spent, to: Time) {
        let (last, tag) = (self.flights[id as usize], self.tag(thread, spent));
        if last.at() < to {
            self.flights[id as usize] = self.causes.add(to, last, tag);
        }
    }

    fn set_flight(&mut self, id: u32, moment: Moment) {
        let id = id as usize;
        if id >= self.flights.len() {
            self.flights.resize(id + 1, Causes::BEGINNING);
        }
        self.flights[id] = moment;
    }

    /// A thread asks its GPU for operation `id`.
    pub(crate) fn asks(&mut self, id: u32, thread: u32) {
        self.operations.insert(id, self.threads[thread as usize].last);
    }

    /// Operation `id` has ended: what is delivered now comes of it.
    pub(crate) fn device_ends(&mut self, id: u32, thread: u32, now: Time) {
        let asked = self.operations.remove(&id).unwrap_or(Causes::BEGINNING);
        self.current = self.causes.add(now, asked, self.tag(thread, Spent::Gpu));
    }

    /// Notes that another thread waits for what a thread did last.
    pub(crate) fn calls_next(&mut self, id: u32, thread: u32) {
        self.sights.insert(id, self.threads[thread as usize].last);
    }

    /// The process that would see it has died.
    pub(crate) fn is_not_seen(&mut self, id: u32) {
        self.sights.remove(&id);
    }

    /// It can be seen by `thread`: what is delivered now comes of it.
    pub(crate) fn sees_its_turn(&mut self, id: u32, thread: u32, now: Time) {
        let done = self.sights.remove(&id).unwrap_or(Causes::BEGINNING);
        self.current = self.causes.add(now, done, self.tag(thread, Spent::Line));
    }

    /// A flight begins with what its thread did last.
    pub(crate) fn launched(&mut self, id: u32, thread: u32) {
        let last = self.threads[thread as usize].last;
        self.set_flight(id, last);
    }

    /// A flight begins at `now` with what lay in this entry of a channel.
    pub(crate) fn launched_by_adapter(&mut self, id: u32, thread: u32, entry: u32, now: Time) {
        let cause = self.entries[entry as usize];
        let tag = self.tag(thread, Spent::Pace);
        let moment = self.causes.add(now, cause, tag);
        self.set_flight(id, moment);
    }

    /// A flight begins with what is being delivered.
    pub(crate) fn answers(&mut self, id: u32) {
        self.set_flight(id, self.current);
    }

    /// The way of a copy, or of a flight.
    ///
    /// The first leg follows whatever was noted long ago, the others follow it: of a way that was noted
    /// before, these are noted again.
    fn along(&mut self, from: Moment, way: &Journey<'_>) -> Moment {
        let Some((first, others)) = way.legs.split_first() else { return from };
        let moment = self.leg(from, way.started, first);
        let Some(last) = others.last() else { return moment };
        let known = way.name.map(|name| &self.ways[name.place]);
        let alike = |noted: &&NotedWay| way.name.is_some_and(|name| name.number == noted.number);
        if let Some(noted) = known.filter(alike)
            && let Some(end) = self.causes.again(&noted.run, moment, way.started + last.until)
        {
            return end;
        }
        let each = |moment, leg| self.leg(moment, way.started, leg);
        let end = others.iter().fold(moment, each);
        if let Some(JourneyName { place, number }) = way.name
            && let Some(run) = self.causes.run(moment, others.len())
        {
            self.ways[place] = NotedWay { number, run };
        }
        end
    }

    /// The fabric has moved the bytes of a thread's copy.
    pub(crate) fn copied(&mut self, thread: u32, way: &Journey<'_>) {
        let last = self.threads[thread as usize].last;
        self.strand(thread).last = self.along(last, way);
    }

    /// The fabric has delivered a flight.
    pub(crate) fn carried(&mut self, id: u32, way: &Journey<'_>) {
        let last = self.flights[id as usize];
        self.flights[id as usize] = self.along(last, way);
    }

    fn leg(&mut self, from: Moment, started: Time, leg: &Leg) -> Moment {
        self.causes.add(started + leg.until, from, Spent::from(leg.stage).tag(leg.resource.0))
    }

    /// A flight is delivered: by these legs, or at once.
    pub(crate) fn delivers(&mut self, id: u32) {
        self.current = self.flights[id as usize];
        self.receives(id, self.current.at());
    }

    pub(crate) fn keeps_waiting(&mut self, channel: u32) {
        self.not_ready.entry(channel).or_default().push_back(self.current);
    }

    /// Notes that the oldest arrival without a receive buffer has one at `now`.
    pub(crate) fn is_ready(&mut self, channel: u32, thread: u32, now: Time) {
        let arrived = self.not_ready.get_mut(&channel).and_then(VecDeque::pop_front);
        let tag = self.tag(thread, Spent::NotReady);
        self.current = self.causes.add(now, arrived.expect("it was kept waiting"), tag);
    }

    /// Notes that the arrival being delivered lies in this entry of a channel.
    pub(crate) fn entry(&mut self, entry: u32) {
        let entry = entry as usize;
        if entry >= self.entries.len() {
            self.entries.resize(entry + 1, Causes::BEGINNING);
        }
        self.entries[entry] = self.current;
    }

    /// A poll has found an entry, with the call so far, or a pass has ended; the pass began at `since`, under a lock
    /// if `locked`.
    pub(crate) fn polled(
        &mut self,
        thread: u32,
        (entry, so_far): (Option<u32>, Option<u128>),
        slice: Option<Time>,
        now: Time,
    ) {
        let cause = entry.map_or(Causes::BEGINNING, |entry| self.entries[entry as usize]);
        let came = cause.at();
        let arrival = entry.filter(|_| self.is_awaited(thread, came, so_far)).map(|_| cause);
        let Strand { last, outside, .. } = self.threads[thread as usize];
        let own = last.at();
        if let Some(since) = slice.filter(|&since| since > own.max(came)) {
            self.join(thread, cause, Spent::Lock, since);
        }
        let cause = if came >= own && self.threads[thread as usize].last == last {
            cause
        } else {
            self.threads[thread as usize].last
        };
        self.join(thread, cause, Spent::Poll, now);
        let last = self.threads[thread as usize].last;
        if entry.is_some() && came < outside && came < own {
            self.late.insert(last, came);
        }
        if let Some(arrival) = arrival {
            self.awaited.insert(last, arrival);
        }
        self.strand(thread).waited += now.since(own);
    }

    /// Whether what a poll of a thread meets is what its call has waited for, though it came while the thread handled
    /// something else: the thread had nothing to do, and what it has handled since then has brought its call no nearer
    /// to its end.
    fn is_awaited(&mut self, thread: u32, came: Time, so_far: Option<u128>) -> bool {
        let Strand { last, idle, .. } = self.threads[thread as usize];
        let was_idle = came >= last.at();
        let still = idle.filter(|&(since, before)| Some(before) == so_far && came >= since);
        self.strand(thread).idle =
            if was_idle { so_far.map(|so_far| (came, so_far)) } else { still };
        !was_idle && still.is_some()
    }

    /// A thread calls the library.
    pub(crate) fn calls(&mut self, thread: u32, at: Time) {
        self.has_waited(thread);
        let strand = self.strand(thread);
        (strand.called, strand.waited, strand.idle) = (at, TimeDelta::ZERO, None);
    }

    /// Whether the wait of a thread is among the longest.
    pub(crate) fn is_long(&self, thread: u32) -> bool {
        let waited = self.threads[thread as usize].waited;
        let full = self.waits.len() == WAITS;
        let least = self.waits.last().filter(|_| full).map_or(TimeDelta::ZERO, |wait| wait.waited);
        waited >= least
    }

    pub(crate) fn keep_wait(&mut self, thread: u32, who: (Process, Thread), awaited: Awaited) {
        let Awaited { operation, mut peers } = awaited;
        peers.sort_unstable();
        peers.dedup();
        let Strand { called, waited, .. } = self.threads[thread as usize];
        let (process, inner) = who;
        let wait = Blocked { process, thread: inner, operation, peers, called, waited, times: 1 };
        self.waiting[thread as usize] = Some(wait);
    }

    /// The present call of a thread has ended: its wait is one of the longest, or like one of them.
    fn has_waited(&mut self, thread: u32) {
        let Some(wait) = self.waiting[thread as usize].take() else { return };
        let what = |one: &Blocked| (one.waited, one.process, one.thread, one.operation);
        let alike = |one: &&mut Blocked| what(one) == what(&wait) && one.peers == wait.peers;
        if let Some(like) = self.waits.iter_mut().find(alike) {
            like.times += 1;
            return;
        }
        let place = self.waits.partition_point(|one| one.waited >= wait.waited);
        self.waits.insert(place, wait);
        self.waits.truncate(WAITS);
    }

    /// A thread's first mark ends its warm-up: waits before it do not count.
    pub(crate) fn mark(&mut self, thread: u32, who: (Process, Thread), number: u32, at: Time) {
        self.until(thread, Spent::Other, at);
        if !std::mem::replace(&mut self.strand(thread).marked, true) {
            self.waits.retain(|wait| (wait.process, wait.thread) != who);
            self.waiting[thread as usize] = None;
        }
        let first = self.first_marks.entry(number).or_insert(at);
        *first = at.min(*first);
        let moment = self.threads[thread as usize].last;
        let latest = self.marks.entry(number).or_insert((at, moment));
        if latest.0 < at {
            *latest = (at, moment);
        }
    }

    /// `by` has ended the call of `thread`: at once, or seen later.
    pub(crate) fn answered(&mut self, by: u32, thread: u32, seen: Option<Time>) {
        let moment = self.threads[by as usize].last;
        match seen {
            Some(now) => self.join(thread, moment, Spent::Handed, now),
            None => self.strand(thread).answered = Some(moment),
        }
    }

    /// A thread sees that its call was ended, once it has the lock.
    pub(crate) fn sees_answer(&mut self, thread: u32, at: Time) {
        match self.strand(thread).answered.take() {
            Some(moment) => self.join(thread, moment, Spent::Lock, at),
            None => self.until(thread, Spent::Lock, at),
        }
    }

    /// The other threads of a process have ended.
    pub(crate) fn joins(&mut self, thread: u32, others: impl Iterator<Item = u32>, at: Time) {
        let ends = others.map(|other| self.threads[other as usize].last);
        let last = ends.max_by_key(|&moment| moment.at());
        if let Some(last) = last {
            self.join(thread, last, Spent::Handed, at);
        }
    }

    /// `thread` creates `other`.
    pub(crate) fn forks(&mut self, thread: u32, other: u32) {
        self.strand(other).last = self.threads[thread as usize].last;
    }

    /// Something is under way, where messages are kept.
    pub(crate) fn sends(&mut self, id: u32, make: impl FnOnce() -> Message) {
        if let Some((_, under_way)) = &mut self.messages {
            under_way.insert(id, make());
        }
    }

    /// Something has arrived.
    fn receives(&mut self, id: u32, now: Time) {
        if let Some((arrived, under_way)) = &mut self.messages
            && let Some(message) = under_way.remove(&id)
        {
            arrived.push(Message { came: now, ..message });
        }
    }

    /// Bytes of the log, and messages that are kept.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        let kept = self.messages.as_ref().map_or(0, |(arrived, open)| arrived.len() + open.len());
        (self.causes.bytes(), kept)
    }

    pub(crate) fn recorded(mut self, names: impl Iterator<Item = Spender>) -> Recorded {
        (0..count(self.threads.len())).for_each(|thread| self.has_waited(thread));
        let ends = self.threads.iter().map(|strand| strand.last);
        let last = ends.max_by_key(|&moment| moment.at());
        Recorded {
            last: last.unwrap_or_default(),
            causes: self.causes,
            spenders: names.collect(),
            marks: self.marks,
            first_marks: self.first_marks,
            late: self.late,
            awaited: self.awaited,
            waits: self.waits,
            messages: self.messages.map_or_else(Vec::new, |(arrived, _)| arrived),
        }
    }
}

fn count(threads: usize) -> u32 {
    u32::try_from(threads).expect("fewer than 2^32 threads")
}
