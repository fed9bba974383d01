//! The constructors of datatypes.

use super::super::attributes;
use crate::functions as mpi5;
use crate::mpi::args::{self, Count, To, handle, length};
use crate::mpi::families::Constructors as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::attributes::Kind;
use crate::mpi::objects::types::{Contents, Part, Types};
use crate::mpi::rank_state::{Answer, RankState, done};
use ::mpi::datatype::{Datatype, DatatypeError, Order};

pub(in super::super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    let types = &mut state.types;
    match call {
        F::Type_dup(of) => dup(state, frame, of),
        F::Type_contiguous(of) => contiguous(types, frame, of),
        F::Type_vector(of) => vector(types, frame, of),
        F::Type_create_hvector(of) => hvector(types, frame, of),
        F::Type_indexed(of) => indexed(types, frame, of),
        F::Type_create_hindexed(of) => hindexed(types, frame, of),
        F::Type_create_indexed_block(of) => indexed_block(types, frame, of),
        F::Type_create_hindexed_block(of) => hindexed_block(types, frame, of),
        F::Type_create_struct(of) => structure(types, frame, of),
        F::Type_create_subarray(of) => subarray(types, frame, of),
        F::Type_create_darray(of) => darray(types, frame, of),
        F::Type_create_resized(of) => resized(types, frame, of),
    }
}

/// The datatype of a handle, and what it is as a part.
fn child(types: &Types, handle: handle::Datatype) -> Result<(Datatype, Part), Fault> {
    Ok((types.tree(handle)?.clone(), types.part(handle)?))
}

/// A datatype is made, and the process gets its handle.
fn made(
    types: &mut Types,
    frame: &mut Frame<'_>,
    to: To<handle::Datatype>,
    tree: Result<Datatype, DatatypeError>,
    contents: Contents,
) -> Answer {
    let handle = types.add(tree.map_err(wrong_type)?, contents);
    frame.put_handle(to, handle);
    done()
}

fn dup(state: &mut RankState, frame: &mut Frame<'_>, of: args::Type_dup) -> Answer {
    let args::Type_dup { oldtype: old, newtype } = of;
    let types = &mut state.types;
    let (tree, part) = child(types, old)?;
    let is_committed = types.committed(old).is_ok();
    let handle = types.add(tree, contents(mpi5::COMBINER_DUP, [], [], [part]));
    if is_committed {
        types.commit(handle::Datatype(handle))?;
    }
    let settle = move |state: &mut RankState, frame: &mut Frame<'_>, copied| {
        if let Err(fault) = copied {
            state.types.remove(handle);
            frame.put_handle(newtype, mpi5::DATATYPE_NULL);
            return Err(fault);
        }
        frame.put_handle(newtype, handle);
        done()
    };
    attributes::copy(state, frame, (Kind::Type, old.0), handle, Box::new(settle))
}

fn contiguous(types: &mut Types, frame: &mut Frame<'_>, of: args::Type_contiguous) -> Answer {
    let (child, part) = child(types, of.oldtype)?;
    let Count(count) = of.count;
    let contents = contents(mpi5::COMBINER_CONTIGUOUS, [count], [], [part]);
    made(types, frame, of.newtype, Datatype::contiguous(count, &child), contents)
}

fn vector(types: &mut Types, frame: &mut Frame<'_>, of: args::Type_vector) -> Answer {
    let (child, part) = child(types, of.oldtype)?;
    let [count, length, stride] = [of.count, of.blocklength, of.stride].map(i64::from);
    let contents = contents(mpi5::COMBINER_VECTOR, [count, length, stride], [], [part]);
    made(types, frame, of.newtype, Datatype::vector(count, length, stride, &child), contents)
}

fn hvector(types: &mut Types, frame: &mut Frame<'_>, of: args::Type_create_hvector) -> Answer {
    let (child, part) = child(types, of.oldtype)?;
    let ([count, length], stride) = ([of.count, of.blocklength].map(i64::from), of.stride);
    let contents = contents(mpi5::COMBINER_HVECTOR, [count, length], [stride], [part]);
    made(types, frame, of.newtype, Datatype::hvector(count, length, stride, &child), contents)
}

fn indexed(types: &mut Types, frame: &mut Frame<'_>, of: args::Type_indexed) -> Answer {
    let (child, part) = child(types, of.oldtype)?;
    let count = length(of.count)?;
    let lengths = frame.counts(of.array_of_blocklengths, count)?;
    let places = frame.counts(of.array_of_displacements, count)?;
    let integers = [of.count.0].into_iter().chain(lengths.clone()).chain(places.clone());
    let contents = contents(mpi5::COMBINER_INDEXED, integers, [], [part]);
    made(types, frame, of.newtype, Datatype::indexed(&lengths, &places, &child), contents)
}

