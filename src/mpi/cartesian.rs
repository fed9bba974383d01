//! Cartesian grids over the ranks of a communicator, in row-major order: the last coordinate moves
//! fastest.
//!
//! ```text
//!   rank = (..(c0 * d1 + c1) * d2 + ..) + ck
//! ```
//!
//! A shift along a dimension asks for two neighbours. Across the border of a dimension that is not
//! periodic the neighbour is `MPI_PROC_NULL`; across that of a periodic one the grid begins again.
//!
//! Source: MPI-3.1, Sec. 7.5.
//! Left out: renumbering of ranks, and grids that are smaller than their communicator. A split that
//! leaves the excess ranks out comes first.

use super::envelope::Rank;
use super::group::Choice;

/// One dimension of a grid.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Dimension {
    /// Number of positions, at least 1.
    pub extent: u32,
    /// Whether the first position follows the last one.
    pub periodic: bool,
}

/// A grid; without dimensions it has one position.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Cartesian {
    dimensions: Box<[Dimension]>,
    size: u32,
}

/// The two neighbours of a rank; `None` is `MPI_PROC_NULL`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Shift {
    /// Rank whose shift leads here.
    pub source: Option<Rank>,
    /// Where the shift leads.
    pub destination: Option<Rank>,
}

/// The sub-grids into which a grid falls when it keeps some dimensions: all of one shape.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Subgrids {
    /// The shape.
    pub grid: Cartesian,
    /// The choice of each rank of the grid in the split that makes them.
    pub choices: Vec<Choice>,
}

/// Why a grid, or a question to it, makes no sense.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CartesianError {
    /// A dimension has no position.
    #[error("dimension {dimension} has extent 0; each needs at least 1")]
    ZeroExtent {
        /// Which one.
        dimension: usize,
    },
    /// The grid has not one position for each rank.
    #[error("the extents make {positions} positions for {size} ranks; the two must be equal")]
    SizeDiffers {
        /// The product of the extents, `u128::MAX` where it is larger.
        positions: u128,
        /// Ranks of the communicator.
        size: u32,
    },
    /// A rank is not in the grid.
    #[error("rank {} is out of range, the grid has {size} ranks", rank.0)]
    RankOutOfRange {
        /// The rank.
        rank: Rank,
        /// Size of the grid.
        size: u32,
    },
    /// A list has not one entry for each dimension.
    #[error("{found} entries for a grid of {dimensions} dimensions; each has one")]
    EntryCount {
        /// Entries in the list.
        found: usize,
        /// Dimensions of the grid.
        dimensions: usize,
    },
    /// A coordinate is outside a dimension that is not periodic.
    #[error(
        "coordinate {coordinate} is outside dimension {dimension}, which is not periodic and has \
         extent {extent}"
    )]
    OutsideBorder {
        /// Which dimension.
        dimension: usize,
        /// The coordinate.
        coordinate: i64,
        /// Positions of the dimension.
        extent: u32,
    },
    /// The grid has no such dimension.
    #[error("dimension {dimension} is out of range, the grid has {dimensions} dimensions")]
    NoDimension {
        /// The dimension requested.
        dimension: usize,
        /// Dimensions of the grid.
        dimensions: usize,
    },
}

impl Dimension {
    /// The position of a coordinate; `None` beyond a border.
    fn position(self, coordinate: i64) -> Option<u32> {
        let extent = i64::from(self.extent);
        let coordinate = if self.periodic { coordinate.rem_euclid(extent) } else { coordinate };
        u32::try_from(coordinate).ok().filter(|position| *position < self.extent)
    }
}

impl Cartesian {
    /// The grid of these dimensions over `size` ranks.
    ///
    /// # Errors
    ///
    /// A dimension without positions, or a number of positions that is not `size`.
    pub fn new(size: u32, dimensions: Vec<Dimension>) -> Result<Self, CartesianError> {
        if let Some(dimension) = dimensions.iter().position(|dimension| dimension.extent == 0) {
            return Err(CartesianError::ZeroExtent { dimension });
        }
        let extents = dimensions.iter().map(|dimension| u128::from(dimension.extent));
        let positions = extents.fold(1, u128::saturating_mul);
        if positions != u128::from(size) {
            return Err(CartesianError::SizeDiffers { positions, size });
        }
        Ok(Self { dimensions: dimensions.into(), size })
    }

