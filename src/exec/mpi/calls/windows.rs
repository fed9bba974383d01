//! Windows: memory of processes that others read and write.
//!
//! The library's operations reach blocks at equal distances. A target datatype that has others goes in several
//! operations, one for each run of its bytes. What lies in pieces at the origin the simulator holds until the call that
//! completes the operation.

mod operations;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::attributes;
use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::attributes::Kind;
use crate::mpi::objects::windows::Window;
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use ::mpi::envelope::Rank;
use ::mpi::rma::synchronisation::RankSet;
use calls::arguments::Outcome;
use calls::space::{Region, Space};
use protocols::call::{Call, Reply};
use protocols::windows::call::{FenceAssert, Flavor, LockKind, RmaCall, Spacing, Win};

/// The part of a window that a rank brings.
#[derive(Clone, Copy, Debug)]
struct Part {
    base: u64,
    bytes: i64,
    unit: i64,
}

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use Completes::{All, Nothing};
    use mpi5::Function as F;
    Some(match asked.function {
        F::Win_create => create(state, asked),
        F::Win_allocate => allocate(state, asked),
        F::Win_allocate_shared => allocate_shared(state, asked),
        F::Win_create_dynamic => create_dynamic(state, asked),
        F::Win_free => free(state, asked),
        F::Win_attach => attach(state, asked),
        F::Win_detach => detach(state, asked),
        F::Win_shared_query => shared_query(state, asked),
        F::Win_get_group => {
            state.win(asked.word(0)).map(|window| Arc::clone(&window.group)).and_then(|group| {
                let handle = state.groups.add(group);
                asked.put_word(1, handle);
                done()
            })
        }
        F::Win_set_name => asked.text(1).and_then(|name| {
            state.win(asked.word(0))?.name = name;
            done()
        }),
        F::Win_get_name if asked.word(0) == mpi5::WIN_NULL => {
            asked.put_text((1, 2), "MPI_WIN_NULL", 128);
            done()
        }
        F::Win_get_name => {
            state.win(asked.word(0)).map(|window| window.name.clone()).and_then(|name| {
                asked.put_text((1, 2), &name, 128);
                done()
            })
        }
        F::Win_fence => fence(state, asked),
        F::Win_post => post_or_start(state, asked, |win, group| RmaCall::Post { win, group }),
        F::Win_start => post_or_start(state, asked, |win, group| RmaCall::Start { win, group }),
        F::Win_complete => synchronises(state, asked, 0, All, |win| RmaCall::Complete { win }),
        F::Win_wait => synchronises(state, asked, 0, Nothing, |win| RmaCall::Wait { win }),
        F::Win_test => test(state, asked),
        F::Win_lock => lock(state, asked),
        F::Win_lock_all => {
            let no_check = asked.int(0) & mpi5::MODE_NOCHECK != 0;
            synchronises(state, asked, 1, Nothing, |win| RmaCall::LockAll { win, no_check })
        }
        F::Win_unlock => targeted(state, asked, |win, target| RmaCall::Unlock { win, target }),
        F::Win_unlock_all => synchronises(state, asked, 0, All, |win| RmaCall::UnlockAll { win }),
        F::Win_flush => {
            targeted(state, asked, |win, target| RmaCall::Flush { win, target, local: false })
        }
        F::Win_flush_local => {
            targeted(state, asked, |win, target| RmaCall::Flush { win, target, local: true })
        }
        F::Win_flush_all => {
            synchronises(state, asked, 0, All, |win| RmaCall::FlushAll { win, local: false })
        }
        F::Win_flush_local_all => {
            synchronises(state, asked, 0, All, |win| RmaCall::FlushAll { win, local: true })
        }
        F::Win_sync => synchronises(state, asked, 0, Nothing, |win| RmaCall::Sync { win }),
        _ => return operations::call(state, asked),
    })
}

