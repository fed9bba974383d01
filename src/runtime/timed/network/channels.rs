//! Channels: one direction between two lanes, with the receive buffers that it has.
//!
//! Left out: receive buffers are counted for each pair, with a shared receive queue as well:
//! noticeable as fewer pauses than there. A send queue has no end.

use std::collections::{BTreeMap, VecDeque};

use super::flight::Arrived;
use engine::Paged;
use hardware::cluster::Posting;
use hardware::fabric::PathId;
use protocols::contract::{Process, Route};
use units::{Time, TimeDelta};

/// All channels that are open.
#[derive(Debug)]
pub(super) struct Channels {
    all: Paged<Channel, 64>,
    table: ChannelTable,
    /// Receive buffers that a fault took, by sender and receiver: also of channels that open later.
    lost: BTreeMap<(Process, Process), u32>,
}

impl Channels {
    pub(super) fn new(processes: usize, lanes: u16) -> Self {
        let table = ChannelTable::new(processes, lanes);
        Self { all: Paged::new(), table, lost: BTreeMap::new() }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len() as usize
    }

    #[inline]
    pub(super) fn of(&self, channel: u32) -> &Channel {
        &self.all[channel]
    }

    #[inline]
    pub(super) fn of_mut(&mut self, channel: u32) -> &mut Channel {
        &mut self.all[channel]
    }

    /// The channel between two lanes, opened at first use with so many receive buffers.
    #[inline]
    pub(super) fn between(&mut self, from: Process, to: Route, buffers: u32) -> u32 {
        match self.table.get(from, to) {
            Some(channel) => channel,
            None => self.open(from, to, buffers),
        }
    }

    fn open(&mut self, from: Process, to: Route, buffers: u32) -> u32 {
        let mut channel = Channel::new(from, to, buffers);
        if let Some(&lost) = self.lost.get(&(from, to.peer))
            && lost > 0
        {
            channel.lose(lost);
        }
        let number = self.all.push(channel);
        self.table.set(from, to, number);
        number
    }

    /// Receive buffers for one process's messages are gone, on all channels.
    pub(super) fn lose_credits(&mut self, (from, to): (Process, Process), credits: u32) {
        *self.lost.entry((from, to)).or_default() += credits;
        let all = self.all.iter_mut();
        for channel in all.filter(|channel| channel.from == from && channel.to.peer == to) {
            channel.lose(credits);
        }
    }

    /// Reads what a look-up of a sender will read: see `Timed::prefetch`.
    pub(super) fn prefetch(&self, from: usize, arrives_by: Option<u32>) -> u64 {
        let credits = arrives_by.map_or(0, |channel| u64::from(self.of(channel).credits));
        self.table.prefetch(from) ^ credits
    }
}

/// Open channels by sending lane, each with its receiving lane and number, in the order of receivers:
/// jobs in which every process sends to every other one are rare.
#[derive(Debug)]
struct ChannelTable {
    lanes: u32,
    open: Vec<Vec<(u32, u32)>>,
    /// Last lookup of each sender: it is often repeated.
    last: Vec<(u32, u32)>,
}

impl ChannelTable {
    fn new(processes: usize, lanes: u16) -> Self {
        let all = processes * usize::from(lanes);
        let (open, last) = (vec![Vec::new(); all], vec![(u32::MAX, 0); all]);
        Self { lanes: u32::from(lanes), open, last }
    }

    /// The numbers, in the job, of the two lanes of a route.
    #[inline]
    fn ends(&self, from: Process, to: Route) -> (usize, u32) {
        let own = from.0 * self.lanes + u32::from(to.own.0);
        (own as usize, to.peer.0 * self.lanes + u32::from(to.remote.0))
    }

    #[inline]
    fn get(&mut self, from: Process, to: Route) -> Option<u32> {
        let (from, to) = self.ends(from, to);
        let (last, channel) = self.last[from];
        if last == to { Some(channel) } else { self.search(from, to) }
    }

    fn prefetch(&self, from: usize) -> u64 {
        let open = &self.open[from];
        let middle = open.get(open.len() / 2).map_or(0, |&(_, channel)| channel);
        u64::from(self.last[from].1 ^ middle)
    }

