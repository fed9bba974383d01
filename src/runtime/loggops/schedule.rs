//! Schedules: what each rank does, and which of its operations wait for which.
//!
//! All ranks lie in one arena, rank after rank; an operation is its index there. Dependencies stay
//! inside a rank. For each operation its dependants are listed: first those that wait for its
//! start, then those that wait for its end, each in the order in which they were stated.

use std::ops::Range;

/// The source or the tag of a receive that takes any.
pub const ANY: u32 = u32::MAX;
/// The most operations of a schedule.
/// Limit: an index leaves two bits of a word to others.
pub const MOST_OPS: u32 = 1 << 30;
/// Bit of a dependant that waits for the start only.
/// Encoding: operations have numbers of 30 bits.
const ON_START: u32 = 1 << 31;

/// Kind of an operation, in the order in which those that become executable together start.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// A message to `peer`.
    Send,
    /// A message from `peer`.
    Receive,
    /// Work of the CPU.
    Compute,
}

/// One operation of one rank.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Op {
    /// Bytes of a message, or units of time of a computation.
    pub amount: u64,
    /// The other rank; [`ANY`] in a receive from any. 0 in a computation.
    pub peer: u32,
    /// The tag; [`ANY`] in a receive of any. 0 in a computation.
    pub tag: u32,
    /// The rank that does it.
    pub rank: u32,
    /// Its kind.
    pub kind: Kind,
    /// Which of the rank's CPUs does it.
    pub cpu: u8,
    /// Which of the rank's NICs does it. 0 in a computation.
    pub nic: u8,
}

/// State of a dependency that a dependant waits for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Until {
    /// The operation has started (`irequires`).
    Started,
    /// The operation is over (`requires`).
    Done,
}

/// One dependency.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Edge {
    /// The operation that waits.
    pub dependant: u32,
    /// The operation that it waits for.
    pub dependency: u32,
    /// How long.
    pub until: Until,
}

/// The operations of all ranks. Two schedules are equal if they do the same, whatever the labels.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The first operation of each rank, and one past the last of all.
    first: Vec<u32>,
    ops: Vec<Op>,
    /// The first dependant of each operation, and one past the last of all.
    from: Vec<u32>,
    dependants: Vec<u32>,
    /// The line of each operation; empty where there is no file.
    lines: Vec<u32>,
    /// The labels, one after the other; empty where there are none.
    letters: String,
    /// Where each label ends.
    ends: Vec<u64>,
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        let what = |one: &Self| (one.first.clone(), one.from.clone(), one.dependants.clone());
        what(self) == what(other) && self.ops == other.ops
    }
}

impl Eq for Schedule {}