/// The library makes a window over a communicator.
fn makes(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    comm: u64,
    (flavor, kind): (Flavor, i32),
    part: Part,
    settle: impl FnOnce(&mut RankState, &mut Asked<'_>, Window) -> Answer + Send + 'static,
) -> Answer {
    let (comm, group) = {
        let comm = state.comm(comm)?;
        (comm.number, Arc::clone(&comm.group))
    };
    let Part { base, bytes, unit } = part;
    let (Ok(size), Ok(units)) = (u64::try_from(bytes), u64::try_from(unit)) else {
        return Err(Fault::new(mpi5::ERR_SIZE, format!("{bytes} bytes in units of {unit}")));
    };
    let memory = asked.place.buffer(base, size).id;
    let win = state.windows.free();
    let call = RmaCall::Create { win, comm, flavor, memory, bytes: size, unit: units.max(1) };
    let window = Window {
        number: win,
        group,
        flavor: kind,
        base,
        bytes,
        unit,
        mapped: None,
        name: String::new(),
        attached: BTreeSet::new(),
        held: Vec::new(),
    };
    Ok(Step::calls(Call::Rma(Arc::new(call)), move |state, asked, _| settle(state, asked, window)))
}

/// A window is there.
fn made(state: &mut RankState, asked: &mut Asked<'_>, at: usize, window: Window) -> Answer {
    let handle = state.windows.add(window);
    asked.put_word(at, handle);
    done()
}

fn create(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let part = Part { base: asked.word(0), bytes: asked.long(1), unit: asked.long(2) };
    let kind = (Flavor::Create, mpi5::WIN_FLAVOR_CREATE);
    let comm = asked.word(4);
    makes(state, asked, comm, kind, part, |state, asked, window| made(state, asked, 5, window))
}

fn allocate(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let bytes = asked.long(0);
    let base = match u64::try_from(bytes) {
        Ok(0) | Err(_) => 0,
        Ok(bytes) => asked.place.process.allocate(bytes)?,
    };
    if base == 0 && bytes > 0 {
        return Err(Fault::new(mpi5::ERR_NO_MEM, format!("no {bytes} bytes are left")));
    }
    let part = Part { base, bytes, unit: asked.long(1) };
    let kind = (Flavor::Allocate, mpi5::WIN_FLAVOR_ALLOCATE);
    let comm = asked.word(3);
    makes(state, asked, comm, kind, part, |state, asked, window| {
        asked.put_word(4, window.base);
        made(state, asked, 5, window)
    })
}

fn create_dynamic(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let part = Part { base: 0, bytes: 0, unit: 1 };
    let kind = (Flavor::Dynamic, mpi5::WIN_FLAVOR_DYNAMIC);
    let comm = asked.word(1);
    makes(state, asked, comm, kind, part, |state, asked, window| made(state, asked, 2, window))
}

/// The library says where this rank's part lies, and how long all parts are together; then the process maps them.
fn allocate_shared(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let part = Part { base: 0, bytes: asked.long(0), unit: asked.long(1) };
    let kind = (Flavor::Shared(Spacing::Contiguous), mpi5::WIN_FLAVOR_SHARED);
    let comm = asked.word(3);
    makes(state, asked, comm, kind, part, |state, _, window| {
        let me = window.group.rank(state.rank).expect("a rank is in its windows").0;
        let (win, last) = (window.number, window.group.size() - 1);
        Ok(query(win, me, move |_, _, (own, _)| {
            Ok(query(win, last, move |state, asked, (end, _)| map(state, asked, window, own, end)))
        }))
    })
}

fn map(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    mut window: Window,
    own: Region,
    end: Region,
) -> Answer {
    let Space::Shared(name) = own.space else { unreachable!("a shared window is shared") };
    let total = (end.offset + end.len).max(1);
    let path = state.windows.exposed.share(name, total).map_err(|error| {
        Fault::new(mpi5::ERR_NO_MEM, format!("the system shares no {total} bytes: {error}"))
    })?;
    let address = asked.place.process.map(&path, total)?;
    if address == 0 {
        return Err(Fault::new(mpi5::ERR_NO_MEM, format!("no {total} bytes can be mapped")));
    }
    asked.place.maps(name, address);
    window.mapped = Some((address, total));
    window.base = address + own.offset;
    asked.put_word(4, window.base);
    made(state, asked, 5, window)
}

fn shared_query(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let rank = asked.int(1);
    let me = state.rank;
    let window = state.win(asked.word(0))?;
    let (win, size) = (window.number, window.group.size());
    let Some((address, _)) = window.mapped else {
        // Of other windows a process reaches its own part only.
        let is_own = window.group.rank(me).is_some_and(|own| own.0.cast_signed() == rank);
        let bytes = if is_own { window.bytes } else { 0 };
        let (base, unit) = (window.base, window.unit);
        asked.put_long(2, bytes);
        asked.put_count(3, Some(unit));
        asked.put_word(4, if bytes == 0 { 0 } else { base });
        return done();
    };
    if rank == mpi5::PROC_NULL {
        // The first rank that has some memory.
        return Ok(first_part(win, 0, size, address));
    }
    let target = window.target(rank)?;
    Ok(query(win, target, move |_, asked, (part, unit)| {
        tell_part(asked, part, unit, address);
        done()
    }))
}

fn free(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let handle = asked.at(0)?;
    let win = state.win(handle)?.number;
    let library = move |_: &mut RankState, _: &mut Asked<'_>| {
        let call = Call::Rma(Arc::new(RmaCall::Free { win }));
        Ok(Step::calls(call, move |state, asked, _| freed(state, asked, handle)))
    };
    attributes::delete_all(state, asked, (Kind::Win, handle), Box::new(library))
}