    /// The dimensions, the slowest first.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Where a rank stands, one coordinate for each dimension.
    ///
    /// # Errors
    ///
    /// A rank that is out of range.
    pub fn coordinates(&self, rank: Rank) -> Result<Vec<u32>, CartesianError> {
        if rank.0 >= self.size {
            return Err(CartesianError::RankOutOfRange { rank, size: self.size });
        }
        let mut rest = rank.0;
        let mut coordinates = vec![0; self.dimensions.len()];
        for (coordinate, dimension) in coordinates.iter_mut().zip(&self.dimensions).rev() {
            *coordinate = rest % dimension.extent;
            rest /= dimension.extent;
        }
        Ok(coordinates)
    }

    /// The rank at these coordinates; those of a periodic dimension are taken modulo its extent.
    ///
    /// # Errors
    ///
    /// Coordinates that are not one for each dimension, or beyond a border.
    pub fn rank(&self, coordinates: &[i64]) -> Result<Rank, CartesianError> {
        self.check_entries(coordinates.len())?;
        let mut rank = 0;
        for (index, (dimension, coordinate)) in self.dimensions.iter().zip(coordinates).enumerate()
        {
            let outside = CartesianError::OutsideBorder {
                dimension: index,
                coordinate: *coordinate,
                extent: dimension.extent,
            };
            // Below the product of the extents, which is the size.
            rank = rank * dimension.extent + dimension.position(*coordinate).ok_or(outside)?;
        }
        Ok(Rank(rank))
    }

    /// The neighbours of a rank `displacement` positions away along a dimension: where a message
    /// comes from and goes to when all ranks shift alike.
    ///
    /// # Errors
    ///
    /// A rank or a dimension that is out of range.
    pub fn shift(
        &self,
        rank: Rank,
        dimension: usize,
        displacement: i32,
    ) -> Result<Shift, CartesianError> {
        let coordinates = self.coordinates(rank)?;
        let dimensions = self.dimensions.len();
        let Some(along) = self.dimensions.get(dimension) else {
            return Err(CartesianError::NoDimension { dimension, dimensions });
        };
        let stride: u32 =
            self.dimensions[dimension + 1..].iter().map(|inner| inner.extent).product();
        let here = coordinates[dimension];
        let neighbour = |displacement: i64| {
            let there = along.position(i64::from(here) + displacement)?;
            Some(Rank(rank.0 - here * stride + there * stride))
        };
        let displacement = i64::from(displacement);
        Ok(Shift { source: neighbour(-displacement), destination: neighbour(displacement) })
    }

    /// The sub-grids that keep the dimensions with `remain`: ranks that agree in all other
    /// coordinates stand in one of them. Where nothing remains, each rank has one of its own.
    ///
    /// # Errors
    ///
    /// Entries that are not one for each dimension.
    pub fn sub(&self, remain: &[bool]) -> Result<Subgrids, CartesianError> {
        self.check_entries(remain.len())?;
        let kept = self.dimensions.iter().zip(remain).filter(|(_, remain)| **remain);
        let dimensions: Box<[Dimension]> = kept.map(|(dimension, _)| *dimension).collect();
        let size = dimensions.iter().map(|dimension| dimension.extent).product();
        let choices = (0..self.size).map(|rank| self.sub_choice(Rank(rank), remain)).collect();
        Ok(Subgrids { grid: Self { dimensions, size }, choices })
    }

    /// Color: the position among the dimensions that go; key: that among those that remain.
    fn sub_choice(&self, rank: Rank, remain: &[bool]) -> Choice {
        let coordinates = self.coordinates(rank).expect("a rank of this grid");
        let (mut color, mut key) = (0, 0);
        for ((dimension, coordinate), remain) in self.dimensions.iter().zip(coordinates).zip(remain)
        {
            let position = if *remain { &mut key } else { &mut color };
            *position = *position * dimension.extent + coordinate;
        }
        let number = |position| i32::try_from(position).expect("a job has fewer than 2^31 ranks");
        Choice { color: Some(number(color)), key: number(key) }
    }

    fn check_entries(&self, found: usize) -> Result<(), CartesianError> {
        let dimensions = self.dimensions.len();
        let wrong = CartesianError::EntryCount { found, dimensions };
        if found == dimensions { Ok(()) } else { Err(wrong) }
    }
}

#[cfg(test)]
mod tests;
