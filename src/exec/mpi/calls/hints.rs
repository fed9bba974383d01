//! Hints that communicators and windows get with info objects.

use super::infos::made;
use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::objects::infos::Infos;
use crate::mpi::rank_state::{Answer, RankState, done};

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Comm_set_info => {
            state.comm(asked.word(0)).map(drop).and_then(|()| give_hints(&mut state.infos, asked))
        }
        F::Comm_get_info => {
            state.comm(asked.word(0)).map(drop).and_then(|()| tell_hints(&mut state.infos, asked))
        }
        F::Win_set_info => {
            state.win(asked.word(0)).map(drop).and_then(|()| give_hints(&mut state.infos, asked))
        }
        F::Win_get_info => {
            state.win(asked.word(0)).map(drop).and_then(|()| tell_hints(&mut state.infos, asked))
        }
        _ => return None,
    })
}

fn give_hints(infos: &mut Infos, asked: &Asked<'_>) -> Answer {
    infos.hint(asked.word(0), asked.word(1))?;
    done()
}

fn tell_hints(infos: &mut Infos, asked: &mut Asked<'_>) -> Answer {
    let hints = infos.hints(asked.word(0));
    made(infos, asked, 1, hints)
}
