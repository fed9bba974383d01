//! Who and what protocols name: processes, threads, contexts of the NIC, requests.

/// A process of the job, numbered from 0 over all nodes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Process(pub u32);

/// A thread of one process, numbered from 0 inside it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Thread(pub u16);

/// A NIC context of a process, numbered from 0 inside it: it has queue pairs, channels and a
/// completion queue of its own.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Lane(pub u16);

/// Consecutive lanes of one process.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Lanes {
    /// The first.
    pub first: Lane,
    /// How many.
    pub count: u16,
}

impl Lanes {
    /// One lane.
    pub const fn one(lane: Lane) -> Self {
        Self { first: lane, count: 1 }
    }

    /// Whether `lane` is one of them.
    pub const fn contains(self, lane: Lane) -> bool {
        lane.0 >= self.first.0 && lane.0 - self.first.0 < self.count
    }
}

/// The way from a lane of this process to a lane of a peer.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Route {
    /// The other process.
    pub peer: Process,
    /// The lane of this process.
    pub own: Lane,
    /// The lane of the peer.
    pub remote: Lane,
}

impl Route {
    /// The route between the first lanes.
    pub const fn to(peer: Process) -> Self {
        Self { peer, own: Lane(0), remote: Lane(0) }
    }

    /// The same route as the peer sees it, where `me` is the process that it leads from.
    pub const fn back(self, me: Process) -> Self {
        Self { peer: me, own: self.remote, remote: self.own }
    }
}

/// A request as the program names it: a small number, free for reuse once completed.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Handle(pub u32);

/// The machine's own name for something that will come back as an input.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Token(pub u64);

/// The lock that an input needs before it may be handled, numbered from 0 inside its process.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Guard(pub u16);
