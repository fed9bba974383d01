//! The buffers of a collective whose communicator is known at run time only: what its blocks and the
//! rank in it make of them.

use mpi::observation::StatementError;
use protocols::collectives::{Blocks, Collective, Kind};

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

/// Gives the buffers the lengths that they have at rank `me` of `ranks`, and the places where the call is
/// `in_place`.
pub(crate) fn fit(
    call: &mut Collective,
    place: (u32, u32),
    in_place: bool,
) -> Result<(), StatementError> {
    lengths(call, place)?;
    if in_place {
        *call = call.clone().at_its_place(place);
    }
    Ok(())
}

fn lengths(call: &mut Collective, (me, ranks): (u32, u32)) -> Result<(), StatementError> {
    for blocks in [&call.sends, &call.receives] {
        let Blocks::List(list) = blocks else { continue };
        if list.len() != ranks as usize {
            return Err(StatementError::OneForEach { found: list.len(), ranks });
        }
    }
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
