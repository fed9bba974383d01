//! Windows: memory of processes that others read and write.
//!
//! The library's operations reach blocks at equal distances. A target datatype that has others goes in several
//! operations, one for each run of its bytes. What lies in pieces at the origin the simulator holds until the call that
//! completes the operation.

pub(super) mod operations;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::attributes;
use crate::functions as mpi5;
use crate::mpi::args::{self, Address, To, handle};
use crate::mpi::families::Windows as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::attributes::Kind;
use crate::mpi::objects::windows::Window;
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
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

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    use Completes::{All, Nothing};
    match call {
        F::Win_create(of) => create(state, frame, of),
        F::Win_allocate(of) => allocate(state, frame, of),
        F::Win_allocate_shared(of) => allocate_shared(state, frame, of),
        F::Win_create_dynamic(of) => create_dynamic(state, frame, of),
        F::Win_free(of) => free(state, frame, of.win),
        F::Win_attach(of) => attach(state, frame, of),
        F::Win_detach(of) => detach(state, of),
        F::Win_shared_query(of) => shared_query(state, frame, of),
        F::Win_get_group(of) => {
            let group = Arc::clone(&state.win(of.win)?.group);
            let handle = state.groups.add(group);
            frame.put_handle(of.group, handle);
            done()
        }
        F::Win_set_name(of) => {
            let name = frame.text(of.win_name)?;
            state.win(of.win)?.name = name;
            done()
        }
        F::Win_get_name(of) => get_name(state, frame, of),
        F::Win_fence(of) => fence(state, of),
        F::Win_post(of) => post_or_start(state, of, |win, group| RmaCall::Post { win, group }),
        F::Win_start(of) => post_or_start(state, of, |win, group| RmaCall::Start { win, group }),
        F::Win_complete(of) => synchronises(state, of.win, All, |win| RmaCall::Complete { win }),
        F::Win_wait(of) => synchronises(state, of.win, Nothing, |win| RmaCall::Wait { win }),
        F::Win_test(of) => test(state, of),
        F::Win_lock(of) => lock(state, of),
        F::Win_lock_all(of) => {
            let no_check = of.assert & mpi5::MODE_NOCHECK != 0;
            synchronises(state, of.win, Nothing, |win| RmaCall::LockAll { win, no_check })
        }
        F::Win_unlock(of) => targeted(state, of, |win, target| RmaCall::Unlock { win, target }),
        F::Win_unlock_all(of) => synchronises(state, of.win, All, |win| RmaCall::UnlockAll { win }),
        F::Win_flush(of) => {
            targeted(state, of, |win, target| RmaCall::Flush { win, target, local: false })
        }
        F::Win_flush_local(of) => {
            targeted(state, of, |win, target| RmaCall::Flush { win, target, local: true })
        }
        F::Win_flush_all(of) => {
            synchronises(state, of.win, All, |win| RmaCall::FlushAll { win, local: false })
        }
        F::Win_flush_local_all(of) => {
            synchronises(state, of.win, All, |win| RmaCall::FlushAll { win, local: true })
        }
        F::Win_sync(of) => synchronises(state, of.win, Nothing, |win| RmaCall::Sync { win }),
    }
}

fn get_name(state: &mut RankState, frame: &mut Frame<'_>, of: args::Win_get_name) -> Answer {
    let to = (of.win_name, of.resultlen);
    if of.win.0 == mpi5::WIN_NULL {
        frame.put_text(to, "MPI_WIN_NULL", 128);
        return done();
    }
    let name = state.win(of.win)?.name.clone();
    frame.put_text(to, &name, 128);
    done()
}

