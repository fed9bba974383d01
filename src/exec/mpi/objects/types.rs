//! Datatypes, by their handles: the named ones, and those that programs make of them.

mod named;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::functions as mpi5;
use crate::mpi::args::{self, Address, handle};
use crate::mpi::arithmetic::{Element, Group};
use crate::mpi::data::{Data, elements};
use crate::mpi::fault::Fault;
use crate::mpi::table::Table;
use crate::watch::note_once;
use ::mpi::datatype::Datatype;
use ::mpi::operator::{Datatype as Number, Operator};
use named::Named;

/// The datatypes of a rank.
#[derive(Debug)]
pub(crate) struct Types {
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

/// The arguments of a constructor.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    /// Which constructor.
    pub(crate) combiner: i32,
    /// Counts and other integers, in the order of MPI.
    pub(crate) integers: Vec<i64>,
    /// Displacements in bytes, and bounds.
    pub(crate) addresses: Vec<i64>,
    /// Datatypes.
    pub(crate) types: Vec<Part>,
}

/// A datatype that another one is made of: it stays what it was when the program frees its handle.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    handle: u64,
    made: Option<Arc<Made>>,
}

impl Contents {
    /// The named type of which all elements are, where they are of one.
    fn basic(&self) -> Option<u64> {
        let mut parts = self.types.iter().map(|part| match &part.made {
            None => Some(part.handle),
            Some(made) => made.contents.basic(),
        });
        let first = parts.next()??;
        parts.all(|part| part == Some(first)).then_some(first)
    }

    /// Whether one of these named types is in it.
    fn has(&self, named: &[u64]) -> bool {
        self.types.iter().any(|part| match &part.made {
            Some(made) => made.contents.has(named),
            None => named.contains(&part.handle),
        })
    }
}

impl Types {
    pub(crate) const fn new() -> Self {
        Self { made: Table::new(7), renamed: BTreeMap::new() }
    }

    /// The tree of a handle.
    pub(crate) fn tree(
        &self,
        handle::Datatype(handle): handle::Datatype,
    ) -> Result<&Datatype, Fault> {
        if let Some(named) = named::of(handle) {
            return Ok(&named.tree);
        }
        self.made.get(handle).map(|made| &made.tree).ok_or_else(|| no_type(handle))
    }

    /// The tree of a handle, with which data can move.
    pub(crate) fn committed(&self, handle: handle::Datatype) -> Result<&Datatype, Fault> {
        match self.made.get(handle.0) {
            Some(Made { is_committed: false, .. }) => {
                Err(Fault::new(mpi5::ERR_TYPE, "the datatype is not committed"))
            }
            Some(made) => Ok(&made.tree),
            None => self.tree(handle),
        }
    }

    /// The named type of which all elements of a datatype are, where they are of one.
    pub(crate) fn basic(&self, handle: u64) -> Option<u64> {
        let Some(made) = self.made.get(handle) else {
            return named::of(handle).map(|_| handle);
        };
        made.contents.basic()
    }

