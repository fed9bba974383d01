//! Processes on a grid of three axes, as `MPI_Cart_create` and `MPI_Dims_create` put them.

/// Axes of a grid.
/// Source: the grids of the applications, which cut space.
pub const AXES: usize = 3;
/// Faces of a process.
/// Source: a lower and a higher neighbour on each of these axes.
pub const FACES: usize = 2 * AXES;

/// Which axis the numbers of ranks run along first.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Order {
    /// x, then y, then z: rank = x + X (y + Y z).
    FirstAxis,
    /// z, then y, then x, as `MPI_Cart_create` numbers them: rank = z + Z (y + Y x).
    LastAxis,
}

/// A grid of processes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Grid {
    /// Processes on each axis.
    pub extents: [u32; AXES],
    /// How they are numbered.
    pub order: Order,
    /// Whether the last process on an axis is a neighbour of the first.
    pub periodic: bool,
}

/// The axis of a face.
pub const fn axis(face: usize) -> usize {
    face / 2
}

/// The face on the other side of a process.
pub const fn opposite(face: usize) -> usize {
    face ^ 1
}

impl Grid {
    /// How many processes it has.
    pub fn processes(&self) -> u32 {
        self.extents.iter().product()
    }

    /// Axes in the order in which the numbers of ranks run along them.
    const fn axes(&self) -> [usize; AXES] {
        match self.order {
            Order::FirstAxis => [0, 1, 2],
            Order::LastAxis => [2, 1, 0],
        }
    }

    /// Where a rank stands.
    pub fn place(&self, rank: u32) -> [u32; AXES] {
        let (mut place, mut left) = ([0; AXES], rank);
        for axis in self.axes() {
            (place[axis], left) = (left % self.extents[axis], left / self.extents[axis]);
        }
        place
    }

    /// The rank at a place.
    pub fn rank(&self, place: [u32; AXES]) -> u32 {
        let outwards = self.axes().into_iter().rev();
        outwards.fold(0, |rank, axis| rank * self.extents[axis] + place[axis])
    }

    /// The neighbour across a face; `None` at the end of an axis that is not periodic.
    pub fn neighbour(&self, rank: u32, face: usize) -> Option<u32> {
        let (mut place, axis) = (self.place(rank), axis(face));
        let (own, extent) = (place[axis], self.extents[axis]);
        let upwards = face % 2 == 1;
        let inside = if upwards { own + 1 < extent } else { own > 0 };
        if !inside && !self.periodic {
            return None;
        }
        place[axis] = if upwards { (own + 1) % extent } else { (own + extent - 1) % extent };
        Some(self.rank(place))
    }

    /// Whether a rank has a neighbour across every face.
    pub fn is_interior(&self, rank: u32) -> bool {
        (0..FACES).all(|face| self.neighbour(rank, face).is_some())
    }

    /// Neighbours of all ranks together: messages of one exchange.
    pub fn links(&self) -> u64 {
        let across = |axis: usize| {
            let lines = self.extents.iter().map(|extent| u64::from(*extent)).product::<u64>()
                / u64::from(self.extents[axis]);
            let each = if self.periodic { self.extents[axis] } else { self.extents[axis] - 1 };
            2 * lines * u64::from(each)
        };
        (0..AXES).map(across).sum()
    }
}

/// Extents of a grid of `processes`, as `MPI_Dims_create` chooses those that are 0 in `given`: as near
/// to each other as can be, the greatest first. `None` where those that are given do not divide
/// `processes`, or where nothing is left to choose and their product is another number.
pub fn dims(processes: u32, given: [u32; AXES]) -> Option<[u32; AXES]> {
    let fixed = given.iter().filter(|extent| **extent > 0).map(|extent| u64::from(*extent));
    let fixed: u64 = fixed.product();
    if !u64::from(processes).is_multiple_of(fixed) {
        return None;
    }
    let left = u32::try_from(u64::from(processes) / fixed).ok()?;
    let free = given.iter().filter(|extent| **extent == 0).count();
    let chosen = balanced(left, free)?;
    let mut chosen = chosen.into_iter();
    Some(given.map(|extent| if extent > 0 { extent } else { chosen.next().unwrap_or(1) }))
}

