//! Groups of ranks: the ranks of a process, of a node.

use super::task::print;

/// Which rank is of which unit.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Units {
    /// The unit of each rank; units are numbered by their lowest ranks.
    pub(super) unit_of: Vec<u32>,
    /// The ranks of each unit, rising.
    pub(super) members: Vec<Vec<u32>>,
    /// Fingerprint of the units: other units share it by chance only.
    print: u32,
}

impl Units {
    /// The units of `size` ranks, where `unit` names that of a rank: its process, its node.
    ///
    /// # Panics
    ///
    /// Never: there are no more units than ranks.
    pub fn new(size: u32, unit: impl Fn(u32) -> u32) -> Self {
        let mut names: Vec<(u32, u32)> = Vec::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut unit_of = Vec::new();
        for rank in 0..size {
            let name = unit(rank);
            let number = match names.binary_search_by_key(&name, |(name, _)| *name) {
                Ok(place) => names[place].1,
                Err(place) => {
                    let number = u32::try_from(members.len()).expect("no more units than ranks");
                    names.insert(place, (name, number));
                    members.push(Vec::new());
                    number
                }
            };
            members[number as usize].push(rank);
            unit_of.push(number);
        }
        let print = print(unit_of.iter().copied().map(u64::from));
        Self { unit_of, members, print }
    }

    /// A number that other units have by chance only, and not 0.
    pub(super) const fn print(&self) -> u32 {
        self.print
    }

    /// How many there are.
    ///
    /// # Panics
    ///
    /// Never: there are no more units than ranks.
    pub fn count(&self) -> u32 {
        u32::try_from(self.members.len()).expect("no more units than ranks")
    }

    /// The ranks of the largest one.
    ///
    /// # Panics
    ///
    /// Never: there are no more members than ranks.
    pub fn largest(&self) -> u32 {
        let most = self.members.iter().map(Vec::len).max().unwrap_or(0);
        u32::try_from(most).expect("no more members than ranks")
    }

    /// Whether the ranks of each unit follow each other.
    pub fn are_contiguous(&self) -> bool {
        self.unit_of.is_sorted()
    }

    /// The rank that speaks for a unit: the root where it is of the unit, else its lowest.
    pub(super) fn leader(&self, unit: u32, root: Option<u32>) -> u32 {
        let lowest = self.members[unit as usize][0];
        root.filter(|root| self.unit_of[*root as usize] == unit).unwrap_or(lowest)
    }
}
