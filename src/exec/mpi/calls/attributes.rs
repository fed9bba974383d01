//! Attributes: words that a program keeps with a communicator, a datatype or a window, and functions that run when the
//! object is copied or freed.

use crate::functions as mpi5;
use crate::mpi::args::{Address, Callback, To, handle};
use crate::mpi::families::Attributes as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::attributes::{Key, Kind, Object, no_key};
use crate::mpi::objects::comms::Comms;
use crate::mpi::objects::errors::Errors;
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
use crate::place::Place;
use ::mpi::envelope::TAG_UB;

/// Continuation when attributes are deleted.
type Then = Box<dyn FnOnce(&mut RankState, &mut Frame<'_>) -> Answer + Send>;
/// Continuation when attributes are copied, or one could not be.
type Copied = Box<dyn FnOnce(&mut RankState, &mut Frame<'_>, Result<(), Fault>) -> Answer + Send>;

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Comm_create_keyval(of) => {
            let functions = [of.comm_copy_attr_fn, of.comm_delete_attr_fn];
            create_key(state, frame, Kind::Comm, functions, of.extra_state, of.comm_keyval)
        }
        F::Keyval_create(of) => {
            let functions = [of.copy_fn, of.delete_fn];
            create_key(state, frame, Kind::Comm, functions, of.extra_state, of.keyval)
        }
        F::Type_create_keyval(of) => {
            let functions = [of.type_copy_attr_fn, of.type_delete_attr_fn];
            create_key(state, frame, Kind::Type, functions, of.extra_state, of.type_keyval)
        }
        F::Win_create_keyval(of) => {
            let functions = [of.win_copy_attr_fn, of.win_delete_attr_fn];
            create_key(state, frame, Kind::Win, functions, of.extra_state, of.win_keyval)
        }
        F::Comm_free_keyval(of) => free_key(state, frame, Kind::Comm, of.comm_keyval),
        F::Keyval_free(of) => free_key(state, frame, Kind::Comm, of.keyval),
        F::Type_free_keyval(of) => free_key(state, frame, Kind::Type, of.type_keyval),
        F::Win_free_keyval(of) => free_key(state, frame, Kind::Win, of.win_keyval),
        F::Comm_set_attr(of) => {
            set_attribute(state, frame, of.comm, of.comm_keyval, of.attribute_val)
        }
        F::Attr_put(of) => set_attribute(state, frame, of.comm, of.keyval, of.attribute_val),
        F::Type_set_attr(of) => {
            set_attribute(state, frame, of.datatype, of.type_keyval, of.attribute_val)
        }
        F::Win_set_attr(of) => set_attribute(state, frame, of.win, of.win_keyval, of.attribute_val),
        F::Comm_get_attr(of) => {
            get_attribute(state, frame, of.comm, of.comm_keyval, (of.attribute_val, of.flag))
        }
        F::Attr_get(of) => {
            get_attribute(state, frame, of.comm, of.keyval, (of.attribute_val, of.flag))
        }
        F::Type_get_attr(of) => {
            get_attribute(state, frame, of.datatype, of.type_keyval, (of.attribute_val, of.flag))
        }
        F::Win_get_attr(of) => {
            get_attribute(state, frame, of.win, of.win_keyval, (of.attribute_val, of.flag))
        }
        F::Comm_delete_attr(of) => remove_attribute(state, frame, of.comm, of.comm_keyval),
        F::Attr_delete(of) => remove_attribute(state, frame, of.comm, of.keyval),
        F::Type_delete_attr(of) => remove_attribute(state, frame, of.datatype, of.type_keyval),
        F::Win_delete_attr(of) => remove_attribute(state, frame, of.win, of.win_keyval),
    }
}

fn create_key(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    kind: Kind,
    functions: [Callback; 2],
    Address(extra): Address,
    to: To<i32>,
) -> Answer {
    let number = state.attributes.create(kind, functions.map(|function| function.0), extra);
    frame.put_int(to, number);
    done()
}

