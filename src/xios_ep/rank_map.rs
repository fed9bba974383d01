//! Rank maps: where each endpoint lives, and who lives in a place.
//!
//! An entry is `(rank in the process, process)`, in this order, as the document prints it. The way
//! back is an index, not a walk.
//!
//! Source: `xios-ep` Sec. 3.

use std::fmt;

use mpi::envelope::Rank;

/// Where an endpoint lives.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Place {
    /// Its rank in its process.
    pub local: u32,
    /// Rank of its process in the parent communicator.
    pub process: u32,
}

/// A bijection between endpoint ranks and places.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct RankMap {
    /// Place by rank.
    places: Box<[Place]>,
    /// For each process where its places begin in `ranks`; one more entry closes the last.
    starts: Box<[u32]>,
    /// Ranks by process, then by rank in the process.
    ranks: Box<[Rank]>,
}

/// Places that are no rank map.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RankMapError {
    /// A process is not of the parent communicator.
    #[error("endpoint {} is on process {process}; the parent has {processes}", rank.0)]
    Process {
        /// The endpoint.
        rank: Rank,
        /// Its process.
        process: u32,
        /// Size of the parent communicator.
        processes: u32,
    },
    /// Ranks in a process are not 0 to its number of endpoints less one.
    #[error("endpoint {} is number {local} of the {endpoints} endpoints of its process", rank.0)]
    Local {
        /// The endpoint.
        rank: Rank,
        /// Its rank in the process.
        local: u32,
        /// How many endpoints the process has.
        endpoints: u32,
    },
    /// Two endpoints live in one place.
    #[error("endpoints {} and {} both live at {place}", first.0, second.0)]
    Shared {
        /// The place.
        place: Place,
        /// The lower rank.
        first: Rank,
        /// The higher rank.
        second: Rank,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "({}, {})", self.local, self.process)
    }
}

/// `[(0, 0), (1, 0), …]`, by endpoint rank.
impl fmt::Display for RankMap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&super::list(&self.places))
    }
}

impl RankMap {
    /// The map of endpoints numbered process by process; `counts[process]` is how many it has.
    pub fn from_counts(counts: &[u32]) -> Self {
        let of =
            |(process, count): (u32, &u32)| (0..*count).map(move |local| Place { local, process });
        let places: Vec<Place> = (0..).zip(counts).flat_map(of).collect();
        let ranks = (0..super::count(places.len())).map(Rank).collect();
        Self { places: places.into(), starts: starts(counts), ranks }
    }

    /// The map in which the endpoint with rank `r` lives at `places[r]`, over a parent communicator
    /// of this many processes.
    ///
    /// # Errors
    ///
    /// Places that are not a bijection.
    pub fn new(places: Vec<Place>, processes: u32) -> Result<Self, RankMapError> {
        let mut counts = vec![0_u32; processes as usize];
        for (place, rank) in places.iter().zip(0..) {
            let (rank, process) = (Rank(rank), place.process);
            let outside = RankMapError::Process { rank, process, processes };
            *counts.get_mut(process as usize).ok_or(outside)? += 1;
        }
        let starts = starts(&counts);
        let mut ranks: Vec<Option<Rank>> = vec![None; places.len()];
        for (place, rank) in places.iter().zip(0..) {
            let (rank, endpoints) = (Rank(rank), counts[place.process as usize]);
            if place.local >= endpoints {
                return Err(RankMapError::Local { rank, local: place.local, endpoints });
            }
            let slot = &mut ranks[(starts[place.process as usize] + place.local) as usize];
            if let Some(first) = slot.replace(rank) {
                return Err(RankMapError::Shared { place: *place, first, second: rank });
            }
        }
        // As many ranks as slots, and none shares one: every slot is taken.
        Ok(Self { places: places.into(), starts, ranks: ranks.into_iter().flatten().collect() })
    }

    /// Number of endpoints.
    pub fn size(&self) -> u32 {
        super::count(self.places.len())
    }

    /// Size of the parent communicator.
    pub fn process_count(&self) -> u32 {
        super::count(self.starts.len()) - 1
    }