fn hindexed(types: &mut Types, frame: &mut Frame<'_>, of: args::Type_create_hindexed) -> Answer {
    let (child, part) = child(types, of.oldtype)?;
    let count = length(of.count)?;
    let lengths = frame.counts(of.array_of_blocklengths, count)?;
    let places = frame.longs(of.array_of_displacements, count)?;
    let integers = [of.count.0].into_iter().chain(lengths.clone());
    let contents = contents(mpi5::COMBINER_HINDEXED, integers, places.clone(), [part]);
    made(types, frame, of.newtype, Datatype::hindexed(&lengths, &places, &child), contents)
}

fn indexed_block(
    types: &mut Types,
    frame: &mut Frame<'_>,
    of: args::Type_create_indexed_block,
) -> Answer {
    let (child, part) = child(types, of.oldtype)?;
    let (count, Count(length)) = (length(of.count)?, of.blocklength);
    let places = frame.counts(of.array_of_displacements, count)?;
    let integers = [of.count.0, length].into_iter().chain(places.clone());
    let contents = contents(mpi5::COMBINER_INDEXED_BLOCK, integers, [], [part]);
    made(types, frame, of.newtype, Datatype::indexed_block(length, &places, &child), contents)
}

fn hindexed_block(
    types: &mut Types,
    frame: &mut Frame<'_>,
    of: args::Type_create_hindexed_block,
) -> Answer {
    let (child, part) = child(types, of.oldtype)?;
    let (count, Count(length)) = (length(of.count)?, of.blocklength);
    let places = frame.longs(of.array_of_displacements, count)?;
    let integers = [of.count.0, length];
    let contents = contents(mpi5::COMBINER_HINDEXED_BLOCK, integers, places.clone(), [part]);
    made(types, frame, of.newtype, Datatype::hindexed_block(length, &places, &child), contents)
}

fn structure(types: &mut Types, frame: &mut Frame<'_>, of: args::Type_create_struct) -> Answer {
    let count = length(of.count)?;
    let lengths = frame.counts(of.array_of_blocklengths, count)?;
    let places = frame.longs(of.array_of_displacements, count)?;
    let (mut children, mut parts) = (Vec::new(), Vec::new());
    for handle in frame.handles(of.array_of_types, count)? {
        children.push(types.tree(handle)?.clone());
        parts.push(types.part(handle)?);
    }
    let integers = [of.count.0].into_iter().chain(lengths.clone());
    let contents = contents(mpi5::COMBINER_STRUCT, integers, places.clone(), parts);
    made(types, frame, of.newtype, Datatype::structure(&lengths, &places, &children), contents)
}

fn subarray(types: &mut Types, frame: &mut Frame<'_>, of: args::Type_create_subarray) -> Answer {
    let (child, part) = child(types, of.oldtype)?;
    let dimensions = length(of.ndims)?;
    let sizes = frame.counts(of.array_of_sizes, dimensions)?;
    let parts = frame.counts(of.array_of_subsizes, dimensions)?;
    let starts = frame.counts(of.array_of_starts, dimensions)?;
    let order = order(of.order)?;
    let integers = [of.ndims.into()]
        .into_iter()
        .chain(sizes.clone())
        .chain(parts.clone())
        .chain(starts.clone())
        .chain([of.order.into()]);
    let contents = contents(mpi5::COMBINER_SUBARRAY, integers, [], [part]);
    let tree = Datatype::subarray(&sizes, &parts, &starts, order, &child);
    made(types, frame, of.newtype, tree, contents)
}

fn resized(types: &mut Types, frame: &mut Frame<'_>, of: args::Type_create_resized) -> Answer {
    let (child, part) = child(types, of.oldtype)?;
    let contents = contents(mpi5::COMBINER_RESIZED, [], [of.lb, of.extent], [part]);
    made(types, frame, of.newtype, Datatype::resized(of.lb, of.extent, &child), contents)
}

fn darray(types: &mut Types, frame: &mut Frame<'_>, of: args::Type_create_darray) -> Answer {
    let (child, part) = child(types, of.oldtype)?;
    let (size, rank) = (i64::from(of.size), i64::from(of.rank));
    let dimensions = length(of.ndims)?;
    let sizes = frame.counts(of.array_of_gsizes, dimensions)?;
    let longs = |ints: Vec<i32>| ints.into_iter().map(i64::from).collect::<Vec<_>>();
    let distributions = longs(frame.ints(of.array_of_distribs, dimensions)?);
    let arguments = longs(frame.ints(of.array_of_dargs, dimensions)?);
    let grid = longs(frame.ints(of.array_of_psizes, dimensions)?);
    let order = order(of.order)?;
    let integers = [size, rank, of.ndims.into()]
        .into_iter()
        .chain(sizes.clone())
        .chain(distributions.clone())
        .chain(arguments.clone())
        .chain(grid.clone())
        .chain([of.order.into()]);
    let contents = contents(mpi5::COMBINER_DARRAY, integers, [], [part]);
    let processes =
        grid.iter().try_fold(1_i64, |all, extent| all.checked_mul(*extent).filter(|_| *extent > 0));
    if processes != Some(size) || !(0..size).contains(&rank) {
        let why = format!("a grid of other than {size} processes, or no rank {rank} in it");
        return Err(Fault::new(mpi5::ERR_ARG, why));
    }
    let spread = Spread { sizes, distributions, arguments, grid, order };
    let tree = spread.part_of(rank, &child)?;
    made(types, frame, of.newtype, Ok(tree), contents)
}

