//! The constructors: parameters as MPI takes them, signed, each checked.

use super::measures::{Blocks, Measures, Sum};
use super::{Datatype, DatatypeError, Dimension, Kind, Order, Part, Primitive, Unit};

const BLOCKLENGTH: &str = "the blocklength";

fn natural(what: &'static str, found: i64) -> Result<u64, DatatypeError> {
    u64::try_from(found).map_err(|_| DatatypeError::Negative { what, found })
}

fn bytes(unit: Unit, number: i64, child: &Datatype) -> Result<i64, DatatypeError> {
    unit.bytes(number, child).ok_or(DatatypeError::Overflow { part: Part::Displacement })
}

impl Datatype {
    /// A named type.
    pub fn named(primitive: Primitive) -> Self {
        Self::new(Kind::Named(primitive), Measures::named(primitive))
    }

    /// A named type that no primitive stands for: `count` elements of one, which lie as one element of the language
    /// that is aligned to `alignment` bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::contiguous`].
    pub fn named_as(
        count: i64,
        primitive: Primitive,
        alignment: u64,
    ) -> Result<Self, DatatypeError> {
        let child = Self::named(primitive);
        let count = natural("the count", count)?;
        let mut sum = Sum::aligned_to(alignment, child.depth());
        sum.add(0, count, child.measures())?;
        let measures = sum.finish()?.as_one();
        Ok(Self::new(Kind::Contiguous { count, child }, measures))
    }

    /// `count` elements one after the other.
    ///
    /// # Errors
    ///
    /// A negative count, and [`DatatypeError::Overflow`] and [`DatatypeError::Depth`] as every
    /// constructor.
    pub fn contiguous(count: i64, child: &Self) -> Result<Self, DatatypeError> {
        let count = natural("the count", count)?;
        let mut sum = Sum::new(child.depth());
        sum.add(0, count, child.measures())?;
        Ok(Self::new(Kind::Contiguous { count, child: child.clone() }, sum.finish()?))
    }

    /// `count` blocks, the starts of which are `stride` extents of the child apart.
    ///
    /// # Errors
    ///
    /// A negative count or blocklength; see [`Self::contiguous`].
    pub fn vector(
        count: i64,
        blocklength: i64,
        stride: i64,
        child: &Self,
    ) -> Result<Self, DatatypeError> {
        Self::strided(count, blocklength, stride, Unit::Extents, child)
    }

    /// As [`Self::vector`], with the stride in bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::vector`].
    pub fn hvector(
        count: i64,
        blocklength: i64,
        stride: i64,
        child: &Self,
    ) -> Result<Self, DatatypeError> {
        Self::strided(count, blocklength, stride, Unit::Bytes, child)
    }

    fn strided(
        count: i64,
        blocklength: i64,
        stride: i64,
        unit: Unit,
        child: &Self,
    ) -> Result<Self, DatatypeError> {
        let count = natural("the count", count)?;
        let blocklength = natural(BLOCKLENGTH, blocklength)?;
        let in_bytes = bytes(unit, stride, child)?;
        let mut sum = Sum::new(child.depth());
        let blocks = Blocks { displacement: 0, count: blocklength, times: count, stride: in_bytes };
        sum.add_many(blocks, child.measures())?;
        let child = child.clone();
        Ok(Self::new(Kind::Vector { count, blocklength, stride, unit, child }, sum.finish()?))
    }

    /// Blocks of these lengths at these displacements, in extents of the child.
    ///
    /// # Errors
    ///
    /// Lists of different lengths, a negative blocklength; see [`Self::contiguous`].
    pub fn indexed(
        blocklengths: &[i64],
        displacements: &[i64],
        child: &Self,
    ) -> Result<Self, DatatypeError> {
        Self::listed(blocklengths, displacements, Unit::Extents, child)
    }

    /// As [`Self::indexed`], with displacements in bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::indexed`].
    pub fn hindexed(
        blocklengths: &[i64],
        displacements: &[i64],
        child: &Self,
    ) -> Result<Self, DatatypeError> {
        Self::listed(blocklengths, displacements, Unit::Bytes, child)
    }

    fn listed(
        blocklengths: &[i64],
        displacements: &[i64],
        unit: Unit,
        child: &Self,
    ) -> Result<Self, DatatypeError> {
        let blocklengths = counted(blocklengths, displacements)?;
        let mut sum = Sum::new(child.depth());
        let mut starts = vec![0];
        let mut total = 0_u64;
        for (&count, &displacement) in blocklengths.iter().zip(displacements) {
            sum.add(bytes(unit, displacement, child)?, count, child.measures())?;
            total =
                total.checked_add(count).ok_or(DatatypeError::Overflow { part: Part::Count })?;
            starts.push(total);
        }
        let kind = Kind::Indexed {
            starts: starts.into(),
            displacements: displacements.into(),
            unit,
            child: child.clone(),
        };
        Ok(Self::new(kind, sum.finish()?))
    }

    /// Blocks of one length at these displacements, in extents of the child.
    ///
    /// # Errors
    ///
    /// A negative blocklength; see [`Self::contiguous`].
    pub fn indexed_block(
        blocklength: i64,
        displacements: &[i64],
        child: &Self,
    ) -> Result<Self, DatatypeError> {
        Self::listed_equal(blocklength, displacements, Unit::Extents, child)
    }

    /// As [`Self::indexed_block`], with displacements in bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::indexed_block`].
    pub fn hindexed_block(
        blocklength: i64,
        displacements: &[i64],
        child: &Self,
    ) -> Result<Self, DatatypeError> {
        Self::listed_equal(blocklength, displacements, Unit::Bytes, child)
    }

