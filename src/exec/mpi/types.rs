//! Datatypes: the named ones, and those that programs make of them.

mod chosen;
mod constructors;
mod contents;
mod named;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::attributes::Kind;
use super::operators::Element;
use super::{Answer, Asked, Client, Fault, Table, done, mpi5};
use ::mpi::datatype::{Datatype, DatatypeError};
pub(super) use contents::Contents;

/// The datatypes of a rank.
#[derive(Debug)]
pub(super) struct Types {
    made: Table<Made>,
    /// Names that the program has given to named types.
    renamed: BTreeMap<u64, String>,
}

/// A datatype that the program has made.
#[derive(Clone, Debug)]
struct Made {
    tree: Datatype,
    contents: Arc<Contents>,
    is_committed: bool,
    name: String,
}

impl Types {
    pub(super) const fn new() -> Self {
        Self { made: Table::new(7), renamed: BTreeMap::new() }
    }

    /// The tree of a handle.
    pub(super) fn tree(&self, handle: u64) -> Result<&Datatype, Fault> {
        if let Some(named) = named::of(handle) {
            return Ok(&named.tree);
        }
        self.made.get(handle).map(|made| &made.tree).ok_or_else(|| no_type(handle))
    }

    /// The tree of a handle, with which data can move.
    pub(super) fn committed(&self, handle: u64) -> Result<&Datatype, Fault> {
        match self.made.get(handle) {
            Some(Made { is_committed: false, .. }) => {
                Err(Fault::new(mpi5::ERR_TYPE, "the datatype is not committed"))
            }
            Some(made) => Ok(&made.tree),
            None => self.tree(handle),
        }
    }

    /// The named type of which all elements of a datatype are, where they are of one.
    pub(super) fn basic(&self, handle: u64) -> Option<u64> {
        let Some(made) = self.made.get(handle) else {
            return named::of(handle).map(|_| handle);
        };
        made.contents.basic()
    }

    /// What operators are defined on.
    pub(super) fn element(&self, handle: u64) -> Option<Element> {
        if let Some(made) = self.made.get(handle) {
            let Contents { combiner, types, integers, .. } = &*made.contents;
            return match (*combiner, &types[..]) {
                (mpi5::COMBINER_DUP, [same]) => self.element(same.handle()),
                (combiner, _) => named::of(chosen::like(combiner, integers)?)?.element,
            };
        }
        named::of(handle)?.element
    }
}

