//! What a thread inside a one-sided call waits for, and how it comes nearer to it.

use std::sync::Arc;

use super::active::Fence;
use super::call::RmaCall;
use super::exchange::{Exchange, Leg};
use super::facts::Facts;
use super::packet::Scope;
use super::port::Port;
use super::setup::{Creating, begin_free, begin_use};
use super::window::{Target, Wants, Window};
use super::{Called, Rma};
use crate::contract::{Process, Thread, Wait};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use mpi::observation::WindowFact;

/// Condition that a thread waits for.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Goal {
    operation: &'static str,
    aim: Aim,
    /// Whether the message of an exchange's round has gone out.
    said: bool,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Aim {
    /// A window: the words of all are known.
    Gather(Box<Creating>),
    /// A window: all have it.
    Made {
        window: u32,
        exchange: Exchange,
    },
    /// The end of a window: how many silent unlocks come.
    Count {
        window: u32,
        exchange: Exchange,
    },
    /// They come.
    Drain {
        window: u32,
        expected: u64,
    },
    /// All are done with it.
    Freed {
        window: u32,
        exchange: Exchange,
    },
    /// No other process has an exclusive lock of the own part, whose end no answer would show: memory may
    /// be detached.
    Detach {
        window: u32,
        memory: u32,
    },
    /// The own part is locked.
    OwnLock {
        window: u32,
    },
    /// This target has granted its lock, or all have: others' memory is reached at once then.
    Granted {
        window: u32,
        target: Option<u32>,
    },
    /// The operations on one target are complete, here or there as well, or its lock is given back;
    /// `told` is whether the monitors get it by the way.
    Target {
        window: u32,
        target: u32,
        wants: Wants,
        told: bool,
    },
    /// The same of all targets.
    All {
        window: u32,
        wants: Wants,
        told: bool,
    },
    Fence {
        window: u32,
        fence: Fence,
    },
    /// `MPI_Win_complete`: these targets have not posted, or not everything has gone out.
    Complete {
        window: u32,
        left: Vec<u32>,
    },
    /// `MPI_Win_wait`.
    Exposure {
        window: u32,
    },
}

/// Outcome of a look at an aim: it waits, is replaced by the next one, or is over.
enum Turn {
    Waits,
    Next(Aim),
    Over,
}

impl Goal {
    const fn new(operation: &'static str, aim: Aim) -> Self {
        Self { operation, aim, said: false }
    }

    pub(super) fn create(creating: Creating) -> Self {
        Self::new("MPI_Win_create", Aim::Gather(Box::new(creating)))
    }
}

/// The goals of calls.
impl Goal {
    /// A thread locks its own part, or one that its core reaches: its loads and stores follow at
    /// once. The locks that other threads have requested are not its concern.
    pub(super) fn own_lock(of: &Window, call: &RmaCall) -> Self {
        let window = of.id;
        let target = if let RmaCall::Lock { target, .. } = call { Some(*target) } else { None };
        let shared = of.is_shared();
        let aim = if shared { Aim::Granted { window, target } } else { Aim::OwnLock { window } };
        Self::new(call.name(), aim)
    }

    /// A thread detaches memory.
    pub(super) fn detaching(of: &Window, memory: u32) -> Result<Self, String> {
        of.is_attached(memory)?;
        Ok(Self::new("MPI_Win_detach", Aim::Detach { window: of.id, memory }))
    }

