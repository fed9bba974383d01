//! Hints that communicators and windows get with info objects.

use super::infos::made;
use crate::mpi::args::{To, handle};
use crate::mpi::families::Hints as F;
use crate::mpi::frame::Frame;
use crate::mpi::objects::infos::Infos;
use crate::mpi::rank_state::{Answer, RankState, done};

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Comm_set_info(of) => {
            state.comm(of.comm)?;
            state.infos.hint(of.comm.0, of.info)?;
            done()
        }
        F::Comm_get_info(of) => {
            state.comm(of.comm)?;
            tell_hints(&mut state.infos, frame, of.comm.0, of.info_used)
        }
        F::Win_set_info(of) => {
            state.win(of.win)?;
            state.infos.hint(of.win.0, of.info)?;
            done()
        }
        F::Win_get_info(of) => {
            state.win(of.win)?;
            tell_hints(&mut state.infos, frame, of.win.0, of.info_used)
        }
    }
}

fn tell_hints(
    infos: &mut Infos,
    frame: &mut Frame<'_>,
    object: u64,
    to: To<handle::Info>,
) -> Answer {
    let hints = infos.hints(object);
    made(infos, frame, to, hints)
}
