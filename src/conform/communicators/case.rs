//! Cases of groups, communicators and grids.

use serde_json::{Map, Value};

use mpi::cartesian::Dimension;
use mpi::envelope::Rank;
use mpi::group::{Choice, Group, Range};

/// One recorded operation.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub id: u64,
    /// The operation that makes communicators or groups.
    pub operation: Operation,
    /// The outcomes that MPI allows; all fields of one belong together.
    pub outcomes: Vec<Map<String, Value>>,
}

/// An operation that makes communicators or groups, and its inputs. Groups are of processes of the
/// recorded job.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A communicator of the first processes, one for each choice, is split.
    Split(Vec<Choice>),
    /// Two groups are joined, compared and translated.
    Sets {
        /// The first group.
        a: Group,
        /// The second group.
        b: Group,
        /// Ranks in `a` to translate to `b`; `None` among them is the null process.
        translate: Option<Vec<Option<Rank>>>,
        /// Ranks in `a` to keep.
        incl: Option<Vec<Rank>>,
        /// Ranks in `a` to leave out.
        excl: Option<Vec<Rank>>,
        /// Ranges in `a` to keep, and to leave out.
        ranges: Option<Vec<Range>>,
    },
    /// A communicator is made from the world and compared to it.
    Compare {
        /// Processes of the world.
        world: u32,
        /// How it is made.
        how: How,
        /// Its members.
        members: Group,
    },
    /// Two sides become an intercommunicator and are merged.
    Intercommunicator {
        /// The sides.
        sides: [Meeting; 2],
        /// The group of the peer communicator.
        peer: Group,
    },
    /// A grid.
    Grid {
        /// Ranks of its communicator.
        size: u32,
        /// Its dimensions.
        dimensions: Vec<Dimension>,
        /// Dimension and displacement of each shift.
        shifts: Vec<(usize, i32)>,
        /// Which dimensions remain in the sub-grid.
        remain: Vec<bool>,
    },
}

/// How a communicator is made from the world.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It is the world itself.
    Same,
    /// It is a duplicate.
    Dup,
    /// From the group of all processes in order.
    CreateSame,
    /// From the group of some of them.
    Subset,
    /// From the group of all in another order.
    Reorder,
}

/// The part of one side in an intercommunicator.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// Its group.
    pub group: Group,
    /// The rank of its leader.
    pub leader: Rank,
    /// Its flag in the merge.
    pub high: bool,
}
