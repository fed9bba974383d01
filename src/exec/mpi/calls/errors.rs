//! Errors: what becomes of them, and the handlers that programs give to objects.

use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::errors::Errors;
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use crate::watch::note_once;

/// Applies the error handler of its object to an error; other answers pass.
pub(super) fn handled(state: &mut RankState, asked: &mut Asked<'_>, answer: Answer) -> Answer {
    match answer {
        Err(Fault::Error { class, why }) => raise(state, asked, class, why),
        other => other,
    }
}

fn raise(state: &mut RankState, asked: &mut Asked<'_>, class: i32, why: String) -> Answer {
    let object = state.errors.object();
    let handler = state.errors.handler(object);
    let function = state.errors.function(handler);
    if handler != mpi5::ERRORS_RETURN && function.is_none() {
        return Err(Fault::Error { class, why });
    }
    note_refusal(state, asked, class, &why);
    if let Some(function) = function {
        call_handler(state, asked, function, object, class)?;
    }
    Ok(Step::Returns(i64::from(class).cast_unsigned()))
}

/// Notes the first refusal of an unsupported operation, which a program may take for an error of its own and go on
/// without: the user gets a note, and the end of the program names it, where that is a failure.
fn note_refusal(state: &mut RankState, asked: &Asked<'_>, class: i32, why: &str) {
    if class == mpi5::ERR_UNSUPPORTED_OPERATION && state.refusal.is_none() {
        state.refusal = Some(format!("{}: {why}", asked.function.name()));
        let called = asked.place.process.called(asked.function, asked.caller());
        note_once(&format!("{called} is refused, and the program goes on: {why}"));
    }
}

/// The process runs an error handler, on an object and a code that it can change.
fn call_handler(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    function: u64,
    object: u64,
    code: i32,
) -> Result<(), Fault> {
    let room = asked.place.room(16)?;
    asked.place.process.put(room, &object.to_ne_bytes());
    asked.place.process.put(room + 8, &code.to_ne_bytes());
    state.call_back(asked.place, function, [room, room + 8, 0, 0, 0, 0]).map(drop)
}

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Comm_create_errhandler
        | F::Session_create_errhandler
        | F::Win_create_errhandler
        | F::File_create_errhandler => {
            let handler = state.errors.add_handler(asked.word(0));
            asked.put_word(1, handler);
            done()
        }
        F::Errhandler_free => {
            asked.at(0).and_then(|handler| state.errors.check(handler)).and_then(|()| {
                // Objects that have it go on having it: the function stays known.
                asked.put_word(0, mpi5::ERRHANDLER_NULL);
                done()
            })
        }
        F::Comm_set_errhandler
        | F::Session_set_errhandler
        | F::Win_set_errhandler
        | F::File_set_errhandler => {
            object(state, asked).and_then(|()| set_handler(&mut state.errors, asked))
        }
        F::Comm_get_errhandler
        | F::Session_get_errhandler
        | F::Win_get_errhandler
        | F::File_get_errhandler => {
            object(state, asked).and_then(|()| get_handler(&state.errors, asked))
        }
        F::Comm_call_errhandler
        | F::Session_call_errhandler
        | F::Win_call_errhandler
        | F::File_call_errhandler => {
            object(state, asked).and_then(|()| called_handler(state, asked))
        }
        F::Error_class => {
            asked.put_int(1, state.errors.class(asked.int(0)));
            done()
        }
        F::Error_string => {
            let text = state.errors.text(asked.int(0));
            asked.put_text((1, 2), &text, 512);
            done()
        }
        F::Add_error_class => {
            let class = state.errors.add(None);
            asked.put_int(0, class);
            done()
        }
        F::Add_error_code => {
            let code = state.errors.add(Some(asked.int(0)));
            asked.put_int(1, code);
            done()
        }
        F::Add_error_string => asked.text(1).and_then(|text| {
            state.errors.set_text(asked.int(0), text)?;
            done()
        }),
        F::Remove_error_class | F::Remove_error_code => {
            state.errors.remove(asked.int(0)).and_then(|()| done())
        }
        F::Remove_error_string => {
            state.errors.set_text(asked.int(0), String::new()).and_then(|()| done())
        }
        _ => return None,
    })
}

/// The object that argument 0 names: errors are about it from now on.
#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
fn object(state: &mut RankState, asked: &Asked<'_>) -> Result<(), Fault> {
    use mpi5::Function as F;
    let handle = asked.word(0);
    match asked.function {
        F::Session_set_errhandler | F::Session_get_errhandler | F::Session_call_errhandler => {
            state.session(handle)
        }
        F::Win_set_errhandler | F::Win_get_errhandler | F::Win_call_errhandler => {
            state.win(handle).map(drop)
        }
        F::File_set_errhandler | F::File_get_errhandler | F::File_call_errhandler => {
            state.errors.about(mpi5::FILE_NULL);
            if handle != mpi5::FILE_NULL {
                return Err(Fault::new(
                    mpi5::ERR_FILE,
                    "it is no file that MPI_File_open has opened",
                ));
            }
            Ok(())
        }
        _ => state.comm(handle).map(drop),
    }
}

fn set_handler(errors: &mut Errors, asked: &Asked<'_>) -> Answer {
    errors.set_handler(asked.word(0), asked.word(1))?;
    done()
}

fn get_handler(errors: &Errors, asked: &mut Asked<'_>) -> Answer {
    asked.put_word(1, errors.handler(asked.word(0)));
    done()
}

fn called_handler(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (object, code) = (asked.word(0), asked.int(1));
    let handler = state.errors.handler(object);
    if handler == mpi5::ERRORS_RETURN {
        return done();
    }
    let Some(function) = state.errors.function(handler) else {
        return Err(Fault::new(code, state.errors.text(code)));
    };
    call_handler(state, asked, function, object, code)?;
    done()
}