    fn search(&mut self, from: usize, to: u32) -> Option<u32> {
        let open = &self.open[from];
        let place = open.binary_search_by_key(&to, |(to, _)| *to).ok()?;
        self.last[from] = open[place];
        Some(open[place].1)
    }

    fn set(&mut self, from: Process, to: Route, channel: u32) {
        let (from, to) = self.ends(from, to);
        let open = &mut self.open[from];
        let place = open.partition_point(|(other, _)| *other < to);
        open.insert(place, (to, channel));
    }
}

/// One direction between two lanes: a queue pair.
///
/// A large job has tens of them for each rank: one takes a line of a cache.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    from: Process,
    to: Route,
    /// The path of one way of posting.
    path: PathId,
    posting: Option<Posting>,
    /// Receive buffers that the receiver has posted.
    credits: u16,
    /// Sends since the last one that requested a completion.
    unsignalled: u16,
    /// RDMA reads under way.
    reads: u16,
    /// Bytes of messages in its queue of shared memory, and when the last one is seen.
    queued: u32,
    seen: Time,
    /// When the next receive buffer is posted, or [`NEVER`]; those after it are in `rare`.
    repost: Time,
    /// When the queue pair can begin another WQE.
    free_at: Time,
    /// State that most channels never need: a large job has many channels.
    rare: Option<Box<Rare>>,
}

/// No receive buffer is to be posted.
/// Encoding: the last moment of a clock, which no run reaches.
const NEVER: Time = Time::from_ps(u64::MAX);

/// A number that a machine bounds far below 2^16.
fn few(number: u32) -> u16 {
    u16::try_from(number).expect("machines have fewer than 2^16 of these for a queue pair")
}

#[derive(Clone, Debug, Default)]
struct Rare {
    /// The paths of other ways of posting.
    paths: [Option<PathId>; 9],
    /// When receive buffers after the next one are posted, earliest first.
    reposts: VecDeque<Time>,
    /// Arrivals that found no receive buffer, in order.
    not_ready: VecDeque<Arrived>,
    /// RDMA reads that wait for one to end.
    reads_waiting: VecDeque<u32>,
    /// Receive buffers that a fault took: in all, and of those that are to be posted again.
    lost: u32,
    owed: u32,
    /// Pauses since all receive buffers are gone.
    pauses: u32,
}

impl Channel {
    fn new(from: Process, to: Route, credits: u32) -> Self {
        Self {
            from,
            to,
            path: PathId(0),
            posting: None,
            credits: few(credits),
            unsignalled: 0,
            reads: 0,
            queued: 0,
            seen: Time::ZERO,
            repost: NEVER,
            free_at: Time::ZERO,
            rare: None,
        }
    }

    /// The process that sends by it.
    pub(super) const fn sender(&self) -> Process {
        self.from
    }

    /// The process that receives by it, and the lanes.
    pub(super) const fn to(&self) -> Route {
        self.to
    }

    /// The queue pair begins its next WQE: when it may, at the earliest, and whether it asks for a
    /// completion. RDMA asks for one of its own, which reports all sends before it as well; the HCA's
    /// own sends (`by_itself`) report to no process.
    #[inline]
    pub(super) fn begin_wqe(
        &mut self,
        now: Time,
        period: TimeDelta,
        rdma: bool,
        by_itself: bool,
        signal_every: u32,
    ) -> (Time, bool) {
        self.unsignalled += u16::from(!by_itself);
        let signalled = !rdma && u32::from(self.unsignalled) == signal_every;
        if signalled || rdma {
            self.unsignalled = 0;
        }
        let begin = now.max(self.free_at);
        self.free_at = begin + period;
        (begin, signalled)
    }

    /// A message takes room in the queue of shared memory; answers whether it fits.
    pub(super) fn enter_queue(&mut self, slots: u32, room: u64) -> bool {
        let fits = u64::from(self.queued + slots) <= room;
        if fits {
            self.queued += slots;
        }
        fits
    }

    /// A message has left the queue.
    pub(super) const fn leave_queue(&mut self, slots: u32) {
        self.queued -= slots;
    }