/// The library has freed a window: its memory goes, and what was kept of it.
fn freed(state: &mut RankState, asked: &mut Asked<'_>, handle: u64) -> Answer {
    let window = state.windows.remove(handle).expect("it was found");
    state.errors.forget(handle);
    state.infos.forget(handle);
    for base in window.attached {
        state.windows.exposed.detach(state.rank, base);
    }
    for (_, held) in window.held {
        held.end(asked.place, Outcome::Sent)?;
    }
    if let Some((address, bytes)) = window.mapped {
        asked.place.process.unmap(address, bytes);
    } else if window.flavor == mpi5::WIN_FLAVOR_ALLOCATE {
        asked.place.process.free(window.base);
    }
    asked.put_word(0, mpi5::WIN_NULL);
    done()
}

fn attach(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let me = state.rank;
    let (handle, base, size) = (asked.word(0), asked.word(1), asked.long(2));
    let window = state.win(handle)?;
    if window.flavor != mpi5::WIN_FLAVOR_DYNAMIC {
        return Err(Fault::new(mpi5::ERR_RMA_FLAVOR, "the window is not a dynamic one"));
    }
    let win = window.number;
    let Ok(bytes) = u64::try_from(size) else {
        return Err(Fault::new(mpi5::ERR_SIZE, format!("{size} bytes")));
    };
    let memory = asked.place.buffer(base, bytes).id;
    let call = RmaCall::Attach { win, memory, bytes };
    Ok(Step::calls(Call::Rma(Arc::new(call)), move |state, _, _| {
        state.windows.exposed.attach(me, base, bytes, memory);
        state.win(handle)?.attached.insert(base);
        done()
    }))
}

fn detach(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let me = state.rank;
    let base = asked.word(1);
    let window = state.win(asked.word(0))?;
    let win = window.number;
    let nothing = || Fault::new(mpi5::ERR_ARG, format!("nothing is attached at {base:#x}"));
    if !window.attached.remove(&base) {
        return Err(nothing());
    }
    let memory = state.windows.exposed.detach(me, base).ok_or_else(nothing)?;
    Ok(Step::waits(Call::Rma(Arc::new(RmaCall::Detach { win, memory }))))
}

/// The operations that are complete at the origin when a synchronisation is over: what is held for them goes where it
/// belongs.
#[derive(Clone, Copy, Debug)]
enum Completes {
    Nothing,
    /// Those to one target.
    To(u32),
    All,
}

