//! The books of one program: which of its bytes are in use, by the table of [`crate::uses`].
//!
//! ```text
//!   call ──▶ it touches bytes of an open operation? ──▶ its own uses are open ── what ends them ──▶ free
//!   load, store ──▶ the same question
//! ```
//!
//! They follow the calls of the program and what these return, and nothing of the library: so they say the same of a
//! program in every order of events, and of a process as of a written program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::asked::OfRequest;
use crate::call::{Call, CommCall, Reply};
use crate::partitioned::{OfPartitions, Side};
use crate::uses::{Pieces, Until, Use, ready, uses};
use crate::windows::call::{RmaCall, Win};
use calls::arguments::{Outcome, Requests, SendMode};
use calls::identity::Handle;
use calls::space::{Region, Space};

/// Uses of memory that are open. `P` is a place in the program.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Loans<P> {
    /// Open uses, by their first bytes.
    open: BTreeMap<Key, Loan<P>>,
    /// Those that an event ends.
    ends: BTreeMap<End, BTreeSet<Key>>,
    /// The most bytes from the first to the last one of a use since none was open.
    longest: u64,
    /// Requests of sends whose end tells nothing of another process.
    quiet: BTreeSet<Handle>,
    /// Partitioned sends that are started.
    sends: BTreeMap<Handle, Arc<Call>>,
    /// Information that the reply to the last call gives.
    asks: Asks,
    /// The number of the program's thread, where the process has several: another one may ask for its partitions.
    thread: Option<u16>,
}

/// The first byte of a use, and its number among those that begin there.
type Key = (Space, u64, u32);

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Loan<P> {
    what: Use,
    place: P,
    ends: [Option<End>; 2],
}

/// An event that ends uses.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum End {
    /// The end of a request.
    Completes(Handle),
    /// A synchronisation of a window with a target.
    Synchronises(Win, u32),
    /// The program has received from another process.
    Hears,
}

/// Information that a reply gives.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Asks {
    Nothing,
    /// Whether there is a message, or a window is quiet.
    News,
    /// The ends of requests.
    Ends(Requests),
    /// Whether a partition has come.
    Arrived(Handle, u16),
}

/// A use that does not go with one which is open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clash<P> {
    /// Where the open one started.
    pub place: P,
    /// Whether it writes; else it reads.
    pub writes: bool,
}

impl<P: Copy> Loans<P> {
    /// Nothing is in use. `thread` is the number of the program among those of a process with several.
    pub const fn new(thread: Option<u16>) -> Self {
        Self {
            open: BTreeMap::new(),
            ends: BTreeMap::new(),
            longest: 0,
            quiet: BTreeSet::new(),
            sends: BTreeMap::new(),
            asks: Asks::Nothing,
            thread,
        }
    }

    /// The program itself reads or writes its memory.
    pub fn touches(&mut self, region: Region, writes: bool) -> Option<Clash<P>> {
        if region.is_in_a_window() && !writes {
            self.hears();
        }
        self.clash(&Use::whole(region, writes))
    }

    /// Open use that conflicts with a use that is over at once.
    pub fn meets(&self, with: &Use) -> Option<Clash<P>> {
        self.clash(with)
    }

    /// The program calls; `is_root` says whether it is the root of a collective, where that is known, and `locate` where
    /// the bytes of a region lie that have a place of their own in the program.
    pub fn calls(
        &mut self,
        call: &Call,
        is_root: Option<bool>,
        place: P,
        locate: impl Fn(Region) -> Option<Region>,
    ) -> Option<Clash<P>> {
        let (uses, until) = match self.made_ready(call) {
            Some((ready, request)) => ([Some(ready), None], Until::Completes(request)),
            None => uses(call, is_root),
        };
        let [first, second] = uses.map(|one| located(one?, &locate));
        let both = first.as_ref().zip(second.as_ref());
        let twice = [&first, &second].into_iter().flatten().any(Use::writes_twice);
        // Two uses clash where one of them writes.
        let of_its_own = twice || both.is_some_and(|(one, other)| one.clashes(other));
        let of_its_own = of_its_own.then_some(Clash { place, writes: true });
        let clash_of = |one: &Option<Use>| one.as_ref().and_then(|one| self.clash(one));
        let clash = clash_of(&first).or_else(|| clash_of(&second)).or(of_its_own);
        let ends = match until {
            Until::Returns => [None, None],
            Until::Completes(request) => [Some(End::Completes(request)), None],
            Until::Synchronises { win, target, request } => {
                [Some(End::Synchronises(win, target)), request.map(End::Completes)]
            }
        };
        if until != Until::Returns {
            for one in [first, second].into_iter().flatten() {
                self.lend(Loan { what: one, place, ends: self.also_heard(ends, call) });
            }
        }
        self.follows(call);
        clash
    }

