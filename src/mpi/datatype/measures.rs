//! Measures of a type: sizes and bounds, computed once from those of its children.
//!
//! The lower bound is that of the lowest entry, and the upper bound that of the highest one, rounded up so
//! that the extent is a multiple of the largest alignment. Where a resized type sets bounds, these are the
//! bounds of all that it is a part of, and nothing is rounded (MPI 4.0, Sec. 5.1.6 and 5.1.7).
//!
//! A block counts only where it holds data: one of length 0, or of a child without data, moves no
//! bound and asks for no alignment.

use super::{DatatypeError, MAX_DEPTH, Part, Primitive};

/// All of them; units as in [`super::Datatype`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Measures {
    pub(super) size: u64,
    pub(super) primitives: u64,
    /// Named elements as the program has them: a complex number is one of two primitives.
    pub(super) basics: u64,
    /// Bytes of each of them, if all have as many.
    pub(super) basic_width: Option<u64>,
    pub(super) lb: i64,
    pub(super) extent: i64,
    pub(super) true_lb: i64,
    pub(super) true_extent: u64,
    alignment: u64,
    /// Whether a resized type sets the bounds.
    bounded: bool,
    pub(super) depth: u32,
    pub(super) uniform: Option<Primitive>,
    pub(super) one_run: bool,
}

/// Wide enough for every sum and product of two numbers below.
type Wide = i128;

fn narrow(number: Wide, part: Part) -> Result<i64, DatatypeError> {
    i64::try_from(number).map_err(|_| DatatypeError::Overflow { part })
}

/// Blocks of `count` elements, `times` of them, each `stride` bytes after the one before it.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    /// Where the origin of the first element is, in bytes.
    pub(super) displacement: i64,
    pub(super) count: u64,
    pub(super) times: u64,
    pub(super) stride: i64,
}

/// The measures of blocks that are added one after the other.
pub(super) struct Sum {
    size: Wide,
    /// Lowest and highest of `lb` and `ub`, and of their true forms, over the blocks with data; of `lb` and
    /// `ub` over those alone that are bounded, if there are such.
    bounds: Option<[(Wide, Wide); 2]>,
    bounded: bool,
    alignment: u64,
    depth: u32,
    primitives: Wide,
    basics: Wide,
    basic_width: Option<u64>,
    /// The named type of the blocks with data, if all agree.
    uniform: Option<Primitive>,
    /// Where the blocks with data end, if they are one run.
    run_end: Option<Wide>,
}

impl Measures {
    pub(super) const fn named(primitive: Primitive) -> Self {
        let width = primitive.width();
        Self {
            size: width,
            primitives: 1,
            basics: 1,
            basic_width: Some(width),
            lb: 0,
            extent: width.cast_signed(),
            true_lb: 0,
            true_extent: width,
            alignment: width,
            bounded: false,
            depth: 1,
            uniform: Some(primitive),
            one_run: true,
        }
    }

    /// The same of a type whose data is one named element.
    pub(super) const fn as_one(self) -> Self {
        Self { basics: 1, basic_width: Some(self.size), ..self }
    }
}

impl Sum {
    /// Of no block; `depth` is that of the deepest child.
    pub(super) const fn new(depth: u32) -> Self {
        Self::aligned_to(1, depth)
    }

    /// As [`Self::new`], of what begins at multiples of `alignment` bytes at least.
    pub(super) const fn aligned_to(alignment: u64, depth: u32) -> Self {
        Self {
            size: 0,
            bounds: None,
            bounded: false,
            alignment,
            depth: depth + 1,
            primitives: 0,
            basics: 0,
            basic_width: None,
            uniform: None,
            run_end: None,
        }
    }

    /// Bytes of data until now.
    pub(super) fn size(&self) -> Result<u64, DatatypeError> {
        narrow(self.size, Part::Size).map(i64::cast_unsigned)
    }

    /// Adds a block of `count` elements whose first origin is at `displacement`.
    pub(super) fn add(
        &mut self,
        displacement: i64,
        count: u64,
        child: &Measures,
    ) -> Result<(), DatatypeError> {
        self.add_many(Blocks { displacement, count, times: 1, stride: 0 }, child)
    }