/// How an array is spread over a grid of processes.
struct Spread {
    sizes: Vec<i64>,
    distributions: Vec<i64>,
    arguments: Vec<i64>,
    grid: Vec<i64>,
    order: Order,
}

impl Spread {
    /// The part of process `rank`. Source: MPI 4.0, Sec. 5.1.4.
    fn part_of(&self, rank: i64, child: &Datatype) -> Result<Datatype, Fault> {
        let mut places = vec![0; self.grid.len()];
        let mut rest = rank;
        for (place, extent) in places.iter_mut().zip(&self.grid).rev() {
            (*place, rest) = (rest % extent, rest / extent);
        }
        let dimensions = 0..self.sizes.len();
        let order: Vec<usize> = match self.order {
            Order::Fortran => dimensions.collect(),
            Order::C => dimensions.rev().collect(),
        };
        let mut tree = child.clone();
        let mut below = child.extent();
        for at in order {
            let all = below.checked_mul(self.sizes[at]).ok_or_else(too_large)?;
            tree = self.along(at, places[at], &tree, below)?;
            below = all;
        }
        Datatype::resized(0, below, &tree).map_err(wrong_type)
    }

    /// The part along one dimension, of elements that are `below` bytes apart.
    fn along(&self, at: usize, place: i64, tree: &Datatype, below: i64) -> Result<Datatype, Fault> {
        let (size, processes) = (self.sizes[at], self.grid[at]);
        let which = i32::try_from(self.distributions[at]).unwrap_or(mpi5::UNDEFINED);
        let is_default = self.arguments[at] == i64::from(mpi5::DISTRIBUTE_DFLT_DARG);
        if size < 1 {
            return Err(Fault::new(mpi5::ERR_ARG, format!("an array of {size} elements")));
        }
        let block = match which {
            mpi5::DISTRIBUTE_NONE => size,
            mpi5::DISTRIBUTE_BLOCK if is_default => (size - 1) / processes + 1,
            mpi5::DISTRIBUTE_CYCLIC if is_default => 1,
            mpi5::DISTRIBUTE_BLOCK | mpi5::DISTRIBUTE_CYCLIC => self.arguments[at],
            other => {
                return Err(Fault::new(mpi5::ERR_ARG, format!("{other} is no distribution")));
            }
        };
        let of_all = block.checked_mul(processes).ok_or_else(too_large)?;
        if block < 1 || which == mpi5::DISTRIBUTE_BLOCK && of_all < size {
            let why = format!("blocks of {block} for {size} elements and {processes} processes");
            return Err(Fault::new(mpi5::ERR_ARG, why));
        }
        let place = if which == mpi5::DISTRIBUTE_NONE { 0 } else { place };
        let every = if which == mpi5::DISTRIBUTE_NONE { size } else { of_all };
        let (mut lengths, mut starts) = (Vec::new(), Vec::new());
        let mut next = Some(place * block);
        while let Some(first) = next.filter(|first| *first < size) {
            if lengths.len() == BLOCKS {
                return Err(Fault::not_carried(format!(
                    "the simulator does not carry a distributed array with more than {BLOCKS} blocks"
                )));
            }
            lengths.push(block.min(size - first));
            starts.push(first * below);
            next = first.checked_add(every);
        }
        // Elements of this dimension are `below` bytes apart, whatever their own extent is.
        let one = Datatype::resized(0, below, tree).map_err(wrong_type)?;
        Datatype::hindexed(&lengths, &starts, &one).map_err(wrong_type)
    }
}

/// Blocks of one process along one dimension of a distributed array, at most: their list is kept.
const BLOCKS: usize = 1 << 24;

fn too_large() -> Fault {
    Fault::new(mpi5::ERR_ARG, "the array has more bytes than an address can count")
}

fn order(order: i32) -> Result<Order, Fault> {
    match order {
        mpi5::ORDER_C => Ok(Order::C),
        mpi5::ORDER_FORTRAN => Ok(Order::Fortran),
        other => Err(Fault::new(mpi5::ERR_ARG, format!("{other} is no order"))),
    }
}

fn contents(
    combiner: i32,
    integers: impl IntoIterator<Item = i64>,
    addresses: impl IntoIterator<Item = i64>,
    types: impl IntoIterator<Item = Part>,
) -> Contents {
    Contents {
        combiner,
        integers: integers.into_iter().collect(),
        addresses: addresses.into_iter().collect(),
        types: types.into_iter().collect(),
    }
}

fn wrong_type(error: DatatypeError) -> Fault {
    Fault::new(mpi5::ERR_ARG, error.to_string())
}
