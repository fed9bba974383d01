//! Writing nodes and lists.

use super::encoded::{Encoding, EncodingError, FIXED_MAX, LOOKASIDE_MAX};
use super::node::{NodeKind, WORD};
use super::{bits, field};
use crate::datatype::{Datatype, DatatypeError, Dimension, Kind, Part, Primitive, Unit};

impl Encoding {
    /// Of `count` elements.
    ///
    /// # Errors
    ///
    /// Where sizes are beyond 64 bits, or an encoding beyond its limits.
    pub fn new(datatype: &Datatype, count: u64) -> Result<Self, EncodingError> {
        encode(datatype, count)
    }
}

fn encode(datatype: &Datatype, count: u64) -> Result<Encoding, EncodingError> {
    let span = datatype.span(count)?;
    datatype.packed(count)?;
    let root = without_bounds(datatype);
    let mut writer = Writer::default();
    let leaf = named(root);
    // A named type is no node: all its elements together are one.
    let (count, repeated) = if leaf.is_some() { (count.min(1), count) } else { (count, 1) };
    if leaf.is_some() {
        writer.node(NodeKind::Contiguous, repeated, datatype)?;
        writer.levels = 1;
    } else {
        writer.derived(root, 1)?;
    }
    let overflow = DatatypeError::Overflow { part: Part::Count };
    let times = |number: u64| number.checked_mul(repeated).ok_or(overflow);
    Ok(Encoding {
        fixed: writer.fixed,
        lookaside: writer.lookaside,
        nodes: writer.nodes,
        levels: writer.levels,
        count,
        primitives: times(datatype.primitives())?,
        size: times(datatype.size())?,
        extent: datatype.extent(),
        span,
        #[cfg(feature = "mutants")]
        flaw: None,
    })
}

/// The type below its new bounds.
fn without_bounds(datatype: &Datatype) -> &Datatype {
    let mut inner = datatype;
    while let Kind::Resized { child, .. } = inner.kind() {
        inner = child;
    }
    inner
}

fn named(datatype: &Datatype) -> Option<Primitive> {
    if let Kind::Named(primitive) = without_bounds(datatype).kind() {
        Some(*primitive)
    } else {
        None
    }
}

#[derive(Default)]
struct Writer {
    fixed: Vec<u64>,
    lookaside: Vec<u64>,
    nodes: u32,
    levels: u32,
}

impl Writer {
    /// Writes a type that is neither named nor resized, and all below it.
    fn derived(&mut self, datatype: &Datatype, level: u32) -> Result<(), EncodingError> {
        self.levels = self.levels.max(level);
        let child = match datatype.kind() {
            Kind::Named(_) | Kind::Resized { .. } => {
                unreachable!("named types are leaves, bounds are left out")
            }
            Kind::Struct { blocklengths, displacements, packed, children } => {
                return self.structure(
                    datatype,
                    level,
                    [blocklengths, packed],
                    displacements,
                    children,
                );
            }
            Kind::Contiguous { count, child } => {
                self.node(NodeKind::Contiguous, *count, child)?;
                child
            }
            Kind::Vector { count, blocklength, stride, unit, child } => {
                self.node(NodeKind::Vector, *count, child)?;
                self.fixed.extend([in_bytes(*unit, *stride, child), *blocklength]);
                child
            }
            Kind::Indexed { starts, displacements, unit, child } => {
                self.node(NodeKind::Indexed, displacements.len() as u64, child)?;
                self.refer()?;
                self.lookaside.extend_from_slice(starts);
                self.displacements(displacements, *unit, child);
                child
            }
            Kind::IndexedBlock { blocklength, displacements, unit, child } => {
                self.node(NodeKind::IndexedBlock, displacements.len() as u64, child)?;
                self.refer()?;
                self.fixed.push(*blocklength);
                self.displacements(displacements, *unit, child);
                child
            }
            Kind::Subarray { dimensions, child, .. } => {
                let elements = dimensions.iter().map(|dimension| dimension.subsize);
                self.node(NodeKind::Subarray, elements.product(), child)?;
                self.refer()?;
                self.fixed.push(dimensions.len() as u64);
                let parts: [fn(&Dimension) -> u64; 3] =
                    [|one| one.size, |one| one.subsize, |one| one.start];
                for part in parts {
                    self.lookaside.extend(dimensions.iter().map(part));
                }
                child
            }
        };
        if named(child).is_none() {
            self.derived(without_bounds(child), level + 1)?;
        }
        Ok(())
    }

    /// The parameters that every node has.
    fn node(&mut self, kind: NodeKind, count: u64, child: &Datatype) -> Result<(), EncodingError> {
        if ((self.fixed.len() + kind.words()) * WORD) as u64 > FIXED_MAX {
            return Err(EncodingError::Fixed);
        }
        self.nodes += 1;
        let bits = bits::of_node(kind, named(child).filter(|_| kind != NodeKind::Struct));
        let extent = child.extent().cast_unsigned();
        self.fixed.extend([bits, count, child.size(), extent, child.primitives()]);
        Ok(())
    }

    /// Refers to the lists that are written next.
    fn refer(&mut self) -> Result<(), EncodingError> {
        let at = (self.lookaside.len() * WORD) as u64;
        self.fixed.push(at);
        if at > LOOKASIDE_MAX { Err(EncodingError::Lookaside) } else { Ok(()) }
    }

    fn displacements(&mut self, displacements: &[i64], unit: Unit, child: &Datatype) {
        let each = displacements.iter().map(|number| in_bytes(unit, *number, child));
        self.lookaside.extend(each);
    }

    /// A struct has no one child: size, extent and primitives are its own.
    fn structure(
        &mut self,
        datatype: &Datatype,
        level: u32,
        [blocklengths, packed]: [&[u64]; 2],
        displacements: &[i64],
        children: &[Datatype],
    ) -> Result<(), EncodingError> {
        self.node(NodeKind::Struct, children.len() as u64, datatype)?;
        self.refer()?;
        self.lookaside.extend(sums(blocklengths.iter().copied()));
        self.lookaside.extend(displacements.iter().map(|number| number.cast_unsigned()));
        let primitives = children.iter().zip(blocklengths);
        self.lookaside.extend(sums(primitives.map(|(child, count)| child.primitives() * count)));
        self.lookaside.extend_from_slice(packed);
        let places = self.lookaside.len();
        self.lookaside.resize(places + children.len(), 0);
        self.lookaside.extend(children.iter().map(|child| child.extent().cast_unsigned()));
        for (index, child) in children.iter().enumerate() {
            let leaf = named(child);
            self.lookaside[places + index] = bits::of_child(leaf, self.fixed.len());
            if leaf.is_none() {
                self.derived(without_bounds(child), level + 1)?;
            }
        }
        Ok(())
    }
}

/// The sums of those before each, and of all.
fn sums(numbers: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    let mut sum = 0;
    std::iter::once(0).chain(numbers.map(move |number| {
        sum += number;
        sum
    }))
}

/// A stride or displacement in bytes; that it fits was checked when the type was made.
fn in_bytes(unit: Unit, number: i64, child: &Datatype) -> u64 {
    unit.bytes(number, child).expect("it was checked when the type was made").cast_unsigned()
}

const _: () = assert!(field::COMMON == 5, "`node` writes all common fields");
