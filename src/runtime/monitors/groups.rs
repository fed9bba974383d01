//! E1, E6, C3, C4, C5: ranks of endpoints, names that are given once, and collectives.
//!
//! | id | what is watched |
//! |---|---|
//! | E1 | the first rank of each process is the sum of the counts of those before it |
//! | E6 | no process has a context or an endpoint's name that it had before, or has still |
//! | C3 | when a rank leaves a barrier, all ranks have entered as many collectives as it has |
//! | C4 | what is some rank's n-th collective on a communicator when it leaves, is that of all |
//! | C5 | the library does a collective in one way at all its ranks, whatever each of them gives |
//!
//! What ranks give to a collective must agree, too: `arguments`, which has C5; and the groups of new communicators:
//! `making`.
//!
//! What was prepared is a row of its own, since its ranks start it in any order; its preparation is a
//! collective of the communicator.
//!
//! The library reports facts at no cost; a collective costs two of them a rank, and one for each
//! argument that must agree. One that was only
//! started keeps its number, however many a rank enters before it ends.

mod arguments;
mod making;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::law::Violation;
use arguments::Arguments;
use making::Makings;
use mpi::envelope::{Context, Rank};
use mpi::observation::{GroupFact, GroupId};
use protocols::contract::Process;

const E1: &str = "endpoints are numbered process by process, in the order of the parent";
const E6: &str = "what names a communicator or an endpoint is never given again";
const C3: &str = "nobody leaves a barrier before the last enters";
const C4: &str = "ranks that leave their n-th collective on a communicator leave the same one";

/// Watches communicators and the collectives on them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Groups {
    processes: Vec<Names>,
    numberings: BTreeMap<GroupId, Numbering>,
    rows: BTreeMap<GroupId, Row>,
    makings: Makings,
}

/// Contexts and endpoint names of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Names {
    contexts: BTreeSet<Context>,
    /// The lowest name that no endpoint had.
    next: u32,
}

/// The processes of a communicator of endpoints, as far as they have reported them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Numbering {
    size: u32,
    /// First rank and count, by rank in the parent.
    parts: BTreeMap<Rank, (Rank, u32)>,
}

impl Numbering {
    /// Ranks of each process, in words.
    fn in_words(&self) -> String {
        let part = |(parent, (first, count)): (&Rank, &(Rank, u32))| {
            format!("{} to {} (rank {} of the parent)", first.0, first.0 + count, parent.0)
        };
        let parts: Vec<String> = self.parts.iter().map(part).collect();
        parts.join(", ")
    }
}

/// The collectives of a communicator.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Row {
    /// How many each rank has entered.
    entered: Vec<u32>,
    /// Those that not all have left.
    open: VecDeque<Episode>,
    /// Those that all have left.
    over: u32,
    /// Whether rank 0 has freed the communicator.
    closed: bool,
}

/// One collective.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Episode {
    entered: u32,
    left: u32,
    /// Rank that left first, and the operation that it left.
    first: Option<(Rank, &'static str)>,
    arguments: Arguments,
}

impl Groups {
    /// The monitor of a run of `processes` processes.
    pub fn new(processes: usize) -> Self {
        Self {
            processes: vec![Names::default(); processes],
            numberings: BTreeMap::new(),
            rows: BTreeMap::new(),
            makings: Makings::default(),
        }
    }

    /// The library of `process` tells a fact, inside a call that stands in `line`.
    pub fn told(
        &mut self,
        process: Process,
        fact: GroupFact,
        line: Option<u32>,
        found: &mut Vec<Violation>,
    ) {
        match fact {
            GroupFact::Opened { context } => found.extend(self.opened(process, context)),
            GroupFact::Closed { context } => {
                self.processes[process.0 as usize].contexts.remove(&context);
                self.closed(context, process);
            }
            GroupFact::Lists { context, part } => {
                found.extend(self.makings.listed(context, part, line));
            }
            GroupFact::Named { of, parent, first, count, size, id } => {
                found.extend(self.named(process, id, count));
                found.extend(self.numbered(of, (parent, first, count), size));
            }
            GroupFact::Entered { of, rank, size, function } => {
                self.entered(of, rank, size, function);
            }
            GroupFact::Gives { of, rank, argument } => {
                let Some((size, episode)) = self.entered_last(of, rank) else { return };
                found.extend(episode.arguments.given((rank, size), argument, line));
            }
            GroupFact::Left { of, rank, since, operation, barrier } => {
                self.left(of, (rank, since), (operation, barrier), found);
            }
        }
    }

    /// Rank 0 enters no other collective, so no rank does: the row is kept for those under way only.
    fn closed(&mut self, context: Context, first: Process) {
        self.rows.retain(|of, row| {
            row.closed |= (of.context, of.first) == (context, first.0);
            !row.closed || !row.open.is_empty()
        });
    }

