//! Windows of endpoints at work: what each call of an endpoint is on windows of MPI.
//!
//! ```text
//!   create   for each i < N, after all threads of the process are there: thread i makes window i; where a
//!            client process has no such thread, its master does, of no memory; the server's master
//!            makes them all, of one memory
//!   client   thread i acts on window i; its master also fences and frees those without a thread
//!   server   fences, frees and locks all of itself; what names a client acts on that one's window
//! ```
//!
//! The server is the last process of the communicator; any of its endpoints names it as a target,
//! and its master alone has its windows. Memory numbers, like those of buffers, are a thread's own.
//!
//! Two windows on one memory know nothing of each other: a lock of one keeps no thread out of the other,
//! and MPI leaves undefined what concurrent operations through both do to the same bytes, accumulates
//! included. Threads of a process, and threads of different numbers, must keep apart by themselves.
//!
//! Source: `xios-ep` Sec. 8; MPI 3.1, Sec. 11.2.1 (windows that overlap). Left out: windows that MPI
//! allocates or shares, dynamic windows, and `MPI_Win_test`: each is refused by name.

use std::collections::VecDeque;
use std::sync::Arc;

use super::between::OFFERED;
use super::start::{NUMBERS, UNKNOWN};
use super::thread::{Endpoint, Goal, Member, Stage, Step};
use super::{SharedOp, Showing, Shown};
use crate::window::{Party, Windows};
use calls::rows::{FieldMut, Fields as _};
use mpi::envelope::Rank;
use mpi::rma::synchronisation::RankSet;
use protocols::call::{Call, Reply};
use protocols::contract::Region;
use protocols::rma::call::{Flavor, Operation, RmaCall, Win};

/// A window of endpoints, as one of them has it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Opened {
    /// Its place in the communicator.
    member: Member,
    layout: Windows,
    /// Windows of MPI with an epoch that it started.
    started: Vec<u32>,
    /// Windows of MPI with an epoch that it posted.
    posted: Vec<u32>,
}

/// One thing that an endpoint does for a call.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Act {
    /// Meets the others of its process.
    Meet(Showing),
    /// Calls MPI.
    Call(RmaCall),
}

/// Remaining steps of a call.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Acts {
    member: Member,
    left: VecDeque<Act>,
}

impl Opened {
    fn server(&self) -> u32 {
        self.member.map.process_count() - 1
    }

    fn of_server(&self) -> bool {
        self.member.place.process == self.server()
    }

    /// The windows of MPI that this endpoint makes, fences and frees, in their order.
    fn windows(&self) -> Vec<u32> {
        let Member { map, place, .. } = &self.member;
        let all = 0..self.layout.server_windows();
        let threads = map.local_size(place.process);
        let acts = |index: &u32| match (self.of_server(), place.local) {
            (true, local) => local == 0,
            (false, local) => local == *index || local == 0 && *index >= threads,
        };
        all.filter(acts).collect()
    }

    /// The windows of MPI through which it accesses others.
    fn own(&self) -> Vec<u32> {
        if self.of_server() { self.windows() } else { vec![self.member.place.local] }
    }

    fn party(&self, rank: Rank) -> Result<Party, String> {
        let map = &self.member.map;
        let unknown = || format!("there is no endpoint {} of {}", rank.0, map.size());
        let place = map.place(rank).ok_or_else(unknown)?;
        Ok(if place.process == self.server() { Party::Server } else { Party::Client(rank) })
    }

    /// The window, and the rank in it, by which this endpoint reaches another one.
    fn route(&self, target: u32) -> Result<(u32, Rank), String> {
        let Member { map, place, .. } = &self.member;
        if self.of_server() && place.local > 0 {
            return Err("only the master of the server's process has its windows".to_owned());
        }
        let own = self.party(map.rank(*place).expect("an endpoint has a rank"))?;
        let target = self.party(Rank(target))?;
        let route = self.layout.route(own, target).map_err(|error| error.to_string())?;
        let rank = if target == Party::Server { self.server() } else { route.client };
        Ok((route.window, Rank(rank)))
    }

    /// The windows, and the ranks in each, by which this endpoint reaches a group.
    fn routes(&self, group: &RankSet) -> Result<Vec<(u32, RankSet)>, String> {
        let routes = group.ranks().iter().map(|rank| self.route(rank.0));
        let routes: Vec<(u32, Rank)> = routes.collect::<Result<_, _>>()?;
        let ranks = |window: u32| -> RankSet {
            routes.iter().filter(|(of, _)| *of == window).map(|(_, rank)| *rank).collect()
        };
        let all = self.own().into_iter().map(|window| (window, ranks(window)));
        Ok(all.filter(|(_, ranks)| !ranks.ranks().is_empty()).collect())
    }
}

