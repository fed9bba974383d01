//! Info objects: keys with values, and the hints that communicators and windows have got.

use std::collections::BTreeMap;

use super::{Answer, Asked, Client, Fault, Table, done, mpi5};

/// The info objects of a rank.
#[derive(Debug)]
pub(super) struct Infos {
    made: Table<Info>,
    /// That of `MPI_INFO_ENV`.
    environment: Info,
    /// Hints of communicators and windows, by handle.
    hints: BTreeMap<u64, Info>,
}

/// Keys and values, in the order in which the keys came.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Info(Vec<(String, String)>);

impl Info {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(its, _)| its == key).map(|(_, value)| value.as_str())
    }

    pub(super) fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        match self.0.iter_mut().find(|(its, _)| *its == key) {
            Some((_, place)) => *place = value,
            None => self.0.push((key, value)),
        }
    }

    fn remove(&mut self, key: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(its, _)| its != key);
        self.0.len() < before
    }

    /// All keys of another one, with its values.
    fn merge(&mut self, other: Self) {
        for (key, value) in other.0 {
            self.set(key, value);
        }
    }
}

impl Infos {
    pub(super) fn new(size: u32) -> Self {
        let mut environment = Info::default();
        environment.set("maxprocs", size.to_string());
        Self { made: Table::new(9), environment, hints: BTreeMap::new() }
    }

    /// A handle for a new object.
    pub(super) fn add(&mut self, info: Info) -> u64 {
        self.made.add(info)
    }

    /// The object of a handle.
    fn get(&self, handle: u64) -> Result<&Info, Fault> {
        match handle {
            mpi5::INFO_ENV => Ok(&self.environment),
            other => self.made.get(other).ok_or_else(|| no_info(other)),
        }
    }

    /// The object of a handle, to be changed.
    fn get_mut(&mut self, handle: u64) -> Result<&mut Info, Fault> {
        self.made.get_mut(handle).ok_or_else(|| no_info(handle))
    }

    /// Whether an argument is an info object, or `MPI_INFO_NULL`.
    pub(super) fn check(&self, handle: u64) -> Result<(), Fault> {
        self.given(handle).map(drop)
    }

    /// What an argument says that may be `MPI_INFO_NULL`.
    fn given(&self, handle: u64) -> Result<Info, Fault> {
        if handle == mpi5::INFO_NULL { Ok(Info::default()) } else { self.get(handle).cloned() }
    }

    /// A communicator or a window is gone.
    pub(super) fn forget(&mut self, object: u64) {
        self.hints.remove(&object);
    }
}

