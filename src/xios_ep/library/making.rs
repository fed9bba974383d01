//! Communicators of endpoints, made and freed while the program runs.
//!
//! ```text
//!   enter   all of the process meet, and show what they want
//!   master  dup    MPI_Comm_dup                               ─▶ the same endpoints
//!           split  gather all colors and keys;
//!                  for each color: MPI_Comm_split, gather the counts of its processes
//!           free   MPI_Comm_free
//!   end     all meet, and each takes its place in what is new
//! ```
//!
//! The masters of all processes go through all colors, members or not: a process without threads of
//! a color says undefined to MPI. Keys act within a process.
//!
//! Intercommunicators and merges begin and end here, and are made in [`super::between`].
//!
//! Source: `xios-ep` Sec. 2, 6.1.

use std::collections::VecDeque;
use std::sync::Arc;

use super::between::{Between, Known, Meeting, OFFERED};
use super::thread::{Endpoint, Goal, Member, Stage, Step};
use super::{SharedOp, SharedReply, Showing, Shown};
use crate::collective::caller;
use crate::rank_map::RankMap;
use crate::split;
use mpi::envelope::Rank;
use mpi::group::Choice;
use protocols::call::{Call, Comm, CommCall, Reply};
use protocols::contract::Thread;

/// Communicator operation that an endpoint wants.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Wish {
    /// The same communicator again.
    Dup,
    /// That of its color.
    Split(Choice),
    /// That it is freed.
    Free,
    /// An intercommunicator of its communicator and another one.
    Couple(Meeting),
    /// One communicator of both sides; `high`: the own one last.
    Merge {
        /// Value of the flag.
        high: bool,
    },
}

/// A new communicator, as the master tells its process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Opened {
    /// The communicator of MPI below.
    pub mpi: Comm,
    /// Where all its endpoints live.
    pub map: Arc<RankMap>,
    /// The rank of this process in it.
    pub process: u32,
    /// The thread of each endpoint of this process.
    pub threads: Box<[Thread]>,
    /// The process's part of the intercommunicator, where it is one.
    pub between: Option<Between>,
}

/// A communicator that the program makes or frees.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Making {
    comm: Comm,
    /// The program's number for what is new; for none in a free.
    new: Comm,
    pub(super) wish: Wish,
    /// Wishes of the endpoints of the process, once all have arrived.
    pub(super) wishes: Box<[Wish]>,
    /// The colors that are not made yet.
    colors: VecDeque<i32>,
    /// Choices of all endpoints, by rank.
    choices: Box<[Choice]>,
    opened: Vec<Opened>,
    /// Facts known of an intercommunicator.
    pub(super) known: Known,
}

/// Event that a maker waits for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Made {
    /// That all threads of the process are there.
    Entered,
    /// The colors and keys of all.
    Gathered,
    /// A number for the next communicator.
    Numbered,
    /// That MPI has made it, under this number; none where this process has no part in it.
    Created(Option<Comm>),
    /// The numbers of endpoints of its processes.
    Counted(Comm),
    /// That the process knows what is new.
    Opened,
    /// That MPI has freed it.
    Freed,
    /// That all are there again.
    Ended,
    /// Its place in what is new.
    Joined,
    /// That the process has forgotten it.
    Closed,
    /// The identities of the endpoints of the group.
    Identified,
    /// The message of the other leader.
    Swapped,
    /// A number for the communicator of the assigned group.
    HomeNumbered,
    /// That MPI has made it.
    AtHome(Comm),
    /// That MPI has made it without this process.
    LeftHome,
    /// A number for the intercommunicator.
    BesideNumbered,
    /// That MPI has made it.
    Joint(Comm),
    /// The flags of all endpoints of both sides.
    Flagged,
    /// A number for the merged communicator.
    MergeNumbered,
    /// That MPI has made it.
    Merged(Comm),
    /// Its place, which another thread of the process may make.
    Taken,
}

/// A choice as two numbers, and back: no color is negative.
fn encoded(Choice { color, key }: Choice) -> [u32; 2] {
    [color.map_or(u32::MAX, i32::cast_unsigned), key.cast_unsigned()]
}

fn decoded(numbers: &[u32]) -> Choice {
    let color = (numbers[0] != u32::MAX).then(|| numbers[0].cast_signed());
    Choice { color, key: numbers[1].cast_signed() }
}

