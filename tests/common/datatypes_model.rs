//! Datatypes for tests: random trees, and what they select by the plain definition of MPI-3.1,
//! Sec. 4.1: a list of named types with displacements, made by copying the lists of children.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use mpisim::mpi::datatype::{Datatype, Kind, Order, Primitive, Unit};
use proptest::prelude::*;

/// Elements of named types in one element of a random tree, at most.
pub(crate) const PRIMITIVES_MAX: u64 = 96;

/// A type map with its bounds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Map {
    /// In packing order.
    pub(crate) entries: Vec<(Primitive, i64)>,
    pub(crate) lb: i64,
    pub(crate) extent: i64,
    alignment: i64,
    /// Whether a resized type sets the bounds.
    bounded: bool,
}

impl Map {
    /// The map of a type.
    pub(crate) fn of(datatype: &Datatype) -> Self {
        match datatype.kind() {
            Kind::Named(primitive) => {
                let extent = width(*primitive);
                let entries = vec![(*primitive, 0)];
                Self { entries, lb: 0, extent, alignment: extent, bounded: false }
            }
            Kind::Resized { lb, extent, child } => {
                Self { lb: *lb, extent: *extent, bounded: true, ..Self::of(child) }
            }
            Kind::Contiguous { count, child } => Self::joined(&[(0, *count, Self::of(child))]),
            Kind::Vector { count, blocklength, stride, unit, child } => {
                let child = Self::of(child);
                let at = |block| child.bytes(*unit, block * stride);
                let blocks = (0..count.cast_signed()).map(|block| (at(block), *blocklength));
                Self::same(blocks, &child)
            }
            Kind::Indexed { starts, displacements, unit, child } => {
                let child = Self::of(child);
                let lengths = starts.windows(2).map(|pair| pair[1] - pair[0]);
                let places = displacements.iter().map(|number| child.bytes(*unit, *number));
                Self::same(places.zip(lengths), &child)
            }
            Kind::IndexedBlock { blocklength, displacements, unit, child } => {
                let child = Self::of(child);
                let places = displacements.iter().map(|number| child.bytes(*unit, *number));
                Self::same(places.map(|place| (place, *blocklength)), &child)
            }
            Kind::Struct { blocklengths, displacements, children, .. } => {
                let blocks = displacements.iter().zip(blocklengths).zip(children);
                let blocks =
                    blocks.map(|((place, length), child)| (*place, *length, Self::of(child)));
                Self::joined(&blocks.collect::<Vec<_>>())
            }
            Kind::Subarray { dimensions, child, .. } => {
                let child = Self::of(child);
                let mut places = vec![0];
                for dimension in dimensions {
                    let [size, subsize, start] =
                        [dimension.size, dimension.subsize, dimension.start].map(u64::cast_signed);
                    let inner = |place: &i64| {
                        (0..subsize).map(|i| place * size + start + i).collect::<Vec<_>>()
                    };
                    places = places.iter().flat_map(inner).collect();
                }
                let blocks = places.iter().map(|place| (place * child.extent, 1));
                let mut all = Self::same(blocks, &child);
                let elements: u64 = dimensions.iter().map(|dimension| dimension.size).product();
                (all.lb, all.extent) = (0, elements.cast_signed() * child.extent);
                all.bounded = true;
                all
            }
        }
    }

    /// The map of `count` elements, one after the other.
    pub(crate) fn repeated(&self, count: u64) -> Self {
        Self::joined(&[(0, count, self.clone())])
    }

    fn bytes(&self, unit: Unit, number: i64) -> i64 {
        match unit {
            Unit::Extents => number * self.extent,
            Unit::Bytes => number,
        }
    }

    fn same(blocks: impl Iterator<Item = (i64, u64)>, child: &Self) -> Self {
        let blocks: Vec<_> = blocks.map(|(place, length)| (place, length, child.clone())).collect();
        Self::joined(&blocks)
    }

    /// Blocks at displacements, each of some elements.
    fn joined(blocks: &[(i64, u64, Self)]) -> Self {
        let mut entries = Vec::new();
        let mut bounds = None;
        let mut alignment = 1;
        let with_data = |block: &&(i64, u64, Self)| block.1 > 0 && !block.2.entries.is_empty();
        let bounded = blocks.iter().filter(with_data).any(|block| block.2.bounded);
        for (displacement, count, child) in blocks.iter().filter(with_data) {
            for element in 0..count.cast_signed() {
                let base = displacement + element * child.extent;
                entries.extend(child.entries.iter().map(|(what, at)| (*what, at + base)));
                let (low, high) = (base + child.lb, base + child.lb + child.extent);
                if child.bounded == bounded {
                    let (lb, ub) = bounds.unwrap_or((low, high));
                    bounds = Some((low.min(lb), high.max(ub)));
                }
                alignment = alignment.max(child.alignment);
            }
        }
        let (lb, mut ub) = bounds.unwrap_or_default();
        while !bounded && (ub - lb) % alignment != 0 {
            ub += 1;
        }
        Self { entries, lb, extent: ub - lb, alignment, bounded }
    }

