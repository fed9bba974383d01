//! Tables that a large job makes long: they grow by an eighth, where a vector doubles.
//!
//! A job of a million ranks has tens of millions of channels. A vector that doubles has room for up to twice as
//! many, and holds both memories while it moves.

/// Longer tables grow by this part of their length.
/// Method: an eighth that is unused is worth eight moves of each entry.
const PART: usize = 8;

/// Tables below this length double.
/// Method: a page or two are not worth a move.
const SHORT: usize = 1 << 10;

/// Appends `value` to a table whose length grows with the job.
#[inline]
pub fn push<T>(table: &mut Vec<T>, value: T) {
    if table.len() == table.capacity() {
        grow(table, 1);
    }
    table.push(value);
}

/// Makes a table at least `len` long, with `value` in new places.
#[inline]
pub fn extend_to<T: Clone>(table: &mut Vec<T>, len: usize, value: T) {
    if let Some(more) = len.checked_sub(table.capacity()).filter(|&more| more > 0) {
        grow(table, more + (table.capacity() - table.len()));
    }
    if len > table.len() {
        table.resize(len, value);
    }
}

/// Makes room for `more` entries, and for an eighth of the table.
#[cold]
fn grow<T>(table: &mut Vec<T>, more: usize) {
    if table.len() < SHORT {
        table.reserve(more);
    } else {
        table.reserve_exact(more.max(table.len() / PART));
    }
}

#[cfg(test)]
mod tests {
    use super::{extend_to, push};

    #[test]
    fn a_long_table_has_room_for_an_eighth_more() {
        let mut table = Vec::new();
        let mut moves = 0;
        for entry in 0..100_000_u32 {
            let room = table.capacity();
            push(&mut table, entry);
            moves += u32::from(table.capacity() != room);
            assert!(table.len() < 2_048 || table.capacity() <= table.len() * 9 / 8 + 1);
        }
        assert!((0..100_000).eq(table));
        assert!(moves < 60, "{moves} moves");
    }

    #[test]
    fn a_table_is_extended_as_far_as_it_must_be() {
        let mut table = vec![1_u8; 5_000];
        table.shrink_to_fit();
        extend_to(&mut table, 5_001, 2);
        assert_eq!((table.len(), table[5_000]), (5_001, 2));
        assert!(table.capacity() <= 5_000 + 5_000 / 8);
        extend_to(&mut table, 10, 3);
        assert_eq!(table.len(), 5_001);
        extend_to(&mut table, 20_000, 4);
        assert_eq!((table.len(), table[19_999]), (20_000, 4));
    }
}
