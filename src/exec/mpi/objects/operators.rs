//! Operators of reductions: those of MPI, and functions of the program.
//!
//! Operators on integers and floating-point numbers are the library's. What it does not have (complex numbers, truth
//! values, pairs with other types than two ints, functions of the program) it knows by a number.

use super::types::{FOREIGN, Types};
use crate::functions as mpi5;
use crate::mpi::args::handle;
use crate::mpi::arithmetic::{Element, predefined};
use crate::mpi::fault::Fault;
use crate::mpi::table::Table;
use ::mpi::datatype::Datatype as Tree;
use ::mpi::operator::{Operator, Reduction};

/// The operators of a rank.
#[derive(Debug)]
pub(crate) struct Operators {
    made: Table<Made>,
    /// The functions of the program that were used, each on elements of a type, by their numbers.
    used: Vec<Used>,
}

/// A function of the program on elements of a type.
#[derive(Clone, Debug, PartialEq)]
struct Used {
    made: Made,
    datatype: u64,
    tree: Tree,
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
#[derive(Clone, Debug)]
pub(crate) enum Foreign {
    /// A function of the program.
    Function { made: Made, datatype: u64, tree: Tree },
    /// One of MPI's.
    Known { operator: Operator, on: Element },
}

impl Operators {
    pub(crate) const fn new() -> Self {
        Self { made: Table::new(6), used: Vec::new() }
    }

    /// The number of a function of the program.
    fn number(&mut self, used: Used) -> Result<u16, Fault> {
        let at = self.used.iter().position(|known| *known == used).unwrap_or_else(|| {
            self.used.push(used);
            self.used.len() - 1
        });
        let number = u16::try_from(at).ok().and_then(|at| at.checked_add(Operator::OWN));
        number.ok_or_else(|| {
            Fault::not_carried("the simulator does not carry more than 32,768 operators of a rank")
        })
    }

    /// A handle for a function of the program.
    pub(crate) fn add(&mut self, made: Made) -> u64 {
        self.made.add(made)
    }

    /// The function of the program that a handle stands for, where it is none of MPI's operators.
    pub(crate) fn get(&self, handle::Op(handle): handle::Op) -> Option<Made> {
        self.made.get(handle).copied()
    }

    /// An operator of the program is gone.
    pub(crate) fn free(&mut self, handle::Op(handle): handle::Op) -> Result<(), Fault> {
        let made = self.made.remove(handle).map(drop);
        made.ok_or_else(|| Fault::new(mpi5::ERR_OP, "the program has made no such operator"))
    }

    /// The operator that the library knows by this number.
    pub(crate) fn foreign(&self, number: u16) -> Foreign {
        if let Some(at) = usize::from(number).checked_sub(Operator::OWN.into()) {
            let Used { made, datatype, tree } = self.used[at].clone();
            return Foreign::Function { made, datatype, tree };
        }
        let (operator, on) = FOREIGN[usize::from(number)];
        Foreign::Known { operator, on }
    }

    /// The operator of a handle on elements of a datatype.
    pub(crate) fn reduction(
        &mut self,
        types: &Types,
        handle::Op(handle): handle::Op,
        datatype: handle::Datatype,
    ) -> Result<Reduction, Fault> {
        let tree = types.committed(datatype)?.clone();
        let handle::Datatype(datatype) = datatype;
        if let Some(made) = self.made.get(handle).copied() {
            let width = tree.size();
            let number = self.number(Used { made, datatype, tree })?;
            return reduction(number, width, made.commutes);
        }
        let Some(operator) = predefined(handle) else {
            return Err(Fault::new(mpi5::ERR_OP, format!("{handle:#x} is no operator")));
        };
        let on = types.operand(operator, datatype)?;
        if let Element::Number(number) = on {
            return Ok(Reduction::new(operator, number).expect("MPI's table has the library's"));
        }
        let at = FOREIGN.iter().position(|known| *known == (operator, on));
        let at = at.expect("the list has what MPI's table has");
        reduction(u16::try_from(at).expect("a few types"), tree.size(), true)
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
