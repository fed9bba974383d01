//! From an id to its primitive, level by level; and packing by it.
//!
//! ```text
//!   in = out = 0, node = root
//!   loop  (r, w) = increments of node for id      in += r, out += w
//!         id %= primitives of a child             leaf? copy : node = child
//! ```
//!
//! | node | increments; n = id div primitives of a child, e and z its extent and size | reads |
//! |---|---|---|
//! | contiguous | r = n e | |
//! | vector | r = (n div blocklength) stride + (n mod blocklength) e | |
//! | subarray | n in coordinates i, r = e x sum of (start + i) x elements below | 3 for each dimension |
//! | indexed block | h = n div blocklength, r = displacement h + (n mod blocklength) e | 1 |
//! | indexed | h by search for n, r = displacement h + (n - start h) e | search, 2 |
//! | struct | h by search for id itself, then as indexed with child h | search, 5; 4 more below |
//!
//! w = n z, and in a struct also the bytes packed before block h. A search halves its range until
//! one block is left: ceil(log2 blocks) steps.
//!
//! Source: `gpu-pack` Sec. 3.2, Alg. 1 and 2, Eq. (1). The increments of contiguous, subarray and
//! indexed block nodes are not printed there.

use super::encoded::Encoding;
use super::node::{NodeKind, WORD};
use super::{bits, field};
use crate::datatype::DatatypeError;

/// One primitive: where it lies, where it goes, and its size, all in bytes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Element {
    /// Its offset from the origin of the buffer.
    pub input: i64,
    /// Its offset in the packed data.
    pub output: u64,
    /// Its size.
    pub size: u64,
}

/// Observer of the way of one id; offsets are in bytes.
pub trait Observer {
    /// A node is entered; it begins at this offset of the fixed part.
    fn level(&mut self, kind: NodeKind, node: u32);
    /// A search reads this entry of the lookaside part.
    fn search_step(&mut self, lookaside_byte: u64);
    /// This entry of the lookaside part is read, outside a search.
    fn lookaside(&mut self, lookaside_byte: u64);
    /// The way goes on with this member of a struct.
    fn branch(&mut self, member: u32);
    /// The entries read outside searches decide what is read next; until then nothing depended on them.
    fn needs_lists(&mut self) {}
}

/// Sees nothing.
impl Observer for () {
    fn level(&mut self, _: NodeKind, _: u32) {}
    fn search_step(&mut self, _: u64) {}
    fn lookaside(&mut self, _: u64) {}
    fn branch(&mut self, _: u32) {}
}

/// One step down.
struct Descent {
    read: i64,
    write: u64,
    /// The id among those of the child.
    id: u64,
    below: Below,
}

/// The result of a step.
enum Below {
    /// A primitive of this size.
    Primitive(u64),
    /// The node that begins at this word.
    Node(usize),
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("offsets are below the limits of an encoding")
}

impl Encoding {
    /// Where the primitive with this id lies and goes.
    ///
    /// # Panics
    ///
    /// When there is no such primitive.
    pub fn locate(&self, id: u64) -> Element {
        self.trace(id, &mut ())
    }

    /// As [`Self::locate`]; `observer` receives the path.
    ///
    /// # Panics
    ///
    /// As [`Self::locate`].
    pub fn trace<O: Observer>(&self, id: u64, observer: &mut O) -> Element {
        let all = self.primitives();
        assert!(id < all, "id {id} of {all} primitives");
        let (mut id, mut input, mut output) = self.element_of(id);
        let mut at = 0;
        loop {
            let step = self.step(at, id, observer);
            // Sums wrap, as in the walk: what comes out is in range.
            input = input.wrapping_add(step.read);
            output += step.write;
            id = step.id;
            match step.below {
                Below::Primitive(size) => {
                    return Element { input, output, size };
                }
                Below::Node(node) => at = node,
            }
        }
    }

    /// The id within one element, and where that element begins: no node, since only uses of several
    /// elements pay for it.
    fn element_of(&self, id: u64) -> (u64, i64, u64) {
        if self.count == 1 {
            return (id, 0, 0);
        }
        let element = id / self.primitives;
        let origin = element.cast_signed().wrapping_mul(self.extent);
        (id % self.primitives, origin, element * self.size)
    }

