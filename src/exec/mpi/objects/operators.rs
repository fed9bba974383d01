//! Operators of reductions: those of MPI, and functions of the program.
//!
//! Operators on integers and floating-point numbers are the library's. What it does not have (complex numbers, truth
//! values, pairs with other types than two ints, functions of the program) it knows by a number.

use super::types::Types;
use crate::functions as mpi5;
use crate::mpi::arithmetic::{Element, predefined, takes};
use crate::mpi::fault::Fault;
use crate::mpi::table::Table;
use ::mpi::datatype::Datatype as Tree;
use ::mpi::operator::{Operator, Reduction};

/// The operators of a rank.
#[derive(Debug)]
pub(crate) struct Operators {
    made: Table<Made>,
    /// What each number stands for.
    foreign: Vec<Foreign>,
}

/// A function of the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Made {
    pub(crate) function: u64,
    pub(crate) commutes: bool,
    /// Whether it takes large counts.
    pub(crate) is_large: bool,
}

/// An operator that the library does not have, on elements of a type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Foreign {
    /// A function of the program.
    Function { made: Made, datatype: u64, tree: Tree },
    /// One of MPI's.
    Known { operator: u64, on: Element },
}

impl Operators {
    pub(crate) const fn new() -> Self {
        Self { made: Table::new(6), foreign: Vec::new() }
    }

    fn number(&mut self, foreign: Foreign) -> Result<u16, Fault> {
        let at = self.foreign.iter().position(|known| *known == foreign).unwrap_or_else(|| {
            self.foreign.push(foreign);
            self.foreign.len() - 1
        });
        u16::try_from(at).map_err(|_| {
            Fault::not_carried("the simulator does not carry more than 65,536 operators of a rank")
        })
    }

    /// A handle for a function of the program.
    pub(crate) fn add(&mut self, made: Made) -> u64 {
        self.made.add(made)
    }

    /// The function of the program that a handle stands for, where it is none of MPI's operators.
    pub(crate) fn get(&self, handle: u64) -> Option<Made> {
        self.made.get(handle).copied()
    }

    /// An operator of the program is gone.
    pub(crate) fn free(&mut self, handle: u64) -> Result<(), Fault> {
        let made = self.made.remove(handle).map(drop);
        made.ok_or_else(|| Fault::new(mpi5::ERR_OP, "the program has made no such operator"))
    }

    /// What the library knows by a number.
    pub(crate) fn foreign(&self, number: u16) -> Foreign {
        self.foreign[usize::from(number)].clone()
    }

    /// The operator of a handle on elements of a datatype.
    pub(crate) fn reduction(
        &mut self,
        types: &Types,
        handle: u64,
        datatype: u64,
    ) -> Result<Reduction, Fault> {
        let tree = types.committed(datatype)?.clone();
        if let Some(made) = self.made.get(handle).copied() {
            let width = tree.size();
            let number = self.number(Foreign::Function { made, datatype, tree })?;
            return reduction(number, width, made.commutes);
        }
        let Some(operator) = predefined(handle) else {
            return Err(Fault::new(mpi5::ERR_OP, format!("{handle:#x} is no operator")));
        };
        let Some(on) = types.element(datatype) else {
            return Err(undefined(operator, datatype));
        };
        if let Element::Number(number) = on
            && let Some(reduction) = Reduction::new(operator, number)
        {
            return Ok(reduction);
        }
        if !takes(operator, on) {
            return Err(undefined(operator, datatype));
        }
        let number = self.number(Foreign::Known { operator: handle, on })?;
        reduction(number, tree.size(), true)
    }
}

/// Combining elements of so many bytes by an operator that the library knows by a number.
fn reduction(number: u16, width: u64, commutes: bool) -> Result<Reduction, Fault> {
    match u16::try_from(width) {
        Ok(width) if width > 0 => Ok(Reduction::of_program(number, width, commutes)),
        Ok(_) | Err(_) => Err(Fault::not_carried(format!(
            "the simulator does not carry reductions of elements of {width} bytes"
        ))),
    }
}

fn undefined(operator: Operator, datatype: u64) -> Fault {
    Fault::new(
        mpi5::ERR_OP,
        format!("`{operator}` is not defined on datatype {datatype:#x}, or not carried on it"),
    )
}
