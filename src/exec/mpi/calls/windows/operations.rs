//! Operations on windows.

use std::sync::Arc;

use super::super::requests;
use crate::functions as mpi5;
use crate::mpi::args::{self, Address, To, WithRequest, handle};
use crate::mpi::arithmetic::{Element, predefined};
use crate::mpi::data::{Data, Held, elements};
use crate::mpi::families::Operations as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::types::Types;
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
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

/// The elements that an operation is about.
#[derive(Clone, Copy)]
struct Target {
    rank: i32,
    disp: i64,
    count: u64,
    datatype: handle::Datatype,
    win: handle::Win,
}

pub(in super::super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Put(of) => put_or_get(state, frame, of, true, None),
        F::Get(of) => put_or_get(state, frame, of, false, None),
        F::Rput(WithRequest { of, request }) => put_or_get(state, frame, of, true, Some(request)),
        F::Rget(WithRequest { of, request }) => put_or_get(state, frame, of, false, Some(request)),
        F::Accumulate(of) => accumulate(state, frame, of, None),
        F::Raccumulate(WithRequest { of, request }) => accumulate(state, frame, of, Some(request)),
        F::Get_accumulate(of) => get_accumulate(state, frame, of, None),
        F::Rget_accumulate(WithRequest { of, request }) => {
            get_accumulate(state, frame, of, Some(request))
        }
        F::Fetch_and_op(of) => fetch_and_op(state, frame, of),
        F::Compare_and_swap(of) => compare_and_swap(state, frame, of),
    }
}

fn target(of: args::Target, win: handle::Win) -> Result<Target, Fault> {
    let args::Target { rank, displacement: disp, count, datatype } = of;
    Ok(Target { rank, disp, count: count.natural()?, datatype, win })
}

fn put_or_get(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Put,
    is_put: bool,
    request: Option<To<handle::Request>>,
) -> Answer {
    let to = target(of.target, of.win)?;
    state.win(to.win)?;
    let data = state.types.data(of.origin)?;
    let (region, held) = held_region(frame, &data, (is_put, !is_put))?;
    let blocks = blocks(state, to)?;
    let (origin, result) = if is_put { (Some(region), None) } else { (None, Some(region)) };
    operate(state, frame, to, blocks, (None, origin, result), held.into_iter().collect(), request)
}

fn accumulate(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Accumulate,
    request: Option<To<handle::Request>>,
) -> Answer {
    let to = target(of.target, of.win)?;
    state.win(to.win)?;
    let effect = effect(&state.types, of.op, to.datatype)?;
    let data = state.types.data(of.origin)?;
    let (region, held) = held_region(frame, &data, (true, false))?;
    let blocks = blocks(state, to)?;
    let held = held.into_iter().collect();
    operate(state, frame, to, blocks, (Some(effect), Some(region), None), held, request)
}

fn get_accumulate(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Get_accumulate,
    request: Option<To<handle::Request>>,
) -> Answer {
    let to = target(of.target, of.win)?;
    state.win(to.win)?;
    let effect = effect(&state.types, of.op, to.datatype)?;
    let mut held = Vec::new();
    let origin = if matches!(effect, Effect::NoOp(_)) {
        None
    } else {
        let data = state.types.data(of.origin)?;
        let (region, kept) = held_region(frame, &data, (true, false))?;
        held.extend(kept);
        Some(region)
    };
    let data = state.types.data(of.result)?;
    let (result, kept) = held_region(frame, &data, (false, true))?;
    held.extend(kept);
    let blocks = blocks(state, to)?;
    operate(state, frame, to, blocks, (Some(effect), origin, Some(result)), held, request)
}

fn fetch_and_op(state: &mut RankState, frame: &mut Frame<'_>, of: args::Fetch_and_op) -> Answer {
    let (rank, disp, datatype, win) = (of.target_rank, of.target_disp, of.datatype, of.win);
    let to = Target { rank, disp, count: 1, datatype, win };
    state.win(win)?;
    let effect = effect(&state.types, of.op, datatype)?;
    let origin = match effect {
        Effect::NoOp(_) => None,
        Effect::Replace(_) | Effect::Reduce(_) | Effect::CompareAndSwap(_) => {
            Some(element_at(&state.types, frame, of.origin_addr, datatype)?)
        }
    };
    let result = Some(element_at(&state.types, frame, of.result_addr, datatype)?);
    let blocks = blocks(state, to)?;
    operate(state, frame, to, blocks, (Some(effect), origin, result), Vec::new(), None)
}