    /// The lowest offset of data and the first above the highest; zeros without data.
    pub(crate) fn span(&self) -> (i64, i64) {
        let low = self.entries.iter().map(|(_, at)| *at).min().unwrap_or(0);
        let high = self.entries.iter().map(|(what, at)| at + width(*what)).max().unwrap_or(0);
        (low, high)
    }

    /// The offset of each packed byte.
    pub(crate) fn bytes_in_order(&self) -> Vec<i64> {
        self.entries.iter().flat_map(|(what, at)| (0..width(*what)).map(move |i| at + i)).collect()
    }
}

fn width(primitive: Primitive) -> i64 {
    primitive.width().cast_signed()
}

/// A random type of a few levels, with zero counts and lengths, steps backwards and overlaps.
pub(crate) fn datatype() -> impl Strategy<Value = Datatype> {
    named().prop_recursive(5, 40, 2, |child| {
        prop_oneof![
            3 => (child.clone(), few(), few(), -6..9_i64, any::<bool>()).prop_map(strided),
            2 => (child.clone(), blocks(), any::<bool>()).prop_map(indexed),
            2 => (child.clone(), few(), blocks(), any::<bool>()).prop_map(indexed_block),
            3 => prop::collection::vec((child.clone(), few(), -20..90_i64), 0..4)
                .prop_map(structure),
            2 => (child.clone(), dimensions(), any::<bool>()).prop_map(subarray),
            1 => (child.clone(), few()).prop_map(|(child, count)| {
                Datatype::contiguous(room(&child, count, 1), &child).unwrap()
            }),
            1 => (child, -30..30_i64, -40..60_i64)
                .prop_map(|(child, lb, extent)| Datatype::resized(lb, extent, &child).unwrap()),
        ]
    })
}

fn named() -> impl Strategy<Value = Datatype> {
    prop::sample::select(Primitive::ALL.to_vec()).prop_map(Datatype::named)
}

/// A count or length, now and then 0.
fn few() -> impl Strategy<Value = i64> {
    prop_oneof![1 => Just(0), 9 => 1..4_i64]
}

/// Blocklengths and displacements.
fn blocks() -> impl Strategy<Value = Vec<(i64, i64)>> {
    prop::collection::vec((few(), -10..20_i64), 0..5)
}

/// Subsizes, starts and what the array has beyond.
fn dimensions() -> impl Strategy<Value = Vec<(i64, i64, i64)>> {
    prop::collection::vec((1..4_i64, 0..3_i64, 0..3_i64), 1..4)
}

/// As many blocks of `length` elements, at most `count`, as a random tree may have; one is allowed.
fn room(child: &Datatype, count: i64, length: i64) -> i64 {
    let each = child.primitives().max(1).cast_signed() * length.max(1);
    count.min((PRIMITIVES_MAX.cast_signed() / each).max(1))
}

fn strided((child, count, length, stride, bytes): (Datatype, i64, i64, i64, bool)) -> Datatype {
    let length = room(&child, length, 1);
    let count = room(&child, count, length);
    if bytes {
        Datatype::hvector(count, length, 5 * stride, &child).unwrap()
    } else {
        Datatype::vector(count, length, stride, &child).unwrap()
    }
}

fn indexed((child, blocks, bytes): (Datatype, Vec<(i64, i64)>, bool)) -> Datatype {
    let kept = usize::try_from(room(&child, 4, 2)).unwrap().min(blocks.len());
    let (lengths, places): (Vec<i64>, Vec<i64>) = blocks[..kept].iter().copied().unzip();
    if bytes {
        Datatype::hindexed(&lengths, &places, &child).unwrap()
    } else {
        Datatype::indexed(&lengths, &places, &child).unwrap()
    }
}

type EqualBlocks = (Datatype, i64, Vec<(i64, i64)>, bool);

fn indexed_block((child, length, blocks, bytes): EqualBlocks) -> Datatype {
    let length = room(&child, length, 1);
    let kept = usize::try_from(room(&child, 4, length)).unwrap().min(blocks.len());
    let places: Vec<i64> = blocks[..kept].iter().map(|(_, place)| *place).collect();
    if bytes {
        Datatype::hindexed_block(length, &places, &child).unwrap()
    } else {
        Datatype::indexed_block(length, &places, &child).unwrap()
    }
}

fn structure(members: Vec<(Datatype, i64, i64)>) -> Datatype {
    let (mut lengths, mut places, mut children) = (Vec::new(), Vec::new(), Vec::new());
    for (child, length, place) in members {
        lengths.push(room(&child, length, 3));
        places.push(place);
        children.push(child);
    }
    Datatype::structure(&lengths, &places, &children).unwrap()
}

fn subarray((child, dimensions, fortran): (Datatype, Vec<(i64, i64, i64)>, bool)) -> Datatype {
    let mut left = room(&child, 27, 1);
    let (mut sizes, mut subsizes, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    for (subsize, start, beyond) in dimensions {
        let subsize = subsize.min(left);
        left /= subsize;
        sizes.push(start + subsize + beyond);
        subsizes.push(subsize);
        starts.push(start);
    }
    let order = if fortran { Order::Fortran } else { Order::C };
    Datatype::subarray(&sizes, &subsizes, &starts, order, &child).unwrap()
}