    /// A thread makes this call: its targets learn what is wanted of them.
    pub(super) fn of(of: &mut Window, call: &RmaCall, port: &mut Port<'_>) -> Self {
        let window = of.id;
        #[cfg(feature = "mutants")]
        let all_are_local = port.has(Mutant::FlushIsLocal);
        #[cfg(not(feature = "mutants"))]
        let all_are_local = false;
        let wants = |local| if local || all_are_local { Wants::Issue } else { Wants::Flush };
        let aim = match call {
            RmaCall::Flush { target, local, .. } => {
                Aim::Target { window, target: *target, wants: wants(*local), told: false }
            }
            RmaCall::Unlock { target, .. } => {
                let told = of.gives_back_by_atomics(Some(*target), port.settings());
                Aim::Target { window, target: *target, wants: Wants::Unlock, told }
            }
            RmaCall::FlushAll { local, .. } => {
                Aim::All { window, wants: wants(*local), told: false }
            }
            RmaCall::UnlockAll { .. } => {
                let told = of.gives_back_by_atomics(None, port.settings());
                Aim::All { window, wants: Wants::Unlock, told }
            }
            RmaCall::Fence { assert, .. } => {
                let closes = of.fenced && !assert.no_precede;
                of.fenced = !assert.no_succeed;
                Aim::Fence { window, fence: of.begin_fence(closes, port.settings()) }
            }
            RmaCall::Complete { .. } => {
                Aim::Complete { window, left: std::mem::take(&mut of.started) }
            }
            RmaCall::Wait { .. } => Aim::Exposure { window },
            RmaCall::Free { .. } => Aim::Count { window, exchange: begin_free(of) },
            RmaCall::Create { .. }
            | RmaCall::Attach { .. }
            | RmaCall::Detach { .. }
            | RmaCall::Operate { .. }
            | RmaCall::Post { .. }
            | RmaCall::Start { .. }
            | RmaCall::Test { .. }
            | RmaCall::Lock { .. }
            | RmaCall::LockAll { .. }
            | RmaCall::Query { .. }
            | RmaCall::Sync { .. } => unreachable!("{} has another goal, or none", call.name()),
        };
        if let Aim::Target { target, wants, .. } = aim {
            of.want(target, wants, port);
        } else if let Aim::All { wants, .. } = aim {
            let targets: Vec<u32> = of.targets.keys().copied().collect();
            for target in targets {
                of.want(target, wants, port);
            }
        }
        Self::new(call.name(), aim)
    }
}

impl Rma {
    /// Brings a thread nearer to its goal; answers with what its call returns where it has just
    /// reached it.
    pub(super) fn advance(&mut self, thread: Thread, port: &mut Port<'_>) -> Option<Called> {
        let place = usize::from(thread.0);
        let mut goal = self.goals[place].take()?;
        loop {
            match self.turn(&mut goal, port) {
                Turn::Waits => {
                    self.goals[place] = Some(goal);
                    return None;
                }
                Turn::Next(aim) => (goal.aim, goal.said) = (aim, false),
                Turn::Over => {
                    while let Some(None) = self.goals.last() {
                        self.goals.pop();
                    }
                    return Some(self.returned(&goal));
                }
            }
        }
    }

    /// Return value of a call whose goal is reached: for a window that shares memory, the place of the process's own
    /// part.
    fn returned(&self, goal: &Goal) -> Called {
        let Aim::Made { window, .. } = &goal.aim else { return Called::Returns };
        let made = &self.windows[window];
        made.segment(made.rank).map_or(Called::Returns, |(part, unit)| Called::Found(part, unit))
    }