impl Wish {
    const fn choice(self) -> Choice {
        match self {
            Self::Split(choice) => choice,
            Self::Dup | Self::Free | Self::Couple(_) | Self::Merge { .. } => {
                Choice { color: None, key: 0 }
            }
        }
    }

    const fn function(self) -> &'static str {
        match self {
            Self::Dup => "MPI_Comm_dup",
            Self::Split(_) => "MPI_Comm_split",
            Self::Free => "MPI_Comm_free",
            Self::Couple(_) => "MPI_Intercomm_create",
            Self::Merge { .. } => "MPI_Intercomm_merge",
        }
    }

    /// Difference between two endpoints of a process where they must agree; `None` where they do.
    pub(super) fn differ(self, other: Self) -> Option<&'static str> {
        match (self, other) {
            (Self::Couple(a), Self::Couple(b)) => {
                (a.leader != b.leader).then_some("the leader differs")
            }
            (Self::Couple(_) | Self::Dup | Self::Split(_) | Self::Free | Self::Merge { .. }, _) => {
                let same = std::mem::discriminant(&self) == std::mem::discriminant(&other);
                (!same).then_some("the operation differs")
            }
        }
    }
}

impl Shown {
    /// The name of the MPI function.
    pub(super) fn function(&self) -> &'static str {
        match self {
            Self::Call(call) => call.function(),
            Self::Makes(wish) => wish.function(),
            Self::Windows(_) => "MPI_Win_create",
        }
    }
}

impl Endpoint {
    /// The program makes or frees a communicator.
    pub(super) fn make(&mut self, call: &CommCall) -> Step {
        let old = &self.comms[&call.comm()];
        if old.across.is_some() && !matches!(call, CommCall::Merge { .. }) {
            return Step::refuse(OFFERED);
        }
        let (wish, new) = match *call {
            CommCall::Dup { new, .. } => (Wish::Dup, new),
            CommCall::Split { color: Some(..0), .. } => {
                return Step::refuse("a color is undefined, or 0 or more");
            }
            CommCall::Split { color, key, new, .. } => (Wish::Split(Choice { color, key }), new),
            CommCall::Free { comm } if comm == Comm::default() => {
                return Step::refuse("the communicator of all endpoints is not freed");
            }
            CommCall::Free { comm } => (Wish::Free, comm),
            CommCall::Intercomm { leader, peer, remote_leader, tag, new, .. } => {
                let meeting = Meeting { leader, peer, remote: remote_leader, tag };
                if let Err(words) = self.check_meeting(old, meeting) {
                    return Step::refuse(&format!("MPI_Intercomm_create: {words}"));
                }
                (Wish::Couple(meeting), new)
            }
            CommCall::Merge { .. } if old.across.is_none() => {
                return Step::refuse("MPI_Intercomm_merge: it is no intercommunicator");
            }
            CommCall::Merge { high, new, .. } => (Wish::Merge { high }, new),
            CommCall::CreateGroup { .. }
            | CommCall::Create { .. }
            | CommCall::Idup { .. }
            | CommCall::Arrange { .. }
            | CommCall::SplitShared { .. } => {
                let function = call.function();
                return Step::refuse(&format!("the endpoint library does not offer {function}"));
            }
            CommCall::Numbers { .. } | CommCall::Couple { .. } => {
                return Step::refuse("the endpoint library does not gather numbers");
            }
        };
        if wish != Wish::Free && self.comms.contains_key(&new) {
            return Step::refuse("the number of the new communicator is in use");
        }
        self.goal = Goal::Making(Making {
            comm: call.comm(),
            new,
            wish,
            wishes: Box::default(),
            colors: VecDeque::new(),
            choices: Box::default(),
            opened: Vec::new(),
            known: Known::default(),
        });
        self.meet(Made::Entered, Showing::Shows(Shown::Makes(wish)))
    }

    pub(super) fn making(&mut self) -> &mut Making {
        let Goal::Making(making) = &mut self.goal else {
            unreachable!("only the goal of a creation is asked for")
        };
        making
    }

    /// The communicator from which something is made.
    pub(super) fn old(&self) -> &Member {
        let Goal::Making(Making { comm, .. }) = &self.goal else {
            unreachable!("{:?} makes no communicator", self.goal)
        };
        &self.comms[comm]
    }

    pub(super) fn then(&mut self, made: Made, step: Step) -> Step {
        self.stage = Stage::Making(made);
        step
    }