impl Endpoint {
    /// The program makes a one-sided call.
    pub(super) fn one_sided(&mut self, call: &RmaCall) -> Step {
        let acts =
            if let RmaCall::Create { .. } = call { self.opens(call) } else { self.acts(call) };
        match acts {
            Ok(acts) => {
                self.goal = Goal::Windows(acts);
                self.act()
            }
            Err(words) => Step::refuse(&format!("{}: {words}", call.name())),
        }
    }

    /// The next thing that is left of a one-sided call.
    pub(super) fn act(&mut self) -> Step {
        let Goal::Windows(Acts { member, left }) = &mut self.goal else {
            unreachable!("only the goal of a one-sided call is asked for")
        };
        let step = match left.pop_front() {
            None => return Step::Answer(Reply::Done),
            Some(Act::Meet(showing)) => Step::shared(SharedOp::Arrive(member.seat(), showing)),
            Some(Act::Call(call)) => Step::mpi(Call::Rma(Arc::new(call))),
        };
        self.stage = Stage::Windows;
        step
    }

    /// Where it waits for the others of its process in a one-sided call.
    pub(super) fn meets_in(&self) -> protocols::call::Comm {
        let Goal::Windows(Acts { member, .. }) = &self.goal else {
            unreachable!("{:?} is no one-sided call", self.goal)
        };
        member.mpi
    }

    /// Steps that create a window: one of MPI after the other, as MPI wants it of one communicator.
    fn opens(&mut self, call: &RmaCall) -> Result<Acts, String> {
        let RmaCall::Create { win, comm, flavor, memory, bytes, unit } = *call else {
            unreachable!("only what makes a window")
        };
        if flavor != Flavor::Create {
            return Err("the endpoint library makes windows of memory that is there".to_owned());
        }
        if self.windows.contains_key(&win) {
            return Err(format!("window {} exists already", win.0));
        }
        let member = self.comms.get(&comm).cloned().ok_or(UNKNOWN)?;
        if member.across.is_some() {
            return Err(OFFERED.to_owned());
        }
        let (map, place) = (Arc::clone(&member.map), member.place);
        let clients = map.process_count() - 1;
        if clients == 0 {
            return Err("windows lie between clients and a server: two processes".to_owned());
        }
        let threads: Vec<u32> = (0..clients).map(|process| map.local_size(process)).collect();
        let layout = Windows::new(&threads);
        let all = layout.server_windows();
        let (started, posted) = (Vec::new(), Vec::new());
        let opened = Opened { member: member.clone(), layout, started, posted };
        let mine = opened.windows();
        let shown = Shown::Windows(win);
        let mut left = VecDeque::from([Act::Meet(Showing::Shows(shown))]);
        for index in 0..all {
            if mine.contains(&index) {
                // Who stands in for a thread that is missing shows nothing.
                let null = !opened.of_server() && index != place.local;
                let win = self.window(win, index).ok_or(NUMBERS)?;
                let memory = self.own(memory).ok_or(NUMBERS)?;
                #[cfg(feature = "mutants")]
                let memory = self.memory_of(memory, index);
                let bytes = if null { 0 } else { bytes };
                let comm = member.mpi;
                left.push_back(Act::Call(RmaCall::Create {
                    win,
                    comm,
                    flavor,
                    memory,
                    bytes,
                    unit,
                }));
            }
            let last = index + 1 == all;
            left.push_back(Act::Meet(if last { Showing::Ends } else { Showing::Still }));
        }
        self.windows.insert(win, opened);
        Ok(Acts { member, left })
    }

    /// Steps of every other call.
    fn acts(&mut self, call: &RmaCall) -> Result<Acts, String> {
        let win = call.win();
        let unknown = || format!("the endpoint has no window {}", win.0);
        let opened = self.windows.get(&win).ok_or_else(unknown)?;
        let member = opened.member.clone();
        let calls = self.calls(call, opened)?;
        let together = matches!(call, RmaCall::Fence { .. } | RmaCall::Free { .. });
        let meets = together && opened.of_server() && member.threads.len() > 1;
        let calls = self.with_numbers(win, calls)?;
        for call in &calls {
            if let RmaCall::Operate { request: Some(request), .. } = call {
                self.note_operation(*request, &member)?;
            }
        }
        self.remember(call);
        let left = calls.into_iter().map(Act::Call);
        let left = left.chain(meets.then_some(Act::Meet(Showing::Ends))).collect();
        Ok(Acts { member, left })
    }

