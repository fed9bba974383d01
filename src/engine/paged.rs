//! A vector that grows without moving what it holds.
//!
//! A large job has millions of small records. A vector that doubles holds up to twice as much as it
//! uses, and three times while it moves; this one adds a page.

/// Values by their numbers, in pages of `PAGE`, a power of two.
#[derive(Clone, Debug)]
pub struct Paged<T, const PAGE: usize> {
    /// Behind the last value stand copies of the first one of its page: a page of known length is
    /// found without its length.
    pages: Vec<Box<[T; PAGE]>>,
    len: u32,
}

impl<T, const PAGE: usize> Default for Paged<T, PAGE> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const PAGE: usize> Paged<T, PAGE> {
    /// Without values.
    pub const fn new() -> Self {
        const { assert!(PAGE.is_power_of_two(), "a number is divided by shifting it") };
        Self { pages: Vec::new(), len: 0 }
    }

    /// How many values there are.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of a number, if there is one.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        (number < self.len).then(|| &self[number])
    }

    /// All values, in the order of their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pages.iter_mut().flat_map(|page| page.iter_mut()).take(self.len as usize)
    }
}

impl<T: Clone, const PAGE: usize> Paged<T, PAGE> {
    /// Adds a value; answers its number.
    ///
    /// # Panics
    ///
    /// With more than 2^32 values.
    pub fn push(&mut self, value: T) -> u32 {
        let number = self.len;
        self.len = number.checked_add(1).expect("fewer than 2^32 values");
        if (number as usize).is_multiple_of(PAGE) {
            let page = vec![value; PAGE].into_boxed_slice().try_into();
            self.pages.push(page.unwrap_or_else(|_| unreachable!("a page has this length")));
        } else {
            self[number] = value;
        }
        number
    }
}

impl<T, const PAGE: usize> std::ops::Index<u32> for Paged<T, PAGE> {
    type Output = T;
    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.pages[number as usize / PAGE][number as usize % PAGE]
    }
}

impl<T, const PAGE: usize> std::ops::IndexMut<u32> for Paged<T, PAGE> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.pages[number as usize / PAGE][number as usize % PAGE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_numbers_over_pages() {
        let mut paged = Paged::<u32, 64>::new();
        assert!(paged.is_empty());
        for value in 0..197 {
            assert_eq!((paged.push(value), paged.len()), (value, value + 1));
        }
        paged[100] = 7;
        assert_eq!((paged[63], paged[64], paged[100]), (63, 64, 7));
        assert_eq!((paged.get(196), paged.get(197)), (Some(&196), None));
        assert_eq!(paged.iter_mut().map(|value| *value).filter(|value| *value != 7).count(), 195);
    }

    #[test]
    fn a_value_never_moves() {
        let mut paged = Paged::<u32, 64>::new();
        let mut fill = |values: u32| {
            for value in 0..values {
                paged.push(value);
            }
            std::ptr::from_ref(&paged[0])
        };
        assert_eq!(fill(1), fill(1_000));
    }
}
