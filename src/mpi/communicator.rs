//! Communicators: a group with contexts of its own, and the table of all those of a job.
//!
//! Every communicator has two contexts: one for the program's messages and one for those that the
//! library sends itself inside a collective. So no receive of the program, not even one with both
//! wildcards, can take a message of a barrier.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::envelope::{Context, Rank};
use super::group::Group;

/// A group and the contexts in which its members talk.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Communicator {
    /// Context of the program's point-to-point messages.
    pub context: Context,
    /// Context of the library's own messages (collectives).
    pub internal: Context,
    /// The members; shared by duplicates.
    pub group: Arc<Group>,
}

impl Communicator {
    /// The communicator number `index` of a job.
    fn numbered(index: u16, group: Arc<Group>) -> Self {
        let first = 2 * u32::from(index);
        Self { context: Context(first), internal: Context(first + 1), group }
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// The rank of a process; `None` where it is no member.
    pub fn rank(&self, process: u32) -> Option<Rank> {
        self.group.rank(process)
    }

    /// The process behind a rank; `None` where the communicator has no such rank.
    pub fn process(&self, rank: Rank) -> Option<u32> {
        self.group.process(rank)
    }
}

/// All communicators of a job, by number; number 0 is `MPI_COMM_WORLD`.
///
/// Made once per job and shared by its libraries.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Communicators(Vec<Communicator>);

/// All tables of a run are alike, so a state's hash need not go through every member again.
impl Hash for Communicators {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.len().hash(state);
    }
}

impl Communicators {
    /// The number of `MPI_COMM_WORLD`.
    pub const WORLD: u16 = 0;
    /// The number of the duplicate of `MPI_COMM_WORLD` in [`Self::standard`].
    pub const DUPLICATE: u16 = 1;
    /// The number of the reversed communicator in [`Self::standard`].
    pub const REVERSED: u16 = 2;

    /// A job of `size` processes that has only `MPI_COMM_WORLD`.
    pub fn world(size: u32) -> Self {
        Self(vec![Communicator::numbered(Self::WORLD, Arc::new(Group::world(size)))])
    }

    /// The communicators that programs can name: 0 is `MPI_COMM_WORLD`, 1 a duplicate of it, 2 has
    /// the same processes in reverse rank order.
    pub fn standard(size: u32) -> Self {
        let mut table = Self::world(size);
        table.duplicate(Self::WORLD);
        table.reverse(Self::WORLD);
        table
    }

    /// Adds a duplicate of communicator `of`: same group, new contexts; answers with its number.
    ///
    /// # Panics
    ///
    /// When `of` is not in the table, or the table is full (65536 entries).
    pub fn duplicate(&mut self, of: u16) -> u16 {
        let group = Arc::clone(&self.0[usize::from(of)].group);
        self.add(group)
    }

    /// Adds a communicator of the processes of `of` in reverse rank order; answers with its number.
    ///
    /// # Panics
    ///
    /// As [`Self::duplicate`].
    pub fn reverse(&mut self, of: u16) -> u16 {
        let group = Arc::new(self.0[usize::from(of)].group.reversed());
        self.add(group)
    }

    fn add(&mut self, group: Arc<Group>) -> u16 {
        let index = u16::try_from(self.0.len()).expect("a job has at most 65536 communicators");
        self.0.push(Communicator::numbered(index, group));
        index
    }

    /// The communicator with this number.
    pub fn get(&self, number: u16) -> Option<&Communicator> {
        self.0.get(usize::from(number))
    }

    /// All communicators in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Communicator> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_standard_three_have_the_groups_they_promise() {
        let table = Communicators::standard(4);
        let members = |number| table.get(number).unwrap().group.members().to_vec();
        assert_eq!(members(Communicators::WORLD), [0, 1, 2, 3]);
        assert_eq!(members(Communicators::DUPLICATE), [0, 1, 2, 3]);
        assert_eq!(members(Communicators::REVERSED), [3, 2, 1, 0]);
        assert_eq!(table.get(3), None);
        let reversed = table.get(2).unwrap();
        assert_eq!(reversed.rank(0), Some(Rank(3)));
        assert_eq!(reversed.process(Rank(3)), Some(0));
        assert_eq!((reversed.rank(4), reversed.process(Rank(4))), (None, None));
    }

    #[test]
    fn no_two_contexts_of_a_job_are_equal() {
        let mut table = Communicators::standard(3);
        let of_duplicate = table.duplicate(1);
        table.reverse(of_duplicate);
        let contexts: BTreeSet<_> =
            table.iter().flat_map(|comm| [comm.context, comm.internal]).collect();
        assert_eq!(contexts.len(), 2 * table.iter().len());
    }

    #[test]
    fn duplicates_share_one_table_of_members() {
        let table = Communicators::standard(1000);
        let group = |number| &table.get(number).unwrap().group;
        assert!(Arc::ptr_eq(group(0), group(1)));
        assert_eq!(table.clone(), table);
    }
}
