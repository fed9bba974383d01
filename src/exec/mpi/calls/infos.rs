//! Info objects.

use crate::functions as mpi5;
use crate::mpi::args::To;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::infos::{Info, Infos};
use crate::mpi::rank_state::{Answer, RankState, done};

/// Answers calls of functions that may be called at any time.
#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    let infos = &mut state.infos;
    Some(match asked.function {
        F::Info_create | F::Get_hw_resource_info => made(infos, asked, 0, Info::default()),
        F::Info_create_env => create_env(infos, asked),
        F::Abi_get_info => {
            let mut info = Info::default();
            for kind in ["aint", "count", "offset"] {
                info.set(format!("mpi_{kind}_size"), "8");
            }
            made(infos, asked, 0, info)
        }
        F::Abi_get_fortran_info => {
            asked.put_word(0, mpi5::INFO_NULL);
            done()
        }
        F::Info_dup => {
            infos.get(asked.word(0)).cloned().and_then(|info| made(infos, asked, 1, info))
        }
        F::Info_free => free(infos, asked),
        F::Info_set => set(infos, asked),
        F::Info_delete => delete(infos, asked),
        F::Info_get => get(infos, asked),
        F::Info_get_string => get_string(infos, asked),
        F::Info_get_valuelen => get_valuelen(infos, asked),
        F::Info_get_nkeys => infos.get(asked.word(0)).map(Info::keys).and_then(|length| {
            asked.put_int(1, int(length));
            done()
        }),
        F::Info_get_nthkey => get_nthkey(infos, asked),
        _ => return None,
    })
}

/// An info object for argument `at`.
pub(super) fn made(infos: &mut Infos, asked: &mut Asked<'_>, at: usize, info: Info) -> Answer {
    let handle = infos.add(info);
    asked.put_word(at, handle);
    done()
}

fn create_env(infos: &mut Infos, asked: &mut Asked<'_>) -> Answer {
    let count = asked.length(0)?;
    let words = asked.texts(To::new(asked.word(1)), count)?;
    let mut info = infos.environment().clone();
    if let Some((command, rest)) = words.split_first() {
        info.set("command", command.as_str());
        info.set("argv", rest.join(" "));
    }
    made(infos, asked, 2, info)
}

fn free(infos: &mut Infos, asked: &mut Asked<'_>) -> Answer {
    let handle = asked.at(0)?;
    infos.free(handle)?;
    asked.put_word(0, mpi5::INFO_NULL);
    done()
}

fn set(infos: &mut Infos, asked: &mut Asked<'_>) -> Answer {
    let info = infos.get_mut(asked.word(0))?;
    let (key, value) = (key(asked)?, asked.text(2)?);
    if value.len() >= most(mpi5::MAX_INFO_VAL) {
        let why = format!("a value of {} bytes", value.len());
        return Err(Fault::new(mpi5::ERR_INFO_VALUE, why));
    }
    info.set(key, value);
    done()
}

fn delete(infos: &mut Infos, asked: &mut Asked<'_>) -> Answer {
    let info = infos.get_mut(asked.word(0))?;
    let key = key(asked)?;
    if info.remove(&key) {
        return done();
    }
    Err(Fault::new(mpi5::ERR_INFO_NOKEY, format!("the info object has no key `{key}`")))
}

fn get(infos: &Infos, asked: &mut Asked<'_>) -> Answer {
    let info = infos.get(asked.word(0))?;
    let (key, room) = (key(asked)?, asked.length(2)?);
    let value = info.get(&key);
    if let Some(value) = value {
        asked.put_string(3, value, room + 1);
    }
    asked.put_flag(4, value.is_some());
    done()
}

fn get_string(infos: &Infos, asked: &mut Asked<'_>) -> Answer {
    let info = infos.get(asked.word(0))?;
    let (key, room) = (key(asked)?, asked.ints(2, 1)?[0]);
    let Ok(room) = usize::try_from(room) else {
        return Err(Fault::new(mpi5::ERR_ARG, format!("room for {room} bytes")));
    };
    let value = info.get(&key);
    if let Some(value) = value {
        if room > 0 {
            asked.put_string(3, value, room);
        }
        asked.put_int(2, int(value.len() + 1));
    }
    asked.put_flag(4, value.is_some());
    done()
}

fn get_valuelen(infos: &Infos, asked: &mut Asked<'_>) -> Answer {
    let info = infos.get(asked.word(0))?;
    let value = info.get(&key(asked)?);
    if let Some(value) = value {
        asked.put_int(2, int(value.len()));
    }
    asked.put_flag(3, value.is_some());
    done()
}

fn get_nthkey(infos: &Infos, asked: &mut Asked<'_>) -> Answer {
    let info = infos.get(asked.word(0))?;
    let number = asked.int(1);
    let Some(key) = usize::try_from(number).ok().and_then(|number| info.key(number)) else {
        let why = format!("no key number {number} of {}", info.keys());
        return Err(Fault::new(mpi5::ERR_ARG, why));
    };
    asked.put_string(2, key, most(mpi5::MAX_INFO_KEY));
    done()
}

/// The key that argument 1 points to.
fn key(asked: &mut Asked<'_>) -> Result<String, Fault> {
    let key = asked.text(1)?;
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
