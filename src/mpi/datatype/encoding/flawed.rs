//! Planted bugs of the encoding and its traversal, and a choice that is as right as its own: for
//! tests only.

use super::encoded::Encoding;
use super::node::{NodeKind, WORD};
use super::{bits, field};

/// The difference.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Flaw {
    /// Strides are left in elements.
    StrideInElements,
    /// The id is taken modulo the primitives of the node, not of its child.
    OwnPrimitives,
    /// Elements step by their size.
    SizeForExtent,
    /// A search takes the first of several blocks that start at one element.
    FirstOfEqual,
    /// Subarrays are read from their origin.
    NoStarts,
    /// The first dimension of a subarray moves fastest.
    OtherOrder,
    /// The bytes packed before a member of a struct are left out.
    NothingBefore,
    /// Every child of a struct is the next node.
    NextNode,
    /// Allowed: children of a struct stand behind all other nodes.
    ChildElsewhere,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::StrideInElements,
        Self::OwnPrimitives,
        Self::SizeForExtent,
        Self::FirstOfEqual,
        Self::NoStarts,
        Self::OtherOrder,
        Self::NothingBefore,
        Self::NextNode,
        Self::ChildElsewhere,
    ];

    /// Whether it must not matter.
    pub const fn is_harmless(self) -> bool {
        matches!(self, Self::ChildElsewhere)
    }
}

impl Encoding {
    /// The same with a flaw.
    pub fn with(mut self, flaw: Flaw) -> Self {
        self.flaw = Some(flaw);
        let (mut at, end) = (0, self.fixed.len());
        while at < end {
            let kind = bits::kind(self.fixed[at]);
            match kind {
                NodeKind::Contiguous | NodeKind::Indexed | NodeKind::IndexedBlock => {}
                NodeKind::Vector => self.flaw_vector(flaw, at),
                NodeKind::Subarray => self.flaw_subarray(flaw, at),
                NodeKind::Struct => self.flaw_struct(flaw, at),
            }
            if flaw == Flaw::SizeForExtent && kind != NodeKind::Struct {
                self.fixed[at + field::EXTENT] = self.fixed[at + field::SIZE];
            }
            at += kind.words();
        }
        self
    }

    fn flaw_vector(&mut self, flaw: Flaw, at: usize) {
        let node = &mut self.fixed[at..];
        if flaw == Flaw::StrideInElements {
            let [stride, extent] =
                [field::STRIDE, field::EXTENT].map(|place| node[place].cast_signed());
            node[field::STRIDE] = stride.checked_div(extent).unwrap_or(0).cast_unsigned();
        }
        if flaw == Flaw::OwnPrimitives {
            node[field::PRIMITIVES] *= node[field::COUNT] * node[field::BLOCKLENGTH];
        }
    }

    fn flaw_subarray(&mut self, flaw: Flaw, at: usize) {
        let read = |field: usize| usize::try_from(self.fixed[at + field]).expect("a small number");
        let (lists, dimensions) = (read(field::LOOKASIDE) / WORD, read(field::DIMENSIONS));
        for list in self.lookaside[lists..][..3 * dimensions].chunks_exact_mut(dimensions) {
            if flaw == Flaw::OtherOrder {
                list.reverse();
            }
        }
        if flaw == Flaw::NoStarts {
            self.lookaside[lists + 2 * dimensions..][..dimensions].fill(0);
        }
    }

    fn flaw_struct(&mut self, flaw: Flaw, at: usize) {
        let read = |field: usize| usize::try_from(self.fixed[at + field]).expect("a small number");
        let (lists, members) = (read(field::LOOKASIDE) / WORD, read(field::COUNT));
        let packed = lists + 3 * members + 2;
        let places = packed + members + 1;
        if flaw == Flaw::NothingBefore {
            self.lookaside[packed..places].fill(0);
        }
        for place in places..places + members {
            let child = self.lookaside[place];
            if bits::leaf(child).is_some() {
                continue;
            }
            if flaw == Flaw::NextNode {
                self.lookaside[place] = bits::of_child(None, at + NodeKind::Struct.words());
            }
            if flaw == Flaw::ChildElsewhere {
                self.lookaside[place] = bits::of_child(None, self.fixed.len());
                self.fixed.extend_from_within(bits::node(child)..);
            }
        }
    }

    /// The block that a flawed search takes instead of `block`; `sums` are those searched.
    pub(super) fn flawed_block(&self, sums: &[u64], block: usize) -> usize {
        if self.flaw == Some(Flaw::FirstOfEqual) {
            sums.partition_point(|sum| *sum < sums[block])
        } else {
            block
        }
    }
}