    /// When a message that would be seen at `at` is seen: a queue is read in order, and no message
    /// before the one in front of it.
    pub(super) fn seen_in_order(&mut self, at: Time) -> Time {
        self.seen = self.seen.max(at);
        self.seen
    }

    /// A read or an atomic begins, unless as many as `limit` are under way: then it waits.
    pub(super) fn begin_read(&mut self, flight: u32, limit: u32) -> bool {
        if u32::from(self.reads) == limit {
            self.rare().reads_waiting.push_back(flight);
            return false;
        }
        self.reads += 1;
        true
    }

    /// A read has ended: the one that waits begins.
    pub(super) fn end_read(&mut self) -> Option<u32> {
        self.reads -= 1;
        let next = self.rare.as_mut().and_then(|rare| rare.reads_waiting.pop_front());
        self.reads += u16::from(next.is_some());
        next
    }

    /// An arrival takes a receive buffer; without one, or behind others without one, it is kept.
    /// Answers it where it has a buffer, else whether it is the first that is kept.
    #[inline]
    pub(super) fn arrive(&mut self, arrived: Arrived, now: Time) -> Result<Arrived, bool> {
        let waits = self.has_not_ready();
        if !waits && self.take_credit(now) {
            return Ok(arrived);
        }
        self.rare().not_ready.push_back(arrived);
        Err(!waits)
    }

    /// The oldest arrival that was kept, if it has a receive buffer now; else whether some are kept.
    pub(super) fn retry(&mut self, now: Time) -> Result<Arrived, bool> {
        if !self.has_not_ready() {
            return Err(false);
        }
        if !self.take_credit(now) {
            return Err(true);
        }
        Ok(self.rare().not_ready.pop_front().expect("it is not empty"))
    }

    /// It pauses for a receive buffer; answers whether all of them, `all`, are lost, and it has paused
    /// more often than `retries`.
    pub(super) fn is_never_ready(&mut self, all: u32, retries: u32) -> bool {
        let Some(rare) = &mut self.rare else { return false };
        rare.pauses += u32::from(rare.lost >= all);
        rare.pauses > retries
    }

    /// Takes a receive buffer, if one is posted by `now`.
    fn take_credit(&mut self, now: Time) -> bool {
        self.count_reposts(now);
        let ready = self.credits > 0;
        self.credits -= u16::from(ready);
        ready
    }

    /// Receive buffers that are posted by `now` can be taken.
    fn count_reposts(&mut self, now: Time) {
        while self.repost <= now {
            let next = self.rare.as_mut().and_then(|rare| rare.reposts.pop_front());
            self.repost = next.unwrap_or(NEVER);
            self.credits += u16::from(!self.pays_debt());
        }
    }

    /// Whether a buffer that would be posted again is one that a fault took.
    fn pays_debt(&mut self) -> bool {
        let Some(rare) = self.rare.as_mut().filter(|rare| rare.owed > 0) else { return false };
        rare.owed -= 1;
        true
    }

    /// A fault takes so many receive buffers.
    fn lose(&mut self, buffers: u32) {
        let posted = buffers.min(u32::from(self.credits));
        self.credits -= few(posted);
        let rare = self.rare();
        rare.lost += buffers;
        rare.owed += buffers - posted;
    }

    /// A receive buffer is posted at `at`.
    pub(super) fn post_again(&mut self, at: Time, now: Time) {
        self.count_reposts(now);
        if self.repost == NEVER {
            self.repost = at;
        } else {
            self.rare().reposts.push_back(at);
        }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Whether arrivals wait for receive buffers.
    fn has_not_ready(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.not_ready.is_empty())
    }

    pub(super) fn path(&self, posting: Posting) -> Option<PathId> {
        if self.posting == Some(posting) {
            return Some(self.path);
        }
        self.rare.as_ref()?.paths[posting as usize]
    }

    pub(super) fn keep_path(&mut self, posting: Posting, path: PathId) {
        if self.posting.is_none() {
            (self.posting, self.path) = (Some(posting), path);
        } else {
            self.rare().paths[posting as usize] = Some(path);
        }
    }
}
