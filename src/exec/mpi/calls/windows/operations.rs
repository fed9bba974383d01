//! Operations on windows.

use std::sync::Arc;

use super::super::requests;
use crate::functions as mpi5;
use crate::mpi::args::To;
use crate::mpi::arithmetic::{Element, predefined};
use crate::mpi::asked::Asked;
use crate::mpi::data::{Data, Held, elements};
use crate::mpi::fault::Fault;
use crate::mpi::objects::types::Types;
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use ::mpi::datatype::{Datatype, Rows};
use ::mpi::operator::Reduction;
use ::mpi::rma::update::Effect;
use calls::arguments::Buffer;
use calls::space::{Region, Space};
use protocols::call::Call;
use protocols::contract::Handle;
use protocols::windows::call::{At, Operation, RmaCall, Win, address};

/// The blocks of an operation that is under way, and what becomes of each.
struct Operate {
    win: Win,
    target: Option<u32>,
    blocks: Vec<At>,
    /// The effect of an accumulate; a put and a get have none.
    effect: Option<Effect>,
    origin: Option<Region>,
    result: Option<Region>,
}

/// Target arguments, which all operations have, in the order of MPI.
#[derive(Clone, Copy)]
struct Target {
    rank: i32,
    disp: i64,
    count: u64,
    datatype: u64,
    win: u64,
}

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Put => put_or_get(state, asked, true, None),
        F::Get => put_or_get(state, asked, false, None),
        F::Rput => put_or_get(state, asked, true, Some(8)),
        F::Rget => put_or_get(state, asked, false, Some(8)),
        F::Accumulate => accumulate(state, asked, None),
        F::Raccumulate => accumulate(state, asked, Some(9)),
        F::Get_accumulate => get_accumulate(state, asked, None),
        F::Rget_accumulate => get_accumulate(state, asked, Some(12)),
        F::Fetch_and_op => fetch_and_op(state, asked),
        F::Compare_and_swap => compare_and_swap(state, asked),
        _ => return None,
    })
}

fn target(asked: &Asked<'_>, first: usize, win: usize) -> Result<Target, Fault> {
    Ok(Target {
        rank: asked.int(first),
        disp: asked.long(first + 1),
        count: asked.count(first + 2)?,
        datatype: asked.word(first + 3),
        win: asked.word(win),
    })
}

fn put_or_get(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    is_put: bool,
    request: Option<usize>,
) -> Answer {
    let to = target(asked, 3, 7)?;
    state.win(to.win)?;
    let data = state.types.elements(asked.word(0), asked.count(1)?, asked.word(2))?;
    let (region, held) = held_region(asked, &data, (is_put, !is_put))?;
    let blocks = blocks(state, to)?;
    let (origin, result) = if is_put { (Some(region), None) } else { (None, Some(region)) };
    operate(state, asked, to, blocks, (None, origin, result), held.into_iter().collect(), request)
}

fn accumulate(state: &mut RankState, asked: &mut Asked<'_>, request: Option<usize>) -> Answer {
    let to = target(asked, 3, 8)?;
    state.win(to.win)?;
    let effect = effect(&state.types, asked.word(7), to.datatype)?;
    let data = state.types.elements(asked.word(0), asked.count(1)?, asked.word(2))?;
    let (region, held) = held_region(asked, &data, (true, false))?;
    let blocks = blocks(state, to)?;
    let held = held.into_iter().collect();
    operate(state, asked, to, blocks, (Some(effect), Some(region), None), held, request)
}

fn get_accumulate(state: &mut RankState, asked: &mut Asked<'_>, request: Option<usize>) -> Answer {
    let to = target(asked, 6, 11)?;
    state.win(to.win)?;
    let effect = effect(&state.types, asked.word(10), to.datatype)?;
    let mut held = Vec::new();
    let origin = if matches!(effect, Effect::NoOp(_)) {
        None
    } else {
        let data = state.types.elements(asked.word(0), asked.count(1)?, asked.word(2))?;
        let (region, kept) = held_region(asked, &data, (true, false))?;
        held.extend(kept);
        Some(region)
    };
    let data = state.types.elements(asked.word(3), asked.count(4)?, asked.word(5))?;
    let (result, kept) = held_region(asked, &data, (false, true))?;
    held.extend(kept);
    let blocks = blocks(state, to)?;
    operate(state, asked, to, blocks, (Some(effect), origin, Some(result)), held, request)
}

