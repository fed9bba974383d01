//! Communicators: a group with contexts of its own, and the table of all those of a job.
//!
//! Every communicator has two contexts: one for the program's messages and one for those that the
//! library sends itself inside a collective. So no receive of the program, not even one with both
//! wildcards, can take a message of a barrier.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::envelope::{Context, Rank};
use super::group::{self, Choice, Group, SplitError};

/// How two communicators compare.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Comparison {
    /// One and the same.
    Ident,
    /// Same processes in the same order, but contexts of their own.
    Congruent,
    /// Same processes, another order.
    Similar,
    /// Other processes.
    Unequal,
    /// Two handles of one communicator that are different endpoints of it.
    Aliased,
}

/// Two different communicators compare as their groups do.
impl From<group::Comparison> for Comparison {
    fn from(groups: group::Comparison) -> Self {
        match groups {
            group::Comparison::Ident => Self::Congruent,
            group::Comparison::Similar => Self::Similar,
            group::Comparison::Unequal => Self::Unequal,
        }
    }
}

/// Why a communicator cannot be made.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CommunicatorError {
    /// The table has no such communicator.
    #[error("communicator {number} does not exist; there are {known}, numbered from 0")]
    Unknown {
        /// The number requested.
        number: u16,
        /// Length of the table.
        known: usize,
    },
    /// The table has no room for the new ones.
    #[error("{wanted} more communicators do not fit: a job has {known} and at most 65536")]
    Full {
        /// How many were to be made.
        wanted: usize,
        /// Length of the table.
        known: usize,
    },
    /// A process is not in the communicator that a new one is made from.
    #[error("process {process} is no member of communicator {of}")]
    NoMember {
        /// The process.
        process: u32,
        /// Number of the old communicator.
        of: u16,
    },
    /// The choices of a split are wrong.
    #[error(transparent)]
    Split(#[from] SplitError),
}

/// A group and the contexts in which its members talk.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
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
    #[inline]
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// The rank of a process; `None` where it is no member.
    #[inline]
    pub fn rank(&self, process: u32) -> Option<Rank> {
        self.group.rank(process)
    }

    /// The process behind a rank; `None` where the communicator has no such rank.
    pub fn process(&self, rank: Rank) -> Option<u32> {
        self.group.process(rank)
    }

    /// How this communicator compares to another one of the same job.
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.context == other.context {
            Comparison::Ident
        } else {
            self.group.compare(&other.group).into()
        }
    }
}

/// All communicators of a job, by number; number 0 is `MPI_COMM_WORLD`.
///
/// Made once per job and shared by its libraries. Behind them stand those of one process alone, where
/// there are some: see [`Self::with_selves`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Communicators(Vec<Communicator>, Vec<Communicator>);

/// All tables of a run are alike, so a state's hash need not go through every member again.
impl Hash for Communicators {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.len().hash(state);
    }
}

impl Communicators {
    /// The number of `MPI_COMM_WORLD`.
    pub const WORLD: u16 = 0;
    /// The most communicators of a job.
    pub(super) const LIMIT: usize = 1 << u16::BITS;
    /// The number of the duplicate of `MPI_COMM_WORLD` in [`Self::standard`].
    pub const DUPLICATE: u16 = 1;
    /// The number of the reversed communicator in [`Self::standard`].
    pub const REVERSED: u16 = 2;
    /// The name that every process has for its own `MPI_COMM_SELF`: see [`Self::with_selves`].
    pub const SELF: u16 = u16::MAX;

    /// A job of `size` processes that has only `MPI_COMM_WORLD`.
    pub fn world(size: u32) -> Self {
        Self(vec![Communicator::numbered(Self::WORLD, Arc::new(Group::world(size)))], Vec::new())
    }

    /// The communicators that programs can name: 0 is `MPI_COMM_WORLD`, 1 a duplicate of it, 2 has
    /// the same processes in reverse rank order.
    pub fn standard(size: u32) -> Self {
        let mut table = Self::world(size);
        let group = Arc::clone(&table.0[0].group);
        let reversed = Arc::new(group.reversed());
        table.add(group);
        table.add(reversed);
        table
    }

