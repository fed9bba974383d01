//! The walk over a type in packing order, without recursion: a stack of blocks that are under way.

use super::Datatype;
use super::kind::Block;

/// Elements of one type that follow each other at its extent, and that the walk does not open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements<'t> {
    /// The type of each element; it holds data.
    pub(super) child: &'t Datatype,
    /// How many, at least 1.
    pub(super) count: u64,
    /// Where the first one's origin is, in bytes.
    pub(super) offset: i64,
}

/// A type whose blocks are under way.
#[derive(Clone, Debug)]
struct Frame<'t> {
    node: &'t Datatype,
    /// Its origin, in bytes.
    base: i64,
    /// Blocks that remain after the present one begin with this number.
    next: u64,
    /// How many blocks it has.
    blocks: u64,
    /// The present block, and the number of its next element.
    block: Block<'t>,
    element: u64,
}

/// The walk; what answers true to `is_closed` is not opened.
#[derive(Clone, Debug)]
pub(super) struct Parts<'t> {
    stack: Vec<Frame<'t>>,
    is_closed: fn(&Datatype) -> bool,
}

impl<'t> Parts<'t> {
    /// Over `count` elements of `datatype`; a named type must be closed.
    pub(super) fn new(
        datatype: &'t Datatype,
        count: u64,
        is_closed: fn(&Datatype) -> bool,
    ) -> Self {
        // The elements are the only block of a frame of their own.
        let block = Block { displacement: 0, count, child: datatype };
        let root = Frame { node: datatype, base: 0, next: 0, blocks: 0, block, element: 0 };
        Self { stack: vec![root], is_closed }
    }

    /// From the elements that hold the packed byte `position`, which is below the size of all, on;
    /// with the position of that byte in what comes first.
    pub(super) fn from(
        datatype: &'t Datatype,
        count: u64,
        is_closed: fn(&Datatype) -> bool,
        position: u64,
    ) -> (Self, u64) {
        let mut parts = Self::new(datatype, count, is_closed);
        let mut rest = position;
        loop {
            let frame = parts.stack.last_mut().expect("the root is there");
            let child = frame.block.child;
            frame.element = rest / child.size();
            rest %= child.size();
            if is_closed(child) {
                return (parts, rest);
            }
            let mut inner = frame.open();
            let (number, within) = child.kind().block_at(rest);
            inner.block = child.kind().block(number);
            inner.next = number + 1;
            rest = within;
            parts.stack.push(inner);
        }
    }
}

impl Frame<'_> {
    /// The origin of the next element. Sums wrap: it is in range together with its displacement.
    fn origin(&self) -> i64 {
        let step = self.element.cast_signed().wrapping_mul(self.block.child.extent());
        self.base.wrapping_add(self.block.displacement).wrapping_add(step)
    }

    /// Enters the next element.
    fn open(&mut self) -> Self {
        let (node, base) = (self.block.child, self.origin());
        self.element += 1;
        let block = Block { displacement: 0, count: 0, child: node };
        Self { node, base, next: 0, blocks: node.kind().blocks(), block, element: 0 }
    }

    /// Goes on to the next block that holds data; false where there is none.
    fn advance(&mut self) -> bool {
        while self.element == self.block.count || self.block.child.size() == 0 {
            if self.next == self.blocks {
                return false;
            }
            self.block = self.node.kind().block(self.next);
            self.next += 1;
            self.element = 0;
        }
        true
    }
}

impl<'t> Iterator for Parts<'t> {
    type Item = Elements<'t>;

    fn next(&mut self) -> Option<Elements<'t>> {
        loop {
            let frame = self.stack.last_mut()?;
            if !frame.advance() {
                self.stack.pop();
                continue;
            }
            let child = frame.block.child;
            if (self.is_closed)(child) {
                let (offset, count) = (frame.origin(), frame.block.count - frame.element);
                frame.element = frame.block.count;
                return Some(Elements { child, count, offset });
            }
            let inner = frame.open();
            self.stack.push(inner);
        }
    }
}