    /// Where the endpoint with this rank lives; `None` at and above [`Self::size`].
    pub fn place(&self, rank: Rank) -> Option<Place> {
        self.places.get(rank.0 as usize).copied()
    }

    /// Endpoint that lives there; `None` where none does.
    pub fn rank(&self, place: Place) -> Option<Rank> {
        self.locals(place.process).get(place.local as usize).copied()
    }

    /// The endpoints of a process by their rank in it; none where the parent has no such process.
    pub fn locals(&self, process: u32) -> &[Rank] {
        let bound = |index: u32| self.starts.get(index as usize).map(|start| *start as usize);
        match (bound(process), process.checked_add(1).and_then(bound)) {
            (Some(start), Some(end)) => &self.ranks[start..end],
            _ => &[],
        }
    }

    /// How many endpoints a process has.
    pub fn local_size(&self, process: u32) -> u32 {
        super::count(self.locals(process).len())
    }

    /// The processes that have endpoints, in order.
    pub fn processes(&self) -> impl Iterator<Item = u32> {
        (0..self.process_count()).filter(|process| !self.locals(*process).is_empty())
    }

    /// All places by rank.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Whether ranks rise process by process, so that parts joined in process order are in rank
    /// order; a merge and a split in MPI's order need not have this.
    pub fn is_process_ordered(&self) -> bool {
        self.ranks.is_sorted()
    }
}

/// Prefix sums, with the total at the end.
fn starts(counts: &[u32]) -> Box<[u32]> {
    let mut sum = 0_u32;
    let ends = counts.iter().map(|count| {
        sum = sum.checked_add(*count).expect("a job has fewer than 2^32 endpoints");
        sum
    });
    std::iter::once(0).chain(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(local: u32, process: u32) -> Place {
        Place { local, process }
    }

    // claim: xep-rankmap
    #[track_caller]
    fn check_bijection(map: &RankMap) {
        for rank in (0..map.size()).map(Rank) {
            assert_eq!(map.rank(map.place(rank).unwrap()), Some(rank));
        }
        let mut met = 0;
        for process in 0..map.process_count() {
            for (local, rank) in (0..).zip(map.locals(process)) {
                assert_eq!(map.place(*rank), Some(place(local, process)));
                met += 1;
            }
            assert_eq!(map.rank(place(map.local_size(process), process)), None);
        }
        assert_eq!(met, map.size());
        assert_eq!(map.place(Rank(map.size())), None);
        assert_eq!(map.rank(place(0, map.process_count())), None);
        assert_eq!(map.rank(place(0, u32::MAX)), None);
        assert_eq!(RankMap::new(map.places().to_vec(), map.process_count()).as_ref(), Ok(map));
    }

    #[test]
    fn ranks_and_places_translate_both_ways() {
        check_bijection(&RankMap::from_counts(&[]));
        check_bijection(&RankMap::from_counts(&[0, 2, 0, 3, 0]));
        let places = vec![place(1, 1), place(0, 0), place(0, 1)];
        let map = RankMap::new(places, 3).unwrap();
        check_bijection(&map);
        assert_eq!(map.to_string(), "[(1, 1), (0, 0), (0, 1)]");
        assert_eq!(map.processes().collect::<Vec<_>>(), [0, 1]);
        assert!(!map.is_process_ordered());
        assert!(RankMap::from_counts(&[1, 0, 2]).is_process_ordered());
    }

    #[test]
    fn places_that_are_no_bijection_are_refused() {
        let new = |places: &[(u32, u32)]| {
            RankMap::new(places.iter().map(|(local, process)| place(*local, *process)).collect(), 2)
                .map_err(|error| error.to_string())
        };
        assert_eq!(new(&[(0, 2)]).unwrap_err(), "endpoint 0 is on process 2; the parent has 2");
        assert_eq!(
            new(&[(0, 0), (2, 0)]).unwrap_err(),
            "endpoint 1 is number 2 of the 2 endpoints of its process"
        );
        assert_eq!(
            new(&[(0, 0), (1, 1), (1, 1)]).unwrap_err(),
            "endpoints 1 and 2 both live at (1, 1)"
        );
    }
}
