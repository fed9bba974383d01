//! The interface of MPI for tools (`MPI_T`): it has no variables, categories or events.

use crate::functions as mpi5;
use crate::mpi::args;
use crate::mpi::families::Tools as F;
use crate::mpi::frame::Frame;
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};

/// Answers calls; their errors are returned, and call no handler.
#[allow(clippy::wildcard_enum_match_arm, reason = "all others name what is not there")]
pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    if let F::T_init_thread(of) = call {
        state.tools += 1;
        frame.put_int(of.provided, of.required.min(mpi5::THREAD_SERIALIZED));
        return done();
    }
    if state.tools == 0 {
        return Ok(returns(mpi5::T_ERR_NOT_INITIALIZED));
    }
    match call {
        F::T_finalize => {
            state.tools -= 1;
            done()
        }
        F::T_cvar_get_num(args::T_cvar_get_num { num_cvar: number })
        | F::T_pvar_get_num(args::T_pvar_get_num { num_pvar: number })
        | F::T_category_get_num(args::T_category_get_num { num_cat: number })
        | F::T_event_get_num(args::T_event_get_num { num_events: number })
        | F::T_source_get_num(args::T_source_get_num { num_sources: number })
        | F::T_category_changed(args::T_category_changed { update_number: number }) => {
            frame.put_int(number, 0);
            done()
        }
        F::T_cvar_get_index(_)
        | F::T_pvar_get_index(_)
        | F::T_category_get_index(_)
        | F::T_event_get_index(_) => Ok(returns(mpi5::T_ERR_INVALID_NAME)),
        F::T_pvar_session_create(of) => {
            frame.put_handle(of.session, SESSION);
            done()
        }
        F::T_pvar_session_free(of) => {
            frame.put_handle(of.session, mpi5::T_PVAR_SESSION_NULL);
            done()
        }
        F::T_pvar_start(of) | F::T_pvar_stop(of) | F::T_pvar_reset(of)
            if of.handle.0 == mpi5::T_PVAR_ALL_HANDLES =>
        {
            done()
        }
        F::T_cvar_get_info(_)
        | F::T_pvar_get_info(_)
        | F::T_category_get_info(_)
        | F::T_category_get_cvars(_)
        | F::T_category_get_pvars(_)
        | F::T_category_get_categories(_)
        | F::T_category_get_events(_)
        | F::T_category_get_num_events(_)
        | F::T_event_get_info(_)
        | F::T_source_get_info(_)
        | F::T_source_get_timestamp(_)
        | F::T_cvar_handle_alloc(_)
        | F::T_pvar_handle_alloc(_)
        | F::T_event_handle_alloc(_) => Ok(returns(mpi5::T_ERR_INVALID_INDEX)),
        _ => Ok(returns(mpi5::T_ERR_INVALID_HANDLE)),
    }
}

/// All sessions of performance variables are alike, since none has any.
const SESSION: u64 = 1 << 12;

fn returns(code: i32) -> NextStep {
    NextStep::Returns(i64::from(code).cast_unsigned())
}