    /// The calls of MPI, each with the index of its window.
    fn calls(&self, call: &RmaCall, opened: &Opened) -> Result<Vec<(u32, RmaCall)>, String> {
        let win = call.win();
        let same = |windows: Vec<u32>| windows.into_iter().map(|at| (at, call.clone())).collect();
        Ok(match *call {
            RmaCall::Fence { .. } | RmaCall::Free { .. } => same(opened.windows()),
            RmaCall::LockAll { .. }
            | RmaCall::UnlockAll { .. }
            | RmaCall::FlushAll { .. }
            | RmaCall::Sync { .. }
            | RmaCall::Operate { target: None, .. } => same(opened.own()),
            RmaCall::Complete { .. } => same(opened.started.clone()),
            RmaCall::Wait { .. } => same(opened.posted.clone()),
            RmaCall::Lock { target, kind, no_check, .. } => {
                let (at, Rank(target)) = opened.route(target)?;
                vec![(at, RmaCall::Lock { win, target, kind, no_check })]
            }
            RmaCall::Unlock { target, .. } => {
                let (at, Rank(target)) = opened.route(target)?;
                vec![(at, RmaCall::Unlock { win, target })]
            }
            RmaCall::Flush { target, local, .. } => {
                let (at, Rank(target)) = opened.route(target)?;
                vec![(at, RmaCall::Flush { win, target, local })]
            }
            RmaCall::Operate { target: Some(target), at: place, does, request, .. } => {
                let (at, Rank(target)) = opened.route(target)?;
                let does = self.operation(does).ok_or(NUMBERS)?;
                let request = request.map(|request| self.handle(request).ok_or(NUMBERS));
                let (target, request) = (Some(target), request.transpose()?);
                vec![(at, RmaCall::Operate { win, target, at: place, does, request })]
            }
            RmaCall::Post { ref group, .. } => {
                let routes = opened.routes(group)?.into_iter();
                routes.map(|(at, group)| (at, RmaCall::Post { win, group })).collect()
            }
            RmaCall::Start { ref group, .. } => {
                let routes = opened.routes(group)?.into_iter();
                routes.map(|(at, group)| (at, RmaCall::Start { win, group })).collect()
            }
            RmaCall::Create { .. }
            | RmaCall::Attach { .. }
            | RmaCall::Detach { .. }
            | RmaCall::Query { .. }
            | RmaCall::Test { .. } => return Err("the endpoint library does not offer it".into()),
        })
    }

    /// The calls with MPI's numbers of their windows.
    fn with_numbers(
        &self,
        of: Win,
        calls: Vec<(u32, RmaCall)>,
    ) -> Result<Vec<RmaCall>, &'static str> {
        let numbered = |(index, mut call): (u32, RmaCall)| {
            let number = self.window(of, index).ok_or(NUMBERS)?;
            call.fields_mut(&mut |field| {
                if let FieldMut::Window(win) = field {
                    *win = number;
                }
            });
            Ok(call)
        };
        calls.into_iter().map(numbered).collect()
    }

    /// Which epochs are open, and which windows are left, after a call.
    fn remember(&mut self, call: &RmaCall) {
        let routes = |opened: &Opened, group: &RankSet| -> Vec<u32> {
            let routes = opened.routes(group).expect("they were found before");
            routes.into_iter().map(|(window, _)| window).collect()
        };
        let win = call.win();
        let opened = self.windows.get_mut(&win).expect("it was found before");
        match call {
            RmaCall::Start { group, .. } => opened.started = routes(opened, group),
            RmaCall::Post { group, .. } => opened.posted = routes(opened, group),
            RmaCall::Complete { .. } => opened.started.clear(),
            RmaCall::Wait { .. } => opened.posted.clear(),
            RmaCall::Free { .. } => drop(self.windows.remove(&win)),
            RmaCall::Create { .. }
            | RmaCall::Attach { .. }
            | RmaCall::Detach { .. }
            | RmaCall::Operate { .. }
            | RmaCall::Fence { .. }
            | RmaCall::Test { .. }
            | RmaCall::Lock { .. }
            | RmaCall::Unlock { .. }
            | RmaCall::LockAll { .. }
            | RmaCall::UnlockAll { .. }
            | RmaCall::Flush { .. }
            | RmaCall::FlushAll { .. }
            | RmaCall::Query { .. }
            | RmaCall::Sync { .. } => {}
        }
    }

    /// The number that MPI has for one of the windows: no other window of the process has it.
    fn window(&self, win: Win, index: u32) -> Option<Win> {
        let world = &self.comms[&protocols::call::Comm::default()].map;
        let width = world.processes().map(|process| world.local_size(process)).max()?;
        let number = u32::from(win.0).checked_mul(width)?.checked_add(index)?;
        u16::try_from(number).ok().map(Win)
    }

    /// An operation with the buffers of the process.
    fn operation(&self, does: Operation) -> Option<Operation> {
        let region = |region: Option<Region>| match region {
            None => Some(None),
            Some(region) => self.region(region).map(Some),
        };
        Some(match does {
            Operation::Put { origin } => Operation::Put { origin: self.region(origin)? },
            Operation::Get { into } => Operation::Get { into: self.region(into)? },
            Operation::Update { update, origin, result } => {
                let (origin, result) = (region(origin)?, region(result)?);
                Operation::Update { update, origin, result }
            }
        })
    }
}