impl Client {
    /// What may be called at any time.
    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn info_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Info_create | F::Get_hw_resource_info => self.made_info(asked, 0, Info::default()),
            F::Info_create_env => self.create_env(asked),
            F::Abi_get_info => {
                let mut info = Info::default();
                for kind in ["aint", "count", "offset"] {
                    info.set(format!("mpi_{kind}_size"), "8");
                }
                self.made_info(asked, 0, info)
            }
            F::Abi_get_fortran_info => {
                asked.put_word(0, mpi5::INFO_NULL);
                done()
            }
            F::Info_dup => self
                .infos
                .get(asked.word(0))
                .cloned()
                .and_then(|info| self.made_info(asked, 1, info)),
            F::Info_free => self.free_info(asked),
            F::Info_set => self.set_info(asked),
            F::Info_delete => self.delete_key(asked),
            F::Info_get => self.get_info(asked),
            F::Info_get_string => self.get_info_string(asked),
            F::Info_get_valuelen => self.get_length(asked),
            F::Info_get_nkeys => {
                self.infos.get(asked.word(0)).map(|info| info.0.len()).and_then(|length| {
                    asked.put_int(1, int(length));
                    done()
                })
            }
            F::Info_get_nthkey => self.get_key(asked),
            _ => return None,
        })
    }

    /// Hints of communicators and windows.
    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn hint_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Comm_set_info => {
                self.comm(asked.word(0)).map(drop).and_then(|()| self.give_hints(asked))
            }
            F::Comm_get_info => {
                self.comm(asked.word(0)).map(drop).and_then(|()| self.tell_hints(asked))
            }
            F::Win_set_info => {
                self.win(asked.word(0)).map(drop).and_then(|()| self.give_hints(asked))
            }
            F::Win_get_info => {
                self.win(asked.word(0)).map(drop).and_then(|()| self.tell_hints(asked))
            }
            _ => return None,
        })
    }

    /// An info object for argument `at`.
    pub(super) fn made_info(&mut self, asked: &mut Asked<'_>, at: usize, info: Info) -> Answer {
        let handle = self.infos.add(info);
        asked.put_word(at, handle);
        done()
    }

    fn create_env(&mut self, asked: &mut Asked<'_>) -> Answer {
        let count = asked.length(0)?;
        let mut words = Vec::with_capacity(count);
        for address in asked.words(1, count)? {
            words.push(asked.text_at(address)?);
        }
        let mut info = self.infos.environment.clone();
        if let Some((command, rest)) = words.split_first() {
            info.set("command", command.as_str());
            info.set("argv", rest.join(" "));
        }
        self.made_info(asked, 2, info)
    }

    fn free_info(&mut self, asked: &mut Asked<'_>) -> Answer {
        let handle = asked.at(0)?;
        self.infos.get_mut(handle)?;
        self.infos.made.remove(handle);
        asked.put_word(0, mpi5::INFO_NULL);
        done()
    }

    fn set_info(&mut self, asked: &mut Asked<'_>) -> Answer {
        let info = self.infos.get_mut(asked.word(0))?;
        let (key, value) = (key(asked)?, asked.text(2)?);
        if value.len() >= most(mpi5::MAX_INFO_VAL) {
            let why = format!("a value of {} bytes", value.len());
            return Err(Fault::new(mpi5::ERR_INFO_VALUE, why));
        }
        info.set(key, value);
        done()
    }

    fn delete_key(&mut self, asked: &mut Asked<'_>) -> Answer {
        let info = self.infos.get_mut(asked.word(0))?;
        let key = key(asked)?;
        if info.remove(&key) {
            return done();
        }
        Err(Fault::new(mpi5::ERR_INFO_NOKEY, format!("the info object has no key `{key}`")))
    }

    fn get_info(&mut self, asked: &mut Asked<'_>) -> Answer {
        let info = self.infos.get(asked.word(0))?;
        let (key, room) = (key(asked)?, asked.length(2)?);
        let value = info.get(&key);
        if let Some(value) = value {
            asked.put_string(3, value, room + 1);
        }
        asked.put_flag(4, value.is_some());
        done()
    }

    fn get_info_string(&mut self, asked: &mut Asked<'_>) -> Answer {
        let info = self.infos.get(asked.word(0))?;
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

    fn get_length(&mut self, asked: &mut Asked<'_>) -> Answer {
        let info = self.infos.get(asked.word(0))?;
        let value = info.get(&key(asked)?);
        if let Some(value) = value {
            asked.put_int(2, int(value.len()));
        }
        asked.put_flag(3, value.is_some());
        done()
    }

    fn get_key(&mut self, asked: &mut Asked<'_>) -> Answer {
        let info = self.infos.get(asked.word(0))?;
        let number = asked.int(1);
        let Some((key, _)) = usize::try_from(number).ok().and_then(|number| info.0.get(number))
        else {
            let why = format!("no key number {number} of {}", info.0.len());
            return Err(Fault::new(mpi5::ERR_ARG, why));
        };
        asked.put_string(2, key, most(mpi5::MAX_INFO_KEY));
        done()
    }

    fn give_hints(&mut self, asked: &Asked<'_>) -> Answer {
        self.hint(asked.word(0), asked.word(1))
    }

    /// An object gets the hints of an info object, or of none.
    pub(super) fn hint(&mut self, object: u64, info: u64) -> Answer {
        let mut given = self.infos.given(info)?;
        given.0.retain(|(key, _)| HINTS.contains(&key.as_str()));
        self.infos.hints.entry(object).or_default().merge(given);
        done()
    }

    fn tell_hints(&mut self, asked: &mut Asked<'_>) -> Answer {
        let hints = self.infos.hints.get(&asked.word(0)).cloned().unwrap_or_default();
        self.made_info(asked, 1, hints)
    }
}

/// The hints that MPI names; it says what a program asserts, not what changes.
const HINTS: [&str; 13] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
    "mpi_accumulate_granularity",
    "accumulate_ordering",
    "accumulate_ops",
    "alloc_shared_noncontig",
    "mpi_minimum_memory_alignment",
    "no_locks",
    "same_disp_unit",
    "same_size",
];

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

fn no_info(handle: u64) -> Fault {
    Fault::new(mpi5::ERR_INFO, format!("{handle:#x} is no info object that may be so used"))
}

fn most(bytes: i32) -> usize {
    usize::try_from(bytes).expect("a constant above 0")
}

fn int(length: usize) -> i32 {
    i32::try_from(length).expect("a value is short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_when_values_change() {
        let mut info = Info::default();
        for (key, value) in [("b", "1"), ("a", "2"), ("b", "3")] {
            info.set(key, value);
        }
        assert_eq!(info.0.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(info.get("b"), Some("3"));
        assert!(info.remove("b") && !info.remove("b"));
        let mut other = Info::default();
        other.set("a", "4");
        info.merge(other);
        assert_eq!(info.get("a"), Some("4"));
    }
}
