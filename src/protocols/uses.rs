//! Which bytes of a program an operation reads or writes, and until when: the one table that all runtimes follow.
//!
//! | operation | bytes | it | from | until |
//! |---|---|---|---|---|
//! | blocking send or receive, `MPI_Sendrecv`, blocking collective, `MPI_Reduce_local` | as the nonblocking one | | its call | its return |
//! | `MPI_Isend` in every mode, started persistent send | data | reads | its call | the program learns of its end |
//! | `MPI_Irecv`, `MPI_Imrecv`, started persistent receive | data | writes | its call | the same |
//! | `MPI_Isendrecv`; `MPI_Isendrecv_replace` | both; the one buffer | reads, writes; writes | its call | the same |
//! | nonblocking or started collective | what the rank gives | reads | its call | the same |
//! | | its result, and what is given in place | writes | its call | the same |
//! | `MPI_Ibcast` | the data | reads at the root, writes elsewhere | its call | the same |
//! | partitioned send | a partition | reads | `MPI_Pready` of it | the same |
//! | partitioned receive | a partition | writes | `MPI_Start` | the same, or `MPI_Parrived` says that it has come |
//! | put, accumulate, and every other operation with an operand | origin | reads | its call | flush, unlock, fence or complete; of an operation with a request the program learns of its end |
//! | get, and every other operation with a result | result | writes | its call | the same |
//! | any of these, once its request is freed | as before | as before | | the program receives from another process |
//!
//! Data in pieces is no more than its pieces: bytes between them are in no use. Of a collective with a list of
//! blocks these are the blocks, of `MPI_Alltoallw` the elements of each block. A buffer that is not significant at
//! a rank, and that of an operation with `MPI_PROC_NULL`, is in no use.
//!
//! Two uses of a byte at a time are allowed where both read, and where both are results of one-sided operations: then
//! it is not defined which of them is there. A rank receives from another process when it returns from a
//! receive, from a probe that has found something, from a collective, from a synchronisation of a window, or when
//! it has loaded something from memory that others reach: only then can it know how far a message is whose request it
//! has freed. Whether that is what it has received is not looked at, so that no program is blamed which does know.
//!
//! Source: MPI 4.1, Sec. 3.7.2, 3.7.3 (the end of a freed request cannot be checked), 3.9, 4.2.2, 6.12, 12.3.
//! `crate::loans` keeps the books of a program with it; the monitor of buffers (V2) grants the library what
//! [`lends`] and [`lends_also`] say. Left out: memory of a window, whose accesses have a table of their own
//! (`mpi::rma::access`).

use std::sync::Arc;

use crate::call::{Buffer, Call, Peer, TypedCall};
use crate::partitioned::Side;
use crate::windows::call::{RmaCall, Win};
use calls::identity::Handle;
use calls::packing::Task;
use calls::rows::{Field, Fields as _};
use calls::space::{Region, Space};
use calls::typed::Elements;
use collectives::{Between, Block, Blocks, Collective, Kind};

/// A buffer that a call hands to the library.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Lent {
    /// The buffer.
    pub region: Region,
    /// Use that the library may make of it.
    pub use_as: UseAs,
}

/// Use that the library may make of a buffer that a call hands to it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum UseAs {
    /// Read it: a send buffer.
    Source,
    /// Write it: a receive buffer, and the result buffer of a collective.
    Destination,
    /// Read it as it is, and leave it so: what a rank gives to a collective.
    Input,
    /// Read it, and then write it: the one buffer of a send and a receive.
    Replaced,
    /// Read its partitions, each from when the program says that it is ready.
    SourceInParts,
    /// Write its partitions, each until the program learns that it has arrived.
    DestinationInParts,
}

impl UseAs {
    /// Whether the library may write it.
    pub const fn writes(self) -> bool {
        match self {
            Self::Destination | Self::Replaced | Self::DestinationInParts => true,
            Self::Source | Self::Input | Self::SourceInParts => false,
        }
    }
}