    fn opened(&mut self, process: Process, context: Context) -> Option<Violation> {
        let new = self.processes[process.0 as usize].contexts.insert(context);
        let who = vec![format!("process {}", process.0)];
        let detail = || format!("it has context {} twice", context.0);
        (!new).then(|| broken("E6", E6, who, detail()))
    }

    fn named(&mut self, process: Process, id: u32, count: u32) -> Option<Violation> {
        let next = &mut self.processes[process.0 as usize].next;
        let again = id < *next;
        let detail = format!("name {id} is given again; {next} were given");
        *next = (*next).max(id + count);
        let who = vec![format!("endpoint {id} of process {}", process.0)];
        again.then(|| broken("E6", E6, who, detail))
    }

    fn numbered(
        &mut self,
        of: GroupId,
        (parent, first, count): (Rank, Rank, u32),
        size: u32,
    ) -> Option<Violation> {
        let new = || Numbering { size, parts: BTreeMap::new() };
        let known = self.numberings.entry(of).or_insert_with(new);
        let before = known.parts.range(..parent).next_back();
        let after = known.parts.range(parent..).next();
        let end = first.0 + count;
        // Between two that have reported there may be some that have not.
        let follows = |(low, end): (Rank, u32), (high, start): (Rank, u32)| {
            if low.0 + 1 == high.0 { end == start } else { end <= start }
        };
        let good = known.size == size
            && end <= size
            && (parent.0 > 0 || first.0 == 0)
            && before.is_none_or(|(low, (start, many))| {
                follows((*low, start.0 + many), (parent, first.0))
            })
            && after.is_none_or(|(high, (start, _))| follows((parent, end), (*high, start.0)));
        known.parts.insert(parent, (first, count));
        let detail = format!(
            "it has ranks {} to {end} of {size}, of the others some have {} of {}",
            first.0,
            known.in_words(),
            known.size
        );
        if known.parts.values().map(|(_, count)| count).sum::<u32>() >= size {
            self.numberings.remove(&of);
        }
        let who = vec![format!("rank {} of the parent, context {}", parent.0, of.context.0)];
        (!good).then(|| broken("E1", E1, who, detail))
    }

    /// The collective that a rank has entered last, with the ranks of its communicator.
    fn entered_last(&mut self, of: GroupId, rank: Rank) -> Option<(u32, &mut Episode)> {
        let row = self.rows.get_mut(&of)?;
        let size = u32::try_from(row.entered.len()).expect("ranks are u32");
        let number = row.entered.get(rank.0 as usize)?.checked_sub(1)?;
        Some((size, row.open.get_mut((number - row.over) as usize)?))
    }

    fn entered(&mut self, of: GroupId, rank: Rank, size: u32, function: &'static str) {
        let new = || Row {
            entered: vec![0; size as usize],
            open: VecDeque::new(),
            over: 0,
            closed: false,
        };
        let row = self.rows.entry(of).or_insert_with(new);
        let Some(count) = row.entered.get_mut(rank.0 as usize) else { return };
        let place = (*count - row.over) as usize;
        *count += 1;
        if row.open.len() <= place {
            row.open.resize_with(place + 1, Episode::default);
        }
        row.open[place].entered += 1;
        row.open[place].arguments.entered(function);
    }

