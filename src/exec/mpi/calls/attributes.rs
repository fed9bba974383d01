//! Attributes: words that a program keeps with a communicator, a datatype or a window, and functions that run when the
//! object is copied or freed.

use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::client::{Answer, Client, done};
use crate::mpi::fault::Fault;
use crate::mpi::objects::attributes::{Attributes, Key, Kind, Object, no_key};
use crate::mpi::objects::comms::Comms;
use crate::mpi::objects::errors::Errors;
use crate::place::Place;
use ::mpi::envelope::TAG_UB;

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(client: &mut Client, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Comm_create_keyval | F::Keyval_create => {
            create_key(&mut client.attributes, asked, Kind::Comm)
        }
        F::Type_create_keyval => create_key(&mut client.attributes, asked, Kind::Type),
        F::Win_create_keyval => create_key(&mut client.attributes, asked, Kind::Win),
        F::Comm_free_keyval | F::Keyval_free => free_key(&mut client.attributes, asked, Kind::Comm),
        F::Type_free_keyval => free_key(&mut client.attributes, asked, Kind::Type),
        F::Win_free_keyval => free_key(&mut client.attributes, asked, Kind::Win),
        F::Comm_set_attr | F::Attr_put => set_attribute(client, asked, Kind::Comm),
        F::Type_set_attr => set_attribute(client, asked, Kind::Type),
        F::Win_set_attr => set_attribute(client, asked, Kind::Win),
        F::Comm_get_attr | F::Attr_get => get_attribute(client, asked, Kind::Comm),
        F::Type_get_attr => get_attribute(client, asked, Kind::Type),
        F::Win_get_attr => get_attribute(client, asked, Kind::Win),
        F::Comm_delete_attr | F::Attr_delete => remove_attribute(client, asked, Kind::Comm),
        F::Type_delete_attr => remove_attribute(client, asked, Kind::Type),
        F::Win_delete_attr => remove_attribute(client, asked, Kind::Win),
        _ => return None,
    })
}

fn create_key(attributes: &mut Attributes, asked: &mut Asked<'_>, kind: Kind) -> Answer {
    let functions = [0, 1].map(|at| asked.word(at));
    let number = attributes.create(kind, functions, asked.word(3));
    asked.put_int(2, number);
    done()
}

fn free_key(attributes: &mut Attributes, asked: &mut Asked<'_>, kind: Kind) -> Answer {
    let address = asked.word(0);
    let bytes = asked.bytes(address, 4)?;
    attributes.free(kind, i32::from_ne_bytes(std::array::from_fn(|at| bytes[at])))?;
    asked.put_int(0, mpi5::KEYVAL_INVALID);
    done()
}

/// The object that argument 0 names.
fn object(client: &mut Client, asked: &Asked<'_>, kind: Kind) -> Result<Object, Fault> {
    let handle = asked.word(0);
    match kind {
        Kind::Comm => drop(client.comm(handle)?),
        Kind::Type => drop(client.types.tree(handle)?),
        Kind::Win => drop(client.win(handle)?),
    }
    Ok((kind, handle))
}

fn set_attribute(client: &mut Client, asked: &mut Asked<'_>, kind: Kind) -> Answer {
    let (object, number, value) = (object(client, asked, kind)?, asked.int(1), asked.word(2));
    let key = client.attributes.key(kind, number)?;
    let old = client.attributes.value(object, number);
    match old {
        Some(old) => run_delete(client, asked.place, object, (number, key), old)?,
        None if key.is_freed => return Err(no_key(number)),
        None => {}
    }
    client.attributes.set(object, number, value);
    done()
}