    fn meet(&mut self, made: Made, showing: Showing) -> Step {
        let seat = self.old().seat();
        self.then(made, Step::shared(SharedOp::Arrive(seat, showing)))
    }

    /// Ends the work of the maker: it meets the others of its process again.
    pub(super) fn end_making(&mut self) -> Step {
        self.meet(Made::Ended, Showing::Ends)
    }

    /// Whether this thread calls MPI for its process: the master, or a leader for its own.
    fn is_maker(&mut self) -> bool {
        let wish = self.making().wish;
        let Member { map, place, .. } = self.old();
        let leader =
            if let Wish::Couple(meeting) = wish { map.place(meeting.leader) } else { None };
        caller(leader, place.process) == place.local
    }

    pub(super) fn call(&mut self, made: Made, call: CommCall) -> Step {
        self.then(made, Step::mpi(Call::Communicators(call)))
    }

    /// All threads of the process are there.
    pub(super) fn makers_met(&mut self, made: Made, met: &[Shown]) -> Step {
        if made == Made::Ended {
            return self.ended();
        }
        let wish = |shown: &Shown| if let Shown::Makes(wish) = shown { Some(*wish) } else { None };
        let maker = self.is_maker();
        let making = self.making();
        making.wishes = met.iter().filter_map(wish).collect();
        let wish = making.wish;
        if !maker {
            return self.end_making();
        }
        let comm = self.old().mpi;
        match wish {
            Wish::Dup => self.then(Made::Numbered, Step::shared(SharedOp::Number)),
            Wish::Split(_) => {
                let own = self.own_choices();
                self.call(Made::Gathered, CommCall::Numbers { comm, own })
            }
            Wish::Free => self.call(Made::Freed, CommCall::Free { comm }),
            Wish::Couple(_) => self.identify(),
            Wish::Merge { .. } => self.gather_high(),
        }
    }

    /// Choices of the endpoints of this process: as many numbers as the largest process has.
    fn own_choices(&mut self) -> Arc<[u32]> {
        let map = Arc::clone(&self.old().map);
        let most = map.processes().map(|process| map.local_size(process)).max().unwrap_or(0);
        let mut numbers: Vec<u32> =
            self.making().wishes.iter().flat_map(|wish| encoded(wish.choice())).collect();
        numbers.resize(2 * most as usize, u32::MAX);
        numbers.into()
    }

    /// MPI, or the memory of the process, has answered the master.
    pub(super) fn made(&mut self, made: Made, reply: Reply) -> Step {
        match (made, reply) {
            (Made::Gathered, Reply::Numbers(all)) => self.gathered(&all),
            (Made::Created(Some(number)), Reply::Done) => self.created(number),
            (Made::Created(None), Reply::Done) => self.next_color(),
            (Made::Counted(number), Reply::Numbers(counts)) => self.counted(number, &counts),
            (Made::Freed, Reply::Done) => self.end_making(),
            (made, reply) => self.between_made(made, reply),
        }
    }

    /// Process memory has answered.
    pub(super) fn told(&mut self, made: Made, reply: SharedReply) -> Step {
        match (made, reply) {
            (Made::Numbered, SharedReply::Number(number)) => self.numbered(number),
            (Made::Opened, SharedReply::Done) => self.end_making(),
            (Made::Joined | Made::Taken, SharedReply::Joined(member)) => {
                let new = self.making().new;
                self.comms.extend(member.map(|member| (new, member)));
                Step::Answer(Reply::Done)
            }
            (Made::Closed, SharedReply::Done) => self.forget(),
            (made, reply) => self.between_told(made, reply),
        }
    }

    fn gathered(&mut self, all: &[u32]) -> Step {
        let map = Arc::clone(&self.old().map);
        let width = all.len() / map.process_count().max(1) as usize;
        let of = |rank: u32| {
            let place = map.place(Rank(rank)).expect("a rank of the map");
            let first = place.process as usize * width + 2 * place.local as usize;
            decoded(&all[first..])
        };
        let choices: Box<[Choice]> = (0..map.size()).map(of).collect();
        let making = self.making();
        making.colors = split::colors(&choices).into_iter().flatten().collect();
        making.choices = choices;
        self.next_color()
    }

    /// Choices of the endpoints of this process.
    fn own_of(&mut self) -> Vec<Choice> {
        self.making().wishes.iter().map(|wish| wish.choice()).collect()
    }

