//! Info objects.

use std::ffi::c_char;

use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle, length};
use crate::mpi::families::Infos as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::infos::{Info, Infos};
use crate::mpi::rank_state::{Answer, RankState, done};

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    let infos = &mut state.infos;
    match call {
        F::Info_create(of) => made(infos, frame, of.info, Info::default()),
        F::Get_hw_resource_info(of) => made(infos, frame, of.hw_info, Info::default()),
        F::Info_create_env(of) => create_env(infos, frame, of),
        F::Abi_get_info(of) => {
            let mut info = Info::default();
            for kind in ["aint", "count", "offset"] {
                info.set(format!("mpi_{kind}_size"), "8");
            }
            made(infos, frame, of.info, info)
        }
        F::Abi_get_fortran_info(of) => {
            frame.put_handle(of.info, mpi5::INFO_NULL);
            done()
        }
        F::Info_dup(of) => {
            let info = infos.get(of.info)?.clone();
            made(infos, frame, of.newinfo, info)
        }
        F::Info_free(of) => free(infos, frame, of.info),
        F::Info_set(of) => set(infos, frame, of),
        F::Info_delete(of) => delete(infos, frame, of),
        F::Info_get(of) => get(infos, frame, of),
        F::Info_get_string(of) => get_string(infos, frame, of),
        F::Info_get_valuelen(of) => get_valuelen(infos, frame, of),
        F::Info_get_nkeys(of) => {
            let keys = infos.get(of.info)?.keys();
            frame.put_int(of.nkeys, int(keys));
            done()
        }
        F::Info_get_nthkey(of) => get_nthkey(infos, frame, of),
    }
}

/// A new info object, whose handle the process gets.
pub(super) fn made(
    infos: &mut Infos,
    frame: &mut Frame<'_>,
    to: To<handle::Info>,
    info: Info,
) -> Answer {
    let handle = infos.add(info);
    frame.put_handle(to, handle);
    done()
}

fn create_env(infos: &mut Infos, frame: &mut Frame<'_>, of: args::Info_create_env) -> Answer {
    let words = frame.texts(of.argv, length(of.argc)?)?;
    let mut info = infos.environment().clone();
    if let Some((command, rest)) = words.split_first() {
        info.set("command", command.as_str());
        info.set("argv", rest.join(" "));
    }
    made(infos, frame, of.info, info)
}

fn free(infos: &mut Infos, frame: &mut Frame<'_>, variable: To<handle::Info>) -> Answer {
    infos.free(frame.handle(variable)?)?;
    frame.put_handle(variable, mpi5::INFO_NULL);
    done()
}

fn set(infos: &mut Infos, frame: &mut Frame<'_>, of: args::Info_set) -> Answer {
    let info = infos.get_mut(of.info)?;
    let (key, value) = (key(frame, of.key)?, frame.text(of.value)?);
    if value.len() >= most(mpi5::MAX_INFO_VAL) {
        let why = format!("a value of {} bytes", value.len());
        return Err(Fault::new(mpi5::ERR_INFO_VALUE, why));
    }
    info.set(key, value);
    done()
}

fn delete(infos: &mut Infos, frame: &mut Frame<'_>, of: args::Info_delete) -> Answer {
    let info = infos.get_mut(of.info)?;
    let key = key(frame, of.key)?;
    if info.remove(&key) {
        return done();
    }
    Err(Fault::new(mpi5::ERR_INFO_NOKEY, format!("the info object has no key `{key}`")))
}

fn get(infos: &Infos, frame: &mut Frame<'_>, of: args::Info_get) -> Answer {
    let info = infos.get(of.info)?;
    let (key, room) = (key(frame, of.key)?, length(of.valuelen)?);
    let value = info.get(&key);
    if let Some(value) = value {
        frame.put_string(of.value, value, room + 1);
    }
    frame.put_flag(of.flag, value.is_some());
    done()
}

fn get_string(infos: &Infos, frame: &mut Frame<'_>, of: args::Info_get_string) -> Answer {
    let info = infos.get(of.info)?;
    let (key, room) = (key(frame, of.key)?, frame.ints(of.buflen, 1)?[0]);
    let Ok(room) = usize::try_from(room) else {
        return Err(Fault::new(mpi5::ERR_ARG, format!("room for {room} bytes")));
    };
    let value = info.get(&key);
    if let Some(value) = value {
        if room > 0 {
            frame.put_string(of.value, value, room);
        }
        frame.put_int(of.buflen, int(value.len() + 1));
    }
    frame.put_flag(of.flag, value.is_some());
    done()
}

fn get_valuelen(infos: &Infos, frame: &mut Frame<'_>, of: args::Info_get_valuelen) -> Answer {
    let info = infos.get(of.info)?;
    let value = info.get(&key(frame, of.key)?);
    if let Some(value) = value {
        frame.put_int(of.valuelen, int(value.len()));
    }
    frame.put_flag(of.flag, value.is_some());
    done()
}

fn get_nthkey(infos: &Infos, frame: &mut Frame<'_>, of: args::Info_get_nthkey) -> Answer {
    let info = infos.get(of.info)?;
    let Some(key) = usize::try_from(of.n).ok().and_then(|number| info.key(number)) else {
        let why = format!("no key number {} of {}", of.n, info.keys());
        return Err(Fault::new(mpi5::ERR_ARG, why));
    };
    frame.put_string(of.key, key, most(mpi5::MAX_INFO_KEY));
    done()
}

/// A key in the memory of the process.
fn key(frame: &mut Frame<'_>, key: To<c_char>) -> Result<String, Fault> {
    let key = frame.text(key)?;
    if key.is_empty() || key.len() >= most(mpi5::MAX_INFO_KEY) {
        let why =
            format!("a key of {} bytes; 1 to {} are allowed", key.len(), mpi5::MAX_INFO_KEY - 1);
        return Err(Fault::new(mpi5::ERR_INFO_KEY, why));
    }
    Ok(key)
}

fn most(bytes: i32) -> usize {
    usize::try_from(bytes).expect("a constant above 0")
}

fn int(length: usize) -> i32 {
    i32::try_from(length).expect("a value is short")
}
