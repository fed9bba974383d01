//! The interface of MPI for tools (`MPI_T`): it has no variables, categories or events.

use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::rank_state::{Answer, RankState, Step, done};

/// Answers calls of functions that may be called at any time. Their errors are returned, and call no handler.
#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    if !asked.function.name().starts_with("MPI_T_") {
        return None;
    }
    if asked.function == F::T_init_thread {
        state.tools += 1;
        asked.put_int(1, asked.int(0).min(mpi5::THREAD_SERIALIZED));
        return Some(done());
    }
    if state.tools == 0 {
        return Some(Ok(returns(mpi5::T_ERR_NOT_INITIALIZED)));
    }
    Some(match asked.function {
        F::T_finalize => {
            state.tools -= 1;
            done()
        }
        F::T_cvar_get_num
        | F::T_pvar_get_num
        | F::T_category_get_num
        | F::T_event_get_num
        | F::T_source_get_num
        | F::T_category_changed => {
            asked.put_int(0, 0);
            done()
        }
        F::T_cvar_get_index
        | F::T_pvar_get_index
        | F::T_category_get_index
        | F::T_event_get_index => Ok(returns(mpi5::T_ERR_INVALID_NAME)),
        F::T_pvar_session_create => {
            asked.put_word(0, SESSION);
            done()
        }
        F::T_pvar_session_free => {
            asked.put_word(0, mpi5::T_PVAR_SESSION_NULL);
            done()
        }
        F::T_pvar_start | F::T_pvar_stop | F::T_pvar_reset
            if asked.word(1) == mpi5::T_PVAR_ALL_HANDLES =>
        {
            done()
        }
        F::T_cvar_get_info
        | F::T_pvar_get_info
        | F::T_category_get_info
        | F::T_category_get_cvars
        | F::T_category_get_pvars
        | F::T_category_get_categories
        | F::T_category_get_events
        | F::T_category_get_num_events
        | F::T_event_get_info
        | F::T_source_get_info
        | F::T_source_get_timestamp
        | F::T_cvar_handle_alloc
        | F::T_pvar_handle_alloc
        | F::T_event_handle_alloc => Ok(returns(mpi5::T_ERR_INVALID_INDEX)),
        _ => Ok(returns(mpi5::T_ERR_INVALID_HANDLE)),
    })
}

/// All sessions of performance variables are alike, since none has any.
const SESSION: u64 = 1 << 12;

fn returns(code: i32) -> Step {
    Step::Returns(i64::from(code).cast_unsigned())
}
