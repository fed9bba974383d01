//! What the ranks of a collective have alike: root, operator, type and length (MPI-3.1, Chapter 5), and the choice of
//! the library (C5).
//!
//! The one owner of the question what differs between the ranks of a collective. Each rank tells its
//! arguments when it enters, and the library what it has chosen for the rank; they are compared with those of the rank
//! that stated them first. Ranks that call different functions are no matter of this file (C4). Of lists of which each
//! rank knows its own entries only, the sums over all ranks are compared when the last one has entered.
//!
//! Rules choose by what all ranks give alike. So a choice that differs is an error of the library, unless an argument
//! differs, too: then it is a consequence, and only the argument is reported.

use crate::monitors::law::Violation;
use mpi::envelope::Rank;
use mpi::observation::{Argument, Sums, pair_weight};
use mpi::operator::{Operator, Reduction};
use protocols::note::Note;

const AGREE: &str = "all ranks of a collective give the same root, operator, type and length";
const SAME: &str = "the ranks of a collective receive what they send each other";
const ALIKE: &str =
    "the library does a collective in one way at all its ranks, whatever each of them gives";

/// Arguments of a collective, as its first rank gave them.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Arguments {
    function: Option<&'static str>,
    /// Whether not all call this function.
    mixed: bool,
    /// Whether an argument differs.
    differ: bool,
    given: Vec<Given>,
    /// Lists, and what the library has chosen. They follow from what the ranks have entered: which rank came first makes
    /// no other state.
    followed: Vec<(Argument, Note<Given>)>,
    /// Sums over the blocks that the ranks in it send each other, by length and by type.
    traffic: [Traffic; 2],
    /// Ranks that have given such sums.
    givers: Note<Vec<Given>>,
}

/// Sums over the blocks of some ranks.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
struct Traffic {
    ranks: u32,
    gives: Sums,
    takes: Sums,
}

impl Traffic {
    /// The two ranks that differ, where it is one pair, and by how much the first gives more (modulo 2^64).
    fn pair(&self, size: u32) -> Option<([Rank; 2], u64)> {
        let more = self.gives.bytes.wrapping_sub(self.takes.bytes);
        let weighted = self.gives.weighted.wrapping_sub(self.takes.weighted);
        let differs =
            |&[from, to]: &[Rank; 2]| pair_weight(from, to).wrapping_mul(more) == weighted;
        let mut all = (0..size).flat_map(|from| (0..size).map(move |to| [Rank(from), Rank(to)]));
        if more == 0 { None } else { Some((all.find(differs)?, more)) }
    }
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Given {
    argument: Argument,
    rank: Rank,
    line: Option<u32>,
}

impl Given {
    /// The rank that gave it, and where, in words.
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

    /// A rank of so many gives an argument.
    pub(super) fn given(
        &mut self,
        (rank, size): (Rank, u32),
        argument: Argument,
        line: Option<u32>,
    ) -> Option<Violation> {
        let function = self.function.filter(|_| !self.mixed)?;
        let own = Given { argument, rank, line };
        if let Argument::Traffic { gives, takes } = argument {
            self.givers.0.push(own);
            return self.sums(0, (gives, takes), size).then(|| self.lengths_part(size));
        }
        if let Argument::Types { gives, takes } = argument {
            return self.sums(1, (gives, takes), size).then(|| self.types_part(size));
        }
        let kind = std::mem::discriminant(&argument);
        let same = |one: Argument| std::mem::discriminant(&one) == kind;
        let follows = argument.is_chosen() || matches!(argument, Argument::Lengths { .. });
        let first = if follows {
            self.followed.iter().find(|(one, _)| same(*one)).map(|(_, Note(given))| *given)
        } else {
            self.given.iter().find(|one| same(one.argument)).copied()
        };
        let Some(first) = first else {
            if follows {
                self.followed.push((argument, Note(own)));
            } else {
                self.given.push(own);
            }
            return None;
        };
        let (id, detail) = difference(first.argument, argument)?;
        if self.differ && argument.is_chosen() {
            return None;
        }
        let objects = vec![first.giver(function), own.giver(function)];
        self.differ = true;
        let statement = if argument.is_chosen() { ALIKE } else { AGREE };
        Some(Violation { id, statement, objects, detail })
    }
}

impl Arguments {
    /// Adds what a rank gives and takes; true where it is the last one, the sums differ, and nothing else has.
    fn sums(&mut self, which: usize, (gives, takes): (Sums, Sums), size: u32) -> bool {
        let all = &mut self.traffic[which];
        all.ranks += 1;
        all.gives = all.gives.plus(gives);
        all.takes = all.takes.plus(takes);
        let parted = all.ranks == size && all.gives != all.takes && !self.differ;
        self.differ |= parted;
        parted
    }

    /// Violation by lengths of what ranks send each other that do not agree.
    fn lengths_part(&self, size: u32) -> Violation {
        let Some(([from, to], more)) = self.traffic[0].pair(size) else {
            let what =
                "what several ranks send and what others receive of them are not of one length";
            return self.parted("MPI_ERR_COUNT", None, what.to_owned());
        };
        // Sums are kept modulo 2^64: a difference has a sign.
        let more = more.cast_signed();
        let (least, how) = (more.unsigned_abs(), if more > 0 { "more" } else { "less" });
        let what =
            format!("rank {} sends {least} B {how} than rank {} receives of it", from.0, to.0);
        self.parted("MPI_ERR_COUNT", Some([from, to]), what)
    }