    /// The same with an `MPI_COMM_SELF` for each process, under one name and in one context: no other
    /// process ever sees their messages.
    ///
    /// # Panics
    ///
    /// Never: a group of one process has no duplicates.
    #[must_use]
    pub fn with_selves(mut self) -> Self {
        let (context, internal) = (Context(u32::MAX - 1), Context(u32::MAX));
        let alone = |process| {
            let group = Arc::new(Group::new(vec![process]).expect("one process is no duplicate"));
            Communicator { context, internal, group }
        };
        self.1 = (0..self.0[0].size()).map(alone).collect();
        self
    }

    /// Whether a context is one of the `MPI_COMM_SELF`s of [`Self::with_selves`].
    pub fn is_self(&self, context: Context) -> bool {
        self.1.first().is_some_and(|own| [own.context, own.internal].contains(&context))
    }

    /// The communicator that `process` means by `number`.
    #[inline]
    pub fn of(&self, process: u32, number: u16) -> Option<&Communicator> {
        let own = self.1.get(process as usize).filter(|_| number == Self::SELF);
        own.or_else(|| self.get(number))
    }

    /// Every communicator that `process` can name.
    pub fn all_of(&self, process: u32) -> impl Iterator<Item = &Communicator> {
        self.iter().chain(self.1.get(process as usize))
    }

    /// Adds a duplicate of communicator `of`: same group, new contexts; answers with its number.
    ///
    /// # Errors
    ///
    /// `of` is not in the table, or the table is full.
    pub fn duplicate(&mut self, of: u16) -> Result<u16, CommunicatorError> {
        let group = Arc::clone(&self.known(of)?.group);
        self.check_room(1)?;
        Ok(self.add(group))
    }

    /// Adds a communicator of the processes of `of` in reverse rank order; answers with its number.
    ///
    /// # Errors
    ///
    /// As [`Self::duplicate`].
    pub fn reverse(&mut self, of: u16) -> Result<u16, CommunicatorError> {
        let group = Arc::new(self.known(of)?.group.reversed());
        self.check_room(1)?;
        Ok(self.add(group))
    }

    /// Adds a communicator of some processes of `of` and answers with its number; the empty group
    /// has no communicator.
    ///
    /// # Errors
    ///
    /// As [`Self::duplicate`], and where a process of the group is no member of `of`.
    pub fn create(&mut self, of: u16, group: Arc<Group>) -> Result<Option<u16>, CommunicatorError> {
        let old = &self.known(of)?.group;
        if let Some(process) = group.difference(old).process(Rank(0)) {
            return Err(CommunicatorError::NoMember { process, of });
        }
        if group.size() == 0 {
            return Ok(None);
        }
        self.check_room(1)?;
        Ok(Some(self.add(group)))
    }

    /// Adds one communicator for each color that the ranks of `of` choose, by rising color, and
    /// answers with the number that each of these ranks gets: none where its color is undefined.
    ///
    /// # Errors
    ///
    /// As [`Self::duplicate`], and where the choices are wrong; then nothing is added.
    pub fn split(
        &mut self,
        of: u16,
        choices: &[Choice],
    ) -> Result<Vec<Option<u16>>, CommunicatorError> {
        let parts = self.known(of)?.group.split(choices)?;
        self.check_room(parts.len())?;
        let mut number_of = BTreeMap::new();
        for part in parts {
            number_of.insert(part.color, self.add(Arc::new(part.group)));
        }
        Ok(choices.iter().map(|choice| choice.color.map(|color| number_of[&color])).collect())
    }

    fn known(&self, number: u16) -> Result<&Communicator, CommunicatorError> {
        self.get(number).ok_or(CommunicatorError::Unknown { number, known: self.0.len() })
    }

    fn check_room(&self, wanted: usize) -> Result<(), CommunicatorError> {
        let known = self.0.len();
        let fits = known + wanted <= Self::LIMIT;
        if fits { Ok(()) } else { Err(CommunicatorError::Full { wanted, known }) }
    }

    /// Adds a communicator for which there is room.
    fn add(&mut self, group: Arc<Group>) -> u16 {
        let index = u16::try_from(self.0.len()).expect("room was made sure of");
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
mod tests;