impl Client {
    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn type_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Type_size => self.types.tree(asked.word(0)).map(Datatype::size).and_then(|size| {
                asked.put_count(1, i64::try_from(size).ok());
                done()
            }),
            F::Type_size_x => self.types.tree(asked.word(0)).map(Datatype::size).and_then(|size| {
                asked.put_word(1, size);
                done()
            }),
            F::Type_get_extent | F::Type_get_extent_x => {
                self.bounds(asked, |tree| (tree.lb(), tree.extent()))
            }
            F::Type_get_true_extent | F::Type_get_true_extent_x => {
                self.bounds(asked, |tree| (tree.true_lb(), tree.true_extent().cast_signed()))
            }
            F::Type_commit => self.commit(asked),
            F::Type_free => self.free_type(asked),
            F::Type_set_name => self.name_type(asked),
            F::Type_get_name => self.type_name(asked),
            F::Type_match_size => match_size(asked),
            _ => {
                let others = [Self::constructor_call, Self::contents_call, Self::choice_call];
                return others.iter().find_map(|family| family(self, asked));
            }
        })
    }

    fn bounds(&self, asked: &mut Asked<'_>, which: impl Fn(&Datatype) -> (i64, i64)) -> Answer {
        let (lower, extent) = which(self.types.tree(asked.word(0))?);
        asked.put_long(1, lower);
        asked.put_long(2, extent);
        done()
    }

    /// A datatype is made, and argument `at` gets its handle.
    fn made_type(
        &mut self,
        asked: &mut Asked<'_>,
        at: usize,
        tree: Result<Datatype, DatatypeError>,
        contents: Contents,
    ) -> Answer {
        let handle = self.new_type(tree.map_err(wrong_type)?, contents);
        asked.put_word(at, handle);
        done()
    }

    fn new_type(&mut self, tree: Datatype, contents: Contents) -> u64 {
        let (contents, name) = (Arc::new(contents), String::new());
        self.types.made.add(Made { tree, contents, is_committed: false, name })
    }

    fn commit(&mut self, asked: &mut Asked<'_>) -> Answer {
        let handle = asked.at(0)?;
        match self.types.made.get_mut(handle) {
            Some(made) => made.is_committed = true,
            None => drop(self.types.tree(handle)?),
        }
        done()
    }

    fn free_type(&mut self, asked: &mut Asked<'_>) -> Answer {
        let handle = asked.at(0)?;
        self.types.tree(handle)?;
        if self.types.made.get(handle).is_none() {
            return Err(Fault::new(mpi5::ERR_TYPE, "a predefined datatype cannot be freed"));
        }
        self.delete_attributes(asked.place, (Kind::Type, handle))?;
        self.types.made.remove(handle);
        asked.put_word(0, mpi5::DATATYPE_NULL);
        done()
    }

    fn name_type(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (handle, name) = (asked.word(0), asked.text(1)?);
        match self.types.made.get_mut(handle) {
            Some(made) => {
                made.name = name;
                done()
            }
            None if named::of(handle).is_some() => {
                self.types.renamed.insert(handle, name);
                done()
            }
            None => Err(no_type(handle)),
        }
    }

    fn type_name(&self, asked: &mut Asked<'_>) -> Answer {
        let handle = asked.word(0);
        let name = match (named::of(handle), self.types.made.get(handle)) {
            (Some(named), _) => match self.types.renamed.get(&handle) {
                Some(name) => name.clone(),
                None => format!("MPI_{}", named.name),
            },
            (None, Some(made)) => made.name.clone(),
            (None, None) if handle == mpi5::DATATYPE_NULL => "MPI_DATATYPE_NULL".to_owned(),
            (None, None) => return Err(no_type(handle)),
        };
        asked.put_text(1, &name, 128);
        done()
    }
}

/// The named type of a class with a size.
fn match_size(asked: &mut Asked<'_>) -> Answer {
    let (class, size) = (asked.int(0), asked.int(1));
    let found = match (class, size) {
        (mpi5::TYPECLASS_INTEGER, 1) => mpi5::INT8_T,
        (mpi5::TYPECLASS_INTEGER, 2) => mpi5::INT16_T,
        (mpi5::TYPECLASS_INTEGER, 4) => mpi5::INT32_T,
        (mpi5::TYPECLASS_INTEGER, 8) => mpi5::INT64_T,
        (mpi5::TYPECLASS_REAL, 4) => mpi5::FLOAT,
        (mpi5::TYPECLASS_REAL, 8) => mpi5::DOUBLE,
        (mpi5::TYPECLASS_REAL, 16) => mpi5::LONG_DOUBLE,
        (mpi5::TYPECLASS_COMPLEX, 8) => mpi5::C_FLOAT_COMPLEX,
        (mpi5::TYPECLASS_COMPLEX, 16) => mpi5::C_DOUBLE_COMPLEX,
        (mpi5::TYPECLASS_COMPLEX, 32) => mpi5::C_LONG_DOUBLE_COMPLEX,
        (_, _) => {
            let why = format!("no named type of class {class} has {size} bytes");
            return Err(Fault::new(mpi5::ERR_ARG, why));
        }
    };
    asked.put_word(2, found);
    done()
}

fn no_type(handle: u64) -> Fault {
    Fault::new(mpi5::ERR_TYPE, format!("{handle:#x} is no datatype"))
}

fn wrong_type(error: DatatypeError) -> Fault {
    Fault::new(mpi5::ERR_ARG, error.to_string())
}
