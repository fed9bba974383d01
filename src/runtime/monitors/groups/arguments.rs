//! What the ranks of a collective give: root, operator, type and length agree (MPI-3.1, Chapter 5).
//!
//! The one owner of the question what differs between the ranks of a collective. Each rank tells its
//! arguments when it enters; they are compared with those of the rank that told them first. Ranks that
//! call different functions are no matter of this file (C4), nor are lists of blocks, which may differ.

use crate::monitors::law::Violation;
use mpi::envelope::Rank;
use mpi::observation::Argument;
use mpi::operator::Reduction;

const AGREE: &str = "all ranks of a collective give the same root, operator, type and length";

/// What the first rank of a collective gave.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Arguments {
    function: Option<&'static str>,
    /// Whether not all call this function.
    mixed: bool,
    given: Vec<Given>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Given {
    argument: Argument,
    rank: Rank,
    line: Option<u32>,
}

impl Given {
    /// Who gave it, and where.
    fn giver(&self, function: &str) -> String {
        let line = self.line.map_or_else(String::new, |line| format!(" in line {line}"));
        format!("{function} of rank {}{line}", self.rank.0)
    }
}

impl Arguments {
    /// A rank enters by this function.
    pub(super) fn entered(&mut self, function: &'static str) {
        self.mixed |= *self.function.get_or_insert(function) != function;
    }

    /// A rank gives an argument.
    pub(super) fn given(
        &mut self,
        rank: Rank,
        argument: Argument,
        line: Option<u32>,
    ) -> Option<Violation> {
        let function = self.function.filter(|_| !self.mixed)?;
        let own = Given { argument, rank, line };
        let kind = std::mem::discriminant(&argument);
        let first = self.given.iter().find(|one| std::mem::discriminant(&one.argument) == kind);
        let Some(first) = first else {
            self.given.push(own);
            return None;
        };
        let (id, detail) = difference(first.argument, argument)?;
        let objects = vec![first.giver(function), own.giver(function)];
        Some(Violation { id, statement: AGREE, objects, detail })
    }
}

/// What differs between two arguments of one kind, by the name of MPI's error and in words.
fn difference(one: Argument, other: Argument) -> Option<(&'static str, String)> {
    let words = |what: &str, one: &str, other: &str| {
        format!("the {what} of the one is {one}, that of the other is {other}")
    };
    match (one, other) {
        (Argument::Root(one), Argument::Root(other)) if one != other => {
            let (one, other) = (format!("rank {}", one.0), format!("rank {}", other.0));
            Some(("MPI_ERR_ROOT", words("root", &one, &other)))
        }
        (Argument::Reduction(one), Argument::Reduction(other)) if !one.may_be(other) => {
            let operators = (one.operator(), other.operator());
            if operators.0 == operators.1 && one.datatype() == other.datatype() {
                let of =
                    |one: Reduction| if one.commutes() { "commutes" } else { "does not commute" };
                let detail =
                    format!("the operator of the one {}, that of the other {}", of(one), of(other));
                return Some(("MPI_ERR_OP", detail));
            }
            if operators.0 == operators.1 {
                let (one, other) = (one.datatype().name(), other.datatype().name());
                return Some(("MPI_ERR_TYPE", words("type", one, other)));
            }
            let (one, other) = (operators.0.to_string(), operators.1.to_string());
            Some(("MPI_ERR_OP", words("operator", &one, &other)))
        }
        (Argument::Bytes(one), Argument::Bytes(other)) if one != other => {
            let (one, other) = (format!("{one} B"), format!("{other} B"));
            Some(("MPI_ERR_COUNT", words("length", &one, &other)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_first_is_what_others_must_give() {
        let mut arguments = Arguments::default();
        let mut give = |rank, argument| {
            arguments.entered("MPI_Bcast");
            arguments.given(Rank(rank), argument, Some(10 + rank)).map(|one| one.to_string())
        };
        assert_eq!(give(2, Argument::Root(Rank(0))), None);
        assert_eq!(give(2, Argument::Bytes(8)), None);
        assert_eq!(give(0, Argument::Root(Rank(0))), None);
        let words = give(0, Argument::Bytes(4)).unwrap();
        for part in [
            "MPI_ERR_COUNT",
            "MPI_Bcast of rank 2 in line 12, MPI_Bcast of rank 0 in line 10",
            "the length of the one is 8 B, that of the other is 4 B",
        ] {
            assert!(words.contains(part), "{words}");
        }
    }

    #[test]
    fn other_functions_are_not_compared() {
        let mut arguments = Arguments::default();
        arguments.entered("MPI_Bcast");
        assert_eq!(arguments.given(Rank(0), Argument::Root(Rank(0)), None), None);
        arguments.entered("MPI_Gather");
        assert_eq!(arguments.given(Rank(1), Argument::Root(Rank(1)), None), None);
    }
}
