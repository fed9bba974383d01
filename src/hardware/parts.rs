//! Parts of a memory, as sets of ranges.

use std::ops::Range;

/// Parts of a memory, in order; those that touch are one.
#[derive(Clone, Debug, Default)]
pub struct Parts(Vec<Range<u64>>);

impl Parts {
    /// The part that a range lies in.
    pub fn holding(&self, asked: &Range<u64>) -> Option<Range<u64>> {
        let part = self.touching(asked).first()?;
        (part.start <= asked.start && part.end >= asked.end).then(|| part.clone())
    }

    /// Whether a range lies in one of them.
    pub fn hold(&self, asked: &Range<u64>) -> bool {
        self.holding(asked).is_some()
    }

    /// The places of the parts that overlap or touch a range.
    fn places(&self, asked: &Range<u64>) -> Range<usize> {
        let first = self.0.partition_point(|part| part.end < asked.start);
        let count = self.0[first..].iter().take_while(|part| part.start <= asked.end).count();
        first..first + count
    }

    fn touching(&self, asked: &Range<u64>) -> &[Range<u64>] {
        &self.0[self.places(asked)]
    }

    /// Adds a range: by how much the parts grow.
    pub fn add(&mut self, asked: &Range<u64>) -> u64 {
        let length = |range: &Range<u64>| range.end - range.start;
        let touching = self.touching(asked);
        let before: u64 = touching.iter().map(length).sum();
        let whole = touching.iter().fold(asked.clone(), |whole, part| {
            whole.start.min(part.start)..whole.end.max(part.end)
        });
        let grown = length(&whole) - before;
        self.0.splice(self.places(asked), [whole]);
        grown
    }

    /// Removes the part that begins there: its length.
    pub fn remove(&mut self, start: u64) -> u64 {
        let at = self.0.binary_search_by_key(&start, |part| part.start);
        let part = at.map_or(0..0, |at| self.0.remove(at));
        part.end - part.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_grow_by_what_is_new_and_those_that_touch_are_one() {
        let mut parts = Parts::default();
        assert_eq!([parts.add(&(10..20)), parts.add(&(30..40)), parts.add(&(15..25))], [10, 10, 5]);
        assert!(!parts.hold(&(24..31)));
        assert_eq!(parts.add(&(25..30)), 5);
        assert!(parts.hold(&(10..40)));
        assert_eq!([parts.remove(11), parts.remove(10), parts.remove(10)], [0, 30, 0]);
    }
}
