//! Handles as C ints and back.

use crate::mpi::asked::Asked;
use crate::mpi::rank_state::{Answer, RankState, Step};

/// Predefined handles are below it, and are ints as they are.
const PREDEFINED: u64 = 1 << 12;

/// Answers calls of functions that may be called at any time.
pub(super) fn call(_: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    let name = asked.function.name();
    if name.ends_with("_toint") {
        Some(Ok(Step::Returns(to_int(asked.word(0)))))
    } else if name.ends_with("_fromint") {
        Some(Ok(Step::Returns(from_int(asked.int(0)))))
    } else {
        None
    }
}

/// The lowest bits of other handles are those of no predefined one: without them a handle is an int.
const fn to_int(handle: u64) -> u64 {
    if handle < PREDEFINED { handle } else { PREDEFINED + handle / PREDEFINED }
}

fn from_int(int: i32) -> u64 {
    match u64::try_from(int) {
        Ok(int) if int >= PREDEFINED => (int - PREDEFINED) * PREDEFINED,
        Ok(int) => int,
        Err(_) => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions as mpi5;
    use crate::mpi::table::Table;

    #[test]
    fn a_handle_is_the_same_after_it_was_an_int() {
        let mut table = Table::new(15);
        for handle in [mpi5::COMM_WORLD, mpi5::DATATYPE_NULL, table.add('a'), table.add('b')] {
            let int = i32::try_from(to_int(handle)).expect("it fits");
            assert_eq!(from_int(int), handle);
        }
        assert_eq!(table.get(from_int(-1)), None);
    }
}