    fn next_color(&mut self) -> Step {
        let own = self.own_of();
        let Some(&color) = self.making().colors.front() else {
            let opened = std::mem::take(&mut self.making().opened);
            return self.then(Made::Opened, Step::shared(SharedOp::Open(opened.into())));
        };
        if split::local_count(color, &own) > 0 {
            return self.then(Made::Numbered, Step::shared(SharedOp::Number));
        }
        self.making().colors.pop_front();
        let Member { mpi, place, .. } = self.old();
        let (comm, process) = (*mpi, place.process);
        let call = split_of(comm, split::mpi_split(color, process, &own), Comm::default());
        self.call(Made::Created(None), call)
    }

    /// There is a number for what is made next.
    fn numbered(&mut self, number: Comm) -> Step {
        let own = self.own_of();
        let Member { mpi, place, .. } = self.old();
        let (comm, process) = (*mpi, place.process);
        let color = self.making().colors.front().copied();
        let call = match color {
            None => CommCall::Dup { comm, new: number },
            Some(color) => split_of(comm, split::mpi_split(color, process, &own), number),
        };
        self.call(Made::Created(Some(number)), call)
    }

    fn created(&mut self, number: Comm) -> Step {
        let Some(&color) = self.making().colors.front() else {
            let Member { map, place, .. } = self.old();
            let (map, process) = (Arc::clone(map), place.process);
            let ranks: Vec<u32> = (0..map.local_size(process)).collect();
            return self.open(number, map, process, &ranks);
        };
        let count = split::local_count(color, &self.own_of());
        let own = [count].into();
        self.call(Made::Counted(number), CommCall::Numbers { comm: number, own })
    }

    /// Step 3 and 4: the endpoints of the color, and their order in this process.
    fn counted(&mut self, number: Comm, counts: &[u32]) -> Step {
        let own = self.own_of();
        let color =
            self.making().colors.pop_front().expect("a count is asked for the color in front");
        let map = Arc::clone(&self.old().map);
        let process = self.old().place.process;
        let ranks = map.locals(process);
        let chosen = split::local_order(color, ranks, &own);
        let local = |rank: &Rank| map.place(*rank).expect("a rank of the map").local;
        let locals: Vec<u32> = chosen.iter().map(local).collect();
        let process = self.earlier(color, process);
        self.open(number, Arc::new(RankMap::from_counts(counts)), process, &locals)
    }

    /// How many processes before this one have threads of a color: its rank in the new one.
    fn earlier(&mut self, color: i32, process: u32) -> u32 {
        let map = Arc::clone(&self.old().map);
        let choices = &self.making().choices;
        let joins = |process: &u32| {
            let mut ranks = map.locals(*process).iter();
            ranks.any(|rank| choices[rank.0 as usize].color == Some(color))
        };
        let earlier = (0..process).filter(joins).count();
        u32::try_from(earlier).expect("fewer than 2^32 processes")
    }

    fn open(&mut self, mpi: Comm, map: Arc<RankMap>, process: u32, locals: &[u32]) -> Step {
        let all = self.old().threads.clone();
        let threads = locals.iter().map(|local| all[*local as usize]).collect();
        self.making().opened.push(Opened { mpi, map, process, threads, between: None });
        self.next_color()
    }

    /// All are there again: a thread that made something takes its place, one that freed something forgets it.
    fn ended(&mut self) -> Step {
        match self.making().wish {
            Wish::Dup | Wish::Split(_) => {
                return self.then(Made::Joined, Step::shared(SharedOp::Join));
            }
            Wish::Couple(_) | Wish::Merge { .. } => return self.take(),
            Wish::Free => {}
        }
        let Member { mpi, place, .. } = self.old();
        let (mpi, master) = (*mpi, place.local == 0);
        if master {
            return self.then(Made::Closed, Step::shared(SharedOp::Close(mpi)));
        }
        self.forget()
    }

    fn forget(&mut self) -> Step {
        let comm = self.making().comm;
        self.comms.remove(&comm);
        Step::Answer(Reply::Done)
    }
}

fn split_of(comm: Comm, said: split::MpiSplit, new: Comm) -> CommCall {
    let key = i32::try_from(said.key).expect("fewer than 2^31 processes");
    CommCall::Split { comm, color: said.color, key, new }
}
