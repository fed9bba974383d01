//! Collectives of a trace: their arguments as those of a call of MPI.

use super::super::lines::Wrong;
use super::types::{self, Count};
use super::words::Words;
use crate::trace::Fault;
use ::collectives::{Blocks, Collective};
use form::fields::MAX_MESSAGE;
use mpi::envelope::Rank;
use mpi::operator::{Datatype, Operator, Reduction};
use protocols::call::Comm;
use protocols::contract::{Region, Space};

/// The rank that calls, and what its lines take for granted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub(super) rank: u32,
    pub(super) ranks: u32,
    /// The type where a line names none.
    pub(super) datatype: Datatype,
    /// The first of two buffers that are free.
    pub(super) buffer: u32,
}

/// A collective, and the flops of a computation that follows it.
pub(super) type Called = (Collective, u64);

/// All ranks of the job: a trace says nothing of other communicators.
const WORLD: Comm = Comm(0);

impl Caller {
    /// The collective of this name; `None` where it is none.
    pub(super) fn call(self, name: &str, mut words: Words<'_>) -> Result<Option<Called>, Wrong> {
        let words = &mut words;
        let called = match name {
            "bcast" => {
                let count = elements(words)?;
                let root = self.root(words)?;
                let bytes = self.bytes(words, count)?;
                (Collective::bcast(WORLD, root, self.region(1, bytes)), 0)
            }
            "reduce" | "allreduce" | "scan" | "exscan" => self.combining(name, words)?,
            "reducescatter" => self.reduce_scatter(words)?,
            "gather" => {
                let counts = [elements(words)?, elements(words)?];
                let root = self.root(words)?;
                let [sent, received] = self.both(words, counts)?;
                let is_root = root.0 == self.rank;
                alike(is_root, [sent, received])?;
                let blocks = Blocks::Equal(sent.0);
                let taken = if is_root { blocks.extent(self.ranks) } else { 0 };
                let [input, output] = self.regions([sent.0, taken]);
                (Collective::gather(WORLD, root, input, output, blocks), 0)
            }
            "scatter" => {
                let counts = [elements(words)?, elements(words)?];
                let root = self.root(words)?;
                let [sent, received] = self.both(words, counts)?;
                let is_root = root.0 == self.rank;
                alike(is_root, [sent, received])?;
                let blocks = Blocks::Equal(received.0);
                let given = if is_root { blocks.extent(self.ranks) } else { 0 };
                let [input, output] = self.regions([given, received.0]);
                (Collective::scatter(WORLD, root, input, blocks, output), 0)
            }
            "allgather" => {
                let counts = [elements(words)?, elements(words)?];
                let [sent, received] = self.both(words, counts)?;
                alike(true, [sent, received])?;
                let blocks = Blocks::Equal(sent.0);
                let [input, output] = self.regions([sent.0, blocks.extent(self.ranks)]);
                (Collective::allgather(WORLD, input, output, blocks), 0)
            }
            "alltoall" => {
                let counts = [elements(words)?, elements(words)?];
                let [sent, received] = self.both(words, counts)?;
                alike(true, [sent, received])?;
                let blocks = Blocks::Equal(sent.0);
                let extent = blocks.extent(self.ranks);
                let [input, output] = self.regions([extent, extent]);
                (Collective::alltoall(WORLD, (input, blocks.clone()), (output, blocks)), 0)
            }
            "gatherv" | "allgatherv" | "scatterv" => self.listed(name, words)?,
            "alltoallv" => self.alltoallv(words)?,
            _ => return Ok(None),
        };
        words.end()?;
        Ok(Some(called))
    }

    /// Operations that combine elements. A trace does not name the operator: it is a sum.
    fn combining(self, name: &str, words: &mut Words<'_>) -> Result<Called, Wrong> {
        let count = elements(words)?;
        let flops = flops(words)?;
        let root = if name == "reduce" { self.root(words)? } else { Rank(0) };
        let datatype = types::take(words, self.datatype)?;
        let bytes = types::sized(count, datatype)?.0;
        let ([input, output], sum) = (self.regions([bytes, bytes]), sum(datatype));
        let call = match name {
            "reduce" => Collective::reduce(WORLD, root, input, output, sum),
            "allreduce" => Collective::allreduce(WORLD, input, output, sum),
            "scan" => Collective::scan(WORLD, input, output, sum),
            _ => Collective::exscan(WORLD, input, output, sum),
        };
        Ok((call, flops))
    }

    fn reduce_scatter(self, words: &mut Words<'_>) -> Result<Called, Wrong> {
        let counts = self.counts(words)?;
        let flops = flops(words)?;
        let datatype = types::take(words, self.datatype)?;
        let blocks = packed(&counts, datatype)?;
        let [input, output] = self.regions([blocks.extent(self.ranks), blocks.at(self.rank).len]);
        Ok((Collective::reduce_scatter(WORLD, input, output, blocks, sum(datatype)), flops))
    }