    /// In a process of several threads another one may have requested the partitions of a receive, and say so.
    fn also_heard(&self, [first, second]: [Option<End>; 2], call: &Call) -> [Option<End>; 2] {
        let is_asked_elsewhere =
            self.thread.is_some() && matches!(call.begun(), Call::Partitioned(_));
        [first, if is_asked_elsewhere { Some(End::Hears) } else { second }]
    }

    /// The use of partitions that a call makes ready, and the request that has them.
    fn made_ready(&self, call: &Call) -> Option<(Use, Handle)> {
        let Call::OfPartitions { does, request, first, last, thread } = call else { return None };
        let own = thread.is_none() || *thread == self.thread;
        if !own || *does == OfPartitions::Arrived {
            return None;
        }
        Some((ready(self.sends.get(request)?, (*first, *last))?, *request))
    }

    /// Records the uses that a call ends, and the information that its reply will give.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a call ends no use but its own, few do more"
    )]
    fn follows(&mut self, call: &Call) {
        self.asks = Asks::Nothing;
        match call {
            Call::Typed(typed) => self.follows(&typed.call),
            Call::Isend { request, mode, .. } if *mode != SendMode::Synchronous => {
                self.quiet.insert(*request);
            }
            Call::Start { request, operation } => {
                if matches!(&**operation, Call::Partitioned(of) if of.side == Side::Sends) {
                    self.sends.insert(*request, Arc::clone(operation));
                    self.quiet.insert(*request);
                } else if sends_quietly(operation) {
                    self.quiet.insert(*request);
                }
            }
            Call::Send { mode: SendMode::Synchronous, .. }
            | Call::Recv { .. }
            | Call::Mrecv { .. }
            | Call::Probe { .. }
            | Call::Mprobe { .. }
            | Call::Barrier { .. }
            | Call::Collective(_)
            | Call::CreateEndpoints { .. }
            | Call::Device(_)
            | Call::DetachBuffer => self.hears(),
            Call::Exchange(of) if of.request.is_none() => self.hears(),
            Call::Communicators(of)
                if !matches!(of, CommCall::Free { .. } | CommCall::Idup { .. }) =>
            {
                self.hears();
            }
            Call::Rma(of) => self.synchronises(of),
            Call::Wait { request }
            | Call::Test { request }
            | Call::OfRequest { does: OfRequest::GetStatus, request } => {
                self.asks = Asks::Ends(Requests::Range { first: *request, count: 1 });
            }
            Call::OfRequest { does: OfRequest::Free, request } => self.frees(*request),
            Call::WaitAll { requests, .. }
            | Call::WaitAny { requests }
            | Call::TestAll { requests }
            | Call::Ask { requests, .. } => self.asks = Asks::Ends(requests.clone()),
            Call::Iprobe { .. } | Call::Improbe { .. } => self.asks = Asks::News,
            Call::OfPartitions { does: OfPartitions::Arrived, request, first, thread, .. }
                if thread.is_none() || *thread == self.thread =>
            {
                self.asks = Asks::Arrived(*request, *first);
            }
            Call::Finalize => self.ends(),
            _ => {}
        }
    }

    /// The program is at its end: all that it has started is over when MPI is.
    pub fn ends(&mut self) {
        *self = Self::new(self.thread);
    }

    /// The call that was made last returns.
    pub fn returns(&mut self, reply: &Reply) {
        match std::mem::replace(&mut self.asks, Asks::Nothing) {
            Asks::Nothing => {}
            Asks::News => {
                if matches!(reply, Reply::Probed(Some(_)) | Reply::Flag(true)) {
                    self.hears();
                }
            }
            Asks::Arrived(request, partition) => {
                if *reply == Reply::Flag(true) {
                    self.arrives(request, partition);
                    self.hears();
                }
            }
            Asks::Ends(requests) => self.end_of(&requests, reply),
        }
    }

    fn end_of(&mut self, requests: &Requests, reply: &Reply) {
        let all = |count: usize| (0..requests.len()).take(count).map(|index| requests.at(index));
        let some = |ended: &[(u32, Outcome)]| -> Vec<Handle> {
            ended.iter().map(|(index, _)| requests.at(*index as usize)).collect()
        };
        let ended: Vec<Handle> = match reply {
            Reply::Outcome(_) | Reply::Tested(Some(_)) => all(1).collect(),
            // Without statuses `MPI_Waitall` returns nothing.
            Reply::Done | Reply::All(_) | Reply::AllTested(Some(_)) => {
                all(requests.len()).collect()
            }
            Reply::Any { index, outcome } => some(&[(*index, *outcome)]),
            Reply::AnyTested(Some(one)) => some(&[*one]),
            Reply::Some(ended) => some(ended),
            Reply::Tested(None)
            | Reply::AllTested(None)
            | Reply::AnyTested(None)
            | Reply::Probed(_)
            | Reply::Compared(_)
            | Reply::Flag(_)
            | Reply::Part(..)
            | Reply::Numbers(_) => Vec::new(),
        };
        for request in ended {
            self.over(End::Completes(request));
            self.sends.remove(&request);
            if !self.quiet.remove(&request) {
                self.hears();
            }
        }
    }

    /// A one-sided call; all but operations synchronise.
    fn synchronises(&mut self, call: &RmaCall) {
        let win = call.win();
        match call {
            RmaCall::Operate { .. } | RmaCall::Post { .. } | RmaCall::Start { .. } => return,
            RmaCall::Test { .. } => {
                self.asks = Asks::News;
                return;
            }
            RmaCall::Flush { target, .. } | RmaCall::Unlock { target, .. } => {
                self.over(End::Synchronises(win, *target));
            }
            RmaCall::FlushAll { .. }
            | RmaCall::UnlockAll { .. }
            | RmaCall::Fence { .. }
            | RmaCall::Complete { .. }
            | RmaCall::Free { .. } => {
                let of_win = End::Synchronises(win, 0)..=End::Synchronises(win, u32::MAX);
                let all: Vec<End> = self.ends.range(of_win).map(|(end, _)| *end).collect();
                for end in all {
                    self.over(end);
                }
            }
            RmaCall::Create { .. }
            | RmaCall::Attach { .. }
            | RmaCall::Detach { .. }
            | RmaCall::Wait { .. }
            | RmaCall::Lock { .. }
            | RmaCall::LockAll { .. }
            | RmaCall::Sync { .. }
            | RmaCall::Query { .. } => {}
        }
        self.hears();
    }

    /// The program frees the request of an operation: it cannot learn of its end any more.
    fn frees(&mut self, request: Handle) {
        self.sends.remove(&request);
        self.quiet.remove(&request);
        for key in self.ends.remove(&End::Completes(request)).unwrap_or_default() {
            if let Some(loan) = self.open.get_mut(&key) {
                loan.ends = [Some(End::Hears), None];
                self.ends.entry(End::Hears).or_default().insert(key);
            }
        }
    }

    /// A partition of a receive has come.
    fn arrives(&mut self, request: Handle, partition: u16) {
        let Some(keys) = self.ends.get(&End::Completes(request)) else { return };
        for key in keys {
            let Some(Loan { what: Use { pieces: Pieces::Partitions { ranges, .. }, .. }, .. }) =
                self.open.get_mut(key)
            else {
                continue;
            };
            let without = |&(first, last): &(u16, u16)| {
                if partition < first || partition > last {
                    return [Some((first, last)), None];
                }
                let before = (partition > first).then(|| (first, partition - 1));
                let after = (partition < last).then(|| (partition + 1, last));
                [before, after]
            };
            *ranges = ranges.iter().flat_map(without).flatten().collect();
        }
    }

    /// The program has received from another process.
    fn hears(&mut self) {
        self.over(End::Hears);
    }

    /// Open use that conflicts with a use.
    fn clash(&self, with: &Use) -> Option<Clash<P>> {
        if self.open.is_empty() || with.region.len == 0 {
            return None;
        }
        let Region { space, offset, len } = with.region;
        let from = (space, offset.saturating_sub(self.longest), 0);
        let near = self.open.range(from..(space, offset.saturating_add(len), 0));
        let mut clashing = near.filter(|(_, loan)| loan.what.clashes(with));
        clashing.next().map(|(_, loan)| Clash { place: loan.place, writes: loan.what.writes })
    }

    fn lend(&mut self, loan: Loan<P>) {
        let Region { space, offset, len } = loan.what.region;
        if len == 0 {
            return;
        }
        let here = self.open.range((space, offset, 0)..=(space, offset, u32::MAX));
        let number = here.last().map_or(0, |((_, _, last), _)| last + 1);
        let key = (space, offset, number);
        for end in loan.ends.into_iter().flatten() {
            self.ends.entry(end).or_default().insert(key);
        }
        self.longest = self.longest.max(len);
        self.open.insert(key, loan);
    }

    /// The uses are over that this event ends.
    fn over(&mut self, end: End) {
        for key in self.ends.remove(&end).unwrap_or_default() {
            let Some(loan) = self.open.remove(&key) else { continue };
            for other in loan.ends.into_iter().flatten().filter(|other| *other != end) {
                if let Some(keys) = self.ends.get_mut(&other) {
                    keys.remove(&key);
                    if keys.is_empty() {
                        self.ends.remove(&other);
                    }
                }
            }
        }
        if self.open.is_empty() {
            self.longest = 0;
        }
    }
}

/// Whether the end of a send tells nothing of the process that receives.
fn sends_quietly(call: &Call) -> bool {
    if let Call::Typed(typed) = call {
        return sends_quietly(&typed.call);
    }
    matches!(call, Call::Isend { mode, .. } if *mode != SendMode::Synchronous)
}

/// The use in the places of the program, where its bytes have one.
fn located(one: Use, locate: impl Fn(Region) -> Option<Region>) -> Option<Use> {
    let region = locate(one.region)?;
    let base = region.offset.wrapping_sub(one.region.offset).wrapping_add(one.base);
    Some(Use { region, base, ..one })
}
