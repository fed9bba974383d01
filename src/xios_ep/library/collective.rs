//! Collectives at work: the steps of each endpoint, in their order.
//!
//! ```text
//!   enter    all of the process meet, and show where their buffers are     unless nothing is given
//!   collect  the caller joins what they give
//!   release  all meet again, and those that get nothing go on              if nothing comes back
//!   turn     the caller waits for the caller of the collective before         if that let the others go on
//!   call     the caller calls MPI
//!   place    the caller sorts what it got
//!   publish  all meet                                                      else
//!   serve    each takes its part from where the caller has it
//!   end      all meet: the caller's buffer is its own again
//! ```
//!
//! A barrier is the first meeting, the call and the second one. The caller of a broadcast and of a
//! scatter calls without a meeting before, as the document has it: the others wait in `publish`.
//! Only a root that must sort its blocks shows them first.
//!
//! MPI wants the collectives of a process on a communicator one after the other. What begins with a meeting comes after
//! all calls before it. A gather and a reduction let the others go on while their root is in MPI; where one of them is
//! the root of the broadcast or scatter that follows, it waits for its turn. The document does not say how its library
//! orders the two.
//!
//! Source: `xios-ep` Sec. 5, Ex. 1 and 2; that threads hand pointers and copy for themselves is as
//! in the public library.

use std::sync::Arc;

use super::joined::{Joined, shape, unfit};
use super::thread::{Endpoint, Goal, Member, Stage, Step};
use super::{SharedOp, Showing, Shown};
use collectives::{Collective, Kind, Work};
use protocols::call::{Call, Comm, Reply};
use protocols::contract::{Region, Space};

/// A collective that the program is inside.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Joint {
    /// The communicator, as the program names it.
    comm: Comm,
    /// The call, with the buffers of the process.
    call: Arc<Collective>,
    /// Calls of the endpoints of the process, once all have arrived.
    pub(super) all: Box<[Arc<Collective>]>,
    /// Whether another thread of the process may still be in MPI for the collective before.
    behind: bool,
}

/// How far an endpoint is in a collective.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(missing_docs, reason = "the table above")]
pub(super) enum At {
    Enter,
    Collect,
    Release,
    Turn,
    Call,
    Place,
    Publish,
    Serve,
    End,
    Leave,
}

impl At {
    const fn next(self) -> Option<Self> {
        Some(match self {
            Self::Enter => Self::Collect,
            Self::Collect => Self::Release,
            Self::Release => Self::Turn,
            Self::Turn => Self::Call,
            Self::Call => Self::Place,
            Self::Place => Self::Publish,
            Self::Publish => Self::Serve,
            Self::Serve => Self::End,
            Self::End => Self::Leave,
            Self::Leave => return None,
        })
    }
}

impl Endpoint {
    /// The program calls a collective.
    pub(super) fn collective(&mut self, call: &Collective) -> Step {
        let Some(Member { map, place, .. }) = self.comms.get(&call.comm) else {
            return Step::refuse(super::start::UNKNOWN);
        };
        if self.comms[&call.comm].across.is_some() {
            return Step::refuse(super::between::OFFERED);
        }
        let own = map.rank(*place).expect("an endpoint has a rank");
        if call.in_place {
            let words = format!("the endpoint library has no MPI_IN_PLACE in {}", call.function());
            return Step::refuse(&words);
        }
        if let Some(words) = unfit(call, map, own) {
            return Step::refuse(&format!("{} of endpoint {}: {words}", call.function(), own.0));
        }
        let [input, output] = [call.input, call.output].map(|region| self.region(region));
        let (Some(input), Some(output)) = (input, output) else {
            return Step::refuse(super::start::NUMBERS);
        };
        let (comm, lets_go) = (call.comm, !shape(call).serves());
        let call = Arc::new(Collective { input, output, ..call.clone() });
        let Member { map, place, mpi, .. } = &self.comms[&comm];
        let joined = Joined { map, place: *place, mpi: *mpi, call: &call, all: &[] };
        let goes_on = lets_go && !joined.is_caller();
        let behind = self.behind.remove(&comm);
        if goes_on {
            self.behind.insert(comm);
        }
        self.goal = Goal::Collective(Joint { comm, call, all: Box::default(), behind });
        self.go_on(At::Enter)
    }