impl Schedule {
    /// Number of ranks.
    ///
    /// # Panics
    ///
    /// Never: a builder counts ranks in 32 bits.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.first.len().saturating_sub(1)).expect("ranks are counted in u32")
    }

    /// All operations, rank after rank.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The operations of one rank.
    ///
    /// # Panics
    ///
    /// When `rank` is not below [`Self::ranks`].
    pub fn of(&self, rank: u32) -> Range<u32> {
        self.first[rank as usize]..self.first[rank as usize + 1]
    }

    /// CPUs and NICs that every rank has: as many as the highest numbers in the schedule ask for.
    pub fn width(&self) -> (usize, usize) {
        let highest = |number: fn(&Op) -> u8| self.ops.iter().map(number).max().unwrap_or(0);
        (usize::from(highest(|op| op.cpu)) + 1, usize::from(highest(|op| op.nic)) + 1)
    }

    /// Number of dependencies.
    pub fn edges(&self) -> usize {
        self.dependants.len()
    }

    /// Dependencies on an operation, in the order in which its dependants are released.
    ///
    /// # Panics
    ///
    /// When there is no operation `op`.
    pub fn dependants(&self, op: u32) -> impl Iterator<Item = Edge> {
        let list = &self.dependants[self.span(op)];
        list.iter().map(move |&word| Edge {
            dependant: word & !ON_START,
            dependency: op,
            until: if word & ON_START == 0 { Until::Done } else { Until::Started },
        })
    }

    /// The dependants of `op` that wait for its start, or those that wait for its end.
    #[inline]
    pub(super) fn told(&self, op: u32, until: Until) -> impl Iterator<Item = u32> {
        let wanted = if until == Until::Started { ON_START } else { 0 };
        let list = &self.dependants[self.span(op)];
        let of = list.iter().filter(move |&&word| word & ON_START == wanted);
        of.map(|&word| word & !ON_START)
    }

    #[inline]
    fn span(&self, op: u32) -> Range<usize> {
        self.from[op as usize] as usize..self.from[op as usize + 1] as usize
    }

    /// How many dependencies each operation has.
    pub fn needs(&self) -> Vec<u32> {
        let mut needs = vec![0; self.ops.len()];
        for &word in &self.dependants {
            needs[(word & !ON_START) as usize] += 1;
        }
        needs
    }

    /// The line that an operation stands in; `None` where there is no file.
    pub fn line(&self, op: u32) -> Option<u32> {
        self.lines.get(op as usize).copied()
    }

    /// The label of an operation; `None` where it has none.
    ///
    /// # Panics
    ///
    /// Never: labels lie in memory.
    pub fn label(&self, op: u32) -> Option<&str> {
        let end = usize::try_from(*self.ends.get(op as usize)?).expect("it lies in memory");
        let start = match op.checked_sub(1) {
            None => 0,
            Some(before) => usize::try_from(self.ends[before as usize]).expect("likewise"),
        };
        let label = &self.letters[start..end];
        (!label.is_empty()).then_some(label)
    }

    /// A circle of dependencies, each waiting for the next one and the last for the first; `None`
    /// where every operation can have its turn.
    pub fn circle(&self) -> Option<Vec<u32>> {
        let mut needs = self.needs();
        let mut ready: Vec<u32> =
            (0..).zip(&needs).filter(|(_, needs)| **needs == 0).map(|(op, _)| op).collect();
        let mut turns = 0;
        while let Some(op) = ready.pop() {
            turns += 1;
            for edge in self.dependants(op) {
                needs[edge.dependant as usize] -= 1;
                if needs[edge.dependant as usize] == 0 {
                    ready.push(edge.dependant);
                }
            }
        }
        (turns < self.ops.len()).then(|| self.circle_among(&needs))
    }

    /// Walks from what waits to what it waits for, among operations that never have their turn,
    /// until one comes again.
    fn circle_among(&self, needs: &[u32]) -> Vec<u32> {
        let stuck = |op: u32| needs[op as usize] > 0;
        let first = (0..).zip(needs).find(|(_, needs)| **needs > 0).map(|(op, _)| op);
        let first = first.expect("some operation has no turn");
        let rank = self.of(self.ops[first as usize].rank);
        let place = |op: u32| (op - rank.start) as usize;
        // What is stuck waits for something that is stuck.
        let mut waits_for = vec![first; rank.len()];
        for edge in rank.clone().filter(|op| stuck(*op)).flat_map(|op| self.dependants(op)) {
            waits_for[place(edge.dependant)] = edge.dependency;
        }
        let mut steps = vec![None; rank.len()];
        let (mut way, mut at) = (Vec::new(), first);
        loop {
            if let Some(step) = steps[place(at)].replace(way.len()) {
                return way.split_off(step);
            }
            way.push(at);
            at = waits_for[place(at)];
        }
    }
}

/// Makes a schedule, rank after rank.
#[derive(Clone, Debug)]
pub struct Builder {
    schedule: Schedule,
    /// Dependencies of the rank that is being made.
    edges: Vec<Edge>,
    /// Room to put them in order.
    places: Vec<u32>,
}

impl Default for Builder {
    fn default() -> Self {
        let schedule = Schedule { first: vec![0], from: vec![0], ..Schedule::default() };
        Self { schedule, edges: Vec::new(), places: Vec::new() }
    }
}

impl Builder {
    /// The rank that is being made.
    pub fn rank(&self) -> u32 {
        self.schedule.ranks()
    }

    /// How many operations there are so far.
    ///
    /// # Panics
    ///
    /// Never: there are at most [`MOST_OPS`].
    pub fn len(&self) -> u32 {
        u32::try_from(self.schedule.ops.len()).expect("there are at most 2^30 operations")
    }

    /// Whether there is no operation yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The operation number `op`.
    pub fn op(&self, op: u32) -> &Op {
        &self.schedule.ops[op as usize]
    }

    /// The line of operation number `op`, where it was read.
    pub fn line(&self, op: u32) -> Option<u32> {
        self.schedule.line(op)
    }

    /// The label of operation number `op`.
    pub fn label(&self, op: u32) -> Option<&str> {
        self.schedule.label(op)
    }

    /// Adds an operation to the rank that is being made; its number.
    ///
    /// # Panics
    ///
    /// When it is of another rank, or beyond [`MOST_OPS`].
    pub fn add(&mut self, op: Op) -> u32 {
        assert_eq!(op.rank, self.rank(), "operations come rank after rank");
        let any = op.peer == ANY || op.tag == ANY;
        assert!(!any || op.kind == Kind::Receive, "wildcards are for receives");
        let number = self.len();
        assert!(number < MOST_OPS, "a schedule has at most {MOST_OPS} operations");
        self.schedule.ops.push(op);
        number
    }

