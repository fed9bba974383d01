//! The members of a group, by rank and by process.

use crate::envelope::Rank;

/// Stands in [`Group::ranks`] for a process outside the group.
const OUTSIDE: u32 = u32::MAX;

/// An ordered set of processes; the position is the rank.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Group {
    /// Process by rank.
    members: Box<[u32]>,
    /// Rank by process, up to the largest member.
    ranks: Box<[u32]>,
}

/// A process stands in a group twice.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("process {process} is both rank {} and rank {} of one group", first.0, second.0)]
pub struct RepeatedProcess {
    /// The process.
    pub process: u32,
    /// Its first rank.
    pub first: Rank,
    /// Its second rank.
    pub second: Rank,
}

impl Group {
    /// The group of all `size` processes of a job, in order.
    pub fn world(size: u32) -> Self {
        let members: Box<[u32]> = (0..size).collect();
        Self { ranks: members.clone(), members }
    }

    /// The group of these processes, in this order.
    ///
    /// # Errors
    ///
    /// [`RepeatedProcess`] where a process stands in the list twice.
    pub fn new(members: Vec<u32>) -> Result<Self, RepeatedProcess> {
        let slots = members.iter().max().map_or(0, |last| *last as usize + 1);
        let mut ranks = vec![OUTSIDE; slots];
        for (&process, rank) in members.iter().zip(0..) {
            let slot = &mut ranks[process as usize];
            if *slot != OUTSIDE {
                let (first, second) = (Rank(*slot), Rank(rank));
                return Err(RepeatedProcess { process, first, second });
            }
            *slot = rank;
        }
        Ok(Self { members: members.into(), ranks: ranks.into() })
    }

    /// The same processes in reverse rank order.
    pub fn reversed(&self) -> Self {
        let mirrored = |rank: &u32| if *rank == OUTSIDE { OUTSIDE } else { self.size() - 1 - rank };
        Self {
            members: self.members.iter().rev().copied().collect(),
            ranks: self.ranks.iter().map(mirrored).collect(),
        }
    }

    /// Number of processes.
    #[allow(clippy::missing_panics_doc, reason = "distinct u32 values cannot be more than fit")]
    pub fn size(&self) -> u32 {
        u32::try_from(self.members.len()).expect("members are distinct u32 values")
    }

    /// The process with this rank; `None` at and above [`Self::size`].
    pub fn process(&self, rank: Rank) -> Option<u32> {
        self.members.get(rank.0 as usize).copied()
    }

    /// The rank of this process; `None` where it is no member.
    pub fn rank(&self, process: u32) -> Option<Rank> {
        self.ranks.get(process as usize).filter(|rank| **rank != OUTSIDE).map(|rank| Rank(*rank))
    }

    /// The processes in rank order.
    pub fn members(&self) -> &[u32] {
        &self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_translation(group: &Group, members: &[u32]) {
        assert_eq!(group.members(), members);
        assert_eq!(group.size() as usize, members.len());
        for (rank, process) in members.iter().enumerate() {
            let rank = Rank(u32::try_from(rank).unwrap());
            assert_eq!(group.process(rank), Some(*process));
            assert_eq!(group.rank(*process), Some(rank));
        }
        assert_eq!(group.process(Rank(group.size())), None);
        for outsider in (0..20).filter(|process| !members.contains(process)) {
            assert_eq!(group.rank(outsider), None);
        }
    }

    #[test]
    fn rank_and_process_translate_both_ways() {
        check_translation(&Group::world(0), &[]);
        check_translation(&Group::world(3), &[0, 1, 2]);
        check_translation(&Group::world(3).reversed(), &[2, 1, 0]);
        check_translation(&Group::new(vec![5, 0, 9]).unwrap(), &[5, 0, 9]);
        check_translation(&Group::new(vec![5, 0, 9]).unwrap().reversed(), &[9, 0, 5]);
    }

    #[test]
    fn reversing_twice_changes_nothing() {
        let group = Group::new(vec![4, 1, 3]).unwrap();
        assert_eq!(group.reversed().reversed(), group);
    }

    #[test]
    fn a_repeated_process_is_refused() {
        let error = Group::new(vec![4, 1, 4]).unwrap_err();
        assert_eq!(error, RepeatedProcess { process: 4, first: Rank(0), second: Rank(2) });
        assert_eq!(error.to_string(), "process 4 is both rank 0 and rank 2 of one group");
    }
}