/// The buffer that a call lends to the library; of two the one that it writes.
pub fn lends(call: &Call) -> Option<Lent> {
    // Nearly all calls of a run are these: they are answered without a walk over their fields.
    if let Call::Isend { to: peer, buffer, .. } | Call::Send { to: peer, buffer, .. } = call {
        return (*peer != Peer::Null).then(|| whole(buffer, UseAs::Source));
    }
    if let Call::Irecv { source: peer, buffer, .. } | Call::Recv { source: peer, buffer, .. } = call
    {
        return (*peer != Peer::Null).then(|| whole(buffer, UseAs::Destination));
    }
    if is_a_wait(call) {
        return None;
    }
    lends_rarely(call)
}

/// Whether a call only waits for requests.
#[inline]
const fn is_a_wait(call: &Call) -> bool {
    matches!(call, Call::Wait { .. } | Call::WaitAll { .. })
}

#[inline(never)]
fn lends_rarely(call: &Call) -> Option<Lent> {
    if let Call::Prepare(_) | Call::Device(_) = call {
        return None;
    }
    if let Call::Typed(typed) = call {
        return typed_lent(typed);
    }
    if let Call::Start { operation, .. } = call {
        return lends(operation);
    }
    if let Call::Partitioned(operation) = call {
        let use_as = match operation.side {
            Side::Sends => UseAs::SourceInParts,
            Side::Receives => UseAs::DestinationInParts,
        };
        return operation.moves().then(|| whole(&operation.buffer, use_as));
    }
    if let Call::Exchange(call) = call {
        return match call.replaced() {
            Some(buffer) => Some(whole(&buffer, UseAs::Replaced)),
            None => lends(&call.send),
        };
    }
    let output = if let Call::Collective(call) | Call::Icollective { call, .. } = call {
        // Not every collective has both buffers.
        call.buffers()[1]
    } else {
        call.first(|field| if let Field::Output(region) = field { Some(*region) } else { None })
    };
    let output = output.map(|region| Lent { region, use_as: UseAs::Destination });
    output.or_else(|| of_a_message(call))
}

/// The buffer of a send or a receive; nothing is done with that of one with `MPI_PROC_NULL`.
fn of_a_message(call: &Call) -> Option<Lent> {
    let mut lent = None;
    let mut moves = true;
    call.fields(&mut |field| match field {
        Field::To(peer) | Field::From(peer) => moves = *peer != Peer::Null,
        Field::Reads(buffer) => lent = Some(whole(buffer, UseAs::Source)),
        Field::Fills(buffer) => lent = Some(whole(buffer, UseAs::Destination)),
        Field::Over(_)
        | Field::Other(_)
        | Field::Makes(_)
        | Field::Window(_)
        | Field::Opens(_)
        | Field::Of(_)
        | Field::OfAll(_)
        | Field::Message(_)
        | Field::Tag(_)
        | Field::AnyTag(_)
        | Field::Input(_)
        | Field::Output(_) => {}
    });
    lent.filter(|_| moves)
}

/// A second buffer of the same call, borrowed as long.
pub fn lends_also(call: &Call) -> Option<Lent> {
    let is_a_message = matches!(
        call,
        Call::Isend { .. } | Call::Send { .. } | Call::Irecv { .. } | Call::Recv { .. }
    );
    if is_a_message || is_a_wait(call) { None } else { lends_also_rarely(call) }
}

#[inline(never)]
fn lends_also_rarely(call: &Call) -> Option<Lent> {
    // What is only prepared lends nothing yet.
    if let Call::Prepare(_) = call {
        return None;
    }
    if let Call::Start { operation, .. } = call {
        return lends_also(operation);
    }
    if let Call::Exchange(call) = call {
        return if call.replaced().is_some() { None } else { lends(&call.receive) };
    }
    let input = if let Call::Collective(call) | Call::Icollective { call, .. } = call {
        call.buffers()[0]
    } else {
        call.first(|field| if let Field::Input(region) = field { Some(*region) } else { None })
    };
    input.map(|region| Lent { region, use_as: UseAs::Input })
}

const fn whole(buffer: &Buffer, use_as: UseAs) -> Lent {
    Lent { region: Region::new(Space::User(buffer.id), buffer.bytes), use_as }
}

