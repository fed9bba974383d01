//! Errors: what becomes of them, and the handlers that programs give to objects.

use crate::functions as mpi5;
use crate::mpi::args::{Callback, To, handle};
use crate::mpi::families::Errors as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
use crate::watch::note_once;

/// Applies the error handler of its object to an error; other answers pass.
pub(super) fn handled(state: &mut RankState, frame: &mut Frame<'_>, answer: Answer) -> Answer {
    match answer {
        Err(Fault::Error { class, why }) => raise(state, frame, class, why),
        other => other,
    }
}

fn raise(state: &mut RankState, frame: &mut Frame<'_>, class: i32, why: String) -> Answer {
    let object = state.errors.object();
    let handler = state.errors.handler(object);
    let function = state.errors.function(handler);
    if handler != mpi5::ERRORS_RETURN && function.is_none() {
        return Err(Fault::Error { class, why });
    }
    note_refusal(state, frame, class, &why);
    if let Some(function) = function {
        call_handler(state, frame, function, object, class)?;
    }
    Ok(NextStep::Returns(i64::from(class).cast_unsigned()))
}

/// Notes the first refusal of an unsupported operation, which a program may take for an error of its own and go on
/// without: the user gets a note, and the end of the program names it, where that is a failure.
fn note_refusal(state: &mut RankState, frame: &Frame<'_>, class: i32, why: &str) {
    if class == mpi5::ERR_UNSUPPORTED_OPERATION && state.refusal.is_none() {
        state.refusal = Some(format!("{}: {why}", frame.function.name()));
        let called = frame.place.process.called(frame.function, frame.caller());
        note_once(&format!("{called} is refused, and the program goes on: {why}"));
    }
}

/// The process runs an error handler, on an object and a code that it can change.
fn call_handler(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    function: u64,
    object: u64,
    code: i32,
) -> Result<(), Fault> {
    let room = frame.place.room(16)?;
    frame.place.process.put(room, &object.to_ne_bytes());
    frame.place.process.put(room + 8, &code.to_ne_bytes());
    state.call_back(frame.place, function, [room, room + 8, 0, 0, 0, 0]).map(drop)
}

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Comm_create_errhandler(of) => {
            create_handler(state, frame, of.comm_errhandler_fn, of.errhandler)
        }
        F::Win_create_errhandler(of) => {
            create_handler(state, frame, of.win_errhandler_fn, of.errhandler)
        }
        F::File_create_errhandler(of) => {
            create_handler(state, frame, of.file_errhandler_fn, of.errhandler)
        }
        F::Errhandler_free(of) => {
            let handler = frame.handle(of.errhandler)?;
            state.errors.check(handler)?;
            // Objects that have it go on having it: the function stays known.
            frame.put_handle(of.errhandler, mpi5::ERRHANDLER_NULL);
            done()
        }
        F::Comm_set_errhandler(of) => set_handler(state, of.comm, of.errhandler),
        F::Session_set_errhandler(of) => set_handler(state, of.session, of.errhandler),
        F::Win_set_errhandler(of) => set_handler(state, of.win, of.errhandler),
        F::File_set_errhandler(of) => set_handler(state, of.file, of.errhandler),
        F::Comm_get_errhandler(of) => get_handler(state, frame, of.comm, of.errhandler),
        F::Session_get_errhandler(of) => get_handler(state, frame, of.session, of.errhandler),
        F::Win_get_errhandler(of) => get_handler(state, frame, of.win, of.errhandler),
        F::File_get_errhandler(of) => get_handler(state, frame, of.file, of.errhandler),
        F::Comm_call_errhandler(of) => called_handler(state, frame, of.comm, of.errorcode),
        F::Session_call_errhandler(of) => called_handler(state, frame, of.session, of.errorcode),
        F::Win_call_errhandler(of) => called_handler(state, frame, of.win, of.errorcode),
        F::File_call_errhandler(of) => called_handler(state, frame, of.fh, of.errorcode),
        F::Error_class(of) => {
            frame.put_int(of.errorclass, state.errors.class(of.errorcode));
            done()
        }
        F::Error_string(of) => {
            let text = state.errors.text(of.errorcode);
            frame.put_text((of.string, of.resultlen), &text, 512);
            done()
        }
        F::Add_error_class(of) => {
            let class = state.errors.add(None);
            frame.put_int(of.errorclass, class);
            done()
        }
        F::Add_error_code(of) => {
            let code = state.errors.add(Some(of.errorclass));
            frame.put_int(of.errorcode, code);
            done()
        }
        F::Add_error_string(of) => {
            let text = frame.text(of.string)?;
            state.errors.set_text(of.errorcode, text)?;
            done()
        }
        F::Remove_error_class(of) => {
            state.errors.remove(of.errorclass)?;
            done()
        }
        F::Remove_error_code(of) => {
            state.errors.remove(of.errorcode)?;
            done()
        }
        F::Remove_error_string(of) => {
            state.errors.set_text(of.errorcode, String::new())?;
            done()
        }
    }
}

/// An error handler of the program, whose handle the process gets.
pub(super) fn create_handler(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    function: Callback,
    to: To<handle::Errhandler>,
) -> Answer {
    let handler = state.errors.add_handler(function.0);
    frame.put_handle(to, handler);
    done()
}

/// A handle of an object that has an error handler.
trait Handled {
    /// The object: errors are about it from now on.
    fn object(self, state: &mut RankState) -> Result<u64, Fault>;
}

impl Handled for handle::Comm {
    fn object(self, state: &mut RankState) -> Result<u64, Fault> {
        state.comm(self).map(|_| self.0)
    }
}

impl Handled for handle::Session {
    fn object(self, state: &mut RankState) -> Result<u64, Fault> {
        state.session(self).map(|()| self.0)
    }
}

impl Handled for handle::Win {
    fn object(self, state: &mut RankState) -> Result<u64, Fault> {
        state.win(self).map(|_| self.0)
    }
}

impl Handled for handle::File {
    fn object(self, state: &mut RankState) -> Result<u64, Fault> {
        state.errors.about(mpi5::FILE_NULL);
        if self.0 != mpi5::FILE_NULL {
            return Err(Fault::new(mpi5::ERR_FILE, "it is no file that MPI_File_open has opened"));
        }
        Ok(self.0)
    }
}

fn set_handler(state: &mut RankState, object: impl Handled, handler: handle::Errhandler) -> Answer {
    let object = object.object(state)?;
    state.errors.set_handler(object, handler)?;
    done()
}

fn get_handler(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    object: impl Handled,
    to: To<handle::Errhandler>,
) -> Answer {
    let object = object.object(state)?;
    frame.put_handle(to, state.errors.handler(object));
    done()
}

fn called_handler(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    object: impl Handled,
    code: i32,
) -> Answer {
    let object = object.object(state)?;
    let handler = state.errors.handler(object);
    if handler == mpi5::ERRORS_RETURN {
        return done();
    }
    let Some(function) = state.errors.function(handler) else {
        return Err(Fault::new(code, state.errors.text(code)));
    };
    call_handler(state, frame, function, object, code)?;
    done()
}
