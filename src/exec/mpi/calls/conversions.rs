//! Handles as C ints and back.

use crate::mpi::families::Conversions as F;
use crate::mpi::frame::Frame;
use crate::mpi::rank_state::{Answer, NextStep, RankState};

/// Predefined handles are below it, and are ints as they are.
const PREDEFINED: u64 = 1 << 12;

#[allow(clippy::unnecessary_wraps, reason = "the answer of a call")]
pub(super) fn call(_: &mut RankState, _: &mut Frame<'_>, call: F) -> Answer {
    Ok(NextStep::Returns(match call {
        F::Comm_toint(of) => to_int(of.comm.0),
        F::Errhandler_toint(of) => to_int(of.errhandler.0),
        F::File_toint(of) => to_int(of.file.0),
        F::Group_toint(of) => to_int(of.group.0),
        F::Info_toint(of) => to_int(of.info.0),
        F::Message_toint(of) => to_int(of.message.0),
        F::Op_toint(of) => to_int(of.op.0),
        F::Request_toint(of) => to_int(of.request.0),
        F::Session_toint(of) => to_int(of.session.0),
        F::Type_toint(of) => to_int(of.datatype.0),
        F::Win_toint(of) => to_int(of.win.0),
        F::Comm_fromint(of) => from_int(of.comm),
        F::Errhandler_fromint(of) => from_int(of.errhandler),
        F::File_fromint(of) => from_int(of.file),
        F::Group_fromint(of) => from_int(of.group),
        F::Info_fromint(of) => from_int(of.info),
        F::Message_fromint(of) => from_int(of.message),
        F::Op_fromint(of) => from_int(of.op),
        F::Request_fromint(of) => from_int(of.request),
        F::Session_fromint(of) => from_int(of.session),
        F::Type_fromint(of) => from_int(of.datatype),
        F::Win_fromint(of) => from_int(of.win),
    }))
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
