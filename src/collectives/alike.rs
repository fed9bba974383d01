//! What all ranks of a collective have alike, and what they have for each other.
//!
//! Where each rank knows its own blocks only, no two ranks have the same list to be compared. So each block that a rank
//! gives is a number, made of who gives it, who takes it and how long it is, and so is each that a rank takes. If what
//! the ranks give is what they take, the two sums over all ranks are equal; if not, they are equal by chance only. Where
//! one pair of ranks differs, two further sums say which and by how much.

use super::task::mixed;
use super::{Algorithm, Between, Blocks, Collective, Kind};
use mpi::envelope::Rank;
use mpi::observation::{Argument, Sums, pair_weight};

impl Collective {
    /// Arguments of rank `me` and the library's choices for it, which must be the same at all ranks. A rule looks at
    /// nothing else of a call (see [`Self::facts`]): a choice comes last, and where one differs and nothing before it
    /// does, the library has chosen by facts that one rank alone knows.
    pub fn arguments(&self, me: Rank, ranks: u32) -> impl Iterator<Item = Argument> {
        let root = match &self.between {
            Some(between) => between.root(me, self.root),
            None => Some(self.root),
        };
        let root = root.filter(|_| self.kind.has_root()).map(Argument::Root);
        let takes_part = self.between.is_none() || self.root != Between::NO_ROOT;
        let reduction = self.reduction.filter(|_| takes_part).map(Argument::Reduction);
        let bytes = self.bytes_of_each().filter(|_| takes_part).map(Argument::Bytes);
        let lengths = self.lengths_of_all().map(|blocks| {
            let (total, print) = (blocks.sum(0, ranks), blocks.print());
            Argument::Lengths { total, print }
        });
        let given = root.into_iter().chain(reduction).chain(bytes).chain(lengths);
        given.chain(self.traffic(me, ranks)).chain(self.choice())
    }

    /// How the library does it among the ranks of one group. Neighbours send each other their blocks, and two groups
    /// go by the default: there is no choice.
    fn choice(&self) -> impl Iterator<Item = Argument> {
        let algorithm = self.algorithm;
        let among_all = self.between.is_none() && self.neighbours.is_none();
        let units = self.units.as_ref().map_or(0, |units| units.print());
        let named = Argument::Algorithm { name: algorithm.name(), units };
        let segment = algorithm.has_segments().then_some(Argument::Segment(self.segment));
        let outstanding = (algorithm == Algorithm::AlltoallScattered)
            .then_some(Argument::Outstanding(self.outstanding));
        let all = [Some(named), segment, outstanding].into_iter().flatten();
        all.filter(move |_| among_all)
    }

    /// The list of the blocks of all ranks, where each rank gives it; others know their own alone, or give lists that
    /// may differ.
    fn lengths_of_all(&self) -> Option<&Blocks> {
        if self.between.is_some() || self.neighbours.is_some() {
            return None;
        }
        let blocks = match self.kind {
            Kind::Allgather => &self.receives,
            Kind::ReduceScatter | Kind::ReduceScatterBlock => &self.sends,
            Kind::Barrier
            | Kind::Bcast
            | Kind::Scatter
            | Kind::Gather
            | Kind::Reduce
            | Kind::Allreduce
            | Kind::Alltoall
            | Kind::Scan
            | Kind::Exscan => return None,
        };
        Some(blocks).filter(|blocks| !blocks.are_equal())
    }

    /// Bytes that rank `me` gives as its own block and bytes that it takes of it, where the two differ. That block
    /// travels in no message, so that no message shows the difference; neighbours send it, and between two groups there
    /// is none.
    pub fn own_block(&self, Rank(me): Rank) -> Option<(u64, u64)> {
        if self.between.is_some() || self.neighbours.is_some() {
            return None;
        }
        let is_root = self.root.0 == me;
        let (gives, takes) = match self.kind {
            Kind::Scatter if is_root => (self.sends.at(me).len, self.output.len),
            Kind::Gather if is_root => (self.input.len, self.receives.at(me).len),
            Kind::Allgather => (self.input.len, self.receives.at(me).len),
            Kind::Alltoall => (self.sends.at(me).len, self.receives.at(me).len),
            Kind::Barrier
            | Kind::Bcast
            | Kind::Scatter
            | Kind::Gather
            | Kind::Reduce
            | Kind::Allreduce
            | Kind::ReduceScatter
            | Kind::ReduceScatterBlock
            | Kind::Scan
            | Kind::Exscan => return None,
        };
        (gives != takes).then_some((gives, takes))
    }