    /// Adds equal blocks.
    pub(super) fn add_many(
        &mut self,
        blocks: Blocks,
        child: &Measures,
    ) -> Result<(), DatatypeError> {
        if blocks.count == 0 || blocks.times == 0 || child.size == 0 {
            return Ok(());
        }
        let steps = Wide::from(blocks.times - 1) * Wide::from(blocks.stride);
        let steps = narrow(steps, Part::Displacement)?;
        let elements = Wide::from(blocks.count - 1) * Wide::from(child.extent);
        let elements = narrow(elements, Part::Extent)?;
        let moves = [steps, elements].map(Wide::from);
        let at = Wide::from(blocks.displacement);
        let least = at + moves.iter().map(|step| (*step).min(0)).sum::<Wide>();
        let most = at + moves.iter().map(|step| (*step).max(0)).sum::<Wide>();
        let range =
            |low: i64, length: Wide| (least + Wide::from(low), most + Wide::from(low) + length);
        // A child that goes backwards has its upper bound below its lower one.
        let bounds = range(child.lb, Wide::from(child.extent));
        let truly = range(child.true_lb, Wide::from(child.true_extent));
        self.join_run(blocks, child, truly.0);
        if self.bounds.is_none() {
            (self.uniform, self.basic_width) = (child.uniform, child.basic_width);
        }
        if self.uniform != child.uniform {
            self.uniform = None;
        }
        if self.basic_width != child.basic_width {
            self.basic_width = None;
        }
        self.widen([bounds, truly], child.bounded);
        let repeated = |each: u64| {
            let one = Wide::from(each) * Wide::from(blocks.count);
            narrow(one, Part::Size).map(|one| Wide::from(one) * Wide::from(blocks.times))
        };
        self.size += repeated(child.size)?;
        self.size()?;
        self.primitives += repeated(child.primitives)?;
        self.basics += repeated(child.basics)?;
        self.alignment = self.alignment.max(child.alignment);
        Ok(())
    }

    fn widen(&mut self, other: [(Wide, Wide); 2], bounded: bool) {
        let Some([bounds, truly]) = &mut self.bounds else {
            (self.bounds, self.bounded) = (Some(other), bounded);
            return;
        };
        let join = |mine: &mut (Wide, Wide), other: (Wide, Wide)| {
            *mine = (mine.0.min(other.0), mine.1.max(other.1));
        };
        join(truly, other[1]);
        if self.bounded == bounded {
            join(bounds, other[0]);
        } else if bounded {
            (*bounds, self.bounded) = (other[0], true);
        }
    }

    /// Whether the blocks are one run still, and where it ends; they begin at `start`.
    fn join_run(&mut self, blocks: Blocks, child: &Measures, start: Wide) {
        let bytes = Wide::from(child.size) * Wide::from(blocks.count);
        let inside = child.one_run
            && (blocks.count == 1 || Wide::from(child.extent) == Wide::from(child.size))
            && (blocks.times == 1 || Wide::from(blocks.stride) == bytes);
        let joined = self.bounds.is_none() || self.run_end == Some(start);
        self.run_end = (inside && joined).then(|| start + bytes * Wide::from(blocks.times));
    }

    /// The measures of all that was added.
    pub(super) fn finish(self) -> Result<Measures, DatatypeError> {
        if self.depth > MAX_DEPTH {
            return Err(DatatypeError::Depth);
        }
        let size = self.size()?;
        let [mut bounds, truly] = self.bounds.unwrap_or_default();
        if !self.bounded {
            let alignment = Wide::from(self.alignment);
            let extent = bounds.1 - bounds.0;
            bounds.1 += (alignment - extent.rem_euclid(alignment)) % alignment;
        }
        let part = Part::Extent;
        narrow(bounds.1, part)?;
        narrow(truly.1, part)?;
        Ok(Measures {
            size,
            primitives: narrow(self.primitives, Part::Size)?.cast_unsigned(),
            basics: narrow(self.basics, Part::Size)?.cast_unsigned(),
            basic_width: self.basic_width,
            lb: narrow(bounds.0, part)?,
            extent: narrow(bounds.1 - bounds.0, part)?,
            true_lb: narrow(truly.0, part)?,
            true_extent: narrow(truly.1 - truly.0, part)?.cast_unsigned(),
            alignment: self.alignment,
            bounded: self.bounded,
            depth: self.depth,
            uniform: self.uniform,
            one_run: self.bounds.is_none() || self.run_end.is_some(),
        })
    }
}

impl Measures {
    /// With these bounds.
    pub(super) fn resized(self, lb: i64, extent: i64) -> Result<Self, DatatypeError> {
        narrow(Wide::from(lb) + Wide::from(extent), Part::Extent)?;
        Ok(Self { lb, extent, bounded: true, ..self })
    }
}