    fn step<O: Observer>(&self, at: usize, id: u64, observer: &mut O) -> Descent {
        let node = &self.fixed[at..];
        let kind = bits::kind(node[field::BITS]);
        let offset = u32::try_from(at * WORD).expect("the fixed part is below its limit");
        observer.level(kind, offset);
        if kind == NodeKind::Struct {
            return self.step_into_struct(node, id, observer);
        }
        let (size, primitives) = (node[field::SIZE], node[field::PRIMITIVES]);
        let (number, id) =
            if primitives == 1 { (id, 0) } else { (id / primitives, id % primitives) };
        let read = self.displacement(kind, node, number, observer);
        let below = if bits::leaf(node[field::BITS]).is_some() {
            Below::Primitive(size)
        } else {
            Below::Node(at + kind.words())
        };
        Descent { read, write: number * size, id, below }
    }

    /// Where the child with this number lies in its node.
    fn displacement<O: Observer>(
        &self,
        kind: NodeKind,
        node: &[u64],
        number: u64,
        observer: &mut O,
    ) -> i64 {
        let extent = node[field::EXTENT].cast_signed();
        let lookaside =
            || Lists { words: &self.lookaside, at: index(node[field::LOOKASIDE]) / WORD };
        let blocks = index(node[field::COUNT]);
        let in_block = |displacement: i64, number: u64| {
            displacement.wrapping_add(number.cast_signed().wrapping_mul(extent))
        };
        match kind {
            NodeKind::Contiguous => in_block(0, number),
            NodeKind::Vector => {
                let blocklength = node[field::BLOCKLENGTH];
                let stride = node[field::STRIDE].cast_signed();
                let (block, element) = (number / blocklength, number % blocklength);
                in_block(block.cast_signed().wrapping_mul(stride), element)
            }
            NodeKind::Subarray => {
                let dimensions = index(node[field::DIMENSIONS]);
                in_block(0, lookaside().position(dimensions, number, observer))
            }
            NodeKind::IndexedBlock => {
                let blocklength = node[field::BLOCKLENGTH];
                let (block, element) = (number / blocklength, number % blocklength);
                let displacement = lookaside().entry(index(block), observer);
                in_block(displacement.cast_signed(), element)
            }
            NodeKind::Indexed => {
                let lists = lookaside();
                let block = self.search(lists, blocks, number, observer);
                let start = lists.entry(block, observer);
                let displacement = lists.entry(blocks + 1 + block, observer);
                in_block(displacement.cast_signed(), number - start)
            }
            NodeKind::Struct => unreachable!("a struct has steps of its own"),
        }
    }

