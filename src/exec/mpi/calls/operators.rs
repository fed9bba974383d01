//! Operators of reductions, and what functions of the program do to elements.

use crate::functions as mpi5;
use crate::mpi::args::{self, handle};
use crate::mpi::arithmetic::{self, predefined};
use crate::mpi::data::elements;
use crate::mpi::families::Operators as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::operators::{Foreign, Made, Operators};
use crate::mpi::rank_state::{Answer, RankState, done};
use crate::place::Place;
use ::mpi::datatype::Datatype as Tree;
use ::mpi::operator::Side;

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Op_create(of) => create(&mut state.operators, frame, of, false),
        F::Op_create_c(of) => create(&mut state.operators, frame, of, true),
        F::Op_commutative(of) => {
            let handle::Op(handle) = of.op;
            let made = state.operators.get(of.op).map(|made| made.commutes);
            // What an operation leaves there depends on their order.
            let moves = [mpi5::REPLACE, mpi5::NO_OP].contains(&handle).then_some(false);
            match made.or(moves).or_else(|| predefined(handle).map(|_| true)) {
                Some(commutes) => {
                    frame.put_flag(of.commute, commutes);
                    done()
                }
                None => Err(Fault::new(mpi5::ERR_OP, "it is no operator")),
            }
        }
        F::Op_free(of) => {
            state.operators.free(frame.handle(of.op)?)?;
            frame.put_handle(of.op, mpi5::OP_NULL);
            done()
        }
        F::Reduce_local(of) => reduce_local(state, frame, of),
    }
}

fn create(
    operators: &mut Operators,
    frame: &mut Frame<'_>,
    of: args::Op_create,
    is_large: bool,
) -> Answer {
    let (function, commutes) = (of.user_fn.0, of.commute != 0);
    let handle = operators.add(Made { function, commutes, is_large });
    frame.put_handle(of.op, handle);
    done()
}

fn reduce_local(state: &mut RankState, frame: &mut Frame<'_>, of: args::Reduce_local) -> Answer {
    let into = of.inoutbuf;
    into.count.natural()?;
    let reduction = state.operators.reduction(&state.types, of.op, into.datatype)?;
    let from = state.types.data(args::Buffer { address: of.inbuf, ..into })?;
    let into = state.types.data(into)?;
    from.is_read_for(&into, frame);
    let lower = from.gather(frame.place)?;
    let mut result = into.gather(frame.place)?;
    frame.place.takes_no_time(Some(frame.function), result.len() as u64);
    match reduction.of_a_program() {
        Some(number) => combine(state, frame.place, number, (&lower, &mut result), Side::Before)?,
        None => reduction.combine(&lower, &mut result, Side::Before),
    }
    into.scatter(frame.place, &result)?;
    done()
}

/// Combines elements by an operator that the library does not have.
pub(super) fn combine(
    state: &mut RankState,
    place: &mut Place,
    number: u16,
    (from, into): (&[u8], &mut [u8]),
    side: Side,
) -> Result<(), Fault> {
    match state.operators.foreign(number) {
        Foreign::Known { operator, on } => {
            arithmetic::combine(operator, on, from, into, side);
            Ok(())
        }
        Foreign::Function { made, datatype, tree } => {
            apply(state, place, made, (datatype, &tree), (from, into), side)
        }
    }
}

/// The process runs a function of its own on elements: `inout = in ∘ inout`, in its own memory.
fn apply(
    state: &mut RankState,
    place: &mut Place,
    made: Made,
    (datatype, tree): (u64, &Tree),
    (from, into): (&[u8], &mut [u8]),
    side: Side,
) -> Result<(), Fault> {
    let count = if tree.size() == 0 { 0 } else { into.len() as u64 / tree.size() };
    let (lowest, highest) = tree
        .span(count)
        .map_err(|error| Fault::new(mpi5::ERR_COUNT, format!("elements without end: {error}")))?;
    let extent = highest.abs_diff(lowest);
    if extent > i64::MAX.cast_unsigned() / 4 {
        return Err(place.process.too_large(extent).into());
    }
    let extent = extent.next_multiple_of(64);
    let room = place.room(2 * extent + 64)?;
    // The first 64 bytes have the length and the datatype.
    let first = (room + 64).wrapping_add_signed(-lowest);
    let second = first + extent;
    let (low, high) = match side {
        Side::Before => (from, &*into),
        Side::After => (&*into, from),
    };
    elements(first, count, tree)?.scatter(place, low)?;
    let result = elements(second, count, tree)?;
    result.scatter(place, high)?;
    if made.is_large {
        place.process.put(room, &count.to_ne_bytes());
    } else {
        let count = i32::try_from(count).expect("an int counts the elements");
        place.process.put(room, &count.to_ne_bytes());
    }
    place.process.put(room + 8, &datatype.to_ne_bytes());
    state.call_back(place, made.function, [first, second, room, room + 8, 0, 0])?;
    into.copy_from_slice(&result.gather(place)?);
    Ok(())
}