    fn left(
        &mut self,
        of: GroupId,
        (rank, since): (Rank, u32),
        (operation, barrier): (&'static str, bool),
        found: &mut Vec<Violation>,
    ) {
        let Some(row) = self.rows.get_mut(&of) else { return };
        let size = u32::try_from(row.entered.len()).expect("ranks are u32");
        let entered = row.entered.get(rank.0 as usize);
        let Some(number) = entered.and_then(|count| count.checked_sub(1 + since)) else {
            return;
        };
        let episode = &mut row.open[(number - row.over) as usize];
        episode.left += 1;
        let who = |other: Rank| vec![format!("ranks {} and {}", other.0, rank.0)];
        if barrier && episode.entered < size {
            let detail = format!("{} of {size} ranks have entered it", episode.entered);
            found.push(broken("C3", C3, vec![format!("rank {}", rank.0)], detail));
        }
        let (other, first) = *episode.first.get_or_insert((rank, operation));
        if first != operation {
            let detail = format!(
                "number {number} on context {} was {first} for one and {operation} for the other",
                of.context.0
            );
            found.push(broken("C4", C4, who(other), detail));
        }
        while row.open.front().is_some_and(|episode| episode.left == size) {
            row.open.pop_front();
            row.over += 1;
        }
        if row.closed && row.open.is_empty() {
            self.rows.remove(&of);
        }
    }
}

fn broken(
    id: &'static str,
    statement: &'static str,
    objects: Vec<String>,
    detail: String,
) -> Violation {
    Violation { id, statement, objects, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: Context = Context(8);
    const OF: GroupId = GroupId { context: CONTEXT, first: 0, prepared: None };

    fn found(facts: &[(u32, GroupFact)]) -> Vec<&'static str> {
        let (mut groups, mut found) = (Groups::new(3), Vec::new());
        for (process, fact) in facts {
            groups.told(Process(*process), *fact, None, &mut found);
        }
        found.iter().map(|violation| violation.id).collect()
    }

    fn enter(rank: u32) -> (u32, GroupFact) {
        let function = "MPI_Bcast";
        (rank, GroupFact::Entered { of: OF, rank: Rank(rank), size: 2, function })
    }

    fn leave(rank: u32, operation: &'static str) -> (u32, GroupFact) {
        leave_after(rank, 0, operation)
    }

    /// A rank leaves what it began before `since` others.
    fn leave_after(rank: u32, since: u32, operation: &'static str) -> (u32, GroupFact) {
        let barrier = operation.ends_with("arrier");
        (rank, GroupFact::Left { of: OF, rank: Rank(rank), since, operation, barrier })
    }

    fn named(parent: u32, first: u32, count: u32, size: u32, id: u32) -> (u32, GroupFact) {
        let (parent, first) = (Rank(parent), Rank(first));
        (parent.0, GroupFact::Named { of: OF, parent, first, count, size, id })
    }

    #[test]
    fn a_barrier_is_left_when_all_are_in_it() {
        let barrier = "MPI_Barrier";
        let good = [enter(0), enter(1), leave(0, barrier), enter(0), leave(1, barrier), enter(1)];
        assert_eq!(found(&good), [""; 0]);
        assert_eq!(found(&[enter(0), leave(0, barrier)]), ["C3"]);
        let second = [&good[..], &[leave(0, barrier)]].concat();
        assert_eq!(found(&second), [""; 0]);
        let late = [&good[..5], &[leave(0, barrier)]].concat();
        assert_eq!(found(&late), ["C3"]);
    }

    #[test]
    fn ranks_leave_the_same_collective() {
        let all = [enter(0), leave(0, "MPI_Bcast"), enter(1)];
        assert_eq!(found(&[&all[..], &[leave(1, "MPI_Bcast")]].concat()), [""; 0]);
        assert_eq!(found(&[&all[..], &[leave(1, "MPI_Gather")]].concat()), ["C4"]);
    }

    #[test]
    fn what_was_begun_keeps_its_number() {
        let (first, second) = ("MPI_Ibarrier", "MPI_Ibcast");
        let begun = [enter(0), enter(0), enter(1)];
        let left = [leave(0, second), leave_after(0, 1, first), leave(1, first)];
        assert_eq!(found(&[&begun[..], &left].concat()), [""; 0]);
        let swapped = [leave_after(0, 1, second), leave(1, first)];
        assert_eq!(found(&[&begun[..], &swapped].concat()), ["C4"]);
        let alone = [enter(0), enter(0), leave_after(0, 1, first)];
        assert_eq!(found(&alone), ["C3"]);
    }

    #[test]
    fn ranks_of_endpoints_are_the_sums_of_counts() {
        let good = [named(0, 0, 1, 6, 0), named(2, 4, 2, 6, 0), named(1, 1, 3, 6, 0)];
        assert_eq!(found(&good), [""; 0]);
        for bad in [named(1, 1, 2, 6, 0), named(1, 2, 2, 6, 0), named(1, 1, 3, 7, 0)] {
            assert_eq!(found(&[good[0], good[1], bad]), ["E1"], "{bad:?}");
        }
        assert_eq!(found(&[named(0, 1, 1, 2, 0)]), ["E1"]);
    }

    #[test]
    fn names_are_given_once() {
        let open = (0, GroupFact::Opened { context: CONTEXT });
        let close = (0, GroupFact::Closed { context: CONTEXT });
        assert_eq!(found(&[open, (1, open.1), close, open]), [""; 0]);
        assert_eq!(found(&[open, open]), ["E6"]);
        let other = |id| {
            (
                0,
                GroupFact::Named {
                    of: GroupId { context: Context(10), first: 0, prepared: None },
                    parent: Rank(0),
                    first: Rank(0),
                    count: 1,
                    size: 1,
                    id,
                },
            )
        };
        assert_eq!(found(&[named(0, 0, 2, 2, 0), other(2)]), [""; 0]);
        assert_eq!(found(&[named(0, 0, 2, 2, 0), other(1)]), ["E6"]);
    }
}