    #[cfg_attr(
        not(feature = "mutants"),
        expect(clippy::unused_self, reason = "planted bugs look at the lists")
    )]
    fn search<O: Observer>(
        &self,
        sums: Lists<'_>,
        blocks: usize,
        number: u64,
        observer: &mut O,
    ) -> usize {
        let block = sums.search(blocks, number, observer);
        #[cfg(feature = "mutants")]
        let block = self.flawed_block(&self.lookaside[sums.at..][..=blocks], block);
        block
    }

    fn step_into_struct<O: Observer>(&self, node: &[u64], id: u64, observer: &mut O) -> Descent {
        let members = index(node[field::COUNT]);
        let blocklengths =
            Lists { words: &self.lookaside, at: index(node[field::LOOKASIDE]) / WORD };
        let displacements = blocklengths.after(members + 1);
        let primitives = displacements.after(members);
        let packed = primitives.after(members + 1);
        let places = packed.after(members + 1);
        let extents = places.after(members);
        let member = self.search(primitives, members, id, observer);
        observer.branch(u32::try_from(member).expect("the lists are below their limit"));
        let start = primitives.entry(member, observer);
        let before = packed.entry(member, observer);
        let displacement = displacements.entry(member, observer).cast_signed();
        let extent = extents.entry(member, observer).cast_signed();
        let place = places.entry(member, observer);
        observer.needs_lists();
        let id = id - start;
        let (number, id, size, below) = if let Some(primitive) = bits::leaf(place) {
            (id, 0, primitive.width(), Below::Primitive(primitive.width()))
        } else {
            // Of the block: elements, and from its sums what each of them has.
            let next = |lists: &Lists<'_>, observer: &mut O| lists.entry(member + 1, observer);
            let first = blocklengths.entry(member, observer);
            let count = next(&blocklengths, observer) - first;
            let each = (next(&primitives, observer) - start) / count;
            let size = (next(&packed, observer) - before) / count;
            (id / each, id % each, size, Below::Node(bits::node(place)))
        };
        let read = displacement.wrapping_add(number.cast_signed().wrapping_mul(extent));
        Descent { read, write: before + number * size, id, below }
    }

    /// Packs the primitives with these ids, in their order; others are left out.
    ///
    /// # Errors
    ///
    /// [`DatatypeError::Outside`] where the elements are not all in `source`,
    /// [`DatatypeError::Packed`] where `into` has not the room of all of them.
    ///
    /// # Panics
    ///
    /// When there is no such primitive.
    pub fn pack(
        &self,
        ids: impl IntoIterator<Item = u64>,
        source: &[u8],
        origin: usize,
        into: &mut [u8],
    ) -> Result<(), DatatypeError> {
        self.check(source.len(), origin, into.len())?;
        for element in ids.into_iter().map(|id| self.locate(id)) {
            let (lies, goes) = places(element, origin);
            into[goes].copy_from_slice(&source[lies]);
        }
        Ok(())
    }

    /// The same the other way: puts the primitives with these ids in their places.
    ///
    /// # Errors
    ///
    /// As [`Self::pack`]. Whether elements overlap is not looked at.
    ///
    /// # Panics
    ///
    /// As [`Self::pack`].
    pub fn unpack(
        &self,
        ids: impl IntoIterator<Item = u64>,
        packed: &[u8],
        target: &mut [u8],
        origin: usize,
    ) -> Result<(), DatatypeError> {
        self.check(target.len(), origin, packed.len())?;
        for element in ids.into_iter().map(|id| self.locate(id)) {
            let (lies, goes) = places(element, origin);
            target[lies].copy_from_slice(&packed[goes]);
        }
        Ok(())
    }

    fn check(&self, length: usize, origin: usize, packed: usize) -> Result<(), DatatypeError> {
        let (low, high) = self.span;
        let (origin, length) = (origin as u64, length as u64);
        let at = |offset: i64| i128::from(origin) + i128::from(offset);
        if at(low) < 0 || at(high) > i128::from(length) {
            return Err(DatatypeError::Outside { low, high, origin, length });
        }
        let (found, needed) = (packed as u64, self.packed());
        if found == needed { Ok(()) } else { Err(DatatypeError::Packed { found, needed }) }
    }
}

/// Where an element lies in its buffer and in the packed data, which were found to hold it.
fn places(element: Element, origin: usize) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    let offset = isize::try_from(element.input).expect("it is in a buffer");
    let lies = origin.checked_add_signed(offset).expect("it is in a buffer");
    let (goes, size) = (index(element.output), index(element.size));
    (lies..lies + size, goes..goes + size)
}

/// Lists of the lookaside part, from the word `at` on.
#[derive(Clone, Copy)]
struct Lists<'e> {
    words: &'e [u64],
    at: usize,
}

impl Lists<'_> {
    /// The lists after the first `entries`.
    fn after(self, entries: usize) -> Self {
        Self { at: self.at + entries, ..self }
    }

    fn byte(self, entry: usize) -> u64 {
        ((self.at + entry) * WORD) as u64
    }

    fn entry<O: Observer>(self, entry: usize, observer: &mut O) -> u64 {
        observer.lookaside(self.byte(entry));
        self.words[self.at + entry]
    }

    /// The block h with `sums[h] <= number < sums[h + 1]`, of so many.
    fn search<O: Observer>(self, blocks: usize, number: u64, observer: &mut O) -> usize {
        let (mut low, mut high) = (0, blocks);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            observer.search_step(self.byte(middle));
            if self.words[self.at + middle] <= number {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The position in an array of the element with this number in a box of it.
    fn position<O: Observer>(self, dimensions: usize, number: u64, observer: &mut O) -> u64 {
        let (subsizes, starts) = (self.after(dimensions), self.after(2 * dimensions));
        let (mut rest, mut position, mut below) = (number, 0_u64, 1_u64);
        for dimension in (0..dimensions).rev() {
            let size = self.entry(dimension, observer);
            let subsize = subsizes.entry(dimension, observer);
            let coordinate = starts.entry(dimension, observer) + rest % subsize;
            position = position.wrapping_add(coordinate.wrapping_mul(below));
            observer.needs_lists();
            rest /= subsize;
            below = below.wrapping_mul(size);
        }
        position
    }
}