/// A synchronisation about a window, which is argument `at`.
fn synchronises(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    at: usize,
    completes: Completes,
    call: impl FnOnce(Win) -> RmaCall,
) -> Answer {
    let handle = asked.word(at);
    let call = call(state.win(handle)?.number);
    Ok(Step::calls(Call::Rma(Arc::new(call)), move |state, asked, _| {
        let window = state.win(handle)?;
        match completes {
            Completes::Nothing => {}
            Completes::To(target) => window.complete(asked.place, Some(target))?,
            Completes::All => window.complete(asked.place, None)?,
        }
        done()
    }))
}

fn fence(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let asserted = asked.int(0);
    let assert = FenceAssert {
        no_precede: asserted & mpi5::MODE_NOPRECEDE != 0,
        no_succeed: asserted & mpi5::MODE_NOSUCCEED != 0,
    };
    synchronises(state, asked, 1, Completes::All, |win| RmaCall::Fence { win, assert })
}

fn post_or_start(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    call: impl FnOnce(Win, RankSet) -> RmaCall,
) -> Answer {
    let group = state.groups.get(asked.word(0))?;
    let window = state.win(asked.word(2))?;
    let ranks = group.members().iter().map(|process| window.group.rank(*process));
    let ranks = ranks.collect::<Option<Vec<Rank>>>().ok_or_else(|| {
        Fault::new(mpi5::ERR_GROUP, "a process of the group is not in the window")
    })?;
    synchronises(state, asked, 2, Completes::Nothing, |win| call(win, ranks.into_iter().collect()))
}

fn test(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let win = state.win(asked.word(0))?.number;
    Ok(Step::calls(Call::Rma(Arc::new(RmaCall::Test { win })), |_, asked, reply| {
        asked.put_flag(1, matches!(reply, Reply::Flag(true)));
        done()
    }))
}

fn lock(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let kind = match asked.int(0) {
        mpi5::LOCK_EXCLUSIVE => LockKind::Exclusive,
        mpi5::LOCK_SHARED => LockKind::Shared,
        other => {
            return Err(Fault::new(mpi5::ERR_LOCKTYPE, format!("{other} is no kind of lock")));
        }
    };
    let (rank, no_check) = (asked.int(1), asked.int(2) & mpi5::MODE_NOCHECK != 0);
    let window = state.win(asked.word(3))?;
    if rank == mpi5::PROC_NULL {
        return done();
    }
    let target = window.target(rank)?;
    synchronises(state, asked, 3, Completes::Nothing, |win| RmaCall::Lock {
        win,
        target,
        kind,
        no_check,
    })
}

/// A synchronisation with one target.
fn targeted(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    call: impl FnOnce(Win, u32) -> RmaCall,
) -> Answer {
    let rank = asked.int(0);
    let window = state.win(asked.word(1))?;
    if rank == mpi5::PROC_NULL {
        return done();
    }
    let target = window.target(rank)?;
    synchronises(state, asked, 1, Completes::To(target), |win| call(win, target))
}

/// The library says where the part of a rank lies.
fn query(
    win: Win,
    target: u32,
    then: impl FnOnce(&mut RankState, &mut Asked<'_>, (Region, u64)) -> Answer + Send + 'static,
) -> Step {
    let call = Call::Rma(Arc::new(RmaCall::Query { win, target }));
    Step::calls(call, move |state, asked, reply| {
        let Reply::Part(part, unit) = reply else {
            unreachable!("a query is answered with a part")
        };
        then(state, asked, (part, unit))
    })
}

/// The first part that has memory, from rank `from` on.
fn first_part(win: Win, from: u32, size: u32, address: u64) -> Step {
    query(win, from, move |_, asked, (part, unit)| {
        if part.len == 0 && from + 1 < size {
            return Ok(first_part(win, from + 1, size, address));
        }
        tell_part(asked, part, unit, address);
        done()
    })
}

fn tell_part(asked: &mut Asked<'_>, part: Region, unit: u64, address: u64) {
    asked.put_long(2, part.len.cast_signed());
    asked.put_count(3, i64::try_from(unit).ok());
    asked.put_word(4, if part.len == 0 { 0 } else { address + part.offset });
}