    /// Operations whose blocks have a size each.
    fn listed(self, name: &str, words: &mut Words<'_>) -> Result<Called, Wrong> {
        let scatters = name == "scatterv";
        let (own, counts) = if scatters {
            let counts = self.counts(words)?;
            (elements(words)?, counts)
        } else {
            let own = elements(words)?;
            (own, self.counts(words)?)
        };
        let root = if name == "allgatherv" { Rank(0) } else { self.root(words)? };
        let sent = types::take(words, self.datatype)?;
        let received = types::take(words, self.datatype)?;
        let (of_own, of_list) = if scatters { (received, sent) } else { (sent, received) };
        let blocks = packed(&counts, of_list)?;
        alike(true, [types::sized(own, of_own)?, (blocks.at(self.rank).len, own.1)])?;
        let (one, is_root) = (blocks.at(self.rank).len, root.0 == self.rank);
        let all = if is_root || name == "allgatherv" { blocks.extent(self.ranks) } else { 0 };
        let call = if scatters {
            let [input, output] = self.regions([all, one]);
            Collective::scatter(WORLD, root, input, blocks, output)
        } else {
            let [input, output] = self.regions([one, all]);
            match name {
                "gatherv" => Collective::gather(WORLD, root, input, output, blocks),
                _ => Collective::allgather(WORLD, input, output, blocks),
            }
        };
        Ok((call, 0))
    }

    fn alltoallv(self, words: &mut Words<'_>) -> Result<Called, Wrong> {
        // The sizes of the buffers say nothing that the blocks do not.
        elements(words)?;
        let given = self.counts(words)?;
        elements(words)?;
        let taken = self.counts(words)?;
        let sends = packed(&given, types::take(words, self.datatype)?)?;
        let receives = packed(&taken, types::take(words, self.datatype)?)?;
        let extents = [&sends, &receives].map(|blocks| blocks.extent(self.ranks));
        let [input, output] = self.regions(extents);
        Ok((Collective::alltoall(WORLD, (input, sends), (output, receives)), 0))
    }

    fn region(self, which: u32, bytes: u64) -> Region {
        Region::new(Space::User(self.buffer + which), bytes)
    }

    fn regions(self, [input, output]: [u64; 2]) -> [Region; 2] {
        [self.region(0, input), self.region(1, output)]
    }

    fn bytes(self, words: &mut Words<'_>, count: Count) -> Result<u64, Wrong> {
        Ok(types::sized(count, types::take(words, self.datatype)?)?.0)
    }

    /// The bytes that are sent and those that are received.
    fn both(
        self,
        words: &mut Words<'_>,
        [sent, received]: [Count; 2],
    ) -> Result<[Count; 2], Wrong> {
        let first = types::take(words, self.datatype)?;
        let second = types::take(words, self.datatype)?;
        Ok([types::sized(sent, first)?, types::sized(received, second)?])
    }

    /// A number of elements for each rank.
    fn counts(self, words: &mut Words<'_>) -> Result<Vec<Count>, Wrong> {
        (0..self.ranks).map(|_| elements(words)).collect()
    }

    /// The root, which is rank 0 where the line ends.
    fn root(self, words: &mut Words<'_>) -> Result<Rank, Wrong> {
        if !words.has_more() {
            return Ok(Rank(0));
        }
        let (root, at) = words.count("the rank of the root", u64::from(u32::MAX))?;
        match u32::try_from(root) {
            Ok(root) if root < self.ranks => Ok(Rank(root)),
            _ => Err(Wrong::no_rank(root, self.ranks, at)),
        }
    }
}

fn elements(words: &mut Words<'_>) -> Result<Count, Wrong> {
    words.count("a number of elements", MAX_MESSAGE)
}

fn flops(words: &mut Words<'_>) -> Result<u64, Wrong> {
    words.amount("the flops of the reduction", 0)
}

fn packed(counts: &[Count], datatype: Datatype) -> Result<Blocks, Wrong> {
    let bytes = |count: &Count| Ok(types::sized(*count, datatype)?.0);
    Ok(Blocks::packed(&counts.iter().map(bytes).collect::<Result<Vec<u64>, _>>()?))
}

fn sum(datatype: Datatype) -> Reduction {
    Reduction::new(Operator::Sum, datatype).expect("the types of a trace have sums")
}

/// Refuses a block whose sizes on both sides differ, where the rank has both.
fn alike(both: bool, [(sent, at), (received, _)]: [Count; 2]) -> Result<(), Wrong> {
    if sent == received || !both {
        return Ok(());
    }
    let found = format!("{sent} B are sent and {received} B received");
    Err(Wrong::new(Fault::Form, at, found, "both sides of a block have as many bytes"))
}