/// The library makes a window over a communicator.
fn makes(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    comm: handle::Comm,
    (flavor, kind): (Flavor, i32),
    part: Part,
    settle: impl FnOnce(&mut RankState, &mut Frame<'_>, Window) -> Answer + Send + 'static,
) -> Answer {
    let (comm, group) = {
        let comm = state.comm(comm)?;
        (comm.number, Arc::clone(&comm.group))
    };
    let Part { base, bytes, unit } = part;
    let (Ok(size), Ok(units)) = (u64::try_from(bytes), u64::try_from(unit)) else {
        return Err(Fault::new(mpi5::ERR_SIZE, format!("{bytes} bytes in units of {unit}")));
    };
    let memory = frame.place.buffer(base, size).id;
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
    Ok(NextStep::calls(Call::Rma(Arc::new(call)), move |state, frame, _| {
        settle(state, frame, window)
    }))
}

/// A window is there.
fn made(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    to: To<handle::Win>,
    window: Window,
) -> Answer {
    let handle = state.windows.add(window);
    frame.put_handle(to, handle);
    done()
}

fn create(state: &mut RankState, frame: &mut Frame<'_>, of: args::Win_create) -> Answer {
    let part = Part { base: of.base.0, bytes: of.size, unit: of.disp_unit };
    let kind = (Flavor::Create, mpi5::WIN_FLAVOR_CREATE);
    makes(state, frame, of.comm, kind, part, move |state, frame, window| {
        made(state, frame, of.win, window)
    })
}

fn allocate(state: &mut RankState, frame: &mut Frame<'_>, of: args::Win_allocate) -> Answer {
    let bytes = of.size;
    let base = match u64::try_from(bytes) {
        Ok(0) | Err(_) => 0,
        Ok(bytes) => frame.place.process.allocate(bytes)?,
    };
    if base == 0 && bytes > 0 {
        return Err(Fault::new(mpi5::ERR_NO_MEM, format!("no {bytes} bytes are left")));
    }
    let part = Part { base, bytes, unit: of.disp_unit };
    let kind = (Flavor::Allocate, mpi5::WIN_FLAVOR_ALLOCATE);
    makes(state, frame, of.comm, kind, part, move |state, frame, window| {
        frame.put_word(of.baseptr, window.base);
        made(state, frame, of.win, window)
    })
}

fn create_dynamic(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Win_create_dynamic,
) -> Answer {
    let part = Part { base: 0, bytes: 0, unit: 1 };
    let kind = (Flavor::Dynamic, mpi5::WIN_FLAVOR_DYNAMIC);
    makes(state, frame, of.comm, kind, part, move |state, frame, window| {
        made(state, frame, of.win, window)
    })
}

/// The library says where this rank's part lies, and how long all parts are together; then the process maps them.
fn allocate_shared(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Win_allocate_shared,
) -> Answer {
    let part = Part { base: 0, bytes: of.size, unit: of.disp_unit };
    let kind = (Flavor::Shared(Spacing::Contiguous), mpi5::WIN_FLAVOR_SHARED);
    makes(state, frame, of.comm, kind, part, move |state, _, window| {
        let me = window.group.rank(state.rank).expect("a rank is in its windows").0;
        let (win, last) = (window.number, window.group.size() - 1);
        Ok(query(win, me, move |_, _, (own, _)| {
            Ok(query(win, last, move |state, frame, (end, _)| {
                map(state, frame, of, window, own, end)
            }))
        }))
    })
}

fn map(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Win_allocate_shared,
    mut window: Window,
    own: Region,
    end: Region,
) -> Answer {
    let Space::Shared(name) = own.space else { unreachable!("a shared window is shared") };
    let total = (end.offset + end.len).max(1);
    let path = state.windows.exposed.share(name, total).map_err(|error| {
        Fault::new(mpi5::ERR_NO_MEM, format!("the system shares no {total} bytes: {error}"))
    })?;
    let address = frame.place.process.map(&path, total)?;
    if address == 0 {
        return Err(Fault::new(mpi5::ERR_NO_MEM, format!("no {total} bytes can be mapped")));
    }
    frame.place.maps(name, address);
    window.mapped = Some((address, total));
    window.base = address + own.offset;
    frame.put_word(of.baseptr, window.base);
    made(state, frame, of.win, window)
}

fn shared_query(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Win_shared_query,
) -> Answer {
    let rank = of.rank;
    let me = state.rank;
    let window = state.win(of.win)?;
    let (win, size) = (window.number, window.group.size());
    let Some((address, _)) = window.mapped else {
        // Of other windows a process reaches its own part only.
        let is_own = window.group.rank(me).is_some_and(|own| own.0.cast_signed() == rank);
        let bytes = if is_own { window.bytes } else { 0 };
        let (base, unit) = (window.base, window.unit);
        frame.put_long(of.size, bytes);
        frame.put_count(of.disp_unit, Some(unit));
        frame.put_word(of.baseptr, if bytes == 0 { 0 } else { base });
        return done();
    };
    if rank == mpi5::PROC_NULL {
        // The first rank that has some memory.
        return Ok(first_part(of, win, 0, size, address));
    }
    let target = window.target(rank)?;
    Ok(query(win, target, move |_, frame, (part, unit)| {
        tell_part(frame, of, part, unit, address);
        done()
    }))
}

fn free(state: &mut RankState, frame: &mut Frame<'_>, variable: To<handle::Win>) -> Answer {
    let handle = frame.handle(variable)?;
    let win = state.win(handle)?.number;
    let library = move |_: &mut RankState, _: &mut Frame<'_>| {
        let call = Call::Rma(Arc::new(RmaCall::Free { win }));
        Ok(NextStep::calls(call, move |state, frame, _| freed(state, frame, variable, handle)))
    };
    attributes::delete_all(state, frame, (Kind::Win, handle.0), Box::new(library))
}

