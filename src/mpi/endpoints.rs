//! The ranks of an endpoints communicator: which process has which of them.
//!
//! ```text
//!   parent rank     0      1    2
//!   endpoints       2      1    3        counts, gathered from all parents
//!   ranks          0 1     2   3 4 5     grouped by parent, in its order
//! ```
//!
//! A rank is a place in a table of sums: one table a process, shared by all its handles.
//!
//! Source: `endpoints` Sec. 3.2 (numbering), Sec. 4.1 (one table per process), Sec. 4.2 (several
//! ranks may map to one connection, and nothing asks for the reverse).

use super::envelope::Rank;

/// Ranks of endpoints, and the process of each.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct EndpointGroup {
    /// Endpoints of all parents before each, and of all.
    sums: Box<[u32]>,
    /// The process of each parent rank.
    processes: Box<[u32]>,
}

/// Why there is no such group.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EndpointsError {
    /// More ranks than can be numbered.
    #[error("{ranks} endpoints are more than the {} that ranks can number", u32::MAX)]
    TooMany {
        /// How many were requested.
        ranks: u64,
    },
    /// A communicator without ranks.
    #[error("a communicator needs at least one endpoint")]
    Empty,
}

impl EndpointGroup {
    /// The group of `counts[p]` endpoints for each parent rank `p`, whose process is
    /// `processes[p]`.
    ///
    /// # Errors
    ///
    /// [`EndpointsError`] without any endpoint, or with more than ranks can number.
    ///
    /// # Panics
    ///
    /// When there is not one process for each count.
    pub fn new(
        counts: impl ExactSizeIterator<Item = u16>,
        processes: Box<[u32]>,
    ) -> Result<Self, EndpointsError> {
        assert_eq!(counts.len(), processes.len(), "a process for each parent rank");
        let mut ranks = 0_u64;
        let mut sums = Vec::with_capacity(counts.len() + 1);
        sums.push(0);
        for count in counts {
            ranks += u64::from(count);
            sums.push(u32::try_from(ranks).map_err(|_| EndpointsError::TooMany { ranks })?);
        }
        if ranks == 0 {
            return Err(EndpointsError::Empty);
        }
        Ok(Self { sums: sums.into(), processes })
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.sums[self.processes.len()]
    }

    /// Number of parent ranks.
    pub fn parents(&self) -> usize {
        self.processes.len()
    }

    /// The rank of endpoint `local` of parent rank `parent`; `None` where it has no such endpoint.
    pub fn rank(&self, parent: Rank, local: u16) -> Option<Rank> {
        let parent = parent.0 as usize;
        let (first, next) = (*self.sums.get(parent)?, *self.sums.get(parent + 1)?);
        let rank = first + u32::from(local);
        (rank < next).then_some(Rank(rank))
    }

    /// The parent rank behind a rank, and which of its endpoints it is; `None` beyond the last.
    ///
    /// # Panics
    ///
    /// Never: a count is a `u16`, and parents are ranks.
    pub fn parent(&self, rank: Rank) -> Option<(Rank, u16)> {
        if rank.0 >= self.size() {
            return None;
        }
        // The last parent whose endpoints begin at or before the rank: it has some.
        let parent = self.sums.partition_point(|&sum| sum <= rank.0) - 1;
        let local = u16::try_from(rank.0 - self.sums[parent]).expect("a count is a u16");
        Some((Rank(u32::try_from(parent).expect("parents are ranks")), local))
    }

    /// The process behind a rank, and which of its endpoints it is; `None` beyond the last.
    pub fn locate(&self, rank: Rank) -> Option<(u32, u16)> {
        let (parent, local) = self.parent(rank)?;
        Some((self.processes[parent.0 as usize], local))
    }

    /// The parent ranks that have endpoints, in order.
    pub fn owners(&self) -> impl Iterator<Item = Rank> + '_ {
        let counts = self.sums.windows(2).map(|sums| sums[1] - sums[0]);
        (0..).zip(counts).filter(|&(_, count)| count > 0).map(|(parent, _)| Rank(parent))
    }

    /// The processes in the order of parent ranks.
    pub fn processes(&self) -> &[u32] {
        &self.processes
    }

    /// Bytes that the table takes in a process.
    pub fn bytes(&self) -> usize {
        (self.sums.len() + self.processes.len()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Streams;

    fn group(counts: &[u16]) -> EndpointGroup {
        let processes = (0..u32::try_from(counts.len()).unwrap()).collect();
        EndpointGroup::new(counts.iter().copied(), processes).unwrap()
    }

    /// The ranks of each parent.
    fn ranks(counts: &[u16]) -> Vec<Vec<u32>> {
        let group = group(counts);
        (0..)
            .zip(counts)
            .map(|(parent, &count)| {
                (0..count).map(|local| group.rank(Rank(parent), local).unwrap().0).collect()
            })
            .collect()
    }

    /// claim: ep-sem-numbering-example
    #[test]
    fn uneven_counts_are_numbered_as_in_the_worked_example() {
        assert_eq!(ranks(&[2, 1, 3]), [vec![0, 1], vec![2], vec![3, 4, 5]]);
    }

    /// claim: ep-sem-self-parent
    #[test]
    fn a_parent_of_one_process_gives_a_communicator_of_its_threads() {
        let group = group(&[4]);
        assert_eq!(group.size(), 4);
        assert!((0..4).all(|rank| group.locate(Rank(rank)).unwrap().0 == 0));
    }

    /// claim: ep-sem-create-count
    /// claim: ep-sem-create-order
    /// claim: ep-sem-vc-noninjective
    /// claim: ep-sem-parent-subset
    #[test]
    fn ranks_and_endpoints_are_one_to_one_for_any_counts() {
        let mut draw = Streams::new(1).stream("counts", 0);
        for _ in 0..200 {
            let parents = 1 + draw.below(9);
            let mut counts: Vec<u16> =
                (0..parents).map(|_| u16::try_from(draw.below(5)).unwrap()).collect();
            counts[0] += 1;
            let group = group(&counts);
            let all: u32 = counts.iter().map(|&count| u32::from(count)).sum();
            assert_eq!(group.size(), all);
            let mut next = 0;
            for (parent, &count) in (0_u32..).zip(&counts) {
                for local in 0..count {
                    assert_eq!(group.rank(Rank(parent), local), Some(Rank(next)));
                    assert_eq!(group.parent(Rank(next)), Some((Rank(parent), local)));
                    assert_eq!(group.locate(Rank(next)), Some((parent, local)));
                    next += 1;
                }
                assert_eq!(group.rank(Rank(parent), count), None);
            }
            assert_eq!(group.parent(Rank(next)), None);
        }
    }

    #[test]
    fn a_group_has_at_least_one_rank_and_not_too_many() {
        let none = EndpointGroup::new([0, 0].into_iter(), Box::from([0, 1]));
        assert_eq!(none, Err(EndpointsError::Empty));
        let counts = vec![u16::MAX; 70_000];
        let processes = (0..70_000).collect();
        let many = EndpointGroup::new(counts.into_iter(), processes);
        assert!(matches!(many, Err(EndpointsError::TooMany { .. })), "{many:?}");
    }
}