    fn listed_equal(
        blocklength: i64,
        displacements: &[i64],
        unit: Unit,
        child: &Self,
    ) -> Result<Self, DatatypeError> {
        let blocklength = natural(BLOCKLENGTH, blocklength)?;
        let mut sum = Sum::new(child.depth());
        for &displacement in displacements {
            let displacement = bytes(unit, displacement, child)?;
            sum.add(displacement, blocklength, child.measures())?;
        }
        let (displacements, child) = (displacements.into(), child.clone());
        Ok(Self::new(Kind::IndexedBlock { blocklength, displacements, unit, child }, sum.finish()?))
    }

    /// Blocks of different types at these displacements, in bytes: `MPI_Type_create_struct`.
    ///
    /// Without members it is a type without data.
    ///
    /// # Errors
    ///
    /// Lists of different lengths, a negative blocklength; see [`Self::contiguous`].
    pub fn structure(
        blocklengths: &[i64],
        displacements: &[i64],
        children: &[Self],
    ) -> Result<Self, DatatypeError> {
        let blocklengths = counted(blocklengths, displacements)?;
        if children.len() != blocklengths.len() {
            let (children, blocks) = (children.len(), blocklengths.len());
            return Err(DatatypeError::Children { children, blocks });
        }
        let mut sum = Sum::new(children.iter().map(Self::depth).max().unwrap_or(0));
        let mut packed = vec![0];
        for ((&count, &displacement), child) in blocklengths.iter().zip(displacements).zip(children)
        {
            sum.add(displacement, count, child.measures())?;
            packed.push(sum.size()?);
        }
        let kind = Kind::Struct {
            blocklengths: blocklengths.into(),
            displacements: displacements.into(),
            packed: packed.into(),
            children: children.into(),
        };
        Ok(Self::new(kind, sum.finish()?))
    }

    /// A box of `subsizes` elements from `starts` in an array of `sizes`.
    ///
    /// # Errors
    ///
    /// A box that is not in the array, lists of different lengths; see [`Self::contiguous`].
    pub fn subarray(
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: Order,
        child: &Self,
    ) -> Result<Self, DatatypeError> {
        let mut dimensions = dimensions(sizes, subsizes, starts)?;
        if order == Order::Fortran {
            dimensions.reverse();
        }
        let measures = measures_of_subarray(&dimensions, child)?;
        let (dimensions, child) = (dimensions.into(), child.clone());
        Ok(Self::new(Kind::Subarray { dimensions, order, child }, measures))
    }

    /// The same data with other bounds, in bytes.
    ///
    /// # Errors
    ///
    /// See [`Self::contiguous`].
    pub fn resized(lb: i64, extent: i64, child: &Self) -> Result<Self, DatatypeError> {
        let mut sum = Sum::new(child.depth());
        sum.add(0, 1, child.measures())?;
        let measures = sum.finish()?.resized(lb, extent)?;
        Ok(Self::new(Kind::Resized { lb, extent, child: child.clone() }, measures))
    }
}

/// The blocklengths, one for each displacement.
fn counted(blocklengths: &[i64], displacements: &[i64]) -> Result<Vec<u64>, DatatypeError> {
    if blocklengths.len() != displacements.len() {
        return Err(DatatypeError::Lists {
            blocklengths: blocklengths.len(),
            displacements: displacements.len(),
        });
    }
    blocklengths.iter().map(|length| natural(BLOCKLENGTH, *length)).collect()
}

fn dimensions(
    sizes: &[i64],
    subsizes: &[i64],
    starts: &[i64],
) -> Result<Vec<Dimension>, DatatypeError> {
    if sizes.is_empty() || [subsizes.len(), starts.len()] != [sizes.len(); 2] {
        let (sizes, subsizes, starts) = (sizes.len(), subsizes.len(), starts.len());
        return Err(DatatypeError::Dimensions { sizes, subsizes, starts });
    }
    let all = sizes.iter().zip(subsizes).zip(starts).enumerate();
    all.map(|(index, ((&size, &subsize), &start))| {
        let wrong = DatatypeError::Subarray { index, size, subsize, start };
        let is_inside = subsize >= 1 && start >= 0 && subsize <= size && start <= size - subsize;
        let [size, subsize, start] = [size, subsize, start].map(u64::try_from);
        match (size, subsize, start) {
            (Ok(size), Ok(subsize), Ok(start)) if is_inside => {
                Ok(Dimension { size, subsize, start })
            }
            _ => Err(wrong),
        }
    })
    .collect()
}

/// The box is rows within rows: each dimension repeats the blocks of the faster ones.
fn measures_of_subarray(
    dimensions: &[Dimension],
    child: &Datatype,
) -> Result<Measures, DatatypeError> {
    let overflow = DatatypeError::Overflow { part: Part::Extent };
    let mut inner = *child.measures();
    let (mut first, mut step) = (0_i64, child.extent());
    for dimension in dimensions.iter().rev() {
        let [size, start] = [dimension.size, dimension.start].map(u64::cast_signed);
        let mut sum = Sum::new(child.depth());
        let blocks = Blocks { displacement: 0, count: 1, times: dimension.subsize, stride: step };
        sum.add_many(blocks, &inner)?;
        inner = sum.finish()?;
        let skipped = start.checked_mul(step).ok_or(overflow)?;
        first = first.checked_add(skipped).ok_or(overflow)?;
        step = step.checked_mul(size).ok_or(overflow)?;
    }
    let mut sum = Sum::new(child.depth());
    sum.add(first, 1, &inner)?;
    // The bounds are those of the array, whatever its elements hold.
    sum.finish()?.resized(0, step)
}