/// The library has freed a window: its memory goes, and what was kept of it.
fn freed(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    variable: To<handle::Win>,
    handle: handle::Win,
) -> Answer {
    let window = state.windows.remove(handle).expect("it was found");
    state.errors.forget(handle.0);
    state.infos.forget(handle.0);
    for base in window.attached {
        state.windows.exposed.detach(state.rank, base);
    }
    for (_, held) in window.held {
        held.end(frame.place, Outcome::Sent)?;
    }
    if let Some((address, bytes)) = window.mapped {
        frame.place.process.unmap(address, bytes);
    } else if window.flavor == mpi5::WIN_FLAVOR_ALLOCATE {
        frame.place.process.free(window.base);
    }
    frame.put_handle(variable, mpi5::WIN_NULL);
    done()
}

fn attach(state: &mut RankState, frame: &mut Frame<'_>, of: args::Win_attach) -> Answer {
    let me = state.rank;
    let args::Win_attach { win: handle, base: Address(base), size } = of;
    let window = state.win(handle)?;
    if window.flavor != mpi5::WIN_FLAVOR_DYNAMIC {
        return Err(Fault::new(mpi5::ERR_RMA_FLAVOR, "the window is not a dynamic one"));
    }
    let win = window.number;
    let Ok(bytes) = u64::try_from(size) else {
        return Err(Fault::new(mpi5::ERR_SIZE, format!("{size} bytes")));
    };
    let memory = frame.place.buffer(base, bytes).id;
    let call = RmaCall::Attach { win, memory, bytes };
    Ok(NextStep::calls(Call::Rma(Arc::new(call)), move |state, _, _| {
        state.windows.exposed.attach(me, base, bytes, memory);
        state.win(handle)?.attached.insert(base);
        done()
    }))
}