fn free_key(state: &mut RankState, frame: &mut Frame<'_>, kind: Kind, variable: To<i32>) -> Answer {
    let key = frame.int(variable)?;
    state.attributes.free(kind, key)?;
    frame.put_int(variable, mpi5::KEYVAL_INVALID);
    done()
}

/// A handle of an object that has attributes.
trait Described {
    fn object(self, state: &mut RankState) -> Result<Object, Fault>;
}

impl Described for handle::Comm {
    fn object(self, state: &mut RankState) -> Result<Object, Fault> {
        state.comm(self).map(|_| (Kind::Comm, self.0))
    }
}

impl Described for handle::Datatype {
    fn object(self, state: &mut RankState) -> Result<Object, Fault> {
        state.types.tree(self).map(|_| (Kind::Type, self.0))
    }
}

impl Described for handle::Win {
    fn object(self, state: &mut RankState) -> Result<Object, Fault> {
        state.win(self).map(|_| (Kind::Win, self.0))
    }
}

fn set_attribute(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    object: impl Described,
    number: i32,
    Address(value): Address,
) -> Answer {
    let object = object.object(state)?;
    let key = state.attributes.key(object.0, number)?;
    let set = move |state: &mut RankState, _: &mut Frame<'_>| {
        state.attributes.set(object, number, value);
        done()
    };
    match state.attributes.value(object, number) {
        Some(old) => run_delete(state, frame, (object, number, key), old, Box::new(set)),
        None if key.is_freed => Err(no_key(number)),
        None => set(state, frame),
    }
}

fn get_attribute(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    object: impl Described,
    number: i32,
    (to, flag): (Address, To<i32>),
) -> Answer {
    let object = object.object(state)?;
    let (kind, handle) = object;
    let value = match kind {
        Kind::Comm if predefined_value(&state.errors, &state.comms, number).is_some() => {
            let value = |key| predefined_value(&state.errors, &state.comms, key);
            Some(state.attributes.predefined(frame.place, number, value)?)
        }
        Kind::Win if (mpi5::WIN_BASE..=mpi5::WIN_MODEL).contains(&number) => {
            Some(predefined_of_window(state, frame.place, handle::Win(handle), number)?)
        }
        Kind::Comm | Kind::Type | Kind::Win => {
            state.attributes.key(kind, number)?;
            state.attributes.value(object, number)
        }
    };
    if let Some(value) = value {
        frame.put_word(to, value);
    }
    frame.put_flag(flag, value.is_some());
    done()
}

fn remove_attribute(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    object: impl Described,
    number: i32,
) -> Answer {
    let object = object.object(state)?;
    state.attributes.key(object.0, number)?;
    if state.attributes.value(object, number).is_none() {
        let why = format!("the object has no attribute under key {number}");
        return Err(Fault::new(mpi5::ERR_KEYVAL, why));
    }
    delete_attribute(state, frame, object, number, Box::new(|_, _| done()))
}

/// An attribute goes, unless its delete function refuses.
fn delete_attribute(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    object: Object,
    number: i32,
    then: Then,
) -> Answer {
    let gone: Then = Box::new(move |state, frame| {
        state.attributes.remove(object, number);
        then(state, frame)
    });
    let known = state.attributes.known(number).zip(state.attributes.value(object, number));
    match known {
        Some((key, value)) => run_delete(state, frame, (object, number, key), value, gone),
        None => gone(state, frame),
    }
}

/// An object is about to be freed: all its attributes go, the last set first.
pub(super) fn delete_all(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    object: Object,
    then: Then,
) -> Answer {
    if let Some((number, _)) = state.attributes.all(object).last().copied() {
        let rest: Then = Box::new(move |state, frame| delete_all(state, frame, object, then));
        return delete_attribute(state, frame, object, number, rest);
    }
    if let (Kind::Win, handle) = object {
        state.attributes.forget_window(frame.place, handle);
    }
    then(state, frame)
}

fn run_delete(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    (object, number, key): (Object, i32, Key),
    value: u64,
    then: Then,
) -> Answer {
    // MPI_NULL_DELETE_FN is 0.
    if key.delete == 0 {
        return then(state, frame);
    }
    let words = [object.1, word(number), value, key.extra, 0, 0];
    Ok(NextStep::calls_back(state, key.delete, words, move |state, frame, result| {
        refused(result, "the delete function of an attribute")?;
        then(state, frame)
    }))
}