    /// The named type that a datatype is, by another handle or as the constructors for Fortran say.
    fn named(&self, handle: u64) -> Option<&'static Named> {
        if let Some(made) = self.made.get(handle) {
            let Contents { combiner, types, integers, .. } = &*made.contents;
            return match (*combiner, &types[..]) {
                (mpi5::COMBINER_DUP, [same]) => self.named(same.handle),
                (combiner, _) => named::of(named::like(combiner, integers)?),
            };
        }
        named::of(handle)
    }

    /// The element of a datatype that one of MPI's operators combines.
    ///
    /// # Errors
    ///
    /// Where it is not defined on them, or the simulator does not carry it.
    pub(crate) fn operand(&self, operator: Operator, datatype: u64) -> Result<Element, Fault> {
        let words =
            || format!("MPI_{} on {}", operator.name().to_uppercase(), self.called(datatype));
        let named = self.named(datatype);
        let group = named.and_then(|named| named.group).filter(|group| group.takes(operator));
        let Some((named, group)) = named.zip(group) else {
            return Err(Fault::new(mpi5::ERR_OP, format!("MPI does not define {}", words())));
        };
        tell_of_characters(group);
        named
            .element
            .ok_or_else(|| Fault::not_carried(format!("the simulator does not carry {}", words())))
    }

    /// The numbers that elements of a datatype are where they are only moved; without numbers, its bytes.
    pub(crate) fn moved(&self, datatype: u64) -> Number {
        match self.named(datatype).and_then(|named| named.element) {
            Some(Element::Number(number)) => number,
            Some(_) | None => Number::Uint8,
        }
    }

    /// The numbers as which elements of a datatype are compared and swapped.
    pub(crate) fn swapped(&self, datatype: u64) -> Result<Number, Fault> {
        let named = self.named(datatype);
        let number = named.and_then(|named| named.element).and_then(Element::swapped);
        let Some((group, number)) = named.and_then(|named| named.group).zip(number) else {
            let why =
                format!("elements of {} cannot be compared and swapped", self.called(datatype));
            return Err(Fault::new(mpi5::ERR_TYPE, why));
        };
        tell_of_characters(group);
        Ok(number)
    }

    /// The data of a buffer.
    pub(crate) fn data(&self, buffer: args::Buffer) -> Result<Data, Fault> {
        let args::Buffer { address, count, datatype } = buffer;
        self.elements(address, count.natural()?, datatype)
    }

    /// `count` elements of a datatype at an address. Of no elements some programs name no type.
    pub(crate) fn elements(
        &self,
        Address(address): Address,
        count: u64,
        datatype: handle::Datatype,
    ) -> Result<Data, Fault> {
        if count == 0 && datatype.0 == mpi5::DATATYPE_NULL {
            return Ok(Data::Plain { address, bytes: 0 });
        }
        elements(address, count, self.committed(datatype)?)
    }

    /// A datatype in words.
    pub(crate) fn called(&self, handle: u64) -> String {
        match self.name(handle::Datatype(handle)) {
            Ok(name) if !name.is_empty() => name,
            Ok(_) => "a datatype that the program has made".to_owned(),
            Err(_) => format!("{handle:#x}, which is no datatype"),
        }
    }

    /// Whether a datatype is one of these named ones, or made of one.
    pub(crate) fn is_made_of(
        &self,
        handle::Datatype(handle): handle::Datatype,
        named: &[u64],
    ) -> bool {
        named.contains(&handle)
            || self.made.get(handle).is_some_and(|made| made.contents.has(named))
    }

    /// Combiner and arguments that a datatype was constructed with; `None` of a named one.
    pub(crate) fn contents(
        &self,
        handle: handle::Datatype,
    ) -> Result<Option<Arc<Contents>>, Fault> {
        match self.made.get(handle.0) {
            Some(made) => Ok(Some(Arc::clone(&made.contents))),
            None => self.tree(handle).map(|_| None),
        }
    }

    /// The datatype of a handle as a part of another one.
    pub(crate) fn part(&self, handle::Datatype(handle): handle::Datatype) -> Result<Part, Fault> {
        if named::of(handle).is_some() {
            return Ok(Part { handle, made: None });
        }
        let made = self.made.get(handle).ok_or_else(|| no_type(handle))?;
        Ok(Part { handle, made: Some(Arc::new(made.clone())) })
    }

    /// A handle for a datatype that another one is made of: of a named one its own.
    pub(crate) fn add_part(&mut self, part: &Part) -> u64 {
        match &part.made {
            None => part.handle,
            Some(made) => self.made.add(Made::clone(made)),
        }
    }

    /// A handle for a new datatype, with which data cannot move yet.
    pub(crate) fn add(&mut self, tree: Datatype, contents: Contents) -> u64 {
        let (contents, name) = (Arc::new(contents), String::new());
        self.made.add(Made { tree, contents, is_committed: false, name })
    }

    /// The datatype of these arguments of a constructor for Fortran: as the shortest named type that has such numbers.
    /// The same arguments give the same one.
    pub(crate) fn like(&mut self, combiner: i32, integers: &[i64]) -> Option<u64> {
        let like = named::like(combiner, integers)?;
        let known = self.made.iter().find(|(_, made)| {
            made.contents.combiner == combiner && made.contents.integers == integers
        });
        if let Some((handle, _)) = known {
            return Some(handle);
        }
        let tree = named::of(like).expect("it is named").tree.clone();
        let (integers, addresses, types) = (integers.to_vec(), Vec::new(), Vec::new());
        let handle = self.add(tree, Contents { combiner, integers, addresses, types });
        self.commit(handle::Datatype(handle)).expect("it was made");
        Some(handle)
    }

    /// Data can move with a datatype.
    pub(crate) fn commit(&mut self, handle: handle::Datatype) -> Result<(), Fault> {
        match self.made.get_mut(handle.0) {
            Some(made) => made.is_committed = true,
            None => drop(self.tree(handle)?),
        }
        Ok(())
    }

    /// A datatype is gone.
    pub(crate) fn remove(&mut self, handle: u64) {
        self.made.remove(handle);
    }

    /// The program gives a datatype a name.
    pub(crate) fn rename(
        &mut self,
        handle::Datatype(handle): handle::Datatype,
        name: String,
    ) -> Result<(), Fault> {
        match self.made.get_mut(handle) {
            Some(made) => made.name = name,
            None if named::of(handle).is_some() => drop(self.renamed.insert(handle, name)),
            None => return Err(no_type(handle)),
        }
        Ok(())
    }

    /// The name of a datatype.
    pub(crate) fn name(&self, handle::Datatype(handle): handle::Datatype) -> Result<String, Fault> {
        match (named::of(handle), self.made.get(handle)) {
            (Some(named), _) => Ok(match self.renamed.get(&handle) {
                Some(name) => name.clone(),
                None => format!("MPI_{}", named.name),
            }),
            (None, Some(made)) => Ok(made.name.clone()),
            (None, None) if handle == mpi5::DATATYPE_NULL => Ok("MPI_DATATYPE_NULL".to_owned()),
            (None, None) => Err(no_type(handle)),
        }
    }
}

fn no_type(handle: u64) -> Fault {
    let why = match handle {
        mpi5::DATATYPE_NULL => "MPI_DATATYPE_NULL is no datatype".to_owned(),
        other => format!("{other:#x} is no datatype"),
    };
    Fault::new(mpi5::ERR_TYPE, why)
}

/// MPI's operators on elements that the library does not combine: a pair has the same place at all ranks.
pub(crate) static FOREIGN: LazyLock<Vec<(Operator, Element)>> = LazyLock::new(named::foreign);

/// MPI defines no operator on characters.
fn tell_of_characters(group: Group) {
    if group == Group::Character {
        note_once(
            "MPI defines no operator on MPI_CHAR: the elements are combined as signed numbers of one byte, as MPICH does",
        );
    }
}