fn detach(state: &mut RankState, of: args::Win_detach) -> Answer {
    let me = state.rank;
    let Address(base) = of.base;
    let window = state.win(of.win)?;
    let win = window.number;
    let nothing = || Fault::new(mpi5::ERR_ARG, format!("nothing is attached at {base:#x}"));
    if !window.attached.remove(&base) {
        return Err(nothing());
    }
    let memory = state.windows.exposed.detach(me, base).ok_or_else(nothing)?;
    Ok(NextStep::waits(Call::Rma(Arc::new(RmaCall::Detach { win, memory }))))
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

/// A synchronisation about a window.
fn synchronises(
    state: &mut RankState,
    handle: handle::Win,
    completes: Completes,
    call: impl FnOnce(Win) -> RmaCall,
) -> Answer {
    let call = call(state.win(handle)?.number);
    Ok(NextStep::calls(Call::Rma(Arc::new(call)), move |state, frame, _| {
        let window = state.win(handle)?;
        match completes {
            Completes::Nothing => {}
            Completes::To(target) => window.complete(frame.place, Some(target))?,
            Completes::All => window.complete(frame.place, None)?,
        }
        done()
    }))
}

fn fence(state: &mut RankState, of: args::Win_fence) -> Answer {
    let assert = FenceAssert {
        no_precede: of.assert & mpi5::MODE_NOPRECEDE != 0,
        no_succeed: of.assert & mpi5::MODE_NOSUCCEED != 0,
    };
    synchronises(state, of.win, Completes::All, |win| RmaCall::Fence { win, assert })
}

fn post_or_start(
    state: &mut RankState,
    of: args::Win_post,
    call: impl FnOnce(Win, RankSet) -> RmaCall,
) -> Answer {
    let group = state.groups.get(of.group)?;
    let window = state.win(of.win)?;
    let ranks = group.members().iter().map(|process| window.group.rank(*process));
    let ranks = ranks.collect::<Option<Vec<Rank>>>().ok_or_else(|| {
        Fault::new(mpi5::ERR_GROUP, "a process of the group is not in the window")
    })?;
    synchronises(state, of.win, Completes::Nothing, |win| call(win, ranks.into_iter().collect()))
}

fn test(state: &mut RankState, of: args::Win_test) -> Answer {
    let win = state.win(of.win)?.number;
    Ok(NextStep::calls(Call::Rma(Arc::new(RmaCall::Test { win })), |_, frame, reply| {
        let args::Win_test { flag, .. } = frame.arguments();
        frame.put_flag(flag, matches!(reply, Reply::Flag(true)));
        done()
    }))
}

fn lock(state: &mut RankState, of: args::Win_lock) -> Answer {
    let kind = match of.lock_type {
        mpi5::LOCK_EXCLUSIVE => LockKind::Exclusive,
        mpi5::LOCK_SHARED => LockKind::Shared,
        other => {
            return Err(Fault::new(mpi5::ERR_LOCKTYPE, format!("{other} is no kind of lock")));
        }
    };
    let no_check = of.assert & mpi5::MODE_NOCHECK != 0;
    let window = state.win(of.win)?;
    if of.rank == mpi5::PROC_NULL {
        return done();
    }
    let target = window.target(of.rank)?;
    synchronises(state, of.win, Completes::Nothing, |win| RmaCall::Lock {
        win,
        target,
        kind,
        no_check,
    })
}

/// A synchronisation with one target.
fn targeted(
    state: &mut RankState,
    of: args::Win_flush,
    call: impl FnOnce(Win, u32) -> RmaCall,
) -> Answer {
    let window = state.win(of.win)?;
    if of.rank == mpi5::PROC_NULL {
        return done();
    }
    let target = window.target(of.rank)?;
    synchronises(state, of.win, Completes::To(target), |win| call(win, target))
}

/// The library says where the part of a rank lies.
fn query(
    win: Win,
    target: u32,
    then: impl FnOnce(&mut RankState, &mut Frame<'_>, (Region, u64)) -> Answer + Send + 'static,
) -> NextStep {
    let call = Call::Rma(Arc::new(RmaCall::Query { win, target }));
    NextStep::calls(call, move |state, frame, reply| {
        let Reply::Part(part, unit) = reply else {
            unreachable!("a query is answered with a part")
        };
        then(state, frame, (part, unit))
    })
}

/// The first part that has memory, from rank `from` on.
fn first_part(
    of: args::Win_shared_query,
    win: Win,
    from: u32,
    size: u32,
    address: u64,
) -> NextStep {
    query(win, from, move |_, frame, (part, unit)| {
        if part.len == 0 && from + 1 < size {
            return Ok(first_part(of, win, from + 1, size, address));
        }
        tell_part(frame, of, part, unit, address);
        done()
    })
}

fn tell_part(
    frame: &mut Frame<'_>,
    of: args::Win_shared_query,
    part: Region,
    unit: u64,
    address: u64,
) {
    frame.put_long(of.size, part.len.cast_signed());
    frame.put_count(of.disp_unit, i64::try_from(unit).ok());
    frame.put_word(of.baseptr, if part.len == 0 { 0 } else { address + part.offset });
}