    /// The same, with its place in a file.
    ///
    /// # Panics
    ///
    /// As [`Self::add`].
    pub fn add_read(&mut self, op: Op, line: u32, label: &str) -> u32 {
        let number = self.add(op);
        self.schedule.lines.push(line);
        self.schedule.letters.push_str(label);
        self.schedule.ends.push(self.schedule.letters.len() as u64);
        number
    }

    /// Adds a dependency between two operations of the rank that is being made.
    ///
    /// # Panics
    ///
    /// When one of them is not of this rank.
    pub fn depend(&mut self, edge: Edge) {
        let first = self.schedule.first[self.rank() as usize];
        let here = first..self.len();
        assert!(here.contains(&edge.dependant) && here.contains(&edge.dependency));
        self.edges.push(edge);
    }

    /// Ends the rank that is being made.
    ///
    /// # Panics
    ///
    /// When there are 2^32 dependencies or more.
    pub fn end_rank(&mut self) {
        let first = self.schedule.first[self.rank() as usize];
        let (from, base) = (&mut self.schedule.from, self.schedule.dependants.len());
        // Counting sort by (dependency, kind); two places an operation.
        let ops = self.schedule.ops.len() - first as usize;
        self.places.clear();
        self.places.resize(2 * ops + 1, 0);
        let place = |edge: &Edge| {
            2 * (edge.dependency - first) as usize + usize::from(edge.until == Until::Done)
        };
        for edge in &self.edges {
            self.places[place(edge) + 1] += 1;
        }
        for index in 1..self.places.len() {
            self.places[index] += self.places[index - 1];
        }
        let base = u32::try_from(base).expect("there are fewer than 2^32 dependencies");
        from.extend((1..=ops).map(|op| base + self.places[2 * op]));
        self.schedule.dependants.resize(base as usize + self.edges.len(), 0);
        for edge in &self.edges {
            let slot = &mut self.places[place(edge)];
            let bit = if edge.until == Until::Started { ON_START } else { 0 };
            self.schedule.dependants[(base + *slot) as usize] = edge.dependant | bit;
            *slot += 1;
        }
        self.edges.clear();
        let end = self.len();
        self.schedule.first.push(end);
    }

    /// The schedule of all ranks that were ended.
    ///
    /// # Panics
    ///
    /// When the last rank was not ended.
    pub fn finish(mut self) -> Schedule {
        assert_eq!(self.schedule.first.last(), Some(&self.len()), "the last rank is ended");
        let schedule = &mut self.schedule;
        schedule.ops.shrink_to_fit();
        schedule.dependants.shrink_to_fit();
        schedule.from.shrink_to_fit();
        self.schedule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calc(rank: u32) -> Op {
        Op { amount: 1, peer: 0, tag: 0, rank, kind: Kind::Compute, cpu: 0, nic: 0 }
    }

    fn schedule(ops: u32, edges: &[(u32, u32, Until)]) -> Schedule {
        let mut builder = Builder::default();
        builder.end_rank();
        for _ in 0..ops {
            builder.add(calc(1));
        }
        for &(dependant, dependency, until) in edges {
            builder.depend(Edge { dependant, dependency, until });
        }
        builder.end_rank();
        builder.finish()
    }

    #[test]
    fn dependants_come_by_start_and_end_as_they_were_stated() {
        let schedule = schedule(
            4,
            &[
                (3, 0, Until::Done),
                (2, 0, Until::Started),
                (1, 0, Until::Done),
                (3, 1, Until::Done),
            ],
        );
        let of = |op| schedule.dependants(op).map(|edge| (edge.dependant, edge.until));
        let wanted = [(2, Until::Started), (3, Until::Done), (1, Until::Done)];
        assert_eq!(of(0).collect::<Vec<_>>(), wanted);
        assert_eq!(of(1).collect::<Vec<_>>(), [(3, Until::Done)]);
        assert_eq!(schedule.needs(), [0, 1, 1, 2]);
        assert_eq!((schedule.ranks(), schedule.of(0), schedule.of(1)), (2, 0..0, 0..4));
    }

    #[test]
    fn a_circle_is_found_and_named() {
        let done = Until::Done;
        assert_eq!(schedule(3, &[(1, 0, done), (2, 1, done)]).circle(), None);
        let circle =
            schedule(4, &[(1, 0, done), (2, 1, done), (1, 2, done), (3, 2, done)]).circle();
        assert_eq!(circle, Some(vec![1, 2]));
        assert_eq!(schedule(2, &[(1, 1, Until::Started)]).circle(), Some(vec![1]));
    }
}
