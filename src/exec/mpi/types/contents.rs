//! What a datatype was made of: `MPI_Type_get_envelope` and `MPI_Type_get_contents`.

use std::sync::Arc;

use super::super::{Answer, Asked, Client, Fault, done, mpi5};
use super::{Made, Types, named, no_type};

/// The arguments of a constructor.
#[derive(Clone, Debug)]
pub(in super::super) struct Contents {
    /// Which constructor.
    pub(in super::super) combiner: i32,
    /// Counts and other integers, in the order of MPI.
    pub(in super::super) integers: Vec<i64>,
    /// Displacements in bytes, and bounds.
    pub(in super::super) addresses: Vec<i64>,
    /// Datatypes.
    pub(in super::super) types: Vec<Part>,
}

/// A datatype that another one is made of: it stays what it was when the program frees its handle.
#[derive(Clone, Debug)]
pub(in super::super) struct Part {
    handle: u64,
    made: Option<Arc<Made>>,
}

impl Part {
    /// The handle that the constructor got.
    pub(in super::super) const fn handle(&self) -> u64 {
        self.handle
    }
}

impl Contents {
    /// The named type of which all elements are, where they are of one.
    pub(super) fn basic(&self) -> Option<u64> {
        let mut parts = self.types.iter().map(|part| match &part.made {
            None => Some(part.handle),
            Some(made) => made.contents.basic(),
        });
        let first = parts.next()??;
        parts.all(|part| part == Some(first)).then_some(first)
    }
}

impl Types {
    /// Whether a datatype is one of these named ones, or made of one.
    pub(in super::super) fn is_made_of(&self, handle: u64, named: &[u64]) -> bool {
        named.contains(&handle)
            || self.made.get(handle).is_some_and(|made| made.contents.has(named))
    }
}

impl Contents {
    fn has(&self, named: &[u64]) -> bool {
        self.types.iter().any(|part| match &part.made {
            Some(made) => made.contents.has(named),
            None => named.contains(&part.handle),
        })
    }
}

impl Client {
    /// The datatype of a handle as a part of another one.
    pub(super) fn part(&self, handle: u64) -> Result<Part, Fault> {
        if named::of(handle).is_some() {
            return Ok(Part { handle, made: None });
        }
        let made = self.types.made.get(handle).ok_or_else(|| no_type(handle))?;
        Ok(Part { handle, made: Some(Arc::new(made.clone())) })
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn contents_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Type_get_envelope => self.envelope(asked, false),
            F::Type_get_envelope_c => self.envelope(asked, true),
            F::Type_get_contents => self.contents(asked, false),
            F::Type_get_contents_c => self.contents(asked, true),
            _ => return None,
        })
    }

    fn envelope(&self, asked: &mut Asked<'_>, is_large: bool) -> Answer {
        let handle = asked.word(0);
        let (combiner, lengths) = match self.types.made.get(handle) {
            Some(Made { contents, .. }) => {
                let Contents { combiner, integers, addresses, types } = &**contents;
                (*combiner, [integers.len(), addresses.len(), types.len()])
            }
            None if named::of(handle).is_some() => (mpi5::COMBINER_NAMED, [0; 3]),
            None => return Err(no_type(handle)),
        };
        let lengths = lengths.map(|length| i64::try_from(length).expect("the length of a list"));
        if is_large {
            // No large counts: the constructors' numbers are reported as integers.
            for (at, length) in [lengths[0], lengths[1], 0, lengths[2]].into_iter().enumerate() {
                asked.put_long(1 + at, length);
            }
            asked.put_int(5, combiner);
        } else {
            for (at, length) in lengths.into_iter().enumerate() {
                asked.put_count(1 + at, Some(length));
            }
            asked.put_int(4, combiner);
        }
        done()
    }

    fn contents(&mut self, asked: &mut Asked<'_>, is_large: bool) -> Answer {
        let handle = asked.word(0);
        let Some(Made { contents, .. }) = self.types.made.get(handle) else {
            self.types.tree(handle)?;
            return Err(Fault::new(mpi5::ERR_TYPE, "a named datatype has no contents"));
        };
        let contents = Arc::clone(contents);
        let Contents { integers, addresses, types, .. } = &*contents;
        let (rooms, places) =
            if is_large { ([1, 2, 4], [5, 6, 8]) } else { ([1, 2, 3], [4, 5, 6]) };
        let needed = [integers.len(), addresses.len(), types.len()];
        for (room, needed) in rooms.into_iter().zip(needed) {
            if asked.length(room)? < needed {
                return Err(Fault::new(mpi5::ERR_ARG, format!("an array of {needed} is needed")));
            }
        }
        let integers = integers.iter().map(|number| i32::try_from(*number));
        let integers = integers.collect::<Result<Vec<_>, _>>();
        let integers =
            integers.map_err(|_| Fault::new(mpi5::ERR_TYPE, "a count is beyond an int"))?;
        asked.put_ints(places[0], integers);
        asked.put_words(places[1], addresses.iter().map(|address| address.cast_unsigned()));
        let handles: Vec<u64> = types
            .iter()
            .map(|part| match &part.made {
                None => part.handle,
                Some(made) => self.types.made.add(Made::clone(made)),
            })
            .collect();
        asked.put_words(places[2], handles);
        done()
    }
}
