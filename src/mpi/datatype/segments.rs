//! A type as runs of bytes in packing order, made one after the other as they are requested.
//!
//! Source: `rma` Sec. 3.1 (segments: any part of the packed data can be worked on by itself).

use std::ops::Range;

use super::parts::{Elements, Parts};
use super::{Datatype, DatatypeError};

/// A run of bytes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Segment {
    /// Where it begins, in bytes from the origin.
    pub offset: i64,
    /// Its bytes, at least 1.
    pub length: u64,
}

/// Runs in packing order; no run begins where the one before it ends.
#[derive(Clone, Debug)]
pub struct Segments<'t> {
    parts: Parts<'t>,
    /// Runs of one type at equal distances that come next.
    coming: Option<Elements<'t>>,
    /// Bytes to leave out of the next run.
    skip: u64,
    /// Bytes that may still come.
    left: u64,
    /// A run that the next one may continue.
    open: Option<Segment>,
}

impl Datatype {
    /// The runs of `count` elements.
    ///
    /// # Errors
    ///
    /// [`DatatypeError::Overflow`] where they are beyond 64 bits.
    pub fn segments(&self, count: u64) -> Result<Segments<'_>, DatatypeError> {
        self.segments_of(count, 0..self.packed(count)?)
    }

    /// The runs of the packed bytes `range` of `count` elements.
    ///
    /// # Errors
    ///
    /// As [`Self::segments`], and [`DatatypeError::Range`] where there are no such bytes.
    pub fn segments_of(
        &self,
        count: u64,
        range: Range<u64>,
    ) -> Result<Segments<'_>, DatatypeError> {
        self.span(count)?;
        let packed = self.packed(count)?;
        if range.start > range.end || range.end > packed {
            return Err(DatatypeError::Range { from: range.start, to: range.end, packed });
        }
        let left = range.end - range.start;
        let (parts, skip) = if left == 0 {
            (Parts::new(self, 0, Self::is_one_run), 0)
        } else {
            Parts::from(self, count, Self::is_one_run, range.start)
        };
        Ok(Segments { parts, coming: None, skip, left, open: None })
    }
}

impl Segments<'_> {
    /// The next run, which may begin where the one before it ends.
    fn run(&mut self) -> Option<Segment> {
        if self.left == 0 {
            return None;
        }
        let mut elements = self.coming.take().or_else(|| self.parts.next())?;
        let (child, offset) = (elements.child, elements.offset);
        let mut length = child.size();
        if child.is_dense() {
            length *= elements.count;
        } else if elements.count > 1 {
            elements.count -= 1;
            elements.offset = offset.wrapping_add(child.extent());
            self.coming = Some(elements);
        }
        let skip = std::mem::take(&mut self.skip);
        let offset = offset.wrapping_add(child.true_lb()).wrapping_add(skip.cast_signed());
        let length = (length - skip).min(self.left);
        self.left -= length;
        Some(Segment { offset, length })
    }
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        loop {
            let Some(run) = self.run() else { return self.open.take() };
            match &mut self.open {
                Some(open) if open.offset.wrapping_add(open.length.cast_signed()) == run.offset => {
                    open.length += run.length;
                }
                open => {
                    if let Some(done) = open.replace(run) {
                        return Some(done);
                    }
                }
            }
        }
    }
}