    /// A region of the program in the memory of the process.
    pub(super) fn region(&self, region: Region) -> Option<Region> {
        let space = match region.space {
            Space::User(id) => Space::User(self.own(id)?),
            Space::Window(memory) => Space::Window(self.own(memory)?),
            Space::Staging(_)
            | Space::Landing(_)
            | Space::Unexpected(_)
            | Space::Scratch(_)
            | Space::Shared(_)
            | Space::Attached(_)
            | Space::Exchange(_)
            | Space::Device(_)
            | Space::DeviceStaging(_)
            | Space::Pinned(_)
            | Space::Packed(_) => region.space,
        };
        Some(Region { space, ..region })
    }

    /// The first thing to do from `place` on.
    pub(super) fn go_on(&mut self, place: At) -> Step {
        let mut place = place;
        loop {
            if let Some(step) = self.at(place) {
                self.stage = Stage::Collective(place);
                return step;
            }
            let Some(next) = place.next() else { return Step::Answer(Reply::Done) };
            place = next;
        }
    }

    /// The next thing to do, after what `place` requested.
    pub(super) fn after(&mut self, place: At) -> Step {
        match place.next() {
            Some(next) => self.go_on(next),
            None => Step::Answer(Reply::Done),
        }
    }

    /// All threads of the process are there. One that ends shows nothing, and keeps what it knew.
    pub(super) fn have_met(&mut self, met: &[Shown]) {
        let call = |shown: &Shown| {
            if let Shown::Call(call) = shown { Some(Arc::clone(call)) } else { None }
        };
        if let Goal::Collective(joint) = &mut self.goal
            && !met.is_empty()
        {
            joint.all = met.iter().filter_map(call).collect();
        }
    }

    /// Where it waits in a collective.
    pub(super) fn meeting(&self) -> Comm {
        let Goal::Collective(Joint { comm, .. }) = &self.goal else {
            unreachable!("{:?} meets nobody", self.goal)
        };
        self.comms[comm].mpi
    }

    /// Step at `place`, if any.
    fn at(&self, place: At) -> Option<Step> {
        let Goal::Collective(joint) = &self.goal else {
            unreachable!("{:?} is no collective", self.goal)
        };
        let Joint { comm, call, all, behind } = joint;
        let Member { map, place: own, mpi, .. } = &self.comms[comm];
        let seat = self.comms[comm].seat();
        let meet = |showing| Step::shared(SharedOp::Arrive(seat, showing));
        let joined = Joined { map, place: *own, mpi: *mpi, call, all };
        let (shape, barrier) = (shape(call), call.kind == Kind::Barrier);
        let (gathers, serves) = (shape.gathers() || joined.sorts(), shape.serves());
        // A barrier has no other threads to wait for, and reads no buffers.
        let meets = !(barrier && joined.alone());
        // The caller of a collective that lets the others go on.
        let leads = !serves && joined.is_caller() && !joined.alone();
        let shows = || Some(meet(Showing::Shows(Shown::Call(Arc::clone(call)))));
        match place {
            At::Enter if gathers && meets => shows(),
            At::Collect if joined.is_caller() => moves(joined.collect(), call),
            At::Release if leads => Some(meet(Showing::Calls)),
            At::Release if !serves => Some(meet(Showing::Ends)),
            At::Turn if *behind && !gathers && joined.is_caller() => {
                Some(Step::shared(SharedOp::Turn(*mpi)))
            }
            At::Call if joined.is_caller() => Some(Step::mpi(among_processes(&joined))),
            At::Place if joined.is_caller() => moves(joined.place(), call),
            At::Publish if !serves || !meets => None,
            At::Publish if barrier => Some(meet(Showing::Ends)),
            At::Publish if gathers => Some(meet(Showing::Still)),
            At::Publish => shows(),
            At::Serve if serves => moves(joined.serve(), call),
            At::End if serves && !barrier => Some(meet(Showing::Ends)),
            At::Leave if !barrier => {
                let turn = leads.then_some(*mpi);
                Some(Step::shared(SharedOp::Leave(Arc::clone(call), turn)))
            }
            At::Enter
            | At::Collect
            | At::Release
            | At::Turn
            | At::Call
            | At::Place
            | At::Serve
            | At::End
            | At::Leave => None,
        }
    }
}

fn moves(work: Vec<Work>, call: &Collective) -> Option<Step> {
    let some = !work.is_empty();
    some.then(|| Step::shared(SharedOp::Move { work: work.into(), reduction: call.reduction }))
}

fn among_processes(joined: &Joined<'_>) -> Call {
    match joined.mpi() {
        Collective { kind: Kind::Barrier, comm, .. } => Call::Barrier { comm },
        call => Call::Collective(Arc::new(call)),
    }
}