fn fetch_and_op(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (datatype, win) = (asked.word(2), asked.word(6));
    let to = Target { rank: asked.int(3), disp: asked.long(4), count: 1, datatype, win };
    state.win(win)?;
    let effect = effect(&state.types, asked.word(5), datatype)?;
    let origin = match effect {
        Effect::NoOp(_) => None,
        Effect::Replace(_) | Effect::Reduce(_) | Effect::CompareAndSwap(_) => {
            Some(element_at(&state.types, asked, 0, datatype)?)
        }
    };
    let result = Some(element_at(&state.types, asked, 1, datatype)?);
    let blocks = blocks(state, to)?;
    operate(state, asked, to, blocks, (Some(effect), origin, result), Vec::new(), None)
}

fn compare_and_swap(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (datatype, win) = (asked.word(3), asked.word(6));
    let to = Target { rank: asked.int(4), disp: asked.long(5), count: 1, datatype, win };
    state.win(win)?;
    let tree = state.types.committed(datatype)?.clone();
    let number = state.types.swapped(datatype)?;
    // The operand of the library is the element that is compared, and then the new one.
    let size = tree.size();
    let (new, compared) = (elements(asked.word(0), 1, &tree)?, elements(asked.word(1), 1, &tree)?);
    let buffer = asked.place.hold(2 * size)?;
    let comes = vec![(0, compared), (size, new)];
    let held = Held::new(asked.place, buffer, comes, Vec::new());
    held.fill(asked.place)?;
    let result = Some(element_at(&state.types, asked, 2, datatype)?);
    let blocks = blocks(state, to)?;
    let effect = Some(Effect::CompareAndSwap(number));
    operate(state, asked, to, blocks, (effect, Some(region(buffer)), result), vec![held], None)
}

/// One element where an argument points.
fn element_at(
    types: &Types,
    asked: &mut Asked<'_>,
    at: usize,
    datatype: u64,
) -> Result<Region, Fault> {
    match elements(asked.word(at), 1, types.committed(datatype)?)? {
        Data::Plain { address, bytes } => Ok(region(asked.place.buffer(address, bytes))),
        Data::Pieces { .. } => {
            Err(Fault::new(mpi5::ERR_TYPE, "an element of a named datatype is needed"))
        }
    }
}

/// Effect of an operator on the elements of a target.
fn effect(types: &Types, operator: u64, datatype: u64) -> Result<Effect, Fault> {
    let basic = types.basic(datatype).unwrap_or(datatype);
    match operator {
        mpi5::REPLACE => return Ok(Effect::Replace(types.moved(basic))),
        mpi5::NO_OP => return Ok(Effect::NoOp(types.moved(basic))),
        _ => {}
    }
    let Some(known) = predefined(operator) else {
        return Err(Fault::new(mpi5::ERR_OP, "accumulates take predefined operators"));
    };
    let reduction = match types.operand(known, basic)? {
        Element::Number(number) => Reduction::new(known, number),
        Element::Extended
        | Element::Complex(_)
        | Element::Truth { .. }
        | Element::Located { .. } => None,
    };
    reduction.map(Effect::Reduce).ok_or_else(|| {
        let basic = types.called(basic);
        Fault::not_carried(format!(
            "the simulator does not carry accumulates by `{known}` of {basic}"
        ))
    })
}

/// The blocks that the elements of a target take.
fn blocks(state: &mut RankState, to: Target) -> Result<Vec<At>, Fault> {
    let tree = state.types.committed(to.datatype)?.clone();
    let window = state.win(to.win)?;
    if to.rank == mpi5::PROC_NULL {
        return Ok(Vec::new());
    }
    let rank = window.target(to.rank)?;
    let is_dynamic = window.flavor == mpi5::WIN_FLAVOR_DYNAMIC;
    let process = window.group.members()[rank as usize];
    let (disp, count) = (to.disp, to.count);
    if disp < 0 && !is_dynamic {
        return Err(Fault::new(mpi5::ERR_DISP, format!("a displacement of {disp}")));
    }
    let rows = rows_of(&tree, count)?;
    rows.into_iter()
        .map(|Rows { first, length, stride, count }| {
            let blocks = u32::try_from(count)
                .map_err(|_| Fault::new(mpi5::ERR_COUNT, format!("{count} blocks")))?;
            let stride = u64::try_from(stride).map_err(|_| {
                Fault::not_carried("the simulator does not carry falling strides at a target")
            })?;
            if !is_dynamic {
                let disp = disp.cast_unsigned();
                return Ok(At { disp, first, block: length, count: blocks, stride });
            }
            let start = disp.wrapping_add(first).cast_unsigned();
            let span = stride * (count - 1) + length;
            let found = state.windows.exposed.find(process, start, span);
            let (memory, offset) = found.ok_or_else(|| {
                let why = format!("rank {rank} has not attached {span} bytes at {start:#x}");
                Fault::new(mpi5::ERR_RMA_RANGE, why)
            })?;
            let disp = address(memory, offset);
            Ok(At { disp, first: 0, block: length, count: blocks, stride })
        })
        .collect()
}