/// A buffer in pieces, with all that is between them; apart from [`lends`], which all calls pass.
#[inline(never)]
fn typed_lent(typed: &TypedCall) -> Option<Lent> {
    let lent = lends(&typed.call)?;
    let (buffer, task) = typed.buffer()?;
    if let Some(region) = typed.elements.piece(buffer.id) {
        return Some(Lent { region, ..lent });
    }
    let use_as = if task == Task::Pack { UseAs::Source } else { UseAs::Destination };
    Some(Lent { region: typed.elements.data(buffer.id), use_as })
}

/// The event that ends a use.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Until {
    /// The call returns.
    Returns,
    /// The program learns that the operation of the request has ended.
    Completes(Handle),
    /// A synchronisation of the window ends all operations on the target; with a request that does, too.
    Synchronises {
        /// The window.
        win: Win,
        /// The target.
        target: u32,
        /// The request.
        request: Option<Handle>,
    },
}

/// Access of an operation to bytes of its program.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Use {
    /// The bytes, with all that is between them.
    pub region: Region,
    /// Which of them.
    pub pieces: Pieces,
    /// Where the pieces count from: so many bytes behind the first one of the space.
    pub base: u64,
    /// Whether it writes them; else it reads them.
    pub writes: bool,
    /// Whether the operation is one-sided.
    pub is_one_sided: bool,
}

/// Bytes of a buffer.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Pieces {
    /// All.
    All,
    /// Those of elements of a datatype.
    Elements(Arc<Elements>),
    /// Those of blocks.
    Blocks(Arc<[Block]>),
    /// Those of blocks that have a datatype each.
    Typed(Arc<[Arc<Elements>]>),
    /// Those of partitions.
    Partitions {
        /// Bytes of each.
        each: u64,
        /// The first and the last one of each range, in order.
        ranges: Vec<(u16, u16)>,
    },
}

impl Use {
    /// A use of all bytes of a region.
    pub const fn whole(region: Region, writes: bool) -> Self {
        Self { region, pieces: Pieces::All, base: 0, writes, is_one_sided: false }
    }

    /// Whether two uses have a byte in common that one of them writes. The results of two one-sided operations may be
    /// one: which of them is there at the end is not defined, as in a window.
    pub fn clashes(&self, other: &Self) -> bool {
        let (a, b) = (self.region, other.region);
        let are_results = self.writes && other.writes && self.is_one_sided && other.is_one_sided;
        a.space == b.space
            && (self.writes || other.writes)
            && !are_results
            && a.len > 0
            && b.len > 0
            && a.offset < b.offset + b.len
            && b.offset < a.offset + a.len
            && (matches!((&self.pieces, &other.pieces), (Pieces::All, Pieces::All))
                || meet(&self.runs(), &other.runs()))
    }

    /// Whether blocks of a list that it writes have a byte in common.
    pub fn writes_twice(&self) -> bool {
        self.writes
            && matches!(self.pieces, Pieces::Blocks(_) | Pieces::Typed(_))
            && self.runs().windows(2).any(|two| two[1].0 < two[0].1)
    }

    /// The bytes: where runs begin and end, by their beginnings.
    fn runs(&self) -> Vec<(u64, u64)> {
        let of = |elements: &Elements| -> Vec<(u64, u64)> {
            elements.runs(0..elements.packed()).map(|(at, length)| (at, at + length)).collect()
        };
        let mut runs = match &self.pieces {
            Pieces::All => return vec![(self.region.offset, self.region.offset + self.region.len)],
            Pieces::Elements(elements) => of(elements),
            Pieces::Blocks(blocks) => {
                blocks.iter().map(|block| (block.offset, block.offset + block.len)).collect()
            }
            Pieces::Typed(blocks) => blocks.iter().flat_map(|block| of(block)).collect(),
            Pieces::Partitions { each, ranges } => {
                let run = |&(first, last): &(u16, u16)| {
                    (each * u64::from(first), each * (u64::from(last) + 1))
                };
                ranges.iter().map(run).collect()
            }
        };
        for (begin, end) in &mut runs {
            (*begin, *end) = (self.base + *begin, self.base + *end);
        }
        runs.retain(|(begin, end)| begin < end);
        runs.sort_unstable();
        runs
    }
}