    fn turn(&mut self, goal: &mut Goal, port: &mut Port<'_>) -> Turn {
        if let Some(turn) = self.talk(goal, port) {
            return turn;
        }
        match &mut goal.aim {
            Aim::Gather(creating) => {
                let (window, win) = match creating.window() {
                    Ok(window) => (window, creating.win),
                    Err(words) => {
                        port.refuse(words);
                        return Turn::Over;
                    }
                };
                let (id, exchange) = (window.id, begin_use(&window));
                self.next = id + 1;
                self.handles.insert(win, id);
                Facts(&window).made(port);
                self.windows.insert(id, window);
                Turn::Next(Aim::Made { window: id, exchange })
            }
            Aim::Count { window, exchange } => {
                Turn::Next(Aim::Drain { window: *window, expected: exchange.sum() })
            }
            Aim::Made { .. } => Turn::Over,
            Aim::Freed { window, .. } => {
                if let Some(freed) = self.windows.remove(window) {
                    Facts(&freed).freed(port);
                }
                self.handles.retain(|_, id| id != window);
                Turn::Over
            }
            Aim::Drain { window, expected } => {
                let open = &self.windows[window];
                if open.silent_come < *expected {
                    return Turn::Waits;
                }
                Turn::Next(Aim::Freed { window: *window, exchange: open.barrier() })
            }
            Aim::Detach { window, memory } => {
                let open = self.windows.get_mut(window).expect("it is in use");
                if open.is_held_by_others() {
                    return Turn::Waits;
                }
                match open.detach(*memory) {
                    Ok(()) => port.fact(*window, WindowFact::Hidden { memory: *memory }),
                    Err(words) => port.refuse(words),
                }
                Turn::Over
            }
            Aim::OwnLock { window } => {
                let done = self.windows[window].owns_its_lock();
                if done {
                    // Those that held the lock before have completed since it was called for.
                    port.fact(*window, WindowFact::Synchronised);
                }
                over(done)
            }
            Aim::Granted { window, target } => {
                let target = *target;
                #[cfg(feature = "mutants")]
                let target = target.filter(|_| !port.has(Mutant::WaitsForAllLocks));
                over(self.windows[window].has_lock_of(target))
            }
            Aim::Target { window, target, wants, told } => {
                let open = self.windows.get_mut(window).expect("it is in use");
                open.ask_again(*target, *wants, port);
                let state = open.targets.get(target);
                let done = state.is_none_or(|state| state.has_done(*wants));
                if done && !*told {
                    Facts(open).done(Some(*target), *wants, port);
                }
                over(done)
            }
            Aim::All { window, wants, told } => {
                let open = self.windows.get_mut(window).expect("it is in use");
                let targets: Vec<u32> = open.targets.keys().copied().collect();
                for target in targets {
                    open.ask_again(target, *wants, port);
                }
                let done = open.targets.values().all(|state| state.has_done(*wants));
                if done && !*told {
                    Facts(open).done(None, *wants, port);
                }
                over(done)
            }
            Aim::Fence { window, fence } => {
                let id = *window;
                let open = self.windows.get_mut(window).expect("it is in use");
                let next = match fence {
                    Fence::Over | Fence::Barrier(_) => {
                        port.fact(id, WindowFact::FenceOver);
                        return Turn::Over;
                    }
                    Fence::Counting(exchange) => Some(open.counted_out(exchange.sum(), port)),
                    Fence::Coming { .. } | Fence::Flushing => open.fence_on(fence, port),
                };
                next.map_or(Turn::Waits, |fence| Turn::Next(Aim::Fence { window: id, fence }))
            }
            Aim::Complete { window, left } => {
                let open = self.windows.get_mut(window).expect("it is in use");
                over(open.complete_on(left, port))
            }
            Aim::Exposure { window } => {
                let done = self.windows.get_mut(window).expect("it is in use").exposure_over();
                if done {
                    port.fact(*window, WindowFact::ExposureOver);
                }
                over(done)
            }
        }
    }

    /// Goes on with the exchange that an aim is in; `None` when it has none, or it is over.
    fn talk(&mut self, goal: &mut Goal, port: &mut Port<'_>) -> Option<Turn> {
        loop {
            let (scope, members, leg) = self.exchange(&goal.aim)?;
            let Leg { to, from, words } = leg;
            if !goal.said {
                goal.said = true;
                port.words(members[to as usize], scope, words);
            }
            let key = (scope, members[from as usize]);
            let Some(early) = self.early.get_mut(&key) else { return Some(Turn::Waits) };
            let words = early.pop_front().expect("empty queues are removed");
            if early.is_empty() {
                self.early.remove(&key);
            }
            if let Some(exchange) = exchange_of(&mut goal.aim) {
                exchange.hear(&words);
            }
            goal.said = false;
        }
    }