/// An object is a copy of another one: it gets the attributes that their copy functions let pass. `then` learns
/// whether one has refused.
pub(super) fn copy(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    (kind, old): Object,
    new: u64,
    then: Copied,
) -> Answer {
    let all = state.attributes.all((kind, old)).to_vec();
    copy_rest(state, frame, (kind, old), new, all.into_iter(), then)
}

fn copy_rest(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    (kind, old): Object,
    new: u64,
    mut rest: std::vec::IntoIter<(i32, u64)>,
    then: Copied,
) -> Answer {
    for (number, value) in rest.by_ref() {
        let key = match state.attributes.key(kind, number) {
            Ok(key) => key,
            Err(fault) => return then(state, frame, Err(fault)),
        };
        match key.copy {
            mpi5::NULL_COPY_FN => {}
            mpi5::DUP_FN => state.attributes.set((kind, new), number, value),
            function => {
                // The function may call MPI, which may need such memory, too.
                let room = frame.place.process.allocate(16)?;
                frame.place.process.put(room, &[0; 16]);
                let words = [old, word(number), key.extra, value, room, room + 8];
                return Ok(NextStep::calls_back(
                    state,
                    function,
                    words,
                    move |state, frame, result| {
                        let copied = copied_value(frame.place, room, result);
                        frame.place.process.free(room);
                        match copied {
                            Ok(value) => {
                                if let Some(value) = value {
                                    state.attributes.set((kind, new), number, value);
                                }
                                copy_rest(state, frame, (kind, old), new, rest, then)
                            }
                            Err(fault) => then(state, frame, Err(fault)),
                        }
                    },
                ));
            }
        }
    }
    then(state, frame, Ok(()))
}

/// The value that an attribute copy function has left in memory; `None` where the attribute is not copied.
fn copied_value(place: &mut Place, room: u64, result: u64) -> Result<Option<u64>, Fault> {
    refused(result, "the copy function of an attribute")?;
    let mut bytes = [0; 16];
    place.process.read(room, &mut bytes)?;
    let copied = u64::from_ne_bytes(std::array::from_fn(|at| bytes[at]));
    let is_copied = bytes[8..12] != [0; 4];
    Ok(is_copied.then_some(copied))
}

/// The value of a predefined attribute.
fn predefined_value(errors: &Errors, comms: &Comms, key: i32) -> Option<i32> {
    Some(match key {
        mpi5::TAG_UB => TAG_UB,
        mpi5::IO => mpi5::ANY_SOURCE,
        mpi5::HOST => mpi5::PROC_NULL,
        mpi5::WTIME_IS_GLOBAL => 1,
        mpi5::APPNUM => 0,
        mpi5::LASTUSEDCODE => errors.last_code(),
        mpi5::UNIVERSE_SIZE => comms.universe().cast_signed(),
        _ => return None,
    })
}

/// Value of a predefined attribute of a window: its base address, or the address at which the process has its size and
/// so on.
fn predefined_of_window(
    state: &mut RankState,
    place: &mut Place,
    handle: handle::Win,
    key: i32,
) -> Result<u64, Fault> {
    let window = state.win(handle)?;
    if key == mpi5::WIN_BASE {
        return Ok(window.base);
    }
    let says = (window.bytes, window.unit, window.flavor);
    state.attributes.predefined_of_window(place, (handle.0, key), says)
}

fn word(int: i32) -> u64 {
    i64::from(int).cast_unsigned()
}

/// The error that a function of the program returns is that of the function of MPI.
#[allow(clippy::cast_possible_truncation, reason = "an int is the low half of its word")]
fn refused(result: u64, who: &str) -> Result<(), Fault> {
    match result.cast_signed() as i32 {
        mpi5::SUCCESS => Ok(()),
        code => Err(Fault::new(code, format!("{who} returns error {code}"))),
    }
}