/// Whether a run of the one has a byte of a run of the other.
fn meet(mut one: &[(u64, u64)], mut other: &[(u64, u64)]) -> bool {
    while let ([a, after_a @ ..], [b, after_b @ ..]) = (one, other) {
        if a.1 <= b.0 {
            one = after_a;
        } else if b.1 <= a.0 {
            other = after_b;
        } else {
            return true;
        }
    }
    false
}

/// The uses that a call begins, and what ends them; `is_root` says whether the caller is the root of a collective,
/// where that is known. Of a partitioned send there is none: see [`ready`].
pub fn uses(call: &Call, is_root: Option<bool>) -> ([Option<Use>; 2], Until) {
    let begun = call.begun();
    if let Call::Collective(of) | Call::Icollective { call: of, .. } = begun {
        return (of_collective(of, is_root), until(call));
    }
    if let Call::Rma(of) = begun
        && let RmaCall::Operate { target: None, .. } = &**of
    {
        return ([None, None], Until::Returns);
    }
    let elements = |call: &Call| {
        let Call::Typed(typed) = call else { return Pieces::All };
        if typed.elements.is_one_piece() {
            return Pieces::All;
        }
        Pieces::Elements(Arc::clone(&typed.elements))
    };
    let [first, second] = if let Call::Exchange(exchange) = begun
        && exchange.replaced().is_none()
    {
        [&exchange.send, &exchange.receive].map(elements)
    } else {
        [elements(begun), Pieces::All]
    };
    let of = |lent: Option<Lent>, pieces: Pieces| {
        let Lent { region, use_as } = lent?;
        let pieces = match use_as {
            UseAs::SourceInParts => return None,
            UseAs::DestinationInParts => of_partitions(begun)?,
            UseAs::Source | UseAs::Destination | UseAs::Input | UseAs::Replaced => pieces,
        };
        let is_one_sided = matches!(begun, Call::Rma(_));
        Some(Use { pieces, is_one_sided, ..Use::whole(region, use_as.writes()) })
    };
    ([of(lends(begun), first), of(lends_also(begun), second)], until(call))
}

/// The event that ends what a call begins.
fn until(call: &Call) -> Until {
    if let Call::Rma(of) = call
        && let RmaCall::Operate { win, target: Some(target), request, .. } = **of
    {
        return Until::Synchronises { win, target, request };
    }
    call.begins().map_or(Until::Returns, Until::Completes)
}

/// All partitions of an operation.
fn of_partitions(call: &Call) -> Option<Pieces> {
    let Call::Partitioned(operation) = call else { return None };
    let each = operation.buffer.bytes / u64::from(operation.partitions);
    Some(Pieces::Partitions { each, ranges: vec![(0, operation.partitions - 1)] })
}

/// The use of partitions of a send that are ready.
pub fn ready(call: &Call, (first, last): (u16, u16)) -> Option<Use> {
    let Lent { region, use_as: UseAs::SourceInParts } = lends(call)? else { return None };
    let Pieces::Partitions { each, .. } = of_partitions(call)? else { return None };
    let pieces = Pieces::Partitions { each, ranges: vec![(first, last)] };
    Some(Use { pieces, ..Use::whole(region, false) })
}