fn get_attribute(client: &mut Client, asked: &mut Asked<'_>, kind: Kind) -> Answer {
    let (object, number) = (object(client, asked, kind)?, asked.int(1));
    let value = match kind {
        Kind::Comm if predefined_value(&client.errors, &client.comms, number).is_some() => {
            let value = |key| predefined_value(&client.errors, &client.comms, key);
            Some(client.attributes.predefined(asked.place, number, value)?)
        }
        Kind::Win if (mpi5::WIN_BASE..=mpi5::WIN_MODEL).contains(&number) => {
            Some(predefined_of_window(client, asked.place, object.1, number)?)
        }
        Kind::Comm | Kind::Type | Kind::Win => {
            client.attributes.key(kind, number)?;
            client.attributes.value(object, number)
        }
    };
    if let Some(value) = value {
        asked.put_word(2, value);
    }
    asked.put_flag(3, value.is_some());
    done()
}

fn remove_attribute(client: &mut Client, asked: &mut Asked<'_>, kind: Kind) -> Answer {
    let (object, number) = (object(client, asked, kind)?, asked.int(1));
    client.attributes.key(kind, number)?;
    if client.attributes.value(object, number).is_none() {
        let why = format!("the object has no attribute under key {number}");
        return Err(Fault::new(mpi5::ERR_KEYVAL, why));
    }
    delete_attribute(client, asked.place, object, number)?;
    done()
}

/// An attribute goes, unless its delete function refuses.
fn delete_attribute(
    client: &mut Client,
    place: &mut Place,
    object: Object,
    number: i32,
) -> Result<(), Fault> {
    if let Some((key, value)) =
        client.attributes.known(number).zip(client.attributes.value(object, number))
    {
        run_delete(client, place, object, (number, key), value)?;
    }
    client.attributes.remove(object, number);
    Ok(())
}

/// An object is about to be freed: all its attributes go, the last set first.
pub(super) fn delete_all(
    client: &mut Client,
    place: &mut Place,
    object: Object,
) -> Result<(), Fault> {
    while let Some((number, _)) = client.attributes.all(object).last().copied() {
        delete_attribute(client, place, object, number)?;
    }
    if let (Kind::Win, handle) = object {
        client.attributes.forget_window(place, handle);
    }
    Ok(())
}

fn run_delete(
    client: &mut Client,
    place: &mut Place,
    (_, handle): Object,
    (number, key): (i32, Key),
    value: u64,
) -> Result<(), Fault> {
    // MPI_NULL_DELETE_FN is 0.
    if key.delete == 0 {
        return Ok(());
    }
    let words = [handle, word(number), value, key.extra, 0, 0];
    let result = client.call_back(place, key.delete, words)?;
    refused(result, "the delete function of an attribute")
}

/// An object is a copy of another one: it gets the attributes that their copy functions let pass.
pub(super) fn copy(
    client: &mut Client,
    place: &mut Place,
    (kind, old): Object,
    new: u64,
) -> Result<(), Fault> {
    let all = client.attributes.all((kind, old)).to_vec();
    for (number, value) in all {
        let key = client.attributes.key(kind, number)?;
        if let Some(value) = run_copy(client, place, old, (number, key), value)? {
            client.attributes.set((kind, new), number, value);
        }
    }
    Ok(())
}

fn run_copy(
    client: &mut Client,
    place: &mut Place,
    old: u64,
    (number, key): (i32, Key),
    value: u64,
) -> Result<Option<u64>, Fault> {
    match key.copy {
        mpi5::NULL_COPY_FN => return Ok(None),
        mpi5::DUP_FN => return Ok(Some(value)),
        _ => {}
    }
    let room = place.room(16)?;
    place.process.put(room, &[0; 16]);
    let words = [old, word(number), key.extra, value, room, room + 8];
    let result = client.call_back(place, key.copy, words)?;
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

/// What a predefined attribute of a window says: where it begins, or where the process has its size and so on.
fn predefined_of_window(
    client: &mut Client,
    place: &mut Place,
    handle: u64,
    key: i32,
) -> Result<u64, Fault> {
    let window = client.win(handle)?;
    if key == mpi5::WIN_BASE {
        return Ok(window.base);
    }
    let says = (window.bytes, window.unit, window.flavor);
    client.attributes.predefined_of_window(place, (handle, key), says)
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