    /// The sums of rank `me` of `ranks`: by length, and by the named types of blocks that have datatypes. Of one group;
    /// where all blocks are of one length, or all ranks know all of them, these are compared themselves.
    fn traffic(&self, Rank(me): Rank, ranks: u32) -> impl Iterator<Item = Argument> {
        let call = self;
        let is_told = call.between.is_none()
            && match call.kind {
                Kind::Scatter | Kind::Gather => call.has_lists(),
                Kind::Alltoall => call.has_lists() || call.neighbours.is_some(),
                Kind::Allgather => call.neighbours.is_some(),
                Kind::Barrier
                | Kind::Bcast
                | Kind::Reduce
                | Kind::Allreduce
                | Kind::ReduceScatter
                | Kind::ReduceScatterBlock
                | Kind::Scan
                | Kind::Exscan => false,
            };
        let lengths = is_told.then(|| {
            let [gives, takes] = sums(call, (me, ranks), |blocks, at, _| blocks.at(at).len);
            Argument::Traffic { gives, takes }
        });
        let types = call.typed.as_ref().filter(|_| is_told).map(|typed| {
            let [gives, takes] = sums(call, (me, ranks), |blocks, at, side| {
                if blocks.at(at).len == 0 { 0 } else { typed.print(side, at) }
            });
            Argument::Types { gives, takes }
        });
        lengths.into_iter().chain(types)
    }
}

/// The side of a block that a rank gives.
const GIVEN: usize = 0;
/// The side of a block that it takes.
const TAKEN: usize = 1;

/// The sums over the blocks that a rank gives and takes; `value` as for [`each_block`].
fn sums(
    call: &Collective,
    at: (u32, u32),
    value: impl Fn(&Blocks, u32, usize) -> u64,
) -> [Sums; 2] {
    let mut sums = [Sums::default(); 2];
    each_block(call, at, value, |side, (from, to), value| {
        // A number that a block with other ends or another value has by chance only; 0 of one that does not count.
        let print = if value == 0 { 0 } else { mixed([from.into(), to.into(), value]) };
        let weighted = pair_weight(Rank(from), Rank(to)).wrapping_mul(value);
        sums[side] = sums[side].plus(Sums { print, bytes: value, weighted });
    });
    sums
}

/// Goes through the blocks that a rank gives and takes: side, ends, and `value`, which is that of a block at a place of
/// the given side, 0 of one that does not count.
fn each_block(
    call: &Collective,
    (me, ranks): (u32, u32),
    value: impl Fn(&Blocks, u32, usize) -> u64,
    mut sees: impl FnMut(usize, (u32, u32), u64),
) {
    let Collective { sends, receives, neighbours, root, kind, .. } = call;
    let (sent, received) = (|at| value(sends, at, GIVEN), |at| value(receives, at, TAKEN));
    if let Some(neighbours) = neighbours {
        // An allgather gives the same block to each.
        let sent = |at| if *kind == Kind::Allgather { call.input.len } else { sent(at) };
        for (at, to) in (0..).zip(neighbours.destinations.iter()) {
            if let Some(to) = to {
                sees(GIVEN, (me, to.0), sent(at));
            }
        }
        for (at, from) in (0..).zip(neighbours.sources.iter()) {
            if let Some(from) = from {
                sees(TAKEN, (from.0, me), received(at));
            }
        }
        return;
    }
    let is_root = root.0 == me;
    let (scatters, gathers) = (*kind == Kind::Scatter, *kind == Kind::Gather);
    let gives_to_all = if scatters { is_root } else { !gathers };
    let takes_from_all = if gathers { is_root } else { !scatters };
    if scatters {
        sees(TAKEN, (root.0, me), call.output.len);
    } else if gathers {
        sees(GIVEN, (me, root.0), call.input.len);
    }
    if gives_to_all {
        (0..ranks).for_each(|to| sees(GIVEN, (me, to), sent(to)));
    }
    if takes_from_all {
        (0..ranks).for_each(|from| sees(TAKEN, (from, me), received(from)));
    }
}