    /// The round of the exchange that an aim is in.
    fn exchange(&self, aim: &Aim) -> Option<(Scope, Arc<[Process]>, Leg)> {
        if let Aim::Gather(creating) = aim {
            let scope = Scope::Comm(creating.members.context);
            let members = Arc::clone(&creating.members.processes);
            return creating.exchange.leg().map(|leg| (scope, members, leg));
        }
        // Every other aim is looked at alone.
        let (Aim::Made { window, exchange }
        | Aim::Count { window, exchange }
        | Aim::Freed { window, exchange }
        | Aim::Fence { window, fence: Fence::Counting(exchange) | Fence::Barrier(exchange) }) = aim
        else {
            return None;
        };
        let members = Arc::clone(&self.windows[window].members);
        exchange.leg().map(|leg| (Scope::Window(*window), members, leg))
    }
}

const fn over(reached: bool) -> Turn {
    if reached { Turn::Over } else { Turn::Waits }
}

fn exchange_of(aim: &mut Aim) -> Option<&mut Exchange> {
    match aim {
        Aim::Gather(creating) => Some(&mut creating.exchange),
        Aim::Made { exchange, .. }
        | Aim::Count { exchange, .. }
        | Aim::Freed { exchange, .. }
        | Aim::Fence { fence: Fence::Counting(exchange) | Fence::Barrier(exchange), .. } => {
            Some(exchange)
        }
        Aim::Drain { .. }
        | Aim::Detach { .. }
        | Aim::OwnLock { .. }
        | Aim::Granted { .. }
        | Aim::Target { .. }
        | Aim::All { .. }
        | Aim::Fence { .. }
        | Aim::Complete { .. }
        | Aim::Exposure { .. } => None,
    }
}

impl Goal {
    /// Processes that could bring it nearer, and the reason.
    pub(super) fn waits(&self, rma: &Rma, origin: u32) -> Vec<Wait> {
        let wait = |peers: Vec<Process>, detail: String| Wait {
            operation: self.operation,
            peers,
            thread: None,
            detail,
            origin,
        };
        if let Some((_, members, leg)) = rma.exchange(&self.aim) {
            let detail = format!("to hear from rank {} of the window", leg.from);
            return vec![wait(vec![members[leg.from as usize]], detail)];
        }
        let process = |window: &Window, rank: u32| window.members[rank as usize];
        match &self.aim {
            Aim::Target { window, target, .. } => {
                let open = &rma.windows[window];
                let state = open.targets.get(target);
                let words = state.map_or_else(String::new, Target::in_words);
                vec![wait(open.who_ends(*target), format!("rank {target}: {words}"))]
            }
            Aim::All { window, wants, .. } => {
                let open = &rma.windows[window];
                let open_targets = open.targets.iter().filter(|(_, state)| !state.has_done(*wants));
                open_targets
                    .map(|(rank, state)| {
                        wait(open.who_ends(*rank), format!("rank {rank}: {}", state.in_words()))
                    })
                    .collect()
            }
            Aim::Complete { window, left } => {
                let open = &rma.windows[window];
                let waiting = left.iter();
                waiting
                    .map(|&rank| {
                        let detail = format!("rank {rank} to post its exposure epoch");
                        wait(vec![process(open, rank)], detail)
                    })
                    .collect()
            }
            Aim::Exposure { window } => {
                let open = &rma.windows[window];
                let (completed, origins) = open
                    .exposure
                    .as_ref()
                    .map_or((0, 0), |exposure| (exposure.completed, exposure.origins));
                vec![wait(open.others(), format!("{completed} of {origins} origins are complete"))]
            }
            Aim::OwnLock { window } | Aim::Detach { window, .. } => {
                let open = &rma.windows[window];
                vec![wait(open.others(), "the lock of its own part of the window".to_owned())]
            }
            Aim::Granted { window, target } => {
                let open = &rma.windows[window];
                let which =
                    target.map_or("the locks".to_owned(), |rank| format!("rank {rank}: the lock"));
                vec![wait(open.others(), format!("{which} of memory that is shared"))]
            }
            Aim::Drain { window, .. } | Aim::Fence { window, .. } => {
                let open = &rma.windows[window];
                vec![wait(open.others(), "operations that are still to come".to_owned())]
            }
            Aim::Gather(_) | Aim::Made { .. } | Aim::Count { .. } | Aim::Freed { .. } => Vec::new(),
        }
    }
}