/// The uses of a collective at a rank: what it gives, and its result. Where the rank may be the root or not, a buffer
/// that is significant at one of the two is in no use.
fn of_collective(call: &Collective, is_root: Option<bool>) -> [Option<Use>; 2] {
    let [input, output] = call.buffers();
    // Between two groups the root has nothing to do with its own buffer of the other direction.
    let is_between = call.root == Between::ROOT;
    let (at_root, elsewhere) = (is_root == Some(true), is_root == Some(false));
    let (is_given, is_taken) = match call.kind {
        Kind::Bcast | Kind::Scatter | Kind::Gather | Kind::Reduce
            if call.root == Between::NO_ROOT =>
        {
            (false, false)
        }
        Kind::Bcast => (at_root, elsewhere),
        Kind::Scatter => (at_root, !is_between),
        Kind::Gather | Kind::Reduce => (!is_between, at_root),
        Kind::Barrier
        | Kind::Allgather
        | Kind::Allreduce
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock
        | Kind::Alltoall
        | Kind::Scan
        | Kind::Exscan => (true, true),
    };
    // A broadcast has one buffer.
    let input = if call.kind == Kind::Bcast { output } else { input };
    let has_given_blocks = matches!(call.kind, Kind::Scatter | Kind::Alltoall);
    let has_taken_blocks = matches!(call.kind, Kind::Gather | Kind::Allgather | Kind::Alltoall);
    let typed = call.typed.as_ref().map_or([None, None], |typed| typed.pieces());
    let of = |region: Option<Region>, (typed, blocks): (Option<_>, Option<&Blocks>), writes| {
        let region = region?;
        if let Some(typed) = typed {
            return Some(Use { pieces: Pieces::Typed(typed), ..Use::whole(region, writes) });
        }
        let Some(Blocks::List(blocks)) = blocks else { return Some(Use::whole(region, writes)) };
        let pieces = Pieces::Blocks(Arc::clone(blocks));
        Some(Use { pieces, base: region.offset, ..Use::whole(region, writes) })
    };
    let [given, taken] = typed;
    [
        of(input.filter(|_| is_given), (given, has_given_blocks.then_some(&call.sends)), false),
        of(output.filter(|_| is_taken), (taken, has_taken_blocks.then_some(&call.receives)), true),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi::datatype::{Datatype, Primitive};

    #[test]
    fn between_the_pieces_of_a_datatype_nothing_is_in_use() {
        let byte = Datatype::named(Primitive::Byte);
        let made = |lengths: &[i64], places: &[i64]| {
            let made = Datatype::hindexed(lengths, places, &byte).unwrap();
            Pieces::Elements(Arc::new(Elements::new(made, 1).unwrap()))
        };
        let region = |(offset, len)| Region { offset, ..Region::new(Space::User(0), len) };
        let write = |at| Use::whole(region(at), true);
        let ends = Use { pieces: made(&[2, 2], &[8, 0]), ..write((0, 10)) };
        for (at, clashes) in [((2, 6), false), ((1, 2), true), ((7, 2), true), ((9, 1), true)] {
            assert_eq!(ends.clashes(&write(at)), clashes, "{at:?}");
            assert_eq!(write(at).clashes(&ends), clashes, "{at:?}");
        }
        for (places, clashes) in [([4, 6], false), ([6, 7], true), ([1, 4], true), ([4, 9], true)] {
            let other = Use { pieces: made(&[1, 2], &places), ..write((0, 11)) };
            assert_eq!(ends.clashes(&other), clashes, "{places:?}");
        }
        let list = |blocks: &[(u64, u64)]| {
            let block = |&(offset, len): &(u64, u64)| Block { offset, len };
            Use { pieces: Pieces::Blocks(blocks.iter().map(block).collect()), ..write((0, 12)) }
        };
        for (blocks, twice) in [
            (&[(4, 4), (0, 4)][..], false),
            (&[(4, 4), (2, 4)], true),
            (&[(0, 8), (2, 0)], false),
            (&[(0, 8), (2, 2)], true),
        ] {
            assert_eq!(list(blocks).writes_twice(), twice, "{blocks:?}");
            assert!(!Use { writes: false, ..list(blocks) }.writes_twice());
        }
        let read = Use { writes: false, ..write((0, 2)) };
        assert!(!read.clashes(&read));
        assert!(!write((1, 0)).clashes(&write((0, 2))), "no byte is in use");
    }

    #[test]
    fn pieces_count_from_where_their_buffer_lies() {
        let at = |offset, len| Region { offset, ..Region::new(Space::User(0), len) };
        let ranges = vec![(0, 0), (2, 2)];
        let pieces = Pieces::Partitions { each: 4, ranges };
        let one = Use { pieces, base: 100, ..Use::whole(at(100, 12), true) };
        for (offset, clashes) in [(99, true), (100, true), (103, true), (104, false), (108, true)] {
            assert_eq!(one.clashes(&Use::whole(at(offset, 2), false)), clashes, "{offset}");
        }
    }
}
