//! The groups of new communicators: all processes of a group give the same processes in the same order.
//!
//! The one owner of the question whose groups do not go together. `MPI_Comm_create` is called by all ranks of a
//! communicator, and each may give another group, or an empty one: those of two ranks are the same or have no
//! process in common, and a rank that is in the group of another one gives this group, too.
//!
//! Source: MPI 4.0, Sec. 7.4.2.

use std::collections::BTreeMap;

use crate::monitors::law::Violation;
use crate::rules::in_line;
use mpi::envelope::{Context, Rank};
use mpi::observation::Listed;

const SAME: &str = "all processes of a group give the same processes in the same order";

/// Consecutive ranks of the parent: the first, and how many.
type Run = (Rank, u32);

/// The communicators that are made now, by their context.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Makings(BTreeMap<Context, Making>);

/// Groups that the ranks of one parent give.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Making {
    /// How many have given all of their groups.
    given: u32,
    /// The groups that are not complete, by who gives them.
    coming: BTreeMap<Rank, Vec<Run>>,
    /// Each group once, as it was given first.
    groups: Vec<Given>,
    /// Those whose group is another one's, or empty.
    outside: Vec<Given>,
}

/// A group, who gives it, and where.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Given {
    rank: Rank,
    function: &'static str,
    line: Option<u32>,
    runs: Vec<Run>,
}

impl Given {
    fn has(&self, rank: Rank) -> bool {
        self.runs.iter().any(|(first, count)| (first.0..first.0 + count).contains(&rank.0))
    }

    fn ranks(&self) -> impl Iterator<Item = Rank> {
        self.runs.iter().flat_map(|(first, count)| (first.0..first.0 + count).map(Rank))
    }

    fn giver(&self) -> String {
        format!("{} of rank {}{}", self.function, self.rank.0, in_line(self.line))
    }

    /// Whether two groups that differ may be given for communicators that are made together.
    fn goes_with(&self, other: &Self) -> bool {
        let meet =
            |one: &Run, other: &Run| one.0.0 < other.0.0 + other.1 && other.0.0 < one.0.0 + one.1;
        !self.has(other.rank)
            && !other.has(self.rank)
            && !self.runs.iter().any(|one| other.runs.iter().any(|other| meet(one, other)))
    }
}

impl Makings {
    /// A rank gives a part of the group of a communicator that is made now, or all of it.
    pub(super) fn listed(
        &mut self,
        context: Context,
        part: Listed,
        line: Option<u32>,
    ) -> Option<Violation> {
        let Listed { rank, among, function, run, more } = part;
        let making = self.0.entry(context).or_default();
        let mut runs = making.coming.remove(&rank).unwrap_or_default();
        runs.extend((run.1 > 0).then_some(run));
        if more {
            making.coming.insert(rank, runs);
            return None;
        }
        let wrong = making.add(Given { rank, function, line, runs });
        making.given += 1;
        if making.given == among {
            self.0.remove(&context);
        }
        wrong
    }
}

impl Making {
    fn add(&mut self, own: Given) -> Option<Violation> {
        let others = self.groups.iter().chain(&self.outside);
        let differs = |other: &&Given| other.runs != own.runs && !other.goes_with(&own);
        let wrong = others.clone().find(differs).map(|other| broken(other, &own));
        let is_known = self.groups.iter().any(|other| other.runs == own.runs);
        if !own.has(own.rank) {
            self.outside.push(own);
        } else if !is_known {
            self.groups.push(own);
        }
        wrong
    }
}

fn broken(one: &Given, other: &Given) -> Violation {
    let (mut first, mut second) = (one.ranks(), other.ranks());
    let words =
        |rank: Option<Rank>| rank.map_or("nothing".to_owned(), |rank| format!("rank {}", rank.0));
    let differing = (0..).find_map(|place| {
        let pair: (Option<Rank>, Option<Rank>) = (first.next(), second.next());
        (pair.0 != pair.1).then_some((place, pair))
    });
    let (place, pair) = differing.unwrap_or((0, (None, None)));
    let detail = format!(
        "entry {place} of the group of the one is {}, that of the other is {}",
        words(pair.0),
        words(pair.1)
    );
    let objects = vec![one.giver(), other.giver()];
    Violation { id: "MPI_ERR_GROUP", statement: SAME, objects, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sentences about the groups of ranks 0, 1, ... of one parent.
    fn said(groups: &[&[u32]]) -> Vec<String> {
        let mut makings = Makings::default();
        let among = u32::try_from(groups.len()).unwrap();
        let mut found = Vec::new();
        for (rank, group) in (0..).map(Rank).zip(groups) {
            let runs: Vec<Run> = group.iter().map(|rank| (Rank(*rank), 1)).collect();
            let runs = if runs.is_empty() { vec![(Rank(0), 0)] } else { runs };
            for (index, run) in runs.iter().enumerate() {
                let more = index + 1 < runs.len();
                let part = Listed { rank, among, function: "MPI_Comm_create", run: *run, more };
                found.extend(makings.listed(Context(8), part, Some(10 + rank.0)));
            }
        }
        assert_eq!(makings, Makings::default());
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn groups_are_the_same_or_apart() {
        let good: [&[&[u32]]; 5] = [
            &[&[1, 0], &[1, 0], &[]],
            &[&[0], &[2, 1], &[2, 1]],
            &[&[], &[], &[]],
            &[&[0, 2], &[1], &[0, 2]],
            // Rank 2 gives a group that it is not in.
            &[&[1, 0], &[1, 0], &[1, 0]],
        ];
        for groups in good {
            assert_eq!(said(groups), [""; 0], "{groups:?}");
        }
    }

    #[test]
    fn groups_that_differ_are_named_with_both_lines() {
        let bad: [(&[&[u32]], &str); 6] = [
            (
                &[&[0, 1], &[1, 0], &[]],
                "entry 0 of the group of the one is rank 0, that of the other is rank 1",
            ),
            (&[&[0, 1], &[0, 1, 2], &[0, 1, 2]], "entry 2 of the group of the one is nothing"),
            (&[&[0, 2], &[1, 2], &[1, 2]], "entry 0 of the group of the one is rank 0"),
            (
                &[&[0, 1], &[], &[]],
                "MPI_Comm_create of rank 0 in line 10, MPI_Comm_create of rank 1 in line 11",
            ),
            (&[&[], &[0, 1], &[]], "that of the other is rank 0"),
            (&[&[0], &[1], &[1, 2]], "MPI_ERR_GROUP"),
        ];
        for (groups, words) in bad {
            let said = said(groups);
            assert!(said.first().is_some_and(|one| one.contains(words)), "{groups:?}: {said:?}");
        }
    }
}