    /// Violation by named types of what ranks send each other that do not agree.
    fn types_part(&self, size: u32) -> Violation {
        let pair = self.traffic[1].pair(size).map(|(pair, _)| pair);
        let [sends, receives] = match pair {
            Some([from, to]) => {
                [format!("rank {} sends", from.0), format!("rank {} receives of it", to.0)]
            }
            None => ["several ranks send", "others receive of them"].map(str::to_owned),
        };
        let what = format!("what {sends} and what {receives} are not of the same named types");
        self.parted("MPI_ERR_TYPE", pair, what)
    }

    /// Violation by ranks whose sends and receives do not agree; this is known when the last one enters.
    fn parted(&self, id: &'static str, pair: Option<[Rank; 2]>, detail: String) -> Violation {
        let function = self.function.unwrap_or_default();
        let giver = |rank: Rank| {
            let given = self.givers.iter().find(|given| given.rank == rank);
            given.map_or_else(
                || format!("{function} of rank {}", rank.0),
                |given| given.giver(function),
            )
        };
        let objects = match pair {
            Some([from, to]) if from == to => vec![giver(from)],
            Some(pair) => pair.map(giver).to_vec(),
            None => vec![format!("{function} of several ranks")],
        };
        Violation { id, statement: SAME, objects, detail }
    }
}

/// Difference between two arguments of one kind, by the name of MPI's error and in words.
fn difference(one: Argument, other: Argument) -> Option<(&'static str, String)> {
    let words = |what: &str, one: &str, other: &str| {
        format!("the {what} of the one is {one}, that of the other is {other}")
    };
    match (one, other) {
        (Argument::Root(one), Argument::Root(other)) if one != other => {
            let (one, other) = (format!("rank {}", one.0), format!("rank {}", other.0));
            Some(("MPI_ERR_ROOT", words("root", &one, &other)))
        }
        (Argument::Reduction(one), Argument::Reduction(other)) => reductions_differ(one, other),
        (Argument::Bytes(one), Argument::Bytes(other)) if one != other => {
            let (one, other) = (format!("{one} B"), format!("{other} B"));
            Some(("MPI_ERR_COUNT", words("length", &one, &other)))
        }
        (
            Argument::Lengths { total: one, print },
            Argument::Lengths { total: other, print: other_print },
        ) if (one, print) != (other, other_print) => {
            let of = |total| format!("of {total} B in all");
            let detail = if one == other {
                format!("the lists of lengths differ, and are both {}", of(one))
            } else {
                words("list of lengths", &of(one), &of(other))
            };
            Some(("MPI_ERR_COUNT", detail))
        }
        (
            Argument::Algorithm { name: one, units },
            Argument::Algorithm { name: other, units: other_units },
        ) if (one, units) != (other, other_units) => {
            let of = |name, units| {
                let steps = if units == 0 { "" } else { " in steps over groups of ranks" };
                format!("`{name}`{steps}")
            };
            let detail = if one == other && units != 0 && other_units != 0 {
                format!("both go by `{one}` over groups of ranks, which differ")
            } else {
                words("algorithm", &of(one, units), &of(other, other_units))
            };
            Some(("C5", detail))
        }
        (Argument::Segment(one), Argument::Segment(other)) if one != other => {
            let (one, other) = (format!("{one} B"), format!("{other} B"));
            Some(("C5", words("segment", &one, &other)))
        }
        (Argument::Outstanding(one), Argument::Outstanding(other)) if one != other => {
            let (one, other) = (one.to_string(), other.to_string());
            Some(("C5", words("number of messages at once", &one, &other)))
        }
        _ => None,
    }
}

/// Difference between two operators on elements of a type. A real program's have the numbers that each rank gives
/// them: of two of them only what they promise is compared.
fn reductions_differ(one: Reduction, other: Reduction) -> Option<(&'static str, String)> {
    if one.may_be(other) {
        return None;
    }
    let both = (one, other);
    let words = |what: &str, of: &dyn Fn(Reduction) -> String| {
        let (one, other) = (of(both.0), of(both.1));
        format!("the {what} of the one is {one}, that of the other is {other}")
    };
    let is_programs = |one: Reduction| matches!(one.operator(), Operator::Program { .. });
    if is_programs(one) && is_programs(other) {
        if one.width() != other.width() {
            let width = |one: Reduction| format!("one of {} B", one.width());
            return Some(("MPI_ERR_TYPE", words("type", &width)));
        }
    } else if one.operator() != other.operator() {
        return Some(("MPI_ERR_OP", words("operator", &|one| one.operator().to_string())));
    } else if one.datatype() != other.datatype() {
        return Some(("MPI_ERR_TYPE", words("type", &|one| one.datatype().name().to_owned())));
    }
    if one.commutes() == other.commutes() {
        return Some(("MPI_ERR_OP", words("operator", &|one| one.operator().to_string())));
    }
    let commutes = |one: Reduction| if one.commutes() { "commutes" } else { "does not commute" };
    let (one, other) = (commutes(one), commutes(other));
    Some(("MPI_ERR_OP", format!("the operator of the one {one}, that of the other {other}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_first_is_what_others_must_give() {
        let mut arguments = Arguments::default();
        let mut give = |rank, argument| {
            arguments.entered("MPI_Bcast");
            arguments.given((Rank(rank), 3), argument, Some(10 + rank)).map(|one| one.to_string())
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
        assert_eq!(arguments.given((Rank(0), 2), Argument::Root(Rank(0)), None), None);
        arguments.entered("MPI_Gather");
        assert_eq!(arguments.given((Rank(1), 2), Argument::Root(Rank(1)), None), None);
    }
}
