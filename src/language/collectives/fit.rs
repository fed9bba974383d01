//! The buffers of a collective whose communicator is known at run time only: what its blocks and the
//! rank in it make of them.

use std::sync::Arc;

use crate::seat::Seat;
use collectives::selection::Selection;
use collectives::{Between, Blocks, Collective, Kind};
use mpi::observation::StatementError;
use mpi::topology::Neighbours;

/// Whether the buffers of a kind have blocks of other ranks: then their lengths depend on the number
/// of ranks.
pub(crate) const fn has_blocks(kind: Kind) -> bool {
    match kind {
        Kind::Scatter
        | Kind::Gather
        | Kind::Allgather
        | Kind::Alltoall
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock => true,
        Kind::Barrier
        | Kind::Bcast
        | Kind::Reduce
        | Kind::Allreduce
        | Kind::Scan
        | Kind::Exscan => false,
    }
}

/// Gives the buffers the lengths that they have at a rank of the communicator, the algorithm that rules choose for
/// its ranks, and the places where the call is `in_place`.
pub(crate) fn fit(
    call: &mut Collective,
    Seat { rank, size, other, degrees }: Seat,
    in_place: bool,
) -> Result<(), StatementError> {
    if call.typed.is_some() {
        // Its blocks lie where their datatypes say.
        if call.neighbours.is_none() {
            one_for_each(&call.sends, other.unwrap_or(size))?;
            one_for_each(&call.receives, other.unwrap_or(size))?;
        }
    } else if call.neighbours.is_some() {
        among_neighbours(call, degrees.unwrap_or_default());
    } else if let Some(other) = other {
        between(call, (rank, size), other)?;
    } else {
        lengths(call, (rank, size))?;
        choose(call, size);
    }
    if in_place {
        *call = call.clone().at_its_place((rank, size));
    }
    Ok(())
}

/// The lengths at a rank that has so many sources and destinations; where lists say how many they are for, the
/// library compares.
fn among_neighbours(call: &mut Collective, [sources, destinations]: [u32; 2]) {
    let count = |blocks: &Blocks, found: u32| match blocks {
        Blocks::List(list) => list.len(),
        Blocks::Equal(_) => found as usize,
    };
    let receives = count(&call.receives, sources);
    let sends = match call.kind {
        Kind::Alltoall => count(&call.sends, destinations),
        Kind::Barrier
        | Kind::Bcast
        | Kind::Scatter
        | Kind::Gather
        | Kind::Allgather
        | Kind::Reduce
        | Kind::Allreduce
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock
        | Kind::Scan
        | Kind::Exscan => destinations as usize,
    };
    let many = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    if call.kind == Kind::Alltoall {
        call.input.len = call.sends.extent(many(sends));
    }
    call.output.len = call.receives.extent(many(receives));
    call.neighbours = Some(Neighbours::places([receives, sends]));
}

/// Rules are about the ranks of the communicator. How many of them a node has is not known: at most as many as of
/// all ranks.
fn choose(call: &mut Collective, ranks: u32) {
    let Some(selection) = call.selection.as_deref().filter(|known| known.ranks != ranks) else {
        return;
    };
    let ranks_per_node = selection.ranks_per_node.min(ranks);
    let selection = Selection { ranks, ranks_per_node, ..selection.clone() };
    *call = call.clone().selecting(Arc::new(selection));
}

/// The lengths at rank `me` of a group of `own` ranks, where the other one has `other`.
fn between(call: &mut Collective, (me, own): (u32, u32), other: u32) -> Result<(), StatementError> {
    let (is_root, is_idle) = (call.root == Between::ROOT, call.root == Between::NO_ROOT);
    if is_idle && call.kind.has_root() {
        (call.input.len, call.output.len) = (0, 0);
        return Ok(());
    }
    // The group of the root has no blocks but those of the other one.
    let of_blocks = if is_root { other } else { own };
    let lengths = match call.kind {
        Kind::Barrier | Kind::Scan | Kind::Exscan | Kind::Allreduce => return Ok(()),
        Kind::Bcast => (0, call.output.len),
        Kind::Reduce if is_root => (0, call.output.len),
        Kind::Reduce => (call.input.len, 0),
        Kind::Scatter => {
            one_for_each(&call.sends, of_blocks)?;
            if is_root { (call.sends.extent(other), 0) } else { (0, call.sends.at(me).len) }
        }
        Kind::Gather => {
            one_for_each(&call.receives, of_blocks)?;
            if is_root { (0, call.receives.extent(other)) } else { (call.receives.at(me).len, 0) }
        }
        Kind::Allgather => {
            one_for_each(&call.receives, own + other)?;
            let sizes = |first, last| -> Vec<u64> {
                (first..last).map(|rank| call.receives.at(rank).len).collect()
            };
            let (given, taken) = (sizes(0, own), sizes(own, own + other));
            if call.receives.are_equal() {
                call.sends = call.receives.clone();
            } else {
                (call.sends, call.receives) = (Blocks::packed(&given), Blocks::packed(&taken));
            }
            (call.sends.at(me).len, call.receives.extent(other))
        }
        Kind::Alltoall => {
            one_for_each(&call.sends, other)?;
            one_for_each(&call.receives, other)?;
            (call.sends.extent(other), call.receives.extent(other))
        }
        Kind::ReduceScatter | Kind::ReduceScatterBlock => {
            one_for_each(&call.sends, own)?;
            (call.sends.extent(own), call.sends.at(me).len)
        }
    };
    (call.input.len, call.output.len) = lengths;
    Ok(())
}

/// A list of blocks has one for each of so many ranks.
fn one_for_each(blocks: &Blocks, ranks: u32) -> Result<(), StatementError> {
    match blocks {
        Blocks::List(list) if list.len() != ranks as usize => {
            Err(StatementError::OneForEach { found: list.len(), ranks })
        }
        Blocks::List(_) | Blocks::Equal(_) => Ok(()),
    }
}

fn lengths(call: &mut Collective, (me, ranks): (u32, u32)) -> Result<(), StatementError> {
    one_for_each(&call.sends, ranks)?;
    one_for_each(&call.receives, ranks)?;
    let at_root = |blocks: &Blocks| if call.root.0 == me { blocks.extent(ranks) } else { 0 };
    let Collective { sends, receives, .. } = &*call;
    let lengths = match call.kind {
        Kind::Scatter => (at_root(sends), sends.at(me).len),
        Kind::Gather => (receives.at(me).len, at_root(receives)),
        Kind::Allgather => (receives.at(me).len, receives.extent(ranks)),
        Kind::Alltoall => (sends.extent(ranks), receives.extent(ranks)),
        Kind::ReduceScatter | Kind::ReduceScatterBlock => (sends.extent(ranks), sends.at(me).len),
        Kind::Barrier
        | Kind::Bcast
        | Kind::Reduce
        | Kind::Allreduce
        | Kind::Scan
        | Kind::Exscan => return Ok(()),
    };
    (call.input.len, call.output.len) = lengths;
    Ok(())
}