fn compare_and_swap(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Compare_and_swap,
) -> Answer {
    let (rank, disp, datatype, win) = (of.target_rank, of.target_disp, of.datatype, of.win);
    let to = Target { rank, disp, count: 1, datatype, win };
    state.win(win)?;
    let tree = state.types.committed(datatype)?.clone();
    let number = state.types.swapped(datatype.0)?;
    // The operand of the library is the element that is compared, and then the new one.
    let size = tree.size();
    let new = elements(of.origin_addr.0, 1, &tree)?;
    let compared = elements(of.compare_addr.0, 1, &tree)?;
    let buffer = frame.place.hold(2 * size)?;
    let comes = vec![(0, compared), (size, new)];
    let held = Held::new(frame.place, buffer, comes, Vec::new());
    held.fill(frame.place)?;
    let result = Some(element_at(&state.types, frame, of.result_addr, datatype)?);
    let blocks = blocks(state, to)?;
    let effect = Some(Effect::CompareAndSwap(number));
    operate(state, frame, to, blocks, (effect, Some(region(buffer)), result), vec![held], None)
}

/// One element at an address.
fn element_at(
    types: &Types,
    frame: &mut Frame<'_>,
    address: Address,
    datatype: handle::Datatype,
) -> Result<Region, Fault> {
    match elements(address.0, 1, types.committed(datatype)?)? {
        Data::Plain { address, bytes } => Ok(region(frame.place.buffer(address, bytes))),
        Data::Pieces { .. } => {
            Err(Fault::new(mpi5::ERR_TYPE, "an element of a named datatype is needed"))
        }
    }
}

/// Effect of an operator on the elements of a target.
fn effect(
    types: &Types,
    handle::Op(operator): handle::Op,
    handle::Datatype(datatype): handle::Datatype,
) -> Result<Effect, Fault> {
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
    frame: &mut Frame<'_>,
    to: Target,
    mut blocks: Vec<At>,
    (effect, origin, result): (Option<Effect>, Option<Region>, Option<Region>),
    held: Vec<Held>,
    request: Option<To<handle::Request>>,
) -> Answer {
    let window = state.win(to.win)?;
    let win = window.number;
    let target = if to.rank == mpi5::PROC_NULL { None } else { Some(window.target(to.rank)?) };
    if blocks.is_empty() {
        for held in held {
            frame.place.release(held.buffer);
        }
        if request.is_none() {
            return done();
        }
        blocks.push(At::contiguous(0, 0));
        let operate = Operate { win, target: None, blocks, effect, origin: None, result: None };
        return requested(state, frame, to.win, &operate, Vec::new(), request);
    }
    if request.is_some() {
        if blocks.len() > 1 {
            return Err(Fault::not_carried(
                "the simulator does not carry an operation with a request whose target lies in \
                 blocks at different distances",
            ));
        }
        let operate = Operate { win, target, blocks, effect, origin, result };
        return requested(state, frame, to.win, &operate, held, request);
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
    frame: &mut Frame<'_>,
    win: handle::Win,
    operate: &Operate,
    held: Vec<Held>,
    request: Option<To<handle::Request>>,
) -> Answer {
    let Some(to) = request else { return done() };
    let request = state.requests.open(win.0);
    let call = operate.call(operate.blocks[0], 0, Some(request));
    Ok(requests::begins(&mut state.requests, frame, to, request, call, held))
}

impl Operate {
    /// The next block, whose bytes begin at `from` at the origin; the function returns after the last one.
    fn next(mut self, from: u64) -> NextStep {
        let Some(at) = self.blocks.pop() else { return NextStep::Returns(0) };
        let call = self.call(at, from, None);
        NextStep::calls(call, move |_, _, _| Ok(self.next(from + at.bytes())))
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
    frame: &mut Frame<'_>,
    data: &Data,
    rw: (bool, bool),
) -> Result<(Region, Option<Held>), Fault> {
    let (buffer, held) = data.in_one_piece(frame.place, rw)?;
    Ok((region(buffer), held))
}

const fn region(buffer: Buffer) -> Region {
    Region::new(Space::User(buffer.id), buffer.bytes)
}