/// `count` as a product of so many factors, the greatest first, as near to each other as can be.
fn balanced(count: u32, factors: usize) -> Option<Vec<u32>> {
    if factors == 0 {
        return (count == 1).then(Vec::new);
    }
    let divisors: Vec<u32> = (1..=count).filter(|one| count.is_multiple_of(*one)).collect();
    let all = divisors.into_iter().filter_map(|first| {
        let rest = balanced_below(count / first, factors - 1, first)?;
        Some([vec![first], rest].concat())
    });
    let spread = |all: &Vec<u32>| (all[0] - all[all.len() - 1], all[0]);
    all.min_by_key(spread)
}

/// The same with no factor above `most`.
fn balanced_below(count: u32, factors: usize, most: u32) -> Option<Vec<u32>> {
    match factors {
        0 => (count == 1).then(Vec::new),
        1 => (count <= most).then(|| vec![count]),
        _ => {
            let root = count.isqrt();
            let low = (1..=root).rev().find(|one| count.is_multiple_of(*one))?;
            (count / low <= most).then(|| vec![count / low, low])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grids() -> impl Iterator<Item = Grid> {
        let extents = [[1, 1, 1], [4, 4, 4], [14, 8, 8], [16, 7, 4], [1, 2, 3], [2, 1, 5]];
        let orders = [Order::FirstAxis, Order::LastAxis];
        extents.into_iter().flat_map(move |extents| {
            orders.into_iter().flat_map(move |order| {
                [false, true].map(|periodic| Grid { extents, order, periodic })
            })
        })
    }

    #[test]
    fn every_rank_has_one_place() {
        for grid in grids() {
            for rank in 0..grid.processes() {
                assert_eq!(grid.rank(grid.place(rank)), rank, "{grid:?}");
            }
        }
    }

    #[test]
    fn a_neighbour_across_a_face_has_us_across_the_opposite_one() {
        for grid in grids() {
            let mut links = 0;
            for rank in 0..grid.processes() {
                for face in 0..FACES {
                    let Some(other) = grid.neighbour(rank, face) else { continue };
                    assert_eq!(grid.neighbour(other, opposite(face)), Some(rank), "{grid:?}");
                    links += 1;
                }
            }
            assert_eq!(links, grid.links(), "{grid:?}");
        }
    }

    /// 2 x 2 x 2 of 4 x 4 x 4 have six neighbours; numbers run along z first, as in `MPI_Cart_create`.
    #[test]
    fn interior_ranks_have_six_neighbours() {
        let grid = Grid { extents: [4; 3], order: Order::LastAxis, periodic: false };
        let interior: Vec<u32> = (0..64).filter(|rank| grid.is_interior(*rank)).collect();
        assert_eq!(interior, [21, 22, 25, 26, 37, 38, 41, 42]);
        assert_eq!(grid.place(6), [0, 1, 2]);
        let first = Grid { order: Order::FirstAxis, ..grid };
        assert_eq!(first.place(6), [2, 1, 0]);
        let closed = Grid { periodic: true, ..grid };
        assert!((0..64).all(|rank| closed.is_interior(rank)));
    }

    #[test]
    fn extents_are_as_near_to_each_other_as_can_be() {
        let free = |processes| dims(processes, [0; 3]);
        assert_eq!(free(64), Some([4, 4, 4]));
        assert_eq!(free(896), Some([14, 8, 8]));
        assert_eq!(free(448), Some([8, 8, 7]));
        assert_eq!(free(56), Some([7, 4, 2]));
        assert_eq!(free(7), Some([7, 1, 1]));
        assert_eq!(free(1), Some([1, 1, 1]));
        assert_eq!(dims(896, [0, 7, 4]), Some([32, 7, 4]));
        assert_eq!(dims(896, [0, 7, 0]), Some([16, 7, 8]));
        assert_eq!(dims(896, [32, 7, 4]), Some([32, 7, 4]));
        assert_eq!(dims(896, [16, 7, 4]), None, "448 are no 896");
        assert_eq!(dims(896, [0, 5, 0]), None, "5 divides it not");
    }
}