fn operate(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    to: Target,
    mut blocks: Vec<At>,
    (effect, origin, result): (Option<Effect>, Option<Region>, Option<Region>),
    held: Vec<Held>,
    request: Option<usize>,
) -> Answer {
    let window = state.win(to.win)?;
    let win = window.number;
    let target = if to.rank == mpi5::PROC_NULL { None } else { Some(window.target(to.rank)?) };
    if blocks.is_empty() {
        for held in held {
            asked.place.release(held.buffer);
        }
        if request.is_none() {
            return done();
        }
        blocks.push(At::contiguous(0, 0));
        let operate = Operate { win, target: None, blocks, effect, origin: None, result: None };
        return requested(state, asked, to.win, &operate, Vec::new(), request);
    }
    if request.is_some() {
        if blocks.len() > 1 {
            return Err(Fault::not_carried(
                "the simulator does not carry an operation with a request whose target lies in \
                 blocks at different distances",
            ));
        }
        let operate = Operate { win, target, blocks, effect, origin, result };
        return requested(state, asked, to.win, &operate, held, request);
    }
    let of = target.unwrap_or_default();
    state.win(to.win)?.held.extend(held.into_iter().map(|held| (of, held)));
    blocks.reverse();
    let step = Operate { win, target, blocks, effect, origin, result }.next(0);
    Ok(step)
}

/// An operation with a request.
fn requested(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    win: u64,
    operate: &Operate,
    held: Vec<Held>,
    request: Option<usize>,
) -> Answer {
    let Some(at) = request else { return done() };
    let request = state.requests.open(win);
    let call = operate.call(operate.blocks[0], 0, Some(request));
    Ok(requests::begins(&mut state.requests, asked, To::new(asked.word(at)), request, call, held))
}

impl Operate {
    /// The next block, whose bytes begin at `from` at the origin; the function returns after the last one.
    fn next(mut self, from: u64) -> Step {
        let Some(at) = self.blocks.pop() else { return Step::Returns(0) };
        let call = self.call(at, from, None);
        Step::calls(call, move |_, _, _| Ok(self.next(from + at.bytes())))
    }

    fn call(&self, at: At, from: u64, request: Option<Handle>) -> Call {
        let Self { win, target, effect, origin, result, .. } = self;
        let of_block = |region: Region| region.part(from, at.bytes());
        let does = match (effect, origin, result) {
            (None, Some(origin), _) => Operation::Put { origin: of_block(*origin) },
            (None, None, Some(into)) => Operation::Get { into: of_block(*into) },
            (Some(update), origin, result) => Operation::Update {
                update: *update,
                origin: match update {
                    Effect::CompareAndSwap(_) => *origin,
                    Effect::Replace(_) | Effect::NoOp(_) | Effect::Reduce(_) => {
                        origin.map(of_block)
                    }
                },
                result: result.map(of_block),
            },
            (None, None, None) => Operation::Put { origin: Region::new(Space::User(0), 0) },
        };
        let (win, target) = (*win, *target);
        Call::Rma(Arc::new(RmaCall::Operate { win, target, at, does, request }))
    }
}

/// Runs of equal length at equal distances that the elements of a target take, or one for each run.
fn rows_of(tree: &Datatype, count: u64) -> Result<Vec<Rows>, Fault> {
    let bytes = tree
        .packed(count)
        .map_err(|error| Fault::new(mpi5::ERR_COUNT, format!("data without end: {error}")))?;
    if bytes == 0 {
        return Ok(Vec::new());
    }
    if let Some(rows) = Rows::of(tree, count).filter(|rows| rows.count == 1 || rows.stride >= 0) {
        return Ok(vec![Rows { stride: if rows.count == 1 { 0 } else { rows.stride }, ..rows }]);
    }
    let segments = tree
        .segments_of(count, 0..bytes)
        .map_err(|error| Fault::new(mpi5::ERR_TYPE, error.to_string()))?;
    let row = |segment: ::mpi::datatype::Segment| Rows {
        first: segment.offset,
        length: segment.length,
        stride: 0,
        count: 1,
    };
    Ok(segments.map(row).collect())
}

/// Data as bytes one after the other.
fn held_region(
    asked: &mut Asked<'_>,
    data: &Data,
    rw: (bool, bool),
) -> Result<(Region, Option<Held>), Fault> {
    let (buffer, held) = data.in_one_piece(asked.place, rw)?;
    Ok((region(buffer), held))
}

const fn region(buffer: Buffer) -> Region {
    Region::new(Space::User(buffer.id), buffer.bytes)
}
